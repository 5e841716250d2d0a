//! The state of a connection that decides which one is closed when too many are open: whose its latest request was,
//! and when.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The state of one connection; a clone shares it. Each request has it in its extensions.
#[derive(Clone, Debug)]
pub struct ConnectionState {
    /// `None` for a proxy, and on a Unix socket.
    address: Option<IpAddr>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// Of the latest request, where its token was good.
    user: Option<Arc<str>>,
    /// Requests whose responses are not sent completely.
    under_way: usize,
    /// When the latest request began or ended.
    since: Instant,
}

/// What a connection is used for; the least important is closed first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Its latest request, if any, had no valid token.
    Anonymous,
    /// Its latest request was this user's, and is answered.
    Idle(Arc<str>),
    /// It serves this user now.
    Serving(Arc<str>),
}

/// A request under way, until its answer has been sent.
#[derive(Debug)]
pub struct UnderWay(ConnectionState);

impl ConnectionState {
    /// A connection of a client at `address`, if that is known.
    pub fn new(address: Option<IpAddr>) -> Self {
        let state = State { user: None, under_way: 0, since: Instant::now() };
        Self { address, state: Arc::new(Mutex::new(state)) }
    }

    /// The client's address, or its network in IPv6. `None` for a proxy, and on a Unix socket.
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// Begins a request, which has no user until its token was verified.
    pub fn begin(&self) -> UnderWay {
        let mut state = self.lock();
        state.user = None;
        state.under_way += 1;
        state.since = Instant::now();
        UnderWay(self.clone())
    }

    /// Records whose the request is.
    pub fn sign_in(&self, user: &str) {
        self.lock().user = Some(user.into());
    }

    /// What it is used for, and since when.
    pub fn priority(&self) -> (Priority, Instant) {
        let state = self.lock();
        let priority = match &state.user {
            None => Priority::Anonymous,
            Some(user) if state.under_way == 0 => Priority::Idle(user.clone()),
            Some(user) => Priority::Serving(user.clone()),
        };
        (priority, state.since)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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
