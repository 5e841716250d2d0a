//! The encodings ("forms") in which a value may appear in text.

use std::fmt::Write;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::zeroize::Zeroizing;

use super::MIN_VALUE_BYTES;

/// Characters that `encodeURIComponent` encodes: all but RFC 3986's unreserved ones (section 2.3) and some
/// that browsers add.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'!')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');
/// All characters but RFC 3986's unreserved ones.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// All characters but those that may appear unencoded in a path or a query, such as `/` and `:`.
const URL: &AsciiSet = &COMPONENT
    .remove(b'/')
    .remove(b':')
    .remove(b'@')
    .remove(b'&')
    .remove(b'=')
    .remove(b'+')
    .remove(b'$')
    .remove(b',')
    .remove(b';')
    .remove(b'?');

/// Returns the texts that are searched for a value: the value and each of its lines.
pub(super) fn texts(value: &str) -> impl Iterator<Item = &str> {
    // Output is logged line by line, and a value is often used without its final line end.
    let lines = value.lines().map(str::trim).filter(|line| line.len() < value.len());
    std::iter::once(value).chain(lines).filter(|text| text.len() >= MIN_VALUE_BYTES)
}

/// Adds every form of `value`, and of each of its lines, in lower case.
pub(super) fn add_all(value: &str, forms: &mut Vec<Zeroizing<String>>) {
    texts(value).for_each(|text| add(text, forms));
}

fn add(text: &str, forms: &mut Vec<Zeroizing<String>>) {
    let (json, ascii) = (json(text), json_ascii(text));
    // The JSON encodings of PHP and of Go.
    let mut found = vec![ascii.replace('/', "\\/"), json_for_html(&json)];
    found.extend([json.replace('/', "\\/"), self::json(&json), json, ascii]);
    found.extend([COMPONENT, UNRESERVED, URL].map(|kept| utf8_percent_encode(text, kept).to_string()));
    found.push(url::form_urlencoded::byte_serialize(text.as_bytes()).collect());
    found.push(hex::encode(text));
    for offset in 0..3 {
        let standard = base64_inside(text, offset, &BASE64_STANDARD_NO_PAD);
        // In a URL, the `+` and `/` of base64 are percent-encoded.
        found.push(utf8_percent_encode(&standard, COMPONENT).to_string());
        found.push(standard.replace('/', "\\/"));
        found.push(base64_inside(text, offset, &BASE64_URL_SAFE_NO_PAD));
        found.push(standard);
    }
    found.push(text.to_owned());
    // The search ignores case, so forms that differ only in case are duplicates.
    for form in &mut found {
        form.make_ascii_lowercase();
    }
    // Most forms are usually identical.
    found.sort_unstable();
    found.dedup();
    forms.extend(found.into_iter().map(Zeroizing::new).filter(|form| form.len() >= MIN_VALUE_BYTES));
}

/// Escapes JSON for HTML, as Go's `encoding/json` does.
fn json_for_html(json: &str) -> String {
    json.replace('&', "\\u0026")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Returns the text as a JSON string, without the quotes.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns the text as a JSON string with all non-ASCII characters as `\uXXXX`, as some languages write it.
fn json_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for character in json(text).chars() {
        if character.is_ascii() {
            ascii.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            write!(ascii, "\\u{unit:04x}").expect("writing to a string never fails");
        }
    }
    ascii
}

/// Returns the base64 characters that depend on `text` alone if it begins at `offset` in a group of three
/// bytes. Characters at its ends also depend on the neighbouring bytes, and are left out.
fn base64_inside(text: &str, offset: usize, alphabet: &impl Engine) -> String {
    const BITS: usize = 6;

    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(text.as_bytes());
    let encoded = alphabet.encode(&bytes);
    let first = (offset * 8).div_ceil(BITS);
    let end = bytes.len() * 8 / BITS;
    encoded[first..end].to_owned()
}
