//! A live toolkit.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use kitbag_manifest::ToolkitDefinition;
use serde::Serialize;

use super::audience::Audience;
use super::code::{Code, NotReady, Ready};
use super::consents::Agreed;
use super::narrowed::Narrowed;
use super::reach::Reach;
use super::vouch::Vouch;

/// A live version of a toolkit.
pub struct Live {
    /// The declaration, with defaults filled in.
    pub definition: Arc<ToolkitDefinition>,
    /// The users who may use the toolkit.
    pub audience: Audience,
    /// Declarations reduced to some of the tools, for users who may call only those.
    narrowed: Narrowed,
    /// The operator who deployed the first version, or took the toolkit over last.
    pub owner: String,
    /// The former owner, if the toolkit was taken over.
    pub taken_over: Option<FormerOwner>,
    /// SHA-256 of the picture, hexadecimal, if there is one.
    pub picture: Option<String>,
    /// Hosts, secrets, documents and sign-ins that the toolkit reaches.
    pub reach: Reach,
    /// The operator who vouches for the live version, if any.
    pub vouch: Option<Vouch>,
    pub(super) agreed: Agreed,
    pub(super) code: Arc<Code>,
}

/// The owner of a toolkit before another operator took it over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FormerOwner {
    /// User id of the former owner.
    pub from: String,
    /// Time of the take-over: RFC 3339, UTC.
    pub at: String,
}

impl Live {
    pub(super) fn new(
        (definition, audience): (Arc<ToolkitDefinition>, Audience),
        (owner, taken_over): (String, Option<FormerOwner>),
        (code, picture): (Code, Option<String>),
        (vouch, activation): (Option<Vouch>, i64),
    ) -> Self {
        Self {
            reach: Reach::of(&definition, &owner),
            definition,
            audience,
            narrowed: Narrowed::default(),
            owner,
            taken_over,
            picture,
            vouch,
            agreed: Agreed::of(activation),
            code: Arc::new(code),
        }
    }

    /// Reuses the code that `before` may have loaded, if it is the same code.
    pub(super) fn after(mut self, before: &Self) -> Self {
        if self.code.is_same(&before.code) {
            self.code = before.code.clone();
        }
        self
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.picture, &self.taken_over) == (&other.picture, &other.taken_over)
            && (&self.vouch, &self.audience) == (&other.vouch, &other.audience)
            && self.code.is_same(&other.code)
    }

    /// Returns the declaration with only these tools. Returns the same object for the same tools while it is
    /// in use.
    pub fn narrowed_to(&self, tools: &BTreeSet<String>) -> Arc<ToolkitDefinition> {
        self.narrowed.get(&self.definition, tools)
    }

    /// Returns the SHA-256 of the component, hexadecimal.
    pub fn digest(&self) -> &str {
        self.code.digest()
    }

    /// Whether any data that its user has given may reach the toolkit, or be attached for it.
    pub(super) fn takes_anything(&self) -> bool {
        self.reach.takes_anything() || !self.definition.config.is_empty()
    }

    /// Returns the code and schemas, loading them once at the first call. Dropping the future does not stop
    /// the load.
    pub async fn ready(&self) -> Result<&Ready, NotReady> {
        self.code.ready().await
    }
}

impl FormerOwner {
    /// Creates the value from `at` in milliseconds since 1970.
    pub(super) fn new(from: String, at: i64) -> Self {
        Self { from, at: Timestamp::from_millisecond(at).unwrap_or_default().to_string() }
    }
}
