//! Previous embedding model, whose vectors are used until the current one has embedded everything.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{info, warn};

use super::queries::Queries;
use crate::embedding::{EmbedError, Embedder, is_of_folder};
use crate::store::Store;

/// Previous model, while it is needed.
pub(super) struct Previous {
    queries: Arc<RwLock<Option<Arc<Queries>>>>,
    _watched: DropGuard,
}

/// Finds the model in one of `folders` that has embedded chunks which `current` has not.
pub(crate) async fn find(
    store: &Store,
    current: &Embedder,
    folders: &[PathBuf],
) -> kitbag_database::Result<Option<Embedder>> {
    let mut others = store.models().await?;
    others.retain(|model| model != current.model());
    if others.is_empty() {
        return Ok(None);
    }
    // Loading a model takes a second.
    let folders = if others.iter().any(|model| is_of_folder(model)) { folders } else { &[] };
    for folder in folders {
        match Embedder::open(folder).await {
            Ok(embedder) if others.iter().any(|model| model == embedder.model()) => {
                info!(
                    folder = %folder.display(),
                    "documents are found by vectors of the previous model until the current one has read them"
                );
                return Ok(Some(embedder));
            }
            Ok(_) => {}
            Err(error) => warn!(%error, "this model cannot serve in the place of the current one"),
        }
    }
    info!("documents that another model has read are found by words until the current one has read them");
    Ok(None)
}

impl Previous {
    /// Keeps the model until no chunk in the store has its vector, which is checked every `interval`.
    pub(super) fn new(store: Store, embedder: Embedder, interval: Duration) -> Self {
        let model = embedder.model().to_owned();
        let queries = Arc::new(RwLock::new(Some(Arc::new(Queries::new(embedder)))));
        let stopping = CancellationToken::new();
        let (until, held) = (stopping.clone(), queries.clone());
        tokio::spawn(async move {
            let is_over = until.run_until_cancelled(is_over(&store, &model, interval)).await.is_some();
            if is_over {
                *held.write().unwrap_or_else(PoisonError::into_inner) = None;
                info!("the current model has read every document; the previous one is not needed any more");
            }
        });
        Self { queries, _watched: stopping.drop_guard() }
    }

    /// Vector of a query by the previous model; `None` once it is not needed any more.
    pub(super) async fn vector(&self, user_id: &str, text: &str) -> Option<Result<Vec<f32>, EmbedError>> {
        let queries = self.queries.read().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some(queries.vector(user_id, text).await)
    }
}

/// Waits until no chunk has a vector of this model.
async fn is_over(store: &Store, model: &str, interval: Duration) {
    loop {
        sleep(interval).await;
        match store.models().await {
            Ok(models) if !models.iter().any(|it| it == model) => return,
            Ok(_) => {}
            Err(error) => warn!(%error, "cannot see whether the previous model is still needed"),
        }
    }
}
