//! Users, for operators: who is here, what each has, and the end of one (docs/decisions/0100).

mod archive;
mod end;
mod export;
mod store;
pub(crate) mod values;

use kitbag_database::audit::Act;
use kitbag_identity::Subject;
use kitbag_knowledge::collections::{Collection, Role};

use super::Access;
use super::error::AccessError;
use super::operator::Operator;
pub use export::Export;
use store::InventoryStore;
use values::{CollectionItem, KeyItem, StoredItem, UserDetails, UserSummary};

#[cfg(test)]
pub(crate) use store::MENTIONS;

/// Number of the steps of an end.
#[cfg(test)]
pub(crate) const STEPS: usize = end::Step::ALL.len();

/// Largest number of users on a page.
pub const MAX_USERS: u32 = 200;

/// All users, for operators: that things exist, and no value, text or title of them.
pub struct AllUsers<'a>(&'a Operator);

impl Operator {
    /// Returns access to all users.
    pub fn users(&self) -> AllUsers<'_> {
        AllUsers(self)
    }
}

impl AllUsers<'_> {
    /// Returns users who were seen or have anything here, by id: the first `limit` after `after`, at most [`MAX_USERS`].
    pub async fn list(&self, after: &str, limit: u32) -> Result<Vec<UserSummary>, AccessError> {
        let users = self.inventory().list(after, limit.clamp(1, MAX_USERS)).await;
        let mut users = users.map_err(AccessError::Users)?;
        let ids: Vec<_> = users.iter().map(|user| user.id.as_str()).collect();
        let keys = self.0.0.stores().program_keys.count_of(&ids).await.map_err(AccessError::Users)?;
        for user in &mut users {
            user.counts.keys = keys.get(&user.id).copied().unwrap_or_default();
        }
        Ok(users)
    }

    /// Returns what a user has.
    pub async fn get(&self, id: &str) -> Result<UserDetails, AccessError> {
        let details = details(&self.0.0.access, id).await?;
        details.ok_or_else(|| AccessError::UnknownUser(id.to_owned()))
    }

    /// Revokes a key of a user, by its id. Not for keys of programs.
    pub async fn revoke_key(&self, id: &str, key: &str) -> Result<(), AccessError> {
        let operator = &self.0.0;
        let stores = operator.stores();
        if operator.is_program() {
            stores.audit.refused(&operator.actor(), Act::KeyRevoked.name(), None).await;
            return Err(AccessError::ProgramsCannotEnd);
        }
        let was_there = stores.program_keys.revoke_of(&operator.actor(), id, key).await;
        if was_there.map_err(AccessError::Users)? {
            Ok(())
        } else {
            Err(AccessError::UnknownKey { user: id.to_owned(), key: key.to_owned() })
        }
    }

    fn inventory(&self) -> InventoryStore {
        InventoryStore::new(self.0.0.stores().database.clone())
    }
}

/// Returns what a user has; `None` for one who was not seen and has nothing.
async fn details(access: &Access, id: &str) -> Result<Option<UserDetails>, AccessError> {
    let stores = access.stores();
    let inventory = InventoryStore::new(stores.database.clone());
    let Some(details) = inventory.get(id).await.map_err(AccessError::Users)? else { return Ok(None) };
    let keys = stores.program_keys.of_user(id).await.map_err(AccessError::Users)?;
    let keys: Vec<_> = keys.into_iter().map(KeyItem::from).collect();
    let mut summary = details.summary;
    summary.counts.keys = keys.len() as u64;
    let names = stores.vault.stored_names(id).await?.into_iter().map(StoredItem::from);
    let (secrets, accounts) = names.partition(|it| it.name.is_some());
    let collections = collections_of(access, id);
    let is_named_operator = is_named_operator(access, id);
    Ok(Some(UserDetails { summary, is_named_operator, secrets, accounts, keys, collections, ..details }))
}

/// Collections of which a user is a member by name, deleted ones included.
fn collections_of(access: &Access, id: &str) -> Vec<CollectionItem> {
    let subject = Subject::User(id.to_owned());
    let directory = access.stores().collections.directory();
    let item = |collection: &Collection| {
        let role = collection.members.iter().find(|it| it.subject == subject)?.role;
        let curators = collection.members.iter().filter(|it| it.role == Role::Curator).count();
        Some(CollectionItem {
            id: collection.id.clone(),
            role,
            is_last_curator: role == Role::Curator && curators == 1,
            is_deleted: collection.deleted.is_some(),
        })
    };
    directory.all().filter_map(|collection| item(collection)).collect()
}

/// Whether the setting `operators` names a user.
fn is_named_operator(access: &Access, id: &str) -> bool {
    access.0.roles.load().operators.contains(id)
}
