//! Modes, in which a few tools of the server itself give access to all others.
//!
//! - `/mcp?mode=search`: `find_tools` finds tools that are not `alwaysOn`, and `call_tool` calls one;
//! - `/mcp?mode=code`: `find_tools` finds any tool, `describe_tools` describes parameters and results, and
//!   `run_code` runs code that calls read-only tools. `call_tool` is for the others, so that a client can ask
//!   its user.
//!
//! Invariant: a call by `call_tool` is treated as a call of the tool that it names: checks, redaction,
//! records and questions do not differ.

pub(super) mod found;
mod typescript;

use std::borrow::Cow;
use std::sync::LazyLock;

use kitbag_access::values::code_runner::{self, RUN_CODE};
use kitbag_access::values::dispatch::Failure;
use kitbag_access::values::toolkits::Schemas;
use kitbag_manifest::schema::Budget;
use kitbag_manifest::{ToolAnnotations, ToolDefinition, ToolkitDefinition, reply};
use rmcp::model::CallToolRequestParams;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Name of the tool that finds tools. Names of toolkits' tools cannot collide: they begin with an id and
/// `__`.
pub(super) const FIND_TOOLS: &str = "find_tools";
/// Name of the tool that calls tools.
pub(super) const CALL_TOOL: &str = "call_tool";
/// Name of the tool that describes parameters and results of tools.
const DESCRIBE_TOOLS: &str = "describe_tools";

/// Default and maximum number of tools in an answer.
const DEFAULT_LIMIT: usize = 5;
const MAX_LIMIT: usize = 20;
/// Maximum length of a query, in characters.
const MAX_QUERY_CHARACTERS: usize = 500;
/// Maximum number of tools described at once, and maximum bytes of that answer.
const MAX_DESCRIBED: usize = 20;
const MAX_DESCRIPTION_BYTES: usize = 48 << 10;
/// Start of the description of `find_tools`.
const FINDS: &str =
    "Finds tools by what they do. Say what you need in a few words. Answers with the best tools.";
/// Maximum bytes of toolkit ids in a description.
const MAX_IDS_BYTES: usize = 1000;
/// Step limit for the check of arguments, which have only a handful of values.
const CHECK_STEPS: u64 = 100_000;

/// Way in which a client discovers and calls tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// All tools are listed.
    #[default]
    List,
    /// Tools are found by search.
    Search,
    /// Tools are found by search and called by code.
    Code,
}

/// A call, interpreted in the client's mode.
pub(super) enum ModeCall {
    /// Search for tools.
    Find(Wanted),
    /// Description of the tools with these listed names.
    Describe(Vec<String>),
    /// Execution of code, with these arguments.
    Run(Map<String, Value>),
    /// Call of a tool, named directly or by `call_tool`.
    Call(CallToolRequestParams),
}

/// Arguments of `find_tools`.
#[derive(Debug, Deserialize)]
pub(super) struct Wanted {
    pub(super) query: String,
    #[serde(default = "default_limit")]
    pub(super) limit: usize,
}

#[derive(Deserialize)]
struct Described {
    names: Vec<String>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl ModeCall {
    /// Interprets a call in a mode. Fails if the arguments of a mode's own tool are invalid.
    pub(super) fn of(mode: Mode, mut request: CallToolRequestParams) -> Result<Self, Failure> {
        if !mode.has(&request.name) {
            return Ok(Self::Call(request));
        }
        match &*request.name {
            FIND_TOOLS => Ok(Self::Find(read(0, request.arguments.take())?)),
            DESCRIBE_TOOLS => {
                let Described { names } = read(2, request.arguments.take())?;
                Ok(Self::Describe(names))
            }
            RUN_CODE => Ok(Self::Run(request.arguments.take().unwrap_or_default())),
            CALL_TOOL => {
                let Named { name, arguments } = read(1, request.arguments.take())?;
                (request.name, request.arguments) = (Cow::Owned(name), Some(arguments));
                Ok(Self::Call(request))
            }
            _ => Ok(Self::Call(request)),
        }
    }
}

impl Mode {
    /// Mode of this name in a URL; `None` if there is none.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "search" => Some(Self::Search),
            "code" => Some(Self::Code),
            _ => None,
        }
    }

    /// Whether the tool is one of the mode's own.
    pub(super) fn has(self, name: &str) -> bool {
        match self {
            Self::List => false,
            Self::Search => [FIND_TOOLS, CALL_TOOL].contains(&name),
            Self::Code => [FIND_TOOLS, CALL_TOOL, DESCRIBE_TOOLS, RUN_CODE].contains(&name),
        }
    }
}

/// Answer of `describe_tools`: TypeScript declarations, up to a size limit. `found` has `None` for unknown
/// tools.
pub(super) fn described<'a>(
    found: impl Iterator<Item = (&'a str, Option<(&'a str, &'a ToolDefinition)>)>,
) -> String {
    let mut text = String::new();
    for (name, tool) in found {
        let declaration = match tool {
            Some((toolkit, tool)) => typescript::declaration(toolkit, tool),
            None => format!("// There is no tool {name:?}."),
        };
        if text.len() + declaration.len() > MAX_DESCRIPTION_BYTES {
            text.push_str("// There is no room for the others: describe fewer at once.\n");
            break;
        }
        text.push_str(&declaration);
        text.push_str("\n\n");
    }
    text.trim_end().to_owned()
}

/// Declaration of a mode's own tools; names the toolkits whose tools can be found.
pub(super) fn definition<'a>(mode: Mode, toolkits: impl Iterator<Item = &'a str>) -> ToolkitDefinition {
    let mut ids = String::new();
    let mut left = 0_usize;
    for id in toolkits {
        if left > 0 || ids.len() + id.len() > MAX_IDS_BYTES {
            left += 1;
            continue;
        }
        ids.push_str(if ids.is_empty() { "" } else { ", " });
        ids.push_str(id);
    }
    let of = match (&*ids, left) {
        ("", _) => String::new(),
        (ids, 0) => format!(" There are tools of: {ids}."),
        (ids, left) => format!(" There are tools of: {ids} and {left} more toolkits."),
    };
    let [mut find, call, describe] = tools();
    let tools = match mode {
        Mode::Code => {
            find.description = format!("{FINDS} describe_tools says what they take and return.{of}");
            vec![find, describe, code_runner::tool(), call]
        }
        Mode::Search | Mode::List => {
            find.description = format!("{FINDS} Each has its inputSchema; call_tool calls them.{of}");
            vec![find, call]
        }
    };
    ToolkitDefinition { tools, ..ToolkitDefinition::default() }
}

fn default_limit() -> usize {
    DEFAULT_LIMIT
}

/// Parses the arguments of one of the mode's tools; they are checked like those of any tool.
fn read<T: for<'de> Deserialize<'de>>(
    tool: usize,
    arguments: Option<Map<String, Value>>,
) -> Result<T, Failure> {
    static SCHEMAS: LazyLock<Schemas> =
        LazyLock::new(|| Schemas::compile(&tools()).expect("these schemas compile"));
    let invalid = |violations: &[String]| Failure::from(reply::Failure::invalid_params(violations));
    let arguments = Value::Object(arguments.unwrap_or_default());
    match SCHEMAS.input(tool).violations_within(&arguments, &Budget::prompt(CHECK_STEPS)) {
        Ok(violations) if violations.is_empty() => {}
        Ok(violations) => return Err(invalid(&violations)),
        Err(exceeded) => return Err(invalid(&[exceeded.to_string()])),
    }
    serde_json::from_value(arguments).map_err(|error| invalid(&[error.to_string()]))
}

/// Declarations of `find_tools`, `call_tool` and `describe_tools`.
fn tools() -> [ToolDefinition; 3] {
    let find = ToolDefinition {
        name: FIND_TOOLS.to_owned(),
        title: Some("Find tools".to_owned()),
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
    let describe = ToolDefinition {
        name: DESCRIBE_TOOLS.to_owned(),
        title: Some("Describe tools".to_owned()),
        description: "Says in TypeScript what tools take and return, for run_code and call_tool.".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "names": {
                    "type": "array", "items": { "type": "string", "maxLength": 200 }, "minItems": 1,
                    "maxItems": MAX_DESCRIBED, "uniqueItems": true, "description": "As find_tools names them.",
                },
            },
            "required": ["names"],
            "additionalProperties": false,
        }),
        annotations: hints(true),
        always_on: true,
        ..ToolDefinition::default()
    };
    [find, call, describe]
}

/// Annotations of a mode's tool: `call_tool` may call any tool, so it does not count as read-only.
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
    use kitbag_access::values::toolkits::names_of;

    use super::*;

    fn request(name: &'static str, arguments: &Value) -> CallToolRequestParams {
        let mut request = CallToolRequestParams::new(name);
        request.arguments = arguments.as_object().cloned();
        request
    }

    #[test]
    fn no_toolkit_has_tools_of_these_names() {
        for mode in [Mode::Search, Mode::Code] {
            let tools = definition(mode, [].into_iter()).tools;
            assert!(
                tools.iter().all(|it| names_of(&it.name).is_none() && mode.has(&it.name) && it.always_on)
            );
            assert!(!Mode::List.has(&tools[0].name));
        }
    }

    #[test]
    fn a_call_by_call_tool_is_the_call_that_it_names() {
        let read = |name, arguments: Value| match ModeCall::of(Mode::Search, request(name, &arguments)) {
            Ok(ModeCall::Call(request)) => {
                format!("{} {}", request.name, json!(request.arguments.unwrap_or_default()))
            }
            Ok(ModeCall::Find(Wanted { query, limit })) => format!("find {query} {limit}"),
            Ok(ModeCall::Describe(_) | ModeCall::Run(_)) => panic!("it is of another mode"),
            Err(failure) => failure.envelope.error,
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
    fn a_listing_names_toolkits_within_bounds() {
        let description = |ids: &[String]| {
            let definition = definition(Mode::Search, ids.iter().map(String::as_str));
            definition.tools.into_iter().next().expect("find_tools").description
        };

        assert!(description(&[]).ends_with("calls them."));
        assert!(description(&["a".to_owned(), "b".to_owned()]).ends_with(" There are tools of: a, b."));
        let many: Vec<_> = (0..1000).map(|number| format!("toolkit-{number}")).collect();
        let long = description(&many);
        assert!(long.len() < MAX_IDS_BYTES + 300 && long.ends_with("more toolkits."), "{long}");
    }
}
