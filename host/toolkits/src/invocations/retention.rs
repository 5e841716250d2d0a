//! Removes records that are too old; and, if all together take more space than they may, the oldest of those toolkits
//! that have more than their share.
//!
//! A toolkit with few records keeps them however many calls others have. Within a toolkit, the records of the users with
//! the most records are removed first. An operator can limit the number of records of each toolkit, too.
//!
//! Only one process sweeps at a time. For the number of records it sweeps only the toolkits whose calls it has recorded.
//! Concurrent sweeps would remove the same records, after each has ranked all of them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::record::{Outcome, Record};
use super::store::{Store, kept_from};

/// Limits of the stored records.
#[derive(Clone, Copy, Debug)]
pub struct RetentionLimits {
    /// Retention time of a record.
    pub age: Duration,
    /// Maximum number of records per toolkit; [`u32::MAX`] for no limit.
    pub records: u32,
    /// Approximate maximum size of all records, in bytes.
    pub bytes: usize,
}

/// Maximum number of stored records of refused calls per user of a toolkit: a faulty client causes thousands.
const MAX_REFUSED_RECORDS: u32 = 100;
/// Number of written records after which a sweep is due. A sweep counts all records of a toolkit, and may rank
/// them, so that a few more records than its limit are cheaper than more sweeps.
const SWEEP_AFTER_RECORDS: usize = 5000;
/// Number of written bytes after which a sweep is due.
const SWEEP_AFTER_BYTES: usize = 16 << 20;

/// Minimum interval in which the size of all records is added up, which reads an entry of an index for each record.
const SIZE_INTERVAL: Duration = Duration::from_mins(1);

/// Tracks the new records since the last sweep.
pub(super) struct Retention {
    limits: RetentionLimits,
    /// Toolkits with new records, and whether there are refused calls among these; `None`: all, because at the
    /// start they are unknown.
    touched: Option<HashMap<String, bool>>,
    records: usize,
    bytes: usize,
    /// Time at which the size of all records was added up last.
    sized_at: Option<Instant>,
}

impl Retention {
    pub(super) fn new(limits: RetentionLimits) -> Self {
        Self { limits, touched: None, records: 0, bytes: 0, sized_at: None }
    }

    /// Counts written records.
    pub(super) fn count(&mut self, records: &[Record]) {
        self.records += records.len();
        self.bytes += records.iter().map(Record::size).sum::<usize>();
        if let Some(touched) = &mut self.touched {
            for record in records {
                let is_refused = Outcome::REFUSED.contains(&record.conclusion.outcome);
                match touched.get_mut(&record.call.toolkit) {
                    Some(has_refused) => *has_refused |= is_refused,
                    None => drop(touched.insert(record.call.toolkit.clone(), is_refused)),
                }
            }
        }
    }

    /// Whether enough has been written for a sweep before the regular time.
    pub(super) fn is_due(&self) -> bool {
        self.records >= SWEEP_AFTER_RECORDS || self.bytes >= SWEEP_AFTER_BYTES
    }

    /// Removes the records beyond the limits, unless another process is sweeping. Returns whether it did.
    pub(super) async fn sweep(&mut self, store: &Store) -> kitbag_database::Result<bool> {
        // Reset even if another process is sweeping: the next sweep is due when as much has been written
        // again, or after its interval.
        (self.records, self.bytes) = (0, 0);
        // If another process is sweeping, the next sweep includes the records written here.
        let Some(lock) = store.lock_for_retention().await? else { return Ok(false) };
        let swept = self.sweep_alone(store).await;
        lock.release().await?;
        swept.map(|()| true)
    }

    async fn sweep_alone(&mut self, store: &Store) -> kitbag_database::Result<()> {
        let touched = match &self.touched {
            Some(touched) => touched.clone(),
            None => store.toolkits().await?.into_iter().map(|toolkit| (toolkit, true)).collect(),
        };
        let age = i64::try_from(self.limits.age.as_millis()).unwrap_or(i64::MAX);
        let now = Timestamp::now();
        store.remove_before(now.as_millisecond().saturating_sub(age)).await?;
        let (calls, users) = kept_from(now, self.limits.age);
        store.remove_counts_before(calls, users).await?;
        for (toolkit, has_refused) in touched {
            if has_refused {
                store.remove_refused_beyond(&toolkit, MAX_REFUSED_RECORDS).await?;
            }
            if self.limits.records < u32::MAX {
                store.remove_beyond_number(&toolkit, self.limits.records).await?;
            }
        }
        if self.sized_at.is_none_or(|at| at.elapsed() >= SIZE_INTERVAL) {
            self.fit_size(store).await?;
            self.sized_at = Some(Instant::now());
        }
        // Cleared only now: after a failure the next sweep includes them again.
        self.touched = Some(HashMap::new());
        Ok(())
    }

    /// Removes records of the toolkits that have more than their share of the limit, if all together are beyond it.
    async fn fit_size(&self, store: &Store) -> kitbag_database::Result<()> {
        let sizes = store.sizes().await?;
        let share = share(sizes.iter().map(|(_, size)| *size).collect(), self.limits.bytes);
        for (toolkit, size) in sizes {
            if size > share {
                store.remove_beyond_size(&toolkit, share).await?;
            }
        }
        Ok(())
    }
}

/// Returns the size that no toolkit may exceed, so that the sizes fit into the limit and the largest give way alone.
fn share(mut sizes: Vec<i64>, limit: usize) -> i64 {
    let mut left = i64::try_from(limit).unwrap_or(i64::MAX);
    sizes.sort_unstable();
    for (size, larger) in sizes.iter().zip((1..=i64::try_from(sizes.len()).unwrap_or(i64::MAX)).rev()) {
        if *size > left / larger {
            return left / larger;
        }
        left -= size;
    }
    i64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_give_way_alone() {
        for (sizes, limit, expected) in [
            (vec![], 0, i64::MAX),
            (vec![10, 20], 30, i64::MAX),
            (vec![10, 21], 30, 20),
            (vec![100, 1, 100, 5], 106, 50),
            (vec![7, 7, 7], 9, 3),
            (vec![1000], 10, 10),
        ] {
            assert_eq!(share(sizes.clone(), limit), expected, "{sizes:?} in {limit}");
        }
    }
}
