//! `Intl.ListFormat` and `Intl.RelativeTimeFormat`.

use fixed_decimal::Decimal;

use super::data::{self, LocaleData};
use super::number::{Number, NumberFormat};
use super::parts::{Parts, placeholders};
use super::plural::Plurals;

/// Joins a list. `kind` is 0 for conjunctions, 1 for disjunctions, 2 for units; `width` is 0 for long, 1 for
/// short, 2 for narrow.
pub(crate) fn list(locale: LocaleData, kind: usize, width: usize, items: &[String]) -> Parts {
    let [start, middle, end, pair] = locale.phrases().lists[kind * 3 + width];
    let mut parts = Parts::default();
    let [first, between @ .., last] = items else {
        if let [only] = items {
            element(&mut parts, only);
        }
        return parts;
    };
    // Splits a pattern into the texts before, between and after its two arguments.
    let pieces = |pattern: &'static str| {
        let (before, rest) = pattern.split_once("{0}").unwrap_or(("", pattern));
        let (between, after) = rest.split_once("{1}").unwrap_or((rest, ""));
        (before, between, after)
    };
    let (before, joint, after) = if between.is_empty() { pieces(pair) } else { pieces(start) };
    parts.push("literal", before);
    element(&mut parts, first);
    let mut joint = joint;
    for (index, item) in between.iter().enumerate() {
        parts.push("literal", joint);
        element(&mut parts, item);
        joint = if index + 1 == between.len() { pieces(end).1 } else { pieces(middle).1 };
    }
    parts.push("literal", euphonic(locale.language(), kind, joint, last));
    element(&mut parts, last);
    parts.push("literal", if between.is_empty() { after } else { pieces(end).2 });
    parts
}

/// Appends an item as a part of its own, even if it is empty.
fn element(parts: &mut Parts, item: &str) {
    parts.push("element", item);
}

/// Adjusts the text between two items to the next item: Spanish has "e" before an i and "u" before an o,
/// Hebrew a hyphen before a word that is not Hebrew.
fn euphonic<'t>(language: &str, kind: usize, joint: &'t str, next: &str) -> &'t str {
    let next = next.to_lowercase();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| next.starts_with(prefix));
    match (language, kind, joint) {
        ("es", 0, " y ") if starts(&["i", "í"]) || starts(&["hi", "hí"]) && !starts(&["hia", "hie"]) => {
            " e "
        }
        ("es", 1, " o ")
            if starts(&["o", "ó", "ho", "hó", "8"]) || next == "11" || next.starts_with("11 ") =>
        {
            " u "
        }
        ("he", 0, " ו") if !next.starts_with(|letter: char| ('\u{590}'..='\u{5ff}').contains(&letter)) => {
            " ו-"
        }
        _ => joint,
    }
}

/// Formats a relative time. `unit` is such as `day`, `style` such as `-short`; `words` allows words such as
/// "tomorrow".
pub(crate) fn relative(
    locale: LocaleData,
    numbers: &NumberFormat,
    plurals: &Plurals,
    (unit, style): (&str, &str),
    value: f64,
    words: bool,
) -> Parts {
    let mut parts = Parts::default();
    let relative = &locale.phrases().relative;
    let name = format!("{unit}{style}");
    let Some(entry) = relative.iter().find(|entry| entry.name == name) else { return parts };
    // Minus zero matches the words for zero too.
    let exact = |(distance, _): &&(i8, &'static str)| {
        f64::from(*distance).to_bits() == value.to_bits() || value == 0.0 && *distance == 0
    };
    if words && let Some((_, text)) = entry.fixed.iter().find(exact) {
        parts.push("literal", text);
        return parts;
    }
    let past = value.is_sign_negative();
    let amount = Number::from_f64(value.abs());
    let shown = numbers.rounded(&amount).unwrap_or_else(|| Decimal::from(0));
    let category = plurals.category(&shown);
    let pattern = data::plural(if past { &entry.past } else { &entry.future }, category);
    for piece in placeholders(pattern) {
        match piece {
            Ok(_) => parts.append(&numbers.format(&amount)),
            Err(text) => parts.push("literal", text),
        }
    }
    parts
}
