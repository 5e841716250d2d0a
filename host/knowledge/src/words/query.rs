//! The words of a query, as chunks of different analyzers have them.

use std::collections::BTreeMap;

use super::analyzer::Word;
use super::{Analyzer, Analyzers, Term};

/// A word of a query. Each of its terms is looked for in the chunks of some analyzers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct QueryWord(Vec<(Term, Analyzers)>);

/// The words of a query, for chunks of these analyzers, each as often as it is there. Words that are in every
/// text of a language are left out there, unless there is no other.
pub(crate) fn of_query(query: &str, analyzers: Analyzers) -> Vec<QueryWord> {
    words(query, analyzers, |words| {
        let has_telling = words.iter().any(|(_, is_stop_word)| !is_stop_word);
        words.retain(|(_, is_stop_word)| !is_stop_word || !has_telling);
    })
}

/// All words of a phrase, for chunks of these analyzers, each as often as it is there.
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
    /// Its different terms, each with the analyzers whose chunks have it so.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (Term, Analyzers)> + Clone + '_ {
        self.0.iter().copied()
    }

    /// What it is in the texts of an analyzer.
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
