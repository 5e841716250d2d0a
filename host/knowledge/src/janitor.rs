//! Empties bins: what was deleted longer ago than bins keep it goes for good, and earlier texts that are too old.

use std::time::Duration;

use kitbag_database::Holder;
use kitbag_database::audit::Actor;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::collections::{CollectionError, Collections};
use super::document::Chosen;
use super::{Knowledge, KnowledgeError};

const INTERVAL: Duration = Duration::from_hours(1);

impl Knowledge {
    /// Empties bins every hour, of what was deleted longer ago than `age`, until the server stops. All processes of a
    /// service do it.
    pub fn keep_emptying_bins(&self, collections: &Collections, age: Duration, stopping: CancellationToken) {
        let knowledge = self.clone();
        let collections = collections.clone();
        let emptying = async move {
            loop {
                match knowledge.empty_bins(&collections, age).await {
                    Ok(0) => {}
                    Ok(count) => info!(count, "removed documents for good that were in a bin"),
                    Err(cause) => warn!(%cause, "bins could not be emptied"),
                }
                sleep(INTERVAL).await;
            }
        };
        tokio::spawn(async move { stopping.run_until_cancelled(emptying).await });
    }

    /// Removes what was deleted longer ago than `age`. Returns the number of documents.
    pub async fn empty_bins(&self, collections: &Collections, age: Duration) -> Result<u64, KnowledgeError> {
        let mut count = self.purge_bins(age).await?;
        for id in collections.deleted_before(age).await? {
            count += self.purge_collection(collections, &id, &Actor::server()).await?;
        }
        Ok(count)
    }

    /// Removes a deleted collection for good, with its documents. Returns their number.
    pub async fn purge_collection(
        &self,
        collections: &Collections,
        id: &str,
        by: &Actor,
    ) -> Result<u64, KnowledgeError> {
        let holder = Holder::collection(id);
        collections.begin_purge(id, by).await?;
        let mut count = 0;
        loop {
            for of in [&holder, &holder.bin()] {
                count += self.purge(of, Chosen::All, by.user()).await?;
            }
            match collections.end_purge(id, by).await {
                // Another process may have been faster.
                Ok(true) | Err(CollectionError::Unknown(_)) => return Ok(count),
                Ok(false) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
