//! Operators and, in local mode, members of groups, as configured in the settings.

use std::collections::{HashMap, HashSet};

use kitbag_identity::{Caller, Groups, TokenProfile};

/// Operators, and the groups of local users.
#[derive(Debug, Default)]
pub struct Roles {
    /// Ids of users who are operators.
    pub operators: HashSet<String>,
    /// Groups whose members are operators.
    pub operator_groups: HashSet<String>,
    /// Groups of local users, by user id.
    pub local_groups: HashMap<String, Groups>,
    /// Whether only operators may make collections.
    pub operators_make_collections: bool,
}

impl Roles {
    /// Returns the groups of the caller's user: the configured ones in local mode, otherwise those of the
    /// caller; for a program's key always the latter.
    pub(super) fn groups(&self, caller: &Caller) -> Groups {
        let local = self.local_groups.get(&caller.user_id).filter(|_| caller.profile != TokenProfile::Key);
        local.unwrap_or(&caller.groups).clone()
    }

    /// Whether a caller's user may make collections.
    pub(super) fn may_make_collections(&self, caller: &Caller) -> bool {
        !self.operators_make_collections || self.is_operator(caller)
    }

    /// Whether a caller's user is an operator. Groups count from tokens alone: those of a program's key come from where
    /// less than a sign-in is enough to change them (docs/decisions/0102).
    pub(super) fn is_operator(&self, caller: &Caller) -> bool {
        self.operators.contains(&caller.user_id)
            || caller.profile != TokenProfile::Key && self.are_for_operators(&self.groups(caller))
    }

    /// Whether members of any of these groups are operators.
    pub(super) fn are_for_operators(&self, groups: &Groups) -> bool {
        self.operator_groups.iter().any(|group| groups.contains(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_of_the_same_name_are_told_apart() {
        let roles = Roles {
            operators: HashSet::from(["ana".to_owned()]),
            operator_groups: HashSet::from(["admins".to_owned()]),
            local_groups: HashMap::from([("lea".to_owned(), Groups::from_iter(["admins".to_owned()]))]),
            operators_make_collections: false,
        };
        let caller = |user: &str, profile, groups: &[&str]| Caller {
            user_id: user.to_owned(),
            profile,
            client_id: None,
            key: None,
            issued_at: i64::MAX,
            scopes: Vec::new(),
            toolkits: None,
            groups: groups.iter().map(|&name| name.to_owned()).collect(),
        };
        let is_operator =
            |user: &str, groups: &[&str]| roles.is_operator(&caller(user, TokenProfile::Access, groups));

        assert!(is_operator("ana", &[]) && is_operator("ben", &["sales", "admins"]));
        assert!(!is_operator("ben", &["ana", "sales"]), "a group named like an operator");
        assert!(!is_operator("admins", &[]), "a user named like a group");
        assert!(
            is_operator("lea", &[]) && !roles.is_operator(&caller("lea", TokenProfile::Key, &[])),
            "a key"
        );
        assert!(!roles.is_operator(&caller("ben", TokenProfile::Key, &["admins"])), "groups of a key");
        assert!(
            !is_operator("group:admins", &[]) && !is_operator("ben", &["group:admins", "Admins", "admin"])
        );
    }
}
