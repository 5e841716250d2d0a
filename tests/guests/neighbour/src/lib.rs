//! Uses the knowledge base and the cache like the probe, but with another id and so as another source.

#[path = "../../probe/src/cache.rs"]
mod cache;
#[path = "../../probe/src/knowledge.rs"]
mod knowledge;

use guest_support::{Invocation, Outcome, ToolkitDefinition, definition, tool, unknown};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    let tools = vec![
        tool("search", "Searches for {query} with {limit?, source?, author?}."),
        tool("get_document", "Returns the document {id}."),
        tool("ingest", "Stores {documents}; returns how many."),
        tool("cache_get", "Returns what is cached under {key}; null when there is nothing."),
        tool("cache_set", "Caches {value}, {repeat?} times over, under {key} for {seconds?}."),
        tool("cache_delete", "Removes what is cached under {key}."),
        tool(
            "cache_fill",
            "Caches {count} values of {bytes}; returns how many until a refusal, and that one.",
        ),
    ];
    let scopes = ["svc:search", "svc:ingest", "svc:cache"].map(str::to_owned).into();
    ToolkitDefinition { scopes, ..definition("neighbour", tools) }
}

fn call(invocation: &Invocation) -> Outcome {
    match invocation.tool.as_str() {
        "search" => knowledge::search(invocation),
        "get_document" => knowledge::get_document(invocation),
        "ingest" => knowledge::ingest(invocation),
        "cache_get" => cache::get(invocation),
        "cache_set" => cache::set(invocation),
        "cache_delete" => cache::delete(invocation),
        "cache_fill" => cache::fill(invocation),
        other => unknown(other),
    }
}
