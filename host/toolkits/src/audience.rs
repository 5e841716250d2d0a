//! The audience of a toolkit: the users beyond its owner who may use it, and their call limits.
//!
//! Stored separately from the declaration: an author does not decide who uses a toolkit, and an update does
//! not change the audience.

use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Not;

use kitbag_identity::{Groups, InvalidSubject, Subject};
use serde::{Deserialize, Serialize};

/// Maximum number of grants per toolkit.
pub(super) const MAX_GRANTS: usize = 200;

/// Maximum numbers of calls; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallLimits {
    /// Calls per minute.
    pub per_minute: Option<NonZeroU32>,
    /// Calls per day, UTC.
    pub per_day: Option<NonZeroU32>,
    /// Whether each member of a group has this limit separately; otherwise the members share it. Limits of
    /// grants to users and to everyone always apply to each user.
    pub each: bool,
}

/// A permission to call one tool of a toolkit, or all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "GrantRecord", try_from = "GrantRecord")]
pub struct Grant {
    /// The users to whom the grant applies.
    pub subject: Subject,
    /// The tool; `None`: all tools.
    pub tool: Option<String>,
    /// Call limits.
    pub limits: CallLimits,
}

/// A grant as JSON, with one of `user`, `group` and `everyone`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct GrantRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    #[serde(skip_serializing_if = "Not::not")]
    everyone: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_minute: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_day: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Not::not")]
    each: bool,
}

/// Reason why a grant is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGrant {
    /// The subject is invalid.
    #[error(transparent)]
    Subject(#[from] InvalidSubject),
    /// `each` is set for a subject that is not a group.
    #[error("`each` is for groups: limits of a user, and of everyone, are those of each user")]
    Each,
}

/// The grants of a toolkit, sorted. Without grants, everyone may use a shared toolkit, and only the owner a
/// private one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audience(Vec<Grant>);

/// The part of a toolkit's tools that a user may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// No tools.
    Nothing,
    /// These tools, some of which may not exist any more.
    Tools(BTreeSet<String>),
    /// All tools.
    Whole,
}

/// A counter of calls: of a user, or of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// The grant with the limits.
    pub grant: Grant,
    /// The user whose calls are counted; `None` if the members of a group are counted together.
    pub user: Option<String>,
}

impl CallLimits {
    /// Whether any number of calls is allowed.
    pub fn is_unlimited(self) -> bool {
        self.per_minute.is_none() && self.per_day.is_none()
    }
}

impl fmt::Display for CallLimits {
    /// Formats the limits like `60/m, 1000/d for each member`; empty without limits.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates = [(self.per_minute, 'm'), (self.per_day, 'd')];
        let rates = rates.iter().filter_map(|(limit, unit)| limit.map(|limit| format!("{limit}/{unit}")));
        let rates = rates.collect::<Vec<_>>().join(", ");
        out.write_str(&rates)?;
        if self.each && !rates.is_empty() { out.write_str(" for each member") } else { Ok(()) }
    }
}

impl Grant {
    /// Formats the grant for the audit log, like `group:sales forecast 60/m`.
    pub(super) fn in_words(&self) -> String {
        let tool = self.tool.clone().unwrap_or_default();
        let limits = self.limits.to_string();
        let parts = [self.subject.to_string(), tool, limits];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn covers(&self, tool: &str) -> bool {
        self.tool.as_deref().is_none_or(|only| only == tool)
    }
}

impl From<Grant> for GrantRecord {
    fn from(Grant { subject, tool, limits }: Grant) -> Self {
        let CallLimits { per_minute, per_day, each } = limits;
        let (user, group, everyone) = subject.into_members();
        Self { user, group, everyone, tool, per_minute, per_day, each }
    }
}

impl TryFrom<GrantRecord> for Grant {
    type Error = InvalidGrant;

    fn try_from(record: GrantRecord) -> Result<Self, InvalidGrant> {
        let GrantRecord { user, group, everyone, tool, per_minute, per_day, each } = record;
        let subject = Subject::named(user, group, everyone)?;
        if each && !matches!(subject, Subject::Group(_)) {
            return Err(InvalidGrant::Each);
        }
        Ok(Self { subject, tool, limits: CallLimits { per_minute, per_day, each } })
    }
}

impl Audience {
    pub(super) fn of(grants: impl IntoIterator<Item = Grant>) -> Self {
        let mut grants: Vec<_> = grants.into_iter().collect();
        grants.sort();
        Self(grants)
    }

    /// Returns the grants, those to users first, then those to groups.
    pub fn grants(&self) -> &[Grant] {
        &self.0
    }

    /// Whether there is no grant.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the tools that a user with this id and these groups may call.
    pub fn part_of(&self, user: &str, groups: &Groups) -> Part {
        let mut tools = BTreeSet::new();
        for grant in self.0.iter().filter(|grant| grant.subject.includes(user, groups)) {
            match &grant.tool {
                None => return Part::Whole,
                Some(tool) => drop(tools.insert(tool.clone())),
            }
        }
        if tools.is_empty() { Part::Nothing } else { Part::Tools(tools) }
    }

    /// Whether a user with this id may call any tool in some combination of groups.
    pub fn may_include(&self, user: &str) -> bool {
        let includes = |grant: &Grant| match &grant.subject {
            Subject::User(id) => id == user,
            Subject::Group(_) | Subject::Everyone => true,
        };
        self.0.iter().any(includes)
    }

    /// Returns the limits for calls of a tool by a user with this id and these groups: alternatives, each a
    /// list of limits that must all have room. Empty if there is no limit.
    ///
    /// The most specific grants apply: those to the user, otherwise those to the user's groups, otherwise
    /// those to everyone. With several groups it suffices that one has room; of the grants to one group, for
    /// all tools and for this one, each must have room.
    pub fn limits(&self, user: &str, groups: &Groups, tool: &str) -> Vec<Vec<Limited>> {
        let grants: Vec<_> =
            self.0.iter().filter(|it| it.covers(tool) && it.subject.includes(user, groups)).collect();
        let closeness = |grant: &Grant| match grant.subject {
            Subject::User(_) => 0,
            Subject::Group(_) => 1,
            Subject::Everyone => 2,
        };
        let Some(closest) = grants.iter().map(|grant| closeness(grant)).min() else { return Vec::new() };
        let mut closest: Vec<_> = grants.into_iter().filter(|grant| closeness(grant) == closest).collect();
        closest.sort_by_key(|grant| &grant.subject);
        let alternatives = closest.chunk_by(|one, other| one.subject == other.subject);
        let alternatives: Vec<Vec<_>> = alternatives
            .map(|grants| {
                let limited = grants.iter().filter(|grant| !grant.limits.is_unlimited());
                limited.map(|grant| Limited::of(grant, user)).collect()
            })
            .collect();
        if alternatives.iter().any(Vec::is_empty) { Vec::new() } else { alternatives }
    }
}

impl Limited {
    fn of(grant: &Grant, user: &str) -> Self {
        let is_together = matches!(grant.subject, Subject::Group(_)) && !grant.limits.each;
        Self { grant: grant.clone(), user: (!is_together).then(|| user.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(subject: Subject, tool: Option<&str>, limits: (u32, u32)) -> Grant {
        let limits = CallLimits {
            per_minute: NonZeroU32::new(limits.0),
            per_day: NonZeroU32::new(limits.1),
            each: false,
        };
        Grant { subject, tool: tool.map(str::to_owned), limits }
    }

    fn group(name: &str) -> Subject {
        Subject::Group(name.to_owned())
    }

    fn user(id: &str) -> Subject {
        Subject::User(id.to_owned())
    }

    fn groups(names: &[&str]) -> Groups {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn grants_add_up_and_those_of_tools_narrow() {
        let audience = Audience::of([
            grant(group("sales"), None, (0, 0)),
            grant(group("support"), Some("list"), (0, 0)),
            grant(group("legal"), Some("find"), (0, 0)),
            grant(user("eve"), Some("find"), (0, 0)),
        ]);
        let part = |id: &str, names: &[&str]| audience.part_of(id, &groups(names));
        let tools = |names: &[&str]| Part::Tools(names.iter().map(|&name| name.to_owned()).collect());

        assert_eq!(part("ana", &[]), Part::Nothing);
        assert_eq!(part("ana", &["sales"]), Part::Whole);
        assert_eq!(part("ana", &["support"]), tools(&["list"]));
        assert_eq!(part("ana", &["support", "legal"]), tools(&["find", "list"]));
        assert_eq!(part("ana", &["support", "sales"]), Part::Whole);
        assert_eq!(part("eve", &[]), tools(&["find"]));
        // Names of users and of groups are independent.
        assert_eq!(part("sales", &[]), Part::Nothing);
        assert_eq!(part("ana", &["eve"]), Part::Nothing);
        assert_eq!(part("ana", &["Sales", "sales ", "group:sales"]), Part::Nothing);
    }

    #[test]
    fn a_link_is_for_whom_the_toolkit_may_be() {
        let of = |subject| Audience::of([grant(subject, None, (0, 0))]);
        assert!(of(user("ana")).may_include("ana") && !of(user("ana")).may_include("ben"));
        assert!(of(group("sales")).may_include("ben") && of(Subject::Everyone).may_include("ben"));
        assert!(!Audience::default().may_include("ana"));
    }

    #[test]
    fn the_closest_grants_limit() {
        let audience = Audience::of([
            grant(Subject::Everyone, None, (60, 0)),
            grant(group("sales"), None, (0, 1000)),
            grant(group("sales"), Some("find"), (5, 0)),
            grant(group("support"), None, (10, 0)),
            grant(user("ana"), Some("find"), (1, 0)),
            grant(group("free"), None, (0, 0)),
        ]);
        let limits = |id: &str, names: &[&str], tool: &str| -> Vec<Vec<String>> {
            let alternatives = audience.limits(id, &groups(names), tool);
            let shown = |Limited { grant, user }: &Limited| {
                let [user, tool] = [(user, "all"), (&grant.tool, "any")]
                    .map(|(name, default)| name.as_deref().unwrap_or(default).to_owned());
                format!("{} {user} {tool} {}", grant.subject, grant.limits)
            };
            alternatives.iter().map(|counted| counted.iter().map(shown).collect()).collect()
        };

        assert_eq!(limits("ben", &[], "find"), [["everyone ben any 60/m"]]);
        assert_eq!(limits("ben", &["sales"], "list"), [["group:sales all any 1000/d"]]);
        assert_eq!(
            limits("ben", &["sales"], "find"),
            [["group:sales all any 1000/d", "group:sales all find 5/m"]]
        );
        assert_eq!(
            limits("ben", &["sales", "support"], "list"),
            [["group:sales all any 1000/d"], ["group:support all any 10/m"]]
        );
        assert_eq!(limits("ben", &["sales", "free"], "list"), [[""; 0]; 0], "one group is not limited");
        assert_eq!(limits("ana", &["sales"], "find"), [["user:ana ana find 1/m"]]);
        assert_eq!(limits("ana", &["sales"], "list"), [["group:sales all any 1000/d"]]);
    }

    #[test]
    fn members_of_a_group_are_counted_each_if_the_grant_says_so() {
        let mut of_sales = grant(group("sales"), None, (3, 0));
        of_sales.limits.each = true;
        let counted = Audience::of([of_sales]).limits("ana", &groups(&["sales"]), "find");
        assert_eq!(counted[0][0].user.as_deref(), Some("ana"));
        assert_eq!(counted[0][0].grant.limits.to_string(), "3/m for each member");
    }

    #[test]
    fn grants_are_json_for_other_systems() {
        let grant = grant(group("sales"), Some("find"), (5, 0));
        let json = serde_json::json!({ "group": "sales", "tool": "find", "perMinute": 5 });
        assert_eq!(serde_json::to_value(&grant).expect("JSON"), json);
        assert_eq!(serde_json::from_value::<Grant>(json).expect("a grant"), grant);
        assert_eq!(grant.in_words(), "group:sales find 5/m");

        let everyone = serde_json::json!({ "everyone": true, "perDay": 9 });
        let read: Grant = serde_json::from_value(everyone.clone()).expect("a grant");
        assert_eq!(serde_json::to_value(&read).expect("JSON"), everyone);

        for (refused, reason) in [
            (serde_json::json!({}), "for one user"),
            (serde_json::json!({ "group": "a", "user": "b" }), "for one user"),
            (serde_json::json!({ "group": "a", "everyone": true }), "for one user"),
            (serde_json::json!({ "group": "" }), "1 to 256"),
            (serde_json::json!({ "user": "x".repeat(257) }), "1 to 256"),
            (serde_json::json!({ "user": "a\0" }), "1 to 256"),
            (serde_json::json!({ "user": "ana", "each": true }), "`each` is for groups"),
            (serde_json::json!({ "group": "a", "perMinute": 0 }), "nonzero"),
            (serde_json::json!({ "group": "a", "perMinute": -1 }), "nonzero"),
            (serde_json::json!({ "group": "a", "rate": 1 }), "unknown field"),
        ] {
            let error =
                serde_json::from_value::<Grant>(refused.clone()).expect_err("it is refused").to_string();
            assert!(error.contains(reason), "{refused}: {error}");
        }
    }
}
