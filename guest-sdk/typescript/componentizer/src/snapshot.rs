//! Rewrites a core module: its current memory becomes its initial memory, and ungranted imports are removed.

use std::convert::Infallible;

use anyhow::{Result, bail};
use wasm_encoder::reencode::{self, Reencode, utils};
use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ExportSection, Function, FunctionSection, ImportSection,
    MemorySection, Module, NameMap, NameSection,
};
use wasmparser::{
    CodeSectionReader, CustomSectionReader, DataSectionReader, Export, ExternalKind, FunctionSectionReader,
    Import, ImportSectionReader, MemorySectionReader, Parser, Payload, TypeRef,
};

const PAGE_BYTES: usize = 1 << 16;
/// Minimum run of zeros that ends a data segment; shorter runs are cheaper inside a segment, which takes up to
/// ten bytes besides its data.
const GAP_BYTES: usize = 12;
/// Maximum number of data segments; wasmtime accepts 100,000.
const MAX_SEGMENTS: usize = 50_000;
/// Exports that only the builder uses, or that were called before the snapshot was taken.
const DROPPED_EXPORTS: [&str; 7] =
    ["_initialize", "allocate", "compile", "reserve", "start", "clock_gettime", "gettimeofday"];

/// Input of [`snapshot()`].
pub struct Snapshot<'a, G> {
    /// Core module with one memory, whose globals other than the stack pointer are constant.
    pub engine: &'a [u8],
    /// Whole memory of the module, taken while none of its functions was running.
    pub memory: &'a [u8],
    /// Whether an interface, given by its full name, may be imported.
    pub is_granted: G,
}

/// Returns a core module whose initial memory is the memory of `snapshot`.
pub fn snapshot<G: Fn(&str) -> bool>(snapshot: &Snapshot<'_, G>) -> Result<Vec<u8>> {
    let plan = Plan::of(snapshot)?;
    let mut rewriter = Rewriter { plan, memory: snapshot.memory, gap: gap_for(snapshot.memory) };
    let mut module = Module::new();
    utils::parse_core_module(&mut rewriter, &mut module, Parser::new(0), snapshot.engine)?;
    module.section(&rewriter.plan.names());
    Ok(module.finish())
}

/// A function of the module that replaces an import, and traps.
struct Stub {
    type_index: u32,
    /// Name shown in the backtrace of the trap.
    name: String,
}

/// Selection of the imported functions to keep, and the new numbers of functions.
struct Plan {
    /// Whether to keep the import, for each imported function.
    is_kept: Vec<bool>,
    stubs: Vec<Stub>,
    /// Number of functions that the module defines.
    defined: u32,
}

impl Plan {
    fn of<G: Fn(&str) -> bool>(snapshot: &Snapshot<'_, G>) -> Result<Self> {
        let mut plan = Self { is_kept: Vec::new(), stubs: Vec::new(), defined: 0 };
        let mut variables = 0;
        for payload in Parser::new(0).parse_all(snapshot.engine) {
            match payload? {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports() {
                        plan.import(import?, &snapshot.is_granted)?;
                    }
                }
                Payload::FunctionSection(functions) => plan.defined = functions.count(),
                Payload::GlobalSection(globals) => {
                    for global in globals {
                        variables += usize::from(global?.ty.mutable);
                    }
                }
                _ => {}
            }
        }
        if variables > 1 {
            bail!(
                "the engine has {variables} variables outside of its memory, and the snapshot would lose them"
            );
        }
        if !snapshot.memory.len().is_multiple_of(PAGE_BYTES) {
            bail!("the memory is no whole number of pages");
        }
        Ok(plan)
    }

    fn import(&mut self, import: Import<'_>, is_granted: impl Fn(&str) -> bool) -> Result<()> {
        let TypeRef::Func(type_index) = import.ty else {
            bail!("the engine imports {}, which is no function", import.name);
        };
        let is_kept = is_granted(import.module);
        self.is_kept.push(is_kept);
        if !is_kept {
            let name = format!("{}#{} is not granted", import.module, import.name);
            self.stubs.push(Stub { type_index, name });
        }
        Ok(())
    }

    fn kept(&self) -> u32 {
        count(self.is_kept.iter().filter(|is_kept| **is_kept).count())
    }

    /// Returns the new index of a function: kept imports come first, then the module's own functions, then
    /// the stubs.
    fn new_index(&self, old: u32) -> u32 {
        let Some(is_kept) = self.is_kept.get(old as usize) else {
            return old - count(self.is_kept.len()) + self.kept();
        };
        let before = count(self.is_kept[..old as usize].iter().filter(|it| *it == is_kept).count());
        if *is_kept { before } else { self.kept() + self.defined + before }
    }

    fn names(&self) -> NameSection {
        let mut functions = NameMap::new();
        for (index, stub) in (self.kept() + self.defined..).zip(&self.stubs) {
            functions.append(index, &stub.name);
        }
        let mut names = NameSection::new();
        names.functions(&functions);
        names
    }
}

struct Rewriter<'a> {
    plan: Plan,
    memory: &'a [u8],
    /// Length of a run of zeros that ends a data segment.
    gap: usize,
}

type Rewritten<T = ()> = Result<T, reencode::Error<Infallible>>;

impl Reencode for Rewriter<'_> {
    type Error = Infallible;

    fn function_index(&mut self, index: u32) -> Rewritten<u32> {
        Ok(self.plan.new_index(index))
    }

    fn parse_import_section(&mut self, to: &mut ImportSection, from: ImportSectionReader<'_>) -> Rewritten {
        for (import, is_kept) in from.into_imports().zip(self.plan.is_kept.clone()) {
            if is_kept {
                utils::parse_import(self, to, import?)?;
            }
        }
        Ok(())
    }

    fn parse_function_section(
        &mut self,
        to: &mut FunctionSection,
        from: FunctionSectionReader<'_>,
    ) -> Rewritten {
        utils::parse_function_section(self, to, from)?;
        for stub in &self.plan.stubs {
            to.function(stub.type_index);
        }
        Ok(())
    }

    fn parse_code_section(&mut self, to: &mut CodeSection, from: CodeSectionReader<'_>) -> Rewritten {
        utils::parse_code_section(self, to, from)?;
        for _ in &self.plan.stubs {
            let mut trap = Function::new([]);
            trap.instructions().unreachable().end();
            to.function(&trap);
        }
        Ok(())
    }

    fn parse_memory_section(&mut self, to: &mut MemorySection, from: MemorySectionReader<'_>) -> Rewritten {
        for memory in from {
            let mut memory = self.memory_type(memory?)?;
            memory.minimum = (self.memory.len() / PAGE_BYTES) as u64;
            to.memory(memory);
        }
        Ok(())
    }

    fn parse_export(&mut self, to: &mut ExportSection, export: Export<'_>) -> Rewritten {
        let dropped = export.kind == ExternalKind::Func && DROPPED_EXPORTS.contains(&export.name);
        if dropped { Ok(()) } else { utils::parse_export(self, to, export) }
    }

    fn data_count(&mut self, _count: u32) -> Rewritten<u32> {
        Ok(count(segments(self.memory, self.gap).count()))
    }

    fn parse_data_section(&mut self, to: &mut DataSection, _from: DataSectionReader<'_>) -> Rewritten {
        for (start, bytes) in segments(self.memory, self.gap) {
            to.active(0, &ConstExpr::i32_const(start.cast_signed()), bytes.iter().copied());
        }
        Ok(())
    }

    /// Drops the names of the engine's functions, which mean nothing to an author.
    fn parse_custom_section(&mut self, module: &mut Module, section: CustomSectionReader<'_>) -> Rewritten {
        if section.name() == "name" { Ok(()) } else { utils::parse_custom_section(self, module, section) }
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).expect("a module has less than 2^32 of anything")
}

/// Returns the run of zeros that ends a segment. It is longer for sparse memory, so that there are at most
/// [`MAX_SEGMENTS`] segments.
fn gap_for(memory: &[u8]) -> usize {
    let mut gap = GAP_BYTES;
    while segments(memory, gap).nth(MAX_SEGMENTS).is_some() {
        gap *= 2;
    }
    gap
}

/// Returns the nonzero segments of a memory with their addresses. Runs of `gap` zeros end a segment.
fn segments(memory: &[u8], gap: usize) -> impl Iterator<Item = (u32, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + memory[at..].iter().position(|byte| *byte != 0)?;
        let mut end = start;
        loop {
            end += memory[end..].iter().position(|byte| *byte == 0).unwrap_or(memory.len() - end);
            let zeros = memory[end..].iter().take(gap).take_while(|byte| **byte == 0).count();
            if zeros == gap || end + zeros == memory.len() {
                break;
            }
            end += zeros;
        }
        at = end;
        Some((count(start), &memory[start..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGINE: &str = r#"
        (module
            (import "granted" "one" (func $granted (result i32)))
            (import "refused" "two" (func $refused (result i32)))
            (global $stack (mut i32) (i32.const 1024))
            (memory (export "memory") 1)
            (data (i32.const 0) "before")
            (func (export "_initialize"))
            (func (export "start"))
            (func (export "call") (result i32) (i32.add (call $granted) (call $refused))))
    "#;

    fn print_snapshot(memory: &[u8]) -> String {
        let engine = wat::parse_str(ENGINE).expect("a module");
        let module =
            snapshot(&Snapshot { engine: &engine, memory, is_granted: |name: &str| name == "granted" });
        let module = module.expect("a snapshot");
        wasmparser::validate(&module).expect("a valid module");
        wasmprinter::print_bytes(&module).expect("a module")
    }

    #[test]
    fn what_is_not_granted_is_a_function_that_traps() {
        let text = print_snapshot(&vec![0; PAGE_BYTES]);

        assert!(
            text.contains(r#"(import "granted" "one""#) && !text.contains(r#"(import "refused""#),
            "{text}"
        );
        assert!(text.contains("refused#two is not granted"), "{text}");
        assert!(!text.contains(r#"(export "start""#) && text.contains(r#"(export "call""#), "{text}");
    }

    #[test]
    fn the_memory_is_what_it_was() {
        let mut memory = vec![0; 2 * PAGE_BYTES];
        memory[100..105].copy_from_slice(b"after");
        memory[PAGE_BYTES * 2 - 1] = 7;

        let text = print_snapshot(&memory);

        assert!(
            text.contains("(memory (;0;) 2)") && text.contains("\"after\"") && !text.contains("before"),
            "{text}"
        );
    }

    #[test]
    fn pieces_of_memory_are_what_is_not_zero() {
        let mut memory = vec![0; 1000];
        memory[10] = 1;
        memory[20] = 2;
        memory[999] = 3;

        let pieces: Vec<_> =
            segments(&memory, GAP_BYTES).map(|(start, bytes)| (start, bytes.len())).collect();

        assert_eq!(pieces, [(10, 11), (999, 1)]);
    }

    #[test]
    fn memory_with_little_in_it_has_not_too_many_pieces() {
        let memory: Vec<_> =
            (0..128 * 2 * MAX_SEGMENTS).map(|address| u8::from(address % 128 == 0)).collect();

        let pieces = segments(&memory, gap_for(&memory)).count();

        assert!(pieces <= MAX_SEGMENTS, "{pieces}");
    }
}
