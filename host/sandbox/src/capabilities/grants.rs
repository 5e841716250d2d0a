//! The permissions of one toolkit, as pure data derived from its declaration.

use std::sync::Arc;

use kitbag_manifest::ToolkitDefinition;
use kitbag_net::egress::Allowlist;

/// The grants of a declaration. Clones share it. The default grants nothing.
#[derive(Clone, Debug, Default)]
pub struct Grants(Arc<Granted>);

#[derive(Debug, Default)]
struct Granted {
    definition: ToolkitDefinition,
    /// `None` if the declaration lists no host.
    allowlist: Option<Arc<Allowlist>>,
}

impl Grants {
    /// Derives the grants of a declaration. A list with an invalid host allows nothing; validation of the
    /// declaration refuses it anyway.
    pub fn of(definition: &ToolkitDefinition) -> Self {
        let allowlist = || Arc::new(Allowlist::parse(&definition.egress).unwrap_or_default());
        let allowlist = (!definition.egress.is_empty()).then(allowlist);
        Self(Arc::new(Granted { definition: definition.clone(), allowlist }))
    }

    /// The declaration itself.
    pub fn definition(&self) -> &ToolkitDefinition {
        &self.0.definition
    }

    /// Returns the hosts that may be reached; `None` if the declaration lists none.
    pub fn allowlist(&self) -> Option<&Arc<Allowlist>> {
        self.0.allowlist.as_ref()
    }
}
