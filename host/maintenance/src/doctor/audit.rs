//! Integrity of the audit log: detects changed and removed entries.

use kitbag_database::Database;
use kitbag_database::audit;

use super::{Examples, Report};

/// Verifies all chains of the audit log.
pub(super) async fn check(database: &Database, report: &mut Report) -> kitbag_database::Result<()> {
    let verification = audit::verify(database).await?;
    report.notes.push(format!("entries of the audit log: {}", verification.entries));
    let mut broken = Examples::default();
    for fault in verification.faults {
        broken.push(format!("chain {}: {}", fault.chain, fault.what));
    }
    report.add(
        broken,
        "chains of the audit log are broken: somebody has changed the database outside the server",
        "compare the entries with those that another system has received, or with a backup; the server goes on with the \
         chain as it is",
    );
    Ok(())
}
