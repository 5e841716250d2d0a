//! Calls each capability directly, and returns what the host answered: its value, or its error as the text of
//! a tool error.
//!
//! It declares everything that can be declared, so that tests see what the host refuses even then.

mod asking;
mod cache;
mod knowledge;
mod network;
mod vault;

use guest_support::serde_json::json;
use guest_support::{
    Invocation, Outcome, ToolDefinition, ToolkitDefinition, definition, http, text, tool, unknown,
};

guest_support::toolkit!(describe, call);

/// Hosts that the probe declares. The first is for tests with their own name resolution, the next two are for
/// a server on this machine. The last one, the metadata address of clouds, is refused although it is listed.
const EGRESS: [&str; 4] = ["upstream.test:80", "127.0.0.1:18999", "localhost:18999", "169.254.169.254"];

const SECRETS: [&str; 2] = ["API_KEY", "OTHER_KEY"];

const SCOPES: [&str; 5] = ["svc:search", "svc:collections", "svc:ingest", "svc:ask", "svc:cache"];

fn describe() -> ToolkitDefinition {
    let tools = vec![
        tool("nothing", "Returns at once, and uses no capability."),
        tool("fetch", "Sends {method?, url, headers?, body?, …}; returns status, headers and body."),
        tool("fetch_many", "Sends {count} requests to {url} at once; returns each status or error."),
        tool(
            "fetch_in_turn",
            "Sends {count} requests to {url}; returns how often each status or error came.",
        ),
        tool("secret", "Returns the secret {name}; null when it has no value."),
        tool("leak", "Gives the secret {name} away by way of {into}, written {as}."),
        ToolDefinition {
            output_schema: Some(json!({ "type": "object" })),
            ..tool(
                "leak_structured",
                "Returns the secret {name} as a value and as a key of a structured result.",
            )
        },
        tool("search", "Searches for {query} with {limit?, source?, author?}."),
        tool("get_document", "Returns the document {id}."),
        tool("ingest", "Stores {documents}; returns how many."),
        tool("ask", "Asks {questions: [{key, message, schema}]} in turn; returns the answers."),
        tool("ask_for_ever", "Asks a new question in each run, and then another."),
        tool("cache_get", "Returns what is cached under {key}; null when there is nothing."),
        tool("cache_set", "Caches {value}, {repeat?} times over, under {key} for {seconds?}."),
        tool("cache_delete", "Removes what is cached under {key}."),
        tool(
            "cache_fill",
            "Caches {count} values of {bytes}; returns how many until a refusal, and that one.",
        ),
    ];
    ToolkitDefinition {
        egress: EGRESS.map(str::to_owned).into(),
        secrets: SECRETS.map(str::to_owned).into(),
        scopes: SCOPES.map(str::to_owned).into(),
        ..definition("probe", tools)
    }
}

fn call(invocation: &Invocation) -> Outcome {
    match invocation.tool.as_str() {
        "nothing" => text("nothing"),
        "fetch" => http::fetch(invocation),
        "fetch_many" => network::fetch_many(invocation),
        "fetch_in_turn" => network::fetch_in_turn(invocation),
        "secret" => vault::secret(invocation),
        "leak" => vault::leak(invocation),
        "leak_structured" => vault::leak_structured(invocation),
        "search" => knowledge::search(invocation),
        "get_document" => knowledge::get_document(invocation),
        "ingest" => knowledge::ingest(invocation),
        "ask" => asking::ask(invocation),
        "ask_for_ever" => asking::ask_for_ever(),
        "cache_get" => cache::get(invocation),
        "cache_set" => cache::set(invocation),
        "cache_delete" => cache::delete(invocation),
        "cache_fill" => cache::fill(invocation),
        other => unknown(other),
    }
}
