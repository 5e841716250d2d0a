//! What one toolkit may do, as pure data derived from its declaration.

use std::sync::Arc;

use kitbag_manifest::ToolkitDefinition;

use crate::egress::Allowlist;

/// A declaration, in the form in which the capabilities ask it; a clone is the same. The default grants nothing.
#[derive(Clone, Debug, Default)]
pub struct Grants(Arc<Granted>);

#[derive(Debug, Default)]
struct Granted {
    definition: ToolkitDefinition,
    /// Nothing, when the declaration lists no host at all.
    allowlist: Option<Arc<Allowlist>>,
}

impl Grants {
    /// Derives the grants of a declaration. A list with a line that names no host allows nothing;
    /// the rules of a declaration refuse it anyway.
    pub fn of(definition: &ToolkitDefinition) -> Self {
        let allowlist = || Arc::new(Allowlist::parse(&definition.egress).unwrap_or_default());
        let allowlist = (!definition.egress.is_empty()).then(allowlist);
        Self(Arc::new(Granted { definition: definition.clone(), allowlist }))
    }

    /// The declaration itself.
    pub fn definition(&self) -> &ToolkitDefinition {
        &self.0.definition
    }

    /// Hosts that may be reached; nothing, when the declaration lists none at all.
    pub fn allowlist(&self) -> Option<&Arc<Allowlist>> {
        self.0.allowlist.as_ref()
    }
}
