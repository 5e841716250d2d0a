//! Verifies all chains: detects entries that were changed, removed or added outside the log.
//!
//! Detects an entry that was changed, or removed from the middle or an end of a chain. A writer with access
//! to the database can also recompute all hashes, or remove a whole chain with its row in `audit_chains`;
//! that is detected only by comparison with entries exported to another system before.

use super::store;
use crate::Database;

/// Number of entries per page.
const PAGE_ROWS: u32 = 500;

/// Result of a verification.
#[derive(Debug, Default)]
pub struct Verification {
    /// Number of checked entries.
    pub entries: u64,
    /// Faults, at most one per chain: entries after a fault cannot be verified.
    pub faults: Vec<ChainFault>,
}

/// Fault in a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainFault {
    /// Name of the chain.
    pub chain: String,
    /// Description of the fault, as a clause.
    pub what: String,
}

/// Verifies all chains in one snapshot.
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
