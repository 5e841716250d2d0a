//! Entry points for `fuzz/`.

use super::{Field, parse};

/// Parsed query.
#[derive(Debug)]
pub struct Search {
    /// Text to rank by.
    pub text: String,
    /// Phrases that documents must contain, or must not contain.
    pub phrases: Vec<Phrase>,
    /// Included sources, and excluded sources.
    pub sources: [Vec<String>; 2],
}

/// Words that must be adjacent.
#[derive(Debug)]
pub struct Phrase {
    /// Words of the phrase.
    pub words: String,
    /// Whether only titles are searched.
    pub is_of_title: bool,
    /// Whether documents must not contain the phrase.
    pub is_excluded: bool,
}

/// Parses the operators of a query, or returns the reason for refusal.
pub fn search(query: &str) -> Result<Search, String> {
    let parsed = parse(query).map_err(|problems| problems.to_string())?;
    let phrases = parsed.conditions.into_iter().map(|it| Phrase {
        words: it.phrase,
        is_of_title: it.field == Field::Title,
        is_excluded: it.is_excluded,
    });
    let sources = [parsed.sources.any_of, parsed.sources.none_of];
    Ok(Search { text: parsed.text, phrases: phrases.collect(), sources })
}
