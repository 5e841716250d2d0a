//! Media types of bodies (RFC 9110, section 8.3).

use axum::http::{HeaderMap, header};
use mime::Mime;

pub(super) const JSON: &str = "application/json";

/// Whether a body is of the type `expected`, as its sender says, whatever the parameters.
pub(super) fn is(headers: &HeaderMap, expected: &str) -> bool {
    let said = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()?.parse::<Mime>().ok());
    said.is_some_and(|said| said.essence_str() == expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_and_case_make_no_difference() {
        for (said, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/json ; charset=\"utf-8\"", true),
            ("application/jsonx", false),
            ("text/plain; a=application/json", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, said.parse().expect("a value"))]);
            assert_eq!(is(&headers, JSON), expected, "{said}");
        }
        assert!(!is(&HeaderMap::new(), JSON));
    }
}
