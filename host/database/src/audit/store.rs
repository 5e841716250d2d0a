//! All SQL of the audit log. Times are milliseconds since 1970.

use std::collections::HashMap;

use jiff::Timestamp;

use super::chain::{Covered, GENESIS};
use super::entry::{AuditRecord, Entry, bounded, shown_time};
use super::reading::AuditFilter;
use crate::{Database, FromRow, Scope, Transaction, sql};

/// The columns of an entry.
macro_rules! columns {
    () => {
        "id, chain, sequence, at, act, outcome, actor, client, program_key, toolkit, version, digest, name, \
         affected, hash"
    };
}

/// SQL condition of an [`AuditFilter`], with its values as parameters 1 to 5.
macro_rules! filter {
    () => {
        "at >= $1 AND at <= $2
         AND (CAST($3 AS TEXT) IS NULL OR act = $3 OR substr(act, 1, length($3) + 1) = $3 || '.')
         AND (CAST($4 AS TEXT) IS NULL OR actor = $4 OR affected = $4)
         AND (CAST($5 AS TEXT) IS NULL OR toolkit = $5)"
    };
}

/// The tables of the audit log.
#[derive(Clone, Debug)]
pub(super) struct Store(pub(super) Database);

/// A stored entry.
#[derive(Clone, Debug, FromRow)]
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) chain: String,
    pub(super) sequence: i64,
    at: i64,
    act: String,
    outcome: String,
    actor: String,
    client: Option<String>,
    program_key: Option<String>,
    toolkit: Option<String>,
    version: Option<String>,
    digest: Option<String>,
    name: Option<String>,
    affected: Option<String>,
    pub(super) hash: Vec<u8>,
}

/// Ends of a chain: the last removed and the newest entry.
#[derive(Clone, Debug, FromRow)]
pub(super) struct ChainRow {
    pub(super) chain: String,
    pub(super) removed: i64,
    pub(super) removed_hash: Vec<u8>,
    pub(super) newest: i64,
    pub(super) newest_hash: Vec<u8>,
}

/// Appends an entry in the transaction of its act. Locks the chain of this process until the transaction
/// ends, so slow work has to precede it.
pub async fn append(transaction: &mut Transaction, entry: &Entry<'_>) -> crate::Result<()> {
    let chain = transaction.writer().to_owned();
    let (sequence, before): (i64, Vec<u8>) = sql("INSERT INTO audit_chains
             (chain, removed, removed_hash, newest, newest_hash) VALUES ($1, 0, $2, 1, $2)
         ON CONFLICT (chain) DO UPDATE SET newest = audit_chains.newest + 1
         RETURNING newest, newest_hash")
    .bind(&chain)
    .bind(&GENESIS[..])
    .fetch_one(&mut *transaction)
    .await?;
    let at = Timestamp::now().as_millisecond();
    let Entry { act, outcome, by, toolkit, version, digest, name, affected } = entry;
    let user = bounded(by.user());
    let optional = [by.client(), by.key(), *toolkit, *version, *digest, *name, *affected];
    let optional = optional.map(|text| text.map(bounded));
    let texts = optional.each_ref().map(|text| text.as_deref());
    let fixed = [act.name(), outcome.name(), &*user];
    let hash = Covered(&hex::encode(before), &chain, sequence, at, fixed, texts).hash();
    let mut insert = sql("INSERT INTO audit
             (chain, sequence, at, act, outcome, actor, client, program_key, toolkit, version, digest, name, affected,
              hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)")
    .bind(&chain)
    .bind(sequence)
    .bind(at);
    for text in fixed {
        insert = insert.bind(text);
    }
    for text in texts {
        insert = insert.bind(text);
    }
    insert.bind(&hash[..]).execute(&mut *transaction).await?;
    sql("UPDATE audit_chains SET newest_hash = $1 WHERE chain = $2")
        .bind(&hash[..])
        .bind(&chain)
        .execute(transaction)
        .await?;
    Ok(())
}

impl Row {
    /// Returns the expected hash of the entry, given the hash of the previous entry.
    pub(super) fn expected_hash(&self, before: &[u8]) -> Vec<u8> {
        let fixed = [self.act.as_str(), &self.outcome, &self.actor];
        let Self { client, program_key, toolkit, version, digest, name, affected, .. } = self;
        let texts = [client, program_key, toolkit, version, digest, name, affected].map(Option::as_deref);
        let before = hex::encode(before);
        Covered(&before, &self.chain, self.sequence, self.at, fixed, texts).hash().to_vec()
    }
}

impl From<Row> for AuditRecord {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            at: shown_time(row.at),
            act: row.act,
            outcome: row.outcome,
            user: Some(row.actor).filter(|user| !user.is_empty()),
            client: row.client,
            key: row.program_key,
            toolkit: row.toolkit,
            version: row.version,
            digest: row.digest,
            name: row.name,
            affected_user: row.affected,
            chain: row.chain,
            sequence: row.sequence,
            hash: hex::encode(row.hash),
        }
    }
}

/// Binds the values of an [`AuditFilter`].
macro_rules! bind_filter {
    ($statement:expr, $filter:expr) => {{
        let AuditFilter { since, until, act, user, toolkit } = $filter;
        $statement
            .bind(since.map_or(i64::MIN, Timestamp::as_millisecond))
            .bind(until.map_or(i64::MAX, Timestamp::as_millisecond))
            .bind(act)
            .bind(user)
            .bind(toolkit)
    }};
}

impl Store {
    pub(super) fn new(database: Database) -> Self {
        Self(database)
    }

    /// Appends an entry in a transaction of its own.
    pub(super) async fn append_alone(&self, entry: &Entry<'_>) -> crate::Result<()> {
        let mut transaction = self.0.begin(Scope::Audit).await?;
        append(&mut transaction, entry).await?;
        transaction.commit().await
    }

    /// Returns the newest sequence number of each chain, and the greatest id.
    pub(super) async fn heads(&self) -> crate::Result<(HashMap<String, i64>, i64)> {
        let mut snapshot = self.0.snapshot().await?;
        let heads: Vec<(String, i64)> =
            sql("SELECT chain, newest FROM audit_chains").fetch_all(&mut snapshot).await?;
        let newest: Option<i64> = sql("SELECT max(id) FROM audit").fetch_value(&mut snapshot).await?;
        Ok((heads.into_iter().collect(), newest.unwrap_or_default()))
    }

    /// Returns the chains whose newest sequence number differs from the known one, with that number.
    pub(super) async fn newer(&self, known: &HashMap<String, i64>) -> crate::Result<Vec<(String, i64)>> {
        let mut heads: Vec<(String, i64)> =
            sql("SELECT chain, newest FROM audit_chains").fetch_all(self.0.readers()).await?;
        heads.retain(|(chain, newest)| known.get(chain) != Some(newest));
        Ok(heads)
    }

    /// Returns the id before the newest `count` matching entries up to the id `until` (0 if there is none),
    /// and whether older ones exist.
    pub(super) async fn before_last(
        &self,
        filter: &AuditFilter,
        until: i64,
        count: u32,
    ) -> crate::Result<(i64, bool)> {
        let statement =
            sql(concat!("SELECT id FROM audit WHERE ", filter!(), " AND id <= $6 ORDER BY id DESC LIMIT $7"));
        let ids: Vec<i64> = bind_filter!(statement, filter)
            .bind(until)
            .bind(i64::from(count) + 1)
            .fetch_values(self.0.readers())
            .await?;
        let shown = usize::try_from(count).unwrap_or(usize::MAX);
        Ok(match ids.get(shown) {
            Some(older) => (*older, true),
            None => (0, false),
        })
    }

    /// Returns up to `limit` entries with `after < id <= until`, oldest first.
    pub(super) async fn page(
        &self,
        filter: &AuditFilter,
        [after, until]: [i64; 2],
        limit: u32,
    ) -> crate::Result<Vec<Row>> {
        let statement = sql(concat!(
            "SELECT ",
            columns!(),
            " FROM audit WHERE ",
            filter!(),
            " AND id > $6 AND id <= $7 ORDER BY id LIMIT $8"
        ));
        bind_filter!(statement, filter).bind(after).bind(until).bind(limit).fetch_all(self.0.readers()).await
    }

    /// Returns up to `limit` entries of one chain with `after < sequence <= until`, oldest first.
    pub(super) async fn page_of_chain(
        &self,
        filter: &AuditFilter,
        chain: &str,
        [after, until]: [i64; 2],
        limit: u32,
    ) -> crate::Result<Vec<Row>> {
        let statement = sql(concat!(
            "SELECT ",
            columns!(),
            " FROM audit WHERE ",
            filter!(),
            " AND chain = $6 AND sequence > $7 AND sequence <= $8 ORDER BY sequence LIMIT $9"
        ));
        let statement = bind_filter!(statement, filter).bind(chain).bind(after).bind(until);
        statement.bind(limit).fetch_all(self.0.readers()).await
    }

    /// Returns the chains with entries older than `time`.
    pub(super) async fn chains_before(&self, time: i64) -> crate::Result<Vec<String>> {
        sql("SELECT DISTINCT chain FROM audit WHERE at < $1").bind(time).fetch_values(self.0.readers()).await
    }

    /// Removes at most `limit` entries from the beginning of a chain, up to the first one that is not older
    /// than `time`. Returns their number.
    pub(super) async fn remove_before(&self, chain: &str, time: i64, limit: i64) -> crate::Result<i64> {
        let mut transaction = self.0.begin(Scope::Audit).await?;
        // Locks the chain against appends of other processes.
        let removed: Option<i64> =
            sql("UPDATE audit_chains SET removed = removed WHERE chain = $1 RETURNING removed")
                .bind(chain)
                .fetch_optional_value(&mut transaction)
                .await?;
        let Some(removed) = removed else { return Ok(0) };
        let rows: Vec<(i64, i64, Vec<u8>)> =
            sql("SELECT sequence, at, hash FROM audit WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT $3")
                .bind(chain)
                .bind(removed)
                .bind(limit)
                .fetch_all(&mut transaction)
                .await?;
        let old: Vec<_> = rows.into_iter().take_while(|(_, at, _)| *at < time).collect();
        let Some((last, _, hash)) = old.last() else { return Ok(0) };
        sql("DELETE FROM audit WHERE chain = $1 AND sequence <= $2")
            .bind(chain)
            .bind(*last)
            .execute(&mut transaction)
            .await?;
        sql("UPDATE audit_chains SET removed = $1, removed_hash = $2 WHERE chain = $3")
            .bind(*last)
            .bind(hash)
            .bind(chain)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await?;
        Ok(i64::try_from(old.len()).unwrap_or(i64::MAX))
    }

    /// Deletes the rows of chains without entries, except the chain of this process. An entry that another
    /// process appends later restarts its chain.
    pub(super) async fn forget_empty_chains(&self) -> crate::Result<()> {
        let mut transaction = self.0.begin(Scope::Audit).await?;
        let own = transaction.writer().to_owned();
        sql("DELETE FROM audit_chains WHERE removed = newest AND chain <> $1")
            .bind(&own)
            .execute(&mut transaction)
            .await?;
        transaction.commit().await
    }
}

/// Returns the ends of all chains.
pub(super) async fn chains(snapshot: &mut Transaction) -> crate::Result<Vec<ChainRow>> {
    sql("SELECT chain, removed, removed_hash, newest, newest_hash FROM audit_chains ORDER BY chain")
        .fetch_all(snapshot)
        .await
}

/// Returns up to `limit` entries of a chain with `sequence > after`, oldest first.
pub(super) async fn links(
    snapshot: &mut Transaction,
    chain: &str,
    after: i64,
    limit: u32,
) -> crate::Result<Vec<Row>> {
    sql(concat!(
        "SELECT ",
        columns!(),
        " FROM audit WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT $3"
    ))
    .bind(chain)
    .bind(after)
    .bind(limit)
    .fetch_all(snapshot)
    .await
}

/// Returns chains that have entries, but no row in `audit_chains`.
pub(super) async fn unknown_chains(snapshot: &mut Transaction) -> crate::Result<Vec<String>> {
    sql("SELECT DISTINCT chain FROM audit WHERE chain NOT IN (SELECT chain FROM audit_chains) ORDER BY chain")
        .fetch_values(snapshot)
        .await
}
