//! The texts ("forms") that are searched for a value.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use secrecy::zeroize::Zeroizing;

use super::decoding::{Decoder, fold};
use super::{MAX_PASSES, MIN_VALUE_BYTES};

/// Returns the texts that are searched for a value: the value and each of its lines.
pub(super) fn texts(value: &str) -> impl Iterator<Item = &str> {
    // Output is logged line by line, and a value is often used without its final line end.
    let lines = value.lines().map(str::trim).filter(|line| line.len() < value.len());
    std::iter::once(value).chain(lines).filter(|text| text.len() >= MIN_VALUE_BYTES)
}

/// Adds every form of `value`, and of each of its lines, with ASCII letters in lower case.
pub(super) fn add_all(value: &str, forms: &mut Vec<Zeroizing<Vec<u8>>>) {
    texts(value).for_each(|text| add(text, forms));
}

fn add(text: &str, forms: &mut Vec<Zeroizing<Vec<u8>>>) {
    let folded: String = text.chars().flat_map(fold).collect();
    let mut found = vec![folded.into_bytes(), hex::encode(text).into_bytes()];
    for offset in 0..3 {
        found.push(base64_inside(text, offset, &BASE64_STANDARD_NO_PAD));
        found.push(base64_inside(text, offset, &BASE64_URL_SAFE_NO_PAD));
    }
    // A value that contains escapes itself is decoded where the text around it is.
    let decoded = |text: &Vec<u8>| Decoder { folds_case: true }.decoded(text);
    for form in std::iter::successors(Some(text.as_bytes().to_vec()), decoded).take(1 + MAX_PASSES) {
        if form.contains(&b' ') {
            // As a form in a URL has it.
            found.push(form.iter().map(|byte| if *byte == b' ' { b'+' } else { *byte }).collect());
        }
        found.push(form);
    }
    // The search ignores the case of ASCII letters, so forms that differ only in that are duplicates.
    for form in &mut found {
        form.make_ascii_lowercase();
    }
    found.sort_unstable();
    found.dedup();
    forms.extend(found.into_iter().map(Zeroizing::new).filter(|form| form.len() >= MIN_VALUE_BYTES));
}

/// Returns the base64 characters that depend on `text` alone if it begins at `offset` in a group of three
/// bytes. Characters at its ends also depend on the neighbouring bytes, and are left out.
fn base64_inside(text: &str, offset: usize, alphabet: &impl Engine) -> Vec<u8> {
    const BITS: usize = 6;

    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(text.as_bytes());
    let encoded = alphabet.encode(&bytes);
    let first = (offset * 8).div_ceil(BITS);
    let end = bytes.len() * 8 / BITS;
    encoded.as_bytes()[first..end].to_vec()
}
