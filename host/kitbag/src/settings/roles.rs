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

/// Claim of tokens with the id of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserIdClaimSetting {
    /// `sub`.
    Sub,
    /// `oid`, of Entra.
    Oid,
}

impl FromStr for UserIdClaimSetting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "sub" => Ok(Self::Sub),
            "oid" => Ok(Self::Oid),
            _ => Err("it is sub or oid".to_owned()),
        }
    }
}

/// Attribute of SCIM with the id of the user that tokens carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScimUserId {
    /// `externalId`.
    ExternalId,
    /// `userName`.
    UserName,
    /// The primary address of `emails`.
    Email,
}

impl FromStr for ScimUserId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "externalId" => Ok(Self::ExternalId),
            "userName" => Ok(Self::UserName),
            "email" => Ok(Self::Email),
            _ => Err("it is externalId, userName or email".to_owned()),
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
