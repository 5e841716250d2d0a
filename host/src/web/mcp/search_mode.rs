//! `/mcp?mode=search`: two tools of the server's own stand for all that are not `alwaysOn`. `find_tools` finds some of them,
//! and `call_tool` calls one.
//!
//! Invariant: a call by `call_tool` is the call of the tool that it names, from here on: whatever checks, redacts, records or
//! asks sees no difference.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use kitbag_manifest::schema::Budget;
use kitbag_manifest::{ToolAnnotations, ToolDefinition, ToolkitDefinition, reply};
use rmcp::model::{CallToolRequestParams, Tool};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::dispatch::Failure;
use crate::toolkits::Schemas;

/// The tool that finds tools. No toolkit's tool has such a name: theirs begin with an id and `__`.
pub(super) const FIND_TOOLS: &str = "find_tools";
/// The tool that calls tools.
pub(super) const CALL_TOOL: &str = "call_tool";

/// Tools of an answer that says no number, and at most.
const DEFAULT_LIMIT: usize = 5;
const MAX_LIMIT: usize = 20;
/// Characters of a query.
const MAX_QUERY_CHARACTERS: usize = 500;
/// Bytes of an answer: some 8,000 tokens.
const MAX_ANSWER_BYTES: usize = 32 << 10;
/// Bytes of the best tool, which may be more than all others may take.
const MAX_FIRST_BYTES: usize = 256 << 10;
/// Bytes of the ids of toolkits that a listing names.
const MAX_IDS_BYTES: usize = 1000;
/// Steps that the check of arguments may take, which have a handful of values.
const CHECK_STEPS: u64 = 100_000;

/// A call as it came, in the mode.
pub(super) enum ModeCall {
    /// Tools are to be found.
    Find(Wanted),
    /// A tool is to be called: this one, whoever it was named by.
    Call(CallToolRequestParams),
}

/// What a client looks for.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    pub(super) query: String,
    #[serde(default = "default_limit")]
    pub(super) limit: usize,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl ModeCall {
    /// Reads a call in the mode. Fails where the arguments of the mode's own tools are not valid.
    pub(super) fn of(mut request: CallToolRequestParams) -> Result<Self, Failure> {
        match &*request.name {
            FIND_TOOLS => Ok(Self::Find(read(0, request.arguments.take())?)),
            CALL_TOOL => {
                let Named { name, arguments } = read(1, request.arguments.take())?;
                (request.name, request.arguments) = (Cow::Owned(name), Some(arguments));
                Ok(Self::Call(request))
            }
            _ => Ok(Self::Call(request)),
        }
    }
}

/// Whether the mode has a tool of this name itself.
pub(super) fn has(name: &str) -> bool {
    [FIND_TOOLS, CALL_TOOL].contains(&name)
}

/// The declaration of the mode's tools, for somebody who finds tools of these toolkits.
pub(super) fn definition<'a>(toolkits: impl Iterator<Item = &'a str>) -> ToolkitDefinition {
    let (mut ids, mut more) = (String::new(), 0_usize);
    for id in toolkits {
        if more > 0 || ids.len() + id.len() > MAX_IDS_BYTES {
            more += 1;
            continue;
        }
        ids.push_str(if ids.is_empty() { "" } else { ", " });
        ids.push_str(id);
    }
    let of = match (&*ids, more) {
        ("", _) => String::new(),
        (ids, 0) => format!(" There are tools of: {ids}."),
        (ids, more) => format!(" There are tools of: {ids} and {more} more toolkits."),
    };
    ToolkitDefinition { tools: tools(&of), ..ToolkitDefinition::default() }
}

/// The answer to a search, as JSON: the best tools, as many as there is room for. A schema that there is no room for is left
/// out.
pub(super) fn answer(found: &[Arc<Tool>]) -> String {
    let (mut tools, mut room) = (Vec::new(), MAX_ANSWER_BYTES);
    for (index, tool) in found.iter().enumerate() {
        let whole = json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": &*tool.input_schema,
            "annotations": tool.annotations,
        });
        let allowed = if index == 0 { MAX_FIRST_BYTES } else { room };
        let Some((tool, bytes)) = within(whole, allowed) else { continue };
        room = room.saturating_sub(bytes);
        tools.push(tool);
    }
    json!({ "tools": tools }).to_string()
}

/// A tool of an answer and its bytes, without its schema where it would be too long; `None` if that is not enough.
fn within(mut tool: Value, allowed: usize) -> Option<(Value, usize)> {
    if let Value::Object(members) = &mut tool {
        members.retain(|_, value| !value.is_null());
    }
    // With the comma.
    let bytes = tool.to_string().len() + 1;
    if bytes <= allowed {
        return Some((tool, bytes));
    }
    if let Value::Object(members) = &mut tool {
        members.remove("inputSchema");
    }
    tool["note"] = "inputSchema is too long for this answer: find this tool alone, by its name".into();
    let bytes = tool.to_string().len() + 1;
    (bytes <= allowed).then_some((tool, bytes))
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

/// The arguments of one of the mode's tools, checked as those of any tool.
fn read<T: for<'de> Deserialize<'de>>(
    tool: usize,
    arguments: Option<Map<String, Value>>,
) -> Result<T, Failure> {
    static SCHEMAS: LazyLock<Schemas> =
        LazyLock::new(|| Schemas::compile(&tools("")).expect("these schemas compile"));
    let invalid = |violations: &[String]| Failure::from(reply::Failure::invalid_params(violations));
    let arguments = Value::Object(arguments.unwrap_or_default());
    match SCHEMAS.input(tool).violations_within(&arguments, &Budget::prompt(CHECK_STEPS)) {
        Ok(violations) if violations.is_empty() => {}
        Ok(violations) => return Err(invalid(&violations)),
        Err(exceeded) => return Err(invalid(&[exceeded.to_string()])),
    }
    serde_json::from_value(arguments).map_err(|error| invalid(&[error.to_string()]))
}

fn tools(of: &str) -> Vec<ToolDefinition> {
    let find = ToolDefinition {
        name: FIND_TOOLS.to_owned(),
        title: Some("Find tools".to_owned()),
        description: format!(
            "Finds tools by what they do. Say what you need in a few words. Answers with the best tools, each with its \
             inputSchema; call_tool calls them.{of}"
        ),
        input_schema: json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string", "minLength": 1, "maxLength": MAX_QUERY_CHARACTERS,
                    "description": "What the tool should do, or its name.",
                },
                "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT },
            },
            "required": ["query"],
            "additionalProperties": false,
        }),
        annotations: hints(true),
        always_on: true,
        ..ToolDefinition::default()
    };
    let call = ToolDefinition {
        name: CALL_TOOL.to_owned(),
        title: Some("Call a tool".to_owned()),
        description: "Calls a tool that find_tools has found.".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "arguments": { "type": "object", "description": "As its inputSchema says." },
            },
            "required": ["name"],
            "additionalProperties": false,
        }),
        annotations: hints(false),
        always_on: true,
        ..ToolDefinition::default()
    };
    vec![find, call]
}

/// The tool that is called may be any.
fn hints(reads_only: bool) -> ToolAnnotations {
    ToolAnnotations {
        read_only_hint: Some(reads_only),
        destructive_hint: Some(!reads_only),
        idempotent_hint: Some(reads_only),
        open_world_hint: Some(!reads_only),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolkits::names_of;

    fn request(name: &'static str, arguments: &Value) -> CallToolRequestParams {
        let mut request = CallToolRequestParams::new(name);
        request.arguments = arguments.as_object().cloned();
        request
    }

    fn tool(name: &str, bytes: usize) -> Arc<Tool> {
        let schema = json!({ "type": "object", "description": "x".repeat(bytes) });
        Arc::new(Tool::new(
            name.to_owned(),
            "Does it.",
            Arc::new(schema.as_object().expect("an object").clone()),
        ))
    }

    #[test]
    fn no_toolkit_has_tools_of_these_names() {
        assert!([FIND_TOOLS, CALL_TOOL].iter().all(|name| names_of(name).is_none() && has(name)));
        assert!(definition([].into_iter()).tools.iter().all(|tool| has(&tool.name) && tool.always_on));
    }

    #[test]
    fn a_call_by_call_tool_is_the_call_that_it_names() {
        let read = |name, arguments: Value| match ModeCall::of(request(name, &arguments)) {
            Ok(ModeCall::Call(request)) => {
                format!("{} {}", request.name, json!(request.arguments.unwrap_or_default()))
            }
            Ok(ModeCall::Find(Wanted { query, limit })) => format!("find {query} {limit}"),
            Err(failure) => failure.error.clone(),
        };

        assert_eq!(read("text__count", json!({ "text": "a" })), r#"text__count {"text":"a"}"#);
        let nested = json!({ "name": "text__count", "arguments": { "text": "a" } });
        assert_eq!(read(CALL_TOOL, nested), r#"text__count {"text":"a"}"#);
        assert_eq!(read(CALL_TOOL, json!({ "name": "text__count" })), "text__count {}");
        assert_eq!(read(FIND_TOOLS, json!({ "query": "a" })), "find a 5");
        assert_eq!(read(FIND_TOOLS, json!({ "query": "a", "limit": 20 })), "find a 20");
        for (name, arguments, path) in [
            (CALL_TOOL, json!({}), "name"),
            (CALL_TOOL, json!({ "name": 1 }), "/name"),
            (CALL_TOOL, json!({ "name": "a", "arguments": "{}" }), "/arguments"),
            (CALL_TOOL, json!({ "name": "a", "extra": 1 }), "extra"),
            (FIND_TOOLS, json!({ "query": "" }), "/query"),
            (FIND_TOOLS, json!({ "query": "ä".repeat(MAX_QUERY_CHARACTERS + 1) }), "/query"),
            (FIND_TOOLS, json!({ "query": "a", "limit": 0 }), "/limit"),
            (FIND_TOOLS, json!({ "query": "a", "limit": 21 }), "/limit"),
        ] {
            let error = read(name, arguments.clone());
            assert!(error.starts_with("Invalid arguments: ") && error.contains(path), "{arguments}: {error}");
        }
    }

    #[test]
    fn an_answer_has_as_many_tools_as_there_is_room_for() {
        let answer = |tools: &[Arc<Tool>]| {
            let text = answer(tools);
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

    #[test]
    fn a_listing_names_toolkits_within_bounds() {
        let description = |ids: &[String]| {
            let definition = definition(ids.iter().map(String::as_str));
            definition.tools.into_iter().next().expect("find_tools").description
        };

        assert!(description(&[]).ends_with("calls them."));
        assert!(description(&["a".to_owned(), "b".to_owned()]).ends_with(" There are tools of: a, b."));
        let many: Vec<_> = (0..1000).map(|number| format!("toolkit-{number}")).collect();
        let long = description(&many);
        assert!(long.len() < MAX_IDS_BYTES + 300 && long.ends_with("more toolkits."), "{long}");
    }
}
