//! Settings about who may and who decides: operators, and consent to a further reach.

use std::str::FromStr;

/// Who is an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The user with this id.
    User(String),
    /// The members of the group with this name.
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

/// Who consents to a further reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentSetting {
    /// Each user.
    Users,
    /// The operators.
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
