//! Collections in memory, with their members.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kitbag_database::Holder;
use kitbag_identity::{Groups, Subject};

use super::{Membership, PURGING, Role};
use crate::document::Deletion;

/// A collection, without its documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Id, chosen once.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// What is in it; may be empty.
    pub description: String,
    /// The user who has made it.
    pub created_by: String,
    /// Milliseconds since 1970, UTC.
    pub created_at: i64,
    /// Who has deleted it, and when; `None` while it is not in the bin.
    pub deleted: Option<Deletion>,
    /// Its members, sorted.
    pub members: Vec<Membership>,
}

/// All collections at one moment.
#[derive(Debug, Default)]
pub struct Directory {
    generation: i64,
    collections: BTreeMap<String, Arc<Collection>>,
    /// Ids of collections that are not deleted, with the role of each subject.
    roles: HashMap<Subject, Vec<(Arc<Collection>, Role)>>,
}

impl Directory {
    pub(super) fn new(generation: i64, collections: impl IntoIterator<Item = Collection>) -> Self {
        let collections = collections.into_iter().map(Arc::new);
        let collections: BTreeMap<_, _> = collections.map(|it| (it.id.clone(), it)).collect();
        let mut roles: HashMap<_, Vec<_>> = HashMap::new();
        for collection in collections.values().filter(|it| it.deleted.is_none()) {
            for Membership { subject, role } in &collection.members {
                roles.entry(subject.clone()).or_default().push((collection.clone(), *role));
            }
        }
        Self { generation, collections, roles }
    }

    pub(super) fn is_of(&self, generation: i64) -> bool {
        self.generation == generation
    }

    /// All collections, deleted ones too, sorted by id.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Collection>> {
        self.collections.values()
    }

    /// A collection, which may be deleted.
    pub fn get(&self, id: &str) -> Option<&Arc<Collection>> {
        self.collections.get(id)
    }

    /// The collections that are not deleted of which a user with this id and these groups is a member, with the role, by
    /// id.
    pub fn of(&self, user: &str, groups: &Groups) -> BTreeMap<&str, (&Arc<Collection>, Role)> {
        let groups = groups.iter().map(|name| Subject::Group(name.to_owned()));
        let subjects = [Subject::User(user.to_owned()), Subject::Everyone].into_iter().chain(groups);
        let mut found: BTreeMap<&str, (&Arc<Collection>, Role)> = BTreeMap::new();
        for (collection, role) in subjects.filter_map(|subject| self.roles.get(&subject)).flatten() {
            let (_, best) = found.entry(&collection.id).or_insert((collection, *role));
            *best = (*best).max(*role);
        }
        found
    }

    /// The holders whose documents a user with this id and these groups may read: the user, and collections.
    pub fn readable(&self, user: &str, groups: &Groups) -> Vec<Holder> {
        let collections = self.of(user, groups).into_keys().map(Holder::collection);
        [Holder::user(user)].into_iter().chain(collections).collect()
    }
}

impl Collection {
    /// The role of a user with this id and these groups, also in the bin; `None` for outsiders.
    pub fn role_of(&self, user: &str, groups: &Groups) -> Option<Role> {
        let includes = |member: &&Membership| member.subject.includes(user, groups);
        self.members.iter().filter(includes).map(|member| member.role).max()
    }

    /// Whether it is in the bin, and not about to be removed for good.
    pub fn can_be_restored(&self) -> bool {
        self.deleted.as_ref().is_some_and(|deletion| deletion.at > PURGING)
    }

    /// Ids of its curators, in words, such as `user:ana`.
    pub fn curators(&self) -> impl Iterator<Item = String> {
        self.members.iter().filter(|it| it.role == Role::Curator).map(|it| it.subject.to_string())
    }
}
