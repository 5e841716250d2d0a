//! Rich Text Format 1.9.1: its text, without what is not displayed.

use encoding_rs::{Encoding, WINDOWS_1252};
use extractor_text::Flow;

use crate::bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted};

/// The first bytes of such a file.
pub(crate) const SIGNATURE: &[u8] = b"{\\rtf";

/// Maximum number of open groups.
const MAX_DEPTH: usize = 10_000;
/// Groups of which the text is not displayed, besides those that begin with `\*`.
const HIDDEN: [&str; 17] = [
    "colortbl",
    "datastore",
    "datafield",
    "filetbl",
    "fldinst",
    "fonttbl",
    "generator",
    "latentstyles",
    "listtable",
    "listoverridetable",
    "objdata",
    "pict",
    "revtbl",
    "rsidtbl",
    "stylesheet",
    "themedata",
    "xmlnstbl",
];

/// Reads a file.
pub(crate) fn read(file: &[u8]) -> Result<Extracted, ExtractError> {
    let mut reading = Reading {
        flow: Flow::default(),
        title: String::new(),
        bytes: Vec::new(),
        encoding: WINDOWS_1252,
        group: Group::default(),
        outer: Vec::new(),
        fallback: 0,
        surrogate: None,
    };
    let mut rest = file;
    while let [first, after @ ..] = rest {
        if reading.flow.is_full() {
            break;
        }
        rest = after;
        match first {
            b'{' => reading.open()?,
            b'}' => reading.close(),
            b'\\' => rest = reading.control(after),
            b'\r' | b'\n' => {}
            byte => reading.byte(*byte),
        }
    }
    reading.flush();
    let (text, truncated) = reading.flow.finish();
    Ok(Extracted { title: extractor_text::own_title(&reading.title), text, truncated })
}

/// What a group changes until it ends.
#[derive(Clone, Copy)]
struct Group {
    place: Place,
    /// Bytes that stand for a character of Unicode, for readers that do not know it.
    fallback: usize,
}

impl Default for Group {
    fn default() -> Self {
        Self { place: Place::Text, fallback: 1 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Title,
    Information,
    Hidden,
}

struct Reading {
    flow: Flow,
    title: String,
    /// Text that was not decoded yet.
    bytes: Vec<u8>,
    encoding: &'static Encoding,
    group: Group,
    outer: Vec<Group>,
    /// Bytes that are still to be skipped after a character of Unicode.
    fallback: usize,
    /// The first half of a character.
    surrogate: Option<u16>,
}

impl Reading {
    fn open(&mut self) -> Result<(), ExtractError> {
        self.flush();
        if self.outer.len() == MAX_DEPTH {
            return Err(ExtractError::Unsupported(format!("groups more than {MAX_DEPTH} deep")));
        }
        self.outer.push(self.group);
        Ok(())
    }

    fn close(&mut self) {
        self.flush();
        self.group = self.outer.pop().unwrap_or_default();
    }

    fn byte(&mut self, byte: u8) {
        if self.fallback > 0 {
            self.fallback -= 1;
        } else {
            self.bytes.push(byte);
        }
    }

    /// Obeys a control word or symbol; returns what follows it.
    fn control<'f>(&mut self, rest: &'f [u8]) -> &'f [u8] {
        let length = rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        if length == 0 {
            return self.symbol(rest);
        }
        let (word, rest) = rest.split_at(length);
        let digits = rest.iter().enumerate();
        let digits =
            digits.take_while(|(at, byte)| byte.is_ascii_digit() || (*at == 0 && **byte == b'-')).count();
        let (number, rest) = rest.split_at(digits);
        let number = std::str::from_utf8(number).ok().and_then(|number| number.parse::<i64>().ok());
        let rest = rest.strip_prefix(b" ").unwrap_or(rest);
        if word == b"bin" {
            let length = usize::try_from(number.unwrap_or_default()).unwrap_or_default();
            return &rest[length.min(rest.len())..];
        }
        self.word(std::str::from_utf8(word).unwrap_or_default(), number);
        rest
    }

    fn symbol<'f>(&mut self, rest: &'f [u8]) -> &'f [u8] {
        let Some((symbol, after)) = rest.split_first() else { return rest };
        match symbol {
            b'\'' => {
                let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
                    self.byte(byte);
                    return &after[2..];
                }
            }
            b'*' => self.group.place = Place::Hidden,
            b'~' => self.show(" "),
            b'_' => self.show("-"),
            b'\r' | b'\n' => self.word("par", None),
            b'\\' | b'{' | b'}' => self.byte(*symbol),
            _ => {}
        }
        after
    }

    fn word(&mut self, word: &str, number: Option<i64>) {
        match word {
            "ansicpg" => {
                let label = format!("windows-{}", number.unwrap_or(1252));
                self.encoding = Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252);
            }
            "mac" => self.encoding = encoding_rs::MACINTOSH,
            "uc" => self.group.fallback = usize::try_from(number.unwrap_or(1)).unwrap_or(1),
            "u" => self.unicode(number.unwrap_or_default()),
            "info" => self.group.place = Place::Information,
            "title" if self.group.place == Place::Information => self.group.place = Place::Title,
            _ if HIDDEN.contains(&word) => self.group.place = Place::Hidden,
            "par" | "sect" | "page" | "column" => self.separate(Flow::paragraph),
            "line" | "row" | "softline" => self.separate(Flow::line),
            "tab" | "cell" | "nestcell" => self.separate(Flow::tab),
            "emdash" => self.show("—"),
            "endash" => self.show("–"),
            "bullet" => self.show("•"),
            "lquote" => self.show("‘"),
            "rquote" => self.show("’"),
            "ldblquote" => self.show("“"),
            "rdblquote" => self.show("”"),
            _ => {}
        }
    }

    fn unicode(&mut self, number: i64) {
        // Signed numbers of 16 bits.
        let unit = u16::try_from(number.rem_euclid(1 << 16)).unwrap_or_default();
        let units = self.surrogate.take().into_iter().chain([unit]);
        match char::decode_utf16(units).last() {
            Some(Ok(character)) => self.show(character.encode_utf8(&mut [0; 4])),
            _ => self.surrogate = Some(unit),
        }
        self.fallback = self.group.fallback;
    }

    fn separate(&mut self, separate: fn(&mut Flow)) {
        self.flush();
        if self.group.place == Place::Text {
            separate(&mut self.flow);
        }
    }

    fn show(&mut self, text: &str) {
        self.flush();
        match self.group.place {
            Place::Text => self.flow.push(text),
            Place::Title => self.title.push_str(text),
            Place::Information | Place::Hidden => {}
        }
    }

    fn flush(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        if !bytes.is_empty() {
            let text = self.encoding.decode_without_bom_handling(&bytes).0;
            self.show(&text);
        }
    }
}
