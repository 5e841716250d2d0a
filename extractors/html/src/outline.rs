//! A page without its tree: the text between the tags, and how deep the tags nest.
//!
//! Building the tree of a page that nests a hundred thousand tags takes time that grows with the square
//! of the depth; reading its tags one after the other does not.

use std::cell::RefCell;

use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind::{Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};

/// What is read of a page without its tree.
#[derive(Default)]
pub(crate) struct Outline {
    /// What stands between the tags, scripts and styles left out, a line a block.
    pub(crate) text: String,
    /// What stands in the first `<title>`.
    pub(crate) title: String,
    /// How deep the tags nest at most, as far as the tags themselves tell.
    pub(crate) depth: usize,
}

/// Reads the tags of a page one after the other.
pub(crate) fn read(page: &str) -> Outline {
    let tokenizer = Tokenizer::new(Sink::default(), Default::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(page));
    // The sink never asks for a pause, so that one time is enough.
    drop(tokenizer.feed(&input));
    tokenizer.end();
    tokenizer.sink.0.into_inner().outline
}

#[derive(Default)]
struct Sink(RefCell<Reading>);

#[derive(Default)]
struct Reading {
    outline: Outline,
    open: usize,
    place: Place,
}

/// Where the text goes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Body,
    Title,
    /// Scripts, styles, and others that no reader sees.
    Unseen,
}

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut reading = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => reading.tag(&tag),
            Token::CharacterTokens(characters) => {
                reading.characters(&characters);
                TokenSinkResult::Continue
            }
            _ => TokenSinkResult::Continue,
        }
    }
}

impl Reading {
    fn tag(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        if !is_inline(name) && !self.outline.text.ends_with('\n') {
            self.outline.text.push('\n');
        }
        if tag.kind == TagKind::EndTag {
            self.place = Place::Body;
            if !is_closed_by_its_sibling(name) {
                self.open = self.open.saturating_sub(1);
            }
            return TokenSinkResult::Continue;
        }
        let (place, state) = match name {
            "title" if self.outline.title.is_empty() => (Place::Title, Rcdata),
            "title" | "textarea" => (Place::Unseen, Rcdata),
            "script" => (Place::Unseen, ScriptData),
            "style" | "iframe" | "noembed" | "noframes" | "xmp" => (Place::Unseen, Rawtext),
            _ => {
                if !is_closed_by_its_sibling(name) {
                    self.open += 1;
                    self.outline.depth = self.outline.depth.max(self.open);
                }
                return TokenSinkResult::Continue;
            }
        };
        self.open += 1;
        self.place = place;
        TokenSinkResult::RawData(state)
    }

    fn characters(&mut self, characters: &str) {
        let into = match self.place {
            Place::Body => &mut self.outline.text,
            Place::Title => &mut self.outline.title,
            Place::Unseen => return,
        };
        for character in characters.chars() {
            let character = if character.is_whitespace() { ' ' } else { character };
            if character != ' ' || !into.is_empty() && !into.ends_with([' ', '\n']) {
                into.push(character);
            }
        }
    }
}

/// Tags that stand within a line.
fn is_inline(name: &str) -> bool {
    const INLINE: [&str; 24] = [
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "img", "kbd", "mark", "q", "s",
        "samp", "small", "span", "strong", "sub", "sup", "u", "var", "wbr",
    ];
    INLINE.contains(&name)
}

/// Tags without content, and those that the next of their kind closes: however many there are, they do
/// not nest.
fn is_closed_by_its_sibling(name: &str) -> bool {
    const FLAT: [&str; 27] = [
        "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
        "optgroup", "option", "p", "param", "rp", "rt", "source", "tbody", "td", "tfoot", "th", "thead",
        "tr", "wbr",
    ];
    FLAT.contains(&name)
}
