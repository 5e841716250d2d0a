//! Grants of an external provider for sessions: expiry, groups and refresh token.

use std::time::Duration;

use jiff::Timestamp;
use kitbag_database::Transaction;
use kitbag_vault::SealedValue;
use secrecy::SecretString;

use super::store::{GrantRow, granted_to};
use super::{BrowserSession, BrowserSessions, new_session};
use crate::groups::Groups;

/// Time after which a claimed renewal may be claimed again, as its process must have ended: all requests to the
/// provider that a renewal sends take less than a minute, and clocks of processes may differ by another one.
const RENEWAL_LEASE: Duration = Duration::from_mins(2);

/// The grant of one session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    /// Expiry of the access token.
    pub(crate) expires_at: Timestamp,
    /// The user's groups, from that token.
    pub(crate) groups: Groups,
    /// Encrypted refresh token; `None` if the provider issued none.
    pub(crate) refresh_token: Option<SealedValue>,
}

/// Sessions that were ended.
#[derive(Clone, Debug)]
pub(crate) struct EndedSessions {
    pub(crate) count: u64,
    /// Grants of them, by session id.
    pub(crate) grants: Vec<(String, Grant)>,
}

impl BrowserSessions {
    /// Like [`begin`](Self::begin), for a sign-in that began at `since`, with a grant that `seal` builds for the
    /// new session's id. Returns `None` if the user's access was ended since.
    pub(crate) async fn begin_granted(
        &self,
        user: &str,
        agent: &str,
        since: Timestamp,
        seal: impl FnOnce(&str) -> Grant,
    ) -> kitbag_database::Result<Option<SecretString>> {
        let (token, row) = new_session(user, agent);
        let id = hex::encode(&row.digest);
        let has_begun = self.insert(&row, Some(&seal(&id).row(row.digest.clone())), since).await?;
        Ok(has_begun.then_some(token))
    }

    pub(crate) async fn grant(&self, session: &BrowserSession) -> kitbag_database::Result<Option<Grant>> {
        let Ok(digest) = hex::decode(&session.id) else { return Ok(None) };
        Ok(self.store.grant(&digest).await?.map(Grant::from))
    }

    /// Returns the grants of all sessions of a user, as pairs of session id and grant.
    pub(crate) async fn grants_of_user(&self, user: &str) -> kitbag_database::Result<Vec<(String, Grant)>> {
        Ok(pairs(self.store.grants_of_user(user).await?))
    }

    /// Ends the sessions of a user that began at or before a time, in milliseconds since 1970, because the provider says
    /// so.
    pub(crate) async fn end_begun_by(&self, user: &str, time: i64) -> kitbag_database::Result<EndedSessions> {
        let (count, grants) = self.store.delete_begun_by(user, time).await?;
        Ok(EndedSessions { count, grants: pairs(grants) })
    }

    /// Replaces the grant of a session. Returns `false` if the session has ended meanwhile.
    pub(crate) async fn replace_grant(
        &self,
        session: &BrowserSession,
        grant: Grant,
    ) -> kitbag_database::Result<bool> {
        let Ok(digest) = hex::decode(&session.id) else { return Ok(false) };
        self.store.replace_grant(&grant.row(digest)).await
    }

    /// Claims the renewal of a session's grant for [`RENEWAL_LEASE`]. Returns `false` if another process or
    /// task has claimed it, or the session has ended.
    pub(crate) async fn claim_renewal(&self, session: &BrowserSession) -> kitbag_database::Result<bool> {
        let Ok(digest) = hex::decode(&session.id) else { return Ok(false) };
        let now = Timestamp::now();
        self.store.claim_renewal(&digest, now.as_millisecond(), (now - RENEWAL_LEASE).as_millisecond()).await
    }

    /// Releases a claimed renewal.
    pub(crate) async fn release_renewal(&self, session: &BrowserSession) -> kitbag_database::Result<()> {
        let Ok(digest) = hex::decode(&session.id) else { return Ok(()) };
        self.store.release_renewal(&digest).await
    }
}

/// Returns the grants of all sessions of a user, as pairs of session id and grant.
pub(crate) async fn grants_of(
    transaction: &mut Transaction,
    user: &str,
) -> kitbag_database::Result<Vec<(String, Grant)>> {
    Ok(pairs(granted_to(transaction, user).await?))
}

fn pairs(rows: Vec<GrantRow>) -> Vec<(String, Grant)> {
    rows.into_iter().map(|row| (hex::encode(&row.digest), row.into())).collect()
}

impl Grant {
    fn row(self, digest: Vec<u8>) -> GrantRow {
        let (master_key, wrapped_key, refresh_token) = match self.refresh_token {
            Some(sealed) => (Some(sealed.master_key), Some(sealed.wrapped_key), Some(sealed.value)),
            None => (None, None, None),
        };
        let expires_at = self.expires_at.as_millisecond();
        let groups = serde_json::to_string(&self.groups).expect("texts always serialise");
        GrantRow { digest, expires_at, groups, master_key, wrapped_key, refresh_token }
    }
}

impl From<GrantRow> for Grant {
    fn from(row: GrantRow) -> Self {
        let sealed = row.master_key.zip(row.wrapped_key).zip(row.refresh_token);
        let refresh_token =
            sealed.map(|((master_key, wrapped_key), value)| SealedValue { master_key, wrapped_key, value });
        Self {
            expires_at: Timestamp::from_millisecond(row.expires_at).unwrap_or_default(),
            groups: serde_json::from_str(&row.groups).unwrap_or_default(),
            refresh_token,
        }
    }
}

#[cfg(test)]
mod tests {
    use kitbag_database::Database;
    use secrecy::ExposeSecret;

    use super::*;
    use crate::SessionLifetime;

    #[tokio::test]
    async fn a_grant_belongs_to_its_session_and_ends_with_it() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test(data.path()).await;
        let hour = std::time::Duration::from_hours(1);
        let sessions = BrowserSessions::new(database.clone(), "local", SessionLifetime::of(hour));
        let sealed = SealedValue { master_key: "k".to_owned(), wrapped_key: vec![1], value: vec![2] };
        let groups = Groups::from_iter(["sales".to_owned()]);
        let first = Grant { expires_at: Timestamp::UNIX_EPOCH, groups, refresh_token: Some(sealed) };
        let second = Grant { groups: Groups::default(), refresh_token: None, ..first.clone() };

        let mut sealed_for = String::new();
        let begun = sessions.begin_granted("ana", "Browser", Timestamp::now(), |id| {
            id.clone_into(&mut sealed_for);
            first.clone()
        });
        let token = begun.await.expect("the database is there").expect("it begins");
        let session = sessions.find(token.expose_secret()).await.expect("it is read").expect("a session");
        assert_eq!(session.id, sealed_for);
        assert_eq!(sessions.grant(&session).await.expect("it is read"), Some(first.clone()));
        let of_ana = sessions.grants_of_user("ana").await.expect("they are read");
        assert_eq!(of_ana, [(session.id.clone(), first)]);
        assert!(sessions.grants_of_user("ben").await.expect("they are read").is_empty());

        let claim = async || sessions.claim_renewal(&session).await.expect("it is written");
        assert_eq!((claim().await, claim().await), (true, false), "one at a time");
        sessions.release_renewal(&session).await.expect("it is written");
        assert!(claim().await);
        database.execute("UPDATE session_renewals SET claimed_at = claimed_at - 120001").await;
        assert_eq!((claim().await, claim().await), (true, false), "its process has ended");

        assert!(sessions.replace_grant(&session, second.clone()).await.expect("it is written"));
        assert_eq!(sessions.grant(&session).await.expect("it is read"), Some(second.clone()));
        sessions.end(&kitbag_database::audit::Actor::server(), "ana", &session.id).await.expect("it ends");
        assert_eq!(sessions.grant(&session).await.expect("it is read"), None);
        assert!(!sessions.replace_grant(&session, second).await.expect("nothing is written"));
        assert!(!claim().await, "there is nothing to renew");
        let left: Vec<i64> = database.column("SELECT count(*) FROM browser_session_grants").await;
        assert_eq!(left, [0]);
    }
}
