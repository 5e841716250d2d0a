//! Reads a page without building its element tree: the text between the tags, and their nesting depth.
//!
//! Building the tree of a page with a hundred thousand nested tags takes time quadratic in the depth; reading
//! the tags as a sequence does not.

use std::cell::RefCell;

use html5ever::buffer_queue::BufferQueue;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind::{Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};

/// The parts of a page that are read without its tree.
#[derive(Debug, Default)]
pub struct Outline {
    /// Text between the tags, without scripts and styles; one line per block.
    pub text: String,
    /// Text of the first `<title>`.
    pub title: String,
    /// Maximum nesting depth, as far as the tags show it.
    pub depth: usize,
    /// Maximum number of formatting elements that are open at the same time, as far as the tags show it.
    pub formatting: usize,
}

/// Reads the tags of a page in sequence.
pub fn read(page: &str) -> Outline {
    let tokenizer = Tokenizer::new(Sink::default(), Default::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(page));
    // The sink never pauses the tokenizer, so that one call is enough.
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
    /// Open formatting elements, in the order of [`FORMATTING`].
    open_formatting: [usize; FORMATTING.len()],
    place: Place,
}

/// Where text is added.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Body,
    Title,
    /// Scripts, styles and other elements that are not displayed.
    Hidden,
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
        self.formatting(tag);
        if tag.kind == TagKind::EndTag {
            self.place = Place::Body;
            if !is_closed_by_its_sibling(name) {
                self.open = self.open.saturating_sub(1);
            }
            return TokenSinkResult::Continue;
        }
        let (place, state) = match name {
            "title" if self.outline.title.is_empty() => (Place::Title, Rcdata),
            "title" | "textarea" => (Place::Hidden, Rcdata),
            "script" => (Place::Hidden, ScriptData),
            "style" | "iframe" | "noembed" | "noframes" | "xmp" => (Place::Hidden, Rawtext),
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

    fn formatting(&mut self, tag: &Tag) {
        let Some(element) = FORMATTING.iter().position(|it| *it == &*tag.name) else { return };
        let open = &mut self.open_formatting[element];
        *open = if tag.kind == TagKind::EndTag { open.saturating_sub(1) } else { *open + 1 };
        self.outline.formatting = self.outline.formatting.max(self.open_formatting.iter().sum());
    }

    fn characters(&mut self, characters: &str) {
        let into = match self.place {
            Place::Body => &mut self.outline.text,
            Place::Title => &mut self.outline.title,
            Place::Hidden => return,
        };
        for character in characters.chars() {
            let character = if character.is_whitespace() { ' ' } else { character };
            if character != ' ' || !into.is_empty() && !into.ends_with([' ', '\n']) {
                into.push(character);
            }
        }
    }
}

/// Elements that a parser opens again in each block until they are closed (HTML Standard, section 13.2.4.3).
const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Returns whether a tag is inline.
fn is_inline(name: &str) -> bool {
    const INLINE: [&str; 24] = [
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "img", "kbd", "mark", "q", "s",
        "samp", "small", "span", "strong", "sub", "sup", "u", "var", "wbr",
    ];
    INLINE.contains(&name)
}

/// Returns whether a tag has no content, or is closed by its next sibling. Such tags do not add to the depth,
/// however many there are.
fn is_closed_by_its_sibling(name: &str) -> bool {
    const NOT_NESTING: [&str; 27] = [
        "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta",
        "optgroup", "option", "p", "param", "rp", "rt", "source", "tbody", "td", "tfoot", "th", "thead",
        "tr", "wbr",
    ];
    NOT_NESTING.contains(&name)
}
