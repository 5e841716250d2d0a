//! Whose users a data directory holds.
//!
//! Every row of a user names them by `sub`, which is unique within its issuer alone (OpenID Connect Core,
//! section 5.7). A server trusts one issuer at a time, so it is enough that the issuer does not change unseen.
//!
//! Invariant: a `sub` in the database is one of the last issuer in the record; another issuer gets it only
//! when the operator says that it names the same people.

mod store;

use kitbag_database::{Database, DatabaseError, Transaction};
use thiserror::Error;
use tracing::{info, warn};

use store::Record;

/// Why a server does not start on a data directory.
#[derive(Debug, Error)]
pub enum IssuerChange {
    /// The users there are another issuer's.
    #[error(
        "the users in this data directory are those of the issuer {recorded}, and the setting issuer says {present}, \
         where the same user ids may be other people. If they are the same people, start with \
         --issuer-replaces {recorded} once; if not, choose another data directory (--data)"
    )]
    Refused {
        /// Whose users they are.
        recorded: String,
        /// Whom the server would trust.
        present: String,
    },
    /// The record cannot be read or written.
    #[error("cannot read whose users there are: {0}")]
    Storage(#[from] DatabaseError),
}

/// Records `issuer` as the one whose users this database holds, or checks that it is.
///
/// `issuer` is an issuer identifier, or `local`. One that takes the place of another is refused, unless
/// `replaces` names that other one.
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

/// Whose users a database holds, once somebody has used it.
pub async fn recorded_issuer(transaction: &mut Transaction) -> kitbag_database::Result<Option<String>> {
    store::last(transaction).await
}

/// Records another issuer as the one whose users a database holds: their ids are its own from now on.
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

        // Nobody is recorded: the first one is taken, whatever it is said to replace.
        assert!(bind(ONE, Some(OTHER)).await);
        assert!(bind(ONE, None).await);
        // A spelling is an issuer of its own, as in tokens.
        for other in [OTHER, "local", "https://one.example/", "https://ONE.example"] {
            for replaces in [None, Some(other), Some(OTHER), Some("https://one.example/")] {
                assert!(!bind(other, replaces).await, "{other} {replaces:?}");
            }
        }
        assert!(bind(ONE, None).await, "a refusal changes nothing");

        assert!(bind(OTHER, Some(ONE)).await);
        // The flag may stay.
        assert!(bind(OTHER, Some(ONE)).await);
        assert!(!bind(ONE, None).await);
        let refused = bind_issuer(&database, ONE, None).await.unwrap_err().to_string();
        assert!(refused.contains("--issuer-replaces https://other.example"), "{refused}");
    }
}
