//! Conditions for a version to become live, checked in the transaction that makes it live.

use kitbag_database::{FromRow, Transaction, sql};
use kitbag_manifest::ToolkitDefinition;
use serde::{Deserialize, Serialize};

use super::versions::Version;
use crate::error::ToolkitError;

/// A live version at the time when an operator saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, FromRow)]
#[serde(deny_unknown_fields)]
pub struct LiveVersion {
    /// Semantic version.
    pub version: String,
    /// SHA-256 of the component, hexadecimal.
    pub digest: String,
}

impl From<&Version> for LiveVersion {
    fn from(Version { record, .. }: &Version) -> Self {
        Self { version: record.version.clone(), digest: record.digest.clone() }
    }
}

/// The live version that is required for another version to become live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// No condition.
    Anything,
    /// This version, with which the other one was compared; `None` if the toolkit was not deployed.
    Live(Option<LiveVersion>),
}

pub(super) async fn live_version(
    transaction: &mut Transaction,
    id: &str,
) -> kitbag_database::Result<Option<LiveVersion>> {
    sql("SELECT v.version, v.digest FROM toolkits t
         JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version WHERE t.id = $1")
    .bind(id)
    .fetch_optional(transaction)
    .await
}

pub(super) async fn expect_live(
    transaction: &mut Transaction,
    id: &str,
    expected: &Expected,
) -> Result<(), ToolkitError> {
    let Expected::Live(expected) = expected else { return Ok(()) };
    let live = live_version(transaction, id).await?;
    if live == *expected {
        return Ok(());
    }
    Err(ToolkitError::LiveChanged { id: id.to_owned(), live: live.map(|live| live.version) })
}

/// Refuses a version that is already recorded with another component or manifest: `describe` could return
/// another declaration each time.
pub(super) async fn refuse_taken_version(
    transaction: &mut Transaction,
    definition: &ToolkitDefinition,
    digest: &str,
    manifest: &str,
) -> Result<(), ToolkitError> {
    let id = &definition.id;
    let version = &definition.version;
    let known: Option<(String, String)> =
        sql("SELECT digest, manifest FROM toolkit_versions WHERE toolkit_id = $1 AND version = $2")
            .bind(id)
            .bind(version)
            .fetch_optional(transaction)
            .await?;
    match known {
        Some((known, described)) if known != digest || described != manifest => {
            Err(ToolkitError::VersionTaken { id: id.clone(), version: version.clone() })
        }
        _ => Ok(()),
    }
}
