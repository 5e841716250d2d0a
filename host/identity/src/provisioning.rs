//! Provisioning: users and groups as the identity provider maintains them here, by SCIM (RFC 7643, RFC 7644;
//! docs/decisions/0102). The protocol is in `web/scim`.
//!
//! ```text
//! kbs_<32 random bytes in base64url>      the database stores the SHA-256 of this text
//! ```
//!
//! Invariants:
//! - whoever has a token of a provider gets a [`Provisioner`], which reads and changes provisioned users and groups, and
//!   nothing else: it is no [`Caller`](crate::Caller), and acts for no user;
//! - a user whom the provider has deactivated or removed is refused on every process, whatever is presented, until the
//!   provider activates the user again; both are committed with the row that says so;
//! - each change is recorded in the transaction that makes it.

mod store;
#[cfg(test)]
mod tests;
mod tokens;

use std::fmt;

use aws_lc_rs::rand;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use kitbag_base::sha256::Sha256;
use kitbag_base::tasks::{Interrupted, to_its_end};
use kitbag_database::audit::Actor;
use kitbag_database::{Database, DatabaseError, ERASED_USER};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use thiserror::Error;

use self::store::Store;
pub(super) use self::store::groups_of;
use self::tokens::TokenStore;
use crate::claims::MAX_SUBJECT_BYTES;
use crate::groups::MAX_GROUP_BYTES;
use crate::users::Users;

/// Prefix of the providers' tokens, recognised by people and secret scanners.
const PREFIX: &str = "kbs_";
/// Number of random bytes in a token.
const SECRET_BYTES: usize = 32;
/// Maximum number of tokens: one for each provider, and another while it is replaced.
const MAX_TOKENS: i64 = 20;
/// Maximum length of a token's name, in characters.
const MAX_NAME_CHARS: usize = 100;
/// Maximum length of a user name or external id, in bytes.
const MAX_NAME_BYTES: usize = 512;
/// Maximum size of the other attributes of a user, as JSON, in bytes.
const MAX_ATTRIBUTES_BYTES: usize = 16 << 10;

/// Limits of what is provisioned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvisioningLimits {
    /// Maximum number of users.
    pub users: u32,
    /// Maximum number of groups.
    pub groups: u32,
    /// Maximum number of members of one group.
    pub members: u32,
}

impl Default for ProvisioningLimits {
    fn default() -> Self {
        Self { users: 100_000, groups: 10_000, members: 10_000 }
    }
}

/// Attribute with the id that a user's tokens carry (`sub`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserIdAttribute {
    /// `externalId`.
    ExternalId,
    /// `userName`.
    UserName,
    /// The primary address of `emails`, or the first one.
    Email,
}

impl UserIdAttribute {
    /// The name in messages.
    fn name(self) -> &'static str {
        match self {
            Self::ExternalId => "externalId",
            Self::UserName => "userName",
            Self::Email => "emails",
        }
    }
}

/// Provisioned users and groups, and the tokens of the providers. Clones share their state.
#[derive(Clone, Debug)]
pub struct Provisioning {
    store: Store,
    tokens: TokenStore,
    /// `None`: this server is not set up for it, and accepts no token.
    user_id: Option<UserIdAttribute>,
}

/// A token of a provider, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvisioningToken {
    /// First 8 bytes of the token's SHA-256, in hexadecimal.
    pub id: String,
    /// Name chosen by the operator.
    pub name: String,
    /// Id of the operator who made it.
    pub created_by: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last request, to the minute.
    pub used_at: Option<Timestamp>,
}

/// A provider with a valid token. Changes are its own, in the audit log with the id of the token as the key.
#[derive(Clone, Debug)]
pub struct Provisioner {
    store: Store,
    user_id: UserIdAttribute,
    token: String,
    by: Actor,
}

/// Attributes of a user, as the provider sets them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserContent {
    /// `userName`.
    pub user_name: String,
    /// `externalId`.
    pub external_id: Option<String>,
    /// `active`.
    pub is_active: bool,
    /// Other attributes, in the form of SCIM.
    pub attributes: Map<String, Value>,
}

/// A provisioned user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvisionedUser {
    /// Id in SCIM.
    pub id: String,
    /// Attributes.
    pub content: UserContent,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub changed_at: Timestamp,
}

/// A provisioned group, without its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvisionedGroup {
    /// Id in SCIM.
    pub id: String,
    /// Name, which grants use: `displayName`.
    pub name: String,
    /// `externalId`.
    pub external_id: Option<String>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub changed_at: Timestamp,
}

/// Changes of a group, made in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupChange {
    /// New name.
    pub name: Option<String>,
    /// New external id, or none.
    pub external_id: Option<Option<String>>,
    /// Changes of the members, in this order.
    pub members: Vec<MemberChange>,
}

/// A change of a group's members, by their ids in SCIM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberChange {
    /// Adds these.
    Add(Vec<String>),
    /// Removes these.
    Remove(Vec<String>),
    /// Removes all others, and adds these.
    Replace(Vec<String>),
}

/// Selection of users or groups by an attribute, before a filter is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All.
    All,
    /// The one with this id in SCIM.
    Id(String),
    /// Users with this `userName`, in any case; groups with this `displayName`.
    Name(String),
    /// Those with this `externalId`.
    ExternalId(String),
    /// Groups with this member.
    Member(String),
}

/// Part of a list, by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page<'a> {
    /// Only ids after this one.
    pub after: &'a str,
    /// Number of those that are skipped.
    pub offset: u32,
    /// Maximum number.
    pub limit: u32,
}

impl Page<'_> {
    /// The first one.
    const FIRST: Self = Self { after: "", offset: 0, limit: 1 };
}

/// Error of provisioning.
#[derive(Debug, Error)]
pub enum ProvisioningError {
    /// There is no such user or group.
    #[error("there is no {0}")]
    Unknown(&'static str),
    /// Another one has this value of an attribute that is unique.
    #[error("another one has this {0}")]
    Conflict(&'static str),
    /// A value is not accepted; the text is the reason.
    #[error("{0}")]
    Invalid(String),
    /// The maximum number is reached.
    #[error("there are as many {0} as there may be")]
    Full(&'static str),
    /// An operator has a token of this name already.
    #[error("there is a token called {0:?} already; revoke it, or choose another name")]
    NameTaken(String),
    /// The database failed; the text is for the log.
    #[error("storage failed: {0}")]
    Storage(#[from] DatabaseError),
    /// The change was interrupted.
    #[error("the change was interrupted; try again")]
    Interrupted(#[from] Interrupted),
}

impl Provisioning {
    /// Opens what is provisioned, and makes the state of users agree with it: deactivated users are refused as long as
    /// this server is set up for provisioning (`user_id`), and no longer.
    pub async fn open(
        database: Database,
        users: Users,
        user_id: Option<UserIdAttribute>,
        limits: ProvisioningLimits,
    ) -> kitbag_database::Result<Self> {
        let tokens = TokenStore::new(database.clone());
        let store = Store::new(database, users, limits);
        store.align(user_id.is_some()).await?;
        Ok(Self { store, tokens, user_id })
    }

    /// Whether this server is set up for provisioning.
    pub fn is_on(&self) -> bool {
        self.user_id.is_some()
    }

    /// Returns the provider with this token, if it is valid.
    pub async fn provisioner(&self, token: &str) -> kitbag_database::Result<Option<Provisioner>> {
        let Some(user_id) = self.user_id.filter(|_| token.starts_with(PREFIX)) else { return Ok(None) };
        let Some(row) = self.tokens.find(&digest(token)).await? else { return Ok(None) };
        let by = Actor::with("", None, Some(&row.id));
        Ok(Some(Provisioner { store: self.store.clone(), user_id, token: row.id, by }))
    }

    /// Returns the tokens, by name.
    pub async fn tokens(&self) -> kitbag_database::Result<Vec<ProvisioningToken>> {
        self.tokens.all().await
    }

    /// Creates a token. This is the only time that its secret is returned.
    pub async fn create_token(
        &self,
        name: &str,
        by: &Actor,
    ) -> Result<(SecretString, ProvisioningToken), ProvisioningError> {
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            let why = "give the token a name that says which provider has it";
            return Err(ProvisioningError::Invalid(why.to_owned()));
        }
        if name.chars().count() > MAX_NAME_CHARS {
            return Err(ProvisioningError::Invalid("the name has more than 100 characters".to_owned()));
        }
        let mut secret = [0; SECRET_BYTES];
        rand::fill(&mut secret).expect("the system has random numbers");
        let token = SecretString::from(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(secret)));
        let made = self.tokens.insert(digest(token.expose_secret()), name, by).await?;
        Ok((token, made))
    }

    /// Revokes the token with this id. Returns whether there was one.
    pub async fn revoke_token(&self, id: &str, by: &Actor) -> kitbag_database::Result<bool> {
        self.tokens.delete(id, by).await
    }

    /// Returns the provisioned groups with the numbers of their active members, by name.
    pub async fn group_sizes(&self) -> kitbag_database::Result<Vec<(String, i64)>> {
        if self.is_on() { self.store.group_sizes().await } else { Ok(Vec::new()) }
    }
}

impl Provisioner {
    /// Id of the token.
    pub fn token_id(&self) -> &str {
        &self.token
    }

    /// Returns the number of selected users.
    pub async fn count_users(&self, of: &Selection) -> Result<u64, ProvisioningError> {
        Ok(self.store.count_users(of).await?)
    }

    /// Returns selected users by id.
    pub async fn users(
        &self,
        of: &Selection,
        page: Page<'_>,
    ) -> Result<Vec<ProvisionedUser>, ProvisioningError> {
        Ok(self.store.users(of, page).await?)
    }

    /// Returns the user with this id.
    pub async fn user(&self, id: &str) -> Result<ProvisionedUser, ProvisioningError> {
        let found = self.store.users(&Selection::Id(id.to_owned()), Page::FIRST).await?;
        found.into_iter().next().ok_or(ProvisioningError::Unknown("user"))
    }

    /// Adds a user.
    pub async fn create_user(&self, content: UserContent) -> Result<ProvisionedUser, ProvisioningError> {
        let user_id = self.checked(&content)?;
        let this = self.clone();
        to_its_end(async move { this.store.create_user(content, user_id, &this.by).await }).await?
    }

    /// Changes the attributes of a user to those that `change` returns for what the user is at that moment: no other
    /// change comes between.
    pub async fn change_user<E>(
        &self,
        id: &str,
        change: impl FnOnce(&ProvisionedUser) -> Result<UserContent, E> + Send + 'static,
    ) -> Result<ProvisionedUser, E>
    where
        E: From<ProvisioningError> + Send + 'static,
    {
        let this = self.clone();
        let id = id.to_owned();
        let changed = to_its_end(async move { this.store.change_user(&id, &this, change).await }).await;
        changed.map_err(ProvisioningError::from)?
    }

    /// Removes a user, whose access ends until the provider adds the user again. What the user has stays.
    pub async fn delete_user(&self, id: &str) -> Result<(), ProvisioningError> {
        let (this, id) = (self.clone(), id.to_owned());
        to_its_end(async move { this.store.delete_user(&id, &this.by).await }).await?
    }

    /// Returns the number of selected groups.
    pub async fn count_groups(&self, of: &Selection) -> Result<u64, ProvisioningError> {
        Ok(self.store.count_groups(of).await?)
    }

    /// Returns selected groups by id.
    pub async fn groups(
        &self,
        of: &Selection,
        page: Page<'_>,
    ) -> Result<Vec<ProvisionedGroup>, ProvisioningError> {
        Ok(self.store.groups(of, page).await?)
    }

    /// Returns the group with this id.
    pub async fn group(&self, id: &str) -> Result<ProvisionedGroup, ProvisioningError> {
        let found = self.store.groups(&Selection::Id(id.to_owned()), Page::FIRST).await?;
        found.into_iter().next().ok_or(ProvisioningError::Unknown("group"))
    }

    /// Returns the ids in SCIM of the members of a group.
    pub async fn members(&self, group: &str) -> Result<Vec<String>, ProvisioningError> {
        Ok(self.store.members(group).await?)
    }

    /// Adds a group.
    pub async fn create_group(&self, change: GroupChange) -> Result<ProvisionedGroup, ProvisioningError> {
        change.check()?;
        let this = self.clone();
        to_its_end(async move { this.store.create_group(change, &this.by).await }).await?
    }

    /// Changes a group.
    pub async fn change_group(
        &self,
        id: &str,
        change: GroupChange,
    ) -> Result<ProvisionedGroup, ProvisioningError> {
        change.check()?;
        let (this, id) = (self.clone(), id.to_owned());
        to_its_end(async move { this.store.change_group(&id, change, &this.by).await }).await?
    }

    /// Removes a group.
    pub async fn delete_group(&self, id: &str) -> Result<(), ProvisioningError> {
        let (this, id) = (self.clone(), id.to_owned());
        to_its_end(async move { this.store.delete_group(&id, &this.by).await }).await?
    }

    /// Checks the attributes of a user, and returns the id that the user's tokens carry.
    fn checked(&self, content: &UserContent) -> Result<String, ProvisioningError> {
        expect_text("userName", Some(&content.user_name), MAX_NAME_BYTES)?;
        if let Some(id) = &content.external_id {
            expect_text("externalId", Some(id), MAX_NAME_BYTES)?;
        }
        let attributes = serde_json::to_string(&content.attributes).unwrap_or_default();
        if attributes.len() > MAX_ATTRIBUTES_BYTES || attributes.contains("\\u0000") {
            let why = format!("a user has at most {MAX_ATTRIBUTES_BYTES} bytes of attributes, and no NUL");
            return Err(ProvisioningError::Invalid(why));
        }
        let id = match self.user_id {
            UserIdAttribute::ExternalId => content.external_id.as_deref(),
            UserIdAttribute::UserName => Some(content.user_name.as_str()),
            UserIdAttribute::Email => content.email(),
        };
        let id = expect_text(self.user_id.name(), id, MAX_SUBJECT_BYTES)?;
        if id == ERASED_USER {
            return Err(ProvisioningError::Invalid(format!("{id} is reserved")));
        }
        Ok(id.to_owned())
    }
}

impl UserContent {
    /// The primary address, or the first one.
    fn email(&self) -> Option<&str> {
        let emails = self.attributes.get("emails")?.as_array()?;
        let is_primary = |email: &&Value| email.get("primary").and_then(Value::as_bool) == Some(true);
        let email = emails.iter().find(is_primary).or_else(|| emails.first())?;
        email.get("value")?.as_str()
    }
}

impl GroupChange {
    fn check(&self) -> Result<(), ProvisioningError> {
        if let Some(name) = &self.name {
            expect_text("displayName", Some(name), MAX_GROUP_BYTES)?;
        }
        if let Some(Some(id)) = &self.external_id {
            expect_text("externalId", Some(id), MAX_NAME_BYTES)?;
        }
        Ok(())
    }
}

/// Fails if a text is absent, empty, too long, or has a NUL, which PostgreSQL does not store.
fn expect_text<'t>(
    attribute: &str,
    text: Option<&'t str>,
    max_bytes: usize,
) -> Result<&'t str, ProvisioningError> {
    let is_valid = |text: &&str| !text.is_empty() && text.len() <= max_bytes && !text.contains('\0');
    text.filter(is_valid).ok_or_else(|| {
        let why = format!("{attribute} is needed, with at most {max_bytes} bytes and no NUL");
        ProvisioningError::Invalid(why)
    })
}

fn digest(token: &str) -> Vec<u8> {
    Sha256::digest(token).to_vec()
}

/// Creates an id in SCIM.
fn new_id() -> String {
    let mut id = [0; 16];
    rand::fill(&mut id).expect("the system has random numbers");
    hex::encode(id)
}

fn now() -> i64 {
    Timestamp::now().as_millisecond()
}

fn time(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default()
}

impl fmt::Display for UserIdAttribute {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}
