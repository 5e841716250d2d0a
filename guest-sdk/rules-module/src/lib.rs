//! The rules of `kitbag-manifest` for programs in other languages than Rust, with requests and answers in
//! JSON.
//!
//! Compiled to WebAssembly, it is part of the npm package of the TypeScript SDK. Its exports are `allocate`,
//! `answer`, and `run_check` of `kitbag_manifest::schema`.

#[cfg(target_family = "wasm")]
mod exports;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use ipnet::IpNet;
use kitbag_manifest::documents::{self, CheckedDocument, Identity, NewDocument};
use kitbag_manifest::mismatch::{self, Kind, Meant, Violation};
use kitbag_manifest::offers::ResourcePath;
use kitbag_manifest::question::{MAX_QUESTIONS, Question};
use kitbag_manifest::reply::{self, CredentialProblem, Failure, TokenProblem};
use kitbag_manifest::schema::Schema;
use kitbag_manifest::{
    ConfigField, Problem, Problems, PromptDefinition, ResourceDefinition, ToolkitDefinition, address, cache,
    config, egress, knowledge, limits, portability, texts, validate,
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
    /// Validates the arguments of a prompt. Answers with the failure if they do not fit.
    Prompt { prompt: PromptDefinition, arguments: Value },
    /// Finds the resource whose URI matches a path. Answers with its index and the values of its variables,
    /// or with null.
    Resource { resources: Vec<ResourceDefinition>, path: String },
    /// Validates a handler's result. Answers with the structured value for the client (if any) and a warning
    /// for the author (if any), or with the failure. `text` and `size` are the bytes of the text and of the
    /// whole result.
    Result { tool: String, text: usize, size: usize, structured: Option<String>, output: Option<Value> },
    /// Answers with the failure that a client receives.
    Failure(Cause),
    /// Answers with the settings for a handler, and the problems of the user's values by key.
    Settings { fields: BTreeMap<String, ConfigField>, values: Map<String, Value> },
    /// Validates a batch of documents. Answers with the documents normalised for storage, or with the
    /// problems.
    Documents { documents: Vec<NewDocument> },
    /// Validates a search. Answers with the problems.
    Search { query: String, limit: u32 },
    /// Validates a question to the user. Answers with the problems.
    Question { key: String, message: String, schema: String },
    /// Validates the user's answer to a question. Answers with the fields for the handler, or with the
    /// violations.
    Answer { key: String, message: String, schema: String, fields: Map<String, Value> },
    /// Validates a cache key, and its value if there is one. Answers with the problems.
    Cache { key: String, value: Option<String>, seconds: Option<u32> },
    /// Answers with whether `egress` lists a URL's host.
    Allows { egress: Vec<String>, url: String },
    /// Answers with whether a URL belongs to the `apiHost` of a sign-in.
    ApiHost { host: String, url: String },
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
    /// Answers with the default limits of calls.
    Limits,
}

/// Cause of a call's failure.
#[derive(Deserialize)]
#[serde(tag = "cause", rename_all = "kebab-case")]
enum Cause {
    ToolError { message: String, retryable: bool },
    InvalidParams { message: String },
    MissingCredentials { toolkit: String, names: Vec<String> },
    RefusedCredentials { toolkit: String, names: Vec<String>, host: String, status: u16, code: String },
    UnusableToken { host: String, problem: TokenProblem },
    UnusableCredential { toolkit: String, name: String, problem: CredentialProblem },
    NoAccount { toolkit: String, host: String },
    AccountRefused { toolkit: String, host: String, status: u16 },
    Handler,
    Deadline { milliseconds: u64 },
    Limit { name: String },
    Busy,
    ResultTooLarge,
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
    Structured {
        #[serde(skip_serializing_if = "Option::is_none")]
        structured: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        warning: Option<String>,
    },
    Settings {
        config: Map<String, Value>,
        problems: BTreeMap<String, String>,
    },
    Documents {
        documents: Vec<StoredDocument>,
    },
    Plain(Value),
    /// The request is not valid.
    Error {
        error: String,
    },
}

/// A valid document, normalised for storage.
#[derive(Serialize)]
struct StoredDocument {
    #[serde(flatten)]
    document: CheckedDocument,
    /// Deduplication key within the document's feed.
    identity: String,
}

impl From<CheckedDocument> for StoredDocument {
    fn from(document: CheckedDocument) -> Self {
        let identity = match document.identity() {
            Identity::Url(url) => format!("url {url}"),
            Identity::File(url) => format!("file {url}"),
            Identity::Text(text) => format!("text {text}"),
        };
        Self { document, identity }
    }
}

/// Answers a request. Both are JSON texts.
pub fn answer(request: &str) -> String {
    let answer = match serde_json::from_str(request) {
        Ok(request) => answer_to(request),
        Err(error) => Answer::Error { error: error.to_string() },
    };
    serde_json::to_string(&answer).expect("plain data always serialises")
}

/// Validates the user's answer to a question.
fn accepted(key: &str, message: &str, schema: &str, fields: Map<String, Value>) -> Answer {
    match Question::check(key, message, schema) {
        Ok(question) => Answer::Plain(match question.accept(fields) {
            Ok(fields) => json!({ "fields": fields }),
            Err(violations) => json!({ "violations": violations }),
        }),
        Err(problems) => Answer::Problems { problems },
    }
}

fn answer_to(request: Request) -> Answer {
    match request {
        Request::Declaration { declaration } => match validate(of_this_version(*declaration)) {
            Ok(valid) => Answer::Manifest {
                warnings: portability::warnings(&valid),
                manifest: manifest_text(&valid.into_inner()),
            },
            Err(problems) => Answer::Problems { problems },
        },
        Request::Arguments { schema, arguments } => {
            checked(with_schema(&schema, |schema| reply::check_arguments(schema, &arguments).map(|()| None)))
        }
        Request::Prompt { prompt, arguments } => checked(with_schema(&prompt.input_schema(), |schema| {
            reply::check_arguments(schema, &arguments).map(|()| None)
        })),
        Request::Resource { resources, path } => {
            let found = ResourcePath::find(&resources, &path);
            Answer::Plain(json!(found.map(|it| json!({ "index": it.index, "variables": it.variables }))))
        }
        Request::Result { size, .. } if size > limits::DEFAULT_RESULT_MIB << 20 => {
            Answer::Failure { failure: Failure::result_too_large() }
        }
        Request::Result { output: None, .. } => Answer::Structured { structured: None, warning: None },
        Request::Result { tool, text, structured, output: Some(output), .. } => {
            let outcome =
                with_schema(&output, |schema| reply::check_structured(Some(schema), structured.as_deref()));
            match checked(outcome) {
                Answer::Structured { structured, .. } => {
                    let warning = reply::text_warning(&tool, text, structured.as_ref());
                    Answer::Structured { structured, warning }
                }
                other => other,
            }
        }
        Request::Failure(cause) => Answer::Failure { failure: failure(cause) },
        Request::Settings { fields, values } => Answer::Settings {
            config: config::effective(&fields, &values),
            problems: config::problems(&fields, &values),
        },
        Request::Documents { documents } => match documents::check(documents) {
            Ok(checked) => Answer::Documents { documents: checked.into_iter().map(Into::into).collect() },
            Err(problems) => Answer::Problems { problems },
        },
        Request::Search { query, limit } => {
            Answer::Problems { problems: knowledge::check_search(&query, limit).err().unwrap_or_default() }
        }
        Request::Question { key, message, schema } => {
            Answer::Problems { problems: Question::check(&key, &message, &schema).err().unwrap_or_default() }
        }
        Request::Answer { key, message, schema, fields } => accepted(&key, &message, &schema, fields),
        Request::Cache { key, value, seconds } => {
            let checked = match value {
                Some(value) => cache::check_value(&key, &value, seconds),
                None => cache::check_key(&key),
            };
            Answer::Problems { problems: checked.err().unwrap_or_default() }
        }
        Request::Allows { egress, url } => {
            Answer::Plain(url.parse().is_ok_and(|url| egress::allows(&egress, &url)).into())
        }
        Request::ApiHost { host, url } => {
            Answer::Plain(url.parse().is_ok_and(|url| egress::is_api_host(&host, &url)).into())
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
        Request::Limits => Answer::Plain(json!({
            "callTime": milliseconds(limits::DEFAULT_CALL_TIME),
            "callMemory": limits::DEFAULT_CALL_MEMORY_MIB << 20,
            "mcpRequest": limits::DEFAULT_MCP_REQUEST_MIB << 20,
            "contentOverhead": limits::CONTENT_OVERHEAD_BYTES,
            "resultSize": limits::DEFAULT_RESULT_MIB << 20,
            "redirects": limits::MAX_REDIRECTS,
            "connectTimeout": milliseconds(limits::CONNECT_TIMEOUT),
            "userAgent": limits::USER_AGENT,
            "redactedBytes": limits::MIN_REDACTED_BYTES,
            "cacheBytes": cache::MAX_TOTAL_BYTES,
            "cacheValues": cache::MAX_VALUES,
            "cacheSeconds": cache::MAX_SECONDS,
            "searchResults": limits::DEFAULT_SEARCH_RESULTS,
            "questions": MAX_QUESTIONS,
            "reportedViolations": mismatch::MAX_REPORTED,
            "version": env!("CARGO_PKG_VERSION"),
        })),
    }
}

fn checked(outcome: Result<Result<Option<Value>, Failure>, String>) -> Answer {
    match outcome {
        Ok(Ok(structured)) => Answer::Structured { structured, warning: None },
        Ok(Err(failure)) => Answer::Failure { failure },
        Err(error) => Answer::Error { error },
    }
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
        Cause::MissingCredentials { toolkit, names } => Failure::missing_credentials(&toolkit, &names),
        Cause::RefusedCredentials { toolkit, names, host, status, code } => {
            Failure::refused_credentials(&toolkit, &names, &host, status, &code)
        }
        Cause::UnusableToken { host, problem } => Failure::unusable_token(&host, problem.reason()),
        Cause::UnusableCredential { toolkit, name, problem } => {
            Failure::unusable_credential(&toolkit, &name, problem.reason())
        }
        Cause::NoAccount { toolkit, host } => Failure::no_account(&toolkit, &host),
        Cause::AccountRefused { toolkit, host, status } => Failure::account_refused(&toolkit, &host, status),
        Cause::Handler => Failure::of_handler(),
        Cause::Deadline { milliseconds } => Failure::deadline(Duration::from_millis(milliseconds)),
        Cause::Limit { name } => Failure::limit(&name),
        Cause::Busy => Failure::busy(),
        Cause::ResultTooLarge => Failure::result_too_large(),
    }
}

/// Calls `use_schema` with the compiled schema. Compiled schemas are cached, because tests often call the
/// same tools.
fn with_schema<T>(schema: &Value, use_schema: impl FnOnce(&Schema) -> T) -> Result<T, String> {
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
    fn results_that_are_too_large_or_do_not_fit_are_failures() {
        let output = json!({ "type": "object", "required": ["a"] });
        let check_result = |size: usize, structured: &str| {
            ask(&json!({
                "ask": "result", "tool": "t", "text": 0, "size": size, "structured": structured, "output": output,
            }))
        };

        assert_eq!(check_result(10, r#"{"a":1}"#), json!({ "structured": { "a": 1 } }));
        assert_eq!(check_result((4 << 20) + 1, "{}")["failure"]["error"], "The tool's result is too large.");
        let mismatch = check_result(10, "{}")["failure"]["error"].clone();
        assert!(
            mismatch.as_str().is_some_and(|text| text.ends_with("\"a\" is a required property")),
            "{mismatch}"
        );
    }

    #[test]
    fn documents_are_answered_as_they_are_stored_or_with_their_problems() {
        let check = |document: Value| ask(&json!({ "ask": "documents", "documents": [document] }));

        let stored = check(json!({ "title": "A\n title", "text": "a", "url": "https://A.example/#top" }));
        assert_eq!(stored["documents"][0]["title"], "A title");
        assert_eq!(stored["documents"][0]["identity"], "url https://a.example/");
        let refused = check(json!({ "title": "", "text": "a" }));
        let problem = json!({ "path": "documents[0].title", "message": "must not be empty" });
        assert_eq!(refused, json!({ "problems": [problem] }));
        let search = ask(&json!({ "ask": "search", "query": "a", "limit": 0 }));
        assert_eq!(search["problems"][0]["path"], "limit");
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
    fn prompts_and_resources_are_checked_as_on_a_server() {
        let prompt =
            json!({ "name": "p", "description": "d", "arguments": [{ "name": "a", "required": true }] });
        let resources = json!([{ "name": "r", "description": "d", "uri": "books/{isbn}" }]);
        let found = |path: &str| ask(&json!({ "ask": "resource", "resources": resources, "path": path }));

        let fits = ask(&json!({ "ask": "prompt", "prompt": prompt, "arguments": { "a": "x" } }));
        let refused = ask(&json!({ "ask": "prompt", "prompt": prompt, "arguments": {} }));

        assert_eq!(fits, json!({}));
        assert_eq!(refused["failure"]["code"], "INVALID_PARAMS");
        assert_eq!(found("books/7%207"), json!({ "index": 0, "variables": { "isbn": "7 7" } }));
        assert_eq!(found("books/.."), Value::Null);
    }

    #[test]
    fn what_is_no_request_is_said() {
        assert!(ask(&json!({ "ask": "nothing" }))["error"].is_string());
        assert_eq!(ask(&json!({ "ask": "ranges", "ranges": ["10.0.0.0/8", "nowhere"] })), json!("nowhere"));
        let is_api = ask(&json!({ "ask": "api-host", "host": "a.example", "url": "https://a.example/x" }));
        assert_eq!(is_api, json!(true));
        let permitted = ask(&json!({ "ask": "permits", "opened": ["10.0.0.0/8"], "address": "10.1.2.3" }));
        assert_eq!(permitted, json!(true));
    }
}
