//! Documents that a user may read, and change. The user is never an argument, so that no route can access those of
//! others.

use std::io;
use std::ops::Range;

use bytes::Bytes;
use futures::stream::BoxStream;
use kitbag_knowledge::collections::{CollectionError, Role};
use kitbag_knowledge::{
    Artifact, Chosen, Counts, Document, DocumentsState, Feed, Found, Holder, Ingested, Knowledge,
    KnowledgeError, Listing, MINE, Moved, NewDocument, Origin, Page, Query, Quota, Summary, USER_SOURCE,
    Usage, Version,
};

use super::user::User;

/// The documents that a user may read, of all sources: their own, and those of collections.
pub struct Documents(User);

/// The documents of one holder: a user's own, or those of a collection that the user may read.
pub struct HolderDocuments {
    user: User,
    holder: Holder,
    role: Role,
}

impl User {
    /// Returns access to the documents that the user may read.
    pub fn documents(&self) -> Documents {
        Documents(self.clone())
    }

    /// Returns the holders whose documents the user may read, restricted to those that the user has chosen.
    pub(super) fn readable(&self) -> Vec<Holder> {
        let mut holders = self.stores().collections.directory().readable(self.id(), &self.groups());
        if let Some(chosen) = &self.collections {
            holders.retain(|holder| chosen.contains(holder.collection_id().unwrap_or(MINE)));
        }
        holders
    }
}

impl Documents {
    /// See [`Knowledge::search`].
    pub async fn search(&self, query: &Query) -> Result<Found, KnowledgeError> {
        self.0.knowledge().search(self.0.id(), self.0.readable(), query).await
    }

    /// See [`Knowledge::document`].
    pub async fn document(&self, id: &str) -> Result<Document, KnowledgeError> {
        self.0.knowledge().document(self.0.readable(), id).await
    }

    /// See [`Knowledge::summary`].
    pub async fn summary(&self, id: &str) -> Result<Summary, KnowledgeError> {
        self.0.knowledge().summary(&self.0.readable(), id).await
    }

    /// See [`Knowledge::versions`].
    pub async fn versions(&self, id: &str) -> Result<Vec<Version>, KnowledgeError> {
        self.0.knowledge().versions(&self.0.readable(), id).await
    }

    /// See [`Knowledge::version_part`].
    pub async fn version(
        &self,
        id: &str,
        number: u32,
        part: Range<u32>,
    ) -> Result<(Version, String), KnowledgeError> {
        self.0.knowledge().version_part(&self.0.readable(), id, number, part).await
    }

    /// See [`Knowledge::state`].
    pub async fn state(&self) -> Result<DocumentsState, KnowledgeError> {
        self.0.knowledge().state(&self.0.readable()).await
    }

    /// See [`Knowledge::artifact`].
    pub async fn artifact(
        &self,
        id: &str,
    ) -> Result<(Artifact, BoxStream<'static, io::Result<Bytes>>), KnowledgeError> {
        self.0.knowledge().artifact(&self.0.readable(), id).await
    }

    /// Returns the documents of the holder of this one. Fails if the user may not read it.
    pub async fn around(&self, id: &str) -> Result<HolderDocuments, KnowledgeError> {
        let holder = self.summary(id).await?.holder;
        Ok(self.of(holder.collection_id())?)
    }

    /// Returns the documents of a collection; without an id, the user's own. Fails if the user may not read them.
    pub fn of(&self, collection: Option<&str>) -> Result<HolderDocuments, CollectionError> {
        let user = self.0.clone();
        match collection {
            None => Ok(HolderDocuments { holder: Holder::user(user.id()), role: Role::Curator, user }),
            Some(id) => {
                let (_, role) = user.collections().get(id)?;
                Ok(HolderDocuments { holder: Holder::collection(id), role, user })
            }
        }
    }
}

impl HolderDocuments {
    /// See [`Knowledge::counts`].
    pub async fn counts(&self) -> Result<Counts, KnowledgeError> {
        self.knowledge().counts(&self.holder).await
    }

    /// See [`Knowledge::usage`].
    pub async fn usage(&self) -> Result<(Usage, Quota), KnowledgeError> {
        self.knowledge().usage(&self.holder).await
    }

    /// See [`Knowledge::documents`].
    pub async fn list(&self, listing: &Listing) -> Result<Page, KnowledgeError> {
        self.knowledge().documents(&self.holder, listing).await
    }

    /// See [`Knowledge::feeds`].
    pub async fn feeds(&self, offset: u32, limit: u32) -> Result<Vec<Feed>, KnowledgeError> {
        self.knowledge().feeds(&self.holder, offset, limit).await
    }

    /// See [`Knowledge::feed_size`].
    pub async fn feed_size(&self, feed: &Feed) -> Result<u64, KnowledgeError> {
        self.knowledge().feed_size(&self.holder, feed).await
    }

    /// See [`Knowledge::ingest`]. For curators.
    pub async fn ingest(&self, documents: Vec<NewDocument>) -> Result<Vec<Ingested>, KnowledgeError> {
        self.curated()?;
        self.knowledge().ingest(&self.origin(), documents).await
    }

    /// See [`Knowledge::ingest_file`]. For curators.
    pub async fn ingest_file(
        &self,
        document: NewDocument,
        name: Option<&str>,
        file: BoxStream<'static, io::Result<Bytes>>,
        length: Option<u64>,
    ) -> Result<Ingested, KnowledgeError> {
        self.curated()?;
        self.knowledge().ingest_file(&self.origin(), document, name, file, length).await
    }

    /// See [`Knowledge::delete`]. For curators.
    pub async fn delete(&self, chosen: Chosen) -> Result<u64, KnowledgeError> {
        self.knowledge().delete(self.curated()?, chosen, self.user.id()).await
    }

    /// Returns one page of the deleted documents, the latest first. For curators.
    pub async fn bin(&self, listing: &Listing) -> Result<Page, KnowledgeError> {
        self.knowledge().documents(&self.curated()?.bin(), listing).await
    }

    /// See [`Knowledge::restore`]. For curators.
    pub async fn restore(&self, chosen: Chosen) -> Result<Moved, KnowledgeError> {
        self.knowledge().restore(self.curated()?, chosen, self.user.id()).await
    }

    /// Deletes chosen documents of the bin for good. For curators.
    pub async fn purge(&self, chosen: Chosen) -> Result<u64, KnowledgeError> {
        self.knowledge().purge(&self.curated()?.bin(), chosen, self.user.id()).await
    }

    /// Moves chosen documents. For curators of both.
    pub async fn move_to(&self, to: &Self, chosen: Chosen) -> Result<Moved, KnowledgeError> {
        self.knowledge().relocate(self.curated()?, to.curated()?, chosen, self.user.id()).await
    }

    /// See [`Knowledge::restore_version`]. For curators.
    pub async fn restore_version(&self, id: &str, number: u32) -> Result<(), KnowledgeError> {
        self.knowledge().restore_version(self.curated()?, id, number, self.user.id()).await
    }

    /// Id of the collection; `None` for the user's own documents.
    pub fn collection_id(&self) -> Option<&str> {
        self.holder.collection_id()
    }

    /// Whether the user may change the documents.
    pub fn is_curated(&self) -> bool {
        self.role == Role::Curator
    }

    /// Returns the holder. Fails if the user may only read its documents.
    fn curated(&self) -> Result<&Holder, CollectionError> {
        match self.role {
            Role::Curator => Ok(&self.holder),
            Role::Reader => {
                Err(CollectionError::NotCurator(self.collection_id().unwrap_or_default().to_owned()))
            }
        }
    }

    fn origin(&self) -> Origin {
        Origin {
            holder: self.holder.clone(),
            user_id: self.user.id().to_owned(),
            source: USER_SOURCE.to_owned(),
        }
    }

    fn knowledge(&self) -> &Knowledge {
        self.user.knowledge()
    }
}

impl User {
    fn knowledge(&self) -> &Knowledge {
        &self.stores().knowledge
    }
}
