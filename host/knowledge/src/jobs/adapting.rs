//! One-time work for all processes after a change of the model or the transcriber, or when a process starts
//! alone.
//!
//! Invariant: one process at a time does this, and only while all have the same settings. Otherwise two
//! models would embed each other's documents again forever.

use std::time::Duration;

use kitbag_database::peers::Turn;
use tokio::time::sleep;
use tracing::info;

use super::{Context, POLL_INTERVAL, Tools, capturing};
use crate::store::Kind;

/// Documents of another model that are queued at once, whenever no more than [`FEW_QUEUED`] are left, so that
/// new documents, which are queued after them, do not wait long.
const MAX_QUEUED_AT_ONCE: usize = 512;
const FEW_QUEUED: usize = 128;
/// Interval at which the length of the queue is checked.
const QUEUE_INTERVAL: Duration = Duration::from_millis(500);

/// Runs the quick part, if it is this process's turn.
pub(super) async fn begin(context: &Context, tools: &Tools, is_start: bool) -> kitbag_database::Result<Turn> {
    let turn = context.process.begin_to_adapt(is_start).await?;
    let Turn::Mine { alone } = turn else { return Ok(turn) };
    if alone {
        context.store.take_up().await?;
    }
    if tools.capture.can_transcribe() {
        context.store.capture_again(capturing::TRANSCRIBER).await?;
    }
    // Whether an extractor is installed is known only when it gets its first file.
    context.store.capture_again(capturing::EXTRACTOR).await?;
    if tools.embedder.is_none() {
        context.store.do_without_model().await?;
    }
    Ok(turn)
}

/// Runs the rest once it is this process's turn. `turn` is the result of `begin`.
pub(super) async fn run(context: Context, tools: Tools, mut turn: Turn) {
    loop {
        let done = match turn {
            Turn::Over => return,
            Turn::Mine { .. } => finish(&context, &tools).await,
            Turn::Later => {
                sleep(POLL_INTERVAL).await;
                begin(&context, &tools, false).await
            }
        };
        match done {
            Ok(next) => turn = next,
            Err(cause) => context.failed(Kind::Embed, &cause).await,
        }
    }
}

async fn finish(context: &Context, tools: &Tools) -> kitbag_database::Result<Turn> {
    if let Some(embedder) = &tools.embedder {
        queue_old(context, embedder.model()).await?;
    }
    context.process.has_adapted().await?;
    for kind in [Kind::Capture, Kind::Index, Kind::Embed] {
        context.wakes.wake(kind);
    }
    Ok(Turn::Over)
}

/// Queues documents that have chunks without an embedding by `model`.
pub(super) async fn queue_old(context: &Context, model: &str) -> kitbag_database::Result<()> {
    let others = context.store.models().await?.into_iter().filter(|other| other != model);
    let mut is_told = false;
    for old in std::iter::once(None).chain(others.map(Some)) {
        let mut last = 0;
        while let Some(document) = context.store.embed_again(old.as_deref(), last, MAX_QUEUED_AT_ONCE).await?
        {
            if !std::mem::replace(&mut is_told, true) {
                info!(model, "embedding what another model has embedded, or none");
            }
            last = document;
            context.wakes.wake(Kind::Embed);
            while context.store.has_free(Kind::Embed, FEW_QUEUED).await? {
                sleep(QUEUE_INTERVAL).await;
            }
        }
    }
    Ok(())
}
