//! Embeddings: vectors whose similarity is semantic similarity, from a model in this process or from a
//! service.
//!
//! Invariants:
//! - every vector has length 1, so the cosine similarity of two vectors is their dot product;
//! - a query never waits for documents: both have thread pools of their own, and threads for documents have a
//!   small share of the processor when it is busy, and all of it when it is idle.

mod bert;
mod folder;
mod queries;
mod remote;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod tiny_model;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kitbag_base::tasks::{off_thread, take_a_share};
use kitbag_net::egress::Egress;
use thiserror::Error;
use tokenizers::Tokenizer;
use tokio::sync::{Semaphore, oneshot};

use self::bert::{Bert, InputType};
pub(super) use self::folder::{CONFIG, MODULES, SENTENCE_TRANSFORMERS, TOKENIZER, WEIGHTS};
use self::queries::Queries;
pub use self::remote::Endpoint;
use self::remote::Remote;

/// Computes embeddings of texts. Clones share their state.
#[derive(Clone)]
pub struct Embedder(Arc<Provider>);

enum Provider {
    Local(Local),
    Remote(Box<Remote>),
}

/// Error while loading a model.
#[derive(Debug, Error)]
pub enum ModelError {
    /// A file in the model's folder is missing or invalid.
    #[error("the model in {folder} cannot be used: {file}: {cause}")]
    File {
        /// The model's folder.
        folder: PathBuf,
        /// Name of the file in the folder.
        file: String,
        /// Description of the error.
        cause: String,
    },
    /// The model's threads did not start.
    #[error("cannot start the threads of the model: {0}")]
    Threads(#[source] io::Error),
}

/// Error while embedding a text.
#[derive(Debug, Error)]
pub enum EmbedError {
    /// Too many queries are waiting.
    #[error("too many queries wait for the model")]
    Busy,
    /// The model failed on a text.
    #[error("the model failed: {0}")]
    Model(String),
    /// The service did not answer.
    #[error("the embedding service does not answer: {0}")]
    Unreachable(String),
    /// The service answered with an error.
    #[error("the embedding service answered {0}: check embedding-url, embedding-model and embedding-key")]
    Status(http::StatusCode),
    /// The service returned an invalid answer.
    #[error("the answer of the embedding service is wrong: {0}")]
    Answer(String),
}

impl EmbedError {
    /// Whether the operator's configuration is the cause, and not a text.
    pub fn is_configuration(&self) -> bool {
        use http::StatusCode;
        let of_operator = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::NOT_FOUND];
        matches!(self, Self::Status(status) if of_operator.contains(status))
    }

    /// Whether the same text may succeed later.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Busy | Self::Unreachable(_) => true,
            Self::Status(status) => {
                status.is_server_error()
                    || [http::StatusCode::TOO_MANY_REQUESTS, http::StatusCode::REQUEST_TIMEOUT]
                        .contains(status)
            }
            Self::Model(_) | Self::Answer(_) => false,
        }
    }
}

impl Embedder {
    /// Loads a model from a folder in the format of sentence-transformers: `config.json`, `tokenizer.json`
    /// and `model.safetensors` of a BERT model; other files configure pooling and prompts.
    pub async fn open(folder: &Path) -> Result<Self, ModelError> {
        let folder = folder.to_owned();
        off_thread(move || Ok(Self(Arc::new(Provider::Local(Local::open(&folder)?))))).await
    }

    /// Uses a service with the API of `OpenAI`.
    pub fn remote(egress: Egress, endpoint: Endpoint) -> Self {
        Self(Arc::new(Provider::Remote(Box::new(Remote::new(egress, endpoint)))))
    }

    /// Identifier of the model: vectors are comparable if they have the same identifier.
    pub fn model(&self) -> &str {
        match &*self.0 {
            Provider::Local(local) => &local.bert.id,
            Provider::Remote(remote) => remote.model(),
        }
    }

    /// Embeds passages; returns vectors in the order of `texts`.
    pub async fn documents(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        match &*self.0 {
            Provider::Local(local) => local.documents(texts).await,
            Provider::Remote(remote) => remote.documents(&texts).await,
        }
    }

    /// Embeds a search query. Users take turns.
    pub async fn query(&self, user_id: &str, text: String) -> Result<Vec<f32>, EmbedError> {
        match &*self.0 {
            Provider::Local(local) => local.query(user_id, text).await,
            Provider::Remote(remote) => remote.query(user_id, text).await,
        }
    }

    /// Tokeniser of a local model, and the largest number of tokens of a document that it reads at once,
    /// without its prompt.
    pub(super) fn tokenizer(&self) -> Option<(Arc<Tokenizer>, usize)> {
        match &*self.0 {
            Provider::Local(local) => {
                let bert = &local.bert;
                Some((bert.tokenizer.clone(), bert.window - bert.document_prompt_tokens))
            }
            Provider::Remote(_) => None,
        }
    }
}

/// Largest number of running and waiting queries per user: half a second's work.
const MAX_QUERIES: usize = 64;

/// A model in this process.
struct Local {
    bert: Arc<Bert>,
    query_threads: rayon::ThreadPool,
    queries: Queries,
    document_threads: rayon::ThreadPool,
    /// Serialises calls, in the order of arrival.
    documents: Semaphore,
}

impl Local {
    fn open(folder: &Path) -> Result<Self, ModelError> {
        let threads = |name: &'static str| {
            rayon::ThreadPoolBuilder::new()
                .thread_name(move |_| name.to_owned())
                // The receiver learns of a panic because the sender is dropped.
                .panic_handler(|_| {})
        };
        let failed = |error: rayon::ThreadPoolBuildError| ModelError::Threads(io::Error::other(error));
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let queries = cores.min(2);
        Ok(Self {
            bert: Arc::new(Bert::load(folder)?),
            query_threads: threads("embed-query").num_threads(queries).build().map_err(failed)?,
            queries: Queries::new(queries, 1, MAX_QUERIES),
            document_threads: threads("embed-document")
                .num_threads(cores)
                .start_handler(|_| take_a_share())
                .build()
                .map_err(failed)?,
            documents: Semaphore::new(1),
        })
    }

    async fn query(&self, user_id: &str, text: String) -> Result<Vec<f32>, EmbedError> {
        let _turn = self.queries.take(user_id).await?;
        let mut vectors = self.run(&self.query_threads, InputType::Query, vec![text]).await?;
        vectors.pop().ok_or_else(|| EmbedError::Model("no vector".to_owned()))
    }

    async fn documents(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let _turn = self.documents.acquire().await.expect("the semaphore is never closed");
        self.run(&self.document_threads, InputType::Document, texts).await
    }

    async fn run(
        &self,
        threads: &rayon::ThreadPool,
        input_type: InputType,
        texts: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let (sender, receiver) = oneshot::channel();
        let bert = self.bert.clone();
        threads.spawn(move || {
            let vectors = bert.embed(input_type, &texts, || sender.is_closed());
            // The receiver may be gone.
            let _ = sender.send(vectors);
        });
        let vectors = receiver.await.map_err(|_| EmbedError::Model("it panicked".to_owned()))?;
        vectors.map_err(EmbedError::Model)
    }
}
