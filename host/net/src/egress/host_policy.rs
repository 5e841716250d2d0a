//! Hosts that the operator permits to toolkits, whatever they declare: the setting `egress-policy`.
//!
//! Invariant: groups only ever add hosts. A request of a user of whom fewer groups are known reaches no more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::Uri;
use serde::{Deserialize, Serialize};
use url::Url;

use super::allowlist::{Allowlist, Coverage};
use super::error::EgressError;
use super::target::Target;

/// Hosts that are permitted to toolkits: for all users, and further ones for members of groups.
#[derive(Clone, Debug, Default)]
pub struct HostPolicy {
    everyone: Allowlist,
    groups: BTreeMap<String, Allowlist>,
}

/// The policy in effect, which may be replaced at any time. Clones share it. The default permits all hosts.
#[derive(Clone, Debug, Default)]
pub struct LiveHostPolicy(Arc<ArcSwapOption<HostPolicy>>);

/// Groups of the user for whom a request is sent.
#[derive(Clone, Debug)]
pub enum Membership {
    /// The user's groups.
    Of(Arc<BTreeSet<String>>),
    /// The user's groups are not known: what is permitted to members of any group is permitted. Only for requests
    /// that were permitted to the user before, or that end what was.
    Unknown,
}

/// A declared host that the policy refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusedHost {
    /// The host, as declared.
    pub host: String,
    /// Whether a part of what the declaration asks for is permitted: one of the default ports.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_part: bool,
    /// Groups whose members may reach it all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except_groups: Vec<String>,
}

impl HostPolicy {
    /// Creates a policy of the hosts for everyone, and the further ones by group.
    pub fn new(everyone: Allowlist, groups: BTreeMap<String, Allowlist>) -> Self {
        Self { everyone, groups }
    }

    fn permits(&self, target: &Target, membership: &Membership) -> bool {
        self.lists(membership).any(|list| list.permits(target))
    }

    /// Returns the hosts of a declaration that are refused to members of no other groups than these, wholly or in
    /// part.
    pub fn refused<'a>(
        &self,
        declared: impl IntoIterator<Item = &'a str>,
        membership: &Membership,
    ) -> Vec<RefusedHost> {
        let refused = |host: &str| {
            let coverage = Coverage::of(host, &self.lists(membership));
            if coverage == Coverage::Whole {
                return None;
            }
            let may = |(_, list): &(_, &Allowlist)| {
                Coverage::of(host, &[&self.everyone, list].into_iter()) == Coverage::Whole
            };
            let except = self.groups.iter().filter(may).map(|(group, _)| group.clone());
            let in_part = coverage == Coverage::Part;
            Some(RefusedHost { host: host.to_owned(), in_part, except_groups: except.collect() })
        };
        declared.into_iter().filter_map(refused).collect()
    }

    /// The lists of which each adds hosts for such a user.
    fn lists<'a>(&'a self, membership: &'a Membership) -> impl Iterator<Item = &'a Allowlist> + Clone {
        let is_member = move |(group, _): &(&String, _)| match membership {
            Membership::Of(groups) => groups.contains(*group),
            Membership::Unknown => true,
        };
        let of_groups = self.groups.iter().filter(is_member).map(|(_, list)| list);
        std::iter::once(&self.everyone).chain(of_groups)
    }
}

impl LiveHostPolicy {
    /// Creates the handle of a policy; `None` permits all hosts.
    pub fn new(policy: Option<HostPolicy>) -> Self {
        Self(Arc::new(ArcSwapOption::from_pointee(policy)))
    }

    /// Replaces the policy, for each request from now on.
    pub fn replace(&self, policy: Option<HostPolicy>) {
        self.0.store(policy.map(Arc::new));
    }

    /// Returns the hosts of a declaration that the policy refuses; see [`HostPolicy::refused`].
    pub fn refused<'a>(
        &self,
        declared: impl IntoIterator<Item = &'a str>,
        membership: &Membership,
    ) -> Vec<RefusedHost> {
        let policy = self.0.load();
        policy.as_ref().map(|policy| policy.refused(declared, membership)).unwrap_or_default()
    }

    /// Whether the policy permits nothing of what the declaration of a host asks for.
    pub fn refuses_all_of(&self, declared: &str, membership: &Membership) -> bool {
        let policy = self.0.load();
        policy
            .as_ref()
            .is_some_and(|policy| Coverage::of(declared, &policy.lists(membership)) == Coverage::Nothing)
    }

    /// Fails if no request may be sent to `url` for a toolkit, or if it is not valid.
    pub fn expect_permitted(&self, url: &str, membership: &Membership) -> Result<(), EgressError> {
        let uri = Url::parse(url.trim()).ok().and_then(|url| Uri::try_from(url.as_str()).ok());
        let uri = uri.ok_or(EgressError::InvalidRequest { reason: "it is no URL" })?;
        self.check(&Target::of(&uri)?, membership)
    }

    pub(super) fn check(&self, target: &Target, membership: &Membership) -> Result<(), EgressError> {
        if self.0.load().as_ref().is_none_or(|policy| policy.permits(target, membership)) {
            Ok(())
        } else {
            Err(EgressError::ForbiddenHost { authority: target.authority() })
        }
    }
}

impl Default for Membership {
    fn default() -> Self {
        Self::none()
    }
}

impl Membership {
    /// The groups of nobody in particular: what everyone has.
    pub fn none() -> Self {
        Self::Of(Arc::default())
    }
}

impl RefusedHost {
    /// Returns what the policy does with the host, to be read after its name.
    pub fn in_words(&self) -> String {
        let part = if self.in_part { " in part" } else { "" };
        let except = if self.except_groups.is_empty() {
            String::new()
        } else {
            format!(", except to members of {}", self.except_groups.join(", "))
        };
        format!("refused{part} by egress-policy{except}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Allowlist {
        Allowlist::parse(entries).unwrap()
    }

    /// `a.example` for everyone, `bank.example` also for `finance`, and HTTPS of `wiki.example` for `staff`.
    fn policy() -> HostPolicy {
        let groups = [("finance", "bank.example"), ("staff", "wiki.example:443")];
        let groups = groups.map(|(group, host)| (group.to_owned(), list(&[host])));
        HostPolicy::new(list(&["a.example", "b.example:8443"]), groups.into())
    }

    fn of(groups: &[&str]) -> Membership {
        Membership::Of(Arc::new(groups.iter().map(|&group| group.to_owned()).collect()))
    }

    #[track_caller]
    fn check(uri: &str, membership: &Membership, expected: bool) {
        let target = Target::of(&uri.parse::<Uri>().unwrap()).unwrap();
        assert_eq!(policy().permits(&target, membership), expected, "{uri} for {membership:?}");
    }

    #[test]
    fn groups_add_hosts_and_take_none_away() {
        for membership in [of(&[]), of(&["finance"]), of(&["sales", "Finance"]), Membership::Unknown] {
            check("https://a.example/", &membership, true);
            check("https://A.example.:443/", &membership, true);
            check("https://b.example:8443/", &membership, true);
            for refused in ["https://evil.example/", "https://a.example:8443/", "https://sub.a.example/"] {
                check(refused, &membership, false);
            }
        }
        for (membership, expected) in [
            (of(&[]), false),
            (of(&["sales"]), false),
            (of(&["Finance"]), false),
            (of(&["finance"]), true),
            (of(&["finance", "sales"]), true),
            (Membership::Unknown, true),
        ] {
            check("https://bank.example/", &membership, expected);
        }
    }

    #[test]
    fn without_a_policy_all_is_permitted_and_with_an_empty_one_nothing() {
        let target = Target::of(&Uri::from_static("https://a.example/")).unwrap();
        let live = LiveHostPolicy::default();
        assert!(live.check(&target, &of(&[])).is_ok() && live.refused(["a.example"], &of(&[])).is_empty());

        live.clone().replace(Some(HostPolicy::default()));
        assert!(
            live.check(&target, &Membership::Unknown).is_err() && live.refuses_all_of("a.example", &of(&[]))
        );

        live.replace(Some(policy()));
        assert!(live.check(&target, &of(&[])).is_ok() && !live.refuses_all_of("a.example", &of(&[])));
        live.replace(None);
        assert!(live.check(&target, &of(&[])).is_ok() && !live.refuses_all_of("z.example", &of(&[])));
    }

    #[test]
    fn what_a_declaration_asks_for_in_vain_is_said_with_the_groups_that_may() {
        let declared =
            ["a.example", "a.example:443", "a.example:8443", "bank.example", "wiki.example", "b.example"];
        let words = |membership| {
            let refused = policy().refused(declared, &membership);
            refused.iter().map(|it| format!("{} {}", it.host, it.in_words())).collect::<Vec<_>>()
        };

        assert_eq!(
            words(of(&[])),
            [
                "a.example:8443 refused by egress-policy",
                "bank.example refused by egress-policy, except to members of finance",
                "wiki.example refused by egress-policy",
                "b.example refused by egress-policy",
            ]
        );
        assert_eq!(
            words(of(&["finance", "staff"])),
            [
                "a.example:8443 refused by egress-policy",
                "wiki.example refused in part by egress-policy",
                "b.example refused by egress-policy",
            ]
        );
    }
}
