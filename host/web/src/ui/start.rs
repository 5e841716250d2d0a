//! The first steps on a server of a team, for operators: until there is a collection that is shared and has documents.

use kitbag_access::User;
use kitbag_access::values::collections::Role;

use crate::error::WebError;

/// How far the first steps are.
pub(super) struct Start {
    /// Id of the collection that is being made ready; `None` before there is one.
    pub(super) collection: Option<String>,
    pub(super) is_shared: bool,
    pub(super) has_documents: bool,
}

impl Start {
    /// Returns the steps for an operator; `None` where they are done, or for others.
    pub(super) async fn of(user: &User) -> Result<Option<Self>, WebError> {
        let collections = user.collections();
        if !user.is_operator() || !collections.are_made_by_operators() {
            return Ok(None);
        }
        let kept = collections.list().into_iter().find(|(_, role)| *role == Role::Curator);
        let Some((collection, _)) = kept else {
            return Ok(Some(Self { collection: None, is_shared: false, has_documents: false }));
        };
        let (usage, _) = user.documents().of(Some(&collection.id))?.usage().await?;
        let start = Self {
            collection: Some(collection.id.clone()),
            is_shared: collection.members.len() > 1,
            has_documents: usage.documents > 0,
        };
        Ok((!start.is_shared || !start.has_documents).then_some(start))
    }
}
