//! The size of a component, counted from its bytes before anything is compiled.
//!
//! A few bytes can expand exponentially: a component that instantiates another one twice, which instantiates
//! a third one twice, or a tuple of two tuples. The compiler expands both. So parts are counted as often as
//! they are expanded, while each definition is visited only once.

mod types;

use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentAlias, ComponentExternalKind, ComponentInstance,
    ComponentOuterAliasKind, ComponentTypeRef, Encoding, FuncValidatorAllocations, Instance, Parser, Payload,
    ValidPayload, Validator, WasmFeatures,
};

use super::engine::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLES};
use super::imports::ImportError;

/// Maximum number of component instances. Nested ones count once per instance of their parent.
const MAX_COMPONENT_INSTANCES: u64 = 200;
/// Maximum number of imports, exports, aliases, instances and functions of components. Those of nested
/// components count once per instance. Toolkits in TypeScript have some hundreds.
const MAX_ITEMS: u64 = 100_000;
/// Maximum number of values in the expanded types of all functions and definitions.
const MAX_TYPE_SIZE: u64 = 1_000_000;
/// Maximum number of core modules, instantiated or not.
const MAX_MODULES: u64 = 100;
/// Maximum number of functions of all core modules. Toolkits in TypeScript have some 5,000.
const MAX_FUNCTIONS: u64 = 250_000;
/// Maximum number of globals of all core modules.
const MAX_GLOBALS: u64 = 100_000;
/// Maximum number of data and element segments of all core modules.
const MAX_SEGMENTS: u64 = 100_000;

/// The names of the imports and exports of the root component.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) imports: Vec<String>,
    pub(super) exports: Vec<String>,
}

/// Validates a whole component, and rejects one that is too large for the compiler.
pub(super) fn check(component: &[u8]) -> Result<Names, ImportError> {
    if !component.starts_with(b"\0asm") {
        return Err(ImportError::Invalid("it does not begin with the bytes \\0asm".to_owned()));
    }
    let mut walk = Walk::default();
    let mut validator = Validator::new_with_features(WasmFeatures::default());
    for payload in Parser::new(0).parse_all(component) {
        let payload = payload.map_err(|error| invalid(&error))?;
        if let Payload::Version { encoding: Encoding::Module, .. } = &payload
            && walk.outer.is_empty()
        {
            return Err(ImportError::CoreModule);
        }
        // Core definitions are counted before they are validated, because validation visits them all.
        walk.core(&payload)?;
        check_is_synchronous(&payload)?;
        let validated = validator.payload(&payload).map_err(|error| invalid(&error))?;
        if let ValidPayload::Func(function, body) = validated {
            function
                .into_validator(FuncValidatorAllocations::default())
                .validate(&body)
                .map_err(|error| invalid(&error))?;
        } else if let ValidPayload::End(types) = validated {
            walk.here.total.type_size = walk.here.total.type_size.saturating_add(types::size(types.as_ref()));
        }
        walk.component(&payload)?;
    }
    if !walk.has_ended {
        return Err(ImportError::Invalid("it is truncated".to_owned()));
    }
    Ok(walk.names)
}

/// Rejects asynchronous functions, which language runtimes use unless configured otherwise.
fn check_is_synchronous(payload: &Payload<'_>) -> Result<(), ImportError> {
    let Payload::ComponentCanonicalSection(section) = payload else { return Ok(()) };
    for function in section.clone() {
        match function.map_err(|error| invalid(&error))? {
            CanonicalFunction::Lift { options, .. } | CanonicalFunction::Lower { options, .. } => {
                let is_async = |it: &CanonicalOption| {
                    matches!(it, CanonicalOption::Async | CanonicalOption::Callback(_))
                };
                if options.iter().any(is_async) {
                    return Err(ImportError::Async("an async function"));
                }
            }
            CanonicalFunction::ResourceNew { .. }
            | CanonicalFunction::ResourceDrop { .. }
            | CanonicalFunction::ResourceRep { .. } => {}
            _ => return Err(ImportError::Async("a built-in function for tasks")),
        }
    }
    Ok(())
}

fn invalid(error: &wasmparser::BinaryReaderError) -> ImportError {
    ImportError::Invalid(error.to_string())
}

fn at_most(what: &'static str, found: u64, most: u64) -> Result<(), ImportError> {
    if found > most { Err(ImportError::TooMany { what, found, most }) } else { Ok(()) }
}

/// The expanded size of one instance of a component, with everything that it instantiates.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    components: u64,
    core_instances: u64,
    items: u64,
    type_size: u64,
}

impl Total {
    fn add(&mut self, other: Self) {
        self.components = self.components.saturating_add(other.components);
        self.core_instances = self.core_instances.saturating_add(other.core_instances);
        self.items = self.items.saturating_add(other.items);
        self.type_size = self.type_size.saturating_add(other.type_size);
    }

    fn items(&mut self, count: usize) {
        self.items = self.items.saturating_add(count as u64);
    }

    fn check(&self) -> Result<(), ImportError> {
        at_most("instances of components in all", self.components, MAX_COMPONENT_INSTANCES)?;
        at_most("instances of core modules in all", self.core_instances, MAX_CORE_INSTANCES.into())?;
        at_most("imports, exports, aliases and functions in all", self.items, MAX_ITEMS)?;
        at_most("values in all of its types", self.type_size, MAX_TYPE_SIZE)
    }
}

/// A component or module that is being read.
#[derive(Debug, Default)]
struct Frame {
    total: Total,
    /// Components that this one can instantiate, by index, with their expanded size if known.
    components: Vec<Option<Total>>,
    is_module: bool,
}

#[derive(Debug, Default)]
struct Walk {
    here: Frame,
    /// The ancestors of `here`, outermost first.
    outer: Vec<Frame>,
    names: Names,
    has_ended: bool,
    modules: u64,
    memories: u64,
    tables: u64,
    functions: u64,
    globals: u64,
    segments: u64,
}

impl Walk {
    /// Counts the definitions of core modules, over the whole component.
    fn core(&mut self, payload: &Payload<'_>) -> Result<(), ImportError> {
        let (what, counter, count, most) = match payload {
            Payload::ModuleSection { .. } => ("core modules", &mut self.modules, 1, MAX_MODULES),
            Payload::MemorySection(section) => {
                ("memories", &mut self.memories, section.count(), MAX_MEMORIES.into())
            }
            Payload::TableSection(section) => {
                ("tables", &mut self.tables, section.count(), MAX_TABLES.into())
            }
            Payload::FunctionSection(section) => {
                ("functions", &mut self.functions, section.count(), MAX_FUNCTIONS)
            }
            Payload::GlobalSection(section) => ("globals", &mut self.globals, section.count(), MAX_GLOBALS),
            Payload::DataSection(section) => {
                ("data and element segments", &mut self.segments, section.count(), MAX_SEGMENTS)
            }
            Payload::ElementSection(section) => {
                ("data and element segments", &mut self.segments, section.count(), MAX_SEGMENTS)
            }
            _ => return Ok(()),
        };
        *counter = counter.saturating_add(count.into());
        at_most(what, *counter, most)
    }

    /// Counts the items and instances of a validated component.
    fn component(&mut self, payload: &Payload<'_>) -> Result<(), ImportError> {
        match payload {
            Payload::ModuleSection { .. } => self.enter(Frame { is_module: true, ..Frame::default() }),
            Payload::ComponentSection { .. } => self.enter(Frame::default()),
            Payload::End(_) => {
                self.here.total.check()?;
                self.leave();
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    let import = import.map_err(|error| invalid(&error))?;
                    if let ComponentTypeRef::Component(_) = import.ty {
                        self.here.components.push(None);
                    }
                    self.here.total.items(1);
                    if self.outer.is_empty() {
                        self.names.imports.push(import.name.name.to_owned());
                    }
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export.map_err(|error| invalid(&error))?;
                    // An export is also a definition, which later ones can refer to.
                    if export.kind == ComponentExternalKind::Component {
                        self.here.components.push(self.here.known(export.index));
                    }
                    self.here.total.items(1);
                    if self.outer.is_empty() {
                        self.names.exports.push(export.name.name.to_owned());
                    }
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    self.alias(&alias.map_err(|error| invalid(&error))?);
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    self.instance(&instance.map_err(|error| invalid(&error))?)?;
                }
            }
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    match instance.map_err(|error| invalid(&error))? {
                        Instance::Instantiate { args, .. } => {
                            self.here.total.core_instances += 1;
                            self.here.total.items(1 + args.len());
                        }
                        Instance::FromExports(exports) => self.here.total.items(1 + exports.len()),
                    }
                }
            }
            Payload::ComponentCanonicalSection(section) => self.here.total.items(section.count() as usize),
            Payload::ComponentTypeSection(section) => self.here.total.items(section.count() as usize),
            Payload::CoreTypeSection(section) => self.here.total.items(section.count() as usize),
            _ => {}
        }
        self.here.total.check()
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) {
        self.here.total.items(1);
        match alias {
            ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                self.here.components.push(None);
            }
            ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                let known = match (*count as usize).checked_sub(1) {
                    None => self.here.known(*index),
                    Some(above) => self.outer.iter().rev().nth(above).and_then(|outer| outer.known(*index)),
                };
                self.here.components.push(known);
            }
            _ => {}
        }
    }

    fn instance(&mut self, instance: &ComponentInstance<'_>) -> Result<(), ImportError> {
        match instance {
            ComponentInstance::Instantiate { component_index, args } => {
                let total = self.here.known(*component_index).ok_or(ImportError::ForeignComponent)?;
                self.here.total.add(total);
                self.here.total.components = self.here.total.components.saturating_add(1);
                self.here.total.items(1 + args.len());
            }
            ComponentInstance::FromExports(exports) => self.here.total.items(1 + exports.len()),
        }
        Ok(())
    }

    fn enter(&mut self, frame: Frame) {
        self.outer.push(std::mem::replace(&mut self.here, frame));
    }

    fn leave(&mut self) {
        let Some(outer) = self.outer.pop() else {
            self.has_ended = true;
            return;
        };
        let inner = std::mem::replace(&mut self.here, outer);
        if !inner.is_module {
            self.here.components.push(Some(inner.total));
        }
    }
}

impl Frame {
    fn known(&self, component: u32) -> Option<Total> {
        self.components.get(component as usize).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let component = wat::parse_str(text).expect("it is a component");
        check(&component).expect_err("it is too much").to_string()
    }

    /// Forty components, each of which instantiates the one before twice.
    #[test]
    fn instances_are_counted_as_often_as_they_are_unfolded() {
        let levels = |count: usize| -> String {
            (1..count).fold("(component $c0)".to_owned(), |before, level| {
                let inner = level - 1;
                format!(
                    "{before} (component $c{level} (alias outer 1 $c{inner} (component $i))
                        (instance (instantiate $i)) (instance (instantiate $i)))"
                )
            })
        };
        let component =
            |count: usize| format!("(component {} (instance (instantiate $c{})))", levels(count), count - 1);

        let said = refused(&component(40));

        let most = MAX_COMPONENT_INSTANCES;
        assert!(
            said.contains("instances of components in all") && said.contains(&most.to_string()),
            "{said}"
        );
        let bytes = wat::parse_str(component(40)).expect("it is a component");
        assert!(bytes.len() < 3_000, "{} bytes", bytes.len());
        // 2^7 - 1 instances.
        check(&wat::parse_str(component(7)).expect("a component")).expect("few enough");
        assert!(check(&wat::parse_str(component(8)).expect("a component")).is_err());
    }

    #[test]
    fn a_component_that_comes_from_elsewhere_is_not_instantiated() {
        let imported = r#"(component (import "c" (component $c)) (instance (instantiate $c)))"#;
        let exported = r#"(component
            (component $a (component $b) (export "b" (component $b)))
            (instance $i (instantiate $a))
            (alias export $i "b" (component $b))
            (instance (instantiate $b)))"#;

        for text in [imported, exported] {
            assert!(refused(text).contains("component that it does not define"), "{}", refused(text));
        }
        let re_exported =
            r#"(component (component $a) (export $b "b" (component $a)) (instance (instantiate $b)))"#;
        check(&wat::parse_str(re_exported).expect("a component")).expect("its definition is known");
    }

    #[test]
    fn core_modules_and_what_they_define_are_counted_over_the_whole_component() {
        let module = "(core module (func) (global i32 (i32.const 0)))";

        assert!(refused(&format!("(component {})", module.repeat(101))).contains("101 core modules"));
        let tables = "(core module (table 1 funcref) (table 1 funcref))".repeat(7);
        assert!(refused(&format!("(component {tables})")).contains("14 tables"));
        let instances = "(core instance (instantiate $m))".repeat(65);
        assert!(
            refused(&format!("(component (core module $m) {instances})")).contains("65 instances of core")
        );
    }

    #[test]
    fn types_are_measured_as_if_they_were_written_out() {
        // Each function takes 2^17 numbers, which is little for the validator.
        let doubling: Vec<_> =
            (1..=16).map(|level| format!("(type $t{level} (tuple $t{0} $t{0}))", level - 1)).collect();
        let doubling = doubling.concat();
        let component = |functions: usize| {
            let functions = r#"(type (func (param "a" $t16)))"#.repeat(functions);
            format!("(component (type $t0 (tuple u8 u8)) {doubling} {functions})")
        };

        let said = refused(&component(20));

        check(&wat::parse_str(component(1)).expect("a component")).expect("one is few enough");
        assert!(said.contains("values in all of its types"), "{said}");
    }
}
