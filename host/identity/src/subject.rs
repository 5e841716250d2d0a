//! Subjects of grants: a user, the members of a group, or everyone.

use std::fmt;

use super::groups::Groups;

/// Maximum length of a user id or group name, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The users to whom a grant applies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The user with this id.
    User(String),
    /// The members of the group with this name.
    Group(String),
    /// All users who can sign in.
    Everyone,
}

/// Reason why a subject is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSubject {
    /// Several subjects are named, or none.
    #[error("a grant is for one user, for one group, or for everyone")]
    Number,
    /// The name cannot be the name of a user or group.
    #[error("the name of a user or a group has from 1 to 256 bytes, and no NUL")]
    Name,
}

impl Subject {
    /// Returns the named subject. Fails unless exactly one is named.
    pub fn named(
        user: Option<String>,
        group: Option<String>,
        everyone: bool,
    ) -> Result<Self, InvalidSubject> {
        let subject = match (user, group, everyone) {
            (Some(user), None, false) => Self::User(user),
            (None, Some(group), false) => Self::Group(group),
            (None, None, true) => Self::Everyone,
            _ => return Err(InvalidSubject::Number),
        };
        match &subject {
            Self::User(name) | Self::Group(name)
                if name.is_empty() || name.len() > MAX_NAME_BYTES || name.contains('\0') =>
            {
                Err(InvalidSubject::Name)
            }
            _ => Ok(subject),
        }
    }

    /// Returns the members `user`, `group` and `everyone` of JSON objects, of which one is set.
    pub fn into_members(self) -> (Option<String>, Option<String>, bool) {
        match self {
            Self::User(id) => (Some(id), None, false),
            Self::Group(name) => (None, Some(name), false),
            Self::Everyone => (None, None, true),
        }
    }

    /// Returns the columns `user_id` and `group_name` of tables with grants; both empty for everyone.
    pub fn columns(&self) -> (&str, &str) {
        match self {
            Self::User(id) => (id, ""),
            Self::Group(name) => ("", name),
            Self::Everyone => ("", ""),
        }
    }

    /// Returns the subject with these columns.
    pub fn of_columns(user_id: String, group_name: String) -> Self {
        match (user_id.is_empty(), group_name.is_empty()) {
            (false, _) => Self::User(user_id),
            (true, false) => Self::Group(group_name),
            (true, true) => Self::Everyone,
        }
    }

    /// Whether the subject includes the user with this id and these groups.
    pub fn includes(&self, user: &str, groups: &Groups) -> bool {
        match self {
            Self::User(id) => id == user,
            Self::Group(name) => groups.contains(name),
            Self::Everyone => true,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(id) => write!(out, "user:{id}"),
            Self::Group(name) => write!(out, "group:{name}"),
            Self::Everyone => out.write_str("everyone"),
        }
    }
}
