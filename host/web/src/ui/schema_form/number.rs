//! Parsing of numbers that people type.

use serde_json::{Number, Value};

/// Parses an integer, also with a fraction of zeros. Never converts digits to a floating-point number, which
/// would round them.
pub(super) fn integer(text: &str) -> Result<Value, &'static str> {
    let whole = match text.split_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') => whole,
        _ => text,
    };
    if !is_digits(whole) {
        return Err("This must be a whole number, such as 7.");
    }
    exact(whole).ok_or("This number is too large.")
}

/// Parses a number in JSON syntax, or in forms that browsers accept: `.5`, `007.5`.
pub(super) fn number(text: &str) -> Result<Value, &'static str> {
    if is_digits(text) {
        return exact(text).ok_or("This number is too large to be sent exactly.");
    }
    as_json(text).parse::<Number>().map(Value::Number).map_err(|_| "This must be a number, such as 12.5.")
}

/// Formats a number for an integer field: schemas may write 5 as `5.0` or `5e0`.
pub(super) fn without_zeros(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => float.to_string(),
        None => number.to_string(),
    }
}

/// Normalises leading zeros as JSON requires: at least one digit before the point, and no superfluous zeros.
fn as_json(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let significant = digits.trim_start_matches('0');
    let begins_with_digit = significant.starts_with(|first: char| first.is_ascii_digit());
    let had_zeros = significant.len() < digits.len();
    let zero = if significant.starts_with('.') || (had_zeros && !begins_with_digit) { "0" } else { "" };
    format!("{sign}{zero}{significant}")
}

fn is_digits(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn exact(digits: &str) -> Option<Value> {
    let signed = digits.parse::<i64>().map(Value::from);
    signed.or_else(|_| digits.parse::<u64>().map(Value::from)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_whole_number_is_rounded() {
        for (text, expected) in [
            ("7", json!(7)),
            ("-7", json!(-7)),
            ("007", json!(7)),
            ("9007199254740993", json!(9_007_199_254_740_993_u64)),
            ("18446744073709551615", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
        ] {
            assert_eq!(integer(text), Ok(expected.clone()), "{text}");
            assert_eq!(number(text), Ok(expected), "{text}");
        }
        assert_eq!(integer("9007199254740993.00"), Ok(json!(9_007_199_254_740_993_u64)));
        for text in ["18446744073709551616", "-9223372036854775809"] {
            assert!(integer(text).is_err() && number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_read_as_browsers_take_them() {
        for (text, expected) in [
            ("12.5", 12.5),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("-.5", -0.5),
            ("007.5", 7.5),
            ("0.25", 0.25),
            ("-00e1", -0.0),
            ("5.0", 5.0),
        ] {
            assert_eq!(number(text), Ok(json!(expected)), "{text}");
        }
        assert_eq!((integer("5.0"), integer("-007.00")), (Ok(json!(5)), Ok(json!(-7))));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in
            ["", "-", ".", "-.", ".e1", "e1", "1,5", "0x1", "1 2", "NaN", "Infinity", "1e999", "seven", "é"]
        {
            assert!(number(text).is_err() && integer(text).is_err(), "{text}");
        }
        for text in ["1.5", "5.", ".0", "5.0.0", "1e3"] {
            assert!(integer(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_whole_number_has_no_fraction_however_its_schema_writes_it() {
        let typed = |json: &str| without_zeros(&json.parse().expect("a number"));

        assert_eq!(
            ["7", "5.0", "-2e3", "18446744073709551615"].map(typed),
            ["7", "5", "-2000", "18446744073709551615"]
        );
        for text in ["5.5", "1e300"] {
            assert!(integer(&typed(text)).is_err(), "{text}");
        }
    }
}
