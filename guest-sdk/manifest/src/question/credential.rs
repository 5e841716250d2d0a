//! Rejects forms that ask for credentials: the answer passes through the client, and a model may read it.
//! Users set secrets on a page of the server instead (MCP 2025-11-25, "Elicitation", requires URL mode for
//! them).

use serde_json::{Map, Value};

use super::fields::{is_free_text, is_number};
use crate::Problems;
use crate::hidden::is_invisible;

/// Names of credentials, in lower case and without separators.
const WORDS: [&str; 21] = [
    "password",
    "passwort",
    "passwd",
    "passphrase",
    "passcode",
    "passkey",
    "credential",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "apitoken",
    "bearertoken",
    "creditcard",
    "seedphrase",
    "recoverycode",
];
/// Further names of credentials that count only in a field: in a message they may mean something else.
const IN_FIELDS: [&str; 11] =
    ["secret", "token", "pwd", "pin", "cvv", "cvc", "otp", "totp", "ssn", "2fa", "cardnumber"];
/// Maximum number of words that make up one of these names.
const MAX_WORDS: usize = 2;

/// Rejects free-text and number fields whose own texts name a credential, and free-text fields if the message
/// or the form names one.
pub(super) fn check(message: &str, schema: &Map<String, Value>, problems: &mut Problems) {
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let asked = ["title", "description"].into_iter().filter_map(|it| schema.get(it)?.as_str());
    let is_asked_for = asked.chain([message]).any(|text| names_one(text, &[&WORDS]));
    for (name, field) in fields.filter(|(_, field)| is_free_text(field) || is_number(field)) {
        let texts = ["title", "description"].into_iter().filter_map(|it| field.get(it)?.as_str());
        let is_one = texts.chain([name.as_str()]).any(|text| names_one(text, &[&WORDS, &IN_FIELDS]));
        if is_one || (is_asked_for && is_free_text(field)) {
            problems.add(
                format!("schema.properties.{name}"),
                "asks for a credential, which a form must not: its answer goes through the client. Declare it in `secrets`; \
                 its user sets it on a page of the server",
            );
        }
    }
}

/// Whether a text contains one of the listed names, also in plural or split into several words.
fn names_one(text: &str, lists: &[&[&str]]) -> bool {
    let words = words(text);
    let is_listed = |word: &str| {
        let singular = word.strip_suffix('s').unwrap_or(word);
        lists.iter().any(|list| list.contains(&word) || list.contains(&singular))
    };
    (1..=MAX_WORDS).any(|count| words.windows(count).any(|some| is_listed(&some.concat())))
}

/// Splits a text or an identifier (`apiKey`, `API_KEY`) into words, in lower case. Common look-alikes of
/// ASCII letters are replaced with these.
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

/// Returns the ASCII letter that a full-width, Cyrillic or Greek letter looks like.
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
        'С' => 'C',
        'Е' | 'Ε' => 'E',
        'І' | 'Ι' => 'I',
        'К' | 'Κ' => 'K',
        'О' | 'Ο' => 'O',
        'Р' | 'Ρ' => 'P',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        _ => letter,
    }
}
