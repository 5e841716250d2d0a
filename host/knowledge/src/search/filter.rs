//! Which documents meet the conditions of a query.
//!
//! The index knows the chunks that have all words of a phrase, wherever these are: by that the documents to rank are
//! chosen. Whether the words are next to each other, or in the title, only texts tell. They are read for as much of the
//! ranking as is needed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::Search;
use super::operators::{Condition, Field};
use crate::fusion::Fused;
use crate::index::UserIndex;
use crate::index::cache::Entry;
use crate::words::{self, Analyzer, Term};

/// A condition that is looked at after the ranking.
pub(super) struct Check {
    condition: Condition,
    /// The chunks that have all words of the phrase, each after its document, in order.
    chunks: Vec<(i64, i64)>,
    /// Whether these chunks have the phrase: there is nothing to read.
    is_decided: bool,
}

/// Chunks whose texts are read at once; a document's chunks stay together.
const PORTION: usize = 256;

/// Chunks whose texts one search reads: 20,000 are some twenty megabytes.
const MAX_CHUNKS: usize = 20_000;

/// The documents of an index, of those that are `allowed`, that can meet some conditions, and what is to be checked of
/// them after the ranking.
pub(super) fn choose(
    index: &UserIndex,
    conditions: Vec<Condition>,
    mut allowed: Option<Arc<HashSet<i64>>>,
) -> (Option<Arc<HashSet<i64>>>, Vec<Check>) {
    let mut checks = Vec::new();
    for condition in conditions {
        let words = words::of_phrase(&condition.phrase, index.analyzers());
        let mut chunks = index.having_all(&words);
        chunks.sort_unstable();
        // A chunk has the words of its document's title, too.
        let is_decided = words.len() == 1 && condition.field == Field::TextOrTitle;
        if is_decided || !condition.is_excluded {
            let mut chosen = allowed.map_or_else(|| index.all_documents().collect(), Arc::unwrap_or_clone);
            chosen.retain(|document| of_document(&chunks, *document).is_empty() == condition.is_excluded);
            allowed = Some(Arc::new(chosen));
        }
        if !is_decided || !condition.is_excluded {
            checks.push(Check { condition, chunks, is_decided });
        }
    }
    // Where phrases and words are demanded, a passage with a phrase is shown.
    checks.sort_by_key(|check| !check.is_decided);
    (allowed, checks)
}

impl Search {
    /// The first documents of a ranking that meet what is to be checked: at least `wanted`, where there are as many.
    pub(super) async fn checked(
        &self,
        user_id: &str,
        entry: &Arc<Entry>,
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
                self.store.summaries(user_id, &documents),
                self.store.chunk_texts(user_id, &chunks)
            )?;
            let (portion, checks) = (portion.to_vec(), checks.clone());
            let work = move |entry: &Entry| {
                let phrases = Phrases::new(&checks, &entry.read(), &portion);
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
            meeting.extend(self.compute(user_id, entry, work).await);
        }
        Ok(meeting)
    }
}

/// The next documents of a ranking with their chunks to read, and the rest of the ranking.
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

    /// The chunks of a document that have all words of the phrase.
    fn chunks_of(&self, document: i64) -> impl Iterator<Item = i64> + Clone + '_ {
        of_document(&self.chunks, document).iter().map(|(_, chunk)| *chunk)
    }
}

/// What there is of a document among chunks in the order of their documents.
fn of_document(chunks: &[(i64, i64)], document: i64) -> &[(i64, i64)] {
    let start = chunks.partition_point(|(of, _)| *of < document);
    let count = chunks[start..].partition_point(|(of, _)| *of == document);
    &chunks[start..start + count]
}

/// The phrases of checks, as the analyzers of a portion's chunks write them.
struct Phrases<'a> {
    checks: &'a [Check],
    analyzers: HashMap<i64, Analyzer>,
    /// Those of each check, in the order of the checks.
    of_analyzer: BTreeMap<Analyzer, Vec<Vec<Term>>>,
}

impl<'a> Phrases<'a> {
    fn new(checks: &'a [Check], index: &UserIndex, portion: &[Fused]) -> Self {
        let documents = portion.iter().flat_map(|found| checks.iter().map(|check| (check, found.document)));
        let chunks = documents.flat_map(|(check, document)| check.chunks_of(document));
        let analyzers: HashMap<_, _> = chunks.map(|chunk| (chunk, index.analyzer_of(chunk))).collect();
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

    /// A document of the ranking, by a chunk that has what the query demands; nothing where it fails a check, or has
    /// changed since it was ranked. `texts` are the words of its chunks that may have a phrase.
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
            // Each chunk has the words of the title, some maybe as another language writes them.
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
