//! What operators see of users: that things exist, never a value, a text or a title. Times are RFC 3339, UTC.

use kitbag_identity::ProgramKey;
use kitbag_knowledge::collections::Role;
use kitbag_toolkits::Forgotten;
use serde::{Deserialize, Serialize};

/// A user who was seen, or has anything here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserSummary {
    /// Id at the identity provider.
    pub id: String,
    /// First sign-in; absent if it was not recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen_at: Option<String>,
    /// Last sign-in, to some minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_in_at: Option<String>,
    /// Groups by the token of the last sign-in.
    pub groups: Vec<String>,
    /// Last end of the user's access. They may have signed in again since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// The operator who ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    /// Whether the access was ended, and the user has not signed in since.
    pub is_ended: bool,
    /// Whether the identity provider has deactivated or removed the user (SCIM).
    #[serde(default)]
    pub is_deactivated: bool,
    /// Numbers of what the user has.
    pub counts: UserCounts,
}

/// Numbers of what a user has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserCounts {
    /// Own documents.
    pub documents: Size,
    /// Own documents in the bin.
    pub bin: Size,
    /// Secrets.
    pub secrets: u64,
    /// Connected accounts.
    pub accounts: u64,
    /// Keys of programs that have not expired.
    pub keys: u64,
    /// Sessions of browsers.
    pub sessions: u64,
    /// Toolkits that the user owns.
    pub toolkits: u64,
    /// Collections of which the user is a member by name.
    pub collections: u64,
}

impl UserCounts {
    /// Returns the numbers that are not 0, each with the noun of one.
    pub fn named(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let all = [
            (self.documents.documents, "document"),
            (self.bin.documents, "deleted document"),
            (self.accounts, "account"),
            (self.secrets, "secret"),
            (self.keys, "key"),
            (self.sessions, "session"),
            (self.toolkits, "toolkit"),
            (self.collections, "collection"),
        ];
        all.into_iter().filter(|(number, _)| *number > 0)
    }
}

/// Number and size of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Number of documents.
    pub documents: u64,
    /// What they take.
    pub bytes: u64,
}

/// Everything that a user has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserDetails {
    /// The user, with numbers.
    #[serde(flatten)]
    pub summary: UserSummary,
    /// Whether the setting `operators` names the user, who is an operator at each sign-in.
    pub is_named_operator: bool,
    /// Secrets by toolkit and name.
    pub secrets: Vec<StoredItem>,
    /// Accounts by toolkit.
    pub accounts: Vec<StoredItem>,
    /// Keys of programs.
    pub keys: Vec<KeyItem>,
    /// Sessions of browsers.
    pub sessions: Vec<SessionItem>,
    /// OAuth clients that may act for the user, in local mode.
    pub clients: Vec<ClientItem>,
    /// Consents to what toolkits reach.
    pub consents: Vec<ConsentItem>,
    /// Tools hidden from models.
    pub hidden_tools: Vec<ToolItem>,
    /// Tools that the user's code may call.
    pub code_tools: Vec<ToolItem>,
    /// Toolkits and tools that are shared with the user by name.
    pub shared_toolkits: Vec<ToolItem>,
    /// Settings of toolkits.
    pub settings: Vec<SettingItem>,
    /// What toolkits have cached.
    pub cached: Vec<CachedItem>,
    /// Ids of the toolkits that the user owns.
    pub toolkits: Vec<String>,
    /// Uploads that wait for review.
    pub uploads: u64,
    /// Collections of which the user is a member by name.
    pub collections: Vec<CollectionItem>,
    /// Records of calls.
    pub records: u64,
}

/// A secret; an account if it has no name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredItem {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Name of the secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When it was set or renewed.
    pub updated_at: String,
}

/// A key of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyItem {
    /// Id, as in the audit log.
    pub id: String,
    /// Name chosen by the user.
    pub name: String,
    /// Toolkits that it is limited to; absent: it may do what its user may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkits: Option<Vec<String>>,
    /// Time of creation.
    pub created_at: String,
    /// Time of expiry, at most the maximum lifetime after creation; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Last use, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<String>,
    /// Time from which it is refused until its user signs in again; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses_at: Option<String>,
}

impl From<ProgramKey> for KeyItem {
    fn from(key: ProgramKey) -> Self {
        let shown = |time: jiff::Timestamp| time.to_string();
        Self {
            id: key.id,
            name: key.name,
            toolkits: key.toolkits.map(|ids| ids.into_iter().collect()),
            created_at: shown(key.created_at),
            expires_at: key.expires_at.map(shown),
            used_at: key.used_at.map(shown),
            pauses_at: key.pauses_at.map(shown),
        }
    }
}

/// A session of a browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionItem {
    /// Beginning of its id, as in the audit log.
    pub id: String,
    /// The browser's name for itself.
    pub agent: String,
    /// Time of the sign-in.
    pub signed_in_at: String,
    /// Last use.
    pub used_at: String,
}

/// An OAuth client with a grant of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientItem {
    /// Client id.
    pub id: String,
    /// What the client calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// When the grant ends by itself.
    pub expires_at: String,
}

/// A consent to what a toolkit reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsentItem {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Version that was live then.
    pub version: String,
    /// Time of the consent.
    pub agreed_at: String,
}

/// A toolkit, or one tool of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolItem {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Name of the tool; absent for the whole toolkit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// A setting of a toolkit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingItem {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Key of the setting.
    pub key: String,
}

/// A setting of a toolkit with its value, for the user who has set it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingValue {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Key of the setting.
    pub key: String,
    /// The value.
    pub value: serde_json::Value,
}

/// What a toolkit has cached for a user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedItem {
    /// Id of the toolkit.
    pub toolkit: String,
    /// Number of values.
    pub values: u64,
    /// Size of keys and values.
    pub bytes: u64,
}

/// A collection of which a user is a member by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CollectionItem {
    /// Id of the collection.
    pub id: String,
    /// What the user may do.
    pub role: Role,
    /// Whether nobody else keeps it.
    pub is_last_curator: bool,
    /// Whether it is in the bin.
    pub is_deleted: bool,
}

/// What becomes of the documents of a user who is ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentsFate {
    /// They go to the user's bin, for as long as a bin keeps documents.
    Bin,
    /// They move to the collection with this id.
    Collection(String),
    /// They are deleted for good, with those in the bin, earlier texts, records of the user's calls, and the user's id
    /// where it says who did something that stays.
    Erased,
}

/// What was ended, removed, moved and passed on of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserEnd {
    /// Whether nothing is left to do. Otherwise the same request goes on.
    pub is_finished: bool,
    /// Whether the setting `operators` still names the user.
    pub is_named_operator: bool,
    /// Keys of programs.
    pub keys: u64,
    /// Sessions of browsers.
    pub sessions: u64,
    /// Grants of OAuth clients, in local mode.
    pub clients: u64,
    /// Accounts.
    pub accounts: u64,
    /// Toolkits of those accounts whose provider has not confirmed that it has revoked their tokens.
    pub not_revoked: Vec<String>,
    /// Secrets.
    pub secrets: u64,
    /// Values that toolkits had cached.
    pub cached: u64,
    /// What the user had set about toolkits, and grants to the user.
    #[serde(flatten)]
    pub forgotten: Forgotten,
    /// Ids of toolkits that passed to the operator.
    pub toolkits: Vec<String>,
    /// Ids of collections of which the user was a member by name.
    pub collections: Vec<String>,
    /// Ids of those of which the operator is a curator now, since nobody else was.
    pub passed_collections: Vec<String>,
    /// Documents that went to the bin, or for good.
    pub documents: u64,
    /// Documents that moved to a collection.
    pub moved: u64,
    /// Documents that went to the bin since the collection has the same.
    pub conflicts: Vec<ConflictItem>,
    /// Records of calls, which were erased.
    pub records: u64,
    /// Places that said who did something, and do not any more: erasure alone.
    #[serde(default)]
    pub mentions: u64,
}

/// A document that a collection has already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictItem {
    /// Id of the document.
    pub id: String,
    /// Id of that in the collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<String>,
}

impl UserEnd {
    /// Adds what a later request has done.
    pub fn add(&mut self, later: Self) {
        self.is_finished = later.is_finished;
        self.is_named_operator = later.is_named_operator;
        self.keys += later.keys;
        self.sessions += later.sessions;
        self.clients += later.clients;
        self.accounts += later.accounts;
        self.not_revoked.extend(later.not_revoked);
        self.secrets += later.secrets;
        self.cached += later.cached;
        self.forgotten.settings += later.forgotten.settings;
        self.forgotten.hidden_tools += later.forgotten.hidden_tools;
        self.forgotten.code_tools += later.forgotten.code_tools;
        self.forgotten.consents += later.forgotten.consents;
        self.forgotten.asked_calls += later.forgotten.asked_calls;
        self.forgotten.grants += later.forgotten.grants;
        self.toolkits.extend(later.toolkits);
        self.collections.extend(later.collections);
        self.passed_collections.extend(later.passed_collections);
        self.documents += later.documents;
        self.moved += later.moved;
        self.conflicts.extend(later.conflicts);
        self.records += later.records;
        self.mentions += later.mentions;
    }

    /// Returns what was done, in words: `4 documents to handbook, 2 keys, …`; empty if nothing was.
    pub fn in_words(&self, documents_to: Option<&str>) -> String {
        let Forgotten { settings, hidden_tools, code_tools, consents, asked_calls, grants } = self.forgotten;
        let to_collection = documents_to.map(|id| format!(" to {id}")).unwrap_or_default();
        // Each with its noun, and what stands behind it.
        let counts = [
            (self.moved, "document", to_collection.as_str()),
            (self.documents, "document", " deleted"),
            (self.records, "record", " of calls"),
            (self.mentions, "mention", ""),
            (self.keys, "key", ""),
            (self.sessions, "session", ""),
            (self.clients, "client", ""),
            (self.accounts, "account", ""),
            (self.not_revoked.len() as u64, "account", " not revoked"),
            (self.secrets, "secret", ""),
            (self.cached, "cached value", ""),
            (settings, "setting", ""),
            (hidden_tools, "hidden tool", ""),
            (code_tools, "tool", " for code"),
            (consents, "consent", ""),
            (asked_calls, "asked call", ""),
            (grants, "grant", " of toolkits"),
            (self.toolkits.len() as u64, "toolkit", " passed on"),
            (self.collections.len() as u64, "membership", ""),
            (self.passed_collections.len() as u64, "collection", " passed on"),
        ];
        let words = counts.iter().filter(|(count, ..)| *count > 0).map(|(count, noun, behind)| {
            let ending = if *count == 1 { "" } else { "s" };
            format!("{count} {noun}{ending}{behind}")
        });
        words.collect::<Vec<_>>().join(", ")
    }
}
