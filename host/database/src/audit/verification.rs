//! Verifies all chains: detects entries that were changed, removed or added outside the log.
//!
//! Each chain has to lead from the entry that was removed last to the newest one; a seal, which needs a key
//! that is not in the database, says which two these are, and another one which chains there are. An older
//! state of the whole log is not detected, nor what is done with the master key at hand: that takes a
//! comparison with entries or ends that another system has received before.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Retention;
use super::act::Act;
use super::calls;
use super::ends::{self, Ends};
use super::entry::shown_time;
use super::retention::time_before;
use super::seals::SealingKeys;
use super::store::{self, Link};
use crate::{Database, Transaction};

/// Number of entries per page.
const PAGE_ROWS: u32 = 500;
/// Maximum number of recorded faults that are listed.
const MAX_RECORDED: usize = 20;
/// Tolerated difference between the clocks of processes.
const CLOCK_MARGIN: Duration = Duration::from_mins(10);

/// Fault of the list of chains.
pub(super) const LIST_REMOVED: &str = "the list of chains was removed";

/// Result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Time at which the log began: RFC 3339, UTC. Absent before the first start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<String>,
    /// Whether seals were verified: the keys were available.
    pub seals_verified: bool,
    /// Thumbprints (RFC 7638) of the keys that sign anchors; the first one signs now.
    #[serde(default)]
    pub anchor_keys: Vec<String>,
    /// Number of verified entries.
    pub entries: u64,
    /// Ends of all chains, by name.
    pub chains: Vec<ChainEnds>,
    /// Faults: at most one per chain, as entries after a fault cannot be verified; those that the log itself
    /// has recorded; those of the list of chains.
    pub faults: Vec<ChainFault>,
    /// Chains of which younger entries were removed than the retention allows.
    pub removed_early: Vec<ChainFault>,
}

/// Ends of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainEnds {
    /// Name of the chain.
    pub chain: String,
    /// Number of verified entries.
    pub entries: u64,
    /// Sequence number of the last removed entry; 0 if none was removed.
    pub removed: i64,
    /// Latest time of the removed entries: RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<String>,
    /// Hash of the last removed entry, hexadecimal: the one before the first entry that is left.
    pub removed_hash: String,
    /// Sequence number of the newest entry.
    pub newest: i64,
    /// Hash of the newest entry, hexadecimal.
    pub newest_hash: String,
}

/// Fault in a chain, or in the list of chains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainFault {
    /// Name of the chain; absent for the list of chains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chain: Option<String>,
    /// Description of the fault, as a clause.
    pub what: String,
}

/// Verifies all chains in one snapshot. `keys`: `None` if they are not available. `retention`: ages before
/// which no entry is removed.
pub async fn verify(
    database: &Database,
    keys: Option<&SealingKeys>,
    retention: Retention,
) -> crate::Result<Verification> {
    let mut snapshot = database.snapshot().await?;
    let mut result = Verification {
        anchor_keys: keys.map(SealingKeys::thumbprints).unwrap_or_default(),
        seals_verified: keys.is_some(),
        ..Verification::default()
    };
    for chain in store::unknown_chains(&mut snapshot).await? {
        result.fault(&chain, "it has entries, but its row in audit_chains was removed".to_owned());
    }
    let chains = ends::names(&mut snapshot).await?;
    let log = ends::log_row(&mut snapshot).await?.filter(ends::LogRow::has_begun);
    result.begun_at = log.as_ref().map(|log| shown_time(log.begun_at));
    result.faults.extend(ends::fault_of_list(&mut snapshot, log.as_ref(), keys, &chains).await?);

    for chain in chains {
        let Some(ends) = ends::read(&mut snapshot, &chain).await? else { continue };
        let age = if chain == calls::CHAIN { retention.calls } else { retention.acts };
        let oldest = time_before(age.saturating_sub(CLOCK_MARGIN));
        let before = result.entries;
        let sealed = keys.map_or(Ok(()), |keys| ends.check(keys));
        let fault = match (follow(&mut snapshot, &ends, &mut result).await?, sealed) {
            (None, Err(fault)) => Some(format!("the record of its ends {fault}")),
            (fault, _) => fault,
        };
        if let Some(what) = fault {
            result.fault(&chain, what);
        }
        let shown = ChainEnds::of(&ends, result.entries - before);
        if let Some(at) = shown.removed_at.as_ref().filter(|_| ends.removed_at > oldest) {
            let what = format!(
                "entries up to {}, the youngest of {at}, were removed before their time",
                ends.removed
            );
            result.removed_early.push(ChainFault { chain: Some(chain), what });
        }
        result.chains.push(shown);
    }
    Ok(result)
}

/// Follows a chain from its beginning to its end. Returns the first fault.
async fn follow(
    snapshot: &mut Transaction,
    ends: &Ends,
    result: &mut Verification,
) -> crate::Result<Option<String>> {
    let mut sequence = ends.removed;
    let mut hash = ends.removed_hash.clone();
    // Includes entries with a number that was removed.
    let mut read = i64::MIN;
    let mut id = 0;
    loop {
        let page = Link::read(snapshot, &ends.chain, read, PAGE_ROWS).await?;
        if page.is_empty() {
            break;
        }
        for entry in page {
            result.entries += 1;
            let number = entry.sequence();
            if number <= sequence {
                return Ok(Some(format!("the entry {number} was added")));
            }
            if number > sequence.saturating_add(1) {
                return Ok(Some(removed(sequence, number - 1)));
            }
            if !entry.follows(sequence, &hash) {
                return Ok(Some(format!("the entry {number} was changed, or one before it")));
            }
            // No hash covers it, and who reads by id would miss the entry.
            if entry.id() <= id {
                return Ok(Some(format!("the id of the entry {number} was changed")));
            }
            if let Link::Act(act) = &entry
                && act.act == Act::AuditBroken.name()
            {
                result.recorded(act);
            }
            (id, sequence, hash, read) = (entry.id(), number, entry.into_hash(), number);
        }
    }
    Ok(match () {
        () if sequence < ends.newest => Some(removed(sequence, ends.newest)),
        () if sequence > ends.newest || hash != ends.newest_hash => {
            Some(format!("entries were added or changed up to the entry {sequence}"))
        }
        () => None,
    })
}

fn removed(after: i64, last: i64) -> String {
    format!("the entries {} to {last} were removed", after.saturating_add(1))
}

impl Verification {
    fn fault(&mut self, chain: &str, what: String) {
        self.faults.push(ChainFault { chain: Some(chain.to_owned()), what });
    }

    /// Adds a fault that the server has recorded in the log.
    fn recorded(&mut self, entry: &store::Row) {
        let count = self.faults.iter().filter(|fault| fault.what.starts_with(RECORDED)).count();
        if count < MAX_RECORDED {
            let what = entry.name.as_deref().unwrap_or_default();
            let what = format!("{RECORDED} {} of {}: {what}", entry.sequence, shown_time(entry.at));
            self.fault(&entry.chain, what);
        }
    }
}

/// Beginning of the description of a fault that the log has recorded.
const RECORDED: &str = "found before, see the entry";

impl ChainEnds {
    fn of(ends: &Ends, entries: u64) -> Self {
        Self {
            chain: ends.chain.clone(),
            entries,
            removed: ends.removed,
            removed_at: (ends.removed != 0).then(|| shown_time(ends.removed_at)),
            removed_hash: hex::encode(&ends.removed_hash),
            newest: ends.newest,
            newest_hash: hex::encode(&ends.newest_hash),
        }
    }
}
