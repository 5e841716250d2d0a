//! Formatted text with the kinds of its parts.

use rquickjs::{Array, Ctx, Result};

/// A text, with end and kind of each part, for `format` and `formatToParts`.
#[derive(Default)]
pub(crate) struct Parts {
    text: String,
    ends: Vec<(usize, &'static str)>,
}

impl Parts {
    /// Appends a part; adjacent literals are merged.
    pub(crate) fn push(&mut self, kind: &'static str, text: &str) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        match self.ends.last_mut() {
            Some((end, last)) if *last == "literal" && kind == "literal" => *end = self.text.len(),
            _ => self.ends.push((self.text.len(), kind)),
        }
    }

    /// Appends a part; white space at both ends of the text becomes literals.
    pub(crate) fn push_trimmed(&mut self, kind: &'static str, text: &str) {
        let inner = text.trim_matches(is_space);
        if inner.is_empty() {
            return self.push("literal", text);
        }
        let start = text.len() - text.trim_start_matches(is_space).len();
        self.push("literal", &text[..start]);
        self.push(kind, inner);
        self.push("literal", &text[start + inner.len()..]);
    }

    pub(crate) fn append(&mut self, other: &Self) {
        for (kind, text) in other.iter() {
            self.push(kind, text);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        starts.zip(&self.ends).map(|(start, &(end, kind))| (kind, &self.text[start..end]))
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Returns an array that alternates kind and text.
    pub(crate) fn to_array<'js>(&self, ctx: &Ctx<'js>) -> Result<Array<'js>> {
        let array = Array::new(ctx.clone())?;
        for (index, (kind, text)) in self.iter().enumerate() {
            array.set(2 * index, kind)?;
            array.set(2 * index + 1, text)?;
        }
        Ok(array)
    }
}

/// Returns whether a letter is white space, or a direction mark that CLDR places with it.
fn is_space(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// Splits a text such as `{1} at {0}` into literals (`Err`) and argument numbers (`Ok`).
pub(crate) fn placeholders(pattern: &str) -> Vec<std::result::Result<usize, &str>> {
    let mut found = Vec::new();
    let mut rest = pattern;
    while let Some(start) = rest.find('{') {
        let number = rest[start + 1..].split('}').next().and_then(|number| number.parse().ok());
        let Some(number) = number else { break };
        if start > 0 {
            found.push(Err(&rest[..start]));
        }
        found.push(Ok(number));
        rest = rest[start..].split_once('}').map_or("", |(_, rest)| rest);
    }
    if !rest.is_empty() {
        found.push(Err(rest));
    }
    found
}
