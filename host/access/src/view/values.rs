//! Answers about access. Times are RFC 3339, UTC.

use kitbag_knowledge::collections::Role;
use kitbag_net::egress::RefusedHost;
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
    /// Which toolkits declare this host, and who may use them and reach it?
    Host(String),
}

/// Answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessView {
    /// The question.
    pub question: Question,
    /// Whether the user has signed in, somebody was seen with the group, or there is the toolkit; for a host,
    /// whether a toolkit declares it.
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
#[serde(rename_all = "camelCase")]
pub struct ToolkitAccess {
    /// Id of the toolkit.
    pub id: String,
    /// User id of the owner.
    pub owner: String,
    /// Who may use it; about a user or a group, what gives it to them.
    pub by: Vec<Right>,
    /// What it reaches: hosts, secrets, documents, sign-ins.
    pub reaches: Vec<ReachItem>,
    /// Hosts that it declares and that the egress policy refuses: to the user or the group that the question is about,
    /// or else to users in no group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_hosts: Vec<RefusedHost>,
    /// Who may use it, and reach the host that the question is about; absent if it is about a user or a group.
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

impl Right {
    /// Formats rights, such as `owner; group:sales (find, list)`.
    pub fn all_in_words(rights: &[Self]) -> String {
        let words = |Self { to, tools }: &Self| match tools {
            None => to.clone(),
            Some(tools) => format!("{to} ({})", tools.join(", ")),
        };
        rights.iter().map(words).collect::<Vec<_>>().join("; ")
    }
}

impl People {
    /// Formats the first `shown` users, and how many there are besides.
    pub fn in_words(&self, shown: usize) -> String {
        let shown = &self.first[..self.first.len().min(shown)];
        let more = self.count.saturating_sub(shown.len() as u64);
        match (self.count, more) {
            (0, _) => "nobody who has signed in".to_owned(),
            (_, 0) => shown.join(", "),
            _ => format!("{} and {more} more", shown.join(", ")),
        }
    }
}

/// Groups that users were seen with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenGroups {
    /// Groups, by name.
    pub groups: Vec<SeenGroup>,
    /// Whether these are all; otherwise nothing can be said of a group that is not among them.
    pub is_complete: bool,
}

impl SeenGroups {
    /// Whether nobody was seen with the group of this name.
    pub fn lack(&self, name: &str) -> bool {
        self.is_complete && !self.groups.iter().any(|group| group.name == name)
    }
}

/// A group that users were seen with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenGroup {
    /// Name of the group.
    pub name: String,
    /// Number of users with it at their last sign-in.
    pub users: u64,
}
