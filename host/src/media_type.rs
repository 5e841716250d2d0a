//! Media types (RFC 9110, section 8.3.1).

use mime::Mime;

/// Reads type and subtype, without parameters and in lower case; `None` where they are not valid. `mime` alone refuses
/// white space before a semicolon, and with it what many clients and servers send.
pub(crate) fn without_parameters(text: &str) -> Option<Mime> {
    text.split(';').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_case_make_no_difference() {
        for (text, expected) in [
            ("application/json", Some("application/json")),
            ("Application/JSON; charset=utf-8", Some("application/json")),
            (" text/html ; charset=\"utf-8\"", Some("text/html")),
            ("text/html; charset", Some("text/html")),
            ("*/*;q=0", Some("*/*")),
            ("text", None),
            ("text/a b", None),
            ("", None),
        ] {
            assert_eq!(without_parameters(text).as_ref().map(Mime::essence_str), expected, "{text:?}");
        }
    }
}
