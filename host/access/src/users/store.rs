//! SQL about what users have, over all tables. It reads only, but for the entry about the end of a user: each crate removes
//! what is its own.

use jiff::Timestamp;
use kitbag_database::audit::{self, Entry};
use kitbag_database::{Database, FromRow, Scope, Transaction, sql};
use kitbag_vault::StoredName;

use super::values::{
    CachedItem, ClientItem, ConsentItem, SessionItem, SettingItem, SettingValue, Size, StoredItem, ToolItem,
    UserCounts, UserDetails, UserSummary,
};

/// What all users have.
#[derive(Clone, Debug)]
pub(super) struct InventoryStore(Database);

/// Ids of all users who were seen, or have anything, without grants of OAuth clients ([`InventoryStore::known`]).
const KNOWN: &str = "
    SELECT user_id AS id FROM users UNION SELECT user_id FROM scim_users
    UNION SELECT user_id FROM program_keys UNION SELECT user_id FROM browser_sessions
    UNION SELECT user_id FROM secrets UNION SELECT user_id FROM user_config UNION SELECT user_id FROM hidden_tools
    UNION SELECT user_id FROM code_tools UNION SELECT user_id FROM consents
    UNION SELECT user_id FROM toolkit_audience UNION SELECT user_id FROM toolkit_users
    UNION SELECT user_id FROM collection_grants UNION SELECT owner FROM toolkits
    UNION SELECT substr(holder, 6) FROM knowledge_usage WHERE substr(holder, 1, 5) = 'user:' AND documents > 0
    UNION SELECT substr(holder, 10) FROM knowledge_usage
        WHERE substr(holder, 1, 9) = 'bin/user:' AND documents > 0";

/// Columns that name users who did something which stays, by table. An erasure replaces them.
pub(crate) const MENTIONS: &[(&str, &[&str])] = &[
    ("collection_grants", &["shared_by"]),
    ("collections", &["created_by", "deleted_by"]),
    ("consents", &["owner"]),
    ("document_versions", &["changed_by"]),
    ("documents", &["added_by", "changed_by", "deleted_by"]),
    ("invocations", &["user_id"]),
    ("publishers", &["added_by"]),
    ("scim_tokens", &["created_by"]),
    ("toolkit_activations", &["activated_by"]),
    ("toolkit_audience", &["shared_by"]),
    ("toolkit_ownership", &["by_user", "owner_before"]),
    ("toolkit_uploads", &["uploaded_by"]),
    ("toolkit_versions", &["deployed_by"]),
    ("users", &["ended_by"]),
];

/// Columns of a [`SummaryRow`] of the user `p.id`.
const COLUMNS: &str = "p.id, u.first_seen_at, u.signed_in_at, u.groups, u.ended_at, u.ended_by,
    COALESCE(d.documents, 0) AS documents, COALESCE(d.bytes, 0) AS bytes,
    COALESCE(b.documents, 0) AS bin_documents, COALESCE(b.bytes, 0) AS bin_bytes,
    (SELECT COUNT(*) FROM secrets WHERE user_id = p.id AND name <> '@account') AS secrets,
    (SELECT COUNT(*) FROM secrets WHERE user_id = p.id AND name = '@account') AS accounts,
    (SELECT COUNT(*) FROM browser_sessions WHERE user_id = p.id) AS sessions,
    (SELECT COUNT(*) FROM toolkits WHERE owner = p.id) AS toolkits,
    (SELECT COUNT(*) FROM collection_grants WHERE user_id = p.id) AS collections";

/// Tables beside a user of whom [`COLUMNS`] are read.
const BESIDE: &str = "LEFT JOIN users u ON u.user_id = p.id
    LEFT JOIN knowledge_usage d ON d.holder = 'user:' || p.id
    LEFT JOIN knowledge_usage b ON b.holder = 'bin/user:' || p.id";

/// A user, with numbers of what the user has. Times are milliseconds since 1970.
#[derive(FromRow)]
struct SummaryRow {
    id: String,
    first_seen_at: Option<i64>,
    signed_in_at: Option<i64>,
    groups: Option<String>,
    ended_at: Option<i64>,
    ended_by: Option<String>,
    documents: i64,
    bytes: i64,
    bin_documents: i64,
    bin_bytes: i64,
    secrets: i64,
    accounts: i64,
    sessions: i64,
    toolkits: i64,
    collections: i64,
}

impl InventoryStore {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Statement that selects the ids of all users who were seen, or have anything. Only a file has grants of OAuth
    /// clients.
    fn known(&self) -> String {
        let grants = if self.0.is_exclusive() { " UNION SELECT user_id FROM oauth_grants" } else { "" };
        format!("{KNOWN}{grants}")
    }

    /// Returns users by id, without the numbers of their keys: the first `limit` after `after`.
    pub(super) async fn list(&self, after: &str, limit: u32) -> kitbag_database::Result<Vec<UserSummary>> {
        let known = self.known();
        let statement = format!(
            "SELECT {COLUMNS} FROM (
                 SELECT id FROM ({known}) AS known WHERE id > $1 AND id <> '' ORDER BY id LIMIT $2
             ) AS p {BESIDE} ORDER BY p.id"
        );
        let rows: Vec<SummaryRow> = sql(kitbag_database::AssertSqlSafe(statement))
            .bind(after)
            .bind(limit)
            .fetch_all(self.0.readers())
            .await?;
        Ok(rows.into_iter().map(UserSummary::from).collect())
    }

    /// Returns a user who was seen or has anything, or did something that stays, with all of it except keys, secrets,
    /// collections and toolkits' records.
    pub(super) async fn get(&self, user: &str) -> kitbag_database::Result<Option<UserDetails>> {
        let mut snapshot = self.0.snapshot().await?;
        if !self.is_known(&mut snapshot, user).await? {
            return Ok(None);
        }
        let statement = format!("SELECT {COLUMNS} FROM (SELECT CAST($1 AS TEXT) AS id) AS p {BESIDE}");
        let row: SummaryRow =
            sql(kitbag_database::AssertSqlSafe(statement)).bind(user).fetch_one(&mut snapshot).await?;
        let details = UserDetails {
            summary: row.into(),
            sessions: sessions(&mut snapshot, user).await?,
            // Only a file has grants of OAuth clients.
            clients: if self.0.is_exclusive() { clients(&mut snapshot, user).await? } else { Vec::new() },
            consents: consents(&mut snapshot, user).await?,
            hidden_tools: tools(&mut snapshot, "SELECT toolkit_id, tool FROM hidden_tools", user).await?,
            code_tools: tools(&mut snapshot, "SELECT toolkit_id, tool FROM code_tools", user).await?,
            shared_toolkits: tools(&mut snapshot, "SELECT toolkit_id, tool FROM toolkit_audience", user)
                .await?,
            settings: settings(&mut snapshot, user).await?,
            cached: cached(&mut snapshot, user).await?,
            toolkits: texts(&mut snapshot, "SELECT id FROM toolkits WHERE owner = $1 ORDER BY id", user)
                .await?,
            uploads: count(
                &mut snapshot,
                "SELECT COUNT(*) FROM toolkit_uploads WHERE uploaded_by = $1",
                user,
            )
            .await?,
            records: count(
                &mut snapshot,
                "SELECT COUNT(*) FROM invocations WHERE user_id = $1
                     AND toolkit_id IN (SELECT id FROM toolkits UNION SELECT 'knowledge')",
                user,
            )
            .await?,
            ..UserDetails::default()
        };
        snapshot.commit().await?;
        Ok(Some(details))
    }

    /// Returns whether a user was seen, has anything, or did something that stays.
    async fn is_known(&self, snapshot: &mut Transaction, user: &str) -> kitbag_database::Result<bool> {
        if user.is_empty() {
            return Ok(false);
        }
        let known = self.known();
        let seen = format!("SELECT EXISTS (SELECT 1 FROM ({known}) AS known WHERE id = $1)");
        let is_seen: bool =
            sql(kitbag_database::AssertSqlSafe(seen)).bind(user).fetch_value(&mut *snapshot).await?;
        if is_seen {
            return Ok(true);
        }
        for (table, columns) in MENTIONS {
            let is_one =
                columns.iter().map(|column| format!("{column} = $1")).collect::<Vec<_>>().join(" OR ");
            let mentioned = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {is_one})");
            let mentioned = sql(kitbag_database::AssertSqlSafe(mentioned)).bind(user);
            if mentioned.fetch_value(&mut *snapshot).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the settings of a user, with their values.
    pub(super) async fn settings_with_values(
        &self,
        user: &str,
    ) -> kitbag_database::Result<Vec<SettingValue>> {
        let rows: Vec<(String, String, String)> =
            sql("SELECT toolkit_id, key, value FROM user_config WHERE user_id = $1 ORDER BY toolkit_id, key")
                .bind(user)
                .fetch_all(self.0.readers())
                .await?;
        let settings = rows.into_iter().map(|(toolkit, key, value)| SettingValue {
            toolkit,
            key,
            value: serde_json::from_str(&value).unwrap_or(serde_json::Value::String(value)),
        });
        Ok(settings.collect())
    }

    /// Records an act.
    pub(super) async fn record(&self, entry: &Entry<'_>) -> kitbag_database::Result<()> {
        let mut transaction = self.0.begin(Scope::Audit).await?;
        audit::append(&mut transaction, entry).await?;
        transaction.commit().await
    }
}

async fn count(
    snapshot: &mut Transaction,
    statement: &'static str,
    user: &str,
) -> kitbag_database::Result<u64> {
    sql(statement).bind(user).fetch_value(snapshot).await.map(number)
}

async fn texts(
    snapshot: &mut Transaction,
    statement: &'static str,
    user: &str,
) -> kitbag_database::Result<Vec<String>> {
    sql(statement).bind(user).fetch_values(snapshot).await
}

async fn sessions(snapshot: &mut Transaction, user: &str) -> kitbag_database::Result<Vec<SessionItem>> {
    let rows: Vec<(Vec<u8>, String, i64, i64)> =
        sql("SELECT digest, agent, created_at, used_at FROM browser_sessions
             WHERE user_id = $1 ORDER BY created_at, digest")
        .bind(user)
        .fetch_all(snapshot)
        .await?;
    let sessions = rows.into_iter().map(|(digest, agent, created_at, used_at)| SessionItem {
        id: short(&digest),
        agent,
        signed_in_at: shown(created_at),
        used_at: shown(used_at),
    });
    Ok(sessions.collect())
}

async fn clients(snapshot: &mut Transaction, user: &str) -> kitbag_database::Result<Vec<ClientItem>> {
    let rows: Vec<(String, Option<String>, i64)> =
        sql("SELECT c.id, c.name, MAX(g.expires_at) FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client_id
             WHERE g.user_id = $1 GROUP BY c.id, c.name ORDER BY c.id")
        .bind(user)
        .fetch_all(snapshot)
        .await?;
    Ok(rows.into_iter().map(|(id, name, at)| ClientItem { id, name, expires_at: shown(at) }).collect())
}

async fn consents(snapshot: &mut Transaction, user: &str) -> kitbag_database::Result<Vec<ConsentItem>> {
    let rows: Vec<(String, String, i64)> = sql("SELECT toolkit_id, version, agreed_at FROM consents
         WHERE user_id = $1 AND given <> 0 ORDER BY toolkit_id")
    .bind(user)
    .fetch_all(snapshot)
    .await?;
    let consents =
        rows.into_iter().map(|(toolkit, version, at)| ConsentItem { toolkit, version, agreed_at: shown(at) });
    Ok(consents.collect())
}

/// Toolkits and tools of a user, of a statement with these two columns.
async fn tools(
    snapshot: &mut Transaction,
    selection: &'static str,
    user: &str,
) -> kitbag_database::Result<Vec<ToolItem>> {
    let statement = format!("{selection} WHERE user_id = $1 ORDER BY toolkit_id, tool");
    let rows: Vec<(String, String)> =
        sql(kitbag_database::AssertSqlSafe(statement)).bind(user).fetch_all(snapshot).await?;
    let tools = rows
        .into_iter()
        .map(|(toolkit, tool)| ToolItem { toolkit, tool: Some(tool).filter(|tool| !tool.is_empty()) });
    Ok(tools.collect())
}

async fn settings(snapshot: &mut Transaction, user: &str) -> kitbag_database::Result<Vec<SettingItem>> {
    let rows: Vec<(String, String)> =
        sql("SELECT toolkit_id, key FROM user_config WHERE user_id = $1 ORDER BY toolkit_id, key")
            .bind(user)
            .fetch_all(snapshot)
            .await?;
    Ok(rows.into_iter().map(|(toolkit, key)| SettingItem { toolkit, key }).collect())
}

async fn cached(snapshot: &mut Transaction, user: &str) -> kitbag_database::Result<Vec<CachedItem>> {
    let rows: Vec<(String, i64, i64)> =
        sql("SELECT toolkit_id, COUNT(*), CAST(SUM(size) AS BIGINT) FROM cached_values
             WHERE user_id = $1 GROUP BY toolkit_id ORDER BY toolkit_id")
        .bind(user)
        .fetch_all(snapshot)
        .await?;
    let cached = rows.into_iter().map(|(toolkit, values, bytes)| CachedItem {
        toolkit,
        values: number(values),
        bytes: number(bytes),
    });
    Ok(cached.collect())
}

impl From<StoredName> for StoredItem {
    fn from(StoredName { toolkit, name, updated_at }: StoredName) -> Self {
        Self { toolkit, name, updated_at }
    }
}

impl From<SummaryRow> for UserSummary {
    fn from(row: SummaryRow) -> Self {
        let is_ended =
            row.ended_at.is_some_and(|ended| row.signed_in_at.is_none_or(|signed_in| signed_in <= ended));
        let is_deactivated = row.ended_at.is_some_and(kitbag_identity::is_deactivation);
        Self {
            id: row.id,
            first_seen_at: row.first_seen_at.map(shown),
            signed_in_at: row.signed_in_at.map(shown),
            groups: row.groups.and_then(|groups| serde_json::from_str(&groups).ok()).unwrap_or_default(),
            ended_at: row.ended_at.filter(|_| !is_deactivated).map(shown),
            ended_by: row.ended_by.filter(|_| !is_deactivated),
            is_ended,
            is_deactivated,
            counts: UserCounts {
                documents: Size { documents: number(row.documents), bytes: number(row.bytes) },
                bin: Size { documents: number(row.bin_documents), bytes: number(row.bin_bytes) },
                secrets: number(row.secrets),
                accounts: number(row.accounts),
                keys: 0,
                sessions: number(row.sessions),
                toolkits: number(row.toolkits),
                collections: number(row.collections),
            },
        }
    }
}

/// First 8 bytes of a digest, in hexadecimal: the id that is shown.
fn short(digest: &[u8]) -> String {
    hex::encode(&digest[..digest.len().min(8)])
}

fn number(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Formats milliseconds since 1970.
pub(super) fn shown(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default().to_string()
}
