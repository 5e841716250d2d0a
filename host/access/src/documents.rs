//! A user's own documents. The user is never an argument, so that no route can access another user's.

use std::io;

use bytes::Bytes;
use futures::stream::BoxStream;
use kitbag_knowledge::{
    Artifact, Counts, Document, DocumentsState, Feed, Found, Ingested, Knowledge, KnowledgeError, Listing,
    NewDocument, Origin, Page, Query, Quota, Summary, USER_SOURCE, Usage,
};

use super::user::User;

/// The documents of one user, of all sources.
pub struct OwnDocuments(User);

impl User {
    /// Returns access to the user's own documents.
    pub fn documents(&self) -> OwnDocuments {
        OwnDocuments(self.clone())
    }
}

impl OwnDocuments {
    /// See [`Knowledge::ingest`].
    pub async fn ingest(&self, documents: Vec<NewDocument>) -> Result<Vec<Ingested>, KnowledgeError> {
        self.knowledge().ingest(&self.origin(), documents).await
    }

    /// See [`Knowledge::ingest_file`].
    pub async fn ingest_file(
        &self,
        document: NewDocument,
        name: Option<&str>,
        file: BoxStream<'static, io::Result<Bytes>>,
        length: Option<u64>,
    ) -> Result<Ingested, KnowledgeError> {
        self.knowledge().ingest_file(&self.origin(), document, name, file, length).await
    }

    /// See [`Knowledge::search`].
    pub async fn search(&self, query: &Query) -> Result<Found, KnowledgeError> {
        self.knowledge().search(self.0.id(), query).await
    }

    /// See [`Knowledge::document`].
    pub async fn document(&self, id: &str) -> Result<Document, KnowledgeError> {
        self.knowledge().document(self.0.id(), id).await
    }

    /// See [`Knowledge::summary`].
    pub async fn summary(&self, id: &str) -> Result<Summary, KnowledgeError> {
        self.knowledge().summary(self.0.id(), id).await
    }

    /// See [`Knowledge::counts`].
    pub async fn counts(&self) -> Result<Counts, KnowledgeError> {
        self.knowledge().counts(self.0.id()).await
    }

    /// See [`Knowledge::state`].
    pub async fn state(&self) -> Result<DocumentsState, KnowledgeError> {
        self.knowledge().state(self.0.id()).await
    }

    /// See [`Knowledge::usage`].
    pub async fn usage(&self) -> Result<(Usage, Quota), KnowledgeError> {
        self.knowledge().usage(self.0.id()).await
    }

    /// See [`Knowledge::documents`].
    pub async fn list(&self, listing: &Listing) -> Result<Page, KnowledgeError> {
        self.knowledge().documents(self.0.id(), listing).await
    }

    /// See [`Knowledge::feeds`].
    pub async fn feeds(&self, offset: u32, limit: u32) -> Result<Vec<Feed>, KnowledgeError> {
        self.knowledge().feeds(self.0.id(), offset, limit).await
    }

    /// See [`Knowledge::feed_size`].
    pub async fn feed_size(&self, feed: &Feed) -> Result<u64, KnowledgeError> {
        self.knowledge().feed_size(self.0.id(), feed).await
    }

    /// See [`Knowledge::delete`].
    pub async fn delete(&self, id: &str) -> Result<(), KnowledgeError> {
        self.knowledge().delete(self.0.id(), id).await
    }

    /// See [`Knowledge::artifact`].
    pub async fn artifact(
        &self,
        id: &str,
    ) -> Result<(Artifact, BoxStream<'static, io::Result<Bytes>>), KnowledgeError> {
        self.knowledge().artifact(self.0.id(), id).await
    }

    fn origin(&self) -> Origin {
        Origin { user_id: self.0.id().to_owned(), source: USER_SOURCE.to_owned() }
    }

    fn knowledge(&self) -> &Knowledge {
        &self.0.stores().knowledge
    }
}
