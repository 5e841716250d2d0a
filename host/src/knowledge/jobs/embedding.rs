//! `embed`: chunks → vectors.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use tracing::{info, warn};

use super::Context;
use super::retry::{Failure, Verdict};
use crate::knowledge::embedding::{EmbedError, Embedder};
use crate::knowledge::passages::embedded;
use crate::knowledge::store::{Job, Kind, Unembedded, now};

/// Texts that are embedded together.
const BATCH: usize = 64;
/// Documents of another model that are queued in one transaction.
const QUEUED_AT_ONCE: usize = 10_000;

/// Embeds whatever is due, for ever; first queues what another model has embedded.
pub(super) async fn run(context: Context, embedder: Embedder) {
    let model = embedder.model().to_owned();
    let embed = |texts| {
        let embedder = embedder.clone();
        async move {
            let vectors = embedder.documents(texts).await;
            vectors.map_err(|error: EmbedError| Failure {
                reason: error.to_string(),
                is_transient: error.is_transient(),
            })
        }
    };
    queue_old(&context, &model).await;
    let mut last_user = String::new();
    loop {
        match round(&context, &model, &embed, &mut last_user).await {
            Ok(0) => context.rest(Kind::Embed).await,
            Ok(_) => {}
            Err(cause) => context.failed(Kind::Embed, &cause).await,
        }
    }
}

async fn queue_old(context: &Context, model: &str) {
    let mut queued = 0;
    loop {
        match context.store.embed_again(model, QUEUED_AT_ONCE).await {
            Ok(0) => break,
            Ok(some) => queued += some,
            Err(cause) => context.failed(Kind::Embed, &cause).await,
        }
    }
    if queued > 0 {
        info!(documents = queued, model, "embedding what another model has embedded, or none");
    }
}

/// Embeds some chunks, of each user as many; returns how many jobs it has looked at.
pub(super) async fn round<F>(
    context: &Context,
    model: &str,
    embed: &impl Fn(Vec<String>) -> F,
    last_user: &mut String,
) -> sqlx::Result<usize>
where
    F: Future<Output = Result<Vec<Vec<f32>>, Failure>>,
{
    let documents = gather(context, model, last_user).await?;
    let chunks = documents.iter().flat_map(|(_, chunks)| chunks);
    let texts: Vec<_> = chunks.map(|chunk| embedded(&chunk.title, &chunk.text)).collect();
    let wanted = texts.len();
    let vectors = if wanted == 0 { Ok(Vec::new()) } else { embed(texts).await };
    let vectors = vectors.and_then(|vectors| match vectors.len() {
        given if given == wanted => Ok(vectors),
        given => Err(Failure {
            reason: format!("the model gave {given} vectors for {wanted} texts"),
            is_transient: false,
        }),
    });
    let taken = documents.len();
    match vectors {
        Ok(vectors) => {
            let mut vectors = vectors.into_iter();
            let done: Vec<_> = documents
                .into_iter()
                .map(|(job, chunks)| (job, chunks.iter().map(|chunk| chunk.id).zip(&mut vectors).collect()))
                .collect();
            context.store.put_vectors(model, &done).await?;
        }
        Err(failure) => {
            warn!(reason = failure.reason, "chunks were not embedded");
            settle(context, documents.into_iter().map(|(job, _)| job).collect(), &failure).await?;
        }
    }
    Ok(taken)
}

/// The chunks of the next batch, by document. What has failed before goes alone: whatever is wrong with
/// it then fails nothing else.
async fn gather(
    context: &Context,
    model: &str,
    last_user: &mut String,
) -> sqlx::Result<Vec<(Job, Vec<Unembedded>)>> {
    let due = context.store.due(Kind::Embed, last_user, BATCH).await?;
    // As many of each document, so that a long one leaves room for those of other users.
    let users: HashSet<_> = due.iter().map(|job| job.user_id.clone()).collect();
    let share = BATCH.checked_div(users.len()).unwrap_or(BATCH).max(1);
    let (mut documents, mut left) = (Vec::new(), BATCH);
    for job in due {
        let is_alone = job.tries > 0;
        if left == 0 || (is_alone && !documents.is_empty()) {
            break;
        }
        last_user.clone_from(&job.user_id);
        let chunks = context.store.unembedded(&job, model, share.min(left)).await?;
        left -= chunks.len();
        documents.push((job, chunks));
        if is_alone {
            break;
        }
    }
    Ok(documents)
}

/// Puts off what may go well later, or alone, and gives up the rest.
async fn settle(context: &Context, jobs: Vec<Job>, failure: &Failure) -> sqlx::Result<()> {
    let together = jobs.len() > 1;
    let (mut again, mut longest) = (Vec::new(), Duration::ZERO);
    for job in jobs {
        let tries = job.tries + 1;
        match context.limits.judge(tries, failure) {
            Verdict::Again(pause) => {
                longest = longest.max(pause);
                again.push((job, tries));
            }
            Verdict::GiveUp if together => again.push((job, tries)),
            Verdict::GiveUp => {
                let reason = format!("it is found by its words only: {}", failure.reason);
                context.store.give_up(Kind::Embed, &job, &reason, None).await?;
            }
        }
    }
    if again.is_empty() {
        return Ok(());
    }
    let pause = i64::try_from(longest.as_millis()).unwrap_or(i64::MAX);
    context.store.put_off(Kind::Embed, &again, now().saturating_add(pause)).await
}
