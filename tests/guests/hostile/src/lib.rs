//! Misbehaves in every way that a call can, with one tool for each. Declares settings and nothing else.

#![allow(clippy::unnecessary_wraps, reason = "all tools have one signature")]

mod answers;
mod crashes;
mod errors;
mod floods;
mod hoards;
mod identity;
mod logs;
mod reach;
mod remains;

use guest_support::serde_json::{Value, json};
use guest_support::{
    ConfigField, ConfigKind, Invocation, Outcome, ToolDefinition, ToolkitDefinition, definition, tool,
    unknown,
};

guest_support::toolkit!(describe, call);

/// Name, description and function of a tool.
type Misbehaviour = (&'static str, &'static str, fn(&Invocation) -> Outcome);

const MISBEHAVIOURS: &[Misbehaviour] = &[
    ("trap", "Executes an unreachable instruction.", crashes::trap),
    ("panic", "Panics with a message.", crashes::panic),
    ("exit", "Ends the program with success.", crashes::exit),
    ("spin", "Never returns, and calls nothing.", crashes::spin),
    ("recurse", "Calls itself without end.", crashes::recurse),
    (
        "recurse_with_data",
        "Calls itself without end, with 4 KiB on its stack each time.",
        crashes::recurse_with_data,
    ),
    ("eat_memory", "Allocates until that fails.", crashes::eat_memory),
    (
        "measure_memory",
        "Returns how many MiB it could allocate before it was refused.",
        crashes::measure_memory,
    ),
    ("big_result", "Returns 100 MB of text.", answers::big_result),
    ("big_picture", "Returns a picture of 5 MB.", answers::big_picture),
    ("many_pictures", "Returns 50,000 pictures with nothing in them.", answers::many_pictures),
    ("invalid_utf8", "Returns text that is not UTF-8.", answers::invalid_utf8),
    ("invalid_json", "Returns a structured value that is not JSON.", answers::invalid_json),
    ("deep_json", "Returns a structured value nested a hundred thousand times.", answers::deep_json),
    ("wrong_output", "Returns what does not match its output schema.", answers::wrong_output),
    ("undeclared_output", "Returns a structured value without an output schema.", answers::undeclared_output),
    ("failure", "Fails with a detail that is for the log alone.", errors::failure),
    ("tool_error", "Fails with a message for the model and data for the log.", errors::tool_error),
    ("invalid_params", "Says that its arguments are wrong.", errors::invalid_params),
    ("log_ok", "Writes a few entries to the log, standard output and standard error.", logs::log_ok),
    ("log_flood", "Writes 10 MB to the log.", logs::log_flood),
    ("report_for_ever", "Reports progress without end.", logs::report_for_ever),
    ("log_for_ever", "Writes to the log without end.", logs::log_for_ever),
    ("stdout_flood", "Writes 10 MB to standard output.", logs::stdout_flood),
    ("stdout_one_line", "Writes 10 MB to standard output without ending the line.", logs::stdout_one_line),
    ("half_a_line", "Writes half a line, and waits an hour.", logs::half_a_line),
    ("random_for_ever", "Asks for random bytes without end.", floods::random_for_ever),
    ("random_at_once", "Asks for more random bytes than there is memory.", floods::random_at_once),
    ("clock_for_ever", "Reads the clocks without end.", floods::clock_for_ever),
    ("poll_for_ever", "Polls hundreds of pollables without end.", floods::poll_for_ever),
    (
        "hoard",
        "Fills {mib} MiB of memory, waits, and returns how many are still as they were.",
        crashes::hoard,
    ),
    (
        "hoard_resources",
        "Holds {count} resources of the kind {kind} for two seconds, each as large as it can be.",
        hoards::hoard_resources,
    ),
    (
        "leave_marks",
        "Writes marks into its stack, its variables and {mib} MiB of new memory, and returns how many there are.",
        remains::leave_marks,
    ),
    (
        "count_marks",
        "Returns how many marks there are in its memory and {mib} MiB of new memory.",
        remains::count_marks,
    ),
    ("remember", "Returns how often this instance was called.", identity::remember),
    ("whoami", "Returns the user's id and settings.", identity::whoami),
    ("sleep_poll", "Waits an hour inside a host call.", reach::sleep_poll),
    ("resource_flood", "Opens pollables without end.", reach::resource_flood),
    ("read_env", "Returns its environment and arguments.", reach::read_env),
    (
        "read_files",
        "Returns what it could read and write of the file system and standard input.",
        reach::read_files,
    ),
];

fn describe() -> ToolkitDefinition {
    let tools = MISBEHAVIOURS
        .iter()
        .map(|(name, description, _)| ToolDefinition {
            output_schema: output_schema(name),
            ..tool(name, description)
        })
        .collect();

    ToolkitDefinition {
        config: [
            setting("language", ConfigKind::String, Some(json!("en")), &[]),
            setting("limit", ConfigKind::Number, None, &[]),
            setting("adult", ConfigKind::Boolean, Some(json!(false)), &[]),
            setting("order", ConfigKind::Select, Some(json!("newest")), &["newest", "oldest"]),
        ]
        .into(),
        ..definition("hostile", tools)
    }
}

fn call(invocation: &Invocation) -> Outcome {
    let found = MISBEHAVIOURS.iter().find(|(name, ..)| *name == invocation.tool);
    found.map_or_else(|| unknown(&invocation.tool), |(_, _, misbehave)| misbehave(invocation))
}

fn output_schema(tool: &str) -> Option<Value> {
    match tool {
        "wrong_output" => Some(answers::count_schema()),
        "invalid_json" | "deep_json" | "remember" | "whoami" | "read_env" | "read_files" => {
            Some(json!({ "type": "object" }))
        }
        _ => None,
    }
}

fn setting(key: &str, kind: ConfigKind, default: Option<Value>, options: &[&str]) -> (String, ConfigField) {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    (key.to_owned(), ConfigField { kind, label: key.to_owned(), default, options, ..ConfigField::default() })
}
