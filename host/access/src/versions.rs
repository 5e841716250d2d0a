//! Deployed versions; accessible to operators only, for all toolkits.

use std::collections::BTreeMap;

use kitbag_base::tasks::off_thread;
use kitbag_manifest::{ToolkitDefinition, Visibility};
use kitbag_net::egress::RefusedHost;
use kitbag_toolkits::{Difference, Side, Version};

use super::error::AccessError;
use super::operator::Operator;

/// Comparison of two deployed versions.
#[derive(Debug)]
pub struct Comparison {
    /// Differences of the second version from the first.
    pub difference: Difference,
    /// SHA-256 of the second version's component, hexadecimal.
    pub digest: String,
    /// SHA-256 of the second version's declaration, hexadecimal.
    pub manifest_digest: String,
    /// Number of users who have set each secret that the second version declares, by name.
    pub secret_users: BTreeMap<String, u64>,
    /// Hosts of the second version that the egress policy refuses.
    pub refused_hosts: Vec<RefusedHost>,
    /// Whether one of the versions is private.
    pub is_private: bool,
}

/// Deployed versions of all toolkits, live and earlier ones.
#[derive(Clone, Copy)]
pub struct DeployedVersions<'a> {
    operator: &'a Operator,
}

impl Operator {
    /// Returns the deployed versions.
    pub fn versions(&self) -> DeployedVersions<'_> {
        DeployedVersions { operator: self }
    }
}

impl DeployedVersions<'_> {
    /// Returns a deployed version of any toolkit.
    pub async fn get(&self, id: &str, version: &str) -> Result<Version, AccessError> {
        Ok(self.operator.0.stores().toolkits.versions.get(id, version).await?)
    }

    /// Compares two deployed versions of a toolkit.
    pub async fn compare(&self, id: &str, from: &str, to: &str) -> Result<Comparison, AccessError> {
        let before = self.get(id, from).await?;
        let after = self.get(id, to).await?;
        let secret_users = secret_users(self.operator, &after.manifest).await?;
        let is_private = [&before, &after].iter().any(|it| it.manifest.visibility == Visibility::Private);
        let digest = after.record.digest.clone();
        let manifest_digest = after.manifest_digest.clone();
        let refused_hosts = self.operator.refused_hosts(&after.manifest);
        let compare = move || Difference::between(Some(Side::from(&before)), Side::from(&after));
        Ok(Comparison {
            difference: off_thread(compare).await,
            digest,
            manifest_digest,
            secret_users,
            refused_hosts,
            is_private,
        })
    }
}

/// Returns the number of users who have set each secret that a declaration names.
pub(super) async fn secret_users(
    operator: &Operator,
    manifest: &ToolkitDefinition,
) -> Result<BTreeMap<String, u64>, AccessError> {
    let users = operator.0.stores().vault.users(&manifest.id).await?;
    let of = |name: &str| (name.to_owned(), users.get(name).copied().unwrap_or_default());
    Ok(manifest.credentials().into_iter().map(of).collect())
}
