//! `kitbag audit --verify`

use http::Method;
use kitbag_database::audit::{ChainEnds, ChainFault, Verification};
use serde::Serialize;

use super::anchors::{self, Compared, Kept};
use crate::cli::client::Connection;
use crate::cli::error::{CliError, Exit};
use crate::cli::output::report;
use crate::cli::terminal::{counted, say};

/// What was found.
#[derive(Serialize)]
struct Findings {
    #[serde(flatten)]
    verification: Verification,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared: Option<Compared>,
}

/// Lets the server verify its log, and prints the ends of all chains. Compares the log with the anchors in a file.
pub(super) async fn run(connection: Connection, kept: Option<Kept<'_>>) -> Result<(), CliError> {
    let client = connection.open().await?;
    let verification: Verification = client.send(Method::GET, "/audit/verification", "", "").await?;
    let compared = match kept {
        Some(kept) => Some(anchors::compare(&client, &verification, kept).await?),
        None => None,
    };
    let findings = Findings { verification, compared };
    report(&findings, || findings.print())?;
    match findings.faults().count() {
        0 => Ok(()),
        count => Err(CliError::new(format!("found {} in the audit log", counted(count, "problem")))
            .hint("compare it with the entries that another system has received (docs/audit.md, Chains)")
            .exit(Exit::Findings)),
    }
}

impl Findings {
    fn faults(&self) -> impl Iterator<Item = &ChainFault> {
        let Verification { faults, removed_early, .. } = &self.verification;
        let compared = self.compared.iter().flat_map(|compared| &compared.faults);
        faults.iter().chain(removed_early).chain(compared)
    }

    fn print(&self) {
        let Verification { begun_at, anchor_keys, entries, chains, .. } = &self.verification;
        for ChainFault { chain, what } in self.faults() {
            match chain {
                Some(chain) => say!("problem: chain {}: {}", chain, what),
                None => say!("problem: {}", what),
            }
        }
        for ChainEnds { chain, entries, removed, removed_at, removed_hash, newest, newest_hash } in chains {
            say!("chain {}: entries verified: {}", chain, *entries);
            if let Some(at) = removed_at {
                say!("  removed: up to {}, of {}, with the hash {}", *removed, at, removed_hash);
            }
            say!("  newest:  {}, with the hash {}", *newest, newest_hash);
        }
        if let Some(at) = begun_at {
            say!("The log has begun at {}.", at);
        }
        if let Some(key) = anchor_keys.first() {
            say!("Anchors are signed with the key {}.", key);
        }
        self.compared.iter().for_each(Compared::print);
        if self.faults().next().is_none() {
            say!("Entries that are as they were written: {}. No end of a chain was changed.", *entries);
        }
    }
}

impl Compared {
    fn print(&self) {
        let Self { anchors, from, to, confirmed, expired, faults: _ } = self;
        if let (Some(from), Some(to)) = (from, to) {
            say!("Anchors: {}, from {} to {}.", *anchors, from, to);
        }
        say!(
            "Anchored entries that are in the log as they were: {}; too old for the log: {}.",
            *confirmed,
            *expired
        );
    }
}
