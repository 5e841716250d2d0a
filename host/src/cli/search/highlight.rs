//! Words of the query in a passage.

use std::collections::HashSet;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use crate::cli::terminal::{Screen, Text, text};

/// Words shorter than this stand everywhere.
const MIN_WORD_CHARS: usize = 3;

/// Marks what a query has found, in whatever form the words stand there.
pub(super) struct Highlighter {
    stemmer: Stemmer,
    stems: HashSet<String>,
    screen: Screen,
}

impl Highlighter {
    pub(super) fn of(query: &str, screen: Screen) -> Self {
        let stemmer = Stemmer::create(Algorithm::English);
        let words = query.unicode_words().filter(|word| word.chars().count() >= MIN_WORD_CHARS);
        let stems = words.map(|word| stem(&stemmer, word)).collect();
        Self { stemmer, stems, screen }
    }

    /// The passage on one line.
    pub(super) fn mark(&self, passage: &str) -> Text {
        if self.screen == Screen::Plain {
            return Text::prose(passage);
        }
        let mut marked = Text::default();
        for piece in Text::prose(passage).as_str().split_word_bounds() {
            let is_found = self.stems.contains(&stem(&self.stemmer, piece));
            let piece = text!("{}", piece);
            marked.push(&if is_found { self.screen.bold(&piece) } else { piece });
        }
        marked
    }
}

fn stem(stemmer: &Stemmer, word: &str) -> String {
    stemmer.stem(&word.to_lowercase()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_in_every_form_and_only_at_a_terminal() {
        let text = "Prices rise; pricing is of the board's.";
        let marked = |screen| Highlighter::of("the price of boards", screen).mark(text).as_str().to_owned();

        assert_eq!(marked(Screen::Plain), text);
        let bold = |word| format!("\u{1b}[1m{word}\u{1b}[0m");
        let shown = marked(Screen::Terminal);
        for word in ["Prices", "pricing"] {
            assert!(shown.contains(&bold(word)), "{shown}");
        }
        for word in ["rise", "of", "is"] {
            assert!(!shown.contains(&bold(word)), "{shown}");
        }
    }
}
