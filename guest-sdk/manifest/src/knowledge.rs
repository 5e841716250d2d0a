//! Error texts of the knowledge base, and the rules of search requests.

#[cfg(feature = "rules")]
use crate::Problems;
#[cfg(feature = "rules")]
use crate::limits::MAX_SEARCH_RESULTS;

/// Maximum length of a query, in characters: a few sentences.
#[cfg(feature = "rules")]
pub const MAX_QUERY_CHARS: usize = 2_000;

/// Error text: the calling user has no document with the requested id.
pub const NOT_FOUND: &str = "There is no such document.";

/// Returns the error text for a request that breaks a rule; `reason` names the rule.
pub fn refused(reason: &str) -> String {
    format!("The knowledge base refused the request: {reason}")
}

/// Returns the error text for a knowledge base that is temporarily unavailable. Retryable.
pub fn unavailable(reason: &str) -> String {
    format!("The knowledge base is not available: {reason}")
}

/// Returns the reason for refusing a request whose scope the toolkit does not declare.
pub fn undeclared_scope(scope: &str) -> String {
    format!("the toolkit does not declare the scope {scope}")
}

/// Checks a search against every rule.
#[cfg(feature = "rules")]
pub fn check_search(query: &str, limit: u32) -> Result<(), Problems> {
    let mut problems = Problems::default();
    if query.trim().is_empty() {
        problems.add("query", "is empty: say what to search for");
    }
    if query.chars().nth(MAX_QUERY_CHARS).is_some() {
        problems.add("query", format!("is longer than {MAX_QUERY_CHARS} characters"));
    }
    if !(1..=MAX_SEARCH_RESULTS).contains(&limit) {
        problems.add("limit", format!("is {limit}, and may be 1 to {MAX_SEARCH_RESULTS}"));
    }
    if problems.0.is_empty() { Ok(()) } else { Err(problems) }
}

#[cfg(all(test, feature = "rules"))]
mod tests {
    use super::*;

    #[test]
    fn a_search_has_words_and_bounds() {
        let long = "ä".repeat(MAX_QUERY_CHARS + 1);
        for (query, limit, expected) in [
            (" ", 1, Some("query: is empty: say what to search for")),
            (long.as_str(), 1, Some("query: is longer than 2000 characters")),
            ("", 0, Some("query: is empty: say what to search for\nlimit: is 0, and may be 1 to 50")),
            ("a", 51, Some("limit: is 51, and may be 1 to 50")),
            (&long[2..], 50, None),
        ] {
            let found = check_search(query, limit).err().map(|problems| problems.to_string());
            assert_eq!(found.as_deref(), expected);
        }
    }
}
