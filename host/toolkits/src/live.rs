//! One live toolkit.

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
    /// Its declaration, with defaults filled in.
    pub definition: Arc<ToolkitDefinition>,
    /// For whom it is.
    pub audience: Audience,
    /// The declaration with some of the tools, for users who may call only these.
    narrowed: Narrowed,
    /// Who deployed its first version, or took it over last.
    pub owner: String,
    /// The former owner, if the toolkit was taken over.
    pub taken_over: Option<FormerOwner>,
    /// SHA-256 of its picture, hexadecimal, if it has one.
    pub picture: Option<String>,
    /// What it reaches.
    pub reach: Reach,
    /// The operator who vouches for it, if one does.
    pub vouch: Option<Vouch>,
    pub(super) agreed: Agreed,
    pub(super) code: Arc<Code>,
}

/// The owner of a toolkit before another operator took it over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FormerOwner {
    /// The former owner.
    pub from: String,
    /// When it was taken over: RFC 3339, UTC.
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

    /// With the code that `before` may have loaded, if it is the same.
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

    /// The declaration with these tools alone. The same object for the same tools, as long as it is in use.
    pub fn narrowed_to(&self, tools: &BTreeSet<String>) -> Arc<ToolkitDefinition> {
        self.narrowed.get(&self.definition, tools)
    }

    /// Whether anything that its user has given may come to it, or be attached for it.
    pub(super) fn takes_anything(&self) -> bool {
        self.reach.takes_anything() || !self.definition.config.is_empty()
    }

    /// Returns what a call needs, loading it once at the first call. Dropping the future does not stop the
    /// load.
    pub async fn ready(&self) -> Result<&Ready, NotReady> {
        self.code.ready().await
    }
}

impl FormerOwner {
    /// `at` in milliseconds since 1970.
    pub(super) fn new(from: String, at: i64) -> Self {
        Self { from, at: Timestamp::from_millisecond(at).unwrap_or_default().to_string() }
    }
}
