//! GraphQL types of collections.

use std::sync::Arc;

use async_graphql::{Context, Enum, InputObject, Object, SimpleObject};
use kitbag_access::values::collections::{self, Membership};
use kitbag_access::values::identity::Subject;

use super::RequestContext;
use super::documents::{DocumentCounts, Usage};
use super::schema::{LIST_COST, READ_COST};
use crate::error::WebError;

pub(super) struct Collection {
    pub(super) collection: Arc<collections::Collection>,
    pub(super) role: collections::Role,
}

/// Documents that a team keeps.
#[Object]
impl Collection {
    /// Chosen once.
    async fn id(&self) -> &str {
        &self.collection.id
    }

    async fn name(&self) -> &str {
        &self.collection.name
    }

    /// What is in it.
    async fn description(&self) -> &str {
        &self.collection.description
    }

    /// What you may do.
    async fn role(&self) -> Role {
        self.role.into()
    }

    /// Who may read it, and who keeps it.
    #[graphql(complexity = "20 * child_complexity")]
    async fn members(&self) -> Vec<Member> {
        self.collection.members.iter().map(Into::into).collect()
    }

    /// How many documents it has.
    #[graphql(complexity = "LIST_COST + child_complexity")]
    async fn documents(&self, context: &Context<'_>) -> Result<DocumentCounts, WebError> {
        let request = RequestContext::of(context);
        let _turn = request.turn().await;
        Ok(request.user.documents().of(Some(&self.collection.id))?.counts().await?.into())
    }

    /// What its documents take, and may take.
    #[graphql(complexity = "READ_COST + child_complexity")]
    async fn usage(&self, context: &Context<'_>) -> Result<Usage, WebError> {
        let request = RequestContext::of(context);
        let _turn = request.turn().await;
        let (usage, quota) = request.user.documents().of(Some(&self.collection.id))?.usage().await?;
        Ok(Usage::new(usage, quota))
    }
}

/// What a member may do with a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enum)]
pub(super) enum Role {
    /// Find, read and download documents.
    Reader,
    /// Also add, change and delete them, and share the collection.
    Curator,
}

impl From<collections::Role> for Role {
    fn from(role: collections::Role) -> Self {
        match role {
            collections::Role::Reader => Self::Reader,
            collections::Role::Curator => Self::Curator,
        }
    }
}

impl From<Role> for collections::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Reader => Self::Reader,
            Role::Curator => Self::Curator,
        }
    }
}

/// Members of a collection: a user, the members of a group, or everyone who signs in.
#[derive(SimpleObject)]
struct Member {
    user: Option<String>,
    group: Option<String>,
    everyone: bool,
    role: Role,
}

impl From<&Membership> for Member {
    fn from(Membership { subject, role }: &Membership) -> Self {
        let (user, group, everyone) = subject.clone().into_members();
        Self { user, group, everyone, role: (*role).into() }
    }
}

/// A user, the members of a group, or everyone who signs in: one of these members.
#[derive(InputObject)]
pub(super) struct SubjectInput {
    user: Option<String>,
    group: Option<String>,
    #[graphql(default)]
    everyone: bool,
}

impl TryFrom<SubjectInput> for Subject {
    type Error = WebError;

    fn try_from(SubjectInput { user, group, everyone }: SubjectInput) -> Result<Self, WebError> {
        Self::named(user, group, everyone).map_err(|invalid| WebError::invalid("with", invalid.to_string()))
    }
}

/// A membership of a collection.
#[derive(InputObject)]
pub(super) struct MemberInput {
    with: SubjectInput,
    role: Role,
}

impl TryFrom<MemberInput> for Membership {
    type Error = WebError;

    fn try_from(MemberInput { with, role }: MemberInput) -> Result<Self, WebError> {
        Ok(Self { subject: with.try_into()?, role: role.into() })
    }
}
