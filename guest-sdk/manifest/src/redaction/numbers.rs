//! Numbers in JSON text, which may have an exponent.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;

/// Largest exponent that is resolved: larger ones would only add zeros to the digits.
const MAX_EXPONENT: u32 = 64;

/// Whether some number of the text may have an exponent.
pub(super) fn have_exponent(text: &str) -> bool {
    text.as_bytes().windows(3).any(|at| {
        at[0].is_ascii_digit() && matches!(at[1], b'e' | b'E') && matches!(at[2], b'0'..=b'9' | b'+' | b'-')
    })
}

/// Returns the ranges of numbers in JSON text, in order.
pub(super) fn places(json: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = json.as_bytes();
    let mut at = 0;
    let mut in_string = false;
    iter::from_fn(move || {
        loop {
            match (*bytes.get(at)?, in_string) {
                (b'\\', true) => at += 1,
                (b'"', _) => in_string = !in_string,
                (b'-' | b'0'..=b'9', false) => {
                    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
                    let start = at;
                    at += bytes[start..].iter().take_while(|byte| is_part(byte)).count();
                    return Some(start..at);
                }
                _ => {}
            }
            at += 1;
        }
    })
}

/// Returns the same number without its exponent.
pub(super) fn without_exponent(number: &str) -> Cow<'_, str> {
    let Some((mantissa, exponent)) = number.split_once(['e', 'E']) else { return Cow::Borrowed(number) };
    let Some(exponent) = exponent.parse::<i32>().ok().filter(|it| it.unsigned_abs() <= MAX_EXPONENT) else {
        return Cow::Borrowed(number);
    };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let shift = usize::try_from(exponent.unsigned_abs()).expect("at most MAX_EXPONENT");
    let zeros = "0".repeat(shift);
    // The digits are padded with zeros as far as the decimal point moves.
    let (digits, point) = if exponent < 0 {
        (format!("{zeros}{whole}{fraction}"), whole.len())
    } else {
        (format!("{whole}{fraction}{zeros}"), whole.len() + shift)
    };
    let (whole, fraction) = digits.split_at(point);
    Cow::Owned(if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_same_without_its_exponent() {
        for (number, plain) in [
            ("12345678", "12345678"),
            ("-1.5", "-1.5"),
            ("1.2345678e7", "12345678.0000000"),
            ("1.2345678E+7", "12345678.0000000"),
            ("12345678e0", "12345678"),
            ("12e3", "12000"),
            ("-123456780e-1", "-012345678.0"),
            ("0.12345678e8", "012345678.00000000"),
            ("1e-2", "0.01"),
            ("1e400", "1e400"),
            ("1e99999999999", "1e99999999999"),
        ] {
            assert_eq!(without_exponent(number), plain, "{number}");
        }
    }

    #[test]
    fn numbers_stand_outside_of_strings() {
        let json = r#"{"1e5\"2":[-1.5e+3,7,"3\\",true],"a":0}"#;

        let found: Vec<_> = places(json).map(|place| &json[place]).collect();

        assert_eq!(found, ["-1.5e+3", "7", "0"]);
        assert!(have_exponent(json) && !have_exponent("the end, 1 e5 e+5 2e"));
    }
}
