//! Background computation of tool vectors: one toolkit after the other, in small batches, so that documents
//! of users wait for one batch at most. No request waits for vectors: until they exist, tools are found by
//! their words.

use std::sync::{Arc, Weak};
use std::time::Duration;

use kitbag_access::Access;
use kitbag_base::shares::Shares;
use kitbag_embedding::rows::Rows;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::warn;

use super::searched::{SearchedTools, ToolVectors};

/// Memory limit of all vectors, in bytes: about 80,000 tools with 384 dimensions. Further tools are found by
/// their words only.
const MAX_BYTES: usize = 64 << 20;
/// Bytes for each dimension of a vector, including its sketch.
const BYTES_PER_NUMBER: usize = 3;
/// Tools in one batch of the model, and the timeout of a batch.
const BATCH: usize = 16;
const BATCH_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum number of queued toolkits; the next search requests further ones again.
const MAX_WAITING: usize = 1024;

/// Queue of toolkits whose vectors are requested.
pub(super) struct VectorQueue(mpsc::Sender<Weak<SearchedTools>>);

impl VectorQueue {
    /// Starts the background task, which ends when the queue is dropped.
    pub(super) fn start(access: Access) -> Self {
        let (queue, mut wanted) = mpsc::channel::<Weak<SearchedTools>>(MAX_WAITING);
        tokio::spawn(async move {
            let room = Shares::new(MAX_BYTES, MAX_BYTES);
            while let Some(tools) = wanted.recv().await {
                let Some(tools) = tools.upgrade() else { continue };
                let vectors = vectors(&access, &room, &tools).await;
                tools.end(vectors);
            }
        });
        Self(queue)
    }

    /// Requests the vectors of a toolkit, unless they exist or are being computed.
    pub(super) fn want(&self, tools: &Arc<SearchedTools>) {
        if tools.begin() && self.0.try_send(Arc::downgrade(tools)).is_err() {
            tools.end(None);
        }
    }
}

/// Computes the vectors of a toolkit; `None` without a model, without memory, or if the model fails.
async fn vectors(access: &Access, room: &Shares, tools: &SearchedTools) -> Option<ToolVectors> {
    let failed = |cause: &str| {
        warn!(toolkit.id = tools.toolkit, cause, "its tools are found by their words alone for now");
        None
    };
    let mut made: Option<ToolVectors> = None;
    let mut texts = tools.texts().peekable();
    while texts.peek().is_some() {
        let batch: Vec<_> = texts.by_ref().take(BATCH).collect();
        let count = batch.len();
        let vectors = match timeout(BATCH_TIMEOUT, access.text_vectors(batch)).await {
            Ok(vectors) => match vectors? {
                Ok(vectors) => vectors,
                Err(error) => return failed(&error.to_string()),
            },
            Err(_elapsed) => return failed("the model takes too long"),
        };
        let width = vectors.first().map_or(0, Vec::len);
        if made.is_none() {
            made = Some(ToolVectors { rows: Rows::new(width), room: room.take("", 0).ok()? });
        }
        let ToolVectors { rows, room } = made.as_mut()?;
        if room.grow(count * width * BYTES_PER_NUMBER).is_err() {
            return failed("there is no room for more vectors");
        }
        if vectors.len() != count || !vectors.iter().all(|vector| rows.push(vector.iter().copied())) {
            return failed("the model made vectors of another size");
        }
    }
    made
}
