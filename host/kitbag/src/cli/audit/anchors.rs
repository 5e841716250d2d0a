//! Compares the log with anchors that were kept elsewhere.
//!
//! An anchored entry that is younger than the retention has to be in the log, with its hash.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, stdin};
use std::path::Path;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kitbag_database::audit::{AuditRecord, ChainFault, SignedAnchor, Verification};
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

/// Result of the comparison.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compared {
    /// Number of anchors.
    pub(super) anchors: u64,
    /// Times of the first and of the last one.
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    /// Thumbprints of keys that have signed, with the number of anchors.
    pub(super) keys: BTreeMap<String, u64>,
    /// Those of them that the server does not have.
    pub(super) unknown_keys: Vec<String>,
    /// Number of anchored entries that are in the log as they were.
    pub(super) confirmed: u64,
    /// Number of anchored entries that are older than the log keeps them.
    pub(super) expired: u64,
    /// Entries that are not as they were anchored, lines that are no anchors, faults that anchors have recorded.
    pub(super) faults: Vec<ChainFault>,
}

/// An anchored entry: chain and sequence number.
type Position = (String, i64);

/// Anchored entries that have to be in the log.
#[derive(Default)]
struct Expected {
    /// Hashes by position. Several, if anchors contradict each other.
    hashes: BTreeMap<Position, Vec<String>>,
    /// Time of the oldest.
    since: Option<Timestamp>,
}

/// Compares the log of a server with the anchors in a file.
pub(super) async fn compare(
    client: &Client,
    verification: &Verification,
    path: &Path,
) -> Result<Compared, CliError> {
    let mut compared = Compared::default();
    let retention = Duration::from_secs(verification.retention_seconds);
    let oldest = SignedDuration::try_from(retention)
        .ok()
        .and_then(|retention| Timestamp::now().checked_sub(retention).ok())
        .map_or(Timestamp::MIN, |oldest| oldest + MARGIN);
    let expected = read(path, oldest, &mut compared)?;
    compared.unknown_keys =
        compared.keys.keys().filter(|key| !verification.anchor_keys.contains(key)).cloned().collect();
    if let Some(since) = expected.since {
        check(client, expected, since, &mut compared).await?;
    }
    Ok(compared)
}

/// Reads anchors. `oldest`: older entries may have been removed.
fn read(path: &Path, oldest: Timestamp, compared: &mut Compared) -> Result<Expected, CliError> {
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
            Ok(signed) => expected.add(signed, oldest, compared),
            Err(error) => compared.fault(None, format!("line {number} of the anchors: {error}")),
        }
        if expected.hashes.len() > MAX_ENTRIES {
            return Err(CliError::new(format!("there are more than {MAX_ENTRIES} anchored entries"))
                .hint("split the file, and compare each part"));
        }
    }
    Ok(expected)
}

impl Expected {
    fn add(&mut self, signed: SignedAnchor, oldest: Timestamp, compared: &mut Compared) {
        let SignedAnchor { anchor, key } = signed;
        compared.anchors += 1;
        compared.from.get_or_insert_with(|| anchor.at.clone());
        compared.to = Some(anchor.at.clone());
        *compared.keys.entry(key).or_default() += 1;
        for ChainFault { chain, what } in anchor.faults {
            compared.fault(chain, format!("found at {}: {what}", anchor.at));
        }
        for end in anchor.chains {
            let Ok(at) = end.at.parse::<Timestamp>() else {
                compared.fault(Some(end.chain), format!("the anchor of {} has no time", anchor.at));
                continue;
            };
            if at < oldest {
                compared.expired += 1;
                continue;
            }
            self.since = Some(self.since.map_or(at, |since| since.min(at)));
            let hashes = self.hashes.entry((end.chain, end.sequence)).or_default();
            if !hashes.contains(&end.hash) {
                hashes.push(end.hash);
            }
        }
    }
}

/// Reads the log since a time, and looks for the expected entries.
async fn check(
    client: &Client,
    mut expected: Expected,
    since: Timestamp,
    compared: &mut Compared,
) -> Result<(), CliError> {
    let since = Serializer::new(String::new()).append_pair("since", &since.to_string()).finish();
    let mut lines = client.lines(&format!("/audit?{since}")).await?;
    while let Some(line) = lines.next().await? {
        // A keep-alive.
        if line.is_empty() {
            continue;
        }
        let entry: AuditRecord = serde_json::from_str(&line).map_err(super::unreadable)?;
        let Some(hashes) = expected.hashes.remove(&(entry.chain.clone(), entry.sequence)) else { continue };
        if hashes == [entry.hash] {
            compared.confirmed += 1;
        } else {
            let what = format!("the entry {} has another hash than it was anchored with", entry.sequence);
            compared.fault(Some(entry.chain), what);
        }
    }
    for ((chain, sequence), _) in expected.hashes {
        compared.fault(Some(chain), format!("the entry {sequence} was anchored, and is not in the log"));
    }
    Ok(())
}

impl Compared {
    fn fault(&mut self, chain: Option<String>, what: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(ChainFault { chain, what });
        }
    }
}
