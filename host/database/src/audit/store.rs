//! All SQL of the audit log. Times are milliseconds since 1970.

use std::collections::HashMap;

use jiff::Timestamp;
use tracing::error;

use super::act::Act;
use super::calls::{self, CallRow};
use super::chain::Covered;
use super::ends::{self, Breaks, Ends};
use super::entry::{Actor, AuditRecord, Entry, bounded, shown_time};
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

/// Maximum number of faults that one transaction records in detail.
const MAX_BREAKS: usize = 20;

/// The tables of the audit log.
#[derive(Clone, Debug)]
pub(super) struct Store(pub(super) Database);

/// A stored entry.
#[derive(Clone, Debug, FromRow)]
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) chain: String,
    pub(super) sequence: i64,
    pub(super) at: i64,
    pub(super) act: String,
    outcome: String,
    actor: String,
    client: Option<String>,
    program_key: Option<String>,
    toolkit: Option<String>,
    version: Option<String>,
    digest: Option<String>,
    pub(super) name: Option<String>,
    affected: Option<String>,
    pub(super) hash: Vec<u8>,
}

/// Appends an entry in the transaction of its act. Locks the chain of this process until the transaction
/// ends, so slow work has to precede it.
pub async fn append(transaction: &mut Transaction, entry: &Entry<'_>) -> crate::Result<()> {
    let mut breaks = Breaks::new();
    let mut ends = ends::lock_own(transaction, &mut breaks).await?;
    insert_breaks(transaction, &mut ends, &breaks).await?;
    insert(transaction, &mut ends, entry).await?;
    ends.save(transaction).await
}

/// Appends an entry for each fault that was found, in the transaction that seals the changed rows again.
pub(super) async fn record(transaction: &mut Transaction, mut breaks: Breaks) -> crate::Result<()> {
    if breaks.is_empty() {
        return Ok(());
    }
    let mut ends = ends::lock_own(transaction, &mut breaks).await?;
    insert_breaks(transaction, &mut ends, &breaks).await?;
    ends.save(transaction).await
}

async fn insert_breaks(transaction: &mut Transaction, ends: &mut Ends, breaks: &Breaks) -> crate::Result<()> {
    let by = Actor::server();
    for what in breaks.iter().take(MAX_BREAKS) {
        error!(%what, "somebody has changed the audit log in the database");
        insert(transaction, ends, &Entry::new(Act::AuditBroken, &by).name(what)).await?;
    }
    if let Some(more @ 1..) = breaks.len().checked_sub(MAX_BREAKS) {
        insert(transaction, ends, &Entry::new(Act::AuditBroken, &by).name(&format!("and {more} more")))
            .await?;
    }
    Ok(())
}

/// Inserts an entry, and changes the newest end of its chain. The caller stores the ends.
async fn insert(transaction: &mut Transaction, ends: &mut Ends, entry: &Entry<'_>) -> crate::Result<()> {
    let chain = &ends.chain;
    let sequence = ends.newest.saturating_add(1);
    let at = Timestamp::now().as_millisecond();
    let Entry { act, outcome, by, toolkit, version, digest, name, affected } = entry;
    let user = bounded(by.user());
    let optional = [by.client(), by.key(), *toolkit, *version, *digest, *name, *affected];
    let optional = optional.map(|text| text.map(bounded));
    let texts = optional.each_ref().map(|text| text.as_deref());
    let fixed = [act.name(), outcome.name(), &*user];
    let hash = Covered(&hex::encode(&ends.newest_hash), chain, sequence, at, fixed, texts).hash();
    let mut insert = sql("INSERT INTO audit
             (chain, sequence, at, act, outcome, actor, client, program_key, toolkit, version, digest, name, affected,
              hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)")
    .bind(chain)
    .bind(sequence)
    .bind(at);
    for text in fixed {
        insert = insert.bind(text);
    }
    for text in texts {
        insert = insert.bind(text);
    }
    insert.bind(&hash[..]).execute(transaction).await?;
    (ends.newest, ends.newest_hash) = (sequence, hash.to_vec());
    Ok(())
}

/// An entry of any chain, as far as its chain is concerned.
pub(super) enum Link {
    /// An entry about an act.
    Act(Row),
    /// An entry about a call.
    Call(CallRow),
}

impl Link {
    /// Returns up to `limit` entries of a chain with `sequence > after`, oldest first.
    pub(super) async fn read(
        snapshot: &mut Transaction,
        chain: &str,
        after: i64,
        limit: u32,
    ) -> crate::Result<Vec<Self>> {
        Ok(if chain == calls::CHAIN {
            calls::links(snapshot, after, limit).await?.into_iter().map(Self::Call).collect()
        } else {
            links(snapshot, chain, after, limit).await?.into_iter().map(Self::Act).collect()
        })
    }

    /// Returns the id, which increases along the chain.
    pub(super) fn id(&self) -> i64 {
        match self {
            Self::Act(row) => row.id,
            Self::Call(row) => row.sequence,
        }
    }

    pub(super) fn sequence(&self) -> i64 {
        match self {
            Self::Act(row) => row.sequence,
            Self::Call(row) => row.sequence,
        }
    }

    /// Returns the time in milliseconds since 1970.
    pub(super) fn at(&self) -> i64 {
        match self {
            Self::Act(row) => row.at,
            Self::Call(row) => row.at,
        }
    }

    /// Returns whether the entry is unchanged, and follows the entry with this number and hash.
    pub(super) fn follows(&self, sequence: i64, hash: &[u8]) -> bool {
        match self {
            Self::Act(row) => row.follows(sequence, hash),
            Self::Call(row) => row.follows(sequence, hash),
        }
    }

    pub(super) fn into_hash(self) -> Vec<u8> {
        match self {
            Self::Act(row) => row.hash,
            Self::Call(row) => row.hash,
        }
    }
}

impl Row {
    /// Returns whether the entry is unchanged, and follows the entry with this number and hash.
    pub(super) fn follows(&self, sequence: i64, hash: &[u8]) -> bool {
        self.sequence == sequence.saturating_add(1) && self.expected_hash(hash) == self.hash
    }

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

    /// Returns the chains of acts with entries older than `time`.
    pub(super) async fn chains_before(&self, time: i64) -> crate::Result<Vec<String>> {
        sql("SELECT DISTINCT chain FROM audit WHERE at < $1").bind(time).fetch_values(self.0.readers()).await
    }

    /// Removes at most `limit` entries from the beginning of a chain, up to the first one that is not older
    /// than `time`. Returns their number.
    pub(super) async fn remove_before(&self, chain: &str, time: i64, limit: u32) -> crate::Result<u32> {
        let mut transaction = self.0.begin(Scope::Audit).await?;
        let mut breaks = Breaks::new();
        let Some(mut ends) = ends::lock(&mut transaction, chain, &mut breaks).await? else { return Ok(0) };
        let links = Link::read(&mut transaction, chain, ends.removed, limit).await?;
        let mut count = 0;
        let mut fault = None;
        for link in links.into_iter().take_while(|link| link.at() < time) {
            // Somebody may have changed times, so that entries are removed early.
            if !link.follows(ends.removed, &ends.removed_hash) {
                fault.get_or_insert(link.sequence());
            }
            ends.removed_at = ends.removed_at.max(link.at());
            (ends.removed, ends.removed_hash) = (link.sequence(), link.into_hash());
            count += 1;
        }
        if count == 0 {
            return Ok(0);
        }
        breaks.extend(fault.map(|sequence| {
            format!("chain {chain}: the entry {sequence}, or one before it, was changed or removed before it was old")
        }));
        if chain == calls::CHAIN {
            calls::remove_until(&mut transaction, ends.removed).await?;
        } else {
            sql("DELETE FROM audit WHERE chain = $1 AND sequence <= $2")
                .bind(chain)
                .bind(ends.removed)
                .execute(&mut transaction)
                .await?;
        }
        ends.save(&mut transaction).await?;
        record(&mut transaction, breaks).await?;
        transaction.commit().await?;
        Ok(count)
    }

    /// Changes ends of chains, and records the faults found.
    pub(super) async fn change_ends(
        &self,
        change: impl AsyncFnOnce(&mut Transaction, &mut Breaks) -> crate::Result<()>,
    ) -> crate::Result<()> {
        let mut transaction = self.0.begin(Scope::Audit).await?;
        let mut breaks = Breaks::new();
        change(&mut transaction, &mut breaks).await?;
        record(&mut transaction, breaks).await?;
        transaction.commit().await
    }
}

/// Returns up to `limit` acts of a chain with `sequence > after`, oldest first.
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
    sql("SELECT chain FROM audit WHERE chain NOT IN (SELECT chain FROM audit_chains)
         UNION SELECT CAST($1 AS TEXT) WHERE EXISTS (SELECT 1 FROM audit_calls) AND $1 NOT IN (SELECT chain FROM audit_chains)
         ORDER BY 1")
    .bind(calls::CHAIN)
    .fetch_values(snapshot)
    .await
}
