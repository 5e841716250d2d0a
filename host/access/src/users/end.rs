//! The end of a user: one act for an operator, of steps that each may be done again.
//!
//! Invariants:
//! - the user's access ends first: from then on nothing is stored for them (`database/ended`), so what a step has removed
//!   stays removed;
//! - each step begins once those who write what it removes have ended, who may have begun before;
//! - whatever interrupts it, the same act again does the rest.

use std::time::{Duration, Instant};

use futures::future::join_all;
use kitbag_base::tasks::to_its_end;
use kitbag_database::audit::{Act, Actor, Entry};
use kitbag_database::{Holder, Scope, wait_for_writers};
use kitbag_knowledge::KnowledgeError;
use kitbag_knowledge::collections::CollectionError;
use kitbag_toolkits::ToolkitError;
use kitbag_vault::AccountState;
use tracing::info;

use super::store::InventoryStore;
use super::values::{ConflictItem, DocumentsFate, UserEnd};
use super::{AllUsers, is_named_operator};
use crate::Access;
use crate::error::AccessError;
use crate::stores::Stores;

/// Time after which a request does not begin another step: the next request goes on.
const TIME_PER_REQUEST: Duration = Duration::from_secs(10);
/// Number of accounts whose tokens are revoked at a time.
const REVOCATIONS_AT_ONCE: usize = 8;

/// Step of the end of a user, after that of their access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Accounts,
    Secrets,
    Cached,
    Toolkits,
    /// After [`Toolkits`](Self::Toolkits): the last grant of a toolkit becomes one to its owner.
    Settings,
    Memberships,
    /// Late: a collection may have no room for all of them.
    Documents,
    /// Erasure alone.
    Records,
    /// Erasure alone.
    Mentions,
}

impl Step {
    /// All steps, in their order.
    pub(crate) const ALL: [Self; 9] = [
        Self::Accounts,
        Self::Secrets,
        Self::Cached,
        Self::Toolkits,
        Self::Settings,
        Self::Memberships,
        Self::Documents,
        Self::Records,
        Self::Mentions,
    ];
}

/// An end of a user that is being done.
struct Ending {
    access: Access,
    by: Actor,
    user: String,
    documents: DocumentsFate,
    until: Instant,
    done: UserEnd,
}

impl AllUsers<'_> {
    /// Ends a user: their access first, and then what they have. After some seconds it stops and says so in
    /// [`UserEnd::is_finished`]; the same again goes on, also after a failure or a crash.
    ///
    /// Operators cannot end themselves, and no key of a program ends anybody.
    pub async fn end(&self, id: &str, documents: DocumentsFate) -> Result<UserEnd, AccessError> {
        let ending = self.ending(id, documents).await?;
        // Not cancelled with the request: the steps of one act belong together.
        to_its_end(ending.run(&Step::ALL)).await.map_err(ToolkitError::from)?
    }

    /// Ends the access of a user, and leaves what they have: until [`end`](Self::end), an operator can export it. For the
    /// same operators.
    pub async fn end_access(&self, id: &str) -> Result<UserEnd, AccessError> {
        let ending = self.ending(id, DocumentsFate::Bin).await?;
        to_its_end(ending.run(&[])).await.map_err(ToolkitError::from)?
    }

    /// Does the first `steps` of an end, as a crash leaves it.
    #[cfg(test)]
    pub(crate) async fn end_until_crash(
        &self,
        id: &str,
        documents: DocumentsFate,
        steps: usize,
    ) -> Result<UserEnd, AccessError> {
        let mut ending = self.ending(id, documents).await?;
        let access = ending.access.clone();
        access.stores().users.end(id, &ending.by).await?;
        ending.steps(access.stores(), &Step::ALL[..steps]).await?;
        Ok(ending.done)
    }

    /// Checks that the operator may end this user, who is there.
    async fn ending(&self, id: &str, documents: DocumentsFate) -> Result<Ending, AccessError> {
        let operator = &self.0.0;
        if operator.is_program() {
            operator.stores().audit.refused(&operator.actor(), Act::UserEnded.name(), None).await;
            return Err(AccessError::ProgramsCannotEnd);
        }
        if operator.id() == id {
            return Err(AccessError::OwnEnd);
        }
        let known = self.inventory().get(id).await.map_err(AccessError::Users)?;
        known.ok_or_else(|| AccessError::UnknownUser(id.to_owned()))?;
        if let DocumentsFate::Collection(to) = &documents {
            let directory = operator.stores().collections.directory();
            let is_there = directory.get(to).is_some_and(|it| it.deleted.is_none());
            if !is_there {
                return Err(CollectionError::Unknown(to.clone()).into());
            }
        }
        let is_named_operator = is_named_operator(&operator.access, id);
        Ok(Ending {
            access: operator.access.clone(),
            by: operator.actor(),
            user: id.to_owned(),
            documents,
            until: Instant::now() + TIME_PER_REQUEST,
            done: UserEnd { is_named_operator, ..UserEnd::default() },
        })
    }
}

impl Ending {
    async fn run(mut self, steps: &[Step]) -> Result<UserEnd, AccessError> {
        let access = self.access.clone();
        let stores = access.stores();
        let ended = stores.users.end(&self.user, &self.by).await?;
        self.done.keys = ended.keys;
        self.done.sessions = ended.sessions;
        self.done.clients = ended.clients;
        let outcome = self.steps(stores, steps).await;
        let words = self.done.in_words(self.collection());
        if !words.is_empty() {
            let entry = Entry::new(Act::UserCleared, &self.by).affects(&self.user).name(&words);
            let store = InventoryStore::new(stores.database.clone());
            store.record(&entry).await.map_err(AccessError::Users)?;
            info!(user = %self.user, by = %self.by.user(), %words, "ended a user");
        }
        outcome?;
        Ok(self.done)
    }

    /// Does one step after the other, as long as there is time.
    async fn steps(&mut self, stores: &Stores, steps: &[Step]) -> Result<(), AccessError> {
        for step in steps {
            self.wait_for_writers(stores, *step).await.map_err(AccessError::Users)?;
            if !self.step(stores, *step).await? {
                return Ok(());
            }
        }
        self.done.is_finished = true;
        Ok(())
    }

    /// Waits for all who write what a step reads to remove it, and may have begun before the end.
    async fn wait_for_writers(&self, stores: &Stores, step: Step) -> kitbag_database::Result<()> {
        let holder = Holder::user(&self.user);
        let bin = holder.bin();
        let holders = [&holder, &bin];
        let scopes: &[Scope<'_>] = match step {
            Step::Accounts | Step::Secrets => &[Scope::Vault],
            Step::Cached => &[Scope::Secrets],
            Step::Toolkits | Step::Settings => &[Scope::Toolkits],
            Step::Memberships => &[Scope::Collections],
            Step::Documents => &[Scope::Holders(&holders)],
            Step::Records => &[Scope::Records],
            Step::Mentions => &[Scope::AllHolders, Scope::Collections, Scope::Toolkits],
        };
        for scope in scopes {
            wait_for_writers(&stores.database, *scope).await?;
        }
        Ok(())
    }

    /// Returns whether nothing of the step is left to do.
    async fn step(&mut self, stores: &Stores, step: Step) -> Result<bool, AccessError> {
        let is_erased = self.documents == DocumentsFate::Erased;
        let leaving = &stores.toolkits.leaving;
        match step {
            Step::Accounts => return self.end_accounts(stores).await,
            Step::Secrets => self.remove_secrets(stores).await?,
            Step::Cached => self.done.cached = stores.vault.forget_cached(&self.user).await?,
            Step::Toolkits => self.done.toolkits = leaving.pass_toolkits(&self.user, &self.by).await?,
            Step::Settings => self.done.forgotten = leaving.forget(&self.user, &self.by).await?,
            Step::Memberships => {
                let left = stores.collections.leave(&self.user, &self.by).await?;
                self.done.collections = left.ids;
                self.done.passed_collections = left.passed;
            }
            Step::Documents => return self.clear_documents(stores).await,
            Step::Records if is_erased => {
                self.done.records =
                    stores.invocations.erase(&self.user).await.map_err(AccessError::Records)?;
            }
            Step::Mentions if is_erased => return self.replace_mentions(stores).await,
            Step::Records | Step::Mentions => {}
        }
        Ok(true)
    }

    /// Replaces the user's id where it says who did something that stays. Returns whether none is left.
    async fn replace_mentions(&mut self, stores: &Stores) -> Result<bool, AccessError> {
        let replaced = stores.knowledge.anonymise_until(self.until, &self.user).await?;
        self.done.mentions = replaced.done;
        if !replaced.is_all {
            return Ok(false);
        }
        self.done.mentions += stores.collections.anonymise(&self.user).await?;
        self.done.mentions += stores.toolkits.leaving.anonymise(&self.user).await?;
        self.done.mentions += stores.users.anonymise(&self.user).await.map_err(AccessError::Users)?;
        Ok(true)
    }

    /// Revokes accounts at their providers, and removes them here whatever these answer. Returns whether none is left.
    async fn end_accounts(&mut self, stores: &Stores) -> Result<bool, AccessError> {
        let all = stores.vault.stored_names(&self.user).await?;
        let toolkits: Vec<_> = all.into_iter().filter(|it| it.name.is_none()).map(|it| it.toolkit).collect();
        for some in toolkits.chunks(REVOCATIONS_AT_ONCE) {
            if self.is_late() {
                return Ok(false);
            }
            let this = &*self;
            let ended = join_all(some.iter().map(|toolkit| this.end_account(stores, toolkit))).await;
            for (toolkit, outcome) in some.iter().zip(ended) {
                let Some(is_revoked) = outcome? else { continue };
                self.done.accounts += 1;
                if !is_revoked {
                    self.done.not_revoked.push(toolkit.clone());
                }
            }
        }
        Ok(true)
    }

    /// Returns whether the provider has revoked the tokens of an account that was removed; `None` if there was none any
    /// more.
    async fn end_account(&self, stores: &Stores, toolkit: &str) -> Result<Option<bool>, AccessError> {
        let Self { access, by, user, .. } = self;
        let Stores { vault, accounts, .. } = stores;
        let revoke = async |account| match access.revocation(user, toolkit, account).await {
            Some(revocation) => accounts.revoke(&revocation).await,
            None => false,
        };
        let before = vault.stored_account(user, toolkit).await?;
        let is_connected = before.as_ref().is_some_and(|it| matches!(it.state, AccountState::Connected(_)));
        // Before it is removed, so that a crash in between leaves an account that is revoked once more, and not tokens
        // that nobody can revoke.
        let mut is_revoked = !is_connected;
        if let Some(account) = before.clone().filter(|_| is_connected) {
            is_revoked = revoke(account).await;
        }
        let Some(removed) = vault.remove_account(by, user, toolkit).await? else {
            // One that does not open is removed, too.
            return Ok(before.is_none().then_some(false));
        };
        // A call that ran has renewed its tokens meanwhile.
        if before.is_none_or(|before| !before.is(&removed))
            && matches!(removed.state, AccountState::Connected(_))
        {
            is_revoked = revoke(removed).await;
        }
        Ok(Some(is_revoked))
    }

    async fn remove_secrets(&mut self, stores: &Stores) -> Result<(), AccessError> {
        for stored in stores.vault.stored_names(&self.user).await? {
            let Some(name) = stored.name else { continue };
            if stores.vault.unset(&self.by, &self.user, &stored.toolkit, &name).await? {
                self.done.secrets += 1;
            }
        }
        Ok(())
    }

    /// Moves or deletes documents. Returns whether none is left.
    async fn clear_documents(&mut self, stores: &Stores) -> Result<bool, AccessError> {
        let holder = Holder::user(&self.user);
        let knowledge = &stores.knowledge;
        if self.documents == DocumentsFate::Erased {
            for of in [&holder, &holder.bin()] {
                let purged = knowledge.purge_until(self.until, of, self.by.user()).await?;
                self.done.documents += purged.done;
                if !purged.is_all {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        if let Some(to) = self.collection() {
            let to = Holder::collection(to);
            let moved = knowledge.relocate_until(self.until, &holder, &to, self.by.user()).await;
            let moved = moved.map_err(|error| match error {
                KnowledgeError::Quota(quota) => AccessError::NoRoomForDocuments {
                    user: self.user.clone(),
                    collection: to.collection_id().unwrap_or_default().to_owned(),
                    why: quota.to_string(),
                },
                error => error.into(),
            })?;
            self.done.moved = moved.done.count;
            if !moved.is_all {
                return Ok(false);
            }
            let conflicts = moved.done.conflicts.into_iter();
            self.done.conflicts =
                conflicts.map(|it| ConflictItem { id: it.id, existing: it.existing }).collect();
        }
        let deleted = knowledge.relocate_until(self.until, &holder, &holder.bin(), self.by.user()).await?;
        self.done.documents = deleted.done.count;
        Ok(deleted.is_all)
    }

    /// The collection to which the documents move.
    fn collection(&self) -> Option<&str> {
        match &self.documents {
            DocumentsFate::Collection(id) => Some(id),
            DocumentsFate::Bin | DocumentsFate::Erased => None,
        }
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.until
    }
}
