//! A toolkit that is written against the contract alone: `wit/deps/kitbag.wit` is all that it has of Kitbag.

use serde_json::{Value, json};

use bindings::exports::kitbag::toolkit::tools::{CallError, Guest, Invocation, ToolResult};
use bindings::kitbag::toolkit::definition::{ToolAnnotations, ToolDefinition, ToolkitDefinition, Visibility};

#[allow(unsafe_code, missing_docs, clippy::pedantic, reason = "generated")]
mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "slugs", generate_all });

    // A native linker does not accept the names of a component's exports.
    #[cfg(target_family = "wasm")]
    use super::Slugs;
    #[cfg(target_family = "wasm")]
    export!(Slugs);
}

/// The toolkit.
pub struct Slugs;

impl Guest for Slugs {
    fn describe() -> ToolkitDefinition {
        let input = json!({ "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] });
        ToolkitDefinition {
            id: "slugs".to_owned(),
            name: "Slugs".to_owned(),
            description: "Makes the last part of an URL of a title.".to_owned(),
            icon: "🐌".to_owned(),
            version: "1.0.0".to_owned(),
            author: None,
            tools: vec![ToolDefinition {
                name: "slug".to_owned(),
                title: None,
                description: "Makes the last part of an URL of a title.".to_owned(),
                input_schema: input.to_string(),
                output_schema: None,
                annotations: ToolAnnotations {
                    read_only_hint: Some(true),
                    destructive_hint: None,
                    idempotent_hint: None,
                    open_world_hint: Some(false),
                },
                mutating: false,
                always_on: false,
            }],
            secrets: Vec::new(),
            egress: Vec::new(),
            scopes: Vec::new(),
            config: Vec::new(),
            visibility: Visibility::Shared,
            auth: None,
        }
    }

    fn call(invocation: Invocation) -> Result<ToolResult, CallError> {
        let arguments: Value = serde_json::from_str(&invocation.arguments)
            .map_err(|error| CallError::InvalidParams(error.to_string()))?;
        let title = arguments["title"].as_str().unwrap_or_default().to_lowercase();
        let words = title.split(|character: char| !character.is_alphanumeric());
        let slug = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
        Ok(ToolResult { text: slug, structured: None, content: Vec::new() })
    }
}
