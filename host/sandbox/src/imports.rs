//! The imports and exports of a component, read from its bytes before anything is compiled or run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::call_data::CallData;
use super::refused::is_always_refused;
use super::shape::{self, Names};
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

/// Reason why bytes are not a valid toolkit.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ImportError {
    /// The bytes are not valid WebAssembly.
    #[error("this is not a valid WebAssembly component: {0}")]
    Invalid(String),
    /// The bytes are a core module, not a component.
    #[error(
        "this is a core WebAssembly module, not a component; `kitbag toolkit build` makes a component from a crate, and so do compilers for the target wasm32-wasip2"
    )]
    CoreModule,
    /// The component needs a host that supports asynchronous functions.
    #[error(
        "this component uses asynchronous functions of the Component Model ({0}), of which {contract} has none; build it with synchronous ones, which for `jco componentize --backend qjs` is the option --backend-qjs-disable-async",
        contract = contract::NAME
    )]
    Async(&'static str),
    /// The component exceeds a limit. Parts count once per instance.
    #[error("this component has {found} {what}, and one may have at most {most}")]
    TooMany {
        /// Name of the counted parts, in the plural.
        what: &'static str,
        /// Count at which reading stopped.
        found: u64,
        /// Maximum count.
        most: u64,
    },
    /// The component instantiates an imported component, whose size is unknown.
    #[error("this component instantiates a component that it does not define itself, which none may")]
    ForeignComponent,
    /// The component is built for another world; contains the names of its exports.
    #[error(
        "this component is no toolkit: it does not export the interface tools of {contract}, but {0}; build it for the world toolkit of wit/current/toolkit.wit, or for a world of your own that exports {tools}",
        contract = contract::NAME, tools = contract::TOOLS
    )]
    OtherWorld(String),
}

/// The imports and exports of a valid toolkit.
#[derive(Clone, Debug, Default)]
pub struct Interfaces {
    /// The imports.
    pub imports: Imports,
    /// Exported interfaces that are optional for toolkits, by name and without version.
    pub optional_exports: BTreeSet<String>,
    /// Exports that the host does not use, for display: the first ten, and the number of further ones.
    pub unused_exports: Vec<String>,
}

impl Interfaces {
    /// Reads and validates a component, and checks that it exports the toolkit interface.
    pub fn of_toolkit(component: &[u8]) -> Result<Self, ImportError> {
        let Names { imports, exports } = shape::check(component)?;
        if !exports.iter().any(|export| contract::is_toolkit(export)) {
            let names = if exports.is_empty() { "nothing".to_owned() } else { shown(&exports).join(", ") };
            return Err(ImportError::OtherWorld(names));
        }
        let mut optional_exports = BTreeSet::new();
        let mut unused = Vec::new();
        for export in exports {
            match contract::optional_export(&export) {
                Some(interface) => drop(optional_exports.insert(interface.to_owned())),
                None if contract::is_toolkit(&export) => {}
                None => unused.push(export),
            }
        }
        Ok(Self { imports: Imports::of(&imports), optional_exports, unused_exports: shown(&unused) })
    }
}

/// The interfaces that a toolkit imports, by name and without version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imports(BTreeSet<String>);

impl Imports {
    /// Reads and validates a component of any world, with the limits of a toolkit.
    pub fn of_any(component: &[u8]) -> Result<Self, ImportError> {
        Ok(Self::of(&shape::check(component)?.imports))
    }

    fn of(names: &[String]) -> Self {
        Self(names.iter().map(|name| without_version(name).to_owned()).collect())
    }

    /// The imports that are capabilities which a declaration has to grant, in alphabetical order.
    pub fn capabilities(&self) -> Vec<String> {
        self.0.iter().filter(|name| is_declared(name)).cloned().collect()
    }

    /// Imports that no toolkit may have.
    pub fn unknown(&self) -> Vec<&str> {
        let is_known = |name: &str| find(name).is_some() || is_unprivileged(name) || is_always_refused(name);
        self.iter().filter(|name| !is_known(name)).collect()
    }

    /// Imports without a grant, each with its remedy.
    pub fn ungranted(&self, grants: &Grants) -> Vec<(&str, String)> {
        self.iter()
            .filter_map(|name| {
                let capability = find(name)?;
                let missing = capability.grant.missing(grants.definition())?;
                Some((name, format!("declare {missing}, or {}", capability.leave_out)))
            })
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
fn find(name: &str) -> Option<Capability<CallData>> {
    table().into_iter().find(|capability| capability.interface == without_version(name))
}

/// Removes the version: `wasi:io/poll@0.2.0` → `wasi:io/poll`.
pub(super) fn without_version(name: &str) -> &str {
    name.split_once('@').map_or(name, |(interface, _)| interface)
}

/// Formats names for display: the first ten, each cut to a readable length, and the number of further ones.
fn shown(names: &[String]) -> Vec<String> {
    const MAX_NAMES: usize = 10;
    const MAX_NAME_CHARS: usize = 80;

    let mut shown: Vec<String> =
        names.iter().take(MAX_NAMES).map(|name| name.chars().take(MAX_NAME_CHARS).collect()).collect();
    if names.len() > MAX_NAMES {
        shown.push(format!("and {} more", names.len() - MAX_NAMES));
    }
    shown
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

        let refused = |bytes: &[u8]| Interfaces::of_toolkit(bytes).expect_err("it is no toolkit");
        assert!(matches!(refused(b"<html>"), ImportError::Invalid(_)));
        assert!(matches!(refused(b""), ImportError::Invalid(_)));
        assert!(matches!(refused(b"\0asm\x0d\0"), ImportError::Invalid(_)));
        assert_eq!(refused(core_module), ImportError::CoreModule);
        assert_eq!(refused(empty_component), ImportError::OtherWorld("nothing".to_owned()));
    }

    #[test]
    fn exports_are_named_whether_they_make_a_toolkit_or_not() {
        let exporting = |names: &[&str]| {
            let exports: Vec<_> =
                names.iter().map(|name| format!(r#"(export "{name}" (instance $i))"#)).collect();
            wat::parse_str(format!("(component (instance $i) {})", exports.concat())).unwrap()
        };
        let (_, version) = contract::NAME.split_once('@').unwrap();
        let tools = format!("{}@{version}.0", contract::TOOLS);

        let toolkit = Interfaces::of_toolkit(&exporting(&["a", &tools, "wasi:cli/run"])).unwrap();
        assert_eq!(toolkit.unused_exports, ["a", "wasi:cli/run"]);

        let names: Vec<_> = (0..12).map(|number| format!("a:b/c{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let refusal = Interfaces::of_toolkit(&exporting(&names)).unwrap_err().to_string();
        assert!(
            refusal.contains("but a:b/c0, a:b/c1,") && refusal.contains("a:b/c9, and 2 more;"),
            "{refusal}"
        );
        assert!(refusal.contains("exports kitbag:toolkit/tools"), "{refusal}");

        let long = "a".repeat(50_000);
        let refusal = Interfaces::of_toolkit(&exporting(&[&long])).unwrap_err().to_string();
        assert!(refusal.len() < 1000, "{} bytes", refusal.len());
    }

    #[test]
    fn memories_are_counted_over_all_modules_before_anything_is_compiled() {
        let two_and_one = "(component (core module (memory 1) (memory 1)) (core module (memory 1)))";

        let inspected = Interfaces::of_toolkit(&wat::parse_str(two_and_one).unwrap());

        let too_many = ImportError::TooMany { what: "memories", found: 3, most: 2 };
        assert_eq!(inspected.expect_err("there are too many"), too_many);
    }

    #[test]
    fn strangers_are_unknown() {
        let imports = Imports(
            [
                "wasi:sockets/tcp",
                "wasi:sockets/tls",
                "wasi:io/poll",
                "wasi:http/types",
                "wasi:http/incoming-handler",
                "evil:corp/api",
            ]
            .map(str::to_owned)
            .into(),
        );

        assert_eq!(imports.unknown(), ["evil:corp/api", "wasi:http/incoming-handler", "wasi:sockets/tls"]);
    }
}
