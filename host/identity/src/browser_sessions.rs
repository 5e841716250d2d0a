//! Browser sessions on Kitbag's own pages.
//!
//! The browser stores a random token in a cookie, the database its SHA-256: a leaked database does not allow
//! sign-in. `web/ui` decides which requests accept the cookie.

mod grants;
mod store;

use std::time::Duration;

use jiff::Timestamp;
use kitbag_base::sha256::Sha256;
use kitbag_database::Database;
use kitbag_database::audit::Actor;
use secrecy::{ExposeSecret, SecretString};

pub(super) use self::grants::{Grant, grants_of};
use self::store::{Ends, GrantRow, SessionRow, Store};
pub(super) use self::store::{end_all_sessions, end_sessions_of};
use super::caller::{Caller, TokenProfile};
use super::groups::Groups;
use super::local::random_text;

/// Maximum length of the stored `User-Agent`, in characters; the rest is cut off.
const MAX_AGENT_CHARS: usize = 200;
/// Resolution of the recorded last use: at most one write per session and minute.
const USE_INTERVAL: Duration = Duration::from_mins(1);

/// The sessions of all users.
#[derive(Clone, Debug)]
pub struct BrowserSessions {
    store: Store,
    lifetime: SessionLifetime,
}

/// Lifetime of a session: it ends at the earlier of both limits.
#[derive(Clone, Copy, Debug)]
pub struct SessionLifetime {
    /// Maximum time since sign-in.
    pub total: Duration,
    /// Maximum time since the last request.
    pub idle: Duration,
}

/// A browser's session, without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserSession {
    /// SHA-256 of the cookie's value, in hexadecimal.
    pub id: String,
    /// Id of the user who signed in.
    pub user: String,
    /// The browser's `User-Agent`, at most 200 characters.
    pub agent: String,
    /// Time of sign-in.
    pub created_at: Timestamp,
    /// Time of the last request, to the minute.
    pub used_at: Timestamp,
    /// The user's groups at the provider. Empty as returned by [`BrowserSessions`];
    /// [`ProviderSignIn::confirm`](super::ProviderSignIn::confirm) returns the groups of sign-in or of the
    /// last renewal.
    pub groups: Groups,
}

impl SessionLifetime {
    /// Lifetime of `total`, with an idle limit of a quarter of it.
    pub fn of(total: Duration) -> Self {
        Self { total, idle: total / 4 }
    }
}

impl BrowserSessions {
    /// Manages the sessions in `database` of this issuer's users. Sessions of another issuer's users are
    /// invalid.
    pub fn new(database: Database, issuer: &str, lifetime: SessionLifetime) -> Self {
        Self { store: Store::new(database, issuer.to_owned()), lifetime }
    }

    /// Latest creation and use times of sessions that have ended by now.
    fn ends(&self) -> Ends {
        let now = milliseconds(Timestamp::now());
        Ends { created: now - span(self.lifetime.total), used: now - span(self.lifetime.idle) }
    }

    /// Maximum lifetime of a session since sign-in.
    pub fn lifetime(&self) -> Duration {
        self.lifetime.total
    }

    /// Begins a session of a user who has just signed in, and returns the value of its cookie. A user has at
    /// most 20 sessions; beyond that, the least recently used one ends.
    pub async fn begin(&self, user: &str, agent: &str) -> kitbag_database::Result<SecretString> {
        let since = Timestamp::now();
        let (token, row) = new_session(user, agent);
        // If the user's access is ended at this moment, the session ends before it begins.
        self.insert(&row, None, since).await?;
        Ok(token)
    }

    async fn insert(
        &self,
        row: &SessionRow,
        grant: Option<&GrantRow>,
        since: Timestamp,
    ) -> kitbag_database::Result<bool> {
        self.store.insert(row, grant, self.ends(), milliseconds(since)).await
    }

    /// Finds the session of a cookie, and marks it as used.
    pub async fn find(&self, token: &str) -> kitbag_database::Result<Option<BrowserSession>> {
        let digest = digest(token);
        let now = milliseconds(Timestamp::now());
        let found = self.store.find(&digest, self.ends()).await?;
        if found.as_ref().is_some_and(|row| row.used_at < now - span(USE_INTERVAL)) {
            self.store.mark_used(&digest, now).await?;
        }
        Ok(found.map(BrowserSession::from))
    }

    /// Returns the user's sessions, most recently used first.
    pub async fn of_user(&self, user: &str) -> kitbag_database::Result<Vec<BrowserSession>> {
        let rows = self.store.of_user(user, self.ends()).await?;
        Ok(rows.into_iter().map(BrowserSession::from).collect())
    }

    /// Ends one session of `user`; `by` is recorded in the audit log. An unknown id is not an error.
    pub async fn end(&self, by: &Actor, user: &str, id: &str) -> kitbag_database::Result<()> {
        match hex::decode(id) {
            Ok(digest) => self.store.delete(by, user, &digest).await,
            Err(_no_id) => Ok(()),
        }
    }

    /// Ends all sessions of the user.
    pub async fn end_all(&self, user: &str) -> kitbag_database::Result<()> {
        self.store.delete_all(user).await
    }
}

impl BrowserSession {
    /// Caller of a request in this session.
    pub fn caller(&self) -> Caller {
        Caller {
            user_id: self.user.clone(),
            profile: TokenProfile::Session,
            client_id: None,
            key: None,
            issued_at: milliseconds(self.created_at),
            scopes: Vec::new(),
            toolkits: None,
            groups: self.groups.clone(),
        }
    }
}

impl From<SessionRow> for BrowserSession {
    fn from(row: SessionRow) -> Self {
        let time = |milliseconds| Timestamp::from_millisecond(milliseconds).unwrap_or_default();
        Self {
            id: hex::encode(&row.digest),
            user: row.user_id,
            agent: row.agent,
            created_at: time(row.created_at),
            used_at: time(row.used_at),
            groups: Groups::default(),
        }
    }
}

/// A new session, with the value of its cookie.
fn new_session(user: &str, agent: &str) -> (SecretString, SessionRow) {
    let token = SecretString::from(random_text::<32>());
    let agent: String = agent.chars().take(MAX_AGENT_CHARS).collect();
    let now = Timestamp::now();
    let row = SessionRow {
        digest: digest(token.expose_secret()),
        user_id: user.to_owned(),
        agent,
        created_at: milliseconds(now),
        used_at: milliseconds(now),
    };
    (token, row)
}

fn digest(token: &str) -> Vec<u8> {
    Sha256::digest(token).to_vec()
}

fn milliseconds(time: Timestamp) -> i64 {
    time.as_millisecond()
}

fn span(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_hours(1);

    async fn sessions(total: Duration) -> (tempfile::TempDir, BrowserSessions) {
        let data = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test(data.path()).await;
        (data, BrowserSessions::new(database, "local", SessionLifetime::of(total)))
    }

    async fn begin(sessions: &BrowserSessions, user: &str) -> String {
        let token = sessions.begin(user, "Browser 1.0").await.expect("the database is there");
        token.expose_secret().to_owned()
    }

    #[tokio::test]
    async fn a_session_is_found_by_its_cookie_until_it_ends() {
        let (_data, sessions) = sessions(HOUR).await;
        let of_ana = begin(&sessions, "ana").await;
        let other = begin(&sessions, "ana").await;

        let found = sessions.find(&of_ana).await.expect("it is read").expect("a session");
        assert_eq!((found.user.as_str(), found.agent.as_str()), ("ana", "Browser 1.0"));
        assert_eq!(found.caller().user_id, "ana");
        for guess in ["", "x", found.id.as_str()] {
            assert_eq!(sessions.find(guess).await.expect("it is read"), None, "{guess:?}");
        }

        sessions.end(&Actor::server(), "ben", &found.id).await.expect("nothing happens");
        assert!(sessions.find(&of_ana).await.expect("it is read").is_some(), "not Ben's to end");
        sessions.end(&Actor::server(), "ana", &found.id).await.expect("it ends");
        assert_eq!(sessions.find(&of_ana).await.expect("it is read"), None);
        assert!(sessions.find(&other).await.expect("it is read").is_some());
        sessions.end_all("ana").await.expect("they end");
        assert!(sessions.of_user("ana").await.expect("it is read").is_empty());
    }

    #[tokio::test]
    async fn a_session_ends_by_itself() {
        let (_data, sessions) = sessions(Duration::from_millis(80)).await;
        let token = begin(&sessions, "ana").await;

        tokio::time::sleep(Duration::from_millis(30)).await;

        assert_eq!(
            sessions.find(&token).await.expect("it is read"),
            None,
            "a quarter has passed without a request"
        );
        assert!(sessions.of_user("ana").await.expect("it is read").is_empty());
    }

    #[tokio::test]
    async fn a_session_ends_when_people_sign_in_elsewhere_or_for_a_shorter_time() {
        let data = tempfile::tempdir().expect("a scratch directory");
        let database = Database::of_test(data.path()).await;
        let sessions =
            |issuer: &str, total| BrowserSessions::new(database.clone(), issuer, SessionLifetime::of(total));
        let token = begin(&sessions("local", HOUR), "ana").await;

        tokio::time::sleep(Duration::from_millis(20)).await;

        let found =
            async |sessions: BrowserSessions| sessions.find(&token).await.expect("it is read").is_some();
        assert!(found(sessions("local", HOUR)).await);
        assert!(!found(sessions("https://id.example", HOUR)).await);
        assert!(!found(sessions("local", Duration::from_millis(10))).await);
        begin(&sessions("https://id.example", HOUR), "ana").await;
        assert!(!found(sessions("local", HOUR)).await, "it is gone for good");
    }

    #[tokio::test]
    async fn a_user_has_a_bounded_number_of_sessions() {
        let (_data, sessions) = sessions(HOUR).await;
        let first = begin(&sessions, "ana").await;
        let of_ben = begin(&sessions, "ben").await;

        for _ in 0..store::MAX_SESSIONS_OF_USER {
            begin(&sessions, "ana").await;
        }

        let count = sessions.of_user("ana").await.expect("it is read").len();
        assert_eq!(count, usize::try_from(store::MAX_SESSIONS_OF_USER).expect("few"));
        assert_eq!(sessions.find(&first).await.expect("it is read"), None);
        assert!(sessions.find(&of_ben).await.expect("it is read").is_some());
    }
}
