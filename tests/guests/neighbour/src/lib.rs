//! Uses the knowledge base like the probe, but with another id and so as another source.

#[path = "../../probe/src/knowledge.rs"]
mod knowledge;

use guest_support::{Invocation, Outcome, ToolkitDefinition, definition, tool, unknown};

guest_support::toolkit!(describe, call);

fn describe() -> ToolkitDefinition {
    let tools = vec![
        tool("search", "Searches for {query} with {limit?, source?, author?}."),
        tool("get_document", "Returns the document {id}."),
        tool("ingest", "Stores {documents}; returns how many."),
    ];
    let scopes = ["svc:search", "svc:ingest"].map(str::to_owned).into();
    ToolkitDefinition { scopes, ..definition("neighbour", tools) }
}

fn call(invocation: &Invocation) -> Outcome {
    match invocation.tool.as_str() {
        "search" => knowledge::search(invocation),
        "get_document" => knowledge::get_document(invocation),
        "ingest" => knowledge::ingest(invocation),
        other => unknown(other),
    }
}
