//! Redaction: no part of a secret remains, in any of the supported encodings.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use kitbag_base::redaction::{MIN_VALUE_BYTES, REPLACEMENT, Redactor};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::SecretString;
use serde_json::Value;

/// Input: the value of a secret, a line `--`, and an output that may contain it; the target also inserts it.
///
/// Checks that the redacted output does not contain the value, as text, as bytes and in JSON, and that JSON
/// is still JSON.
pub fn redaction(data: &[u8]) {
    let Ok(input) = std::str::from_utf8(data) else { return };
    let Some((value, output)) = input.split_once("\n--\n") else { return };
    let redactor = Redactor::new(&[SecretString::from(value)]);
    if value.len() < MIN_VALUE_BYTES {
        return;
    }

    check_text(&redactor, value, output);
    let middle = output.floor_char_boundary(output.len() / 2);
    for encoded in encodings(value) {
        // Apart from text with whose end it would be another escape.
        let whole = format!("{}|{encoded}|{}", &output[..middle], &output[middle..]);
        let clean = redactor.redact(&whole);
        assert!(!holds(&clean, &encoded), "{encoded:?} remains of {value:?} in {clean:?}");
    }
    let around = format!("{}{value}{}", &output[..middle], &output[middle..]);
    for encoded in [BASE64_STANDARD.encode(&around), BASE64_URL_SAFE_NO_PAD.encode(&around)] {
        assert!(redactor.redact(&encoded).contains(REPLACEMENT), "{value:?} remains in {encoded:?}");
    }
    check_json(&redactor, value, output);
}

fn check_text(redactor: &Redactor, value: &str, output: &str) {
    let clean = redactor.redact(output);
    assert!(!holds(&clean, value), "{value:?} remains in {clean:?}");
    let mut bytes = output.as_bytes().to_vec();
    redactor.redact_bytes(&mut bytes);
    assert_eq!(bytes, clean.as_bytes(), "bytes are cleaned as text is");
}

fn check_json(redactor: &Redactor, value: &str, output: &str) {
    let clean = redactor.redact_json_text(output);
    let Ok(mut json) = serde_json::from_str::<Value>(output) else {
        assert_eq!(clean, redactor.redact(output), "what is no JSON is cleaned as text");
        return;
    };
    let text: Value = serde_json::from_str(&clean).expect("JSON is JSON once it is cleaned");
    redactor.redact_json(&mut json);
    assert!(!any_text(&json, &|text| holds(text, value)), "{value:?} remains in {json}");
    // Parsing a number rounds it, possibly to digits that its text does not have.
    let holds = |text: &str| holds(text, value) && text.parse::<f64>().is_err();
    assert!(!any_text(&text, &holds), "{value:?} remains in {text}");
}

/// Returns the encodings of a value, made independently of the code that searches for them.
fn encodings(value: &str) -> Vec<String> {
    let json = Value::from(value).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let twice = Value::from(json.as_str()).to_string();
    let ascii = json.chars().map(|character| match character {
        character if character.is_ascii() => character.to_string(),
        character => {
            let units: Vec<_> =
                character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
            units.concat()
        }
    });
    vec![
        value.to_owned(),
        value.to_ascii_uppercase(),
        ascii.collect(),
        json,
        twice[1..twice.len() - 1].to_owned(),
        url::form_urlencoded::byte_serialize(value.as_bytes()).collect(),
        utf8_percent_encode(value, UNRESERVED).to_string(),
        value.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect::<Vec<_>>().concat(),
        value.bytes().map(|byte| format!("%{byte:02x}")).collect::<Vec<_>>().concat(),
        value.chars().map(|character| format!("&#{};", u32::from(character))).collect::<Vec<_>>().concat(),
        hex::encode(value),
        hex::encode_upper(value),
    ]
}

/// Characters to escape: all but the unreserved ones of RFC 3986, section 2.3.
const UNRESERVED: &percent_encoding::AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns whether a redacted text contains `what`, ignoring case. Replacements are not part of any value.
fn holds(clean: &str, what: &str) -> bool {
    let what = what.to_ascii_lowercase();
    clean.split(REPLACEMENT).any(|piece| piece.to_ascii_lowercase().contains(&what))
}

fn any_text(value: &Value, holds: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(number) => holds(&number.to_string()),
        Value::String(text) => holds(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, holds)),
        Value::Object(members) => members.iter().any(|(key, value)| holds(key) || any_text(value, holds)),
    }
}
