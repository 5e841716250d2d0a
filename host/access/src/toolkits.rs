//! Toolkits that a user can see, and calls of their tools.

use std::sync::Arc;

use jiff::Timestamp;
use kitbag_manifest::{ToolDefinition, ToolkitDefinition};
use kitbag_toolkits::audience::Part;
use kitbag_toolkits::dispatch::{Answers, Call, Callee, ProgressListener, Reply};
use kitbag_toolkits::{Live, ToolkitError, listed_name};
use serde_json::{Map, Value};

use super::error::{AccessError, CallError};
use super::listed::ListedToolkits;
use super::stores::Stores;
use super::user::User;

/// A live toolkit that the user may call, with the tools that the user may call.
#[derive(Clone)]
pub struct VisibleToolkit {
    pub(super) user: User,
    live: Arc<Live>,
    pub(super) definition: Arc<ToolkitDefinition>,
}

impl User {
    /// Returns the toolkits that the user may list: all for operators, otherwise those that they may call.
    pub fn listed(&self) -> ListedToolkits<'_> {
        ListedToolkits::of(self)
    }

    /// Returns the toolkits that the user may call, sorted by id.
    pub fn toolkits(&self) -> Vec<VisibleToolkit> {
        let registry = self.stores().toolkits.registry.load();
        registry.all().filter_map(|live| self.visible(live)).collect()
    }

    /// Returns a toolkit that the user may call.
    pub fn toolkit(&self, id: &str) -> Result<VisibleToolkit, AccessError> {
        let registry = self.stores().toolkits.registry.load();
        registry
            .get(id)
            .and_then(|live| self.visible(live))
            .ok_or_else(|| ToolkitError::Unknown(id.to_owned()).into())
    }

    /// Returns the declaration of the server's own tools, if the user may call them.
    pub fn own_tools(&self) -> Option<&ToolkitDefinition> {
        let own = self.stores().knowledge_tools.as_ref().map(|tools| tools.definition());
        own.filter(|own| self.is_for(&own.id))
    }

    /// Returns the listed name of a tool that the user may call.
    pub fn listed_name(&self, toolkit: &str, tool: &str) -> Result<String, AccessError> {
        self.expect_tool(toolkit, tool)?;
        let is_own = self.own_tools().is_some_and(|own| own.id == toolkit);
        Ok(if is_own { tool.to_owned() } else { listed_name(toolkit, tool) })
    }

    /// Fails unless the user may call the tool.
    pub(super) fn expect_tool(&self, toolkit: &str, tool: &str) -> Result<(), AccessError> {
        let tools = self.tools_of(toolkit)?;
        if tools.iter().any(|known| known == tool) {
            return Ok(());
        }
        Err(AccessError::NoSuchTool { toolkit: toolkit.to_owned(), tool: tool.to_owned(), tools })
    }

    /// Returns the names of a toolkit's tools, if the user may call it. The server's own tools count as a
    /// toolkit.
    pub(super) fn tools_of(&self, toolkit: &str) -> Result<Vec<String>, AccessError> {
        let names = |tools: &[ToolDefinition]| tools.iter().map(|tool| tool.name.clone()).collect();
        match self.own_tools().filter(|own| own.id == toolkit) {
            Some(own) => Ok(names(&own.tools)),
            None => Ok(names(&self.toolkit(toolkit)?.definition().tools)),
        }
    }

    /// Returns a tool that the user may call, by its listed name.
    pub fn callee(&self, listed_name: &str) -> Option<Callee> {
        let Stores { toolkits, knowledge_tools, .. } = self.stores();
        let own = knowledge_tools.as_ref().filter(|own| self.is_for(&own.definition().id));
        if let Some(tool) = own.and_then(|tools| tools.find(listed_name)) {
            return Some(Callee::Own(tool));
        }
        let tool = toolkits.registry.load().find(listed_name)?;
        let may_call = match self.part_of(&tool.toolkit) {
            Part::Whole => true,
            Part::Tools(tools) => tools.contains(&tool.definition().name),
            Part::Nothing => false,
        };
        may_call.then_some(Callee::Toolkit(tool))
    }

    /// Calls a tool that cannot ask its user. `listener` receives progress reports. Dropping the future ends
    /// the call.
    pub async fn call(
        &self,
        listed_name: &str,
        arguments: Map<String, Value>,
        listener: Option<ProgressListener>,
    ) -> Result<Reply, CallError> {
        let callee =
            self.callee(listed_name).ok_or_else(|| CallError::UnknownTool(listed_name.to_owned()))?;
        self.call_with_answers(&callee, arguments, listener, None).await
    }

    /// Calls a tool that [`callee`](Self::callee) has returned, with the answers to its questions; `None` if the
    /// user cannot be asked.
    pub async fn call_with_answers(
        &self,
        callee: &Callee,
        arguments: Map<String, Value>,
        listener: Option<ProgressListener>,
        answers: Option<Arc<Answers>>,
    ) -> Result<Reply, CallError> {
        self.call_of(callee, arguments, listener, None, answers).await
    }

    /// Calls a tool that the user may call. `run` is the id of the run of code that makes the call, if any.
    pub(super) async fn call_of(
        &self,
        callee: &Callee,
        arguments: Map<String, Value>,
        listener: Option<ProgressListener>,
        run: Option<Arc<str>>,
        answers: Option<Arc<Answers>>,
    ) -> Result<Reply, CallError> {
        let limits = self.limits_of(callee);
        // Calls of a run start later than the request that runs the code.
        let arrival = self.arrival.filter(|_| run.is_none());
        let readable = self.readable().into();
        let groups = self.groups();
        let call =
            Call { caller: &self.caller, groups, readable, arrival, tool: callee, limits, run, answers };
        Ok(self.stores().dispatch.call(call, arguments, listener).await?)
    }

    /// Returns texts of the user with the user's secrets redacted, for models.
    pub async fn redacted(&self, texts: Vec<String>) -> Result<Vec<String>, CallError> {
        Ok(self.stores().dispatch.redacted(self.id(), texts).await?)
    }

    pub(super) fn visible(&self, live: &Arc<Live>) -> Option<VisibleToolkit> {
        let definition = match self.part_of(live) {
            Part::Nothing => return None,
            Part::Whole => live.definition.clone(),
            Part::Tools(tools) => live.narrowed_to(&tools),
        };
        Some(VisibleToolkit { user: self.clone(), live: live.clone(), definition })
    }
}

impl VisibleToolkit {
    /// Returns the toolkit's declaration, reduced to the tools that the user may call.
    pub fn definition(&self) -> &ToolkitDefinition {
        &self.definition
    }

    /// Returns the same declaration. While it does not change, it is the same allocation for all users who
    /// may call the same tools.
    pub fn shared_definition(&self) -> &Arc<ToolkitDefinition> {
        &self.definition
    }

    /// Whether the user may call all tools of the toolkit.
    pub(super) fn is_whole(&self) -> bool {
        Arc::ptr_eq(&self.definition, &self.live.definition)
    }

    /// Returns the declaration of one tool.
    pub fn tool(&self, name: &str) -> Result<&ToolDefinition, CallError> {
        let tool = self.definition().tools.iter().find(|tool| tool.name == name);
        tool.ok_or_else(|| CallError::UnknownTool(listed_name(&self.definition().id, name)))
    }

    /// Returns the toolkit's owner: the operator who deployed its first version, or the last one who took it
    /// over.
    pub fn owner(&self) -> &str {
        &self.live.owner
    }

    /// Returns the hosts that were declared by the version that was live at `time`.
    pub async fn hosts_at(&self, time: Timestamp) -> Result<Vec<String>, AccessError> {
        Ok(self.user.stores().toolkits.versions.hosts_at(&self.definition().id, time).await?)
    }

    /// Returns the live version.
    pub fn live(&self) -> &Arc<Live> {
        &self.live
    }
}
