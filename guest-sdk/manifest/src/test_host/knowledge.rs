//! Search in the documents of a test. A server finds words in all their forms, and meaning; this finds the words
//! as they are written.

use serde::{Deserialize, Serialize};

use crate::Problems;
use crate::knowledge::check_search;
use crate::limits::DEFAULT_SEARCH_RESULTS;

/// Maximum length of a search result's snippet, in characters.
const SNIPPET_CHARS: usize = 200;

/// A document that may be found.
#[derive(Clone, Copy, Debug)]
pub struct SearchedDocument<'a> {
    /// Title of the document.
    pub title: &'a str,
    /// Text of the document.
    pub text: &'a str,
    /// Id of the toolkit that ingested it, or `user`.
    pub source: &'a str,
    /// Byline of the document.
    pub author: Option<&'a str>,
}

/// A search and its options.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Search {
    /// Words to find.
    pub query: String,
    /// Maximum number of results.
    #[serde(default)]
    pub limit: Option<u32>,
    /// Source to search; exact match.
    #[serde(default)]
    pub source: Option<String>,
    /// Author to search; case-insensitive.
    #[serde(default)]
    pub author: Option<String>,
}

/// A document that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hit {
    /// Index of the document.
    pub index: usize,
    /// Beginning of its text.
    pub snippet: String,
    /// Fraction of the query's words that the document contains.
    pub score: f64,
}

/// Returns the documents that contain any word of the query, sorted by score, descending.
pub fn search<'a>(
    documents: impl IntoIterator<Item = SearchedDocument<'a>>,
    search: &Search,
) -> Result<Vec<Hit>, Problems> {
    let limit = search.limit.unwrap_or(DEFAULT_SEARCH_RESULTS);
    check_search(&search.query, limit)?;
    let words: Vec<String> = search.query.split_whitespace().map(str::to_lowercase).collect();
    let mut hits: Vec<Hit> = documents
        .into_iter()
        .enumerate()
        .filter(|(_, it)| search.source.as_ref().is_none_or(|source| source == it.source))
        .filter(|(_, it)| search.author.as_ref().is_none_or(|author| has_byline(it, author)))
        .filter_map(|(index, document)| match_words(index, document, &words))
        .collect();
    hits.sort_by(|a, b| b.score.total_cmp(&a.score));
    hits.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(hits)
}

fn has_byline(document: &SearchedDocument<'_>, author: &str) -> bool {
    document.author.is_some_and(|byline| byline.to_lowercase() == author.to_lowercase())
}

fn match_words(index: usize, document: SearchedDocument<'_>, words: &[String]) -> Option<Hit> {
    let text = format!("{} {}", document.title, document.text).to_lowercase();
    let hits = words.iter().filter(|word| text.contains(word.as_str())).count();
    let score = f64::from(u32::try_from(hits).ok()?) / f64::from(u32::try_from(words.len()).ok()?);
    let snippet = || document.text.chars().take(SNIPPET_CHARS).collect();
    (hits > 0).then(|| Hit { index, snippet: snippet(), score })
}
