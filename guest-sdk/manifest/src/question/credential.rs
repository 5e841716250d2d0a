//! Refuses forms that ask for credentials: what is answered goes through the client, and a model may read it. Secrets have a
//! page of their own (MCP 2025-11-25, "Elicitation", requires URL mode for them).

use serde_json::{Map, Value};

use super::fields::is_free_text;
use crate::Problems;

/// What credentials are called, in lower case and without what separates words.
const WORDS: [&str; 22] = [
    "password",
    "passwort",
    "passwd",
    "passphrase",
    "passcode",
    "passkey",
    "secret",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "apitoken",
    "bearertoken",
    "cardnumber",
    "creditcard",
    "seedphrase",
    "recoverycode",
];
/// The same as single words: within longer ones they mean something else.
const WHOLE_WORDS: [&str; 9] = ["token", "pwd", "pin", "cvv", "cvc", "otp", "totp", "ssn", "2fa"];

/// Refuses fields of free text that ask for a credential, by their own words or by those of the message.
pub(super) fn check(message: &str, schema: &Map<String, Value>, problems: &mut Problems) {
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let asked = ["title", "description"].into_iter().filter_map(|it| schema.get(it)?.as_str());
    let is_asked_for = asked.chain([message]).any(names_credential);
    for (name, field) in fields.filter(|(_, field)| is_free_text(field)) {
        let texts = ["title", "description"].into_iter().filter_map(|it| field.get(it)?.as_str());
        if is_asked_for || texts.chain([name.as_str()]).any(names_credential) {
            problems.add(
                format!("schema.properties.{name}"),
                "asks for a credential, which a form must not: its answer goes through the client. Declare it in `secrets`; \
                 its user sets it on a page of the server",
            );
        }
    }
}

/// Whether a text names a credential.
fn names_credential(text: &str) -> bool {
    let words: Vec<String> = words(text);
    let joined = words.concat();
    WORDS.iter().any(|word| joined.contains(word))
        || words.iter().any(|word| {
            let singular = word.strip_suffix('s').unwrap_or(word);
            WHOLE_WORDS.contains(&singular) || WHOLE_WORDS.contains(&word.as_str())
        })
}

/// The words of a text or of an identifier (`apiKey`, `API_KEY`), in lower case. Letters that only look like those of ASCII
/// count as them where that is common.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in text.chars().filter(|letter| !is_invisible(*letter)).map(plain) {
        let begins = !letter.is_alphanumeric() || (was_small && letter.is_uppercase());
        if begins && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        was_small = letter.is_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Characters without a shape, which hide a word.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// The letter of ASCII that a full-width, Cyrillic or Greek one looks like.
fn plain(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        'а' | 'α' => 'a',
        'с' | 'ϲ' => 'c',
        'е' | 'ε' => 'e',
        'і' | 'ι' => 'i',
        'к' | 'κ' => 'k',
        'о' | 'ο' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'ԝ' => 'w',
        'у' => 'y',
        'А' | 'Α' => 'A',
        'Р' | 'Ρ' => 'P',
        'Ѕ' => 'S',
        _ => letter,
    }
}
