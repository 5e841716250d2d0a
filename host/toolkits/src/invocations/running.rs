//! The calls that run in this process, as the database knows them: what is written of a call that a kill ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kitbag_database::peers::Process;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::error;

use super::record::{BegunCall, Record};
use super::store::Store;

/// Time after which the beginning of a call is written. Most calls have ended before, so that nothing is written but
/// their records. A call that is younger when its process is killed leaves nothing behind.
const ANNOUNCE_AFTER: Duration = Duration::from_millis(100);

/// Ids of the calls of a process.
pub(super) struct CallNames {
    /// Id under which the process was registered first. No other process ever has it.
    process: Arc<str>,
    given: AtomicU64,
}

impl CallNames {
    pub(super) fn new(process: &Process) -> Self {
        Self { process: process.id().borrow().clone(), given: AtomicU64::new(0) }
    }

    pub(super) fn next(&self) -> String {
        format!("{}-{}", self.process, self.given.fetch_add(1, Ordering::Relaxed))
    }
}

pub(super) struct Running {
    /// Id of this process. It changes when other processes have counted this one as ended.
    process: watch::Receiver<Arc<str>>,
    /// Calls whose beginning is not written, with the time at which it is due.
    begun: HashMap<String, (Instant, Arc<BegunCall>)>,
    /// Calls whose beginning is written, by id.
    announced: HashMap<String, Arc<BegunCall>>,
}

impl Running {
    pub(super) fn new(process: watch::Receiver<Arc<str>>) -> Self {
        Self { process, begun: HashMap::new(), announced: HashMap::new() }
    }

    pub(super) fn begin(&mut self, call: Arc<BegunCall>) {
        self.begun.insert(call.id.clone(), (Instant::now() + ANNOUNCE_AFTER, call));
    }

    /// A call has ended, whose record is written next.
    pub(super) fn end(&mut self, call: &BegunCall) {
        self.begun.remove(&call.id);
    }

    /// Returns the time at which the next beginning of a call is to be written; `None` if there is none.
    pub(super) fn due(&self) -> Option<Instant> {
        self.begun.values().map(|(due, _)| *due).min()
    }

    /// Writes the beginnings that are due. What cannot be written is given up: it is of use after a kill alone.
    pub(super) async fn announce(&mut self, store: &Store) {
        let now = Instant::now();
        self.begun.retain(|_, (_, call)| !call.lost.is_marked());
        let due = self.begun.extract_if(|_, (due, _)| *due <= now);
        let calls: Vec<_> = due.map(|(_, (_, call))| call).collect();
        let process = self.process.borrow().clone();
        match store.announce(&process, &calls).await {
            Ok(()) => self.announced.extend(calls.into_iter().map(|call| (call.id.clone(), call))),
            Err(cause) => error!(%cause, calls = calls.len(), "the beginning of calls was not stored"),
        }
    }

    /// Returns the ids of the written beginnings that go with these records, and of those that have no record.
    pub(super) fn ended_with(&self, records: &[Record]) -> Vec<String> {
        let of_records = records.iter().map(|record| &record.call.id);
        let of_records = of_records.filter(|id| self.announced.contains_key(*id));
        let lost = self.announced.values().filter(|call| call.lost.is_marked()).map(|call| &call.id);
        of_records.chain(lost).cloned().collect()
    }

    /// Beginnings of calls are not in the database any more.
    pub(super) fn forget(&mut self, ids: &[String]) {
        for id in ids {
            self.announced.remove(id);
        }
    }
}
