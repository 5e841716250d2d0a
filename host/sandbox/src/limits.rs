//! Limits for one call, and for all calls together.

use std::sync::Arc;
use std::time::Duration;

use kitbag_base::memory::{Lease, Shortage};
use thiserror::Error;
use wasmtime::ResourceLimiter;

use super::engine;
use crate::capabilities::fetch::FetchLimits;

/// Limits of the sandbox. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum wall time of one call, including waiting.
    pub call_time: Duration,
    /// Maximum linear memory of one call, the sum of all its memories.
    pub memory: usize,
    /// Maximum number of elements of each table.
    pub table_elements: usize,
    /// Maximum number of handles to host resources (streams, requests, timers) that one call may have open at
    /// once.
    pub resources: usize,
    /// Maximum size of a result (text, structured value and content together), and of the data of one host
    /// call.
    pub result: usize,
    /// Maximum size of the log entries and output of one call.
    pub log: usize,
    /// Maximum number of concurrent instances: calls, and deploys that run `describe`.
    pub instances: u32,
    /// Maximum memory of finished calls that stays allocated for reuse, over all instances.
    pub kept_memory: usize,
    /// Limits of the outbound requests of one call.
    pub fetch: FetchLimits,
}

/// CPU time of `describe`, which only builds a value.
pub(super) const DESCRIBE_CPU_TIME: Duration = Duration::from_secs(3);

/// Host memory that each call is charged in advance for its resources and its incomplete lines of output.
/// What resources take beyond this is counted when it is allocated.
const BASIC_HOST_BYTES: usize = 256 << 10;
/// Granularity in which the memory of resources is counted, so that few host calls change the shared budget.
const RESOURCE_STEP_BYTES: usize = 64 << 10;

/// Size of a table element, in bytes.
pub(super) const TABLE_ELEMENT_BYTES: usize = size_of::<usize>();

impl Limits {
    /// Maximum memory of finished calls that can stay allocated with this number of instances, in bytes.
    pub fn max_kept_memory(instances: u32) -> usize {
        engine::MAX_MEMORY_RESIDENT_BYTES.saturating_mul(engine::memory_slots(instances) as usize)
    }

    /// Host memory of each call, in bytes: the log, its copy in the invocation record, and a few resources.
    /// The memory of requests and of more resources is counted separately.
    pub(super) fn host_memory(&self) -> usize {
        self.log.saturating_mul(2).saturating_add(BASIC_HOST_BYTES)
    }

    /// Maximum memory of one call that sends no request, in bytes.
    pub fn memory_of_one_call(&self) -> usize {
        self.memory.saturating_add(self.host_memory())
    }
}

/// Enforces the memory limits of one store, and records which limit was reached.
#[derive(Debug)]
pub(super) struct Meter {
    memory: usize,
    memory_left: usize,
    table_elements: usize,
    refused: Option<&'static str>,
    /// The call's lease on the memory budget for all calls. `None` outside a call.
    lease: Option<Arc<Lease>>,
    /// Bytes of the lease that are reserved for the guest and not used yet.
    prepaid: usize,
    /// Bytes counted for the guest's resources so far.
    resources: usize,
}

/// Traps a guest when the memory budget for calls is exhausted: a failed `memory.grow` would look like the
/// limit of the call.
#[derive(Debug, Error)]
#[error("there is no memory left for calls")]
struct OutOfMemory;

impl Meter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self::of(limits.memory, limits.table_elements)
    }

    /// Creates a meter with a limit for memory, in bytes, and for the number of elements of each table.
    pub(super) fn of(memory: usize, table_elements: usize) -> Self {
        Self {
            memory,
            memory_left: memory,
            table_elements,
            refused: None,
            lease: None,
            prepaid: 0,
            resources: 0,
        }
    }

    /// Charges the guest's memory to `lease`, which already includes `prepaid` bytes for it.
    pub(super) fn leasing(self, lease: Arc<Lease>, prepaid: usize) -> Self {
        Self { lease: Some(lease), prepaid, ..self }
    }

    /// The shortage in the memory budget for all calls, if there was one.
    pub(super) fn shortage(&self) -> Option<Shortage> {
        self.lease.as_ref()?.shortage()
    }

    fn take(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let Some(lease) = &self.lease else { return Ok(()) };
        let prepaid = self.prepaid.min(bytes);
        self.prepaid -= prepaid;
        if bytes == prepaid { Ok(()) } else { lease.grow(bytes - prepaid).map_err(|_| OutOfMemory) }
    }

    /// Counts `bytes`, the current host memory of the guest's resources, as memory of the call. Fails if the
    /// call or the budget has not enough memory left.
    pub(super) fn hold(&mut self, bytes: usize) -> wasmtime::Result<()> {
        let needed = bytes.saturating_sub(RESOURCE_STEP_BYTES).next_multiple_of(RESOURCE_STEP_BYTES);
        if needed > self.resources {
            let more = needed - self.resources;
            let Some(left) = self.memory_left.checked_sub(more) else {
                self.refused = Some("memory limit");
                return Err(wasmtime::Error::msg("the resources of the guest take too much memory"));
            };
            if let Some(lease) = &self.lease {
                lease.grow(more).map_err(|_| wasmtime::Error::new(OutOfMemory))?;
            }
            self.memory_left = left;
            self.resources = needed;
        } else if self.resources - needed > RESOURCE_STEP_BYTES {
            // One step stays reserved, so that a short-lived resource does not change the budget each time.
            let less = self.resources - needed - RESOURCE_STEP_BYTES;
            if let Some(lease) = &self.lease {
                lease.shrink(less);
            }
            self.memory_left += less;
            self.resources -= less;
        }
        Ok(())
    }

    /// The limit that the guest reached, if any.
    pub(super) fn refused(&self) -> Option<&'static str> {
        self.refused
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // `maximum` is what the component declares, or else the pool's slot size, which equals the limit.
        if maximum.is_some_and(|maximum| desired > maximum && maximum < self.memory) {
            self.refused = Some("own memory maximum");
            return Ok(false);
        }
        let more = desired.saturating_sub(current);
        let Some(left) = self.memory_left.checked_sub(more) else {
            self.refused = Some("memory limit");
            return Ok(false);
        };
        self.take(more).map_err(wasmtime::Error::new)?;
        self.memory_left = left;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum && maximum < self.table_elements) {
            self.refused = Some("own table maximum");
            return Ok(false);
        }
        if desired > self.table_elements {
            self.refused = Some("table limit");
            return Ok(false);
        }
        let more = desired.saturating_sub(current).saturating_mul(TABLE_ELEMENT_BYTES);
        self.take(more).map_err(wasmtime::Error::new)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use kitbag_base::memory::MemoryBudget;

    use super::*;

    #[test]
    fn all_memories_of_a_call_share_one_bound() {
        let mut meter = Meter::of(100, 10);

        assert!(meter.memory_growing(0, 60, None).expect("no trap"));
        assert!(!meter.memory_growing(0, 60, None).expect("no trap"));
        assert!(meter.memory_growing(60, 100, None).expect("no trap"));
        assert_eq!(meter.refused(), Some("memory limit"));
    }

    #[test]
    fn a_maximum_that_the_component_declares_is_told_from_the_limit() {
        let mut meter = Meter::of(100, 10);

        assert!(!meter.memory_growing(0, 60, Some(50)).expect("no trap"));
        assert_eq!(meter.refused(), Some("own memory maximum"));
        assert!(!meter.table_growing(0, 6, Some(5)).expect("no trap"));
        assert_eq!(meter.refused(), Some("own table maximum"));
        assert!(!meter.memory_growing(0, 101, Some(200)).expect("no trap"));
        assert_eq!(meter.refused(), Some("memory limit"));
        assert!(meter.memory_growing(0, 100, Some(200)).expect("no trap"), "nothing was taken");
        // wasmtime passes the pool's slot size as the maximum.
        assert!(!meter.memory_growing(0, 101, Some(100)).expect("no trap"));
        assert_eq!(meter.refused(), Some("memory limit"));
        assert!(!meter.table_growing(0, 11, Some(10)).expect("no trap"));
        assert_eq!(meter.refused(), Some("table limit"));
    }

    #[test]
    fn tables_are_bounded_each() {
        let mut meter = Meter::of(0, 10);

        assert!(meter.table_growing(0, 10, None).expect("no trap"));
        assert!(!meter.table_growing(10, 11, None).expect("no trap"));
        assert_eq!(meter.refused(), Some("table limit"));
    }

    #[tokio::test]
    async fn resources_are_memory_of_the_call_until_they_are_dropped() {
        const STEP: usize = RESOURCE_STEP_BYTES;
        let budget = MemoryBudget::new(10 * STEP, 10 * STEP);
        let lease = Arc::new(budget.admit("ana", 0, Duration::ZERO).await.expect("there is room"));
        let mut meter = Meter::of(8 * STEP, 10).leasing(lease.clone(), 0);
        let held = || budget.held_and_total().0;

        meter.hold(STEP).expect("each call may have as much");
        assert_eq!(held(), 0);
        meter.hold(5 * STEP + 1).expect("there is room");
        assert_eq!(held(), 5 * STEP);
        assert!(
            !meter.memory_growing(0, 3 * STEP + 1, None).expect("no trap"),
            "the limit is of both together"
        );
        meter.hold(0).expect("less is always possible");
        assert_eq!(held(), STEP);
        assert!(meter.memory_growing(0, 3 * STEP + 1, None).expect("no trap"));

        let others = lease.count_existing(5 * STEP);
        meter.hold(4 * STEP).expect_err("others have the rest");
        assert_eq!(meter.shortage(), Some(Shortage::User));
        drop((others, meter, lease));
        assert_eq!(held(), 0);
    }

    #[test]
    fn resources_reach_the_limit_of_a_call_without_a_budget() {
        let mut meter = Meter::of(2 * RESOURCE_STEP_BYTES, 10);

        meter.hold(4 * RESOURCE_STEP_BYTES).expect_err("it is more than a call may have");

        assert_eq!(meter.refused(), Some("memory limit"));
    }

    #[tokio::test]
    async fn what_a_guest_grows_to_is_taken_from_the_memory_for_all_calls() {
        let budget = MemoryBudget::new(200, 200);
        let lease = Arc::new(budget.admit("ana", 50, Duration::ZERO).await.expect("there is room"));
        let mut meter = Meter::of(1000, 1000).leasing(lease.clone(), 50);

        assert!(meter.memory_growing(0, 40, None).expect("it is prepaid"));
        assert!(meter.table_growing(0, 10, None).expect("there is room"));
        assert!(meter.memory_growing(40, 110, None).expect("there is room"));
        assert_eq!(meter.shortage(), None);
        let refused = meter.memory_growing(110, 121, None).expect_err("one byte too many");

        assert!(refused.is::<OutOfMemory>());
        let too_large = Shortage::TooLarge { needed: 201 };
        assert_eq!((meter.shortage(), meter.refused()), (Some(too_large), None));
        drop((meter, lease));
        assert!(budget.admit("ana", 200, Duration::ZERO).await.is_ok(), "all is free again");
    }
}
