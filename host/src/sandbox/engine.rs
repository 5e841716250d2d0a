//! The wasmtime engines: how code is compiled, how instances get their memory, what interrupts them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::background;
use super::functions::FunctionCache;
use super::limits::Limits;

/// How often running guests are interrupted to let others run, and to look at their deadline.
const TICK: Duration = Duration::from_millis(5);

/// A memory up to this size is mapped as it was when the component was made, however little of it is
/// filled. One that is larger, and half empty, would be copied together anew for each call.
const MAPPED_AS_IT_WAS: u64 = 64 << 20;

/// What of a table stays with its place from call to call, to be cleared without a system call: all of it, for
/// the tables of most toolkits. An entry has 8 bytes.
const KEPT_RESIDENT_OF_TABLE: usize = 64 << 10;

/// Core instances, memories and tables of one component. A toolkit has one memory; adapters and
/// shims add instances and tables.
pub(super) const CORE_INSTANCES: u32 = 24;
pub(super) const MEMORIES: u32 = 2;
pub(super) const TABLES: u32 = 12;

/// What an extractor's functions may take of the stack: parsers of nested things nest.
const EXTRACTOR_STACK: usize = 4 << 20;
/// What the host's own functions may take of the same stack.
const HOST_STACK: usize = 2 << 20;

/// Makes the engine for toolkits and starts its clock.
pub(super) fn start(limits: &Limits) -> wasmtime::Result<Engine> {
    let mut config = common();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits)));
    start_clocked(&config)
}

/// Makes the engine for extractors and starts its clock. Instances are few and large: each gets its
/// memory when it begins, where a pool would hold the largest that there may be for each.
pub(super) fn start_for_extractors() -> wasmtime::Result<Engine> {
    start_clocked(&for_extractors())
}

/// Makes the engine that compiles toolkits for the one of [`start`], keeps what it compiles in `functions`,
/// and starts its clock. It runs one instance in its life, so it has no pool.
pub(super) fn start_compiler(functions: Arc<FunctionCache>) -> wasmtime::Result<Engine> {
    let mut config = common();
    config.enable_incremental_compilation(functions)?;
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    start_clocked(&config)
}

/// Makes the engine that compiles extractors for the one of [`start_for_extractors`], and runs none.
pub(super) fn extractor_compiler() -> wasmtime::Result<Engine> {
    Engine::new(&for_extractors())
}

fn for_extractors() -> Config {
    let mut config = common();
    config
        .allocation_strategy(InstanceAllocationStrategy::OnDemand)
        .max_wasm_stack(EXTRACTOR_STACK)
        .async_stack_size(EXTRACTOR_STACK + HOST_STACK);
    config
}

fn start_clocked(config: &Config) -> wasmtime::Result<Engine> {
    let engine = Engine::new(config)?;
    let weak = engine.weak();
    thread::Builder::new().name("sandbox-clock".to_owned()).spawn(move || {
        while let Some(engine) = weak.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(TICK);
        }
    })?;
    Ok(engine)
}

/// A short name for the engine version and settings that machine code depends on.
pub(super) fn code_version(engine: &Engine) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn common() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .epoch_interruption(true)
        .memory_init_cow(true)
        .memory_guaranteed_dense_image_size(MAPPED_AS_IT_WAS)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(32));
    config
}

fn pool(limits: &Limits) -> PoolingAllocationConfig {
    // A guest that is having its turn in the background outlives its call by that turn.
    let lingering = u32::try_from(background::threads()).unwrap_or(u32::MAX);
    let calls = limits.instances.saturating_add(lingering);
    let mut pool = PoolingAllocationConfig::new();
    // A finished call's memory goes back to the kernel whole, without asking what was written: the answer
    // may leave pages out (docs/decisions/0009).
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(CORE_INSTANCES))
        .total_memories(calls.saturating_mul(MEMORIES))
        .total_tables(calls.saturating_mul(TABLES))
        .total_stacks(calls)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_memory_size(limits.memory)
        .table_elements(limits.table_elements)
        .table_keep_resident(KEPT_RESIDENT_OF_TABLE)
        .pagemap_scan(Enabled::No);
    pool
}
