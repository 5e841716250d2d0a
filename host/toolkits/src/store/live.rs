//! All SQL that reads which versions are live.

use std::collections::HashMap;

use kitbag_database::{Database, FromRow, list, sql};

use super::audience::audiences;
use crate::audience::Audience;

/// The live toolkits at one moment.
pub(crate) struct LiveState {
    /// Number that differs after each change.
    pub(crate) generation: i64,
    pub(crate) toolkits: Vec<LiveRow>,
    /// Manifests by toolkit id, of the rows that the caller does not know.
    pub(crate) manifests: HashMap<String, String>,
}

/// The live version of a toolkit.
#[derive(Clone, PartialEq, Eq, FromRow)]
pub(crate) struct LiveRow {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) version: String,
    pub(crate) digest: String,
    /// Id of the activation, new each time a version becomes live: after a removal, the same version may
    /// describe itself differently.
    pub(crate) activation: i64,
    /// The former owner, if the toolkit was taken over, and the time in milliseconds since 1970.
    pub(crate) taken_from: Option<String>,
    pub(crate) taken_at: Option<i64>,
    /// Digest of the picture, if there is one.
    pub(crate) picture: Option<String>,
    /// The users who may use the toolkit.
    #[sqlx(skip)]
    pub(crate) audience: Audience,
    /// The reason why an operator vouches for the live version, and the operator; `None` if none does.
    pub(crate) vouched: Option<String>,
    pub(crate) vouched_by: Option<String>,
}

/// The live versions of all toolkits.
#[derive(Clone, Debug)]
pub(crate) struct LiveStore(Database);

impl LiveStore {
    pub(crate) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Returns the live version of every toolkit. Manifests are read only for rows for which `is_known`
    /// returns `false`.
    pub(crate) async fn read(
        &self,
        is_known: impl Fn(&LiveRow) -> bool,
    ) -> kitbag_database::Result<LiveState> {
        let mut snapshot = self.0.snapshot().await?;
        let generation = sql("SELECT generation FROM registry").fetch_value(&mut snapshot).await?;
        let mut toolkits: Vec<LiveRow> = sql("SELECT t.id, t.owner, v.version, v.digest,
                    COALESCE(a.sequence, 0) AS activation,
                    o.owner_before AS taken_from, o.at AS taken_at, i.digest AS picture,
                    a.vouched, CASE WHEN a.vouched IS NOT NULL THEN a.activated_by END AS vouched_by
             FROM toolkits t
             JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version
             LEFT JOIN toolkit_activations a ON a.sequence = (
                 SELECT max(sequence) FROM toolkit_activations WHERE toolkit_id = t.id)
             LEFT JOIN toolkit_icons i ON i.toolkit_id = t.id AND i.version = t.live_version
             LEFT JOIN toolkit_ownership o ON o.sequence = (
                 SELECT max(sequence) FROM toolkit_ownership
                 WHERE toolkit_id = t.id AND event IN ('taken-over', 'passed', 'removed')
             ) AND o.event IN ('taken-over', 'passed') AND o.by_user = t.owner")
        .fetch_all(&mut snapshot)
        .await?;
        let mut audiences = audiences(&mut snapshot).await?;
        for row in &mut toolkits {
            row.audience = audiences.remove(&row.id).unwrap_or_default();
        }
        let unknown: Vec<_> =
            toolkits.iter().filter(|row| !is_known(row)).map(|row| row.id.as_str()).collect();
        let manifests: Vec<(String, String)> = if unknown.is_empty() {
            Vec::new()
        } else {
            sql("SELECT t.id, v.manifest FROM toolkits t
                 JOIN toolkit_versions v ON v.toolkit_id = t.id AND v.version = t.live_version
                 WHERE t.id IN (SELECT value FROM json_each($1))")
            .bind(list(&unknown))
            .fetch_all(&mut snapshot)
            .await?
        };
        Ok(LiveState { generation, toolkits, manifests: manifests.into_iter().collect() })
    }

    /// Fails if the tables cannot be read.
    pub(crate) async fn check(&self) -> kitbag_database::Result<()> {
        let any = sql("SELECT t.id FROM toolkits t JOIN toolkit_versions v ON v.toolkit_id = t.id LIMIT 1");
        let _: Option<String> = any.fetch_optional_value(self.0.readers()).await?;
        Ok(())
    }
}
