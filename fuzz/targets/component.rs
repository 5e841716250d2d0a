//! Components: the inspection at the beginning of a deploy.

use std::collections::BTreeSet;

use kitbag_sandbox::{Interfaces, is_always_refused};
use wasmparser::{
    BinaryReader, ComponentExportSectionReader, ComponentImportSectionReader, Parser, Payload, Validator,
    WasmFeatures,
};

/// Maximum number of memories in a toolkit.
const MAX_MEMORIES: u32 = 2;

/// Input: a component, or WebAssembly text.
///
/// Checks that an accepted component is valid, exports what a toolkit exports, does not have too many
/// memories, and imports exactly what is listed. A refusal is short.
pub fn component(data: &[u8]) {
    let assembled = if data.starts_with(b"(") {
        let Ok(text) = std::str::from_utf8(data) else { return };
        let Ok(assembled) = wat::parse_str(text) else { return };
        Some(assembled)
    } else {
        None
    };
    let bytes = assembled.as_deref().unwrap_or(data);

    match Interfaces::of_toolkit(bytes) {
        Ok(Interfaces { imports, optional_exports, unused_exports }) => {
            assert!(optional_exports.len() <= 3);
            let validated = Validator::new_with_features(WasmFeatures::default()).validate_all(bytes);
            validated.expect("an accepted component is valid");
            let (imported, exported) = names_at_the_top(bytes);
            assert!(exported.iter().any(|name| name.starts_with("kitbag:toolkit/tools@")), "{exported:?}");
            assert!(unused_exports.len() < exported.len().min(12), "{unused_exports:?} of {exported:?}");
            let without_version = |name: &String| name.split('@').next().unwrap_or_default().to_owned();
            let imported: BTreeSet<String> = imported.iter().map(without_version).collect();
            assert!(imports.iter().eq(imported.iter().map(String::as_str)), "{imports:?} of {imported:?}");
            let capabilities = imports.capabilities();
            let is_known = |name: &str| capabilities.iter().any(|it| it == name) || is_always_refused(name);
            assert!(!imports.unknown().into_iter().any(is_known));
            assert!(memories(bytes) <= MAX_MEMORIES);
        }
        Err(refusal) => {
            assert!(refusal.to_string().len() < 64 << 10, "a refusal of {} bytes", refusal.to_string().len());
        }
    }
}

/// Returns the names of imports and exports, read from the sections of the outermost component.
fn names_at_the_top(component: &[u8]) -> (Vec<String>, Vec<String>) {
    const PREAMBLE: usize = 8;
    const IMPORTS: u8 = 10;
    const EXPORTS: u8 = 11;

    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    let mut reader = BinaryReader::new(&component[PREAMBLE..], PREAMBLE);
    while !reader.eof() {
        let (id, size) = (reader.read_u8().expect("a section"), reader.read_var_u32().expect("its size"));
        let at = reader.original_position();
        let content = reader.read_bytes(size as usize).expect("its content");
        let content = BinaryReader::new(content, at);
        match id {
            IMPORTS => {
                let section = ComponentImportSectionReader::new(content).expect("imports");
                imports.extend(section.into_iter().map(|it| it.expect("an import").name.name.to_owned()));
            }
            EXPORTS => {
                let section = ComponentExportSectionReader::new(content).expect("exports");
                exports.extend(section.into_iter().map(|it| it.expect("an export").name.name.to_owned()));
            }
            _ => {}
        }
    }
    (imports, exports)
}

/// Counts the memories of all modules.
fn memories(bytes: &[u8]) -> u32 {
    let payloads = Parser::new(0).parse_all(bytes).map(|payload| payload.expect("it is valid"));
    payloads
        .map(|payload| if let Payload::MemorySection(section) = payload { section.count() } else { 0 })
        .sum()
}
