//! For whom a toolkit is, and the limits of calls.

use kitbag_database::audit::Act;
use kitbag_manifest::ToolDefinition;
use kitbag_toolkits::audience::{Audience, Grant, Limited, Subject};
use kitbag_toolkits::dispatch::Callee;
use kitbag_toolkits::{LimitUsage, Offer, Tool, ToolkitError};

use super::{AccessError, Operator, User, VisibleToolkit};

impl User {
    /// What limits such calls by this user.
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
    /// The limits of the user's calls of its tools, with what is used of them.
    pub async fn limits(&self) -> Result<Vec<LimitUsage>, AccessError> {
        let (user, audience) = (&self.user, &self.live().audience);
        let groups = user.groups();
        let of = |tool: &ToolDefinition| audience.limits(user.id(), &groups, &tool.name);
        let mut limits: Vec<Limited> = Vec::new();
        for limited in self.definition().tools.iter().flat_map(of).flatten() {
            if !limits.contains(&limited) {
                limits.push(limited);
            }
        }
        let usage = user.stores().toolkits.limited_calls().usage(&self.definition().id, limits).await;
        Ok(usage.map_err(ToolkitError::from)?)
    }
}

impl Operator {
    /// For whom a toolkit is.
    pub fn audience(&self, id: &str) -> Result<Audience, AccessError> {
        let registry = self.0.stores().toolkits.registry();
        let live = registry.get(id).ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        Ok(live.audience.clone())
    }

    /// Grants tools of a toolkit; replaces the limits of grants that are there. Fails for a tool that the toolkit does not
    /// have.
    pub async fn share(&self, id: &str, grants: Vec<Grant>) -> Result<(), AccessError> {
        let registry = self.0.stores().toolkits.registry();
        let live = registry.get(id).ok_or_else(|| ToolkitError::Unknown(id.to_owned()))?;
        let tools = || live.definition.tools.iter().map(|tool| tool.name.clone());
        for tool in grants.iter().filter_map(|grant| grant.tool.as_ref()) {
            if !tools().any(|known| known == *tool) {
                let (toolkit, tool) = (id.to_owned(), tool.clone());
                return Err(AccessError::NoSuchTool { toolkit, tool, tools: tools().collect() });
            }
        }
        let shared = self.0.stores().toolkits.share(id, grants, &self.0.actor()).await;
        self.noting_refusal(Act::ToolkitShared, shared).await
    }

    /// Takes grants back: that to a subject for one tool, or without a tool all to that subject.
    pub async fn unshare(&self, id: &str, subject: Subject, tool: Option<String>) -> Result<(), AccessError> {
        let unshared = self.0.stores().toolkits.unshare(id, subject, tool, &self.0.actor()).await;
        self.noting_refusal(Act::ToolkitUnshared, unshared).await
    }
}
