//! Embeddings for the search of tools, by the model that also serves the search of documents.

use kitbag_knowledge::EmbedError;

use super::Access;
use super::user::User;

impl User {
    /// Returns the embedding of a search text; `None` without a model, or if it fails.
    pub async fn query_vector(&self, text: &str) -> Option<Vec<f32>> {
        self.stores().knowledge.query_vector(self.id(), text).await
    }
}

impl Access {
    /// Returns the embeddings of texts, in the same order; `None` without a model.
    pub async fn text_vectors(&self, texts: Vec<String>) -> Option<Result<Vec<Vec<f32>>, EmbedError>> {
        self.stores().knowledge.text_vectors(texts).await
    }
}
