//! `kitbag audit --verify`

use http::Method;
use kitbag_database::audit::{ChainEnds, ChainFault, Verification};

use crate::cli::client::Connection;
use crate::cli::error::{CliError, Exit};
use crate::cli::output::report;
use crate::cli::terminal::{counted, say};

/// Lets the server verify its log, and prints the ends of all chains.
pub(super) async fn run(connection: Connection) -> Result<(), CliError> {
    let client = connection.open().await?;
    let verification: Verification = client.send(Method::GET, "/audit/verification", "", "").await?;
    report(&verification, || print(&verification))?;
    match verification.faults.len() + verification.removed_early.len() {
        0 => Ok(()),
        count => Err(CliError::new(format!("found {} in the audit log", counted(count, "problem")))
            .hint("compare it with the entries that another system has received (docs/audit.md, Chains)")
            .exit(Exit::Findings)),
    }
}

fn print(verification: &Verification) {
    let Verification { begun_at, seals_verified: _, entries, chains, faults, removed_early } = verification;
    for ChainFault { chain, what } in faults.iter().chain(removed_early) {
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
    if faults.is_empty() && removed_early.is_empty() {
        say!("Entries that are as they were written: {}. No end of a chain was changed.", *entries);
    }
}
