//! Audiences of toolkits, and limits of calls.

use kitbag_database::audit::Act;
use kitbag_identity::Subject;
use kitbag_manifest::ToolDefinition;
use kitbag_toolkits::audience::{Audience, Grant, Limited};
use kitbag_toolkits::dispatch::Callee;
use kitbag_toolkits::{LimitUsage, Offer, Tool, ToolkitError};

use super::error::AccessError;
use super::operator::Operator;
use super::toolkits::VisibleToolkit;
use super::user::User;

impl User {
    /// Returns the limits that apply to calls of the callee by this user.
    pub(super) fn limits_of(&self, callee: &Callee) -> Vec<Vec<Limited>> {
        match callee {
            Callee::Toolkit(Tool { toolkit, .. }) | Callee::Offer(Offer { toolkit, .. }) => {
                toolkit.audience.limits(self.id(), &self.groups(), &callee.record_name())
            }
            Callee::Own(_) | Callee::Code(_) => Vec::new(),
        }
    }
}

impl VisibleToolkit {
    /// Returns the limits of the user's calls of the toolkit's tools, with their current usage.
    pub async fn limits(&self) -> Result<Vec<LimitUsage>, AccessError> {
        let user = &self.user;
        let audience = &self.live().audience;
        let groups = user.groups();
        let of = |tool: &ToolDefinition| audience.limits(user.id(), &groups, &tool.name);
        let mut limits: Vec<Limited> = Vec::new();
        for limited in self.definition().tools.iter().flat_map(of).flatten() {
            if !limits.contains(&limited) {
                limits.push(limited);
            }
        }
        let usage = user.stores().toolkits.limited_calls.usage(&self.definition().id, limits).await;
        Ok(usage.map_err(ToolkitError::from)?)
    }
}

/// The audiences of all toolkits: the grants to users and groups.
#[derive(Clone, Copy)]
pub struct ToolkitAudiences<'a> {
    operator: &'a Operator,
}

impl Operator {
    /// Returns the audiences of all toolkits.
    pub fn audiences(&self) -> ToolkitAudiences<'_> {
        ToolkitAudiences { operator: self }
    }
}

impl ToolkitAudiences<'_> {
    /// Returns the audience of a toolkit.
    pub fn of(&self, id: &str) -> Result<Audience, AccessError> {
        let registry = self.operator.0.stores().toolkits.registry.load();
        let live = registry.get(id).ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        Ok(live.audience.clone())
    }

    /// Grants tools of a toolkit; replaces the limits of existing grants. Fails for a tool that the toolkit
    /// does not have.
    pub async fn share(&self, id: &str, grants: Vec<Grant>) -> Result<(), AccessError> {
        let registry = self.operator.0.stores().toolkits.registry.load();
        let live = registry.get(id).ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        let tools = || live.definition.tools.iter().map(|tool| tool.name.clone());
        for tool in grants.iter().filter_map(|grant| grant.tool.as_ref()) {
            if !tools().any(|known| known == *tool) {
                let toolkit = id.to_owned();
                let tool = tool.clone();
                return Err(AccessError::NoSuchTool { toolkit, tool, tools: tools().collect() });
            }
        }
        let shared =
            self.operator.0.stores().toolkits.audiences.share(id, grants, &self.operator.0.actor()).await;
        self.operator.noting_refusal(Act::ToolkitShared, shared).await
    }

    /// Revokes grants of a subject: the grant for one tool, or all its grants if no tool is named.
    pub async fn unshare(&self, id: &str, subject: Subject, tool: Option<String>) -> Result<(), AccessError> {
        let unshared = self
            .operator
            .0
            .stores()
            .toolkits
            .audiences
            .unshare(id, subject, tool, &self.operator.0.actor())
            .await;
        self.operator.noting_refusal(Act::ToolkitUnshared, unshared).await
    }
}
