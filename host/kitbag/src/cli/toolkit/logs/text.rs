//! Text format of a call record.

use serde_json::Value;

use crate::cli::terminal::{Text, text};

/// Formats a record: one line for the call, then one per detail. Without a final line break.
pub(super) fn record(record: &Value) -> Text {
    let field = |name: &str| record[name].as_str().unwrap_or_default();
    let mut text = text!(
        "{}  {} {}  {}  {}{}{}{}",
        field("startedAt"),
        field("tool"),
        field("version"),
        outcome(record),
        duration(record),
        field("user"),
        through(record),
        account(record),
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
    if record["isLogCut"] == true {
        add("", "(some entries were dropped)");
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
    let [requests, sent, received] = ["requests", "bytesOut", "bytesIn"].map(|name| number(&record[name]));
    if requests != "0" && requests != "null" {
        add("requests: ", &format!("{requests}, {sent} bytes out, {received} bytes in"));
    }
    text
}

/// Formats through what the user called; empty for a browser.
fn through(record: &Value) -> String {
    let of = |kind: &str, field: &str| record[field].as_str().map(|name| format!(", by {kind} {name}"));
    of("key", "keyName").or_else(|| of("client", "client")).unwrap_or_default()
}

/// Formats the duration, followed by two spaces; empty if nobody knows it.
fn duration(record: &Value) -> String {
    let duration = &record["durationMs"];
    if duration.is_null() { String::new() } else { format!("{} ms  ", number(duration)) }
}

/// Formats the account at the API; empty if it has no name.
fn account(record: &Value) -> String {
    record["account"].as_str().map(|name| format!(", as {name}")).unwrap_or_default()
}

fn outcome(record: &Value) -> String {
    let outcome = record["outcome"].as_str().unwrap_or_default();
    record["limit"].as_str().map_or_else(|| outcome.to_owned(), |limit| format!("{outcome} ({limit})"))
}

/// Formats a number, or its range (`atMost`) if the call is another user's.
fn number(number: &Value) -> String {
    match &number["atMost"] {
        Value::Null => number.to_string(),
        Value::Number(nothing) if nothing.as_u64() == Some(0) => "0".to_owned(),
        at_most => format!("up to {at_most}"),
    }
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
            "tool": "find", "user": "ana", "client": "codex", "durationMs": 3.25, "outcome": "limit", "limit": "memory limit",
            "requests": 1, "bytesOut": 0, "bytesIn": 20, "resultSize": 0, "detail": "one\ntwo",
            "data": { "page": 3 }, "dropped": 2,
            "entries": [
                { "source": "log", "arguments": ["found", { "count": 3 }] },
                { "source": "stderr", "arguments": ["\u{1b}[2J gone"] },
            ],
        }));

        let expected = [
            "2026-01-31T12:00:00.5Z  find 1.0.0  limit (memory limit)  3.25 ms  ana, by client codex",
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
    fn of_a_call_of_another_there_are_ranges_in_place_of_numbers() {
        let text = record(&json!({
            "startedAt": "2026-01-31T12:00:00Z", "version": "1.0.0", "tool": "find", "user": "ben",
            "durationMs": { "atMost": 100 }, "outcome": "succeeded", "requests": { "atMost": 10 },
            "bytesOut": { "atMost": 0 }, "bytesIn": { "atMost": 65536 }, "resultSize": { "atMost": 0 },
            "isLogCut": true,
        }));

        let expected = [
            "2026-01-31T12:00:00Z  find 1.0.0  succeeded  up to 100 ms  ben",
            "    (some entries were dropped)",
            "    requests: up to 10, 0 bytes out, up to 65536 bytes in",
        ];
        assert_eq!(text.as_str(), expected.join("\n"));
    }

    #[test]
    fn of_an_interrupted_call_no_duration_is_said() {
        let text = record(&json!({
            "startedAt": "2026-01-31T12:00:00Z", "version": "1.0.0", "tool": "find", "user": "ben", "account": "ben@crm\u{7}",
            "outcome": "interrupted", "requests": { "atMost": 0 }, "isLogCut": false,
        }));

        assert_eq!(text.as_str(), r"2026-01-31T12:00:00Z  find 1.0.0  interrupted  ben, as ben@crm\u{7}");
    }

    #[test]
    fn of_a_quiet_call_of_another_there_is_the_line_alone() {
        let text = record(&json!({
            "startedAt": "2026-01-31T12:00:00Z", "version": "1.0.0", "tool": "find", "user": "ben",
            "durationMs": { "atMost": 100 }, "outcome": "succeeded", "requests": { "atMost": 0 },
            "isLogCut": false, "key": "k1", "keyName": "nightly",
        }));

        assert_eq!(
            text.as_str(),
            "2026-01-31T12:00:00Z  find 1.0.0  succeeded  up to 100 ms  ben, by key nightly"
        );
    }
}
