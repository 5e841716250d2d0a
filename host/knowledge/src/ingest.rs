//! Ingest: validates and deduplicates documents.

mod identity;
mod validation;

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

pub(crate) use identity::content_digest;
pub(super) use validation::{validate, validate_upload};

use super::document::{Artifact, NewFeed};

/// Valid document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValidDocument {
    pub(super) title: String,
    /// Whether the title is a file name, to be replaced by the title in the file.
    pub(super) title_is_name: bool,
    /// Body; empty only if there is a file.
    pub(super) text: String,
    /// Normalised URL.
    pub(super) url: Option<String>,
    pub(super) author: Option<String>,
    /// Normalised file URL.
    pub(super) file_url: Option<String>,
    /// Uploaded file, stored already.
    pub(super) upload: Option<Artifact>,
    pub(super) claimed_type: Option<String>,
    pub(super) capture_only: bool,
    pub(super) feed: Option<NewFeed>,
    /// Key by which a repeated ingest is recognised as the same document, within its feed.
    pub(super) identity: String,
    /// SHA-256 of the title, unless that is a file name, and of the text.
    pub(super) digest: [u8; 32],
}

impl ValidDocument {
    /// Adds an uploaded file, whose digest is the document's identity if it has no URL.
    pub(super) fn with_upload(self, file: Artifact) -> Self {
        let identity = match self.url {
            Some(_) => self.identity,
            None => format!("sha256 {}", file.digest),
        };
        Self { identity, upload: Some(file), ..self }
    }

    /// Whether the document has a file to capture.
    pub(super) fn has_file(&self) -> bool {
        self.file_url.is_some() || self.upload.is_some()
    }
}

/// Batch without duplicates.
#[derive(Debug)]
pub(super) struct Batch {
    /// Documents, in the order of arrival.
    pub(super) documents: Vec<ValidDocument>,
    /// Index into `documents` for each document that was passed in.
    pub(super) places: Vec<usize>,
}

impl Batch {
    /// Merges duplicates: the last one replaces the first one in its place, unless the last one's title is
    /// only a file name.
    pub(super) fn new(all: Vec<ValidDocument>) -> Self {
        let mut known: HashMap<(Option<String>, String), usize> = HashMap::with_capacity(all.len());
        let mut batch =
            Self { documents: Vec::with_capacity(all.len()), places: Vec::with_capacity(all.len()) };
        for document in all {
            let key = (document.feed.as_ref().map(|feed| feed.key.clone()), document.identity.clone());
            let place = match known.entry(key) {
                Slot::Occupied(place) if document.title_is_name => *place.get(),
                Slot::Occupied(place) => {
                    batch.documents[*place.get()] = document;
                    *place.get()
                }
                Slot::Vacant(slot) => {
                    batch.documents.push(document);
                    *slot.insert(batch.documents.len() - 1)
                }
            };
            batch.places.push(place);
        }
        batch
    }
}

#[cfg(test)]
mod tests;
