//! Toolkits that no compiler produces, written as WebAssembly text.

use std::fmt::Write as _;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{PackageId, Resolve};

use super::root;

/// A toolkit with the id `wat` and one tool, `run`. By default it is valid and returns `done`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wat<'a> {
    /// Scopes that it declares.
    pub(crate) scopes: &'a [&'a str],
    /// Names of secrets that it declares.
    pub(crate) secrets: &'a [&'a str],
    /// Hosts that it declares.
    pub(crate) egress: &'a [&'a str],
    /// `1.0.0` if empty.
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
    /// The world that it is built for, in WIT that may refer to the contract; the contract's own if empty.
    pub(crate) world: &'a str,
    /// Imports, and other fields that must precede all functions.
    pub(crate) imports: &'a str,
    /// Further fields of the module.
    pub(crate) fields: &'a str,
    /// Instructions of `describe`, before it returns the declaration.
    pub(crate) describe: &'a str,
    /// Instructions of `call`, before it returns.
    pub(crate) call: &'a str,
}

/// `visibility` of the contract.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Visibility {
    Private = 0,
    #[default]
    Shared = 1,
}

impl Wat<'_> {
    /// The component.
    pub(crate) fn component(&self) -> Vec<u8> {
        let mut memory = Memory::default();
        let answer = memory.answer("done", self.structured);
        let definition = memory.definition(self);
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
                    i32.const {definition})
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

/// The contract that toolkits are built for.
fn contract() -> (Resolve, PackageId) {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(root().join("wit/current")).expect("the contract is there");
    (resolve, package)
}

/// An interface of that contract, as components name it.
pub(crate) fn versioned(interface: &str) -> String {
    let (resolve, package) = contract();
    resolve.packages[package].name.interface_id(interface)
}

/// Compiles WebAssembly text: a module, or a component.
pub(crate) fn compile(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Where the data begins in the guest's memory.
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

    /// `toolkit-definition`
    fn definition(&mut self, toolkit: &Wat<'_>) -> u32 {
        let description =
            if toolkit.description.is_empty() { "A guest of the test suite." } else { toolkit.description };
        // The description of a toolkit must be one line.
        let one_line = description.replace(['\n', '\r'], " ");
        let version = if toolkit.version.is_empty() { "1.0.0" } else { toolkit.version };
        let strings = ["wat", "Guest wat", &one_line, "🧪", version];
        let strings: Vec<u32> = strings.into_iter().flat_map(|text| self.string(text)).collect();
        let input = toolkit.input.unwrap_or(r#"{"type":"object"}"#);
        let tools = self.tools(description, input, toolkit.output);
        let [scopes, secrets, egress] =
            [toolkit.scopes, toolkit.secrets, toolkit.egress].map(|list| self.list(list));
        let (author, config, visibility) = ([0; 3], [0; 2], [toolkit.visibility as u32]);
        let auth = [0; 12];
        self.put(&words(&[
            &strings,
            &author,
            &tools,
            &secrets,
            &egress,
            &scopes,
            &config,
            &visibility,
            &auth,
        ]))
    }

    /// `list<tool-definition>`
    fn tools(&mut self, description: &str, input: &str, output: Option<&str>) -> [u32; 2] {
        let [name, description, input] = ["run", description, input].map(|text| self.string(text));
        let output = self.optional(output);
        let (absent, annotations, mutating_and_always_on) = ([0; 3], [0; 2], [0]);
        let tool = [&name[..], &absent, &description, &input, &output, &annotations, &mutating_and_always_on];
        [self.put(&words(&tool)), 1]
    }

    /// `list<string>`
    fn list(&mut self, texts: &[&str]) -> [u32; 2] {
        let texts: Vec<[u32; 2]> = texts.iter().map(|text| self.string(text)).collect();
        [self.put(&words(&[texts.as_flattened()])), length(texts.len())]
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
