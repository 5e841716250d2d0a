//! One view of access, for operators: what a user or the members of a group may use and read, who may use a toolkit,
//! and who reaches a host.
//!
//! It is derived from what decides about each request: owners, audiences, collections and the egress policy. Only groups differ: those of
//! the last sign-in stand for those of the next token.

pub(crate) mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use kitbag_identity::{Groups, MAX_USERS_OF_PAGE};
use kitbag_knowledge::collections::{Collection, Role};
use kitbag_net::egress::{Membership, canonical_host};
use kitbag_toolkits::Live;

use super::error::AccessError;
use super::operator::Operator;
use super::rules::{self, Given, GivenTo};
use values::{AccessView, CollectionAccess, People, Question, Right, SeenGroup, SeenGroups, ToolkitAccess};

/// Maximum number of groups that are kept in memory and listed.
const MAX_SEEN_GROUPS: usize = 5000;
/// Number of listed users.
const LISTED_PEOPLE: usize = 200;
/// Default ports of HTTPS and HTTP.
const DEFAULT_PORTS: [&str; 2] = ["443", "80"];

/// A user, with the groups of the last sign-in.
struct Person {
    id: String,
    groups: Groups,
}

impl Operator {
    /// Answers a question about access.
    pub async fn access_view(&self, question: Question) -> Result<AccessView, AccessError> {
        match &question {
            Question::User(id) => self.view_of_user(id).await,
            Question::Group(name) => self.view_of_group(name).await,
            Question::Toolkit(id) => {
                self.view_of_toolkits(&question, |live| live.definition.id == *id, |_, _| true).await
            }
            Question::Host(host) => {
                let wanted = canonical_host(host.trim()).unwrap_or_else(|| host.clone());
                let policy = &self.0.stores().host_policy;
                let may_reach = |live: &Live, groups: &Groups| {
                    let membership = Membership::Of(groups.names());
                    declared(live, &wanted).any(|host| !policy.refuses_all_of(host, &membership))
                };
                let is_meant = |live: &Live| declared(live, &wanted).next().is_some();
                self.view_of_toolkits(&question, is_meant, may_reach).await
            }
        }
    }

    /// Returns the groups that users were seen with, and those that are provisioned, by name: the first 5,000 of them that are found.
    pub async fn seen_groups(&self) -> Result<SeenGroups, AccessError> {
        let mut groups: BTreeMap<String, u64> = BTreeMap::new();
        let mut is_complete = true;
        self.for_each_person(|person| {
            for name in person.groups.iter() {
                if let Some(users) = groups.get_mut(name) {
                    *users += 1;
                } else if groups.len() < MAX_SEEN_GROUPS {
                    groups.insert(name.to_owned(), 1);
                } else {
                    is_complete = false;
                }
            }
        })
        .await?;
        let provisioned = self.0.stores().provisioning.group_sizes().await.map_err(AccessError::Users)?;
        for (name, members) in provisioned {
            let members = u64::try_from(members).unwrap_or_default();
            if let Some(users) = groups.get_mut(&name) {
                *users = members.max(*users);
            } else if groups.len() < MAX_SEEN_GROUPS {
                groups.insert(name, members);
            } else {
                is_complete = false;
            }
        }
        let groups = groups.into_iter().map(|(name, users)| SeenGroup { name, users }).collect();
        Ok(SeenGroups { groups, is_complete })
    }

    async fn view_of_user(&self, id: &str) -> Result<AccessView, AccessError> {
        let known = self.0.stores().users.get(id).await.map_err(AccessError::Users)?;
        let roles = self.0.access.0.roles.load();
        let local = roles.local_groups.get(id);
        let signed_in = known.as_ref().and_then(|user| user.sign_ins.as_ref());
        let groups = local.or(signed_in.map(|it| &it.groups)).cloned().unwrap_or_default();
        Ok(AccessView {
            is_known: signed_in.is_some(),
            is_operator: roles.operators.contains(id) || roles.are_for_operators(&groups),
            is_ended: known.is_some_and(|user| user.is_ended()),
            groups: groups.iter().map(str::to_owned).collect(),
            ..self.view_of(Question::User(id.to_owned()), id, &groups)
        })
    }

    async fn view_of_group(&self, name: &str) -> Result<AccessView, AccessError> {
        let groups = Groups::from_iter([name.to_owned()]);
        let mut members = People::default();
        self.for_each_person(|person| {
            if person.groups.contains(name) {
                members.add(person);
            }
        })
        .await?;
        Ok(AccessView {
            is_known: members.count > 0,
            is_operator: self.0.access.0.roles.load().are_for_operators(&groups),
            people: Some(members),
            // No user has the empty id.
            ..self.view_of(Question::Group(name.to_owned()), "", &groups)
        })
    }

    /// Returns what a user with these groups may use and read.
    pub(super) fn view_of(&self, question: Question, user: &str, groups: &Groups) -> AccessView {
        let stores = self.0.stores();
        let toolkit = |live: &Arc<Live>| {
            let by: Vec<_> =
                rules::given(live).into_iter().filter(|given| given.applies_to(user, groups)).collect();
            (!by.is_empty()).then(|| self.toolkit_access(live, by, &Membership::Of(groups.names())))
        };
        let directory = stores.collections.directory();
        let collection =
            |(collection, role): (&Arc<_>, _)| CollectionAccess::of(collection, role, user, groups);
        AccessView {
            toolkits: stores.toolkits.registry.load().all().filter_map(toolkit).collect(),
            collections: directory.of(user, groups).into_values().map(collection).collect(),
            ..AccessView::about(question)
        }
    }

    fn toolkit_access(&self, live: &Live, by: Vec<Given>, membership: &Membership) -> ToolkitAccess {
        ToolkitAccess {
            id: live.definition.id.clone(),
            owner: live.owner.clone(),
            by: by.into_iter().map(Right::from).collect(),
            reaches: live.reach.items(),
            refused_hosts: self.0.stores().host_policy.refused(live.reach.declared_hosts(), membership),
            people: None,
        }
    }

    /// Returns who may use the toolkits that `is_meant`. Counts only users whose groups `may`.
    async fn view_of_toolkits(
        &self,
        question: &Question,
        is_meant: impl Fn(&Live) -> bool,
        may: impl Fn(&Live, &Groups) -> bool,
    ) -> Result<AccessView, AccessError> {
        let registry = self.0.stores().toolkits.registry.load();
        let meant = registry.all().filter(|live| is_meant(live));
        let mut toolkits: Vec<_> = meant.map(|live| (live, rules::given(live), People::default())).collect();
        self.for_each_person(|person| {
            for (live, given, people) in &mut toolkits {
                let is_given = given.iter().any(|given| given.applies_to(&person.id, &person.groups));
                if is_given && may(live, &person.groups) {
                    people.add(person);
                }
            }
        })
        .await?;
        let toolkits: Vec<_> = toolkits
            .into_iter()
            .map(|(live, given, people)| ToolkitAccess {
                people: Some(people),
                ..self.toolkit_access(live, given, &Membership::none())
            })
            .collect();
        Ok(AccessView { is_known: !toolkits.is_empty(), toolkits, ..AccessView::about(question.clone()) })
    }

    /// Calls `each` with all users who have signed in, except those whose access was ended, by id.
    async fn for_each_person(&self, mut each: impl FnMut(&Person)) -> Result<(), AccessError> {
        let users = &self.0.stores().users;
        let roles = self.0.access.0.roles.load();
        let mut after = String::new();
        loop {
            let page = users.list(&after, MAX_USERS_OF_PAGE).await.map_err(AccessError::Users)?;
            let is_last = page.len() < MAX_USERS_OF_PAGE as usize;
            after = page.last().map(|user| user.id.clone()).unwrap_or_default();
            for user in page.into_iter().filter(|user| !user.is_ended()) {
                let Some(sign_ins) = user.sign_ins else { continue };
                let groups = roles.local_groups.get(&user.id).cloned().unwrap_or(sign_ins.groups);
                each(&Person { id: user.id, groups });
            }
            if is_last {
                return Ok(());
            }
        }
    }
}

impl AccessView {
    fn about(question: Question) -> Self {
        Self {
            question,
            is_known: true,
            is_operator: false,
            is_ended: false,
            groups: Vec::new(),
            people: None,
            toolkits: Vec::new(),
            collections: Vec::new(),
        }
    }
}

impl People {
    fn add(&mut self, person: &Person) {
        self.count += 1;
        if self.first.len() < LISTED_PEOPLE {
            self.first.push(person.id.clone());
        }
    }
}

impl From<Given> for Right {
    fn from(Given { to, tools }: Given) -> Self {
        let to = match to {
            GivenTo::Owner(_) => "owner".to_owned(),
            GivenTo::Subject(subject) => subject.to_string(),
        };
        Self { to, tools: tools.map(|tools| tools.into_iter().collect()) }
    }
}

impl CollectionAccess {
    fn of(collection: &Collection, role: Role, user: &str, groups: &Groups) -> Self {
        let members = collection.members.iter().filter(|member| member.subject.includes(user, groups));
        Self {
            id: collection.id.clone(),
            role,
            by: members.map(|member| member.subject.to_string()).collect(),
        }
    }
}

/// Returns the hosts of a toolkit's declaration that a host stands for. Without a port, any port is meant; a declared
/// host without one stands for the default port of either scheme.
fn declared<'a>(live: &'a Live, wanted: &'a str) -> impl Iterator<Item = &'a str> {
    let (wanted_host, wanted_port) = split_port(wanted);
    let is_wanted = move |name: &&str| {
        let (host, port) = split_port(name);
        let is_port = wanted_port
            .is_none_or(|wanted| port.map_or(DEFAULT_PORTS.contains(&wanted), |port| port == wanted));
        host == wanted_host && is_port
    };
    live.reach.hosts().filter(is_wanted)
}

/// Splits `host:port`; an IPv6 address is in brackets.
fn split_port(name: &str) -> (&str, Option<&str>) {
    let is_port = |port: &&str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once(':').filter(|(_, port)| is_port(port)) {
        Some((host, port)) => (host, Some(port)),
        None => (name, None),
    }
}
