//! The tool `count`: words, characters, lines, sentences and paragraphs of a text.

use kitbag_toolkit::prelude::*;
use unicode_segmentation::UnicodeSegmentation as _;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct CountArgs {
    /// The text to count.
    text: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Counts {
    /// Words, as Unicode divides them; punctuation does not count.
    words: usize,
    /// Characters as a reader sees them: an accented letter or an emoji is one.
    characters: usize,
    /// Characters without white space.
    characters_without_spaces: usize,
    /// Size in UTF-8.
    bytes: usize,
    /// Lines, including the last one if it does not end with a line break.
    lines: usize,
    /// Sentences, as Unicode divides them.
    sentences: usize,
    /// Blocks of text with blank lines between them.
    paragraphs: usize,
}

pub(crate) async fn count(args: CountArgs, _ctx: Ctx) -> Result<Structured<Counts>> {
    let text = args.text.as_str();
    let characters = text.graphemes(true);
    let counts = Counts {
        words: text.unicode_words().count(),
        characters: characters.clone().count(),
        characters_without_spaces: characters.filter(|character| !character.trim().is_empty()).count(),
        bytes: text.len(),
        lines: text.lines().count(),
        sentences: text.unicode_sentences().count(),
        paragraphs: paragraphs(text),
    };
    let summary = format!(
        "words: {}, characters: {} ({} without spaces), lines: {}, sentences: {}, paragraphs: {}",
        counts.words,
        counts.characters,
        counts.characters_without_spaces,
        counts.lines,
        counts.sentences,
        counts.paragraphs
    );
    Ok(Structured::new(summary, counts))
}

fn paragraphs(text: &str) -> usize {
    let mut inside = false;
    text.lines()
        .filter(|line| {
            let begins = !inside && !line.trim().is_empty();
            inside = !line.trim().is_empty();
            begins
        })
        .count()
}

#[cfg(test)]
mod tests {
    use kitbag_toolkit::prelude::*;

    use crate::toolkit;

    fn counts(text: &str) -> Value {
        dispatch(&toolkit(), Call::new("count").args(json!({ "text": text }))).structured().clone()
    }

    #[test]
    fn a_text_has_its_words_lines_sentences_and_paragraphs() {
        let counts = counts("It was the best of times.\nIt was the worst.\n\nIt was 1775.\n");

        assert_eq!(
            counts,
            json!({
                "words": 13,
                "characters": 58,
                "characters_without_spaces": 44,
                "bytes": 58,
                "lines": 4,
                "sentences": 3,
                "paragraphs": 2,
            })
        );
    }

    #[test]
    fn characters_are_those_that_a_reader_sees() {
        let counts = counts("cafe\u{301} 👩‍🚀");

        assert_eq!(counts["characters"], 6);
        assert_eq!(counts["words"], 1);
    }

    #[test]
    fn nothing_counts_as_nothing() {
        let counts = counts("");

        assert!(counts.as_object().expect("an object").values().all(|count| *count == 0), "{counts}");
    }

    #[test]
    fn the_text_says_the_same_as_the_value() {
        let outcome = dispatch(&toolkit(), Call::new("count").args(json!({ "text": "to be" })));

        assert_eq!(
            outcome.text(),
            "words: 2, characters: 5 (4 without spaces), lines: 1, sentences: 1, paragraphs: 1"
        );
    }
}
