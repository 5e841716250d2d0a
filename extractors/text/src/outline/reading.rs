//! A page as it is read, tag by tag.

use html5ever::tokenizer::states::RawKind::{Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{Tag, TagKind, TokenSinkResult};

use super::elements::{FORMATTING, is_block, is_cell, is_closed_by_its_sibling};
use super::{BREAK, Location, Outline, Syntax};

/// A block of running text has fewer characters in links than this share of all, in percent.
const MAX_LINKED_PERCENT: usize = 50;

#[derive(Default)]
pub(super) struct Reading {
    outline: Outline,
    open: usize,
    /// Open formatting elements, in the order of [`FORMATTING`].
    open_formatting: [usize; FORMATTING.len()],
    place: Place,
    links: usize,
    in_heading: bool,
    /// Open elements in which line ends are kept.
    preformatted: usize,
    /// Where the line began that is being written.
    line: usize,
    /// Characters of that line in links, and all.
    linked: usize,
    written: usize,
    /// Bytes of the block, as the page has them, and how many of them begin a character that is escaped.
    block: (u64, u64),
    /// Ruby annotations of the line, which follow it: within the sentence they would split words.
    readings: String,
}

/// Where text is added.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Body,
    Title,
    /// A ruby annotation.
    Reading,
    /// Scripts, styles and other elements that are not displayed.
    Hidden,
}

impl Reading {
    pub(super) fn tag(&mut self, tag: &Tag, syntax: Syntax) -> TokenSinkResult<()> {
        let local_name = tag.name.rsplit(':').next().unwrap_or_default();
        let name = if syntax == Syntax::Xml { local_name } else { &*tag.name };
        let is_end = tag.kind == TagKind::EndTag;
        for attribute in &tag.attrs {
            let (bytes, escaped) = scanned(&attribute.value);
            self.outline.escaping = self.outline.escaping.saturating_add(bytes.saturating_mul(escaped));
        }
        if is_cell(name) {
            self.cell();
        } else if matches!(name, "br" | "tr") {
            self.break_line();
        } else if is_block(name) {
            self.end_line();
        }
        self.format(name, is_end);
        self.annotate(name, is_end);
        self.surround(name, is_end);
        if is_end {
            self.outline.surroundings.end(name);
            if self.place != Place::Reading {
                self.place = Place::Body;
            }
            if !is_closed_by_its_sibling(name) {
                self.open = self.open.saturating_sub(1);
            }
            return TokenSinkResult::Continue;
        }
        if syntax == Syntax::Xml && tag.self_closing {
            self.surround(name, true);
            return TokenSinkResult::Continue;
        }
        self.outline.surroundings.start(tag, name);
        let (place, state) = match name {
            // That of a picture, which may close itself.
            "title" if tag.self_closing && self.outline.surroundings.is_open("svg") => {
                return TokenSinkResult::Continue;
            }
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
        // An end tag with a prefix would not end raw text.
        if name.len() == tag.name.len() { TokenSinkResult::RawData(state) } else { TokenSinkResult::Continue }
    }

    pub(super) fn characters(&mut self, characters: &str) {
        let (bytes, escaped) = scanned(characters);
        self.block = (self.block.0 + bytes, self.block.1 + escaped);
        if self.preformatted == 0 {
            return self.write(characters);
        }
        for line in characters.split_inclusive('\n') {
            self.write(line);
            if line.ends_with('\n') {
                self.break_line();
            }
        }
    }

    fn write(&mut self, characters: &str) {
        let into = match self.place {
            Place::Body => &mut self.outline.text,
            Place::Title => &mut self.outline.title,
            Place::Reading => &mut self.readings,
            Place::Hidden => return,
        };
        let before = into.len();
        for character in characters.chars() {
            let character = if character.is_whitespace() { ' ' } else { character };
            if character != ' ' || !into.is_empty() && !into.ends_with([' ', '\n', '\t', BREAK]) {
                into.push(character);
            }
        }
        if self.place == Place::Body {
            let added = into.len() - before;
            if self.in_heading {
                self.outline.heading.push_str(&self.outline.text[before..]);
            }
            self.written += added;
            if self.links > 0 {
                self.linked += added;
            }
        }
    }

    pub(super) fn finish(mut self) -> Outline {
        self.end_line();
        self.end_block();
        self.outline
    }

    /// Ends a cell: a tab follows, unless its last block has ended the line.
    fn cell(&mut self) {
        let text = &mut self.outline.text;
        if text.len() > self.line && !text.ends_with('\t') {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\t');
        }
    }

    /// Ends a line within a block.
    fn break_line(&mut self) {
        let text = &mut self.outline.text;
        if self.place == Place::Body && text.len() > self.line && !text.ends_with(BREAK) {
            text.truncate(text.trim_end_matches([' ', '\t']).len().max(self.line));
            text.push(BREAK);
        }
    }

    fn end_line(&mut self) {
        // Texts between the rows of a table become one text before it.
        if !self.outline.surroundings.is_open("table") {
            self.end_block();
        }
        let text = &mut self.outline.text;
        if !self.readings.trim().is_empty() {
            text.push_str(" (");
            text.push_str(self.readings.trim());
            text.push(')');
        }
        self.readings.clear();
        if self.place == Place::Reading {
            self.place = Place::Body;
        }
        if text.len() > self.line || text.is_empty() {
            text.truncate(self.line + text[self.line..].trim_end().len());
            let is_linked = self.linked * 100 >= self.written.max(1) * MAX_LINKED_PERCENT;
            if text.len() > self.line {
                let region = self.outline.surroundings.current();
                self.outline.locations.push(Location { region, is_linked });
                text.push('\n');
            }
        }
        (self.line, self.linked, self.written) = (text.len(), 0, 0);
    }

    fn end_block(&mut self) {
        let (bytes, escaped) = std::mem::take(&mut self.block);
        self.outline.escaping = self.outline.escaping.saturating_add(bytes.saturating_mul(escaped));
    }

    fn format(&mut self, name: &str, is_end: bool) {
        let Some(element) = FORMATTING.iter().position(|it| *it == name) else { return };
        let open = &mut self.open_formatting[element];
        *open = if is_end { open.saturating_sub(1) } else { *open + 1 };
        self.outline.formatting = self.outline.formatting.max(self.open_formatting.iter().sum());
    }

    /// Begins and ends ruby annotations.
    fn annotate(&mut self, name: &str, is_end: bool) {
        match (name, is_end) {
            ("rt" | "rtc", false) => self.place = Place::Reading,
            ("rp", false) if matches!(self.place, Place::Body | Place::Reading) => self.place = Place::Hidden,
            ("ruby", true) => {
                self.readings.push(' ');
                self.place = Place::Body;
            }
            ("rt" | "rtc" | "rp", true) | ("rb", false) if self.place == Place::Reading => {
                self.place = Place::Body;
            }
            _ => {}
        }
    }

    fn surround(&mut self, name: &str, is_end: bool) {
        let change = |count: usize| if is_end { count.saturating_sub(1) } else { count + 1 };
        match name {
            "pre" | "listing" => self.preformatted = change(self.preformatted),
            "a" => self.links = usize::from(!is_end),
            "h1" => {
                self.in_heading = !is_end && self.outline.heading.is_empty();
                if self.in_heading {
                    self.outline.heading_line = Some(self.outline.locations.len());
                }
            }
            _ => {}
        }
    }
}

/// Length of a text, and how many of its bytes stop html5ever when it escapes the text: `&`, and the first byte of a
/// space that does not break.
fn scanned(text: &str) -> (u64, u64) {
    let escaped = text.bytes().filter(|byte| matches!(byte, b'&' | 0xC2)).count();
    (text.len() as u64, escaped as u64)
}
