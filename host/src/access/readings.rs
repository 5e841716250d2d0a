//! Numbers for the operator's monitoring: how much there is, of whomever it is.

use tracing::warn;

use super::Access;
use crate::metrics::Reading;

impl Access {
    /// The numbers now; one that cannot be read is missing. Needs no user, and tells nothing of any.
    pub async fn readings(&self) -> Vec<Reading> {
        let stores = self.stores();
        let deployed = stores.toolkits.registry().all().count();
        let mut readings = vec![
            Reading::count(
                "calls_in_flight",
                "Calls of tools that are running",
                stores.dispatch.calls_in_flight(),
            ),
            Reading::count("toolkits", "Deployed toolkits", deployed),
            Reading::bytes("disk_room", "What may still be stored in the data directory", stores.disk.room()),
        ];
        match stores.knowledge.waiting_jobs().await {
            Ok(jobs) => {
                readings.push(Reading::counts("jobs_waiting", "Documents that wait for a job", "job", jobs));
            }
            Err(cause) => warn!(%cause, "the number of waiting jobs cannot be read"),
        }
        readings
    }
}
