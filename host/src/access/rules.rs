//! The access rules, as functions of a toolkit and a user.

use kitbag_manifest::Visibility;

use super::User;
use crate::invocations::Scope;
use crate::toolkits::Live;

/// Whether the user sees the toolkit and may call it. For others a private toolkit does not exist.
pub(super) fn sees(user: &str, toolkit: &Live) -> bool {
    match toolkit.definition.visibility {
        Visibility::Shared => true,
        Visibility::Private => toolkit.owner == user,
    }
}

/// Whose calls of the toolkit the user may see in its records; never the content of others' calls.
pub(super) fn records_seen(user: &User, toolkit: &Live) -> Option<Scope> {
    let is_private = toolkit.definition.visibility == Visibility::Private;
    if user.is_operator() || (is_private && toolkit.owner == user.id()) {
        Some(Scope::All)
    } else {
        sees(user.id(), toolkit).then_some(Scope::Own)
    }
}

/// Whose calls of the server's own tools the user may see in their records; never the content of others' calls.
pub(super) fn records_of_own_tools_seen(user: &User) -> Scope {
    if user.is_operator() { Scope::All } else { Scope::Own }
}
