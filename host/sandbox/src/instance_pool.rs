//! Occupancy of the pool of instances, for the operator's monitoring.

use kitbag_base::metrics::Reading;
use wasmtime::Engine;

use super::Sandbox;
use super::engine;

/// The pool from which calls take their instances.
#[derive(Clone)]
pub struct InstancePool {
    engine: Engine,
    /// Maximum number of instances.
    limit: u32,
}

impl InstancePool {
    /// Returns the current metrics.
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
    /// Returns the pool from which calls take their instances.
    pub fn instance_pool(&self) -> InstancePool {
        InstancePool { engine: self.engine.clone(), limit: engine::instance_slots(self.limits.instances) }
    }
}
