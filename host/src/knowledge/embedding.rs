//! Text → vectors.

use thiserror::Error;

/// A model.
#[derive(Clone, Debug)]
pub enum Embedder {}

/// Why there are no vectors.
#[derive(Debug, Error)]
#[error("the model failed")]
pub struct EmbedError;

impl EmbedError {
    /// Whether trying again may help.
    pub fn is_transient(&self) -> bool {
        false
    }
}

impl Embedder {
    /// The model's id.
    pub fn model(&self) -> &str {
        match *self {}
    }

    /// One vector for each text.
    pub async fn documents(&self, _texts: Vec<String>) -> Result<Vec<Vec<f32>>, EmbedError> {
        match *self {}
    }
}
