//! Removes the values of secrets from text, wherever they stand.
//!
//! A value is known by what it is and not by the key it stands under. It is also found in the
//! encodings in which values travel by accident: escaped as JSON, percent-encoded, in base64 or in
//! hexadecimal. ASCII letters match in either case, because host names and hexadecimal lose it.
//!
//! Not promised: a guest that means to disguise a value (reversed, split, encrypted) can. Whoever
//! gives a toolkit a secret gives it to that toolkit's author; redaction is for what leaks unmeant.

mod encodings;
mod numbers;

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, MatchKind};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

/// Values shorter than this, in bytes, are left alone: `42` or `de` would blank out half of every text.
pub const MIN_VALUE_BYTES: usize = kitbag_manifest::limits::MIN_REDACTED_BYTES;

/// What stands where a value stood.
pub const REPLACEMENT: &str = "[redacted]";

/// How much of a form, in bytes, is looked for at once. Where that much stands, the rest is compared.
const HEAD_BYTES: usize = 32;
/// Steps that may be taken for each byte of a text, before it is given up and redacted whole: one for
/// each head that stands there, and one for each byte that is compared behind it. Only a text and
/// values that were made for each other come near it.
const MAX_STEPS_PER_BYTE: usize = 16;

/// Whether a value is found where it is used: some line of it is long enough.
pub fn is_findable(value: &str) -> bool {
    value.lines().any(|line| line.trim().len() >= MIN_VALUE_BYTES)
}

/// How many texts are looked for because of a value: its lines, or itself.
pub fn lines_to_find(value: &str) -> usize {
    encodings::texts(value).count()
}

/// Finds the values of a set of secrets in text, in time linear in the text.
#[derive(Default)]
pub struct Redactor {
    /// What values look like, in lower case. Wiped when dropped; what the finder of heads keeps of
    /// them is not.
    forms: Vec<Zeroizing<String>>,
    /// Finds their heads, each under the index of its form; nothing, when there is nothing to find.
    heads: Option<AhoCorasick>,
}

impl Redactor {
    /// Prepares to find `values`.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let mut forms = Vec::new();
        for value in values {
            encodings::add_all(value.expose_secret(), &mut forms);
        }
        if forms.is_empty() {
            return Self::default();
        }
        forms.sort_unstable_by(|one, other| one.as_str().cmp(other));
        forms.dedup();
        forms.shrink_to_fit();
        let heads = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(forms.iter().map(|form| &form.as_bytes()[..form.len().min(HEAD_BYTES)]))
            .expect("heads are short, and so many values fit into no memory");
        Self { forms, heads: Some(heads) }
    }

    /// Memory that the prepared values take, in bytes.
    pub fn memory(&self) -> usize {
        let heads = self.heads.as_ref().map_or(0, AhoCorasick::memory_usage);
        let forms = self.forms.iter().map(|form| size_of::<String>() + form.capacity());
        heads + forms.sum::<usize>()
    }

    /// Whether there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.heads.is_none()
    }

    /// Returns `text` without the values.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.find(text.as_bytes()).as_slice() {
            [] => Cow::Borrowed(text),
            found => {
                let clean = without(text.as_bytes(), found);
                Cow::Owned(String::from_utf8(clean).expect("a form is text, and so is what stands around it"))
            }
        }
    }

    /// Removes the values from bytes, whatever stands around them.
    pub fn redact_bytes(&self, bytes: &mut Vec<u8>) {
        let found = self.find(bytes);
        if !found.is_empty() {
            *bytes = without(bytes, &found);
        }
    }

    /// Removes the values from a string that is already there.
    pub fn redact_string(&self, text: &mut String) {
        self.found_in(text);
    }

    /// Removes the values from a string; returns whether there was one.
    fn found_in(&self, text: &mut String) -> bool {
        let Cow::Owned(clean) = self.redact(text) else { return false };
        *text = clean;
        true
    }

    /// Returns JSON text without the values; text that is no JSON is cleaned as it is.
    pub fn redact_json_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        // Without escapes and exponents the text says everything as it is, and there is nothing more to find.
        let is_plain = !text.contains('\\') && !numbers::have_exponent(text);
        if self.is_empty() || (is_plain && self.find(text.as_bytes()).is_empty()) {
            return Cow::Borrowed(text);
        }
        let clean = self.redact_numbers(text);
        let Ok(mut value) = serde_json::from_str(&clean) else { return self.redact(text) };
        if self.redact_value(&mut value) { Cow::Owned(value.to_string()) } else { clean }
    }

    /// Returns JSON text without the values in its numbers, as they are spelled there: to read such a number
    /// would round it.
    fn redact_numbers<'t>(&self, json: &'t str) -> Cow<'t, str> {
        let (mut clean, mut copied) = (String::new(), 0);
        for place in numbers::places(json) {
            if let Some(redacted) = self.redact_number(&json[place.clone()]) {
                clean.push_str(&json[copied..place.start]);
                clean.push_str(&Value::String(redacted).to_string());
                copied = place.end;
            }
        }
        if copied == 0 { Cow::Borrowed(json) } else { Cow::Owned(clean + &json[copied..]) }
    }

    /// A number without the values, whether or not its exponent hides them; nothing where there is none.
    fn redact_number(&self, number: &str) -> Option<String> {
        let redacted = |number: &str| match self.redact(number) {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        };
        redacted(number).or_else(|| redacted(&numbers::without_exponent(number)))
    }

    /// Removes the values from every string, key and number of a JSON value. A number that holds one
    /// becomes a string.
    pub fn redact_json(&self, value: &mut Value) {
        if !self.is_empty() {
            self.redact_value(value);
        }
    }

    /// Returns whether there was a value.
    fn redact_value(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::String(text) => self.found_in(text),
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
                    found |= self.found_in(&mut key) | self.redact_value(&mut value);
                    (key, value)
                };
                *members = std::mem::take(members).into_iter().map(redact).collect::<Map<_, _>>();
                found
            }
        }
    }

    /// Where values stand, in order; values that overlap or touch are one place.
    fn find(&self, text: &[u8]) -> Vec<Range<usize>> {
        let Some(heads) = &self.heads else { return Vec::new() };
        let mut steps = text.len().saturating_mul(MAX_STEPS_PER_BYTE);
        let mut found: Vec<Range<usize>> = Vec::new();
        // Overlapping, because a value may begin inside another one. Heads come by their ends, so no
        // place lies wholly before one that was found earlier.
        for head in heads.find_overlapping_iter(text) {
            let form = self.forms[head.pattern()].as_bytes();
            let mut place = head.start()..head.start() + form.len();
            let is_known =
                found.last().is_some_and(|last| last.start <= place.start && place.end <= last.end);
            let behind = if is_known { None } else { text.get(head.end()..place.end) };
            let same = behind.map_or(0, |there| common(there, &form[head.len()..]));
            let Some(left) = steps.checked_sub(1 + same) else {
                return std::iter::once(0..text.len()).collect();
            };
            steps = left;
            if behind.is_none_or(|there| there.len() != same) {
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

/// What is left of `text`, with the replacement at each of these places.
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

/// How many bytes at the beginning of both are the same, in either case.
fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one.eq_ignore_ascii_case(other)).count()
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
    use serde_json::json;

    use super::*;

    /// Everything that an encoding may touch: quotes, a backslash, a slash, a plus, a space, a line end.
    const AWKWARD: &str = "p\"a\\s/s+w o\nrd&ü~kitbag";

    fn redactor(values: &[&str]) -> Redactor {
        let values: Vec<_> = values.iter().map(|value| SecretString::from(*value)).collect();
        Redactor::new(&values)
    }

    #[track_caller]
    fn check(values: &[&str], text: &str, expected: &str) {
        assert_eq!(redactor(values).redact(text), expected);
    }

    #[test]
    fn a_value_is_removed_wherever_it_stands() {
        check(&["hunter2hunter2"], "hunter2hunter2 is it: hunter2hunter2", "[redacted] is it: [redacted]");
        check(&["hunter2hunter2"], "nothing here", "nothing here");
        check(&["hunter2hunter2"], "http://HUNTER2hunter2.evil.example", "http://[redacted].evil.example");
    }

    #[test]
    fn values_that_overlap_leave_nothing_of_either() {
        check(&["abcdefgh", "efghijkl"], "-abcdefghijkl-", "-[redacted]-");
        check(&["abcdefgh", "abcdefghijkl"], "-abcdefghijkl-", "-[redacted]-");
        check(&["cdefgh", "abcdefghijkl"], "-abcdefghijkl-", "-[redacted]-");
        check(&["aaaaaa"], "aaaaaaaaaaaaaa", "[redacted]");
    }

    #[test]
    fn a_value_too_short_to_mean_anything_is_left_alone() {
        check(&["de", "", "12345"], "in de 12345", "in de 12345");
        check(&["123456"], "in de 123456", "in de [redacted]");
    }

    #[test]
    fn a_value_is_found_in_the_encodings_it_travels_in() {
        let json = serde_json::to_string(AWKWARD).expect("a string");
        let in_json_in_json = serde_json::to_string(&json).expect("a string");
        let form: String = url::form_urlencoded::byte_serialize(AWKWARD.as_bytes()).collect();
        let percent = "p%22a%5Cs%2Fs%2Bw%20o%0Ard%26%C3%BC~kitbag";
        for text in [
            AWKWARD.to_owned(),
            json,
            in_json_in_json,
            r#"p\"a\\s\/s+w o\nrd&\u00fc~kitbag"#.to_owned(),
            // Go's default.
            r#"p\"a\\s/s+w o\nrd\u0026ü~kitbag"#.to_owned(),
            form,
            percent.to_owned(),
            percent.to_lowercase(),
            hex::encode(AWKWARD),
            hex::encode_upper(AWKWARD),
        ] {
            let clean = redactor(&[AWKWARD]).redact(&format!("<{text}>")).into_owned();
            assert!(
                clean.contains("[redacted]") && !clean.to_lowercase().contains("kitbag"),
                "{text}: {clean}"
            );
        }
    }

    #[test]
    fn a_value_is_found_in_base64_at_every_offset() {
        for before in ["", "x", "xy", "xyz", "client-id:"] {
            for after in ["", "!", "!!", "!!!"] {
                for value in ["s3cr3t-value", AWKWARD, "123456"] {
                    let whole = format!("{before}{value}{after}");
                    for text in [BASE64_STANDARD.encode(&whole), BASE64_URL_SAFE_NO_PAD.encode(&whole)] {
                        let clean = redactor(&[value]).redact(&text).into_owned();
                        assert!(clean.contains("[redacted]"), "{whole} as {text}");
                    }
                }
            }
        }
    }

    #[test]
    fn each_line_of_a_value_counts_because_output_is_logged_by_line() {
        let key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\r\n-----END KEY-----\n";
        check(&[key], "kqhkiG9w0BAQEF", "[redacted]");
        check(&[key], "MIIEvQIBADANBg and", "[redacted] and");
    }

    #[test]
    fn json_is_cleaned_in_strings_keys_and_numbers() {
        let mut value = json!({ "k": ["s3cr3t-value", 1], "s3cr3t-value": { "n": 12_345_678, "m": 1234 } });

        redactor(&["s3cr3t-value", "12345678"]).redact_json(&mut value);

        assert_eq!(value, json!({ "k": ["[redacted]", 1], "[redacted]": { "n": "[redacted]", "m": 1234 } }));
    }

    #[test]
    fn json_text_is_cleaned_however_its_strings_are_escaped() {
        let redactor = redactor(&["s3cr3t-value", "12345678"]);
        let check = |text: &str, expected: &str| assert_eq!(redactor.redact_json_text(text), expected);

        check(r#"{"a":"\u0073\u0033cr3t-value"}"#, r#"{"a":"[redacted]"}"#);
        check(r#"{"a":"s3cr3t-value","n":12345678}"#, r#"{"a":"[redacted]","n":"[redacted]"}"#);
        check(r#"{ "a": "nothing" }"#, r#"{ "a": "nothing" }"#);
        check("no JSON, but s3cr3t-value", "no JSON, but [redacted]");
    }

    #[test]
    fn a_number_is_found_however_it_is_spelled_and_others_stay_as_they_are() {
        let redactor = redactor(&["12345678", "12345678901234567890123"]);
        let check = |text: &str, expected: &str| assert_eq!(redactor.redact_json_text(text), expected);

        for number in ["1.2345678e7", "1234567.8E+1", "123456780e-1", "0.12345678e8", "-12345678e-3"] {
            let clean = redactor.redact_json_text(number).into_owned();
            assert!(clean.contains("[redacted]") && !clean.contains("5678"), "{number}: {clean}");
        }
        // Read as a number it would lose its last digits, and keep the others.
        check(r#"{"n":12345678901234567890123}"#, r#"{"n":"[redacted]"}"#);
        check(r#"[1.7976931348623157e308, "1e5"]"#, r#"[1.7976931348623157e308, "1e5"]"#);
    }

    #[test]
    fn a_long_value_is_removed_whole_and_only_where_it_stands_whole() {
        let key = format!("{}-end", "0123456789abcdef".repeat(20));
        let other = format!("{}-END of another", "0123456789abcdef".repeat(20));

        check(&[&key], &format!("<{key}>"), "<[redacted]>");
        check(&[&key, &other], &format!("<{other}>"), "<[redacted]>");
        check(&[&key], &key[..key.len() - 1], &key[..key.len() - 1]);
    }

    #[test]
    fn what_go_and_php_make_of_a_value_by_default_is_found_whole() {
        let value = "<a/b&c>é-end-of-it";

        check(&[value], r"-\u003ca/b\u0026c\u003eé-end-of-it-", "-[redacted]-");
        check(&[value], r"-<a\/b&c>\u00e9-end-of-it-", "-[redacted]-");
    }

    #[test]
    fn a_value_is_removed_from_bytes_that_are_no_text() {
        let mut bytes = b"\xff\x89s3cr3t-value\0s3cr3t-value\xfe".to_vec();

        redactor(&["s3cr3t-value"]).redact_bytes(&mut bytes);

        assert_eq!(bytes, b"\xff\x89[redacted]\0[redacted]\xfe");
    }

    #[test]
    fn a_value_is_findable_when_any_of_its_lines_is() {
        for (value, expected) in [
            ("12345", false),
            ("123456", true),
            ("12345\n12345\n", false),
            ("  12345  ", false),
            ("1\n 123456", true),
        ] {
            assert_eq!(is_findable(value), expected, "{value:?}");
        }
    }

    #[test]
    fn a_value_and_a_text_that_were_made_for_each_other_take_linear_time() {
        let almost = format!("{}b", "a".repeat(4 << 10));
        let text = "a".repeat(1 << 20);

        assert_eq!(redactor(&[&"a".repeat(4 << 10)]).redact(&text), REPLACEMENT);
        // It is not there, but to be sure of that would take too long.
        assert_eq!(redactor(&[&almost]).redact(&text), REPLACEMENT);
    }

    #[test]
    fn hostile_values_cost_the_same_for_each_byte_of_a_text() {
        // Many lines with one head, which stands everywhere in the text; none of them ever does.
        let lines: Vec<_> =
            (0..400).map(|line| format!("{}{line:03}", "a".repeat(HEAD_BYTES + 40))).collect();
        let redactor = redactor(&[&lines.join("\n")]);
        let time = |length: usize| {
            let text = "a".repeat(length);
            let once = || {
                let began = std::time::Instant::now();
                assert_eq!(redactor.redact(&text), REPLACEMENT);
                began.elapsed()
            };
            (0..5).map(|_| once()).min().expect("it was measured")
        };

        let (short, long) = (time(1 << 20), time(4 << 20));

        assert!(long < short * 12, "{short:?} for a quarter of the text, {long:?} for all of it");
    }

    #[test]
    fn secrets_that_share_their_beginning_do_not_use_up_the_steps_of_an_honest_text() {
        let header = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IjEifQ";
        let tokens: Vec<_> = (0..8).map(|n| format!("{header}.{}", hex::encode([n; 200]))).collect();
        let values: Vec<_> = tokens.iter().map(String::as_str).collect();

        check(&values, &format!("a {} and {}", tokens[0], tokens[7]), "a [redacted] and [redacted]");
    }
}
