//! Query words, in the term form of each analyzer.

use std::collections::BTreeMap;

use super::analyzer::Word;
use super::{Analyzer, Analyzers, Term};

/// Query word: each of its terms is searched in the chunks of some analyzers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct QueryWord(Vec<(Term, Analyzers)>);

/// Words of a query for chunks of these analyzers, repetitions included. Stop words of a language are left
/// out for its analyzers, unless the query has no other words.
pub(crate) fn of_query(query: &str, analyzers: Analyzers) -> Vec<QueryWord> {
    words(query, analyzers, |words| {
        let has_telling = words.iter().any(|(_, is_stop_word)| !is_stop_word);
        words.retain(|(_, is_stop_word)| !is_stop_word || !has_telling);
    })
}

/// All words of a phrase for chunks of these analyzers, repetitions included.
pub(crate) fn of_phrase(phrase: &str, analyzers: Analyzers) -> Vec<QueryWord> {
    words(phrase, analyzers, |_| {})
}

fn words(text: &str, analyzers: Analyzers, choose: impl Fn(&mut Vec<(Word, bool)>)) -> Vec<QueryWord> {
    let mut words = BTreeMap::<(usize, usize), QueryWord>::new();
    for analyzer in analyzers.iter() {
        let mut found = analyzer.query_words(text);
        choose(&mut found);
        for (word, _) in found {
            words.entry((word.range.start, word.range.end)).or_default().add(word.term, analyzer);
        }
    }
    words.into_values().collect()
}

impl QueryWord {
    /// Distinct terms, each with the analyzers that produce it.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (Term, Analyzers)> + Clone + '_ {
        self.0.iter().copied()
    }

    /// Term of the word for one analyzer.
    pub(crate) fn term(&self, analyzer: Analyzer) -> Option<Term> {
        self.terms().find(|(_, analyzers)| analyzers.contains(analyzer)).map(|(term, _)| term)
    }

    fn add(&mut self, term: Term, analyzer: Analyzer) {
        match self.0.iter_mut().find(|(known, _)| *known == term) {
            Some((_, analyzers)) => analyzers.insert(analyzer),
            None => self.0.push((term, analyzer.into())),
        }
    }
}
