//! The model that documents are searched with, for finding tools.

use kitbag_knowledge::EmbedError;

use super::{Access, User};

impl User {
    /// The vector of what the user looks for; `None` without a model, or where it fails.
    pub async fn query_vector(&self, text: &str) -> Option<Vec<f32>> {
        self.stores().knowledge.query_vector(self.id(), text).await
    }
}

impl Access {
    /// The vectors of texts, in their order; `None` without a model.
    pub async fn text_vectors(&self, texts: Vec<String>) -> Option<Result<Vec<Vec<f32>>, EmbedError>> {
        self.stores().knowledge.text_vectors(texts).await
    }
}
