//! View of a call, on the page and for its script.

use std::time::Duration;

use kitbag_access::values::invocations::{Amount, Content, Facts, Logged, Through};
use kitbag_access::values::observations::{LogEntry, Source};
use serde::Serialize;
use serde_json::value::RawValue;

use super::text;

/// Maximum bytes of a call's content on the page. The record has all of it.
const MAX_SHOWN_BYTES: usize = 4 << 10;
/// Bytes counted for a line besides its text.
const LINE_BYTES: usize = 64;

/// A call as text that is safe to show: invisible characters are replaced by codes.
#[derive(Debug, Default, Serialize)]
pub(super) struct ShownCall {
    pub(super) id: i64,
    /// RFC 3339.
    pub(super) time: String,
    pub(super) clock: String,
    pub(super) outcome: String,
    /// CSS class of the outcome's tag.
    pub(super) tone: &'static str,
    pub(super) tool: String,
    pub(super) duration: String,
    /// The caller; empty for the user's own calls.
    pub(super) user: String,
    pub(super) numbers: String,
    pub(super) lines: Vec<Line>,
    /// Notice about omitted content; empty if nothing is.
    pub(super) omitted: &'static str,
    /// Path of the page on which this call is the first.
    pub(super) page: String,
    /// Path of the full record.
    pub(super) record: String,
}

/// A labelled text of a call, such as a line of its log.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Line {
    pub(super) label: &'static str,
    pub(super) text: String,
}

impl ShownCall {
    pub(super) fn of(record: &Logged) -> Self {
        let facts = record.facts();
        let content = record.content();
        let user = if content.is_some() { String::new() } else { text::shown(facts.user).into_owned() };
        let (lines, is_clipped) = content.map_or_else(Default::default, |content| clipped(lines(content)));
        let id = facts.id;
        let log = super::path(facts.toolkit);
        Self {
            id,
            time: facts.started_at.to_string(),
            clock: facts.started_at.strftime("%-d %b %H:%M:%S").to_string(),
            outcome: outcome(&facts),
            tone: tone(facts.outcome),
            tool: text::shown(facts.tool).into_owned(),
            duration: facts.duration.map(duration).unwrap_or_default(),
            numbers: numbers(&facts),
            lines,
            omitted: match (is_clipped, facts.is_log_cut) {
                (true, _) => "More is in the record.",
                (false, true) => "Some entries were dropped: the call has logged too much.",
                (false, false) => "",
            },
            page: format!("{log}?before={}#call-{id}", id.saturating_add(1)),
            record: format!("{log}.ndjson?after={}&before={}", id.saturating_sub(1), id.saturating_add(1)),
            user,
        }
    }
}

fn outcome(facts: &Facts<'_>) -> String {
    let outcome = facts.outcome;
    facts.limit.map_or_else(|| outcome.to_owned(), |limit| format!("{outcome} ({limit})"))
}

fn tone(outcome: &str) -> &'static str {
    match outcome {
        "succeeded" | "cancelled" | "asked" => "",
        "tool-error" | "invalid-params" | "busy" | "over-limit" | "needs-consent" | "arguments-refused"
        | "result-refused" => "warn",
        _ => "bad",
    }
}

fn numbers(facts: &Facts<'_>) -> String {
    let requests = match facts.requests.get() {
        0 => "no requests".to_owned(),
        1 => "1 request".to_owned(),
        count => ranged(facts.requests, text::count(count, "request")),
    };
    let [sent, received, result] = [facts.bytes_out, facts.bytes_in, facts.result_size].map(size);
    let traffic =
        if facts.requests.get() > 0 { format!(", {sent} out, {received} in") } else { String::new() };
    let Through { client, key_name, .. } = facts.through;
    let through = match (key_name, client) {
        (Some(key), _) => format!(" · by key {}", text::shown(key)),
        (None, Some(client)) => format!(" · by client {}", text::shown(client)),
        (None, None) => String::new(),
    };
    let account = facts.account.map(|account| format!(" · as {}", text::shown(account))).unwrap_or_default();
    format!(
        "version {}{through}{account} · {requests}{traffic} · result {result}",
        text::shown(facts.version)
    )
}

fn size(amount: Amount) -> String {
    ranged(amount, text::size(amount.get()))
}

/// Formats microseconds: `0.4 ms`, `38 ms`, `1.2 s`.
fn duration(amount: Amount) -> String {
    let duration = Duration::from_micros(amount.get());
    let text = if duration < Duration::from_millis(10) {
        format!("{:.1} ms", duration.as_secs_f64() * 1e3)
    } else if duration < Duration::from_secs(1) {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    };
    ranged(amount, text.replace(".0 ", " "))
}

fn ranged(amount: Amount, text: String) -> String {
    match amount {
        Amount::Exact(_) | Amount::UpTo(0) => text,
        Amount::UpTo(_) => format!("up to {text}"),
    }
}

fn lines(content: Content<'_>) -> Vec<Line> {
    let Content { entries, detail, data, run } = content;
    let mut lines: Vec<_> = entries.iter().map(line).collect();
    lines.extend(run.map(|run| Line { label: "run of code", text: run.to_owned() }));
    lines.extend(detail.map(|detail| Line { label: "detail", text: detail.to_owned() }));
    lines.extend(data.map(|data| Line { label: "data", text: data.to_owned() }));
    lines
}

fn line(entry: &LogEntry) -> Line {
    let label = match entry.source {
        Source::Log => "",
        Source::Stdout => "stdout",
        Source::Stderr => "stderr",
    };
    let arguments: Vec<_> = entry.arguments.iter().map(|argument| plain(argument)).collect();
    Line { label, text: arguments.join(" ") }
}

/// The text of a JSON string; other JSON unchanged.
fn plain(json: &RawValue) -> String {
    serde_json::from_str(json.get()).unwrap_or_else(|_| json.get().to_owned())
}

/// Truncates lines to the size limit. Also returns whether anything was omitted.
fn clipped(lines: Vec<Line>) -> (Vec<Line>, bool) {
    let mut left = MAX_SHOWN_BYTES;
    let mut shown = Vec::new();
    for line in lines {
        let mut text = text::shown_lines(&line.text).into_owned();
        let Some(room) = left.checked_sub(LINE_BYTES) else { return (shown, true) };
        if text.len() > room {
            text.truncate(text.floor_char_boundary(room));
            if !text.is_empty() {
                shown.push(Line { text, ..line });
            }
            return (shown, true);
        }
        left = room - text.len();
        shown.push(Line { text, ..line });
    }
    (shown, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_for_people_and_ranges_of_others_say_so() {
        for (amount, expected) in [
            (Amount::Exact(400), "0.4 ms"),
            (Amount::Exact(38_400), "38 ms"),
            (Amount::Exact(30_000_000), "30 s"),
            (Amount::Exact(1_234_000), "1.2 s"),
            (Amount::UpTo(100_000), "up to 100 ms"),
            (Amount::UpTo(10_000_000), "up to 10 s"),
        ] {
            assert_eq!(duration(amount), expected);
        }
        assert_eq!(size(Amount::UpTo(0)), "0 B");
        assert_eq!(size(Amount::Exact(1400)), "1.4 kB");
    }

    #[test]
    fn content_is_shown_up_to_a_bound_and_what_nobody_sees_as_codes() {
        let line = |text: &str| Line { label: "", text: text.to_owned() };

        let (shown, is_clipped) = clipped(vec![line("a\nb"), line("c\u{202e}d\u{1b}[2J")]);
        assert_eq!((shown, is_clipped), (vec![line("a\nb"), line(r"c\u{202e}d\u{1b}[2J")], false));

        let (shown, is_clipped) = clipped(vec![line("first"), line(&"é".repeat(9000)), line("last")]);
        assert!(is_clipped && shown.len() == 2, "{shown:?}");
        assert!(shown.iter().map(|line| line.text.len()).sum::<usize>() <= MAX_SHOWN_BYTES);
        let (shown, is_clipped) = clipped((0..9000).map(|_| line("")).collect());
        assert!(is_clipped && shown.len() == MAX_SHOWN_BYTES / LINE_BYTES, "{}", shown.len());
    }

    #[test]
    fn an_argument_is_its_text_or_its_json() {
        let argument = |json: &str| plain(&RawValue::from_string(json.to_owned()).expect("JSON"));

        assert_eq!(argument(r#""a\"b""#), "a\"b");
        assert_eq!(argument(r#"{"count":3}"#), r#"{"count":3}"#);
    }
}
