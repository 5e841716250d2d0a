//! What one toolkit may do, as pure data derived from its declaration.

use std::sync::Arc;

use kitbag_manifest::{SCOPE_INGEST, SCOPE_SEARCH, ToolkitDefinition};

use crate::egress::Allowlist;

/// The capabilities that a declaration grants.
#[derive(Clone, Debug)]
pub struct Grants {
    /// Hosts that `wasi:http` may reach; nothing is linked when there are none.
    pub egress: Option<Arc<Allowlist>>,
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
            egress: (!definition.egress.is_empty()).then(allowlist),
            secrets: definition.secrets.as_slice().into(),
            search: definition.has_scope(SCOPE_SEARCH),
            ingest: definition.has_scope(SCOPE_INGEST),
        }
    }

    /// Says what a component that imports `interface` would have to declare, or nothing when it
    /// is granted. `interface` has no version: `wasi:http/outgoing-handler`.
    pub fn missing_for(&self, interface: &str) -> Option<&'static str> {
        let (granted, declaration) = match interface {
            "wasi:http/outgoing-handler" => (self.egress.is_some(), "a host in egress"),
            "kitbag:toolkit/secrets" => (!self.secrets.is_empty(), "a name in secrets"),
            "kitbag:toolkit/search" => (self.search, "the scope svc:search"),
            "kitbag:toolkit/ingest" => (self.ingest, "the scope svc:ingest"),
            _ => return None,
        };
        (!granted).then_some(declaration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPABILITIES: [&str; 4] = [
        "wasi:http/outgoing-handler",
        "kitbag:toolkit/secrets",
        "kitbag:toolkit/search",
        "kitbag:toolkit/ingest",
    ];

    fn denied(change: impl FnOnce(&mut ToolkitDefinition)) -> Vec<&'static str> {
        let mut definition = ToolkitDefinition::default();
        change(&mut definition);
        let grants = Grants::of(&definition);
        CAPABILITIES.into_iter().filter(|interface| grants.missing_for(interface).is_some()).collect()
    }

    #[test]
    fn nothing_is_granted_by_default() {
        assert_eq!(denied(|_| {}), CAPABILITIES);
    }

    #[test]
    fn each_declaration_grants_one_capability_and_no_other() {
        assert_eq!(denied(|it| it.egress = vec!["a.example".into()]), CAPABILITIES[1..]);
        assert!(!denied(|it| it.secrets = vec!["KEY".into()]).contains(&"kitbag:toolkit/secrets"));
        assert_eq!(denied(|it| it.scopes = vec![SCOPE_SEARCH.into()]).len(), 3);
        assert!(denied(|it| it.scopes = vec![SCOPE_SEARCH.into()]).contains(&"kitbag:toolkit/ingest"));
        assert!(denied(|it| it.scopes = vec![SCOPE_INGEST.into()]).contains(&"kitbag:toolkit/search"));
    }
}
