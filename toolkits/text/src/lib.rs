//! Text utilities: counting, comparing and tidying. Pure functions; nothing leaves the sandbox.

mod count;
mod diff;
mod lines;
mod links;

use kitbag_toolkit::prelude::*;

kitbag_toolkit::export!(toolkit);

/// The toolkit's definition.
pub fn toolkit() -> Toolkit {
    Toolkit::new("text", "Text utilities")
        .description("Counts, compares and tidies text exactly, where a model can only estimate.")
        .icon("✂️")
        .version(env!("CARGO_PKG_VERSION"))
        .visibility(Visibility::Shared)
        .tool(
            Tool::new("count", count::count)
                .title("Count words")
                .description(
                    "Counts the words, characters, lines, sentences and paragraphs of a text. Use it \
                     whenever a length matters: the numbers are exact, in every language.",
                )
                .idempotent_hint(true),
        )
        .tool(
            Tool::new("diff", diff::diff)
                .title("Compare two texts")
                .description("Compares two texts line by line and returns a unified diff, as `diff -u` and Git write it.")
                .idempotent_hint(true),
        )
        .tool(
            Tool::new("extract_links", links::extract_links)
                .title("Extract links")
                .description(
                    "Lists the web links and e-mail addresses of a text, each once, in the order of \
                     their first appearance. Links are not opened.",
                )
                .idempotent_hint(true),
        )
        .tool(
            Tool::new("sort_lines", lines::sort_lines)
                .title("Sort lines")
                .description("Sorts the lines of a text: alphabetically, by the number each begins with, or by length.")
                .idempotent_hint(true),
        )
        .tool(
            Tool::new("dedupe_lines", lines::dedupe_lines)
                .title("Remove repeated lines")
                .description("Removes repeated lines from a text; the first of each stays where it is.")
                .idempotent_hint(true),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_keeps_every_rule() {
        toolkit().check().expect("the declaration is valid");
    }

    #[test]
    fn arguments_that_do_not_fit_never_reach_a_handler() {
        let outcome = dispatch(&toolkit(), Call::new("count").args(json!({ "text": 7 })));

        assert_eq!(outcome.failure().code, ErrorCode::InvalidParams);
        let error = &outcome.failure().error;
        assert!(error.starts_with("Invalid arguments: /text: "), "{error}");
    }
}
