//! Copy in memory of whose access was ended.

use std::collections::HashMap;

/// Users whose access was ended, at one moment.
#[derive(Debug, Default)]
pub(super) struct EndedUsers {
    /// Number of ends so far, which tells whether the copy is current.
    number_of_ends: i64,
    users: HashMap<Box<str>, EndedUser>,
}

/// End of one user's access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndedUser {
    /// Milliseconds since 1970.
    pub(super) at: i64,
    /// Whether the user has signed in again.
    pub(super) is_back: bool,
}

impl EndedUsers {
    pub(super) fn new(number_of_ends: i64, users: HashMap<Box<str>, EndedUser>) -> Self {
        Self { number_of_ends, users }
    }

    /// The end of a user's access, if it was ended.
    pub(super) fn get(&self, user: &str) -> Option<EndedUser> {
        self.users.get(user).copied()
    }

    /// Adds a sign-in of a user whose access was ended.
    pub(super) fn with_return_of(&self, user: &str) -> Self {
        let mut users = self.users.clone();
        if let Some(end) = users.get_mut(user) {
            end.is_back = true;
        }
        Self { number_of_ends: self.number_of_ends, users }
    }

    /// Adds the end of a user's access, unless the copy has a later one.
    pub(super) fn with_end_of(&self, user: &str, at: i64) -> Self {
        let mut users = self.users.clone();
        let end = users.entry(user.into()).or_insert(EndedUser { at, is_back: false });
        if end.at < at {
            *end = EndedUser { at, is_back: false };
        }
        Self { number_of_ends: self.number_of_ends, users }
    }

    pub(super) fn is_of(&self, number_of_ends: i64) -> bool {
        self.number_of_ends == number_of_ends
    }
}
