//! How long records are kept: until they are too old, or their toolkit has too many.
//!
//! Bounds are a toolkit's own: a noisy one loses its own past, never another's. Within a toolkit the
//! users with the most records lose theirs first.

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;

use super::record::Record;
use super::store::Store;
use crate::database;

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct RetentionLimits {
    /// How long a record is kept.
    pub age: Duration,
    /// Records of one toolkit.
    pub records: u32,
    /// Bytes that the records of one toolkit take, about.
    pub bytes: usize,
}

/// Records kept of calls that were refused before they ran, of each user of a toolkit: a faulty client makes
/// thousands of them.
const MAX_REFUSED_RECORDS: u32 = 100;
/// Records written until the next sweep is due.
const SWEEP_AFTER_RECORDS: usize = 1000;
/// Bytes written until the next sweep is due.
const SWEEP_AFTER_BYTES: usize = 16 << 20;

/// Which toolkits have new records, and how much of them there is.
pub(super) struct Retention {
    limits: RetentionLimits,
    /// Nothing stands for every toolkit: what was written before the start is not known.
    touched: Option<HashSet<String>>,
    records: usize,
    bytes: usize,
}

impl Retention {
    pub(super) fn new(limits: RetentionLimits) -> Self {
        Self { limits, touched: None, records: 0, bytes: 0 }
    }

    /// Takes note of records that were written.
    pub(super) fn note(&mut self, records: &[Record]) {
        self.records += records.len();
        self.bytes += records.iter().map(Record::size).sum::<usize>();
        if let Some(touched) = &mut self.touched {
            for record in records {
                if !touched.contains(&record.toolkit) {
                    touched.insert(record.toolkit.clone());
                }
            }
        }
    }

    /// Whether enough was written to look before the next regular time.
    pub(super) fn is_due(&self) -> bool {
        self.records >= SWEEP_AFTER_RECORDS || self.bytes >= SWEEP_AFTER_BYTES
    }

    /// Removes what is too old or too much.
    pub(super) async fn sweep(&mut self, store: &Store) -> database::Result<()> {
        let toolkits = match self.touched.replace(HashSet::new()) {
            Some(touched) => touched.into_iter().collect(),
            None => store.toolkits().await?,
        };
        (self.records, self.bytes) = (0, 0);
        let age = i64::try_from(self.limits.age.as_millis()).unwrap_or(i64::MAX);
        store.remove_before(Timestamp::now().as_millisecond().saturating_sub(age)).await?;
        for toolkit in toolkits {
            store.remove_refused_beyond(&toolkit, MAX_REFUSED_RECORDS).await?;
            store.remove_beyond(&toolkit, self.limits.records, self.limits.bytes).await?;
        }
        Ok(())
    }
}
