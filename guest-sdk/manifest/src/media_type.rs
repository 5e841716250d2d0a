//! Media types (RFC 9110, section 8.3.1).

use mime::Mime;

/// Returns type and subtype as written, without parameters.
pub fn essence(text: &str) -> &str {
    text.split_once(';').map_or(text, |(essence, _)| essence).trim()
}

/// Parses type and subtype, without parameters and in lower case; `None` if they are not valid. `mime` alone rejects
/// white space before a semicolon, which many clients and servers send.
pub fn without_parameters(text: &str) -> Option<Mime> {
    essence(text).parse().ok()
}

/// Whether a text is a media type in printable ASCII.
pub fn is_valid(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && without_parameters(text).is_some()
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
