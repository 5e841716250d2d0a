//! A toolkit that is written against the contract alone: `wit/deps/kitbag.wit` is all that it has of Kitbag.

use serde_json::{Value, json};

use bindings::exports::kitbag::toolkit::tools::{CallError, Guest, Invocation, ToolResult};

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
    fn describe() -> String {
        let description = "Makes the last part of an URL of a title.";
        let title = json!({ "type": "string" });
        json!({
            "id": "slugs",
            "name": "Slugs",
            "description": description,
            "icon": "🐌",
            "version": "1.0.0",
            "visibility": "shared",
            "tools": [{
                "name": "slug",
                "description": description,
                "inputSchema": { "type": "object", "properties": { "title": title }, "required": ["title"] },
            }],
        })
        .to_string()
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
