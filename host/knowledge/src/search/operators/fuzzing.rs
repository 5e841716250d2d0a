//! Entry points for `fuzz/`.

use super::{Field, parse};

/// What a query asks for.
#[derive(Debug)]
pub struct Search {
    /// What it ranks by.
    pub text: String,
    /// Phrases that documents have or must not have.
    pub phrases: Vec<Phrase>,
    /// Sources that are searched, and those that are not.
    pub sources: [Vec<String>; 2],
}

/// Words next to each other.
#[derive(Debug)]
pub struct Phrase {
    /// The words.
    pub words: String,
    /// Whether they are looked for in titles alone.
    pub is_of_title: bool,
    /// Whether a document must not have them.
    pub is_excluded: bool,
}

/// Reads the operators of a query, or says why it is refused.
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
