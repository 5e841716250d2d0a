//! Answers about access. Times are RFC 3339, UTC.

use kitbag_knowledge::collections::Role;
use kitbag_toolkits::ReachItem;
use serde::{Deserialize, Serialize};

/// A question about access, of which one member is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Question {
    /// What may the user with this id use and read?
    User(String),
    /// What may members of the group with this name use and read, and who are they?
    Group(String),
    /// Who may use the toolkit with this id, and what does it reach?
    Toolkit(String),
    /// Which toolkits reach this host, and who may use them?
    Host(String),
}

/// Answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessView {
    /// The question.
    pub question: Question,
    /// Whether the user has signed in, somebody was seen with the group, or there is the toolkit; for a host,
    /// whether a toolkit reaches it.
    pub is_known: bool,
    /// Whether the user, or each member of the group, is an operator.
    #[serde(default)]
    pub is_operator: bool,
    /// Whether the user's access was ended.
    #[serde(default)]
    pub is_ended: bool,
    /// Groups of the user at the last sign-in.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Members of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<People>,
    /// Toolkits, by id.
    pub toolkits: Vec<ToolkitAccess>,
    /// Collections that the user, or members of the group, may read, by id.
    #[serde(default)]
    pub collections: Vec<CollectionAccess>,
}

/// Users by their groups at the last sign-in, without those whose access was ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct People {
    /// Number of users.
    pub count: u64,
    /// Ids of the first ones.
    pub first: Vec<String>,
}

/// A toolkit, with who may use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolkitAccess {
    /// Id of the toolkit.
    pub id: String,
    /// User id of the owner.
    pub owner: String,
    /// Who may use it; about a user or a group, what gives it to them.
    pub by: Vec<Right>,
    /// What it reaches: hosts, secrets, documents, sign-ins.
    pub reaches: Vec<ReachItem>,
    /// Who may use it; absent if the question is about a user or a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub people: Option<People>,
}

/// A permission to use a toolkit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Right {
    /// `owner`, `everyone`, `group:…` or `user:…`.
    pub to: String,
    /// Tools; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

/// A collection, with what gives access to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectionAccess {
    /// Id of the collection.
    pub id: String,
    /// Role in it.
    pub role: Role,
    /// `everyone`, `group:…` or `user:…`.
    pub by: Vec<String>,
}

/// A group that users were seen with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenGroup {
    /// Name of the group.
    pub name: String,
    /// Number of users with it at their last sign-in.
    pub users: u64,
}
