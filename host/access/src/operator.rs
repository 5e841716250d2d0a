//! Functions for operators. Whether the operator may change a toolkit is checked in the transaction that
//! changes it (`toolkits/store/ownership`).

use std::fmt::Display;

use bytes::Bytes;
use futures::Stream;
use kitbag_base::tasks::to_its_end;
use kitbag_database::audit::Act;
use kitbag_manifest::ToolkitDefinition;
use kitbag_net::egress::{Membership, RefusedHost};
use kitbag_toolkits::invocations::Failing;
use kitbag_toolkits::{DeployTerms, Deployed, Incoming, Rollback, RolledBack, TakenOver, ToolkitError};
use kitbag_vault::Rotated;

use super::error::AccessError;
use super::stores::Stores;
use super::user::User;

/// A user who is an operator.
pub struct Operator(pub(super) User);

impl User {
    /// Returns the user as an operator. Fails if they are not one.
    pub fn operator(&self) -> Result<Operator, AccessError> {
        if self.is_operator() {
            Ok(Operator(self.clone()))
        } else {
            Err(AccessError::NotOperator(self.id().to_owned()))
        }
    }

    /// Same as [`operator`](Self::operator), and records a refusal in the audit log. `what` is an act, or a
    /// route such as `POST /toolkits`.
    pub async fn expect_operator(&self, what: &str, toolkit: Option<&str>) -> Result<Operator, AccessError> {
        let operator = self.operator();
        if operator.is_err() {
            self.stores().audit.refused(&self.actor(), what, toolkit).await;
        }
        operator
    }
}

impl Operator {
    /// Deploys an upload and makes it live. The deploy completes even if the client disconnects after the
    /// upload.
    pub async fn deploy<E: Display + Send + 'static>(
        self,
        component: Incoming<impl Stream<Item = Result<Bytes, E>> + Send + 'static>,
        terms: DeployTerms,
    ) -> Result<Deployed, AccessError> {
        let deploy = async move {
            let Self(user) = &self;
            self.expect_one_release().await?;
            let deploys = &user.stores().toolkits.deploys;
            let deployed = deploys.deploy(component, terms, &user.actor()).await;
            self.deployed(deployed).await
        };
        to_its_end(deploy).await.map_err(ToolkitError::from)?
    }

    /// Makes an earlier version live again.
    pub async fn roll_back(&self, id: &str, wanted: Rollback) -> Result<RolledBack, AccessError> {
        let rolled_back = self.0.stores().toolkits.deploys.roll_back(id, wanted, &self.0.actor()).await;
        let rolled_back = self.noting_refusal(Act::ToolkitRolledBack, rolled_back).await?;
        Ok(RolledBack { refused_hosts: self.refused_hosts_of(id), ..rolled_back })
    }

    /// Completes the outcome of a deploy.
    pub(super) async fn deployed(
        &self,
        deployed: Result<Deployed, ToolkitError>,
    ) -> Result<Deployed, AccessError> {
        let deployed = self.noting_refusal(Act::ToolkitDeployed, deployed).await?;
        Ok(Deployed { refused_hosts: self.refused_hosts_of(&deployed.id), ..deployed })
    }

    /// Returns the hosts of a live toolkit that the egress policy refuses.
    fn refused_hosts_of(&self, id: &str) -> Vec<RefusedHost> {
        let registry = self.0.stores().toolkits.registry.load();
        registry.get(id).map(|live| self.refused_hosts(&live.definition)).unwrap_or_default()
    }

    /// Returns the hosts of a declaration that the egress policy refuses to users in no group.
    pub(super) fn refused_hosts(&self, definition: &ToolkitDefinition) -> Vec<RefusedHost> {
        let declared = definition.egress.iter().map(String::as_str);
        self.0.stores().host_policy.refused(declared, &Membership::none())
    }

    /// Removes a toolkit with all its versions.
    pub async fn remove(&self, id: &str) -> Result<(), AccessError> {
        let revocations = self.revocations(id).await?;
        let removed = self.0.stores().toolkits.deploys.remove(id, &self.0.actor()).await;
        self.noting_refusal(Act::ToolkitRemoved, removed).await?;
        self.0.stores().accounts.revoke_later(revocations);
        Ok(())
    }

    /// Releases a toolkit that this operator owns: the next operator who needs ownership becomes its owner.
    pub async fn release(&self, id: &str) -> Result<(), AccessError> {
        let released = self.0.stores().toolkits.owners.release(id, &self.0.actor()).await;
        self.noting_refusal(Act::ToolkitReleased, released).await
    }

    /// Makes this operator the owner of a toolkit. Users' secrets and settings for it are deleted.
    pub async fn take_over(&self, id: &str) -> Result<TakenOver, AccessError> {
        let revocations = self.revocations(id).await?;
        let taken_over = self.0.stores().toolkits.owners.take_over(id, &self.0.actor()).await?;
        self.0.stores().accounts.revoke_later(revocations);
        Ok(taken_over)
    }

    /// Returns the toolkits with failed calls in the last day, sorted by number of failures, descending.
    pub async fn failing(&self) -> Result<Vec<Failing>, AccessError> {
        self.0.stores().invocations.failing().await.map_err(AccessError::Records)
    }

    /// Wraps the keys of all secrets with a new master key.
    pub async fn rotate_master_key(&self) -> Result<Rotated, AccessError> {
        let Stores { process, vault, .. } = self.0.stores();
        let ours = vault.master_keys().into_iter().next().unwrap_or_default();
        match process.other_sealing_key(&ours).await.map_err(AccessError::Processes)? {
            Some(theirs) => Err(AccessError::OtherSealingKey { ours, theirs }),
            None => Ok(vault.rotate(&self.0.actor()).await?),
        }
    }

    /// Fails while processes of different releases are running: the older ones may not support what a new
    /// toolkit needs.
    pub(super) async fn expect_one_release(&self) -> Result<(), AccessError> {
        let is_only = self.0.stores().process.is_of_the_only_release().await;
        if is_only.map_err(AccessError::Processes)? { Ok(()) } else { Err(AccessError::SeveralReleases) }
    }
}
