//! A toolkit's declaration as plain data, with the fields of the toolkit specification.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::auth::{Auth, Auths};
use crate::{PromptDefinition, ResourceDefinition, ToolAnnotations};

/// The scope that grants `ctx.svc.search` and `ctx.svc.getDocument`.
pub const SCOPE_SEARCH: &str = "svc:search";
/// The scope that lets [`SCOPE_SEARCH`] also find and read documents of the collections that the user may read.
pub const SCOPE_COLLECTIONS: &str = "svc:collections";
/// The scope that grants `ctx.svc.ingest`.
pub const SCOPE_INGEST: &str = "svc:ingest";
/// The scope that grants `ctx.ask`.
pub const SCOPE_ASK: &str = "svc:ask";
/// The scope that grants `ctx.cache`.
pub const SCOPE_CACHE: &str = "svc:cache";

/// A toolkit's whole declaration; as JSON, it is `manifest.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolkitDefinition {
    /// Version of Kitbag that the declaration was written for, such as `0.1.0`. A server that does not know a field says
    /// with it which version does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kitbag: Option<String>,
    /// Stable identifier, `^[a-z0-9-]+$`.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Description of one line.
    pub description: String,
    /// A single emoji or an HTTPS URL.
    pub icon: String,
    /// Semantic version.
    pub version: String,
    /// Attribution in the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// At least one tool.
    pub tools: Vec<ToolDefinition>,
    /// Prompts, which users put into conversations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<PromptDefinition>,
    /// Resources, which clients read by their URIs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceDefinition>,
    /// Names of readable credentials.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Reachable hosts, `host` or `host:port`.
    #[serde(default)]
    pub egress: Vec<String>,
    /// Capability scopes.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The user's settings, by key.
    #[serde(default)]
    pub config: BTreeMap<String, ConfigField>,
    /// Which users see the toolkit.
    #[serde(default)]
    pub visibility: Visibility,
    /// How the host signs in for the toolkit: one object, or a list of at most eight.
    #[serde(default, skip_serializing_if = "Auths::is_empty")]
    pub auth: Auths,
}

impl ToolkitDefinition {
    /// Whether the declaration lists `scope`.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.iter().any(|declared| declared == scope)
    }

    /// Returns the names of all secrets that users can set: first those that the toolkit can read, then those
    /// that only the host uses.
    pub fn credentials(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.secrets.iter().map(String::as_str).collect();
        for (_, name) in self.auth.iter().flat_map(Auth::secrets) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Whether the toolkit has completion handlers: an argument or a variable sets `completes`.
    pub fn completes(&self) -> bool {
        self.prompts.iter().flat_map(|prompt| &prompt.arguments).any(|it| it.completes)
            || self.resources.iter().flat_map(|resource| &resource.variables).any(|it| it.completes)
    }

    /// Whether the toolkit itself can read the secret.
    pub fn reads(&self, secret: &str) -> bool {
        self.secrets.iter().any(|name| name == secret)
    }

    /// Returns the declaration with every default made explicit, as `manifest.json` shows it.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        let may_ingest = self.has_scope(SCOPE_INGEST);
        for tool in &mut self.tools {
            tool.annotations = tool.annotations.resolve(tool.mutating, may_ingest);
        }
        self
    }
}

/// Which users see a deployed toolkit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Only its owner.
    #[default]
    Private,
    /// Every signed-in user.
    Shared,
}

/// One tool of a toolkit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolDefinition {
    /// Unique within the toolkit.
    pub name: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Value,
    /// JSON Schema of the structured result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints set by the author, or all of them once resolved.
    #[serde(default)]
    pub annotations: ToolAnnotations,
    /// The tool changes state.
    #[serde(default)]
    pub mutating: bool,
    /// Listed ahead of the toolkit's other tools.
    #[serde(default)]
    pub always_on: bool,
}

/// One setting that a user fills in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConfigField {
    /// Type of its values.
    #[serde(rename = "type")]
    pub kind: ConfigKind,
    /// Label beside the field.
    pub label: String,
    /// Help text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Value that applies when the user has not set one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The user must fill it in.
    #[serde(default)]
    pub required: bool,
    /// The choices of a `select`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// The type of a setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ConfigKind {
    /// Free text.
    #[default]
    String,
    /// Any JSON number.
    Number,
    /// On or off.
    Boolean,
    /// One of `options`.
    Select,
}
