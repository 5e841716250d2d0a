//! What a component asks for, read from its bytes before anything is compiled or run.

use std::collections::BTreeSet;

use thiserror::Error;
use wasmparser::{Encoding, Parser, Payload, Validator, WasmFeatures};

use super::engine::MEMORIES;
use crate::capabilities::{Grants, grants};

/// The export that makes a component a toolkit.
const TOOLS: &str = "kitbag:toolkit/tools";

/// Interfaces that reach nothing, and are therefore always linked. A trailing `/` stands for a
/// whole package, whatever its interfaces.
const HARMLESS: [&str; 10] = [
    "kitbag:toolkit/definition",
    "kitbag:toolkit/knowledge",
    "kitbag:toolkit/log",
    "kitbag:toolkit/progress",
    "wasi:cli/",
    "wasi:clocks/",
    "wasi:filesystem/",
    "wasi:http/types",
    "wasi:io/",
    "wasi:random/",
];

/// Why bytes cannot be a toolkit.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ImportError {
    /// Not WebAssembly, or broken.
    #[error("this is not a valid WebAssembly component: {0}")]
    Invalid(String),
    /// A core module.
    #[error(
        "this is a core WebAssembly module, not a component; `kitbag toolkit build` makes a component from a crate"
    )]
    CoreModule,
    /// What its memories begin as is written down when it is compiled, each as long as its last byte is far.
    #[error("this component has {0} memories, and a toolkit has at most {MEMORIES}")]
    Memories(u32),
    /// A component, but of another world.
    #[error("this component is no toolkit: it does not export {TOOLS}@0.1")]
    OtherWorld,
}

/// The interfaces that a toolkit imports, by name and without version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imports(BTreeSet<String>);

impl Imports {
    /// Reads and validates a component, and checks that it exports what a toolkit exports.
    pub fn inspect(component: &[u8]) -> Result<Self, ImportError> {
        if !component.starts_with(b"\0asm") {
            return Err(ImportError::Invalid("it does not begin with the bytes \\0asm".to_owned()));
        }
        let (imports, exports) = top_level_names(component)?;
        if !exports
            .iter()
            .any(|export| interface(export) == TOOLS && export.starts_with("kitbag:toolkit/tools@0.1."))
        {
            return Err(ImportError::OtherWorld);
        }
        Ok(Self(imports.iter().map(|name| interface(name).to_owned()).collect()))
    }

    /// The capabilities among them, in alphabetical order.
    pub fn capabilities(&self) -> Vec<String> {
        self.0.iter().filter(|name| is_capability(name)).cloned().collect()
    }

    /// What the host never links, whatever is declared.
    pub fn unknown(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).filter(|name| !is_capability(name) && !is_harmless(name)).collect()
    }

    /// What the component imports although `grants` does not have it, each with what it would
    /// have to declare.
    pub fn ungranted(&self, grants: &Grants) -> Vec<(&str, &'static str)> {
        self.0
            .iter()
            .filter_map(|name| grants.missing_for(name).map(|missing| (name.as_str(), missing)))
            .collect()
    }

    /// All of them, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Validates the whole component and returns the names that its root imports and exports.
fn top_level_names(component: &[u8]) -> Result<(Vec<String>, Vec<String>), ImportError> {
    let invalid = |error: wasmparser::BinaryReaderError| ImportError::Invalid(error.to_string());
    let mut validator = Validator::new_with_features(WasmFeatures::default());
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    let (mut depth, mut memories) = (0_usize, 0_u32);
    let mut ended = false;

    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(invalid)?;
        match &payload {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(ImportError::CoreModule);
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::MemorySection(section) => {
                memories = memories.saturating_add(section.count());
                if memories > MEMORIES {
                    return Err(ImportError::Memories(memories));
                }
            }
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section.clone() {
                    imports.push(import.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section.clone() {
                    exports.push(export.map_err(invalid)?.name.name.to_owned());
                }
            }
            Payload::End(_) => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => ended = true,
            },
            _ => {}
        }
        if let wasmparser::ValidPayload::Func(function, body) =
            validator.payload(&payload).map_err(invalid)?
        {
            function
                .into_validator(wasmparser::FuncValidatorAllocations::default())
                .validate(&body)
                .map_err(invalid)?;
        }
    }
    if ended { Ok((imports, exports)) } else { Err(ImportError::Invalid("it is truncated".to_owned())) }
}

/// Whether an import, with its version or without, has to be granted.
pub(super) fn is_capability(name: &str) -> bool {
    grants::is_capability(interface(name))
}

/// `wasi:http/types@0.2.4` → `wasi:http/types`.
fn interface(name: &str) -> &str {
    name.split_once('@').map_or(name, |(interface, _)| interface)
}

fn is_harmless(name: &str) -> bool {
    HARMLESS.iter().any(|entry| if entry.ends_with('/') { name.starts_with(entry) } else { name == *entry })
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

        assert_eq!(inspected, Err(ImportError::Memories(3)));
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
