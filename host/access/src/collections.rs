//! Collections of a user: those that they may read, keep and make.

use std::sync::Arc;

use kitbag_identity::Subject;
use kitbag_knowledge::collections::{
    Collection, CollectionError, Collections, Description, Membership, Role,
};
use kitbag_knowledge::{Holder, Usage};

use super::error::AccessError;
use super::operator::Operator;
use super::user::User;

/// The collections that a user may read, and the acts on them.
pub struct UserCollections<'a>(&'a User);

/// All collections, for operators: without their documents.
pub struct AllCollections<'a>(&'a Operator);

/// A collection in the list for operators.
#[derive(Clone, Debug)]
pub struct CollectionOverview {
    /// The collection.
    pub collection: Arc<Collection>,
    /// What its documents take.
    pub usage: Usage,
}

impl User {
    /// Returns access to the user's collections.
    pub fn collections(&self) -> UserCollections<'_> {
        UserCollections(self)
    }

    /// Restricts what this caller may read to these collections, and `mine`.
    #[must_use]
    pub fn within(self, collections: Option<impl IntoIterator<Item = String>>) -> Self {
        match collections {
            None => self,
            Some(names) => Self { collections: Some(Arc::new(names.into_iter().collect())), ..self },
        }
    }
}

impl UserCollections<'_> {
    /// Returns the collections that the user may read, by id, with the user's role.
    pub fn list(&self) -> Vec<(Arc<Collection>, Role)> {
        let directory = self.all().directory();
        let of = directory.of(self.0.id(), &self.0.groups());
        of.into_values().map(|(collection, role)| (collection.clone(), role)).collect()
    }

    /// Returns a collection that the user may read, with the user's role.
    pub fn get(&self, id: &str) -> Result<(Arc<Collection>, Role), CollectionError> {
        let (collection, role) = self.member_of(id)?;
        if collection.deleted.is_some() { Err(unknown(id)) } else { Ok((collection, role)) }
    }

    /// Returns the deleted collections that the user kept.
    pub fn deleted(&self) -> Vec<Arc<Collection>> {
        let groups = self.0.groups();
        let kept = |it: &&Arc<Collection>| {
            it.can_be_restored() && it.role_of(self.0.id(), &groups) == Some(Role::Curator)
        };
        self.all().directory().all().filter(kept).cloned().collect()
    }

    /// Whether operators alone make collections: on a server of a team.
    pub fn are_made_by_operators(&self) -> bool {
        self.0.access.0.roles.load().operators_make_collections
    }

    /// Whether the user may make collections.
    pub fn may_create(&self) -> bool {
        self.0.access.0.roles.load().may_make_collections(&self.0.caller)
    }

    /// See [`Collections::create`].
    pub async fn create(&self, id: &str, about: &Description) -> Result<(), CollectionError> {
        if !self.may_create() {
            return Err(CollectionError::NotCreator);
        }
        self.admit()?;
        self.all().create(id, about, &self.0.actor()).await
    }

    /// See [`Collections::describe`]. For curators.
    pub async fn describe(&self, id: &str, about: &Description) -> Result<(), CollectionError> {
        self.curated(id)?;
        self.all().describe(id, about, &self.0.actor()).await
    }

    /// See [`Collections::share`]. For curators.
    pub async fn share(&self, id: &str, with: &[Membership]) -> Result<(), CollectionError> {
        self.curated(id)?;
        self.all().share(id, with, &self.0.actor()).await
    }

    /// See [`Collections::unshare`]. For curators.
    pub async fn unshare(&self, id: &str, subject: &Subject) -> Result<(), CollectionError> {
        self.curated(id)?;
        self.all().unshare(id, subject, &self.0.actor()).await
    }

    /// See [`Collections::delete`]. For curators.
    pub async fn delete(&self, id: &str) -> Result<(), CollectionError> {
        self.curated(id)?;
        self.all().delete(id, &self.0.actor()).await
    }

    /// See [`Collections::restore`]. For those who kept it.
    pub async fn restore(&self, id: &str) -> Result<(), CollectionError> {
        self.kept_in_bin(id)?;
        self.all().restore(id, &self.0.actor()).await
    }

    /// Removes a deleted collection for good, with its documents. For those who kept it.
    pub async fn purge(&self, id: &str) -> Result<(), AccessError> {
        self.kept_in_bin(id)?;
        self.0.stores().knowledge.purge_collection(self.all(), id, &self.0.actor()).await?;
        Ok(())
    }

    /// Counts an act: each writes an audit entry.
    fn admit(&self) -> Result<(), CollectionError> {
        Ok(self.0.access.0.own_acts.admit(self.0.id())?)
    }

    /// Admits an act, unless the user does not keep the collection, or it is in the bin.
    fn curated(&self, id: &str) -> Result<(), CollectionError> {
        match self.get(id)? {
            (_, Role::Curator) => self.admit(),
            (_, Role::Reader) => Err(CollectionError::NotCurator(id.to_owned())),
        }
    }

    /// Admits an act, unless the user did not keep the collection, or it is not in the bin. For readers it does not exist
    /// any more.
    fn kept_in_bin(&self, id: &str) -> Result<(), CollectionError> {
        match self.member_of(id)? {
            (collection, Role::Curator) if collection.can_be_restored() => self.admit(),
            _ => Err(unknown(id)),
        }
    }

    fn member_of(&self, id: &str) -> Result<(Arc<Collection>, Role), CollectionError> {
        let directory = self.all().directory();
        let collection = directory.get(id).ok_or_else(|| unknown(id))?;
        let role = collection.role_of(self.0.id(), &self.0.groups()).ok_or_else(|| unknown(id))?;
        Ok((collection.clone(), role))
    }

    fn all(&self) -> &Collections {
        &self.0.stores().collections
    }
}

impl Operator {
    /// Returns access to all collections, without their documents.
    pub fn collections(&self) -> AllCollections<'_> {
        AllCollections(self)
    }
}

impl AllCollections<'_> {
    /// Returns all collections, by id, with what they take.
    pub async fn list(&self) -> Result<Vec<CollectionOverview>, AccessError> {
        let stores = self.0.0.stores();
        let directory = stores.collections.directory();
        let holders: Vec<_> = directory.all().map(|it| Holder::collection(&it.id)).collect();
        let usages = stores.knowledge.usages(&holders).await?;
        let all = directory.all().zip(holders).map(|(collection, holder)| CollectionOverview {
            collection: collection.clone(),
            usage: usages.get(&holder).copied().unwrap_or_default(),
        });
        Ok(all.collect())
    }

    /// See [`Collections::take_over`].
    pub async fn take_over(&self, id: &str) -> Result<(), AccessError> {
        let stores = self.0.0.stores();
        Ok(stores.collections.take_over(id, &self.0.0.actor()).await?)
    }
}

fn unknown(id: &str) -> CollectionError {
    CollectionError::Unknown(id.to_owned())
}
