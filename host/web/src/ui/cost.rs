//! Token cost of a list of tools: models read names, descriptions and schemas in every conversation.

use kitbag_manifest::ToolDefinition;

use super::text;

/// Average number of bytes per token; tokenizers differ.
const BYTES_PER_TOKEN: usize = 4;

/// Estimates the number of tokens of some tools, as a text that says it is an estimate.
pub(super) fn of<'t>(tools: impl IntoIterator<Item = &'t ToolDefinition>) -> String {
    let bytes: usize = tools.into_iter().map(bytes).sum();
    format!("about {} (an estimate)", text::count(bytes.div_ceil(BYTES_PER_TOKEN), "token"))
}

fn bytes(tool: &ToolDefinition) -> usize {
    tool.name.len() + tool.description.len() + tool.input_schema.to_string().len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_are_estimated_and_called_an_estimate() {
        let tool = ToolDefinition {
            name: "add".to_owned(),
            description: "x".repeat(4000),
            input_schema: json!({ "type": "object" }),
            ..ToolDefinition::default()
        };

        assert_eq!(of([&tool]), "about 1,005 tokens (an estimate)");
        assert_eq!(of([]), "about 0 tokens (an estimate)");
    }
}
