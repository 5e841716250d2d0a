//! The difference between two texts by lines, within a budget: authors decide how long the texts are.

use std::time::{Duration, Instant};

use kitbag_base::bounded_json;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Maximum time for all texts of one difference. Beyond it, changes are found less precisely, but none is
/// missed.
const MAX_TIME: Duration = Duration::from_millis(200);
/// Maximum size of text that is compared line by line, in bytes; larger text is shown as replaced.
const MAX_COMPARED_BYTES: usize = 256 << 10;
/// Maximum number of lines shown per text.
const MAX_LINES: usize = 1000;
/// Maximum length of a shown line, in characters.
const MAX_LINE_CHARS: usize = 2000;
/// Maximum size of the text that one difference shows, in bytes.
const MAX_SHOWN_BYTES: usize = 512 << 10;
/// Number of unchanged lines shown around each change.
const CONTEXT_LINES: usize = 3;

/// A text that differs between two versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TextChange {
    /// Name of the field: `description`, `inputSchema`, …
    pub name: String,
    /// Changed lines and the lines around them.
    pub lines: Vec<Line>,
    /// Number of lines that are cut or omitted, because there are too many or they are too long.
    pub left_out: usize,
}

/// A line of a text that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The version or versions that have the line.
    pub kind: LineKind,
    /// Text without the line end.
    pub text: String,
}

/// The version or versions that have a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// Only the newer version has the line.
    Added,
    /// Only the older version has the line.
    Removed,
    /// Both versions have the line.
    Kept,
    /// Placeholder for omitted lines that are the same in both versions.
    Gap,
}

/// Remaining time and bytes of one difference.
pub(super) struct Budget {
    deadline: Instant,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { deadline: Instant::now() + MAX_TIME, bytes: MAX_SHOWN_BYTES }
    }
}

impl Budget {
    /// Returns the texts of `after` that differ from those of the same name in `before`, which may lack some.
    pub(super) fn differing(
        &mut self,
        before: &[(&'static str, String)],
        after: &[(&'static str, String)],
    ) -> Vec<TextChange> {
        let of = |name: &str| {
            let named = before.iter().find(|(found, _)| *found == name);
            named.map_or("", |(_, text)| text.as_str())
        };
        let differing = after.iter().filter(|(name, text)| of(name) != text);
        differing.map(|(name, text)| self.change(name, of(name), text)).collect()
    }

    fn change(&mut self, name: &str, before: &str, after: &str) -> TextChange {
        let mut shown = TextChange { name: name.to_owned(), lines: Vec::new(), left_out: 0 };
        if before.len().max(after.len()) > MAX_COMPARED_BYTES {
            for (kind, text) in [(LineKind::Removed, before), (LineKind::Added, after)] {
                text.lines().for_each(|line| self.push(&mut shown, kind, line));
            }
            return shown;
        }
        let diff = TextDiff::configure().deadline(self.deadline).diff_lines(before, after);
        for (index, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
            if index > 0 {
                self.push(&mut shown, LineKind::Gap, "");
            }
            for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
                let kind = match change.tag() {
                    ChangeTag::Equal => LineKind::Kept,
                    ChangeTag::Delete => LineKind::Removed,
                    ChangeTag::Insert => LineKind::Added,
                };
                let line: &str = change.value();
                self.push(&mut shown, kind, line.strip_suffix('\n').unwrap_or(line));
            }
        }
        shown
    }

    fn push(&mut self, shown: &mut TextChange, kind: LineKind, line: &str) {
        let end = line.char_indices().nth(MAX_LINE_CHARS).map_or(line.len(), |(end, _)| end);
        let mut text = line[..end].to_owned();
        if end < line.len() {
            text.push('…');
            shown.left_out += 1;
        }
        // Each line takes a little more memory than its text.
        let taken = text.len() + 16;
        if shown.lines.len() >= MAX_LINES || taken > self.bytes {
            shown.left_out += usize::from(end == line.len());
            return;
        }
        self.bytes -= taken;
        shown.lines.push(Line { kind, text });
    }
}

/// Formats JSON with one line per member, or on one line if that would be too long.
pub(super) fn json_text(value: &Value) -> String {
    bounded_json::indented(value, MAX_COMPARED_BYTES)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::json;

    use super::*;

    fn change(before: &str, after: &str) -> TextChange {
        Budget::default().change("text", before, after)
    }

    /// Formats lines with their text and a sign: `+` added, `-` removed, ` ` unchanged, `@` gap.
    fn lines(change: &TextChange) -> Vec<String> {
        let sign = |kind| match kind {
            LineKind::Added => '+',
            LineKind::Removed => '-',
            LineKind::Kept => ' ',
            LineKind::Gap => '@',
        };
        change.lines.iter().map(|line| format!("{}{}", sign(line.kind), line.text)).collect()
    }

    #[test]
    fn changed_lines_stand_between_those_around_them() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12";
        let after = "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\ntwelve";

        let found = lines(&change(before, after));

        assert_eq!(found, ["-1", "+one", " 2", " 3", " 4", "@", " 9", " 10", " 11", "-12", "+twelve"]);
        assert_eq!(lines(&change("", "a\nb")), ["+a", "+b"]);
        assert_eq!(lines(&change("a", "a\n")), ["-a", "+a"], "the end of a text counts");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let long = "x".repeat(MAX_LINE_CHARS + 1);
        let cut = change("", &format!("{long}\nend"));
        assert_eq!((cut.left_out, cut.lines.len()), (1, 2));
        assert!(cut.lines[0].text.ends_with("x…"));

        let many = change("", &"line\n".repeat(MAX_LINES + 7));
        assert_eq!((many.left_out, many.lines.len()), (7, MAX_LINES));

        let mut budget = Budget { bytes: 40, ..Budget::default() };
        let starved = budget.change("text", "", "0123456789\n0123456789\n");
        assert_eq!((starved.left_out, starved.lines.len()), (1, 1));
    }

    #[test]
    fn text_made_to_be_slow_to_compare_takes_a_bounded_time_and_space() {
        let numbered = |prefix: &str| {
            (0..20_000).fold(String::new(), |mut text, line| {
                writeln!(text, "{prefix}{}", line * 7919 % 20_000).expect("a string takes everything");
                text
            })
        };
        let began = Instant::now();
        let different = change(&numbered("a"), &numbered("b"));
        let large = change("a", &"line\n".repeat(MAX_COMPARED_BYTES));

        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        assert_eq!(different.lines.len(), MAX_LINES);
        assert!(different.left_out > 30_000 && large.left_out > 200_000);
    }

    #[test]
    fn nested_json_does_not_grow_by_its_indentation() {
        let nested = (0..100).fold(json!(vec![1; 50_000]), |inner, _| json!([inner]));

        assert!(json_text(&nested).len() < MAX_COMPARED_BYTES);
        assert_eq!(json_text(&json!({ "a": [1] })), "{\n  \"a\": [\n    1\n  ]\n}");
    }
}
