//! Highlights query words in a snippet.

use std::ops::Range;

use crate::cli::terminal::{Screen, Text, text};

/// Formats the passage as one line, with the matches found by the server in bold. Matches are ranges in
/// characters, ascending and disjoint; others are ignored.
pub(super) fn mark(passage: &str, found: &[Range<usize>], screen: Screen) -> Text {
    let mut marked = Text::default();
    let mut at = 0;
    for Range { start, end } in found.iter().cloned() {
        if start < at || end <= start {
            continue;
        }
        marked.push(&part(passage, at..start));
        marked.push(&screen.bold(&part(passage, start..end)));
        at = end;
    }
    marked.push(&part(passage, at..usize::MAX));
    marked
}

/// Formats a part of the passage as prose; adjacent white space becomes a single space.
fn part(passage: &str, range: Range<usize>) -> Text {
    let part: String = passage.chars().skip(range.start).take(range.end - range.start).collect();
    let space = |is_there| if is_there { " " } else { "" };
    let before = range.start > 0 && part.starts_with(char::is_whitespace);
    let after = range.end < usize::MAX && part.ends_with(char::is_whitespace);
    let words = Text::prose(&part);
    if words.as_str().is_empty() {
        return text!("{}", *space(before && after));
    }
    text!("{}{}{}", *space(before), words, *space(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_words_are_marked_at_a_terminal_alone_and_nothing_else_changes() {
        let passage = " Die  Häuser\nund das\u{1b}[2J Haus. ";
        let marked = |found: &[Range<usize>], screen| mark(passage, found, screen).as_str().to_owned();
        let found = [6..12, 25..29];

        assert_eq!(marked(&found, Screen::Plain), r"Die Häuser und das\u{1b}[2J Haus.");
        let bold = |word| format!("\u{1b}[1m{word}\u{1b}[0m");
        assert_eq!(
            marked(&found, Screen::Terminal),
            format!(r"Die {} und das\u{{1b}}[2J {}.", bold("Häuser"), bold("Haus"))
        );
        // Invalid ranges.
        for (start, end) in [(0, 3), (12, 6), (500, 600)] {
            let shown = marked(&[6..12, Range { start, end }], Screen::Terminal);
            assert!(shown.starts_with(&format!("Die {}", bold("Häuser"))), "{shown}");
        }
    }
}
