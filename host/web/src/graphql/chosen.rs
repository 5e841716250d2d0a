//! GraphQL types of what a mutation moves: into the bin and back, or to another holder.

use async_graphql::{ID, InputObject, SimpleObject};
use kitbag_access::values::knowledge::{self, Chosen};

use crate::error::WebError;

/// Maximum number of documents that are chosen by their ids.
const MAX_IDS: usize = 1000;

/// Documents that are deleted, restored or moved as one act: by one of these members.
#[derive(InputObject)]
pub(super) struct ChosenInput {
    /// Those with these ids, at most 1000.
    ids: Option<Vec<ID>>,
    /// Those of a feed.
    feed: Option<ChosenFeedInput>,
    /// Those of this source: the id of a toolkit, or `user`.
    source: Option<String>,
    /// All of them.
    #[graphql(default)]
    all: bool,
}

/// A feed whose documents are chosen.
#[derive(InputObject)]
struct ChosenFeedInput {
    source: String,
    key: String,
}

impl TryFrom<ChosenInput> for Chosen {
    type Error = WebError;

    fn try_from(chosen: ChosenInput) -> Result<Self, WebError> {
        match (chosen.ids, chosen.feed, chosen.source, chosen.all) {
            (Some(ids), None, None, false) if ids.len() <= MAX_IDS => {
                Ok(Self::Ids(ids.into_iter().map(|id| id.to_string()).collect()))
            }
            (Some(_), None, None, false) => {
                Err(WebError::invalid("chosen.ids", format!("has more than {MAX_IDS} ids")))
            }
            (None, Some(ChosenFeedInput { source, key }), None, false) => Ok(Self::Feed { source, key }),
            (None, None, Some(source), false) => Ok(Self::Source(source)),
            (None, None, None, true) => Ok(Self::All),
            _ => Err(WebError::invalid("chosen", "needs one of `ids`, `feed`, `source` and `all: true`")),
        }
    }
}

/// What a move did.
#[derive(SimpleObject)]
pub(super) struct Moved {
    /// How many documents have moved.
    count: u64,
    /// Documents that stay, since the same is there already; at most 100 of them.
    conflicts: Vec<Conflict>,
}

/// A document that did not move.
#[derive(SimpleObject)]
struct Conflict {
    id: ID,
    title: String,
    /// The one that is there already; null where the same act has moved it.
    existing: Option<ID>,
}

impl From<knowledge::Moved> for Moved {
    fn from(knowledge::Moved { count, conflicts }: knowledge::Moved) -> Self {
        let conflict = |knowledge::Conflict { id, title, existing }| Conflict {
            id: id.into(),
            title,
            existing: existing.map(Into::into),
        };
        Self { count, conflicts: conflicts.into_iter().map(conflict).collect() }
    }
}
