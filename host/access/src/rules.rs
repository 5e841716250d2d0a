//! The access rules, as functions of a toolkit and a user.

use kitbag_identity::Groups;
use kitbag_manifest::Visibility;
use kitbag_toolkits::Live;
use kitbag_toolkits::audience::Part;
use kitbag_toolkits::invocations::Scope;

use super::User;

/// Which tools of a toolkit a user in these groups sees and may call. For others they do not exist, and neither does a toolkit
/// of which a user sees no tool.
///
/// A toolkit is for its owner and for its audience. Without one, a shared toolkit is for everyone.
pub(super) fn part_of(user: &str, groups: &Groups, toolkit: &Live) -> Part {
    if toolkit.owner == user {
        return Part::Whole;
    }
    if toolkit.audience.is_empty() {
        return match toolkit.definition.visibility {
            Visibility::Shared => Part::Whole,
            Visibility::Private => Part::Nothing,
        };
    }
    match toolkit.audience.part_of(user, groups) {
        // Grants outlive the tools that they name.
        Part::Tools(tools) if !toolkit.definition.tools.iter().any(|tool| tools.contains(&tool.name)) => {
            Part::Nothing
        }
        part => part,
    }
}

/// Whether a user sees the toolkit if they are in the right group: all that is known of a user who has a link and no token.
pub(super) fn may_see(user: &str, toolkit: &Live) -> bool {
    part_of(user, &Groups::default(), toolkit) != Part::Nothing || toolkit.audience.may_include(user)
}

/// Whose calls of the toolkit the user may see in its records; never the content of others' calls.
pub(super) fn records_seen(user: &User, toolkit: &Live) -> Option<Scope> {
    let is_private = toolkit.definition.visibility == Visibility::Private;
    if user.is_operator() || (is_private && toolkit.owner == user.id()) {
        Some(Scope::All)
    } else {
        user.sees(toolkit).then_some(Scope::Own)
    }
}

/// Whose calls of the server's own tools the user may see in their records; never the content of others' calls.
pub(super) fn records_of_own_tools_seen(user: &User) -> Scope {
    if user.is_operator() { Scope::All } else { Scope::Own }
}
