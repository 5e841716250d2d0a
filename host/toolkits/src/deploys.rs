//! Makes versions of toolkits live, and removes toolkits.
//!
//! A deploy receives, inspects and stores a component, records the version, and publishes it.

use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use futures::Stream;
use kitbag_base::tasks::to_its_end;
use kitbag_database::audit::Actor;
use kitbag_manifest::{Problem, portability};
use kitbag_net::egress::{Egress, RefusedHost};
use serde::{Deserialize, Serialize};
use tracing::info;

use super::components::{Components, Incoming};
use super::current::CurrentRegistry;
use super::difference::{Changes, capabilities};
use super::error::ToolkitError;
use super::icons;
use super::inspect::Inspected;
use super::owners::Owners;
use super::provenance::Provenance;
use super::registry::listed_name;
use super::signatures::Signatures;
use super::store::{Claim, DeployStore, Expected, NewVersion, Recorded, Rollback, TakenOver};
use super::vouch::VouchReason;

/// Deploys, rollbacks and removals of toolkits.
#[derive(Clone)]
pub struct Deploys {
    pub(super) components: Components,
    pub(super) egress: Egress,
    pub(super) owners: Owners,
    pub(super) registry: Arc<CurrentRegistry>,
    pub(super) signatures: Signatures,
    pub(super) store: DeployStore,
}

/// What an operator states about a deploy beside the component.
#[derive(Clone, Debug)]
pub struct DeployTerms {
    /// Whether the deploy may take over another operator's toolkit.
    pub claim: Claim,
    /// The reason, if the operator vouches for the version.
    pub vouch: Option<VouchReason>,
}

/// The result of a deploy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Deployed {
    /// Id of the toolkit.
    pub id: String,
    /// The version that is live now.
    pub version: String,
    /// SHA-256 of the component, hexadecimal.
    pub digest: String,
    /// Listed names of the tools.
    pub tools: Vec<String>,
    /// Capabilities: `egress api.example.com`, `secret API_KEY`, `scope svc:search`.
    pub capabilities: Vec<String>,
    /// Changes of the capabilities since the previous live version.
    pub changes: Changes,
    /// Source and signer of the version.
    #[serde(flatten)]
    pub provenance: Provenance,
    /// Hosts that the egress policy refuses. Filled in by `access`.
    #[serde(rename = "refusedHosts", default, skip_serializing_if = "Vec::is_empty")]
    pub refused_hosts: Vec<RefusedHost>,
    /// Properties of the toolkit that some clients refuse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Problem>,
    /// The former owner, if this deploy took the toolkit over.
    #[serde(rename = "takenOver", default, skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<TakenOver>,
}

/// The result of a rollback.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    /// Id of the toolkit.
    pub id: String,
    /// The version that is live now.
    pub version: String,
    /// Hosts that the egress policy refuses. Filled in by `access`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_hosts: Vec<RefusedHost>,
    /// The former owner, if the rollback took the toolkit over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over: Option<TakenOver>,
}

impl Deploys {
    /// Deploys an upload of `by` and makes it live.
    ///
    /// The same version with the same bytes is made live again; with other bytes it is refused.
    pub async fn deploy<E: Display>(
        &self,
        incoming: Incoming<impl Stream<Item = Result<Bytes, E>>>,
        terms: DeployTerms,
        by: &Actor,
    ) -> Result<Deployed, ToolkitError> {
        let (upload, origin) = self.components.receive(incoming).await?;
        let provenance = self.signatures.provenance(upload.digest(), &origin).await?;
        let inspected = self.components.inspect(&upload, by.user()).await?;
        let Inspected { definition, imports, code, .. } = inspected;
        let picture = icons::fetch(&self.egress, &definition.id, &definition.icon, by.user()).await;

        let imports = imports.to_vec();
        let mut held = self.components.put(&upload).await?;
        let _changing = self.registry.lock_changes().await;
        self.components.keep_code(upload.digest(), code).await?;
        loop {
            let new = NewVersion {
                definition: &definition,
                imports: &imports,
                picture: picture.as_ref(),
                digest: upload.digest(),
                size: upload.size(),
                file: Some(&held),
                by,
                claim: terms.claim,
                vouch: terms.vouch.as_ref(),
                expected: &Expected::Anything,
                provenance: &provenance,
                rule: self.signatures.rule,
            };
            match self.make_live(new).await {
                Ok(deployed) => return Ok(deployed),
                Err(error) => held = self.components.put_again(error, held, &upload).await?,
            }
        }
    }

    /// Records a version, whose component is in the store, and publishes it. The caller has locked
    /// changes.
    pub(super) async fn make_live(&self, new: NewVersion<'_>) -> Result<Deployed, ToolkitError> {
        let NewVersion { definition, digest, by, .. } = new;
        let recorded = self.store.record(new).await;
        if recorded.as_ref().is_err_and(|error| !matches!(error, ToolkitError::ComponentDropped)) {
            // The machine code of a refused version must not remain.
            self.components.sweep_code().await?;
        }
        let Recorded { changes, provenance, taken_over } = recorded?;
        self.owners.report_change(&definition.id, by.user(), taken_over.as_ref());
        self.registry.publish().await?;

        info!(toolkit.id = %definition.id, toolkit.version = %definition.version, %digest, by = %by.user(), from = %provenance, "deployed toolkit");
        Ok(Deployed {
            id: definition.id.clone(),
            version: definition.version.clone(),
            digest: digest.to_owned(),
            tools: definition.tools.iter().map(|tool| listed_name(&definition.id, &tool.name)).collect(),
            capabilities: capabilities(definition),
            changes,
            provenance,
            refused_hosts: Vec::new(),
            warnings: portability::warnings(definition),
            taken_over,
        })
    }

    /// Makes an earlier version live again.
    pub async fn roll_back(
        &self,
        id: &str,
        wanted: Rollback,
        by: &Actor,
    ) -> Result<RolledBack, ToolkitError> {
        let deploys = self.clone();
        let id = id.to_owned();
        let by = by.clone();
        to_its_end(async move { deploys.roll_back_now(&id, &wanted, &by).await }).await?
    }

    async fn roll_back_now(
        &self,
        id: &str,
        wanted: &Rollback,
        by: &Actor,
    ) -> Result<RolledBack, ToolkitError> {
        let _changing = self.registry.lock_changes().await;
        let (version, taken_over) = self.store.activate(id, wanted, self.signatures.rule, by).await?;
        self.owners.report_change(id, by.user(), taken_over.as_ref());
        self.registry.publish().await?;
        info!(toolkit.id = %id, toolkit.version = %version, by = %by.user(), "rolled toolkit back");
        Ok(RolledBack { id: id.to_owned(), version, refused_hosts: Vec::new(), taken_over })
    }

    /// Removes a toolkit with all its versions.
    pub async fn remove(&self, id: &str, by: &Actor) -> Result<(), ToolkitError> {
        let deploys = self.clone();
        let id = id.to_owned();
        let by = by.clone();
        to_its_end(async move { deploys.remove_now(&id, &by).await }).await?
    }

    async fn remove_now(&self, id: &str, by: &Actor) -> Result<(), ToolkitError> {
        let _changing = self.registry.lock_changes().await;
        let digests = self.store.remove(id, by).await?;
        self.owners.report_removal();
        self.registry.publish().await?;
        self.components.end(&digests).await?;
        info!(toolkit.id = %id, by = %by.user(), "removed toolkit");
        Ok(())
    }
}
