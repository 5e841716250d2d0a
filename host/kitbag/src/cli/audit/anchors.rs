//! Compares the log with anchors that were kept elsewhere.
//!
//! An anchored entry that is younger than the retention has to be in the log, with its hash.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kitbag_database::audit::{
    Anchor, AuditRecord, CALLS, CallRecord, ChainFault, SignedAnchor, Verification,
};
use serde::Serialize;
use url::form_urlencoded::Serializer;

use crate::cli::client::Client;
use crate::cli::error::CliError;

/// Maximum length of a line, in bytes.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// Maximum number of anchored entries.
const MAX_ENTRIES: usize = 2_000_000;
/// Maximum number of faults that are listed.
const MAX_FAULTS: usize = 100;
/// Entries are removed hourly, and clocks differ.
const MARGIN: SignedDuration = SignedDuration::from_mins(10);

/// What to compare the log with.
pub(super) struct Kept<'a> {
    /// File with anchors; `-` for standard input.
    pub(super) path: &'a Path,
    /// Thumbprints of the keys that sign them; those of the server if empty.
    pub(super) keys: &'a [String],
}

/// Result of the comparison.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compared {
    /// Number of anchors.
    pub(super) anchors: u64,
    /// Times of the first and of the last one.
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    /// Number of anchored entries that are in the log as they were.
    pub(super) confirmed: u64,
    /// Number of anchored entries that are older than the log keeps them.
    pub(super) expired: u64,
    /// Entries that are not as they were anchored, lines that are no anchors, faults that anchors have recorded.
    pub(super) faults: Vec<ChainFault>,
}

/// An anchored entry: chain and sequence number.
type Position = (String, i64);

/// What the log has to have.
#[derive(Default)]
struct Expected {
    /// Entries by position.
    entries: BTreeMap<Position, ExpectedEntry>,
    /// The shortest times for which anchors say that entries are kept: those of acts, and those of calls.
    retention: Option<Duration>,
    call_retention: Option<Duration>,
    /// Number of lines by the key that has signed them and is not expected.
    foreign: BTreeMap<String, u64>,
}

struct ExpectedEntry {
    /// Several, if anchors contradict each other.
    hashes: Vec<String>,
    at: Timestamp,
}

/// Compares the log of a server with anchors. How long entries are kept is taken from the anchors.
pub(super) async fn compare(
    client: &Client,
    verification: &Verification,
    kept: Kept<'_>,
) -> Result<Compared, CliError> {
    let keys = if kept.keys.is_empty() { &verification.anchor_keys } else { kept.keys };
    let mut compared = Compared::default();
    let expected = read(kept.path, keys, &mut compared)?;
    for (key, lines) in &expected.foreign {
        compared
            .fault(None, format!("lines of the anchors that are signed with another key, {key}: {lines}"));
    }
    let [oldest, oldest_call] = [expected.retention, expected.call_retention].map(oldest);
    let (calls, acts): (BTreeMap<_, _>, BTreeMap<_, _>) =
        expected.entries.into_iter().partition(|((chain, _), _)| chain == CALLS);
    let mut of_age = |entries: BTreeMap<Position, ExpectedEntry>, oldest| {
        let (young, old): (BTreeMap<_, _>, BTreeMap<_, _>) =
            entries.into_iter().partition(|(_, entry)| entry.at >= oldest);
        compared.expired += old.len() as u64;
        young
    };
    let (acts, calls) = (of_age(acts, oldest), of_age(calls, oldest_call));
    check(client, acts, &mut compared).await?;
    check_calls(client, calls, &mut compared).await?;
    if compared.anchors == 0 {
        compared.fault(None, "there are no anchors".to_owned());
    }
    Ok(compared)
}

/// Reads the anchors that are signed with these keys.
fn read(path: &Path, keys: &[String], compared: &mut Compared) -> Result<Expected, CliError> {
    let failed = |error: &std::io::Error| CliError::new(format!("cannot read {}: {error}", path.display()));
    let mut input: Box<dyn BufRead> = match path.to_str() {
        Some("-") => Box::new(stdin().lock()),
        _ => Box::new(BufReader::new(File::open(path).map_err(|error| failed(&error))?)),
    };
    let mut expected = Expected::default();
    let mut line = String::new();
    for number in 1_u64.. {
        line.clear();
        let read = (&mut input).take(MAX_LINE_BYTES).read_line(&mut line).map_err(|error| failed(&error))?;
        if read == 0 {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        match SignedAnchor::read(line.trim()) {
            Ok(signed) if keys.contains(&signed.key) => expected.add(signed.anchor, compared),
            Ok(signed) => *expected.foreign.entry(signed.key).or_default() += 1,
            Err(error) => compared.fault(None, format!("line {number} of the anchors: {error}")),
        }
        if expected.entries.len() > MAX_ENTRIES {
            return Err(CliError::new(format!("there are more than {MAX_ENTRIES} anchored entries"))
                .hint("split the file, and compare each part"));
        }
    }
    Ok(expected)
}

impl Expected {
    fn add(&mut self, anchor: Anchor, compared: &mut Compared) {
        compared.anchors += 1;
        compared.from.get_or_insert_with(|| anchor.at.clone());
        compared.to = Some(anchor.at.clone());
        let retention = Duration::from_secs(anchor.retention_seconds);
        self.retention = Some(self.retention.map_or(retention, |shortest| shortest.min(retention)));
        for ChainFault { chain, what } in anchor.faults {
            compared.fault(chain, format!("found at {}: {what}", anchor.at));
        }
        for end in anchor.chains {
            if let Some(retention) = end.retention_seconds.map(Duration::from_secs) {
                let shortest = self.call_retention.map_or(retention, |shortest| shortest.min(retention));
                self.call_retention = Some(shortest);
            }
            let Ok(at) = end.at.parse() else {
                compared.fault(Some(end.chain), format!("the anchor of {} has no time", anchor.at));
                continue;
            };
            let entry = ExpectedEntry { hashes: Vec::new(), at };
            let ExpectedEntry { hashes, .. } = self.entries.entry((end.chain, end.sequence)).or_insert(entry);
            if !hashes.contains(&end.hash) {
                hashes.push(end.hash);
            }
        }
    }
}

/// Time before which the log may have removed entries that it keeps for this time.
fn oldest(retention: Option<Duration>) -> Timestamp {
    let retention = SignedDuration::try_from(retention.unwrap_or_default()).unwrap_or(SignedDuration::MAX);
    let oldest = Timestamp::now().checked_sub(retention);
    oldest.map_or(Timestamp::MIN, |oldest| oldest.saturating_add(MARGIN).unwrap_or(Timestamp::MAX))
}

/// Looks for the expected entries in the log.
async fn check(
    client: &Client,
    mut expected: BTreeMap<Position, ExpectedEntry>,
    compared: &mut Compared,
) -> Result<(), CliError> {
    let Some(since) = expected.values().map(|entry| entry.at).min() else { return Ok(()) };
    let since = Serializer::new(String::new()).append_pair("since", &since.to_string()).finish();
    let mut lines = client.lines(&format!("/audit?{since}")).await?;
    while let Some(line) = lines.next().await? {
        // A keep-alive.
        if line.is_empty() {
            continue;
        }
        let entry: AuditRecord = serde_json::from_str(&line).map_err(super::unreadable)?;
        let position = (entry.chain, entry.sequence);
        if let Some(anchored) = expected.remove(&position) {
            compared.found(position, &anchored, entry.hash);
        }
    }
    for position in expected.into_keys() {
        compared.missing(position);
    }
    Ok(())
}

/// Looks for the expected entries of calls, each by its number: there are many between them.
async fn check_calls(
    client: &Client,
    expected: BTreeMap<Position, ExpectedEntry>,
    compared: &mut Compared,
) -> Result<(), CliError> {
    for (position, anchored) in expected {
        let (_, sequence) = position;
        let range = format!("after={}&before={}", sequence.saturating_sub(1), sequence.saturating_add(1));
        let mut lines = client.lines(&format!("/audit/calls?{range}")).await?;
        let mut hash = None;
        while let Some(line) = lines.next().await? {
            if !line.is_empty() {
                let entry: CallRecord = serde_json::from_str(&line).map_err(super::unreadable)?;
                hash = Some(entry.hash).filter(|_| entry.sequence == sequence);
            }
        }
        match hash {
            Some(hash) => compared.found(position, &anchored, hash),
            None => compared.missing(position),
        }
    }
    Ok(())
}

impl Compared {
    fn found(&mut self, (chain, sequence): Position, anchored: &ExpectedEntry, hash: String) {
        if anchored.hashes == [hash] {
            self.confirmed += 1;
        } else {
            let what = format!("the entry {sequence} has another hash than it was anchored with");
            self.fault(Some(chain), what);
        }
    }

    fn missing(&mut self, (chain, sequence): Position) {
        self.fault(Some(chain), format!("the entry {sequence} was anchored, and is not in the log"));
    }

    fn fault(&mut self, chain: Option<String>, what: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(ChainFault { chain, what });
        }
    }
}
