//! The wasmtime engines: code generation, memory of instances, and interruption.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::thread;
use std::time::Duration;

use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::background;
use super::limits::Limits;

/// Interval of epoch ticks. At each tick running guests yield, and their deadlines are checked.
const EPOCH_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum size of a memory's initial image that is one dense copy-on-write mapping, even if the image is
/// sparse. A larger sparse memory is initialised segment by segment for each call.
const MAX_IMAGE_BYTES: u64 = 64 << 20;

/// Bytes of a pooled table that stay resident and are cleared with `memset` instead of `madvise`: the whole
/// table, for most toolkits. An element takes 8 bytes.
const TABLE_RESIDENT_BYTES: usize = 64 << 10;

/// Maximum number of bytes of a pooled memory that stay allocated: after a call they are overwritten with the initial
/// contents. That takes 65 µs a MiB, and spares the next call a page fault for each page that it touches, as well as the
/// system calls that return memory and interrupt the other processors (docs/decisions/0023).
pub(super) const MAX_MEMORY_RESIDENT_BYTES: usize = 4 << 20;

/// Limits of one component. A toolkit has one memory; adapters, shims and the dynamic libraries of a language's runtime
/// add instances and tables. The pool reserves memory for memories, tables and stacks; instances are only counted, and the
/// host memory of all instances of a component together is at most [`MAX_INSTANCE_BYTES`], however many there are.
pub(super) const MAX_CORE_INSTANCES: u32 = 64;
pub(super) const MAX_MEMORIES: u32 = 2;
pub(super) const MAX_TABLES: u32 = 12;

/// Host memory for the instances of one component: their globals, and pointers to functions, tables and memories.
const MAX_INSTANCE_BYTES: usize = 1 << 20;

/// WebAssembly stack of an extractor: parsers of nested formats recurse.
const EXTRACTOR_STACK_BYTES: usize = 4 << 20;
/// Additional stack of an extractor for host functions.
const HOST_STACK_BYTES: usize = 2 << 20;

/// Creates the engine for toolkits and starts its clock.
pub(super) fn start(limits: &Limits) -> wasmtime::Result<Engine> {
    let mut config = common();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits)));
    start_clocked(&config)
}

/// Creates the engine for extractors and starts its clock. Instances are few and large, so each allocates its
/// memory on demand; a pool would reserve the maximum for each.
pub(super) fn start_for_extractors() -> wasmtime::Result<Engine> {
    start_clocked(&for_extractors())
}

/// Creates the engine that compiles toolkits for the engine of [`start`], and starts its clock. It runs only
/// one instance, so it has no pool.
pub(super) fn start_compiler() -> wasmtime::Result<Engine> {
    let mut config = common();
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    start_clocked(&config)
}

/// Creates the engine that compiles extractors for the engine of [`start_for_extractors`], and runs none.
pub(super) fn extractor_compiler() -> wasmtime::Result<Engine> {
    Engine::new(&for_extractors())
}

fn for_extractors() -> Config {
    let mut config = common();
    config
        .allocation_strategy(InstanceAllocationStrategy::OnDemand)
        .max_wasm_stack(EXTRACTOR_STACK_BYTES)
        .async_stack_size(EXTRACTOR_STACK_BYTES + HOST_STACK_BYTES);
    config
}

fn start_clocked(config: &Config) -> wasmtime::Result<Engine> {
    let engine = Engine::new(config)?;
    let weak = engine.weak();
    thread::Builder::new().name("sandbox-clock".to_owned()).spawn(move || {
        while let Some(engine) = weak.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(EPOCH_INTERVAL);
        }
    })?;
    Ok(engine)
}

/// Returns a short identifier of the engine version and settings that machine code depends on.
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
        .memory_guaranteed_dense_image_size(MAX_IMAGE_BYTES)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(32));
    config
}

/// Number of instances in the pool.
pub(super) fn instance_slots(instances: u32) -> u32 {
    // A guest that is being polled in the background outlives its call until that poll ends.
    instances.saturating_add(u32::try_from(background::threads()).unwrap_or(u32::MAX))
}

/// Number of memories in the pool.
pub(super) fn memory_slots(instances: u32) -> u32 {
    instance_slots(instances).saturating_mul(MAX_MEMORIES)
}

fn pool(limits: &Limits) -> PoolingAllocationConfig {
    let calls = instance_slots(limits.instances);
    let memories = memory_slots(limits.instances);
    let mut pool = PoolingAllocationConfig::new();
    // All memory of a finished call is reset. `PAGEMAP_SCAN` would reset only the pages that it reports as
    // written, and it may miss some (docs/decisions/0009).
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(MAX_CORE_INSTANCES))
        .total_memories(memories)
        .total_tables(calls.saturating_mul(MAX_TABLES))
        .total_stacks(calls)
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .max_component_instance_size(MAX_INSTANCE_BYTES)
        .max_memories_per_component(MAX_MEMORIES)
        .max_tables_per_component(MAX_TABLES)
        .max_memory_size(limits.memory)
        .table_elements(limits.table_elements)
        .table_keep_resident(TABLE_RESIDENT_BYTES)
        .linear_memory_keep_resident(MAX_MEMORY_RESIDENT_BYTES.min(limits.kept_memory / memories as usize))
        .pagemap_scan(Enabled::No);
    pool
}
