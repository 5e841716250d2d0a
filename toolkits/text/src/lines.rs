//! The tools `sort_lines` and `dedupe_lines`.

use std::cmp::Ordering;
use std::collections::HashSet;

use kitbag_toolkit::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct SortArgs {
    /// The lines to sort.
    text: String,
    /// What to sort by.
    #[serde(default)]
    by: SortKey,
    /// Whether to sort in descending order.
    #[serde(default)]
    descending: bool,
}

#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SortKey {
    /// Alphabetically; ignores case.
    #[default]
    Text,
    /// The number that a line begins with; lines without one come last.
    Number,
    /// The number of characters in a line.
    Length,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct DedupeArgs {
    /// The lines to deduplicate.
    text: String,
    /// Whether lines that differ in case or in white space at their ends count as the same.
    #[serde(default)]
    loose: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Deduped {
    /// The remaining text.
    text: String,
    /// Number of lines removed.
    removed: usize,
}

pub(crate) async fn sort_lines(args: SortArgs, _ctx: Ctx) -> Result<String> {
    let mut lines: Vec<&str> = args.text.lines().collect();
    // Stable in both directions: lines that compare equal keep their order.
    match args.by {
        SortKey::Text => sort(&mut lines, str::to_lowercase, String::cmp, args.descending),
        SortKey::Length => sort(&mut lines, |line| line.graphemes(true).count(), usize::cmp, args.descending),
        SortKey::Number => {
            let unnumbered: Vec<_> = lines.extract_if(.., |line| leading_number(line).is_none()).collect();
            let number = |line: &str| leading_number(line).expect("lines without a number were taken out");
            sort(&mut lines, number, f64::total_cmp, args.descending);
            lines.extend(unnumbered);
        }
    }
    Ok(lines.join("\n"))
}

pub(crate) async fn dedupe_lines(args: DedupeArgs, _ctx: Ctx) -> Result<Structured<Deduped>> {
    let mut seen = HashSet::new();
    let (kept, repeated): (Vec<_>, Vec<_>) = args.text.lines().partition(|line| {
        let key = if args.loose { line.trim().to_lowercase() } else { (*line).to_owned() };
        seen.insert(key)
    });
    let text = kept.join("\n");
    Ok(Structured::new(text.clone(), Deduped { text, removed: repeated.len() }))
}

fn sort<K>(
    lines: &mut [&str],
    key: impl Fn(&str) -> K,
    compare: impl Fn(&K, &K) -> Ordering,
    descending: bool,
) {
    lines.sort_by(|a, b| {
        let order = compare(&key(a), &key(b));
        if descending { order.reverse() } else { order }
    });
}

fn leading_number(line: &str) -> Option<f64> {
    let line = line.trim_start();
    let end =
        line.find(|character: char| !matches!(character, '0'..='9' | '.' | '-' | '+')).unwrap_or(line.len());
    line[..end].trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use kitbag_toolkit::prelude::*;

    use crate::toolkit;

    fn call(tool: &str, arguments: Value) -> Outcome {
        dispatch(&toolkit(), Call::new(tool).args(arguments))
    }

    #[test]
    fn lines_are_sorted_without_regard_to_case() {
        assert_eq!(call("sort_lines", json!({ "text": "pear\nApple\nfig\n" })).text(), "Apple\nfig\npear");
    }

    #[test]
    fn numbers_are_sorted_by_value_and_other_lines_stay_at_the_end() {
        let sorted = |descending: bool| {
            let text = "10. ten\nnone\n-2 minus\n9.5 more";
            call("sort_lines", json!({ "text": text, "by": "number", "descending": descending }))
                .text()
                .to_owned()
        };

        assert_eq!(sorted(false), "-2 minus\n9.5 more\n10. ten\nnone");
        assert_eq!(sorted(true), "10. ten\n9.5 more\n-2 minus\nnone");
    }

    #[test]
    fn lines_of_one_length_keep_their_order() {
        let outcome =
            call("sort_lines", json!({ "text": "bb\naaa\naa\na", "by": "length", "descending": true }));

        assert_eq!(outcome.text(), "aaa\nbb\naa\na");
    }

    #[test]
    fn the_first_of_repeated_lines_stays() {
        let strict = call("dedupe_lines", json!({ "text": "a\nb\na\nA \n" }));
        let loose = call("dedupe_lines", json!({ "text": "a\nb\na\nA \n", "loose": true }));

        assert_eq!(strict.structured(), &json!({ "text": "a\nb\nA ", "removed": 1 }));
        assert_eq!(loose.structured(), &json!({ "text": "a\nb", "removed": 2 }));
    }
}
