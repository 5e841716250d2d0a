//! Which documents meet the conditions of a query.
//!
//! The index knows the chunks that have all words of a phrase, wherever these are: by that the documents to rank are chosen. Whether
//! the words are next to each other, or in the title, only texts tell. They are read for as much of the ranking as is
//! needed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::Search;
use super::operators::{Condition, Field};
use crate::database;
use crate::knowledge::fusion::Fused;
use crate::knowledge::index::UserIndex;
use crate::knowledge::index::cache::Entry;
use crate::knowledge::words::{self, Analyzer};

/// A condition that only texts decide.
pub(super) struct Check {
    condition: Condition,
    /// The chunks that may have the phrase, of each document.
    chunks: HashMap<i64, Vec<i64>>,
}

/// Chunks whose texts are read at once; a document's chunks stay together.
const PORTION: usize = 256;

/// Chunks whose texts one search reads: 20,000 are some twenty megabytes.
const MAX_CHUNKS: usize = 20_000;

/// The documents of an index, of those that are `allowed`, that can meet some conditions, and what is to be checked of
/// them. Without conditions nothing is.
pub(super) fn choose(
    index: &UserIndex,
    conditions: Vec<Condition>,
    allowed: Option<Arc<HashSet<i64>>>,
) -> (Option<Arc<HashSet<i64>>>, Vec<Check>) {
    if conditions.is_empty() {
        return (allowed, Vec::new());
    }
    let mut chosen = allowed.map_or_else(|| index.all_documents().collect(), Arc::unwrap_or_clone);
    let mut checks = Vec::new();
    for condition in conditions {
        let words = words::of_phrase(&condition.phrase, index.analyzers());
        let mut chunks = HashMap::<i64, Vec<i64>>::new();
        for (document, chunk) in index.having_all(&words) {
            chunks.entry(document).or_default().push(chunk);
        }
        // A chunk has the words of its document's title, too.
        let is_decided = words.len() == 1 && condition.field == Field::TextOrTitle;
        if is_decided || !condition.is_excluded {
            chosen.retain(|document| chunks.contains_key(document) != condition.is_excluded);
        }
        if !is_decided {
            checks.push(Check { condition, chunks });
        }
    }
    (Some(Arc::new(chosen)), checks)
}

impl Search {
    /// The first documents of a ranking that meet what is to be checked: at least `wanted`, where there are as many.
    pub(super) async fn checked(
        &self,
        user_id: &str,
        entry: &Arc<Entry>,
        ranking: Vec<Fused>,
        checks: Vec<Check>,
        wanted: usize,
    ) -> database::Result<Vec<Fused>> {
        if checks.is_empty() {
            return Ok(ranking);
        }
        let checks = Arc::new(checks);
        let mut meeting = Vec::new();
        let mut rest = ranking.as_slice();
        let mut left = MAX_CHUNKS;
        while !rest.is_empty() && meeting.len() < wanted && left > 0 {
            let (portion, chunks);
            (portion, chunks, rest) = next_portion(rest, &checks);
            left = left.saturating_sub(chunks.len());
            let documents: Vec<_> = portion.iter().map(|found| found.document).collect();
            let (documents, texts) = tokio::try_join!(
                self.store.summaries(user_id, &documents),
                self.store.chunk_texts(user_id, &chunks)
            )?;
            let (portion, checks) = (portion.to_vec(), checks.clone());
            let work = move |entry: &Entry| {
                let index = entry.read();
                let is_met = |found: Fused| {
                    let title = documents.get(&found.document)?.title.as_str();
                    Document { title, texts: &texts, index: &index }.meets(&checks, found)
                };
                portion.into_iter().filter_map(is_met).collect::<Vec<_>>()
            };
            meeting.extend(self.compute(entry, work).await);
        }
        Ok(meeting)
    }
}

/// The next documents of a ranking with their chunks to read, and the rest of the ranking.
fn next_portion<'a>(ranking: &'a [Fused], checks: &[Check]) -> (&'a [Fused], Vec<i64>, &'a [Fused]) {
    let mut chunks = HashSet::new();
    let mut count = 0;
    for found in ranking {
        let of_document = checks.iter().filter_map(|check| check.chunks_of(found.document));
        chunks.extend(of_document.flatten());
        count += 1;
        if count == PORTION || chunks.len() >= PORTION {
            break;
        }
    }
    let (portion, rest) = ranking.split_at(count);
    (portion, chunks.into_iter().collect(), rest)
}

impl Check {
    /// The chunks of a document that may have the phrase; none where the title alone decides.
    fn chunks_of(&self, document: i64) -> Option<&Vec<i64>> {
        self.chunks.get(&document).filter(|_| self.condition.field == Field::TextOrTitle)
    }
}

/// A document with the texts of its chunks.
struct Document<'a> {
    title: &'a str,
    texts: &'a HashMap<i64, String>,
    index: &'a UserIndex,
}

impl Document<'_> {
    /// The place of a document in the ranking, by a chunk that has what the query demands; nothing where it fails a check.
    fn meets(&self, checks: &[Check], found: Fused) -> Option<Fused> {
        let mut shown = found;
        for Check { condition, chunks } in checks {
            let candidates = chunks.get(&found.document).map(Vec::as_slice).unwrap_or_default();
            let having = self.chunk_with(condition, shown.chunk, candidates);
            if having.is_some() == condition.is_excluded {
                return None;
            }
            shown.chunk = having.unwrap_or(shown.chunk);
        }
        Some(shown)
    }

    /// A chunk that has the phrase: the one that is `shown` rather than another one, also where the title has it.
    fn chunk_with(&self, condition: &Condition, shown: i64, candidates: &[i64]) -> Option<i64> {
        let phrase = |analyzer| words::sequence(&condition.phrase, analyzer);
        let has = |text: &str, analyzer: Analyzer| {
            let (text, phrase) = (words::sequence(text, analyzer), phrase(analyzer));
            !phrase.is_empty() && text.windows(phrase.len()).any(|part| part == phrase)
        };
        let chunk_has = |chunk: &i64| {
            let text = self.texts.get(chunk);
            text.is_some_and(|text| has(text, self.index.analyzer_of(*chunk)))
        };
        if condition.field == Field::TextOrTitle {
            let is_shown = |chunk: &&i64| **chunk == shown;
            let first = candidates.iter().find(is_shown).into_iter();
            let found = first.chain(candidates).find(|chunk| chunk_has(chunk));
            if let Some(chunk) = found {
                return Some(*chunk);
            }
        }
        // Each of its chunks has the words of the title, some maybe as another language writes them.
        let analyzers: BTreeSet<_> = candidates.iter().map(|chunk| self.index.analyzer_of(*chunk)).collect();
        analyzers.into_iter().any(|analyzer| has(self.title, analyzer)).then_some(shown)
    }
}
