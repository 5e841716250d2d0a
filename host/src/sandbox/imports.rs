//! The imports of a component, read from its bytes before anything is compiled or run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::shape::{self, Names};
use super::state::State;
use crate::capabilities::{Capability, Grant, Grants, table};
use crate::contract;

/// Interfaces that need no grant: they have no functions, or give no access to anything. A trailing `/` means
/// all interfaces of a package.
const UNPRIVILEGED: [&str; 8] = [
    "kitbag:toolkit/definition",
    "kitbag:toolkit/knowledge",
    "wasi:cli/",
    "wasi:clocks/",
    "wasi:filesystem/",
    "wasi:http/types",
    "wasi:io/",
    "wasi:random/",
];

/// Why bytes are not a valid toolkit.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ImportError {
    /// Not valid WebAssembly.
    #[error("this is not a valid WebAssembly component: {0}")]
    Invalid(String),
    /// A core module.
    #[error(
        "this is a core WebAssembly module, not a component; `kitbag toolkit build` makes a component from a crate"
    )]
    CoreModule,
    /// A limit is exceeded. Instantiated parts count once per instance.
    #[error("this component has {found} {what}, and one may have at most {most}")]
    TooMany {
        /// What is counted, in the plural.
        what: &'static str,
        /// The count when reading stopped.
        found: u64,
        /// The limit.
        most: u64,
    },
    /// It instantiates an imported component, whose size is unknown.
    #[error("this component instantiates a component that it does not define itself, which none may")]
    ForeignComponent,
    /// A component of another world.
    #[error("this component is no toolkit: it does not export the interface tools of {}", contract::NAME)]
    OtherWorld,
}

/// The interfaces that a toolkit imports, by name and without version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imports(BTreeSet<String>);

impl Imports {
    /// Reads and validates a component, and checks that it exports the interface of toolkits.
    pub fn inspect(component: &[u8]) -> Result<Self, ImportError> {
        let Names { imports, exports } = shape::check(component)?;
        if !exports.iter().any(|export| contract::is_toolkit(export)) {
            return Err(ImportError::OtherWorld);
        }
        Ok(Self(imports.iter().map(|name| interface(name).to_owned()).collect()))
    }

    /// Reads and validates a component of any world, with the limits of a toolkit.
    pub fn inspect_any(component: &[u8]) -> Result<Self, ImportError> {
        let Names { imports, .. } = shape::check(component)?;
        Ok(Self(imports.iter().map(|name| interface(name).to_owned()).collect()))
    }

    /// The capabilities among them that a declaration has to grant, in alphabetical order.
    pub fn capabilities(&self) -> Vec<String> {
        self.0.iter().filter(|name| is_declared(name)).cloned().collect()
    }

    /// Imports that the host never links.
    pub fn unknown(&self) -> Vec<&str> {
        self.0
            .iter()
            .map(String::as_str)
            .filter(|name| find(name).is_none() && !is_unprivileged(name))
            .collect()
    }

    /// Imports without a grant, each with what to declare for it.
    pub fn ungranted(&self, grants: &Grants) -> Vec<(&str, &'static str)> {
        self.0
            .iter()
            .filter_map(|name| Some((name.as_str(), find(name)?.grant.missing(grants.definition())?)))
            .collect()
    }

    /// All imports, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// All imports, in alphabetical order.
    pub fn to_vec(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }
}

/// Whether an import, with or without its version, is a capability that a declaration has to grant.
pub(super) fn is_declared(name: &str) -> bool {
    find(name).is_some_and(|capability| matches!(capability.grant, Grant::Declared { .. }))
}

/// The capability of an import, with or without its version.
fn find(name: &str) -> Option<Capability<State>> {
    table().into_iter().find(|capability| capability.interface == interface(name))
}

/// `wasi:io/poll@0.2.0` → `wasi:io/poll`.
fn interface(name: &str) -> &str {
    name.split_once('@').map_or(name, |(interface, _)| interface)
}

fn is_unprivileged(name: &str) -> bool {
    UNPRIVILEGED
        .iter()
        .any(|entry| if entry.ends_with('/') { name.starts_with(entry) } else { name == *entry })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_component_are_told_apart() {
        let core_module = b"\0asm\x01\0\0\0";
        let empty_component = b"\0asm\x0d\0\x01\0";

        assert!(matches!(Imports::inspect(b"<html>"), Err(ImportError::Invalid(_))));
        assert!(matches!(Imports::inspect(b""), Err(ImportError::Invalid(_))));
        assert!(matches!(Imports::inspect(b"\0asm\x0d\0"), Err(ImportError::Invalid(_))));
        assert_eq!(Imports::inspect(core_module), Err(ImportError::CoreModule));
        assert_eq!(Imports::inspect(empty_component), Err(ImportError::OtherWorld));
    }

    #[test]
    fn memories_are_counted_over_all_modules_before_anything_is_compiled() {
        let two_and_one = "(component (core module (memory 1) (memory 1)) (core module (memory 1)))";

        let inspected = Imports::inspect(&wat::parse_str(two_and_one).unwrap());

        let too_many = ImportError::TooMany { what: "memories", found: 3, most: 2 };
        assert_eq!(inspected, Err(too_many));
    }

    #[test]
    fn sockets_and_strangers_are_unknown() {
        let imports = Imports(
            [
                "wasi:sockets/tcp",
                "wasi:io/poll",
                "wasi:http/types",
                "wasi:http/incoming-handler",
                "evil:corp/api",
            ]
            .map(str::to_owned)
            .into(),
        );

        assert_eq!(imports.unknown(), ["evil:corp/api", "wasi:http/incoming-handler", "wasi:sockets/tcp"]);
    }
}
