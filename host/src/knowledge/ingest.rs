//! Documents on their way in: checked, told apart, stored.

mod identity;
mod validation;

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

pub(super) use validation::{MAX_TEXT, one_line, validate};

use super::document::NewFeed;

/// A document that keeps every rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValidDocument {
    pub(super) title: String,
    /// Empty only where there is a file.
    pub(super) text: String,
    /// Normalised.
    pub(super) url: Option<String>,
    pub(super) author: Option<String>,
    /// Normalised.
    pub(super) file_url: Option<String>,
    pub(super) claimed_type: Option<String>,
    pub(super) capture_only: bool,
    pub(super) feed: Option<NewFeed>,
    /// What makes it the same document when it comes again, within its feed.
    pub(super) identity: String,
    /// Of title and text.
    pub(super) digest: [u8; 32],
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
    /// Of documents that are the same the last one stays, where the first one stood.
    pub(super) fn new(all: Vec<ValidDocument>) -> Self {
        let mut known: HashMap<(Option<String>, String), usize> = HashMap::with_capacity(all.len());
        let mut batch =
            Self { documents: Vec::with_capacity(all.len()), places: Vec::with_capacity(all.len()) };
        for document in all {
            let key = (document.feed.as_ref().map(|feed| feed.key.clone()), document.identity.clone());
            let place = match known.entry(key) {
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
