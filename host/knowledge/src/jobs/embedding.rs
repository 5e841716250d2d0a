//! `embed` jobs: chunks → vectors.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use tokio::time::sleep;
use tracing::warn;

use super::Context;
use super::retry::{Failure, Remedy, Verdict};
use crate::embedding::{EmbedError, Embedder};
use crate::passages::embedded;
use crate::store::{Failed, Job, Kind, Unembedded, now};

/// Largest number of chunks that are embedded together.
const MAX_BATCH_CHUNKS: usize = 64;

/// Runs due jobs until cancelled.
pub(super) async fn run(context: Context, embedder: Embedder) {
    let model = embedder.model().to_owned();
    let embed = |texts| {
        let embedder = embedder.clone();
        async move {
            let vectors = embedder.documents(texts).await;
            vectors.map_err(|error: EmbedError| Failure { reason: error.to_string(), remedy: remedy(&error) })
        }
    };
    let mut last_holder = String::new();
    loop {
        context.room().await;
        match round(&context, &model, &embed, &mut last_holder).await {
            Ok(0) => context.rest(Kind::Embed, 0).await,
            Ok(_) => {}
            Err(cause) => context.failed(Kind::Embed, &cause).await,
        }
    }
}

fn remedy(error: &EmbedError) -> Remedy {
    if error.is_configuration() {
        Remedy::Operator
    } else if error.is_transient() {
        Remedy::Time
    } else {
        Remedy::Nothing
    }
}

/// Embeds some chunks, the same number of each holder. Returns the number of jobs that were examined.
pub(super) async fn round<F>(
    context: &Context,
    model: &str,
    embed: &impl Fn(Vec<String>) -> F,
    last_holder: &mut String,
) -> kitbag_database::Result<usize>
where
    F: Future<Output = Result<Vec<Vec<f32>>, Failure>>,
{
    let documents = gather(context, model, last_holder).await?;
    let taken = documents.len();
    // Documents that failed before are embedded one by one, since one of them may have caused the failure.
    let (new, failed): (Documents, Documents) = documents.into_iter().partition(|(job, _)| job.tries == 0);
    match vectors(&new, embed).await {
        Ok(vectors) => put(context, model, new, vectors).await?,
        // One document may contain text that the model cannot process: the others must not fail with it.
        Err(failure) if failure.remedy == Remedy::Nothing && new.len() > 1 => {
            one_by_one(context, model, new, embed).await?;
        }
        Err(failure) => settle(context, new, &failure).await?,
    }
    one_by_one(context, model, failed, embed).await?;
    Ok(taken)
}

/// Embeds documents one by one, up to the first transient failure: the documents after it stay due.
async fn one_by_one<F>(
    context: &Context,
    model: &str,
    documents: Documents,
    embed: &impl Fn(Vec<String>) -> F,
) -> kitbag_database::Result<()>
where
    F: Future<Output = Result<Vec<Vec<f32>>, Failure>>,
{
    for document in documents {
        let alone = vec![document];
        match vectors(&alone, embed).await {
            Ok(vectors) => put(context, model, alone, vectors).await?,
            Err(failure) => {
                settle(context, alone, &failure).await?;
                if failure.remedy != Remedy::Nothing {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Documents with their next chunks to embed.
type Documents = Vec<(Job, Vec<Unembedded>)>;

/// Collects the documents of the next batch.
async fn gather(
    context: &Context,
    model: &str,
    last_holder: &mut String,
) -> kitbag_database::Result<Documents> {
    let due = context.take(Kind::Embed, last_holder, MAX_BATCH_CHUNKS).await?;
    // A long document leaves room for those of other holders.
    let holders: HashSet<_> = due.iter().map(|job| job.holder.clone()).collect();
    let share = MAX_BATCH_CHUNKS.checked_div(holders.len()).unwrap_or(MAX_BATCH_CHUNKS).max(1);
    let mut documents = Vec::new();
    let mut left = MAX_BATCH_CHUNKS;
    for job in due {
        if left == 0 {
            break;
        }
        job.holder.key().clone_into(last_holder);
        let chunks = context.store.unembedded(&job, model, share.min(left)).await?;
        left -= chunks.len();
        documents.push((job, chunks));
    }
    Ok(documents)
}

/// Embeds all chunks of the documents.
async fn vectors<F>(
    documents: &Documents,
    embed: &impl Fn(Vec<String>) -> F,
) -> Result<Vec<Vec<f32>>, Failure>
where
    F: Future<Output = Result<Vec<Vec<f32>>, Failure>>,
{
    let chunks = documents.iter().flat_map(|(_, chunks)| chunks);
    let texts: Vec<_> = chunks.map(|chunk| embedded(&chunk.title, &chunk.text)).collect();
    let wanted = texts.len();
    if wanted == 0 {
        return Ok(Vec::new());
    }
    let vectors = embed(texts).await?;
    if vectors.len() != wanted {
        let reason = format!("the model gave {} vectors for {wanted} texts", vectors.len());
        return Err(Failure { reason, remedy: Remedy::Nothing });
    }
    Ok(vectors)
}

async fn put(
    context: &Context,
    model: &str,
    documents: Documents,
    vectors: Vec<Vec<f32>>,
) -> kitbag_database::Result<()> {
    let mut vectors = vectors.into_iter();
    let done: Vec<_> = documents
        .into_iter()
        .map(|(job, chunks)| (job, chunks.iter().map(|chunk| chunk.id).zip(&mut vectors).collect()))
        .collect();
    context.store.put_vectors(model, &done).await
}

/// Postpones jobs that a retry may help, and fails the others permanently.
async fn settle(context: &Context, documents: Documents, failure: &Failure) -> kitbag_database::Result<()> {
    warn!(documents = documents.len(), reason = failure.reason, "chunks were not embedded");
    let mut again = Vec::new();
    let mut longest = Duration::ZERO;
    for (job, _) in documents {
        let tries = job.tries + 1;
        match context.limits.judge(tries, failure) {
            Verdict::Again(pause) => {
                longest = longest.max(pause);
                again.push((job, tries));
            }
            Verdict::Wait(pause) => {
                longest = longest.max(pause);
                again.push((job, tries - 1));
            }
            Verdict::GiveUp => {
                let reason = format!("it is found by its words only: {}", failure.reason);
                let failed = Failed { reason: &reason, ..Failed::default() };
                context.store.give_up(Kind::Embed, &job, failed).await?;
            }
        }
    }
    if !again.is_empty() {
        let pause = i64::try_from(longest.as_millis()).unwrap_or(i64::MAX);
        context.store.put_off(Kind::Embed, &again, now().saturating_add(pause)).await?;
        // The next jobs would fail in the same way.
        sleep(context.limits.first_pause).await;
    }
    Ok(())
}
