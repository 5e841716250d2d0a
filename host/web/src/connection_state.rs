//! State of a connection: user and time of its latest request. Decides which connection is closed when too
//! many are open.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// State of one connection; clones share it. Stored in the extensions of each request.
#[derive(Clone, Debug)]
pub struct ConnectionState {
    /// `None` for a proxy or a Unix socket.
    address: Option<IpAddr>,
    state: Arc<Mutex<ConnectionActivity>>,
}

#[derive(Debug)]
struct ConnectionActivity {
    /// User of the latest request, if its token was valid.
    user: Option<Arc<str>>,
    /// Requests whose responses have not been sent completely.
    under_way: usize,
    /// Time at which the latest request began or ended.
    since: Instant,
}

/// Importance of a connection, ascending; the least important one is closed first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// No request yet, or the latest one had no valid token.
    Anonymous,
    /// The latest request was by this user and has been answered.
    Idle(Arc<str>),
    /// A request of this user is in progress.
    Serving(Arc<str>),
}

/// Guard of a request in progress; dropped once the response has been sent.
#[derive(Debug)]
pub struct UnderWay(ConnectionState);

impl ConnectionState {
    /// Creates the state of a connection from a client at `address`, if known.
    pub fn new(address: Option<IpAddr>) -> Self {
        let state = ConnectionActivity { user: None, under_way: 0, since: Instant::now() };
        Self { address, state: Arc::new(Mutex::new(state)) }
    }

    /// The client's address; for IPv6 its network. `None` for a proxy or a Unix socket.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Begins a request, which has no user until its token is verified.
    pub fn begin(&self) -> UnderWay {
        let mut state = self.lock();
        state.user = None;
        state.under_way += 1;
        state.since = Instant::now();
        UnderWay(self.clone())
    }

    /// Sets the user of the latest request.
    pub fn sign_in(&self, user: &str) {
        self.lock().user = Some(user.into());
    }

    /// The connection's priority, and the time of its last change.
    pub fn priority(&self) -> (Priority, Instant) {
        let state = self.lock();
        let priority = match &state.user {
            None => Priority::Anonymous,
            Some(user) if state.under_way == 0 => Priority::Idle(user.clone()),
            Some(user) => Priority::Serving(user.clone()),
        };
        (priority, state.since)
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionActivity> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.under_way -= 1;
        state.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_stands_as_its_latest_request() {
        let connection_state = ConnectionState::new(None);
        assert_eq!(connection_state.priority().0, Priority::Anonymous);

        let request = connection_state.begin();
        assert_eq!(connection_state.priority().0, Priority::Anonymous);
        connection_state.sign_in("ana");
        assert_eq!(connection_state.priority().0, Priority::Serving("ana".into()));
        drop(request);
        assert_eq!(connection_state.priority().0, Priority::Idle("ana".into()));

        drop(connection_state.begin());
        assert_eq!(connection_state.priority().0, Priority::Anonymous);
    }
}
