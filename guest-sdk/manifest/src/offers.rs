//! Declarations of prompts and resources.

use serde::{Deserialize, Serialize};

#[cfg(feature = "rules")]
mod uri;

#[cfg(feature = "rules")]
pub(crate) use uri::UriTemplate;
#[cfg(feature = "rules")]
pub use uri::{
    MAX_URI_BYTES, ResourcePath, complete_links, complete_message_links, is_template, resource_uri, split_uri,
};

/// One prompt of a toolkit: messages that a user puts into a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptDefinition {
    /// Unique among the toolkit's prompts.
    pub name: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    pub description: String,
    /// Arguments, all of which are texts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<PromptArgument>,
}

/// One argument of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptArgument {
    /// Unique within the prompt.
    pub name: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The user must fill it in.
    #[serde(default)]
    pub required: bool,
    /// Values that are proposed while the user types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The toolkit proposes values, by `completion.complete`.
    #[serde(default)]
    pub completes: bool,
}

/// One resource of a toolkit, or many of a kind: documents that a client reads by their URIs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourceDefinition {
    /// Unique among the toolkit's resources.
    pub name: String,
    /// Display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Description for the user and the model.
    pub description: String,
    /// Relative to `kitbag://{toolkitId}/`: `summary`, or with variables (RFC 6570, level 1) `issues/{number}`.
    pub uri: String,
    /// Media type, such as `text/markdown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// How variables of `uri` are completed; those that are not are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<UriVariable>,
}

/// One variable of a resource's URI, and what is proposed for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "rules", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UriVariable {
    /// Its name in `uri`.
    pub name: String,
    /// Values that are proposed while the user types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The toolkit proposes values, by `completion.complete`.
    #[serde(default)]
    pub completes: bool,
}

/// Source of completion values for an argument or a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proposals<'a> {
    /// No completion.
    Nothing,
    /// Fixed values, filtered by the typed prefix.
    Values(&'a [String]),
    /// A completion handler of the toolkit.
    Handler,
}

impl<'a> Proposals<'a> {
    fn of(values: &'a [String], completes: bool) -> Self {
        match (completes, values) {
            (true, _) => Self::Handler,
            (false, []) => Self::Nothing,
            (false, values) => Self::Values(values),
        }
    }
}

impl PromptDefinition {
    /// Returns the source of completion values for an argument; `Nothing` for an unknown argument.
    pub fn proposals(&self, argument: &str) -> Proposals<'_> {
        let argument = self.arguments.iter().find(|it| it.name == argument);
        argument.map_or(Proposals::Nothing, |it| Proposals::of(&it.values, it.completes))
    }
}

impl ResourceDefinition {
    /// Returns the source of completion values for a variable; `Nothing` for an unknown variable.
    pub fn proposals(&self, variable: &str) -> Proposals<'_> {
        let variable = self.variables.iter().find(|it| it.name == variable);
        variable.map_or(Proposals::Nothing, |it| Proposals::of(&it.values, it.completes))
    }
}

#[cfg(feature = "rules")]
impl PromptDefinition {
    /// Returns the JSON Schema of the prompt's arguments: strings of at most 100,000 characters.
    pub fn input_schema(&self) -> serde_json::Value {
        let text = serde_json::json!({ "type": "string", "maxLength": MAX_ARGUMENT_CHARS });
        let properties: serde_json::Map<_, _> =
            self.arguments.iter().map(|argument| (argument.name.clone(), text.clone())).collect();
        let required: Vec<_> =
            self.arguments.iter().filter(|it| it.required).map(|it| it.name.as_str()).collect();
        serde_json::json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        })
    }
}

/// Returns the values that begin with the typed text, ignoring case.
#[cfg(feature = "rules")]
pub fn beginning_with(values: &[String], typed: &str) -> Vec<String> {
    let typed = typed.to_lowercase();
    values.iter().filter(|value| value.to_lowercase().starts_with(&typed)).cloned().collect()
}

/// Maximum length of a prompt's argument, in characters.
#[cfg(feature = "rules")]
const MAX_ARGUMENT_CHARS: usize = 100_000;
