//! Settings for operators, for consent when a toolkit extends its reach, and for who makes collections.

use std::str::FromStr;

/// Operator: a single user or a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operator {
    /// User with this id.
    User(String),
    /// Members of the group with this name.
    Group(String),
}

impl FromStr for Operator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("group:") {
            Some("") => Err("a group has a name: group:NAME".to_owned()),
            Some(name) => Ok(Self::Group(name.to_owned())),
            None => Ok(Self::User(text.to_owned())),
        }
    }
}

/// Party that consents when a toolkit extends its reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentSetting {
    /// Each user, for themselves.
    Users,
    /// Operators, for all users.
    Operators,
}

impl FromStr for ConsentSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "users" => Ok(Self::Users),
            "operators" => Ok(Self::Operators),
            _ => Err("it is users or operators".to_owned()),
        }
    }
}

/// Who may make collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creators {
    /// All users.
    Everyone,
    /// Operators alone.
    Operators,
}

impl FromStr for Creators {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "everyone" => Ok(Self::Everyone),
            "operators" => Ok(Self::Operators),
            _ => Err("it is everyone or operators".to_owned()),
        }
    }
}
