//! What one toolkit may do, as pure data derived from its declaration.

use std::sync::Arc;

use kitbag_manifest::{OAuth2ClientCredentials, SCOPE_INGEST, SCOPE_SEARCH, ToolkitDefinition};

use crate::egress::Allowlist;

/// The capabilities that a declaration grants.
#[derive(Clone, Debug)]
pub struct Grants {
    /// Whose grants they are.
    pub toolkit_id: Arc<str>,
    /// Hosts that `wasi:http` may reach; nothing is linked when there are none.
    pub egress: Option<Arc<Allowlist>>,
    /// The sign-in that the host does for requests to one of those hosts.
    pub auth: Option<Arc<OAuth2ClientCredentials>>,
    /// Names that `secrets.get` may read.
    pub secrets: Arc<[String]>,
    /// Whether the knowledge base may be read.
    pub search: bool,
    /// Whether the knowledge base may be written.
    pub ingest: bool,
}

impl Grants {
    /// Derives the grants of a declaration. A list with a line that names no host allows nothing;
    /// the rules of a declaration refuse it anyway.
    pub fn of(definition: &ToolkitDefinition) -> Self {
        let allowlist = || Arc::new(Allowlist::parse(&definition.egress).unwrap_or_default());
        Self {
            toolkit_id: definition.id.as_str().into(),
            auth: definition.auth.clone().map(Arc::new),
            egress: (!definition.egress.is_empty()).then(allowlist),
            secrets: definition.secrets.as_slice().into(),
            search: definition.has_scope(SCOPE_SEARCH),
            ingest: definition.has_scope(SCOPE_INGEST),
        }
    }

    /// Says what a component that imports `interface` would have to declare, or nothing when it
    /// is granted. `interface` has no version: `wasi:http/outgoing-handler`.
    pub fn missing_for(&self, interface: &str) -> Option<&'static str> {
        let capability = capability(interface)?;
        (!(capability.is_granted)(self)).then_some(capability.declaration)
    }
}

/// An interface that is linked only where a declaration grants it.
struct Capability {
    /// Without version.
    interface: &'static str,
    /// What grants it, for a person.
    declaration: &'static str,
    is_granted: fn(&Grants) -> bool,
}

/// Every capability but log and progress, which are always granted. `sandbox/linker` links the same ones.
const CAPABILITIES: [Capability; 4] = [
    Capability {
        interface: "kitbag:toolkit/ingest",
        declaration: "the scope svc:ingest",
        is_granted: |grants| grants.ingest,
    },
    Capability {
        interface: "kitbag:toolkit/search",
        declaration: "the scope svc:search",
        is_granted: |grants| grants.search,
    },
    Capability {
        interface: "kitbag:toolkit/secrets",
        declaration: "a name in secrets",
        is_granted: |grants| !grants.secrets.is_empty(),
    },
    Capability {
        interface: "wasi:http/outgoing-handler",
        declaration: "a host in egress",
        is_granted: |grants| grants.egress.is_some(),
    },
];

/// Whether `interface`, without version, has to be granted.
pub fn is_capability(interface: &str) -> bool {
    capability(interface).is_some()
}

fn capability(interface: &str) -> Option<&'static Capability> {
    CAPABILITIES.iter().find(|capability| capability.interface == interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn denied(change: impl FnOnce(&mut ToolkitDefinition)) -> Vec<&'static str> {
        let mut definition = ToolkitDefinition::default();
        change(&mut definition);
        let grants = Grants::of(&definition);
        let interfaces = CAPABILITIES.iter().map(|capability| capability.interface);
        interfaces.filter(|interface| grants.missing_for(interface).is_some()).collect()
    }

    #[test]
    fn nothing_is_granted_by_default() {
        assert_eq!(denied(|_| {}).len(), CAPABILITIES.len());
    }

    #[test]
    fn each_declaration_grants_one_capability_and_no_other() {
        let granted = |change: fn(&mut ToolkitDefinition)| {
            let denied = denied(change);
            let interfaces = CAPABILITIES.iter().map(|capability| capability.interface);
            interfaces.filter(|interface| !denied.contains(interface)).collect::<Vec<_>>()
        };

        assert_eq!(granted(|it| it.egress = vec!["a.example".into()]), ["wasi:http/outgoing-handler"]);
        assert_eq!(granted(|it| it.secrets = vec!["KEY".into()]), ["kitbag:toolkit/secrets"]);
        assert_eq!(granted(|it| it.scopes = vec![SCOPE_SEARCH.into()]), ["kitbag:toolkit/search"]);
        assert_eq!(granted(|it| it.scopes = vec![SCOPE_INGEST.into()]), ["kitbag:toolkit/ingest"]);
    }
}
