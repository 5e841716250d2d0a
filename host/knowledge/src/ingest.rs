//! Documents on their way in: checked, told apart, stored.

mod identity;
mod validation;

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

pub(super) use validation::{validate, validate_upload};

use super::document::{Artifact, NewFeed};

/// A document that keeps every rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValidDocument {
    pub(super) title: String,
    /// Whether the title was made of a file's name, and gives way to the file's own.
    pub(super) title_is_name: bool,
    /// Empty only where there is a file.
    pub(super) text: String,
    /// Normalised.
    pub(super) url: Option<String>,
    pub(super) author: Option<String>,
    /// Normalised.
    pub(super) file_url: Option<String>,
    /// A file that is here already.
    pub(super) upload: Option<Artifact>,
    pub(super) claimed_type: Option<String>,
    pub(super) capture_only: bool,
    pub(super) feed: Option<NewFeed>,
    /// What makes it the same document when it comes again, within its feed.
    pub(super) identity: String,
    /// Of the title, if somebody gave it, and of the text.
    pub(super) digest: [u8; 32],
}

impl ValidDocument {
    /// The same with a file that came with it, which is what it is known by if it has no URL.
    pub(super) fn with_upload(self, file: Artifact) -> Self {
        let identity = match self.url {
            Some(_) => self.identity,
            None => format!("sha256 {}", file.digest),
        };
        Self { identity, upload: Some(file), ..self }
    }

    /// Whether there is something to capture.
    pub(super) fn has_file(&self) -> bool {
        self.file_url.is_some() || self.upload.is_some()
    }
}

/// A batch in which no document stands twice.
#[derive(Debug)]
pub(super) struct Batch {
    /// In the order in which they came.
    pub(super) documents: Vec<ValidDocument>,
    /// For each document that came, which of these it has become.
    pub(super) places: Vec<usize>,
}

impl Batch {
    /// Of documents that are the same the last one stays, where the first one stood; but a title stays before one that is
    /// only another file name.
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
