//! Who is an operator and, in local mode, who is in which group, as the settings say.

use std::collections::{HashMap, HashSet};

use crate::identity::{Caller, Groups};

/// Operators, and the groups of local users.
#[derive(Debug, Default)]
pub struct Roles {
    /// Ids of users who are operators.
    pub operators: HashSet<String>,
    /// Groups whose members are operators.
    pub operator_groups: HashSet<String>,
    /// Groups of users of local sign-in, by the ids of the users.
    pub local_groups: HashMap<String, Groups>,
}

impl Roles {
    /// The groups that a caller's user is in.
    pub(super) fn groups(&self, caller: &Caller) -> Groups {
        self.local_groups.get(&caller.user_id).unwrap_or(&caller.groups).clone()
    }

    /// Whether a user of this id, in these groups, is an operator.
    pub(super) fn is_operator(&self, user: &str, groups: &Groups) -> bool {
        self.operators.contains(user) || self.operator_groups.iter().any(|group| groups.contains(group))
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
            ..Roles::default()
        };
        let is_operator = |user: &str, groups: &[&str]| {
            roles.is_operator(user, &groups.iter().map(|&name| name.to_owned()).collect())
        };

        assert!(is_operator("ana", &[]) && is_operator("ben", &["sales", "admins"]));
        assert!(!is_operator("ben", &["ana", "sales"]), "a group named like an operator");
        assert!(!is_operator("admins", &[]), "a user named like a group");
        assert!(
            !is_operator("group:admins", &[]) && !is_operator("ben", &["group:admins", "Admins", "admin"])
        );
    }
}
