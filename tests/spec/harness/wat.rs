//! Toolkits that no compiler produces, written in WebAssembly text format.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::json;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{PackageId, Resolve};

use super::root;

/// A toolkit with the id `wat` and one tool, `run`. By default it is valid and returns `done`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wat<'a> {
    /// Declared scopes.
    pub(crate) scopes: &'a [&'a str],
    /// Names of declared secrets.
    pub(crate) secrets: &'a [&'a str],
    /// Declared egress hosts.
    pub(crate) egress: &'a [&'a str],
    /// Version; `1.0.0` if empty.
    pub(crate) version: &'a str,
    pub(crate) visibility: Visibility,
    /// Description of the toolkit and of its tool; a harmless one if empty.
    pub(crate) description: &'a str,
    /// JSON Schema of the arguments; any object if `None`.
    pub(crate) input: Option<&'a str>,
    /// JSON Schema of the structured result, if any.
    pub(crate) output: Option<&'a str>,
    /// The structured result, as JSON, if any.
    pub(crate) structured: Option<&'a str>,
    /// Target world, as WIT that may refer to the contract; empty: the contract's own world.
    pub(crate) world: &'a str,
    /// Imports, and other fields that must precede all functions.
    pub(crate) imports: &'a str,
    /// Further members of the manifest, as a JSON object, if any.
    pub(crate) further: &'a str,
    /// Whole manifest, replacing all of the above, if not empty. All of its tools return the same result.
    pub(crate) manifest: &'a str,
    /// Further fields of the module.
    pub(crate) fields: &'a str,
    /// Instructions of `describe`, before it returns the declaration.
    pub(crate) describe: &'a str,
    /// Instructions of `call`, before it returns.
    pub(crate) call: &'a str,
}

/// Visibility in the manifest; shared by default, so that tests may call the toolkit as any user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Visibility {
    Private,
    #[default]
    Shared,
}

impl Wat<'_> {
    /// Manifest as text: schemas may be nested more deeply than JSON parsers allow.
    fn manifest(&self) -> String {
        if !self.manifest.is_empty() {
            return self.manifest.to_owned();
        }
        let or =
            |text: &str, default: &str| if text.is_empty() { default.to_owned() } else { text.to_owned() };
        let description = or(self.description, "A guest of the test suite.");
        // The description of a toolkit must be one line.
        let one_line = description.replace(['\n', '\r'], " ");
        let output = self.output.map(|schema| format!(r#","outputSchema":{schema}"#)).unwrap_or_default();
        let tool = format!(
            r#"{{"name":"run","description":{},"inputSchema":{}{output}}}"#,
            json!(description),
            self.input.unwrap_or(r#"{"type":"object"}"#),
        );
        let further = self.further.trim_matches(['{', '}']);
        let separator = if further.is_empty() { "" } else { "," };
        format!(
            r#"{{"id":"wat","name":"Guest wat","description":{},"icon":"🧪","version":{},"tools":[{tool}],"secrets":{},"egress":{},"scopes":{},"visibility":{}{separator}{further}}}"#,
            json!(one_line),
            json!(or(self.version, "1.0.0")),
            json!(self.secrets),
            json!(self.egress),
            json!(self.scopes),
            json!(self.visibility),
        )
    }

    /// Builds the component.
    pub(crate) fn component(&self) -> Vec<u8> {
        let mut memory = Memory::default();
        let answer = memory.answer("done", self.structured);
        let manifest = memory.manifest(self);
        let Self { imports, fields, describe, call, .. } = self;
        let module = format!(
            r#"(module
                {imports}
                (memory (export "memory") 16)
                (data (i32.const {BASE}) "{data}")
                {fields}
                (global $heap (mut i32) (i32.const 65536))
                (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                    global.get $heap
                    (global.set $heap
                        (i32.and (i32.add (i32.add (global.get $heap) (local.get 3)) (i32.const 7)) (i32.const -8))))
                (func (export "{tools}#describe") (result i32)
                    {describe}
                    i32.const {manifest})
                (func (export "{tools}#call")
                    (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
                    {call}
                    i32.const {answer}))"#,
            data = memory.escaped(),
            tools = versioned("tools"),
        );
        let mut module = compile(&module);
        let (mut resolve, package) = contract();
        let world = if self.world.is_empty() {
            resolve.select_world(&[package], Some("toolkit"))
        } else {
            let own = resolve.push_source("world.wit", self.world).expect("valid WIT");
            resolve.select_world(&[own], None)
        };
        let world = world.expect("it has a world");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("it fits");
        let encoder = ComponentEncoder::default().validate(true).module(&module);
        encoder.and_then(|mut encoder| encoder.encode()).expect("the module fits the contract")
    }
}

/// Loads the contract that toolkits are built for.
fn contract() -> (Resolve, PackageId) {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(root().join("wit/current")).expect("the contract is there");
    (resolve, package)
}

/// Versioned name of an interface of the contract, as components import it.
pub(crate) fn versioned(interface: &str) -> String {
    let (resolve, package) = contract();
    resolve.packages[package].name.interface_id(interface)
}

/// Compiles WebAssembly text: a module, or a component.
pub(crate) fn compile(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Address of the data in the guest's memory.
const BASE: u32 = 1024;

/// The guest's data, in the layout of the canonical ABI.
#[derive(Default)]
struct Memory(Vec<u8>);

impl Memory {
    /// `result<tool-result, call-error>`: text, an optional structured value, and nothing else.
    fn answer(&mut self, text: &str, structured: Option<&str>) -> u32 {
        let (text, structured) = (self.string(text), self.optional(structured));
        self.put(&words(&[&[0], &text, &structured, &[0; 2]]))
    }

    /// `string`, as `describe` returns it.
    fn manifest(&mut self, toolkit: &Wat<'_>) -> u32 {
        let manifest = self.string(&toolkit.manifest());
        self.put(&words(&[&manifest]))
    }

    fn string(&mut self, text: &str) -> [u32; 2] {
        [self.put(text.as_bytes()), length(text.len())]
    }

    /// `option<string>`
    fn optional(&mut self, text: Option<&str>) -> [u32; 3] {
        text.map_or([0; 3], |text| {
            let [place, length] = self.string(text);
            [1, place, length]
        })
    }

    /// Appends bytes and returns their address.
    fn put(&mut self, bytes: &[u8]) -> u32 {
        let place = BASE + length(self.0.len());
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        place
    }

    fn escaped(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, byte| {
            write!(text, "\\{byte:02x}").expect("a string takes everything");
            text
        })
    }
}

fn words(parts: &[&[u32]]) -> Vec<u8> {
    parts.concat().into_iter().flat_map(u32::to_le_bytes).collect()
}

fn length(length: usize) -> u32 {
    u32::try_from(length).expect("it is short")
}
