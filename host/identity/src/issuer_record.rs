//! Record of the issuer whose users a data directory contains.
//!
//! The database identifies users by `sub`, which is unique only within its issuer (OpenID Connect Core,
//! section 5.7). A server trusts one issuer at a time, so it is sufficient to detect a change of the issuer.
//!
//! Invariant: every `sub` in the database belongs to the last recorded issuer; another issuer takes over only
//! if the operator confirms that its ids name the same people.

mod store;

use kitbag_database::{Database, DatabaseError, Transaction};
use thiserror::Error;
use tracing::{info, warn};

use store::Record;

/// Error that keeps a server from starting on a data directory.
#[derive(Debug, Error)]
pub enum IssuerChange {
    /// The users in the data directory belong to another issuer.
    #[error(
        "the users in this data directory are those of the issuer {recorded}, and the setting issuer says {present}, \
         where the same user ids may be other people. If they are the same people, start with \
         --issuer-replaces {recorded} once; if not, choose another data directory (--data)"
    )]
    Refused {
        /// Recorded issuer.
        recorded: String,
        /// Issuer in the settings.
        present: String,
    },
    /// The record cannot be read or written.
    #[error("cannot read whose users there are: {0}")]
    Storage(#[from] DatabaseError),
}

/// Records `issuer` as the issuer of this database's users, or checks that it is the recorded one.
///
/// `issuer` is an issuer identifier, or `local`. If another issuer is recorded, it is replaced only if
/// `replaces` names it; otherwise the result is [`IssuerChange::Refused`].
pub async fn bind_issuer(
    database: &Database,
    issuer: &str,
    replaces: Option<&str>,
) -> Result<(), IssuerChange> {
    let mut record = Record::open(database).await?;
    let recorded = record.last().await?;
    match recorded {
        Some(recorded) if recorded == issuer => return Ok(()),
        Some(recorded) if replaces != Some(recorded.as_str()) => {
            return Err(IssuerChange::Refused { recorded, present: issuer.to_owned() });
        }
        Some(recorded) => {
            warn!(
                before = recorded,
                now = issuer,
                "user ids of another issuer name the same people from now on"
            );
        }
        None => info!(issuer, "the users in this data directory are those of this issuer"),
    }
    record.append(issuer).await?;
    Ok(())
}

/// Returns the issuer of this database's users; `None` before the first start.
pub async fn recorded_issuer(transaction: &mut Transaction) -> kitbag_database::Result<Option<String>> {
    store::last(transaction).await
}

/// Records another issuer: the user ids in the database belong to it from now on.
pub async fn record_issuer(transaction: &mut Transaction, issuer: &str) -> kitbag_database::Result<()> {
    store::append(transaction, issuer).await
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "https://one.example";
    const OTHER: &str = "https://other.example";

    #[tokio::test]
    async fn users_stay_with_their_issuer_until_the_operator_says_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::of_test(folder.path()).await;
        let bind = async |issuer, replaces| bind_issuer(&database, issuer, replaces).await.is_ok();

        // No issuer is recorded: the first one is accepted, whatever `replaces` names.
        assert!(bind(ONE, Some(OTHER)).await);
        assert!(bind(ONE, None).await);
        // Issuers are compared letter by letter, as in tokens.
        for other in [OTHER, "local", "https://one.example/", "https://ONE.example"] {
            for replaces in [None, Some(other), Some(OTHER), Some("https://one.example/")] {
                assert!(!bind(other, replaces).await, "{other} {replaces:?}");
            }
        }
        assert!(bind(ONE, None).await, "a refusal changes nothing");

        assert!(bind(OTHER, Some(ONE)).await);
        // The flag may stay set after the change.
        assert!(bind(OTHER, Some(ONE)).await);
        assert!(!bind(ONE, None).await);
        let refused = bind_issuer(&database, ONE, None).await.unwrap_err().to_string();
        assert!(refused.contains("--issuer-replaces https://other.example"), "{refused}");
    }
}
