//! One view of access, for operators: what a user or the members of a group may use and read, who may use a toolkit,
//! and who reaches a host.
//!
//! It is derived from what decides about each request: owners, audiences and collections. Only groups differ: those of
//! the last sign-in stand for those of the next token.

pub(crate) mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use kitbag_identity::{Groups, MAX_USERS_OF_PAGE};
use kitbag_knowledge::collections::{Collection, Role};
use kitbag_net::egress::canonical_host;
use kitbag_toolkits::{Live, Reach, ReachItem};

use super::error::AccessError;
use super::operator::Operator;
use super::rules::{self, Given, GivenTo};
use values::{AccessView, CollectionAccess, People, Question, Right, SeenGroup, ToolkitAccess};

/// Number of listed users.
const LISTED_PEOPLE: usize = 200;
/// Kinds of the parts of a reach that are hosts.
const HOST_KINDS: [&str; 2] = ["Network", "Sign-in"];

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
            Question::Toolkit(id) => self.view_of_toolkits(&question, |live| live.definition.id == *id).await,
            Question::Host(host) => {
                let wanted = canonical_host(host.trim()).unwrap_or_else(|| host.clone());
                self.view_of_toolkits(&question, |live| reaches(live, &wanted)).await
            }
        }
    }

    /// Returns the groups that users were seen with, by name.
    pub async fn seen_groups(&self) -> Result<Vec<SeenGroup>, AccessError> {
        let mut groups: BTreeMap<String, u64> = BTreeMap::new();
        for person in self.people().await? {
            for name in person.groups.iter() {
                *groups.entry(name.to_owned()).or_default() += 1;
            }
        }
        Ok(groups.into_iter().map(|(name, users)| SeenGroup { name, users }).collect())
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
        let people = self.people().await?;
        let members = People::of(people.iter().filter(|person| person.groups.contains(name)));
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
            (!by.is_empty()).then(|| ToolkitAccess::of(live, by))
        };
        let directory = stores.collections.directory();
        let collection =
            |(collection, role): (&Arc<_>, _)| CollectionAccess::of(collection, role, user, groups);
        AccessView {
            question,
            is_known: true,
            is_operator: false,
            is_ended: false,
            groups: Vec::new(),
            people: None,
            toolkits: stores.toolkits.registry.load().all().filter_map(toolkit).collect(),
            collections: directory.of(user, groups).into_values().map(collection).collect(),
        }
    }

    /// Returns who may use the toolkits that `is_meant`.
    async fn view_of_toolkits(
        &self,
        question: &Question,
        is_meant: impl Fn(&Live) -> bool,
    ) -> Result<AccessView, AccessError> {
        let people = self.people().await?;
        let toolkit = |live: &Arc<Live>| {
            let given = rules::given(live);
            let may = |it: &&Person| given.iter().any(|given| given.applies_to(&it.id, &it.groups));
            let users = People::of(people.iter().filter(may));
            ToolkitAccess { people: Some(users), ..ToolkitAccess::of(live, given) }
        };
        let registry = self.0.stores().toolkits.registry.load();
        let toolkits: Vec<_> = registry.all().filter(|live| is_meant(live)).map(toolkit).collect();
        Ok(AccessView {
            question: question.clone(),
            is_known: !toolkits.is_empty(),
            is_operator: false,
            is_ended: false,
            groups: Vec::new(),
            people: None,
            toolkits,
            collections: Vec::new(),
        })
    }

    /// Returns all users who have signed in, except those whose access was ended.
    async fn people(&self) -> Result<Vec<Person>, AccessError> {
        let users = &self.0.stores().users;
        let roles = self.0.access.0.roles.load();
        let mut people = Vec::new();
        let mut after = String::new();
        loop {
            let page = users.list(&after, MAX_USERS_OF_PAGE).await.map_err(AccessError::Users)?;
            let is_last = page.len() < MAX_USERS_OF_PAGE as usize;
            after = page.last().map(|user| user.id.clone()).unwrap_or_default();
            for user in page.into_iter().filter(|user| !user.is_ended()) {
                let Some(sign_ins) = user.sign_ins else { continue };
                let groups = roles.local_groups.get(&user.id).cloned().unwrap_or(sign_ins.groups);
                people.push(Person { id: user.id, groups });
            }
            if is_last {
                return Ok(people);
            }
        }
    }
}

impl People {
    fn of<'a>(people: impl Iterator<Item = &'a Person>) -> Self {
        let mut all = Self::default();
        for person in people {
            all.count += 1;
            if all.first.len() < LISTED_PEOPLE {
                all.first.push(person.id.clone());
            }
        }
        all
    }
}

impl ToolkitAccess {
    fn of(live: &Live, by: Vec<Given>) -> Self {
        Self {
            id: live.definition.id.clone(),
            owner: live.owner.clone(),
            by: by.into_iter().map(Right::from).collect(),
            reaches: reach(live),
            people: None,
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

/// Returns all parts of what a toolkit reaches, except its owner.
fn reach(live: &Live) -> Vec<ReachItem> {
    let mut all = live.reach.beyond(&Reach::default());
    all.retain(|item| item.kind != "Owner");
    all
}

/// Whether a toolkit sends requests to a host. Without a port, any port is meant; a declared host without one stands
/// for the default port of either scheme.
fn reaches(live: &Live, wanted: &str) -> bool {
    let (wanted_host, wanted_port) = split_port(wanted);
    let is_wanted = |name: &str| {
        let (host, port) = split_port(name);
        let is_port = wanted_port
            .is_none_or(|wanted| port.map_or(DEFAULT_PORTS.contains(&wanted), |port| port == wanted));
        host == wanted_host && is_port
    };
    reach(live).iter().any(|item| HOST_KINDS.contains(&item.kind.as_str()) && is_wanted(&item.name))
}

/// Splits `host:port`; an IPv6 address is in brackets.
fn split_port(name: &str) -> (&str, Option<&str>) {
    let is_port = |port: &&str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match name.rsplit_once(':').filter(|(_, port)| is_port(port)) {
        Some((host, port)) => (host, Some(port)),
        None => (name, None),
    }
}
