//! Operators of queries: what a query demands stands in it.

use kitbag::fuzzing::documents::{Search, search as read};

const MAX_OPERATORS: usize = 16;
/// A query without these has no operators.
const BEGINNINGS: [char; 6] = ['"', '“', '”', '„', '-', ':'];

/// Input: a query.
///
/// Checks that phrases, sources and words are parts of the query, that there are few of them, and that something is left
/// to rank by.
pub fn search(data: &[u8]) {
    let Ok(query) = std::str::from_utf8(data) else { return };
    let Search { text, phrases, sources: [any_of, none_of] } = match read(query) {
        Ok(search) => search,
        Err(problem) => {
            assert!(problem.starts_with("query: ") && query.contains(BEGINNINGS), "{query:?}: {problem}");
            return;
        }
    };

    let operators = phrases.len() + any_of.len() + none_of.len();
    assert!(operators <= MAX_OPERATORS, "{query:?} has {operators} operators");
    assert!(text.split_whitespace().all(|word| query.contains(word)), "{query:?} ranks by {text:?}");
    if operators == 0 {
        assert_eq!(text, query);
    } else {
        assert!(text.contains(char::is_alphanumeric), "{query:?} has nothing to rank by");
        assert!(query.contains(BEGINNINGS), "{query:?} has operators");
    }
    for phrase in phrases {
        assert!(query.contains(&phrase.words), "{query:?} demands {phrase:?}");
        assert!(phrase.words.contains(char::is_alphanumeric), "{query:?} demands {phrase:?}");
        assert!(phrase.is_excluded || text.contains(&phrase.words), "{query:?} does not rank by {phrase:?}");
        let names_title = query.to_ascii_lowercase().contains("title:");
        assert!(!phrase.is_of_title || names_title, "{query:?} demands {phrase:?}");
    }
    let folded = |text: &str| text.to_lowercase().replace('ς', "σ");
    for source in any_of.iter().chain(&none_of) {
        assert!(folded(query).contains(&folded(source)), "{query:?} names {source:?}");
    }
}
