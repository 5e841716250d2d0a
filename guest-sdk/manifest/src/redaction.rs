//! Removes the values of secrets from text.
//!
//! A secret is found by its value, not by the name of a field. A text is searched as it is, and again with its
//! escapes decoded (`decoding`), whichever encoder wrote them, up to three times. A value is also
//! found in base64 and in hexadecimal. Letters match in either case, because host names and hexadecimal do
//! not preserve it.
//!
//! Not a security boundary against the guest: it can disguise a value (reversed, split, encrypted). A
//! user who gives a toolkit a secret trusts its author; redaction prevents accidental leaks.

mod decoding;
mod encodings;
mod numbers;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use decoding::Decoder;

/// Minimum length of a value to be redacted, in bytes: `42` or `de` would remove half of every text.
pub const MIN_VALUE_BYTES: usize = crate::limits::MIN_REDACTED_BYTES;

/// Text that replaces a value.
pub const REPLACEMENT: &str = "[redacted]";

/// Length of the prefix ("head") of a form that is searched for, in bytes. After a match, the rest is
/// compared.
const HEAD_BYTES: usize = 32;
/// Number of times that a text is decoded: JSON may be a string in JSON, which may be a parameter of a URL.
const MAX_PASSES: usize = 3;
/// Steps allowed for each byte of a text: one for each head found, and one for each byte compared after
/// it. Beyond that the whole text is redacted. Only a text and values that were crafted for this come
/// near the limit.
const MAX_STEPS_PER_BYTE: usize = 16;

/// Whether a value can be redacted: at least one of its lines is long enough.
pub fn is_findable(value: &str) -> bool {
    value.lines().any(|line| line.trim().len() >= MIN_VALUE_BYTES)
}

/// Returns the number of texts that are searched for a value: the value and its lines.
pub fn lines_to_find(value: &str) -> usize {
    encodings::texts(value).count()
}

/// Finds the values of a set of secrets in text, in time linear in the text.
#[derive(Default)]
pub struct Redactor {
    /// Values and their forms, in lower case. Zeroed on drop, unlike the copies of their heads in the automaton
    /// below.
    forms: Vec<Zeroizing<Vec<u8>>>,
    /// Automaton that finds the heads of `forms`; the index of a pattern is that of its form. `None` without
    /// values.
    heads: Option<AhoCorasick>,
    /// Decodes texts before they are searched again.
    decoder: Decoder,
}

/// Prints no values.
impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Redactor of {} forms", self.forms.len())
    }
}

impl Redactor {
    /// Prepares the search for `values`.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let mut forms = Vec::new();
        for value in values {
            encodings::add_all(value.expose_secret(), &mut forms);
        }
        if forms.is_empty() {
            return Self::default();
        }
        forms.sort_unstable_by(|one, other| one.as_slice().cmp(other));
        forms.dedup();
        forms.shrink_to_fit();
        let heads = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(forms.iter().map(|form| &form[..form.len().min(HEAD_BYTES)]))
            .expect("heads are short, and memory cannot hold enough values to exceed the limit");
        let decoder = Decoder { folds_case: forms.iter().any(|form| !form.is_ascii()) };
        Self { forms, heads: Some(heads), decoder }
    }

    /// Returns the memory that the prepared values use, in bytes.
    pub fn memory(&self) -> usize {
        let heads = self.heads.as_ref().map_or(0, AhoCorasick::memory_usage);
        let forms = self.forms.iter().map(|form| size_of::<Vec<u8>>() + form.capacity());
        heads + forms.sum::<usize>()
    }

    /// Whether there are no values to find.
    pub fn is_empty(&self) -> bool {
        self.heads.is_none()
    }

    /// Returns `text` without the values.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.find(text.as_bytes()).as_slice() {
            [] => Cow::Borrowed(text),
            found => {
                let clean = without(text.as_bytes(), found);
                Cow::Owned(String::from_utf8(clean).expect("values begin and end at characters"))
            }
        }
    }

    /// Returns the length of the longest form if each of its characters is escaped, in bytes.
    pub fn longest(&self) -> usize {
        self.forms.iter().map(|form| form.len()).max().unwrap_or_default() * decoding::MAX_ESCAPE_BYTES
    }

    /// Returns a part of `text` without the values. Also removes the parts of values that begin before or end
    /// after `part`, a range in bytes at character boundaries.
    pub fn redact_part(&self, text: &str, part: Range<usize>) -> String {
        let clipped = self.find(text.as_bytes()).into_iter().filter_map(|found| {
            let place = found.start.max(part.start)..found.end.min(part.end);
            (!place.is_empty()).then(|| place.start - part.start..place.end - part.start)
        });
        let clean = without(text[part.clone()].as_bytes(), &clipped.collect::<Vec<_>>());
        String::from_utf8(clean).expect("values begin and end at characters")
    }

    /// Removes the values from bytes, which need not be UTF-8.
    pub fn redact_bytes(&self, bytes: &mut Vec<u8>) {
        let found = self.find(bytes);
        if !found.is_empty() {
            *bytes = without(bytes, &found);
        }
    }

    /// Removes the values from a string in place.
    pub fn redact_string(&self, text: &mut String) {
        self.redact_in_place(text);
    }

    /// Removes the values from a string. Returns whether it contained any.
    fn redact_in_place(&self, text: &mut String) -> bool {
        let Cow::Owned(clean) = self.redact(text) else { return false };
        *text = clean;
        true
    }

    /// Returns JSON text without the values. Invalid JSON is redacted as plain text.
    pub fn redact_json_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        // Without escapes and exponents all values appear literally, so a plain search finds them all.
        let is_plain = !text.contains('\\') && !numbers::have_exponent(text);
        if self.is_empty() || (is_plain && self.find(text.as_bytes()).is_empty()) {
            return Cow::Borrowed(text);
        }
        let clean = self.redact_numbers(text);
        let Ok(mut value) = serde_json::from_str(&clean) else { return self.redact(text) };
        if self.redact_value(&mut value) { Cow::Owned(value.to_string()) } else { clean }
    }

    /// Returns JSON text without the values in its numbers. The digits of the text are searched: parsing
    /// the numbers would round them.
    fn redact_numbers<'t>(&self, json: &'t str) -> Cow<'t, str> {
        let mut clean = String::new();
        let mut copied = 0;
        for place in numbers::places(json) {
            let number = &json[place.clone()];
            // An invalid number makes the text invalid JSON, which must not be repaired here.
            if serde_json::from_str::<IgnoredAny>(number).is_err() {
                return Cow::Borrowed(json);
            }
            if let Some(redacted) = self.redact_number(number) {
                clean.push_str(&json[copied..place.start]);
                clean.push_str(&Value::String(redacted).to_string());
                copied = place.end;
            }
        }
        if copied == 0 { Cow::Borrowed(json) } else { Cow::Owned(clean + &json[copied..]) }
    }

    /// Returns a number without the values, with its exponent resolved if necessary; `None` if it contains
    /// none.
    fn redact_number(&self, number: &str) -> Option<String> {
        let redacted = |number: &str| match self.redact(number) {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        };
        redacted(number).or_else(|| redacted(&numbers::without_exponent(number)))
    }

    /// Whether the digits of a number contain a value.
    pub fn is_in_number(&self, number: &impl ToString) -> bool {
        matches!(self.redact_json_text(&number.to_string()), Cow::Owned(_))
    }

    /// Removes the values from every string, key and number of a JSON value. A number that contains one
    /// becomes a string.
    pub fn redact_json(&self, value: &mut Value) {
        if !self.is_empty() {
            self.redact_value(value);
        }
    }

    /// Same as [`redact_json`](Self::redact_json). Returns whether the value contained any.
    fn redact_value(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::String(text) => self.redact_in_place(text),
            Value::Number(number) => {
                let Some(clean) = self.redact_number(&number.to_string()) else { return false };
                *value = Value::String(clean);
                true
            }
            Value::Array(items) => {
                items.iter_mut().fold(false, |found, item| self.redact_value(item) | found)
            }
            Value::Object(members) => {
                let mut found = false;
                let redact = |(mut key, mut value): (String, Value)| {
                    found |= self.redact_in_place(&mut key) | self.redact_value(&mut value);
                    (key, value)
                };
                *members = std::mem::take(members).into_iter().map(redact).collect::<Map<_, _>>();
                found
            }
        }
    }

    /// Returns the ranges of values, in order. Ranges that overlap or touch are merged.
    fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        if self.is_empty() { Vec::new() } else { self.find_decoding(text, MAX_PASSES) }
    }

    /// Searches a text, and what it is decoded to, as often as it is to be decoded.
    fn find_decoding(&self, text: &[u8], passes: usize) -> Vec<Range<usize>> {
        let mut found = self.find_forms(text);
        let decoded = if passes == 0 { None } else { self.decoder.decoded(text) };
        let inside = decoded.map(|decoded| self.find_decoding(&decoded, passes - 1)).unwrap_or_default();
        if !inside.is_empty() {
            found.append(&mut self.decoder.places(text, inside));
            found.sort_unstable_by_key(|place| place.start);
            found.dedup_by(|place, last| {
                let touches = place.start <= last.end;
                if touches {
                    last.end = last.end.max(place.end);
                }
                touches
            });
        }
        found
    }

    /// Returns the ranges of forms in a text as it is, in order. Ranges that overlap or touch are merged.
    fn find_forms(&self, text: &[u8]) -> Vec<Range<usize>> {
        let Some(heads) = &self.heads else { return Vec::new() };
        let mut steps = text.len().saturating_mul(MAX_STEPS_PER_BYTE);
        let mut found: Vec<Range<usize>> = Vec::new();
        // Overlapping, because a value may begin inside another one. Heads are reported in order of their
        // ends, so no range lies wholly before one that was found earlier.
        for head in heads.find_overlapping_iter(text) {
            let form = &self.forms[head.pattern()];
            let mut place = head.start()..head.start() + form.len();
            let is_known =
                found.last().is_some_and(|last| last.start <= place.start && place.end <= last.end);
            let rest = if is_known { None } else { text.get(head.end()..place.end) };
            let same = rest.map_or(0, |rest| common_prefix(rest, &form[head.len()..]));
            let Some(left) = steps.checked_sub(1 + same) else {
                return std::iter::once(0..text.len()).collect();
            };
            steps = left;
            if rest.is_none_or(|rest| rest.len() != same) {
                continue;
            }
            while let Some(last) = found.pop_if(|last| last.end >= place.start) {
                place = place.start.min(last.start)..place.end.max(last.end);
            }
            found.push(place);
        }
        found
    }
}

/// Returns `text` with each of these ranges replaced.
fn without(text: &[u8], places: &[Range<usize>]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(text.len());
    let mut copied = 0;
    for place in places {
        clean.extend_from_slice(&text[copied..place.start]);
        clean.extend_from_slice(REPLACEMENT.as_bytes());
        copied = place.end;
    }
    clean.extend_from_slice(&text[copied..]);
    clean
}

/// Length of the common prefix, ignoring ASCII case.
fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one.eq_ignore_ascii_case(other)).count()
}
