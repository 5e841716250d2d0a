//! How full the pool of instances is, for the operator's monitoring.

use kitbag_base::metrics::Reading;
use wasmtime::Engine;

use super::Sandbox;
use super::engine;

/// The pool of the instances of calls.
#[derive(Clone)]
pub struct InstancePool {
    engine: Engine,
    /// The most instances that there may be.
    limit: u32,
}

impl InstancePool {
    /// The numbers now.
    pub fn readings(&self) -> Vec<Reading> {
        let Some(pool) = self.engine.pooling_allocator_metrics() else { return Vec::new() };
        let in_use = usize::try_from(pool.component_instances()).unwrap_or(usize::MAX);
        let kept = (pool.unused_memory_bytes_resident() + pool.unused_table_bytes_resident()) as u64;
        vec![
            Reading::count("instances", "Instances of toolkits that exist", in_use),
            Reading::count("instances_limit", "Instances of toolkits that may exist", self.limit as usize),
            Reading::bytes("kept_memory", "Memory of finished calls that stays allocated for the next", kept),
        ]
    }
}

impl Sandbox {
    /// The pool that calls take their instances from.
    pub fn instance_pool(&self) -> InstancePool {
        InstancePool { engine: self.engine.clone(), limit: engine::instance_slots(self.limits.instances) }
    }
}
