//! Who is an operator and, in local mode, who is in which group, as the settings say.

use std::collections::{HashMap, HashSet};

use crate::identity::{Caller, Groups};

/// Before the name of a group among the operators.
const GROUP: &str = "group:";

/// Operators, and the groups of local users.
#[derive(Debug, Default)]
pub struct Roles {
    operators: HashSet<String>,
    /// Groups whose members are operators.
    operator_groups: Vec<String>,
    local_groups: HashMap<String, Groups>,
}

impl Roles {
    /// Operators are ids of users, and groups as `group:NAME`: no id that begins so is one. `local_groups` are those of users
    /// of local sign-in.
    pub fn new(
        operators: impl IntoIterator<Item = String>,
        local_groups: impl IntoIterator<Item = (String, Groups)>,
    ) -> Self {
        let (groups, users): (Vec<_>, Vec<_>) =
            operators.into_iter().partition(|operator| operator.starts_with(GROUP));
        let name = |group: String| group.strip_prefix(GROUP).unwrap_or_default().to_owned();
        Self {
            operators: users.into_iter().collect(),
            operator_groups: groups.into_iter().map(name).collect(),
            local_groups: local_groups.into_iter().collect(),
        }
    }

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
        let names = ["ana", "group:admins", "group:"].map(str::to_owned);
        let roles = Roles::new(names, []);
        let is_operator = |user: &str, groups: &[&str]| {
            roles.is_operator(user, &groups.iter().map(|&name| name.to_owned()).collect())
        };

        assert!(is_operator("ana", &[]) && is_operator("ben", &["sales", "admins"]));
        assert!(!is_operator("ben", &["ana", "sales"]), "a group named like an operator");
        assert!(!is_operator("admins", &[]), "a user named like a group");
        assert!(!is_operator("group:admins", &[]), "a user named like an entry");
        assert!(!is_operator("ben", &["group:admins", "Admins", "admin"]));
    }
}
