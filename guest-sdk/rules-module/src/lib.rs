//! The rules of `kitbag-manifest` for programs in other languages than Rust, with requests and answers in
//! JSON.
//!
//! Compiled to WebAssembly, it is part of the npm package of the TypeScript SDK. Its exports are `allocate`,
//! `answer`, and `run_check` of `kitbag_manifest::schema`.

#[cfg(target_family = "wasm")]
mod exports;
mod test_host;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ipnet::IpNet;
use kitbag_manifest::mismatch::{self, Kind, Meant, Violation};
use kitbag_manifest::reply::{self, Failure};
use kitbag_manifest::schema::Schema;
use kitbag_manifest::{
    ConfigField, Problem, Problems, ToolkitDefinition, address, config, egress, limits, portability, texts,
    validate,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Maximum number of compiled schemas in the cache.
const MAX_CACHED_SCHEMAS: usize = 64;

/// A request to the module. Each variant documents its answer.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", rename_all_fields = "camelCase")]
enum Request {
    /// Validates a declaration. Answers with the text of the manifest and warnings about what some clients
    /// refuse, or with the problems.
    Declaration { declaration: Box<ToolkitDefinition> },
    /// Validates the arguments of a tool. Answers with the failure if they do not fit the schema.
    Arguments { schema: Value, arguments: Value },
    /// Answers with the failure that a client receives.
    Failure(Cause),
    /// Answers with the settings for a handler, and the problems of the user's values by key.
    Settings { fields: BTreeMap<String, ConfigField>, values: Map<String, Value> },
    /// Answers with whether `egress` lists a URL's host.
    Allows { egress: Vec<String>, url: String },
    /// Answers with the `egress` entry that would grant a URL.
    Entry { url: String },
    /// Determines the branches of a choice that a value was meant for. Answers with `branch` and `of`, with
    /// `discriminator`, or with `anyOf`; see `kitbag_manifest::mismatch::Meant`.
    Meant { branches: Vec<Vec<(usize, String)>> },
    /// Answers with the error text of this name.
    Text { name: String, parts: Vec<String> },
    /// Validates CIDR ranges. Answers with the first text that is not valid.
    Ranges { ranges: Vec<String> },
    /// Answers with whether a handler may connect to an IP address. `opened` are the allowed private ranges.
    Permits { opened: Vec<IpNet>, address: IpAddr },
    /// Answers with a schema in the portable form in which tools are listed.
    Listed { schema: Value },
    /// Answers with the schema of a tool's arguments as clients list it: one object at its root.
    ListedArguments { schema: Value },
    /// Answers with the default limits of calls.
    Limits,
    /// Asks the host of a call in a test; see there.
    TestHost { request: test_host::Request },
}

/// Cause of a call's failure.
#[derive(Deserialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
enum Cause {
    ToolError { message: String, retryable: bool },
    InvalidParams { message: String },
    Handler,
    Deadline { milliseconds: u64 },
    Limit { name: String },
    Busy,
}

/// Answer to a request. Not a [`Value`], which would change the order of members.
#[derive(Serialize)]
#[serde(untagged)]
enum Answer {
    Manifest {
        manifest: String,
        warnings: Vec<Problem>,
    },
    Problems {
        problems: Problems,
    },
    Failure {
        failure: Failure,
    },
    Valid {},
    Settings {
        config: Map<String, Value>,
        problems: BTreeMap<String, String>,
    },
    Plain(Value),
    /// The request is not valid.
    Error {
        error: String,
    },
}

/// Answers a request. Both are JSON texts.
pub fn answer(request: &str) -> String {
    match serde_json::from_str(request) {
        Ok(request) => answer_to(request),
        Err(error) => text(&Answer::Error { error: error.to_string() }),
    }
}

/// Returns an answer as JSON text.
pub(crate) fn text(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("plain data always serialises")
}

fn answer_to(request: Request) -> String {
    let answer = match request {
        Request::TestHost { request } => return test_host::answer(request),
        Request::Declaration { declaration } => match validate(of_this_version(*declaration)) {
            Ok(valid) => Answer::Manifest {
                warnings: portability::warnings(&valid),
                manifest: manifest_text(&valid.into_inner()),
            },
            Err(problems) => Answer::Problems { problems },
        },
        Request::Arguments { schema, arguments } => {
            match with_schema(&schema, |schema| reply::check_arguments(schema, &arguments)) {
                Ok(Ok(())) => Answer::Valid {},
                Ok(Err(failure)) => Answer::Failure { failure },
                Err(error) => Answer::Error { error },
            }
        }
        Request::Failure(cause) => Answer::Failure { failure: failure(cause) },
        Request::Settings { fields, values } => Answer::Settings {
            config: config::effective(&fields, &values),
            problems: config::problems(&fields, &values),
        },
        Request::Allows { egress, url } => {
            Answer::Plain(url.parse().is_ok_and(|url| egress::allows(&egress, &url)).into())
        }
        Request::Entry { url } => match url.parse() {
            Ok(url) => Answer::Plain(egress::entry_for(&url).into()),
            Err(error) => Answer::Error { error: format!("not a URL: {error}") },
        },
        Request::Meant { branches } => Answer::Plain(meant(branches)),
        Request::Text { name, parts } => match texts::by_name(&name, &parts) {
            Some(text) => Answer::Plain(text.into()),
            None => Answer::Error { error: format!("no text {name} of {} parts", parts.len()) },
        },
        Request::Ranges { ranges } => {
            Answer::Plain(json!(ranges.iter().find(|range| range.parse::<IpNet>().is_err())))
        }
        Request::Permits { opened, address } => Answer::Plain(address::permits(&opened, address).into()),
        Request::Listed { schema } => Answer::Plain(json!({ "schema": portability::portable(schema) })),
        Request::ListedArguments { schema } => {
            let schema = match portability::portable(schema) {
                Value::Object(schema) => portability::as_one_object(schema).into(),
                schema => schema,
            };
            Answer::Plain(json!({ "schema": schema }))
        }
        Request::Limits => Answer::Plain(json!({
            "callTime": milliseconds(limits::DEFAULT_CALL_TIME),
            "callMemory": limits::DEFAULT_CALL_MEMORY_MIB << 20,
            "mcpRequest": limits::DEFAULT_MCP_REQUEST_MIB << 20,
            "connectTimeout": milliseconds(limits::CONNECT_TIMEOUT),
            "userAgent": limits::USER_AGENT,
            "reportedViolations": mismatch::MAX_REPORTED,
            "version": env!("CARGO_PKG_VERSION"),
        })),
    };
    text(&answer)
}

/// Determines the branches that a value was meant for, from each branch's violations as pairs of depth and
/// kind.
fn meant(branches: Vec<Vec<(usize, String)>>) -> Value {
    let violation = |(depth, kind): (usize, String)| Violation { depth, kind: Kind::named(&kind) };
    let branches: Vec<Vec<_>> =
        branches.into_iter().map(|branch| branch.into_iter().map(violation).collect()).collect();
    match mismatch::meant(&branches) {
        Meant::Branch { index, of } => json!({ "branch": index, "of": of }),
        Meant::Discriminator(indexes) => json!({ "discriminator": indexes }),
        Meant::AnyOf(indexes) => json!({ "anyOf": indexes }),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Sets the field `kitbag` to this version.
fn of_this_version(declaration: ToolkitDefinition) -> ToolkitDefinition {
    ToolkitDefinition { kitbag: Some(env!("CARGO_PKG_VERSION").to_owned()), ..declaration }
}

/// Returns the text of `manifest.json`.
fn manifest_text(manifest: &ToolkitDefinition) -> String {
    let text = serde_json::to_string_pretty(manifest).expect("plain data always serialises");
    format!("{text}\n")
}

fn failure(cause: Cause) -> Failure {
    match cause {
        Cause::ToolError { message, retryable } => Failure::tool_error(message).retryable(retryable),
        Cause::InvalidParams { message } => Failure::invalid_params(&[message]),
        Cause::Handler => Failure::of_handler(),
        Cause::Deadline { milliseconds } => Failure::deadline(Duration::from_millis(milliseconds)),
        Cause::Limit { name } => Failure::limit(&name),
        Cause::Busy => Failure::busy(),
    }
}

/// Calls `use_schema` with the compiled schema. Compiled schemas are cached, because tests often call the
/// same tools.
pub(crate) fn with_schema<T>(schema: &Value, use_schema: impl FnOnce(&Schema) -> T) -> Result<T, String> {
    thread_local! {
        static SCHEMAS: RefCell<Vec<(Value, Rc<Schema>)>> = const { RefCell::new(Vec::new()) };
    }

    let known = SCHEMAS.with_borrow(|known| {
        known.iter().find(|(source, _)| source == schema).map(|(_, compiled)| compiled.clone())
    });
    let compiled = if let Some(compiled) = known {
        compiled
    } else {
        let compiled = Rc::new(Schema::compile(schema).map_err(|error| error.to_string())?);
        SCHEMAS.with_borrow_mut(|known| {
            known.insert(0, (schema.clone(), compiled.clone()));
            known.truncate(MAX_CACHED_SCHEMAS);
        });
        compiled
    };
    Ok(use_schema(&compiled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: &Value) -> Value {
        serde_json::from_str(&answer(&request.to_string())).expect("answers are JSON")
    }

    #[test]
    fn a_declaration_is_answered_with_its_manifest_or_its_problems() {
        let declaration = json!({
            "id": "books", "name": "Books", "description": "Finds books.", "icon": "📚", "version": "1.0.0",
            "tools": [{ "name": "find", "description": "Finds.", "inputSchema": { "type": "object" } }],
        });
        let wrong = json!({ "id": "Books!", "name": "", "description": "d", "icon": "📚", "version": "1.0.0", "tools": [] });

        let valid = ask(&json!({ "ask": "declaration", "declaration": declaration }));
        let text = valid["manifest"].as_str().expect("a text");
        assert!(text.starts_with("{\n  \"kitbag\": ") && text.ends_with("}\n"), "{text}");
        let problems = &ask(&json!({ "ask": "declaration", "declaration": wrong }))["problems"];
        assert_eq!(problems[0], json!({ "path": "id", "message": "must match ^[a-z0-9-]+$" }));
        assert_eq!(problems.as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn texts_and_choices_are_those_of_the_rules() {
        let text = ask(&json!({ "ask": "text", "name": "refused", "parts": ["r"] }));
        assert_eq!(text, "The knowledge base refused the request: r");
        let entry = ask(&json!({ "ask": "entry", "url": "https://A.example.:8443/x" }));
        assert_eq!(entry, "a.example:8443");
        let branches = json!([[[0, "type"]], [[1, "constant"], [1, "other"]]]);
        assert_eq!(ask(&json!({ "ask": "meant", "branches": branches })), json!({ "branch": 1, "of": 1 }));
    }

    #[test]
    fn what_is_no_request_is_said() {
        assert!(ask(&json!({ "ask": "nothing" }))["error"].is_string());
        assert_eq!(ask(&json!({ "ask": "ranges", "ranges": ["10.0.0.0/8", "nowhere"] })), json!("nowhere"));
        let permitted = ask(&json!({ "ask": "permits", "opened": ["10.0.0.0/8"], "address": "10.1.2.3" }));
        assert_eq!(permitted, json!(true));
    }
}
