//! The tool `diff`: compares two texts line by line.

use kitbag_toolkit::prelude::*;
use similar::{ChangeTag, TextDiff};

/// Maximum lines of context around a change. With more, a diff would repeat the whole text.
const MAX_CONTEXT: usize = 100;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct DiffArgs {
    /// The text before.
    before: String,
    /// The text after.
    after: String,
    /// How many unchanged lines to show around each change.
    #[serde(default = "three")]
    #[schemars(range(max = MAX_CONTEXT))]
    context: usize,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Difference {
    /// Whether the two texts are the same.
    identical: bool,
    /// Lines that are only in the text after.
    added: usize,
    /// Lines that are only in the text before.
    removed: usize,
    /// The unified diff; empty if the two texts are the same.
    diff: String,
}

pub(crate) async fn diff(args: DiffArgs, _ctx: Ctx) -> Result<Structured<Difference>> {
    let diff = TextDiff::from_lines(&args.before, &args.after);
    let lines = |tag: ChangeTag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let difference = Difference {
        identical: args.before == args.after,
        added: lines(ChangeTag::Insert),
        removed: lines(ChangeTag::Delete),
        diff: diff.unified_diff().context_radius(args.context).header("before", "after").to_string(),
    };
    let text =
        if difference.identical { "The texts are identical.".to_owned() } else { difference.diff.clone() };
    Ok(Structured::new(text, difference))
}

fn three() -> usize {
    3
}

#[cfg(test)]
mod tests {
    use kitbag_toolkit::prelude::*;

    use crate::toolkit;

    fn diff(arguments: Value) -> Outcome {
        dispatch(&toolkit(), Call::new("diff").args(arguments))
    }

    #[test]
    fn a_change_is_shown_as_diff_u_shows_it() {
        let outcome = diff(json!({ "before": "a\nb\nc\n", "after": "a\nB\nc\n" }));

        assert_eq!(outcome.text(), "--- before\n+++ after\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
        assert_eq!(
            outcome.structured(),
            &json!({ "identical": false, "added": 1, "removed": 1, "diff": outcome.text() })
        );
    }

    #[test]
    fn the_context_is_as_wide_as_asked() {
        let outcome = diff(json!({ "before": "a\nb\nc\n", "after": "a\nB\nc\n", "context": 0 }));

        assert_eq!(outcome.text(), "--- before\n+++ after\n@@ -2 +2 @@\n-b\n+B\n");
    }

    #[test]
    fn a_missing_line_break_at_the_end_is_a_difference() {
        let outcome = diff(json!({ "before": "a\n", "after": "a" }));

        assert_eq!(outcome.structured()["identical"], false);
        assert!(outcome.text().contains("No newline at end of file"), "{}", outcome.text());
    }

    #[test]
    fn equal_texts_are_said_to_be_equal() {
        let outcome = diff(json!({ "before": "a\n", "after": "a\n" }));

        assert_eq!(outcome.text(), "The texts are identical.");
        assert_eq!(outcome.structured(), &json!({ "identical": true, "added": 0, "removed": 0, "diff": "" }));
    }

    #[test]
    fn too_wide_a_context_is_refused() {
        let outcome = diff(json!({ "before": "", "after": "", "context": 101 }));

        assert_eq!(outcome.failure().code, ErrorCode::InvalidParams);
    }
}
