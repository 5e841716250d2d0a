//! Access rules, as functions of a toolkit and a user.

use std::collections::BTreeSet;

use kitbag_identity::{Groups, Subject};
use kitbag_manifest::Visibility;
use kitbag_toolkits::Live;
use kitbag_toolkits::audience::Part;
use kitbag_toolkits::invocations::Scope;

use super::user::User;

/// Returns the tools of a toolkit that a user in these groups may see and call. For the user, other tools do
/// not exist, nor does a toolkit without any visible tool.
///
/// A toolkit is visible to its owner and to its audience. Without an audience, a shared toolkit is visible to
/// everyone.
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
        // Grants remain when the tools that they name are removed.
        Part::Tools(tools) if !toolkit.definition.tools.iter().any(|tool| tools.contains(&tool.name)) => {
            Part::Nothing
        }
        part => part,
    }
}

/// A part of who may use a toolkit.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) to: GivenTo,
    /// The tools, by name; `None`: all.
    pub(super) tools: Option<BTreeSet<String>>,
}

/// Who may use a toolkit.
#[derive(Clone, Debug)]
pub(super) enum GivenTo {
    /// The owner, with this id.
    Owner(String),
    /// Others.
    Subject(Subject),
}

impl Given {
    /// Whether it gives anything to a user with this id and these groups.
    pub(super) fn applies_to(&self, user: &str, groups: &Groups) -> bool {
        match &self.to {
            GivenTo::Owner(owner) => owner == user,
            GivenTo::Subject(subject) => subject.includes(user, groups),
        }
    }
}

/// Returns who may use a toolkit: the parts of which each user has those that apply ([`part_of`]).
pub(super) fn given(toolkit: &Live) -> Vec<Given> {
    let all = |to| Given { to, tools: None };
    let mut given = vec![all(GivenTo::Owner(toolkit.owner.clone()))];
    if toolkit.audience.is_empty() && toolkit.definition.visibility == Visibility::Shared {
        given.push(all(GivenTo::Subject(Subject::Everyone)));
    }
    for grants in toolkit.audience.grants().chunk_by(|one, other| one.subject == other.subject) {
        let exists = |name: &String| toolkit.definition.tools.iter().any(|tool| tool.name == *name);
        // All tools, if any of the grants is for all.
        let tools: Option<BTreeSet<String>> = grants.iter().map(|grant| grant.tool.clone()).collect();
        let tools = tools.map(|tools| tools.into_iter().filter(exists).collect::<BTreeSet<_>>());
        if tools.as_ref().is_none_or(|tools| !tools.is_empty()) {
            given.extend(
                grants.first().map(|grant| Given { to: GivenTo::Subject(grant.subject.clone()), tools }),
            );
        }
    }
    given
}

/// Whether the user could see the toolkit in some group. Used for links, which identify the user but not
/// their groups.
pub(super) fn may_see(user: &str, toolkit: &Live) -> bool {
    part_of(user, &Groups::default(), toolkit) != Part::Nothing || toolkit.audience.may_include(user)
}

/// Returns the scope of the toolkit's call records that the user may see; other users' calls are without
/// content.
pub(super) fn records_seen(user: &User, toolkit: &Live) -> Option<Scope> {
    let is_private = toolkit.definition.visibility == Visibility::Private;
    if user.is_operator() {
        Some(Scope::All)
    } else if is_private && toolkit.owner == user.id() {
        Some(Scope::Owned)
    } else {
        user.sees(toolkit).then_some(Scope::Own)
    }
}

/// Returns the scope of the call records of the server's own tools that the user may see; other users' calls
/// are without content.
pub(super) fn records_of_own_tools_seen(user: &User) -> Scope {
    if user.is_operator() { Scope::All } else { Scope::Own }
}
