//! Text as it is collected from the parts of a file.

use crate::outline::{self, BREAK, Syntax};
use crate::{MAX_TEXT_BYTES, cut, tags};

/// Collected text. White space is reduced to what separates words, cells, lines and paragraphs; there is none at the
/// ends.
#[derive(Debug, Default)]
pub struct Flow {
    text: String,
    pending: Separator,
}

/// What separates the next text from the last, from weak to strong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Separator {
    #[default]
    Nothing,
    Space,
    Tab,
    Line,
    Paragraph,
}

impl Flow {
    /// Adds running text: line ends are spaces.
    pub fn push(&mut self, text: &str) {
        for character in text.chars() {
            if self.is_full() {
                return;
            }
            if character.is_whitespace() || character.is_control() {
                self.space();
            } else {
                self.separate();
                self.text.push(character);
            }
        }
    }

    /// Adds text whose lines are lines; empty lines separate paragraphs.
    pub fn lines(&mut self, text: &str) {
        for line in text.lines() {
            if self.is_full() {
                return;
            }
            if line.trim().is_empty() {
                self.paragraph();
            } else {
                self.push(line);
                self.line();
            }
        }
    }

    /// Adds the text of a page, a paragraph for each block.
    pub fn page(&mut self, page: &str, syntax: Syntax) {
        self.blocks(&outline::read(&tags::bounded(page, syntax), syntax).text);
    }

    /// Adds the text of an [`Outline`](crate::Outline), a paragraph for each line of it.
    pub fn blocks(&mut self, text: &str) {
        for block in text.lines() {
            if self.is_full() {
                break;
            }
            for line in block.split(BREAK) {
                for cell in line.split('\t') {
                    self.push(cell);
                    self.tab();
                }
                self.line();
            }
            self.paragraph();
        }
    }

    /// Adds what was collected elsewhere, as a paragraph.
    pub fn add(&mut self, other: &Self) {
        if other.is_empty() || self.is_full() {
            return;
        }
        self.paragraph();
        self.separate();
        self.text.push_str(&other.text);
        self.paragraph();
    }

    /// Adds text that follows the last without a space.
    pub fn append(&mut self, text: &str) {
        if self.pending <= Separator::Space {
            self.pending = Separator::Nothing;
        }
        self.push(text);
    }

    /// Begins the next word.
    pub fn space(&mut self) {
        self.pending = self.pending.max(Separator::Space);
    }

    /// Begins the next cell of a row.
    pub fn tab(&mut self) {
        self.pending = self.pending.max(Separator::Tab);
    }

    /// Begins the next line.
    pub fn line(&mut self) {
        self.pending = self.pending.max(Separator::Line);
    }

    /// Begins the next paragraph.
    pub fn paragraph(&mut self) {
        self.pending = Separator::Paragraph;
    }

    /// Returns whether more text would not be used.
    pub fn is_full(&self) -> bool {
        self.text.len() > MAX_TEXT_BYTES
    }

    /// Returns whether there is no text yet.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Number of bytes collected so far.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns what was added since there were `length` bytes.
    pub fn since(&self, length: usize) -> &str {
        self.text.get(length..).unwrap_or_default()
    }

    /// Returns the text of at most [`MAX_TEXT_BYTES`], and whether it was cut.
    pub fn finish(self) -> (String, bool) {
        cut(&self.text)
    }

    fn separate(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        if self.text.is_empty() {
            return;
        }
        self.text.push_str(match pending {
            Separator::Nothing => "",
            Separator::Space => " ",
            Separator::Tab => "\t",
            Separator::Line => "\n",
            Separator::Paragraph => "\n\n",
        });
    }
}
