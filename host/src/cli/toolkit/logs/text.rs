//! A record as a person reads it at a terminal.

use serde_json::Value;

use crate::cli::terminal::{Text, text};

/// One line about the call, then those for each thing that is known of it. Without a line end.
pub(super) fn record(record: &Value) -> Text {
    let field = |name: &str| record[name].as_str().unwrap_or_default();
    let mut text = text!(
        "{}  {} {}  {}  {} ms  {}",
        field("startedAt"),
        field("tool"),
        field("version"),
        outcome(record),
        record["durationMs"].to_string(),
        field("user"),
    );
    let mut add = |label: &str, value: &str| {
        text.push(&text!("\n    {}{}", label, Text::indented(value, 6)));
    };
    for entry in record["entries"].as_array().into_iter().flatten() {
        let arguments: Vec<_> = entry["arguments"].as_array().into_iter().flatten().map(argument).collect();
        let label = match entry["source"].as_str() {
            Some("stdout") => "stdout: ",
            Some("stderr") => "stderr: ",
            _ => "",
        };
        add(label, &arguments.join(" "));
    }
    match record["dropped"].as_u64() {
        None | Some(0) => {}
        Some(1) => add("", "(1 more entry was dropped)"),
        Some(count) => add("", &format!("({count} more entries were dropped)")),
    }
    if let Some(detail) = record["detail"].as_str() {
        add("detail: ", detail);
    }
    if !record["data"].is_null() {
        add("data: ", &argument(&record["data"]));
    }
    if record["requests"].as_u64() > Some(0) {
        let (sent, received) = (&record["bytesOut"], &record["bytesIn"]);
        add("requests: ", &format!("{}, {sent} bytes out, {received} bytes in", record["requests"]));
    }
    text
}

fn outcome(record: &Value) -> String {
    let outcome = record["outcome"].as_str().unwrap_or_default();
    record["limit"].as_str().map_or_else(|| outcome.to_owned(), |limit| format!("{outcome} ({limit})"))
}

fn argument(argument: &Value) -> String {
    argument.as_str().map_or_else(|| argument.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_one_line_and_its_content_below() {
        let text = record(&json!({
            "id": 7, "startedAt": "2026-01-31T12:00:00.5Z", "toolkit": "books", "version": "1.0.0",
            "tool": "find", "user": "ana", "durationMs": 3.25, "outcome": "limit", "limit": "memory limit",
            "requests": 1, "bytesOut": 0, "bytesIn": 20, "resultSize": 0, "detail": "one\ntwo",
            "data": { "page": 3 }, "dropped": 2,
            "entries": [
                { "source": "log", "arguments": ["found", { "count": 3 }] },
                { "source": "stderr", "arguments": ["\u{1b}[2J gone"] },
            ],
        }));

        let expected = [
            "2026-01-31T12:00:00.5Z  find 1.0.0  limit (memory limit)  3.25 ms  ana",
            r#"    found {"count":3}"#,
            r"    stderr: \u{1b}[2J gone",
            "    (2 more entries were dropped)",
            "    detail: one",
            "      two",
            r#"    data: {"page":3}"#,
            "    requests: 1, 0 bytes out, 20 bytes in",
        ];
        assert_eq!(text.as_str(), expected.join("\n"));
    }

    #[test]
    fn of_a_call_of_another_there_is_the_line_alone() {
        let text = record(&json!({
            "startedAt": "2026-01-31T12:00:00Z", "version": "1.0.0", "tool": "find", "user": "ben",
            "durationMs": 1, "outcome": "succeeded", "requests": 0, "dropped": 0,
        }));

        assert_eq!(text.as_str(), "2026-01-31T12:00:00Z  find 1.0.0  succeeded  1 ms  ben");
    }
}
