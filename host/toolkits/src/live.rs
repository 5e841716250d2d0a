//! A live toolkit.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use kitbag_manifest::ToolkitDefinition;
use serde::Serialize;

use super::agreed::Agreed;
use super::audience::Audience;
use super::code::{Code, CodeLoader, NotReady, Ready};
use super::narrowed::Narrowed;
use super::reach::Reach;
use super::store::LiveRow;
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
    /// The former owner, if the toolkit was taken over, or passed on when they left.
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
    /// Creates the live toolkit of a row.
    pub(super) fn of(row: &LiveRow, definition: Arc<ToolkitDefinition>, loader: CodeLoader) -> Self {
        let former = row.taken_from.clone().zip(row.taken_at);
        let vouch = row.vouched_by.clone().zip(row.vouched.clone());
        Self {
            reach: Reach::of(&definition, &row.owner),
            code: Arc::new(Code::new(row, definition.clone(), loader)),
            definition,
            audience: row.audience.clone(),
            narrowed: Narrowed::default(),
            owner: row.owner.clone(),
            taken_over: former.map(|(from, at)| FormerOwner::new(from, at)),
            picture: row.picture.clone(),
            vouch: vouch.map(|(by, reason)| Vouch { by, reason }),
            agreed: Agreed::of(row.activation),
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
    fn new(from: String, at: i64) -> Self {
        Self { from, at: Timestamp::from_millisecond(at).unwrap_or_default().to_string() }
    }
}
