//! What one call, and all calls together, may use.

use std::time::Duration;

use wasmtime::ResourceLimiter;

use crate::capabilities::fetch::FetchLimits;

/// Bounds of the sandbox. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Wall time of one call, waiting included.
    pub call_time: Duration,
    /// Linear memory of one call, over all its memories.
    pub memory: usize,
    /// Elements of each table.
    pub table_elements: usize,
    /// Handles to host resources (streams, requests, timers) that one call may hold at once.
    pub resources: usize,
    /// Text, structured value and content of a result together; also what a guest may pass in one host call.
    pub result: usize,
    /// Log entries and output of one call.
    pub log: usize,
    /// Instances that live at the same time: calls, and deploys that ask for a declaration.
    pub instances: u32,
    /// Outbound requests of one call.
    pub fetch: FetchLimits,
}

/// How long `describe` may take: it only builds a value.
pub(super) const DESCRIBE_TIME: Duration = Duration::from_secs(3);

/// Enforces the memory bounds of one store and remembers what was refused.
#[derive(Debug)]
pub(super) struct Meter {
    memory_left: usize,
    table_elements: usize,
    refused: Option<&'static str>,
}

impl Meter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self::of(limits.memory, limits.table_elements)
    }

    /// Bounds memory, in bytes, and the elements of each table.
    pub(super) fn of(memory: usize, table_elements: usize) -> Self {
        Self { memory_left: memory, table_elements, refused: None }
    }

    /// Names the limit that the guest ran into, if any.
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
        let more = desired.saturating_sub(current);
        match self.memory_left.checked_sub(more) {
            Some(left) if maximum.is_none_or(|maximum| desired <= maximum) => {
                self.memory_left = left;
                Ok(true)
            }
            _ => {
                self.refused = Some("memory limit");
                Ok(false)
            }
        }
    }

    fn table_growing(&mut self, _: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let granted = desired <= self.table_elements && maximum.is_none_or(|maximum| desired <= maximum);
        if !granted {
            self.refused = Some("table limit");
        }
        Ok(granted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_memories_of_a_call_share_one_bound() {
        let mut meter = Meter { memory_left: 100, table_elements: 10, refused: None };

        assert!(meter.memory_growing(0, 60, None).expect("no trap"));
        assert!(!meter.memory_growing(0, 60, None).expect("no trap"));
        assert!(meter.memory_growing(60, 100, None).expect("no trap"));
        assert_eq!(meter.refused(), Some("memory limit"));
    }

    #[test]
    fn tables_are_bounded_each() {
        let mut meter = Meter { memory_left: 0, table_elements: 10, refused: None };

        assert!(meter.table_growing(0, 10, None).expect("no trap"));
        assert!(!meter.table_growing(10, 11, None).expect("no trap"));
        assert_eq!(meter.refused(), Some("table limit"));
    }
}
