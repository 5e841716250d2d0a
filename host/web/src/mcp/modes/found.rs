//! Answers of `find_tools`.

use std::sync::Arc;

use rmcp::model::Tool;
use serde_json::{Value, json};

/// Maximum bytes of an answer: about 8,000 tokens.
const MAX_ANSWER_BYTES: usize = 32 << 10;
/// Maximum bytes of the best tool, which may be larger than all others together.
const MAX_FIRST_BYTES: usize = 256 << 10;

/// Answer to a search as JSON: the best tools, up to a size limit. A schema that does not fit is omitted; if
/// `describe_tools` provides types, all schemas are.
pub(in crate::mcp) fn answer(found: &[Arc<Tool>], has_types: bool) -> String {
    let mut tools = Vec::new();
    let mut room = MAX_ANSWER_BYTES;
    for (index, tool) in found.iter().enumerate() {
        let whole = json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": (!has_types).then_some(&*tool.input_schema),
            "annotations": tool.annotations,
        });
        let allowed = if index == 0 { MAX_FIRST_BYTES } else { room };
        let Some((tool, bytes)) = within(whole, allowed) else { continue };
        room = room.saturating_sub(bytes);
        tools.push(tool);
    }
    json!({ "tools": tools }).to_string()
}

/// A tool with its size in bytes, without its schema if it is too long; `None` if it still does not fit.
fn within(mut tool: Value, allowed: usize) -> Option<(Value, usize)> {
    if let Value::Object(members) = &mut tool {
        members.retain(|_, value| !value.is_null());
    }
    // One byte for the comma.
    let bytes = tool.to_string().len() + 1;
    if bytes <= allowed {
        return Some((tool, bytes));
    }
    tool.as_object_mut()?.remove("inputSchema")?;
    tool["note"] = "inputSchema is too long for this answer: find this tool alone, by its name".into();
    let bytes = tool.to_string().len() + 1;
    (bytes <= allowed).then_some((tool, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, bytes: usize) -> Arc<Tool> {
        let schema = json!({ "type": "object", "description": "x".repeat(bytes) });
        Arc::new(Tool::new(
            name.to_owned(),
            "Does it.",
            Arc::new(schema.as_object().expect("an object").clone()),
        ))
    }

    #[test]
    fn an_answer_has_as_many_tools_as_there_is_room_for() {
        let answer = |tools: &[Arc<Tool>]| {
            let text = answer(tools, false);
            (serde_json::from_str::<Value>(&text).expect("it is JSON"), text.len())
        };

        let (one, _) = answer(&[tool("a__b", 10)]);
        assert_eq!(one["tools"][0]["name"], "a__b");
        assert_eq!(one["tools"][0]["inputSchema"]["type"], "object");
        assert_eq!(one["tools"][0].get("title"), None);

        let (many, bytes) = answer(&[tool("a__large", 100_000), tool("a__b", 20_000), tool("a__c", 20_000)]);
        assert_eq!(many["tools"][0]["inputSchema"]["type"], "object", "the best one is whole");
        assert_eq!(many["tools"].as_array().map(Vec::len), Some(1), "there is no room beside it");
        assert!(bytes > 100_000);

        let (many, bytes) = answer(&vec![tool("a__b", 20_000); 20]);
        let is_whole = |tool: &Value| tool["inputSchema"].is_object();
        let tools = many["tools"].as_array().expect("a list");
        assert_eq!(tools.iter().map(is_whole).filter(|is_whole| *is_whole).count(), 1);
        assert!(tools[1]["note"].as_str().is_some_and(|note| note.contains("by its name")), "{}", tools[1]);
        assert!(bytes < MAX_ANSWER_BYTES + 100, "{bytes}");

        let (none, _) = answer(&[tool("a__huge", MAX_FIRST_BYTES)]);
        assert!(none["tools"][0]["note"].is_string());
    }
}
