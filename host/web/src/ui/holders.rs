//! Choice between the user's own documents and those of collections, on pages.

use kitbag_access::User;
use kitbag_access::values::collections::Role;
use url::form_urlencoded::Serializer;

/// A collection to choose.
pub(super) struct Kept {
    pub(super) id: String,
    pub(super) name: String,
}

/// Returns the collection that a field names; `None` where it is empty: the user's own documents.
pub(super) fn named(collection: &str) -> Option<&str> {
    Some(collection).filter(|id| !id.is_empty())
}

/// Returns the collections that the user may read.
pub(super) fn readable(user: &User) -> Vec<Kept> {
    user.collections()
        .list()
        .into_iter()
        .map(|(it, _)| Kept { id: it.id.clone(), name: it.name.clone() })
        .collect()
}

/// Returns the collections that the user keeps.
pub(super) fn kept(user: &User) -> Vec<Kept> {
    let kept = user.collections().list().into_iter().filter(|(_, role)| *role == Role::Curator);
    kept.map(|(it, _)| Kept { id: it.id.clone(), name: it.name.clone() }).collect()
}

/// Returns a path with those of the parameters that are not empty.
pub(super) fn path(page: &str, parameters: &[(&str, &str)]) -> String {
    let given = parameters.iter().filter(|(_, value)| !value.is_empty());
    let query = Serializer::new(String::new()).extend_pairs(given).finish();
    if query.is_empty() { page.to_owned() } else { format!("{page}?{query}") }
}
