//! Reads a page without building its element tree: the text between the tags, and their nesting depth.
//!
//! Building the tree of a page with a hundred thousand nested tags takes time quadratic in the depth; reading
//! the tags as a sequence does not.

mod elements;
mod reading;

use std::cell::RefCell;

use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Token, TokenSink, TokenSinkResult, Tokenizer};

use reading::Reading;

/// Ends a line within a block, in the texts of an [`Outline`].
pub const BREAK: char = '\x0B';

/// The parts of a page that are read without its tree.
#[derive(Debug, Default)]
pub struct Outline {
    /// Text between the tags, without scripts and styles: a line for each block, in it a [`BREAK`] after each row of a
    /// table and a tab between two cells.
    pub text: String,
    /// The same without menus, headers and footers of the page, and blocks that are little more than links.
    pub running: String,
    /// Text of the first `<title>`.
    pub title: String,
    /// Text of the first `<h1>`.
    pub heading: String,
    /// Maximum nesting depth, as far as the tags show it.
    pub depth: usize,
    /// Maximum number of formatting elements that are open at the same time, as far as the tags show it.
    pub formatting: usize,
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
    let tokenizer = Tokenizer::new(Sink { reading: RefCell::default(), syntax }, Default::default());
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
