//! SQL about the ends of chains and the list of chains, and their seals.
//!
//! Invariant: no row gets a new seal before the old one was verified. A fault is recorded as an entry in the
//! same transaction, so that the new seal does not hide it.
//!
//! Lock order: the list of chains, then chains.

use super::calls;
use super::chain::GENESIS;
use super::seals::{Covered, Seal, SealFault, SealingKeys};
use super::verification::{ChainFault, LIST_REMOVED};
use crate::{FromRow, TABLES, Transaction, sql};

macro_rules! columns {
    () => {
        "chain, removed, removed_hash, removed_at, newest, newest_hash, seal_key, seal"
    };
}

/// Ends of a chain: the last removed and the newest entry.
#[derive(Clone, Debug, FromRow)]
pub(super) struct Ends {
    pub(super) chain: String,
    pub(super) removed: i64,
    pub(super) removed_hash: Vec<u8>,
    /// Latest time of the removed entries.
    pub(super) removed_at: i64,
    pub(super) newest: i64,
    pub(super) newest_hash: Vec<u8>,
    seal_key: String,
    seal: Vec<u8>,
}

/// The list of chains, locked. Its seal was verified.
pub(super) struct Chains {
    begun_at: i64,
    keys: SealingKeys,
}

/// The row of the list of chains. The names of the chains are in their own rows.
#[derive(Clone, Debug, FromRow)]
pub(super) struct LogRow {
    pub(super) begun_at: i64,
    seal_key: String,
    seal: Vec<u8>,
}

/// Descriptions of faults to be recorded.
pub(super) type Breaks = Vec<String>;

impl Ends {
    fn of_new(chain: &str) -> Self {
        let none = GENESIS.to_vec();
        Self {
            chain: chain.to_owned(),
            removed: 0,
            removed_hash: none.clone(),
            removed_at: 0,
            newest: 0,
            newest_hash: none,
            seal_key: String::new(),
            seal: Vec::new(),
        }
    }

    fn covered(&self) -> Covered<'_> {
        Covered::Chain {
            chain: &self.chain,
            removed: (self.removed, self.removed_at, &self.removed_hash),
            newest: (self.newest, &self.newest_hash),
        }
    }

    /// Verifies the seal.
    pub(super) fn check(&self, keys: &SealingKeys) -> Result<(), SealFault> {
        keys.check(&Seal { key: self.seal_key.clone(), bytes: self.seal.clone() }, self.covered())
    }

    /// Verifies the seal. After a fault, the chain goes on after the last of its entries.
    async fn expect_sealed(
        &mut self,
        transaction: &mut Transaction,
        breaks: &mut Breaks,
    ) -> crate::Result<()> {
        let Some(keys) = transaction.1.keys() else { return Ok(()) };
        if let Err(fault) = self.check(&keys) {
            breaks.push(format!("chain {}: the record of its ends {fault}", self.chain));
            self.go_on_after_entries(transaction).await?;
        }
        Ok(())
    }

    /// Corrects the newest end, so that the number of the next entry is free.
    async fn go_on_after_entries(&mut self, transaction: &mut Transaction) -> crate::Result<()> {
        let last = if self.chain == calls::CHAIN {
            sql("SELECT sequence, hash FROM audit_calls ORDER BY sequence DESC LIMIT 1")
        } else {
            sql("SELECT sequence, hash FROM audit WHERE chain = $1 ORDER BY sequence DESC LIMIT 1")
                .bind(&self.chain)
        };
        let last: Option<(i64, Vec<u8>)> = last.fetch_optional(transaction).await?;
        if let Some(last) = last {
            (self.newest, self.newest_hash) = last;
        }
        Ok(())
    }

    /// Stores the ends, sealed if this process has keys.
    pub(super) async fn save(&mut self, transaction: &mut Transaction) -> crate::Result<()> {
        let seal = transaction.1.keys().map(|keys| keys.seal(self.covered())).unwrap_or_default();
        (self.seal_key, self.seal) = (seal.key, seal.bytes);
        sql("UPDATE audit_chains SET removed = $1, removed_hash = $2, removed_at = $3, newest = $4,
                 newest_hash = $5, seal_key = $6, seal = $7
             WHERE chain = $8")
        .bind(self.removed)
        .bind(&self.removed_hash[..])
        .bind(self.removed_at)
        .bind(self.newest)
        .bind(&self.newest_hash[..])
        .bind(&self.seal_key)
        .bind(&self.seal[..])
        .bind(&self.chain)
        .execute(transaction)
        .await?;
        Ok(())
    }
}

/// Locks a chain until the transaction ends, and verifies its seal. `None` if it has no row.
pub(super) async fn lock(
    transaction: &mut Transaction,
    chain: &str,
    breaks: &mut Breaks,
) -> crate::Result<Option<Ends>> {
    let ends: Option<Ends> =
        sql(concat!("UPDATE audit_chains SET newest = newest WHERE chain = $1 RETURNING ", columns!()))
            .bind(chain)
            .fetch_optional(&mut *transaction)
            .await?;
    let Some(mut ends) = ends else { return Ok(None) };
    ends.expect_sealed(transaction, breaks).await?;
    Ok(Some(ends))
}

/// Locks the chain of this process, which begins with its first entry.
pub(super) async fn lock_own(transaction: &mut Transaction, breaks: &mut Breaks) -> crate::Result<Ends> {
    let chain = transaction.writer().to_owned();
    lock_or_begin(transaction, &chain, breaks).await
}

/// Locks a chain, which begins with its first entry.
pub(super) async fn lock_or_begin(
    transaction: &mut Transaction,
    chain: &str,
    breaks: &mut Breaks,
) -> crate::Result<Ends> {
    if let Some(ends) = lock(transaction, chain, breaks).await? {
        return Ok(ends);
    }
    let chains = Chains::lock(transaction, breaks).await?;
    // Another transaction may have begun it while this one waited for the lock.
    if let Some(ends) = lock(transaction, chain, breaks).await? {
        return Ok(ends);
    }
    let mut ends = Ends::of_new(chain);
    ends.go_on_after_entries(transaction).await?;
    sql(concat!("INSERT INTO audit_chains (", columns!(), ") VALUES ($1, 0, $2, 0, 0, $2, '', $3)"))
        .bind(chain)
        .bind(&GENESIS[..])
        .bind(Vec::<u8>::new())
        .execute(&mut *transaction)
        .await?;
    if let Some(chains) = chains {
        chains.save(transaction).await?;
    }
    Ok(ends)
}

/// Seals all chains and their list with the current key.
pub(super) async fn reseal(transaction: &mut Transaction, breaks: &mut Breaks) -> crate::Result<()> {
    let Some(chains) = Chains::lock(transaction, breaks).await? else { return Ok(()) };
    for chain in names(transaction).await? {
        if let Some(mut ends) = lock(transaction, &chain, breaks).await? {
            ends.save(transaction).await?;
        }
    }
    chains.save(transaction).await
}

/// Removes chains without entries, except the chain of this process, and that of calls, whose readers go on after a
/// sequence number. An entry that another process appends later restarts its chain.
pub(super) async fn forget_empty(transaction: &mut Transaction, breaks: &mut Breaks) -> crate::Result<()> {
    let own = transaction.writer().to_owned();
    let chains = Chains::lock(transaction, breaks).await?;
    let empty: Vec<Ends> = sql(concat!(
        "UPDATE audit_chains SET newest = newest
         WHERE chain <> $1 AND chain <> $2 AND NOT EXISTS (SELECT 1 FROM audit WHERE audit.chain = audit_chains.chain)
         RETURNING ",
        columns!()
    ))
    .bind(&own)
    .bind(calls::CHAIN)
    .fetch_all(&mut *transaction)
    .await?;
    for mut ends in empty {
        ends.expect_sealed(transaction, breaks).await?;
        if ends.removed != ends.newest {
            breaks.push(format!("chain {}: its last entries were removed", ends.chain));
        }
        sql("DELETE FROM audit_chains WHERE chain = $1").bind(&ends.chain).execute(&mut *transaction).await?;
    }
    match chains {
        Some(chains) => chains.save(transaction).await,
        None => Ok(()),
    }
}

impl Chains {
    /// Locks the list until the transaction ends, and verifies its seal. `None` if this process has no keys.
    pub(super) async fn lock(
        transaction: &mut Transaction,
        breaks: &mut Breaks,
    ) -> crate::Result<Option<Self>> {
        let Some(keys) = transaction.1.keys() else { return Ok(None) };
        let row: Option<LogRow> =
            sql("UPDATE audit_log SET begun_at = begun_at RETURNING begun_at, seal_key, seal")
                .fetch_optional(&mut *transaction)
                .await?;
        let now = jiff::Timestamp::now().as_millisecond();
        let Some(row) = row.filter(LogRow::has_begun) else {
            if is_used(transaction).await? {
                breaks.push("the log was removed, or was never begun".to_owned());
            }
            return Ok(Some(Self { begun_at: now, keys }));
        };
        if let Err(fault) = row.check(&keys, &names(transaction).await?) {
            breaks.push(format!("the list of chains {fault}"));
        }
        Ok(Some(Self { begun_at: row.begun_at, keys }))
    }

    /// Seals the list of the chains that have a row now.
    pub(super) async fn save(&self, transaction: &mut Transaction) -> crate::Result<()> {
        let chains = names(transaction).await?;
        let seal = self.keys.seal(Covered::Log { begun_at: self.begun_at, chains: &chains });
        for statement in [
            "UPDATE audit_log SET begun_at = $1, seal_key = $2, seal = $3",
            "INSERT INTO audit_log (begun_at, seal_key, seal) VALUES ($1, $2, $3)",
        ] {
            let done = sql(statement).bind(self.begun_at).bind(&seal.key).bind(&seal.bytes[..]);
            if done.execute(&mut *transaction).await? > 0 {
                break;
            }
        }
        Ok(())
    }
}

impl LogRow {
    pub(super) fn has_begun(&self) -> bool {
        self.begun_at != 0 || !self.seal_key.is_empty()
    }

    /// Verifies the seal.
    pub(super) fn check(&self, keys: &SealingKeys, chains: &[String]) -> Result<(), SealFault> {
        let seal = Seal { key: self.seal_key.clone(), bytes: self.seal.clone() };
        keys.check(&seal, Covered::Log { begun_at: self.begun_at, chains })
    }
}

/// Returns the row of the list of chains, without locking it.
pub(super) async fn log_row(snapshot: &mut Transaction) -> crate::Result<Option<LogRow>> {
    sql("SELECT begun_at, seal_key, seal FROM audit_log").fetch_optional(snapshot).await
}

/// Returns the fault of the list of chains, if there is one. `keys`: `None` if they are not available.
pub(super) async fn fault_of_list(
    snapshot: &mut Transaction,
    log: Option<&LogRow>,
    keys: Option<&SealingKeys>,
    chains: &[String],
) -> crate::Result<Option<ChainFault>> {
    let what = match (log, keys) {
        (Some(log), Some(keys)) => {
            log.check(keys, chains).err().map(|fault| format!("the list of chains {fault}"))
        }
        (None, _) if is_used(snapshot).await? => Some(LIST_REMOVED.to_owned()),
        _ => None,
    };
    Ok(what.map(|what| ChainFault { chain: None, what }))
}

/// Returns the names of all chains, in ascending order.
pub(super) async fn names(transaction: &mut Transaction) -> crate::Result<Vec<String>> {
    sql("SELECT chain FROM audit_chains ORDER BY chain").fetch_values(transaction).await
}

/// Returns the ends of a chain, without locking it.
pub(super) async fn read(snapshot: &mut Transaction, chain: &str) -> crate::Result<Option<Ends>> {
    sql(concat!("SELECT ", columns!(), " FROM audit_chains WHERE chain = $1"))
        .bind(chain)
        .fetch_optional(snapshot)
        .await
}

/// Returns the time of the newest entry, or that of the removed ones if none is left, in milliseconds since 1970.
pub(super) async fn time_of_newest(snapshot: &mut Transaction, ends: &Ends) -> crate::Result<i64> {
    let at = if ends.chain == calls::CHAIN {
        calls::time_of(snapshot, ends.newest).await?
    } else {
        sql("SELECT at FROM audit WHERE chain = $1 AND sequence = $2")
            .bind(&ends.chain)
            .bind(ends.newest)
            .fetch_optional_value(snapshot)
            .await?
    };
    Ok(at.unwrap_or(ends.removed_at))
}

/// Returns the names of the master keys with whose keys the log is sealed.
pub(super) async fn key_names(snapshot: &mut Transaction) -> crate::Result<Vec<String>> {
    sql("SELECT seal_key FROM audit_chains WHERE seal_key <> ''
         UNION SELECT seal_key FROM audit_log WHERE seal_key <> '' ORDER BY 1")
    .fetch_values(snapshot)
    .await
}

/// Returns whether the service was used: acts that it records have left rows.
pub(super) async fn is_used(transaction: &mut Transaction) -> crate::Result<bool> {
    for table in TABLES {
        if table.is_used(transaction).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
