//! Verifies all chains: finds entries that were changed, removed or added outside the log.
//!
//! An entry that was changed, removed from the middle, or removed at an end is found. Who can write into the database can
//! also write all hashes anew, or remove a chain as a whole with its row in `audit_chains`; that is found by comparison with
//! entries that another system has received before.

use super::store;
use crate::Database;

/// Entries that are read at once.
const PAGE_ROWS: u32 = 500;

/// The result of a verification.
#[derive(Debug, Default)]
pub struct Verification {
    /// Number of entries that were read.
    pub entries: u64,
    /// The faults, at most one of each chain: what follows it cannot be told.
    pub faults: Vec<ChainFault>,
}

/// Where a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFault {
    /// The chain.
    pub chain: String,
    /// What is wrong, as a clause.
    pub what: String,
}

/// Verifies all chains, as they are at one moment.
pub async fn verify(database: &Database) -> crate::Result<Verification> {
    let mut snapshot = database.snapshot().await?;
    let mut result = Verification::default();
    for chain in store::unknown_chains(&mut snapshot).await? {
        let what = "it has entries, but its row in audit_chains was removed".to_owned();
        result.faults.push(ChainFault { chain, what });
    }
    for ends in store::chains(&mut snapshot).await? {
        let (mut sequence, mut hash) = (ends.removed, ends.removed_hash);
        let mut fault = None;
        'chain: loop {
            let page = store::links(&mut snapshot, &ends.chain, sequence, PAGE_ROWS).await?;
            if page.is_empty() {
                break;
            }
            for entry in page {
                result.entries += 1;
                if entry.sequence != sequence + 1 {
                    fault =
                        Some(format!("the entries {} to {} were removed", sequence + 1, entry.sequence - 1));
                    break 'chain;
                }
                if entry.expected_hash(&hash) != entry.hash {
                    fault = Some(format!("the entry {} was changed, or one before it", entry.sequence));
                    break 'chain;
                }
                (sequence, hash) = (entry.sequence, entry.hash);
            }
        }
        let fault = fault.or_else(|| match () {
            () if sequence < ends.newest => {
                Some(format!("the entries {} to {} were removed", sequence + 1, ends.newest))
            }
            () if sequence > ends.newest || hash != ends.newest_hash => {
                Some(format!("entries were added or changed up to the entry {sequence}"))
            }
            () => None,
        });
        result.faults.extend(fault.map(|what| ChainFault { chain: ends.chain, what }));
    }
    Ok(result)
}
