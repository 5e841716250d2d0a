//! Metrics for the operator's monitoring: totals over all users.

use kitbag_base::metrics::Reading;
use kitbag_database::PoolReading;
use tracing::warn;

use super::Access;

impl Access {
    /// Returns the current values; a value that cannot be read is omitted. Needs no user, and discloses
    /// nothing about any.
    pub async fn readings(&self) -> Vec<Reading> {
        let stores = self.stores();
        let deployed = stores.toolkits.registry.load().all().count();
        let mut readings = vec![
            Reading::count(
                "calls_in_flight",
                "Calls of tools that are running",
                stores.dispatch.calls_in_flight(),
            ),
            Reading::count("toolkits", "Deployed toolkits", deployed),
            Reading::bytes("disk_room", "What may still be stored in the data directory", stores.disk.room()),
        ];
        readings.extend(stores.objects_disk.as_ref().map(|disk| {
            Reading::bytes(
                "objects_disk_room",
                "What may still be stored in the folder of components and captured files",
                disk.room(),
            )
        }));
        readings.extend(of_pools(stores.database.pools()));
        match stores.knowledge.waiting_jobs().await {
            Ok(jobs) => {
                readings.push(Reading::counts("jobs_waiting", "Documents that wait for a job", "job", jobs));
            }
            Err(cause) => warn!(%cause, "the number of waiting jobs cannot be read"),
        }
        readings
    }
}

/// Returns the usage of the database connection pools.
fn of_pools(pools: [PoolReading; 2]) -> [Reading; 3] {
    let connections =
        pools.iter().flat_map(|it| [(it.pool, "in-use", it.in_use), (it.pool, "idle", it.idle)]);
    [
        Reading::labelled(
            "database_connections",
            "Connections to the database",
            connections.map(|(pool, state, count)| (vec![("pool", pool), ("state", state)], count)),
        ),
        Reading::counts(
            "database_connections_limit",
            "Connections to the database that there may be",
            "pool",
            pools.iter().map(|it| (it.pool, it.limit)),
        ),
        Reading::totals(
            "database_waits",
            "How often all connections were in use when one was wanted",
            pools.iter().map(|it| (vec![("pool", it.pool)], it.waits)),
        ),
    ]
}
