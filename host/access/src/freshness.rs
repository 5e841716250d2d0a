//! Data in memory, brought up to date before each request.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kitbag_database::peers::{self, NoAnswer};
use kitbag_identity::{Caller, Unadmitted, Users};
use kitbag_knowledge::Knowledge;
use kitbag_knowledge::collections::Collections;
use kitbag_toolkits::Toolkits;
use kitbag_vault::Vault;

use super::Access;
use super::stores::Stores;

/// All in-memory copies of data in the database.
pub(super) struct Copies {
    toolkits: Arc<Toolkits>,
    vault: Arc<Vault>,
    knowledge: Knowledge,
    collections: Collections,
    users: Users,
}

impl Copies {
    pub(super) fn of(stores: &Stores) -> Self {
        let Stores { toolkits, vault, knowledge, collections, users, .. } = stores;
        Self {
            toolkits: toolkits.clone(),
            vault: vault.clone(),
            knowledge: knowledge.clone(),
            collections: collections.clone(),
            users: users.clone(),
        }
    }
}

impl peers::Copies for Copies {
    fn registry(&self, generation: i64) -> BoxFuture<'_, Result<(), String>> {
        async move { self.toolkits.registry.catch_up(generation).await.map_err(|error| error.to_string()) }
            .boxed()
    }

    fn collections(&self, generation: i64) -> BoxFuture<'_, Result<(), String>> {
        async move { self.collections.catch_up(generation).await.map_err(|error| error.to_string()) }.boxed()
    }

    fn user_ends(&self, number: i64) -> BoxFuture<'_, Result<(), String>> {
        async move { self.users.catch_up(number).await.map_err(|error| error.to_string()) }.boxed()
    }

    fn secrets<'a>(&'a self, user: &'a str, revision: i64) -> BoxFuture<'a, ()> {
        self.vault.catch_up(user, revision).boxed()
    }

    fn all_secrets(&self) {
        self.vault.clear_cache();
    }

    fn everything(&self) -> BoxFuture<'_, Result<(), String>> {
        self.vault.clear_cache();
        self.knowledge.forget_indexes();
        async move {
            self.toolkits.registry.start_over().await.map_err(|error| error.to_string())?;
            self.collections.publish().await.map_err(|error| error.to_string())?;
            self.users.publish().await.map_err(|error| error.to_string())
        }
        .boxed()
    }
}

/// Reason why a request is not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAdmitted {
    /// The database did not answer in time.
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    /// The user's access was ended after the token, key or session was issued.
    #[error("the access of the user was ended after this was issued")]
    Ended,
}

impl Access {
    /// Admits the request of a caller, unless the user's access was ended, and ensures that it sees all changes that
    /// any process made before. Called before each request's handler.
    pub async fn admit(&self, caller: &Caller) -> Result<(), NotAdmitted> {
        self.catch_up(&caller.user_id).await?;
        self.stores().users.admit(caller).await.map_err(|refusal| match refusal {
            Unadmitted::Ended => NotAdmitted::Ended,
            Unadmitted::Unavailable => NotAdmitted::NoAnswer(NoAnswer),
        })
    }

    /// Waits until the access of an admitted caller is ended, by whichever process.
    pub async fn until_ended(&self, caller: &Caller) {
        self.stores().users.until_ended(caller).await;
    }

    /// Ensures that a request of this user sees all changes that any process made before the request.
    pub async fn catch_up(&self, user_id: &str) -> Result<(), NoAnswer> {
        self.0.freshness.catch_up(user_id).await
    }
}
