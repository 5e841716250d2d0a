//! Conditions of a query on documents.
//!
//! The index finds the chunks that contain all words of a phrase in any order, which preselects the documents
//! to rank. Only texts tell whether the words are adjacent, or in the title. Texts are read for as much of
//! the ranking as needed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::operators::{Condition, Field};
use super::{Scope, Search};
use crate::fusion::Fused;
use crate::index::Union;
use crate::words::{self, Analyzer, Term};

/// Condition that is checked after the ranking.
pub(super) struct Check {
    condition: Condition,
    /// Ids (document, chunk) of the chunks that contain all words of the phrase, ascending.
    chunks: Vec<(i64, i64)>,
    /// Whether these chunks are known to match, so that no text has to be read.
    is_decided: bool,
}

impl Check {
    /// Whether all documents that can be in the ranking pass.
    pub(super) fn is_decided(&self) -> bool {
        self.is_decided
    }
}

/// Largest number of chunks whose texts are read at once; the chunks of a document stay together.
const PORTION: usize = 256;

/// Largest number of chunks whose texts one search reads: 20,000 take some 20 MB.
const MAX_CHUNKS: usize = 20_000;

/// Selects the documents of the indexes, restricted to `allowed`, that can meet the conditions, and the checks
/// to run after the ranking.
pub(super) fn choose(
    union: &Union<'_>,
    conditions: Vec<Condition>,
    mut allowed: Option<Arc<HashSet<i64>>>,
) -> (Option<Arc<HashSet<i64>>>, Vec<Check>) {
    let mut checks = Vec::new();
    for condition in conditions {
        let words = words::of_phrase(&condition.phrase, union.analyzers());
        let mut chunks = union.having_all(&words);
        chunks.sort_unstable();
        // The terms of a chunk include those of its document's title.
        let is_decided = words.len() == 1 && condition.field == Field::TextOrTitle;
        if is_decided || !condition.is_excluded {
            let mut chosen = allowed.map_or_else(|| union.all_documents().collect(), Arc::unwrap_or_clone);
            chosen.retain(|document| of_document(&chunks, *document).is_empty() == condition.is_excluded);
            allowed = Some(Arc::new(chosen));
        }
        if !is_decided || !condition.is_excluded {
            checks.push(Check { condition, chunks, is_decided });
        }
    }
    // Sorts conditions without a check first, so that a passage that contains a phrase is shown.
    checks.sort_by_key(|check| !check.is_decided);
    (allowed, checks)
}

impl Search {
    /// First documents of a ranking that pass the checks: at least `wanted`, unless the ranking or
    /// [`MAX_CHUNKS`] is exhausted first.
    pub(super) async fn checked(
        &self,
        scope: &Scope<'_>,
        ranking: Vec<Fused>,
        mut checks: Vec<Check>,
        wanted: usize,
    ) -> kitbag_database::Result<Vec<Fused>> {
        if checks.is_empty() {
            return Ok(ranking);
        }
        let ranked: HashSet<_> = ranking.iter().map(|found| found.document).collect();
        for check in &mut checks {
            check.chunks.retain(|(document, _)| ranked.contains(document));
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
                self.store.summaries(scope.holders, &documents),
                self.store.chunk_texts(scope.holders, &chunks)
            )?;
            let portion = portion.to_vec();
            let checks = checks.clone();
            let work = move |union: &Union<'_>| {
                let phrases = Phrases::new(&checks, union, &portion);
                let texts = texts
                    .iter()
                    .map(|(chunk, text)| (*chunk, phrases.words_of_chunk(*chunk, text)))
                    .collect();
                let is_met = |found: Fused| {
                    let title = documents.get(&found.document)?.title.as_str();
                    phrases.met(found, title, &texts)
                };
                portion.into_iter().filter_map(is_met).collect::<Vec<_>>()
            };
            meeting.extend(self.compute(scope, work).await);
        }
        Ok(meeting)
    }
}

/// Splits a ranking into the next documents, with their chunks to read, and the rest.
fn next_portion<'a>(ranking: &'a [Fused], checks: &[Check]) -> (&'a [Fused], Vec<i64>, &'a [Fused]) {
    let mut chunks = HashSet::new();
    let mut count = 0;
    for found in ranking {
        let to_read = checks.iter().filter(|check| check.needs_texts());
        chunks.extend(to_read.flat_map(|check| check.chunks_of(found.document)));
        count += 1;
        if count == PORTION || chunks.len() >= PORTION {
            break;
        }
    }
    let (portion, rest) = ranking.split_at(count);
    (portion, chunks.into_iter().collect(), rest)
}

impl Check {
    fn needs_texts(&self) -> bool {
        !self.is_decided && self.condition.field == Field::TextOrTitle
    }

    /// Chunks of a document that contain all words of the phrase.
    fn chunks_of(&self, document: i64) -> impl Iterator<Item = i64> + Clone + '_ {
        of_document(&self.chunks, document).iter().map(|(_, chunk)| *chunk)
    }
}

/// Entries of one document in a list sorted by document.
fn of_document(chunks: &[(i64, i64)], document: i64) -> &[(i64, i64)] {
    let start = chunks.partition_point(|(of, _)| *of < document);
    let count = chunks[start..].partition_point(|(of, _)| *of == document);
    &chunks[start..start + count]
}

/// Phrases of the checks, in the term form of each analyzer in a portion.
struct Phrases<'a> {
    checks: &'a [Check],
    analyzers: HashMap<i64, Analyzer>,
    /// Phrases by analyzer, in the order of the checks.
    of_analyzer: BTreeMap<Analyzer, Vec<Vec<Term>>>,
}

impl<'a> Phrases<'a> {
    fn new(checks: &'a [Check], union: &Union<'_>, portion: &[Fused]) -> Self {
        let documents = portion.iter().flat_map(|found| checks.iter().map(|check| (check, found.document)));
        let chunks = documents.flat_map(|(check, document)| check.chunks_of(document));
        let analyzers: HashMap<_, _> = chunks.map(|chunk| (chunk, union.analyzer_of(chunk))).collect();
        let phrases = |analyzer| {
            let phrases = checks.iter().map(|check| words::sequence(&check.condition.phrase, analyzer));
            (analyzer, phrases.collect())
        };
        let of_analyzer =
            analyzers.values().copied().collect::<BTreeSet<_>>().into_iter().map(phrases).collect();
        Self { checks, analyzers, of_analyzer }
    }

    fn words_of_chunk(&self, chunk: i64, text: &str) -> Vec<Term> {
        words::sequence(text, self.analyzers[&chunk])
    }

    /// Checks a document of the ranking, and selects a chunk that matches the conditions; `None` if a check
    /// fails or the document has changed since it was ranked. `texts` has the words of its chunks that may
    /// contain a phrase.
    fn met(&self, found: Fused, title: &str, texts: &HashMap<i64, Vec<Term>>) -> Option<Fused> {
        let mut shown = found;
        let mut titles = BTreeMap::new();
        for (number, check) in self.checks.iter().enumerate() {
            let candidates = check.chunks_of(found.document);
            let has = |words: &[Term], analyzer: Analyzer| {
                let phrase = &self.of_analyzer[&analyzer][number];
                !phrase.is_empty() && words.windows(phrase.len()).any(|part| part == phrase)
            };
            let mut having = Vec::new();
            if check.is_decided {
                having.extend(candidates.clone());
            } else if check.needs_texts() {
                for chunk in candidates.clone() {
                    if has(texts.get(&chunk)?, self.analyzers[&chunk]) {
                        having.push(chunk);
                    }
                }
            }
            // Each chunk has the terms of the title, some possibly in the form of another language.
            let is_in_title = || {
                let analyzers: BTreeSet<_> = candidates.map(|chunk| self.analyzers[&chunk]).collect();
                analyzers.into_iter().any(|analyzer| {
                    has(titles.entry(analyzer).or_insert_with(|| words::sequence(title, analyzer)), analyzer)
                })
            };
            if (!having.is_empty() || is_in_title()) == check.condition.is_excluded {
                return None;
            }
            if !having.contains(&shown.chunk) {
                shown.chunk = having.first().copied().unwrap_or(shown.chunk);
            }
        }
        Some(shown)
    }
}
