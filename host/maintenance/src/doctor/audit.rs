//! Integrity of the audit log: detects changed and removed entries.

use kitbag_database::Database;
use kitbag_database::audit::{self, ChainFault, Retention, SealingKeys};
use kitbag_vault::{KeySource, audit_keys, master_key_names};

use super::{Examples, Report};

/// Verifies all chains of the audit log, and their seals if the master keys can be read.
pub(super) async fn check(
    database: &Database,
    source: &KeySource,
    retention: Retention,
    report: &mut Report,
) -> kitbag_database::Result<()> {
    // `keys` reports why they cannot be read, and keys of secrets that are missing.
    let needed = database.audit_key_names().await?;
    let of_secrets = master_key_names(database).await?;
    let are_there = |keys: &SealingKeys| needed.iter().all(|it| keys.has(it) || !of_secrets.contains(it));
    let keys = audit_keys(source).await.ok().filter(are_there);
    let verification = audit::verify(database, keys.as_ref(), retention).await?;
    report.notes.push(format!("entries of the audit log: {}", verification.entries));
    if keys.is_none() {
        report
            .notes
            .push("the ends of the audit log were not verified, for lack of the master key".to_owned());
    }
    report.add(
        examples(verification.faults),
        "chains of the audit log are broken: somebody has changed the database outside the server",
        "compare the entries with those that another system has received, or with a backup; the server goes on with the \
         chain as it is",
    );
    report.add(
        examples(verification.removed_early),
        "entries of the audit log were removed younger than audit-retention",
        "find out who has run a server with a shorter audit-retention (of the chain `calls`: audit-calls-retention); if that was right, this ends when the entries would \
         have been removed anyway",
    );
    Ok(())
}

fn examples(faults: Vec<ChainFault>) -> Examples {
    let mut examples = Examples::default();
    for ChainFault { chain, what } in faults {
        examples.push(chain.map_or(what.clone(), |chain| format!("chain {chain}: {what}")));
    }
    examples
}
