//! Search: full-text and semantic rankings over the chunks, in memory, of all holders that the caller may read, fused.

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
use kitbag_database::Holder;
use kitbag_manifest::Problems;
use kitbag_manifest::knowledge::check_search;
use tracing::warn;

use self::filter::Check;
pub(super) use self::named::last_segment;
use self::operators::{MINE, Parsed};
use self::queries::Queries;
use super::bm25;
use super::document::{Coverage, Found, Hit, Mode, Query};
use super::embedding::{EmbedError, Embedder};
use super::error::KnowledgeError;
use super::feedback::fuse_with_feedback;
use super::fusion::{Candidate, DEPTH, FLOOR, Fused, MEANING_WEIGHT, fuse, make_descending, nearest_first};
use super::index::Union;
use super::index::cache::{CachedIndex, Indexes};
use super::index::keeper::Keeper;
use super::snippet::snippet;
use super::store::{Names, Store};
use super::words::{self, QueryWord};

/// Search over the documents of all holders, of some at a time.
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

/// What one search may see, and who searches.
struct Scope<'s> {
    /// Who waits for a turn to compute.
    user: &'s str,
    holders: &'s [Holder],
    indexes: Vec<Arc<CachedIndex>>,
}

/// Full-text ranking of a query.
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

/// Largest number of collections that are searched at once.
const MAX_COLLECTIONS: usize = 64;

/// Returns the holders that a query's `in:` operators allow.
fn allowed_holders(holders: &[Holder], names: &Names) -> Result<Vec<Holder>, KnowledgeError> {
    let is_allowed = |holder: &&Holder| names.allow(holder.collection_id().unwrap_or(MINE));
    let allowed: Vec<_> = holders.iter().filter(is_allowed).cloned().collect();
    let count = allowed.iter().filter(|holder| holder.collection_id().is_some()).count();
    if count <= MAX_COLLECTIONS {
        return Ok(allowed);
    }
    let mut problems = Problems::default();
    let problem = format!(
        "would search {count} collections, and at most {MAX_COLLECTIONS} are searched at once; choose some with in:NAME"
    );
    problems.add("query", problem);
    Err(KnowledgeError::Invalid(problems))
}

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

    /// Finds the documents of these holders that match best, for a user.
    pub(super) async fn search(
        &self,
        user: &str,
        holders: &[Holder],
        query: &Query,
    ) -> Result<Found, KnowledgeError> {
        check_search(&query.text, query.limit).map_err(KnowledgeError::Invalid)?;
        let text = words::plain(&query.text);
        let Parsed { text, conditions, sources, collections } = if query.has_operators {
            operators::parse(&text).map_err(KnowledgeError::Invalid)?
        } else {
            Parsed::words(&text)
        };
        let holders = allowed_holders(holders, &collections)?;
        let by_words = async {
            let (indexes, allowed) = tokio::try_join!(self.indexes.fresh(&holders), async {
                Ok(self.allowed(&holders, query, &sources).await?)
            })?;
            let scope = Scope { user, holders: &holders, indexes };
            let text = text.clone();
            let ranked = self.compute(&scope, move |union| {
                let (allowed, checks) = filter::choose(union, conditions, allowed);
                let words = words::of_query(&text, union.analyzers());
                let ranking = bm25::rank(union, &words, allowed.as_deref(), DEPTH);
                Ranked { allowed, checks, words, ranking }
            });
            let ranked = ranked.await;
            Ok::<_, KnowledgeError>((scope, ranked))
        };
        let (by_words, vector) = tokio::join!(by_words, self.embed(user, &text));
        let (scope, Ranked { allowed, checks, words, ranking: by_words }) = by_words?;
        let (ranking, coverage) = match vector {
            Some(vector) => {
                // Documents that are dropped after the ranking must not move the query.
                let has_feedback = checks.iter().all(Check::is_decided);
                let fused = self.fused(&scope, by_words, vector, allowed, has_feedback);
                let (fused, coverage) = fused.await;
                (fused, Some(coverage))
            }
            None => (fuse(&by_words, &[], MEANING_WEIGHT, |_| false), None),
        };
        let mut ranking = self.named_first(&scope, &text, ranking).await?;
        make_descending(&mut ranking);
        let shown = (query.offset as usize).saturating_add(query.limit as usize);
        let ranking = self.checked(&scope, ranking, checks, shown.saturating_add(1)).await?;
        let is_measured = coverage.is_none() || self.has_measured_model;
        let has_good_match = ranking.first().is_some_and(|best| !is_measured || best.score >= FLOOR);
        let found = self.show(&scope, query, &words, ranking, coverage).await?;
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
        scope: &Scope<'_>,
        by_words: Vec<Candidate>,
        vector: Vec<f32>,
        allowed: Option<Arc<HashSet<i64>>>,
        has_feedback: bool,
    ) -> (Vec<Fused>, Coverage) {
        self.compute(scope, move |union| {
            let cosines = union.cosines(&vector, allowed.as_deref(), DEPTH);
            let nearest = nearest_first(union, &cosines, DEPTH);
            let is_unread = |document| union.is_in(&cosines.unread, document);
            let fused = if has_feedback {
                fuse_with_feedback(union, &vector, &by_words, &nearest, is_unread)
            } else {
                let by_meaning: Vec<_> = nearest.iter().map(|nearest| nearest.found).collect();
                fuse(&by_words, &by_meaning, MEANING_WEIGHT, is_unread)
            };
            let documents = union.documents();
            (fused, Coverage { embedded: documents - cosines.unread.count(), documents })
        })
        .await
    }

    /// Ranking with the documents that the query names at its beginning.
    async fn named_first(
        &self,
        scope: &Scope<'_>,
        text: &str,
        ranking: Vec<Fused>,
    ) -> kitbag_database::Result<Vec<Fused>> {
        if !named::may_name(text) {
            return Ok(ranking);
        }
        let best: Vec<_> = ranking.iter().take(named::DEPTH).map(|found| found.document).collect();
        Ok(named::first(text, &self.store.names(scope.holders, &best).await?, ranking))
    }

    /// Documents that the query's filters allow; `None`: all.
    async fn allowed(
        &self,
        holders: &[Holder],
        query: &Query,
        sources: &Names,
    ) -> kitbag_database::Result<Option<Arc<HashSet<i64>>>> {
        if query.source.is_none() && query.author.is_none() && *sources == Names::default() {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.store.matching(holders, query, sources).await?)))
    }

    async fn compute<T: Send + 'static>(
        &self,
        scope: &Scope<'_>,
        work: impl FnOnce(&Union<'_>) -> T + Send + 'static,
    ) -> T {
        let _turn = self.computing.take(scope.user).await;
        let indexes = scope.indexes.clone();
        off_thread(move || {
            let locked: Vec<_> = indexes.iter().map(|index| index.read()).collect();
            work(&Union::of(locked.iter().map(|index| &**index)))
        })
        .await
    }

    /// Requested page of the ranking, with metadata and snippets.
    async fn show(
        &self,
        scope: &Scope<'_>,
        query: &Query,
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
            self.store.summaries(scope.holders, &documents),
            self.store.chunk_texts(scope.holders, &chunks)
        )?;
        let analyzers = self.compute(scope, move |union| {
            chunks.iter().map(|chunk| (*chunk, union.analyzer_of(*chunk))).collect::<HashMap<_, _>>()
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
