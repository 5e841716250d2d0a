//! Calls, as entries of a chain of their own: who called what with which account, for other systems.
//!
//! All processes append to one chain, in batches, within the transactions that write the records of the calls. So
//! sequence numbers ascend in the order of commits, and are what readers follow.
//!
//! Invariants:
//! - an entry contains no arguments, no results and no messages, and no exact number that a toolkit could choose:
//!   sizes and durations are upper bounds of ranges, and times are rounded down to the second;
//! - entries are appended, and removed from the beginning when they are too old; none is changed.

mod reading;
mod store;

use jiff::Timestamp;
use kitbag_base::sha256::{Digest, Sha256};
use serde::{Deserialize, Serialize};

use super::ends::{self, Breaks};
use super::entry::{bounded, shown_time};
use super::store::record;
use crate::{FromRow, Transaction};
pub use reading::{CallFilter, CallQuery, CallReading};
pub(super) use store::{are_there, links, remove_until, time_of};

/// Name of the chain. No other chain has it: the others are named after what writes them.
pub const CHAIN: &str = "calls";

/// A new entry, to be appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEntry {
    /// Id of the call.
    pub call: String,
    /// Time at which the call began. Rounded down to the second when it is appended.
    pub at: Timestamp,
    /// The calling user.
    pub user: String,
    /// The OAuth client that acted for the user.
    pub client: Option<String>,
    /// Id of the key of a program that acted for the user.
    pub key: Option<String>,
    /// Id of the toolkit.
    pub toolkit: String,
    /// The called version.
    pub version: String,
    /// The tool's own name.
    pub tool: String,
    /// The provider's name for the account that the toolkit could use.
    pub account: Option<String>,
    /// Outcome of the call.
    pub outcome: &'static str,
    /// Upper bound of the range of the arguments' size in bytes; `None` if it is not known.
    pub argument_bytes: Option<u64>,
    /// Upper bound of the range of the result's size in bytes; `None` if it is not known.
    pub result_bytes: Option<u64>,
    /// Upper bound of the range of the duration in milliseconds; `None` if it is not known.
    pub duration_ms: Option<u64>,
}

/// An entry as it was recorded, as JSON for other systems ([shape](../../docs/audit.md)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// Sequence number in the chain, from 1.
    pub sequence: i64,
    /// Time at which the call began, rounded down to the second: RFC 3339, UTC.
    pub at: String,
    /// Id of the call.
    pub call: String,
    /// The calling user.
    pub user: String,
    /// The OAuth client that acted for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Id of the key of a program that acted for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Id of the toolkit.
    pub toolkit: String,
    /// The called version.
    pub version: String,
    /// The tool's own name.
    pub tool: String,
    /// The provider's name for the account that the toolkit could use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Outcome of the call.
    pub outcome: String,
    /// Upper bound of the range of the arguments' size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument_bytes_at_most: Option<i64>,
    /// Upper bound of the range of the result's size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes_at_most: Option<i64>,
    /// Upper bound of the range of the duration in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms_at_most: Option<i64>,
    /// Name of the chain.
    pub chain: String,
    /// SHA-256 over the entry and the hash of the previous one, hexadecimal.
    pub hash: String,
}

/// A row of the table.
#[derive(Clone, Debug, FromRow)]
pub(super) struct CallRow {
    pub(super) sequence: i64,
    call: String,
    /// Milliseconds since 1970.
    pub(super) at: i64,
    actor: String,
    client: Option<String>,
    program_key: Option<String>,
    toolkit: String,
    version: String,
    tool: String,
    account: Option<String>,
    outcome: String,
    arguments: Option<i64>,
    result: Option<i64>,
    duration: Option<i64>,
    pub(super) hash: Vec<u8>,
}

/// Input of the hash of an entry, in this order: a JSON array without spaces. Other systems compute it too
/// ([format](../../docs/audit.md)).
#[derive(Serialize)]
struct Covered<'a>(
    /// Hash of the previous entry, hexadecimal.
    &'a str,
    /// Chain name.
    &'a str,
    /// Sequence number in the chain.
    i64,
    /// Milliseconds since 1970.
    i64,
    /// Id of the call, user, toolkit, version, tool, outcome.
    [&'a str; 6],
    /// Client, key, account.
    [Option<&'a str>; 3],
    /// Upper bounds of the size of the arguments, of that of the result, and of the duration.
    [Option<i64>; 3],
);

/// Appends the entries of calls. Locks their chain until the transaction ends, so slow work has to precede it.
pub async fn append_calls(transaction: &mut Transaction, entries: &[CallEntry]) -> crate::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut breaks = Breaks::new();
    let mut ends = ends::lock_or_begin(transaction, CHAIN, &mut breaks).await?;
    let mut rows = Vec::with_capacity(entries.len());
    for entry in entries {
        let mut row = CallRow::new(entry, ends.newest.saturating_add(1));
        row.hash = row.expected_hash(&ends.newest_hash).to_vec();
        (ends.newest, ends.newest_hash) = (row.sequence, row.hash.clone());
        rows.push(row);
    }
    store::insert(transaction, &rows).await?;
    ends.save(transaction).await?;
    record(transaction, breaks).await
}

/// Returns the entries that are not stored yet: those of calls without an entry, or with one that says that the call
/// was interrupted, although it was not.
pub async fn missing_calls(
    transaction: &mut Transaction,
    entries: Vec<CallEntry>,
) -> crate::Result<Vec<CallEntry>> {
    let stored = store::outcomes(transaction, &entries).await?;
    let is_missing = |entry: &CallEntry| {
        !stored.iter().any(|(call, outcome)| *call == entry.call && *outcome == entry.outcome)
    };
    Ok(entries.into_iter().filter(is_missing).collect())
}

impl CallRow {
    /// Creates a row without a hash.
    fn new(entry: &CallEntry, sequence: i64) -> Self {
        let text = |text: &str| bounded(text).into_owned();
        let optional = |it: &Option<String>| it.as_deref().map(text);
        let number = |number: Option<u64>| number.map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        Self {
            sequence,
            call: text(&entry.call),
            at: second(entry.at),
            actor: text(&entry.user),
            client: optional(&entry.client),
            program_key: optional(&entry.key),
            toolkit: text(&entry.toolkit),
            version: text(&entry.version),
            tool: text(&entry.tool),
            account: optional(&entry.account),
            outcome: entry.outcome.to_owned(),
            arguments: number(entry.argument_bytes),
            result: number(entry.result_bytes),
            duration: number(entry.duration_ms),
            hash: Vec::new(),
        }
    }

    /// Returns whether the entry is unchanged, and follows the entry with this number and hash.
    pub(super) fn follows(&self, sequence: i64, hash: &[u8]) -> bool {
        self.sequence == sequence.saturating_add(1) && self.expected_hash(hash)[..] == self.hash
    }

    /// Returns the expected hash of the entry, given the hash of the previous entry.
    pub(super) fn expected_hash(&self, before: &[u8]) -> Digest {
        let Self { call, actor, toolkit, version, tool, outcome, client, program_key, account, .. } = self;
        let covered = Covered(
            &hex::encode(before),
            CHAIN,
            self.sequence,
            self.at,
            [call, actor, toolkit, version, tool, outcome].map(String::as_str),
            [client, program_key, account].map(Option::as_deref),
            [self.arguments, self.result, self.duration],
        );
        Sha256::digest(serde_json::to_string(&covered).expect("texts and numbers are valid in JSON"))
    }
}

impl From<CallRow> for CallRecord {
    fn from(row: CallRow) -> Self {
        Self {
            sequence: row.sequence,
            at: shown_time(row.at),
            call: row.call,
            user: row.actor,
            client: row.client,
            key: row.program_key,
            toolkit: row.toolkit,
            version: row.version,
            tool: row.tool,
            account: row.account,
            outcome: row.outcome,
            argument_bytes_at_most: row.arguments,
            result_bytes_at_most: row.result,
            duration_ms_at_most: row.duration,
            chain: CHAIN.to_owned(),
            hash: hex::encode(row.hash),
        }
    }
}

/// Rounds a time down to the second: with exact times, the next call of a client would reveal how long one took.
/// Returns milliseconds since 1970.
fn second(time: Timestamp) -> i64 {
    time.as_millisecond().div_euclid(1000).saturating_mul(1000)
}
