//! Search: full-text and semantic rankings over the user's own chunks in memory, fused.

mod filter;
mod named;
pub(super) mod operators;
mod queries;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use kitbag_base::tasks::off_thread;
use kitbag_base::turns::Turns;
use kitbag_manifest::knowledge::check_search;
use tracing::warn;

use self::filter::Check;
pub(super) use self::named::last_segment;
use self::operators::Parsed;
use self::queries::Queries;
use super::bm25;
use super::document::{Coverage, Found, Hit, Mode, Query};
use super::embedding::{EmbedError, Embedder};
use super::error::KnowledgeError;
use super::feedback::fuse_with_feedback;
use super::fusion::{Candidate, DEPTH, FLOOR, Fused, MEANING_WEIGHT, fuse, make_descending, nearest_first};
use super::index::cache::{CachedIndex, Indexes};
use super::index::keeper::Keeper;
use super::snippet::snippet;
use super::store::{Sources, Store};
use super::words::{self, QueryWord};

/// Search over the documents of all users, separately for each.
pub(super) struct Search {
    store: Store,
    queries: Option<Queries>,
    /// Whether [`FLOOR`] was measured with the model.
    has_measured_model: bool,
    indexes: Indexes,
    /// Limits simultaneous computations, since more would only slow each one down. Users take turns.
    computing: Turns,
    /// Time of the last warning about a failing model.
    complained: Mutex<Option<Instant>>,
}

/// Full-text ranking of a query over a user's index.
struct Ranked {
    /// Documents that the query's conditions allow; `None`: all.
    allowed: Option<Arc<HashSet<i64>>>,
    checks: Vec<Check>,
    words: Vec<QueryWord>,
    ranking: Vec<Candidate>,
}

/// Id of all-MiniLM-L6-v2. Of cosines of other models it is not known from where on they are good.
const MEASURED_MODEL: &str = "local:5d1cbe4297030e23";

/// Shortest time between two warnings about a failing model.
const WARNING_INTERVAL: Duration = Duration::from_mins(1);

impl Search {
    /// Without an embedder, search is full-text only. Indexes take at most `memory` bytes. `keeper`
    /// manages index files.
    pub(super) fn new(
        store: Store,
        embedder: Option<Embedder>,
        memory: usize,
        keeper: Option<Keeper>,
    ) -> Self {
        let model = embedder.as_ref().map(|embedder| embedder.model().to_owned());
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self {
            indexes: Indexes::new(store.clone(), model, memory, keeper),
            has_measured_model: embedder.as_ref().is_some_and(|it| it.model() == MEASURED_MODEL),
            queries: embedder.map(Queries::new),
            store,
            computing: Turns::new(cores, cores.div_ceil(2)),
            complained: Mutex::new(None),
        }
    }

    /// Retrieval method while everything works.
    pub(super) fn mode(&self) -> Mode {
        if self.queries.is_some() { Mode::Hybrid } else { Mode::FullText }
    }

    /// Discards all indexes; they are loaded again.
    pub(super) fn forget_indexes(&self) {
        self.indexes.forget_all();
    }

    /// Cleans up index files before this process ends.
    pub(super) async fn close(&self) {
        self.indexes.close().await;
    }

    /// Finds the user's documents that match best.
    pub(super) async fn search(&self, user_id: &str, query: &Query) -> Result<Found, KnowledgeError> {
        check_search(&query.text, query.limit).map_err(KnowledgeError::Invalid)?;
        let text = words::plain(&query.text);
        let Parsed { text, conditions, sources } = if query.has_operators {
            operators::parse(&text).map_err(KnowledgeError::Invalid)?
        } else {
            Parsed::words(&text)
        };
        let by_words = async {
            let (entry, allowed) = tokio::try_join!(self.indexes.fresh(user_id), async {
                Ok(self.allowed(user_id, query, &sources).await?)
            })?;
            let text = text.clone();
            let ranked = self.compute(user_id, &entry, move |entry| {
                let index = entry.read();
                let (allowed, checks) = filter::choose(&index, conditions, allowed);
                let words = words::of_query(&text, index.analyzers());
                let ranking = bm25::rank(&index, &words, allowed.as_deref(), DEPTH);
                Ranked { allowed, checks, words, ranking }
            });
            let ranked = ranked.await;
            Ok::<_, KnowledgeError>((entry, ranked))
        };
        let (by_words, vector) = tokio::join!(by_words, self.embed(user_id, &text));
        let (entry, Ranked { allowed, checks, words, ranking: by_words }) = by_words?;
        let (ranking, coverage) = match vector {
            Some(vector) => {
                // Documents that are dropped after the ranking must not move the query.
                let has_feedback = checks.iter().all(Check::is_decided);
                let fused = self.fused(user_id, &entry, by_words, vector, allowed, has_feedback);
                let (fused, coverage) = fused.await;
                (fused, Some(coverage))
            }
            None => (fuse(&by_words, &[], MEANING_WEIGHT, |_| false), None),
        };
        let mut ranking = self.named_first(user_id, &text, ranking).await?;
        make_descending(&mut ranking);
        let shown = (query.offset as usize).saturating_add(query.limit as usize);
        let ranking = self.checked(user_id, &entry, ranking, checks, shown.saturating_add(1)).await?;
        let is_measured = coverage.is_none() || self.has_measured_model;
        let has_good_match = ranking.first().is_some_and(|best| !is_measured || best.score >= FLOOR);
        let found = self.show(user_id, query, &entry, &words, ranking, coverage).await?;
        Ok(Found { has_good_match, ..found })
    }

    /// Vector of a query; `None` without a model, or if it fails: full-text results are better than an error.
    pub(super) async fn embed(&self, user_id: &str, text: &str) -> Option<Vec<f32>> {
        let vector = self.queries.as_ref()?.vector(user_id, text).await;
        vector.inspect_err(|error| self.complain(error)).ok()
    }

    fn complain(&self, error: &EmbedError) {
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        if complained.is_none_or(|last| last.elapsed() >= WARNING_INTERVAL) {
            *complained = Some(Instant::now());
            warn!(%error, "searching by words alone: the query could not be embedded");
        }
    }

    /// Fuses the full-text ranking of a query with the semantic ranking of its vector.
    async fn fused(
        &self,
        user_id: &str,
        entry: &Arc<CachedIndex>,
        by_words: Vec<Candidate>,
        vector: Vec<f32>,
        allowed: Option<Arc<HashSet<i64>>>,
        has_feedback: bool,
    ) -> (Vec<Fused>, Coverage) {
        self.compute(user_id, entry, move |entry| {
            let index = entry.read();
            let cosines = index.cosines(&vector, allowed.as_deref(), DEPTH);
            let by_meaning = nearest_first(&index, &cosines, DEPTH);
            let is_unread = |document| index.is_in(&cosines.unread, document);
            let fused = if has_feedback {
                fuse_with_feedback(&index, &vector, &by_words, &by_meaning, is_unread)
            } else {
                fuse(&by_words, &by_meaning, MEANING_WEIGHT, is_unread)
            };
            let documents = index.documents();
            (fused, Coverage { embedded: documents - cosines.unread.count(), documents })
        })
        .await
    }

    /// Ranking with the documents that the query names at its beginning.
    async fn named_first(
        &self,
        user_id: &str,
        text: &str,
        ranking: Vec<Fused>,
    ) -> kitbag_database::Result<Vec<Fused>> {
        if !named::may_name(text) {
            return Ok(ranking);
        }
        let best: Vec<_> = ranking.iter().take(named::DEPTH).map(|found| found.document).collect();
        Ok(named::first(text, &self.store.names(user_id, &best).await?, ranking))
    }

    /// Documents that the query's filters allow; `None`: all.
    async fn allowed(
        &self,
        user_id: &str,
        query: &Query,
        sources: &Sources,
    ) -> kitbag_database::Result<Option<Arc<HashSet<i64>>>> {
        if query.source.is_none() && query.author.is_none() && *sources == Sources::default() {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.store.matching(user_id, query, sources).await?)))
    }

    async fn compute<T: Send + 'static>(
        &self,
        user_id: &str,
        entry: &Arc<CachedIndex>,
        work: impl FnOnce(&CachedIndex) -> T + Send + 'static,
    ) -> T {
        let _turn = self.computing.take(user_id).await;
        let entry = entry.clone();
        off_thread(move || work(&entry)).await
    }

    /// Requested page of the ranking, with metadata and snippets.
    async fn show(
        &self,
        user_id: &str,
        query: &Query,
        entry: &Arc<CachedIndex>,
        words: &[QueryWord],
        ranking: Vec<Fused>,
        coverage: Option<Coverage>,
    ) -> Result<Found, KnowledgeError> {
        let offset = query.offset as usize;
        let limit = query.limit as usize;
        let has_more = ranking.len() > offset.saturating_add(limit);
        let shown: Vec<_> = ranking.into_iter().skip(offset).take(limit).collect();
        let documents: Vec<_> = shown.iter().map(|found| found.document).collect();
        let chunks: Vec<_> = shown.iter().map(|found| found.chunk).collect();
        let (mut documents, texts): (HashMap<_, _>, HashMap<_, _>) = tokio::try_join!(
            self.store.summaries(user_id, &documents),
            self.store.chunk_texts(user_id, &chunks)
        )?;
        let analyzers = self.compute(user_id, entry, move |entry| {
            let index = entry.read();
            chunks.iter().map(|chunk| (*chunk, index.analyzer_of(*chunk))).collect::<HashMap<_, _>>()
        });
        let analyzers = analyzers.await;
        // Documents that were deleted since the ranking are left out.
        let hits = shown.into_iter().filter_map(|found| {
            let document = documents.remove(&found.document)?;
            let text = texts.get(&found.chunk).map(String::as_str).filter(|text| !text.is_empty());
            let analyzer = analyzers[&found.chunk];
            let terms: Vec<_> = words.iter().filter_map(|word| word.term(analyzer)).collect();
            let snippet = snippet(text.unwrap_or(&document.title), analyzer, &terms);
            let words = words::find(&snippet, analyzer, &terms);
            Some(Hit { document, snippet, words, score: found.score })
        });
        let mode = if coverage.is_some() { Mode::Hybrid } else { Mode::FullText };
        Ok(Found { hits: hits.collect(), has_more, mode, coverage, has_good_match: true })
    }
}
