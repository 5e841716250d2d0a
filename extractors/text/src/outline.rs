//! Reads a page without building its element tree: the text between the tags, what part of the page it is, and how deep
//! tags are nested.
//!
//! Building the tree of a page with a hundred thousand nested tags takes time quadratic in the depth; reading
//! the tags as a sequence does not.

mod elements;
mod names;
mod reading;
mod surroundings;

use std::cell::RefCell;

use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};

use reading::Reading;
use surroundings::{Surroundings, Weight};

/// Ends a line within a block, in the texts of an [`Outline`].
pub const BREAK: char = '\x0B';

/// The parts of a page that are read without its tree.
#[derive(Debug, Default)]
pub struct Outline {
    /// Text between the tags, without scripts and styles: a line for each block, in it a [`BREAK`] after each row of a
    /// table and a tab between two cells.
    pub text: String,
    /// Text of the first `<title>`.
    pub title: String,
    /// Text of the first `<h1>`.
    pub heading: String,
    /// Number of the line with that heading.
    pub heading_line: Option<usize>,
    /// Maximum nesting depth, as far as the tags show it.
    pub depth: usize,
    /// Maximum number of formatting elements that are open at the same time, as far as the tags show it.
    pub formatting: usize,
    /// Work of writing the page's tree as HTML: html5ever scans the rest of a text for each character that it escapes, so
    /// the sum over blocks and attributes of their length in bytes, times the number of such characters.
    pub escaping: u64,
    /// Where each line of the text is.
    locations: Vec<Location>,
    surroundings: Surroundings,
}

/// Line of the text of a page.
#[derive(Clone, Copy, Debug)]
pub struct Line<'o> {
    /// Text without its line end.
    pub text: &'o str,
    /// Part of the page that it is in.
    pub part: Part,
    /// Whether it is little more than links.
    pub is_linked: bool,
    /// Whether an article finder found it.
    pub is_found: bool,
}

/// Part of a page, from the text to what is around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Running text.
    #[default]
    Text,
    /// Caption of a picture.
    Caption,
    /// Header of the page or of its article.
    Header,
    /// Comments of readers.
    Comments,
    /// Menus, footers, forms, notices, links to other pages.
    Around,
}

#[derive(Debug)]
struct Location {
    region: Option<usize>,
    /// Whether the line is little more than links.
    is_linked: bool,
}

impl Outline {
    /// Returns the lines of the text, of which an article finder found some.
    pub fn lines(&self, is_found: impl Fn(&str) -> bool) -> Vec<Line<'_>> {
        let texts = self.text.lines().zip(&self.locations);
        let mut lines: Vec<_> = texts
            .map(|(text, Location { is_linked, .. })| Line {
                text,
                part: Part::Text,
                is_linked: *is_linked,
                is_found: is_found(text),
            })
            .collect();
        let weights =
            lines.iter().zip(&self.locations).filter(|(line, _)| !line.is_linked).map(|(line, location)| {
                let all = line.text.len();
                (location.region, Weight { found: if line.is_found { all } else { 0 }, all })
            });
        let parts = self.surroundings.parts(weights);
        for (line, location) in lines.iter_mut().zip(&self.locations) {
            line.part = location.region.map_or(Part::Text, |region| parts[region]);
        }
        lines
    }
}

/// What a page is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// `text/html`
    Html,
    /// `application/xhtml+xml`: every element may close itself, and there are CDATA sections.
    Xml,
}

/// Reads the tags of a page in sequence.
pub fn read(page: &str, syntax: Syntax) -> Outline {
    let tokenizer = Tokenizer::new(Sink { reading: RefCell::default(), syntax }, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(page));
    // The sink never pauses the tokenizer, so that one call is enough.
    drop(tokenizer.feed(&input));
    tokenizer.end();
    tokenizer.sink.reading.into_inner().finish()
}

struct Sink {
    reading: RefCell<Reading>,
    syntax: Syntax,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut reading = self.reading.borrow_mut();
        match token {
            Token::TagToken(tag) => return reading.tag(&tag, self.syntax),
            Token::CharacterTokens(characters) => reading.characters(&characters),
            _ => {}
        }
        TokenSinkResult::Continue
    }

    /// Only there are CDATA sections.
    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.syntax == Syntax::Xml
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tags;

    #[test]
    fn the_title_of_a_picture_does_not_hold_the_rest_of_the_page() {
        let page = "<title>Tides</title><svg><title/><path d=m></svg><p>The <b>moon</b> pulls.<svg><title>Wave</title></svg>";

        let outline = read(&tags::bounded(page, Syntax::Html), Syntax::Html);

        assert_eq!((outline.title.as_str(), outline.text.as_str()), ("Tides", "The moon pulls.\n"));
    }

    #[test]
    fn the_work_of_escaping_is_counted_for_each_block_and_attribute() {
        let of = |page: &str| read(&tags::bounded(page, Syntax::Html), Syntax::Html).escaping;

        assert_eq!(of("<p>words <b>without</b> any"), 0);
        assert_eq!(of(&format!("<p>{}", "&".repeat(10))), 100);
        assert_eq!(of(&"<p>&&&&&".repeat(2)), 50, "blocks are escaped one by one");
        assert_eq!(of("<p>&&<i>&&</i>"), 16);
        assert_eq!(of("<table>&&<tbody>&&<tbody>&&</table>"), 36, "the parser moves them out, into one text");
        assert_eq!(of("<a href='&&&&'>x</a>"), 16);
        assert_eq!(of("<p>\u{a0}"), 2, "a space that does not break, of two bytes");
        // A letter of which the first byte is the same.
        assert!(of("<p>\u{a9}") > 0);
    }
}
