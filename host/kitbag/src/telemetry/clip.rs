//! Bounds the length of log lines.

use std::borrow::Cow;

use kitbag_base::visible;
use serde_json::{Value, json};

/// Maximum length of a line that is written as it is, in bytes.
const MAX_LINE_BYTES: usize = 4 << 10;
/// Maximum lengths of a text in a JSON line, in bytes, tried in this order until the line is short enough.
const MAX_TEXT_BYTES: [usize; 3] = [1 << 10, 256, 64];

/// Cuts a line of text.
pub(super) fn text(line: Cow<'_, str>) -> Cow<'_, str> {
    match cut(&line, MAX_LINE_BYTES) {
        Some(short) => Cow::Owned(short),
        None => line,
    }
}

/// Cuts the texts of a line that is a JSON object.
pub(super) fn json(line: Cow<'_, str>) -> Cow<'_, str> {
    if line.len() <= MAX_LINE_BYTES {
        return line;
    }
    let mut event = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "message": line.as_ref() }));
    for max_bytes in MAX_TEXT_BYTES {
        cut_texts(&mut event, max_bytes);
        let short = visible::json(&event.to_string()).into_owned();
        if short.len() <= MAX_LINE_BYTES {
            return Cow::Owned(short);
        }
    }
    Cow::Owned(json!({ "message": "an event was too long for the log", "bytes": line.len() }).to_string())
}

fn cut_texts(value: &mut Value, max_bytes: usize) {
    match value {
        Value::String(text) => {
            if let Some(short) = cut(text, max_bytes) {
                *text = short;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|it| cut_texts(it, max_bytes)),
        Value::Object(members) => members.values_mut().for_each(|it| cut_texts(it, max_bytes)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the beginning of a text that is longer, with the number of bytes that it lacks.
fn cut(text: &str, max_bytes: usize) -> Option<String> {
    if text.len() <= max_bytes {
        return None;
    }
    let beginning = &text[..text.floor_char_boundary(max_bytes)];
    Some(format!("{beginning}… ({} bytes left out)", text.len() - beginning.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length of a note that something was left out, in bytes.
    const NOTE_BYTES: usize = 64;

    #[test]
    fn no_line_is_longer_than_its_limit_whatever_a_text_consists_of() {
        for part in ["x", "é", "\u{1b}", "\u{202e}", "\"", "\\", "\u{10ffff}"] {
            let foreign = part.repeat(26 << 10);
            let line = text(visible::line(&format!("WARN refused cause={foreign}")).into_owned().into())
                .into_owned();
            assert!(line.len() <= MAX_LINE_BYTES + NOTE_BYTES, "{part:?}: {}", line.len());
            assert!(
                line.starts_with("WARN refused cause=") && line.ends_with(" bytes left out)"),
                "{part:?}"
            );

            let event = json!({ "level": "WARN", "message": "refused", "cause": foreign, "list": [foreign], "id": 7 });
            let line = json(visible::json(&event.to_string()).into_owned().into()).into_owned();
            assert!(line.len() <= MAX_LINE_BYTES, "{part:?}: {}", line.len());
            let shown: Value = serde_json::from_str(&line).expect("it is JSON still");
            assert_eq!((&shown["message"], &shown["id"]), (&json!("refused"), &json!(7)));
            let cause = shown["cause"].as_str().expect("a text");
            assert!(cause.starts_with(part) && cause.ends_with(" bytes left out)"), "{part:?}: {cause}");
        }
    }

    #[test]
    fn a_line_that_is_short_enough_is_written_as_it_is() {
        let long = "x".repeat(MAX_LINE_BYTES - 100);
        let event = format!(r#"{{"message":"{long}"}}"#);

        assert_eq!(text(Cow::Borrowed(&long)), long);
        assert_eq!(json(Cow::Borrowed(&event)), event);
        let many: serde_json::Map<_, _> = (0..200).map(|it| (it.to_string(), json!(long))).collect();
        let shown = json(Value::Object(many).to_string().into());
        assert!(shown.contains("too long") && shown.len() < 100, "{shown}");
    }
}
