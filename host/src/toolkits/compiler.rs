//! From a component to machine code.
//!
//! What a large component has in common with those before it is not compiled again: toolkits in
//! TypeScript each carry the same JavaScript engine.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Write as _};

use tempfile::NamedTempFile;
use tracing::warn;

use crate::machine_code::MachineCode;
use crate::sandbox::{EngineError, Functions, Sandbox};

/// From this size on functions are kept and looked for, in bytes. A smaller component is compiled in
/// less time than it takes to read what is kept.
const LARGE: usize = 4 << 20;
/// What the kept functions take at most, in bytes.
const KEPT: usize = 256 << 20;
/// Their name among the files of machine code.
const NAME: &str = "functions";

/// Compiles for one engine; a clone is the same.
#[derive(Clone)]
pub struct Compiler {
    sandbox: Sandbox,
    memory: Option<Memory>,
}

/// Where functions are kept.
#[derive(Clone)]
struct Memory {
    files: MachineCode,
    /// Bytes, at most.
    limit: usize,
}

impl Compiler {
    /// Compiles for `sandbox`, and keeps functions in `memory`.
    pub(crate) fn new(sandbox: Sandbox, memory: MachineCode) -> Self {
        Self { sandbox, memory: Some(Memory { files: memory, limit: KEPT }) }
    }

    /// Compiles every component as if it were the first.
    pub(crate) fn without_memory(sandbox: Sandbox) -> Self {
        Self { sandbox, memory: None }
    }

    /// The sandbox that the machine code is for.
    pub(super) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Compiles a component. Blocks for seconds.
    pub(super) fn compile(&self, component: &[u8]) -> Result<Vec<u8>, EngineError> {
        let memory = self.memory.as_ref().filter(|_| component.len() >= LARGE);
        let mut functions = memory.map(Memory::read).unwrap_or_default();
        let code = self.sandbox.compile(component, &mut functions)?;
        if let Some(memory) = memory
            && functions.has_grown()
            && let Err(error) = memory.write(&functions)
        {
            warn!(%error, "the next large component is compiled from its beginning");
        }
        Ok(code)
    }
}

impl Memory {
    /// Reads what is kept; where there is nothing, or nothing that can be trusted, begins anew.
    fn read(&self) -> Functions {
        match self.try_read() {
            Ok(functions) => functions,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Functions::default(),
            Err(error) => {
                warn!(%error, "the functions that were kept cannot be used");
                Functions::default()
            }
        }
    }

    fn try_read(&self) -> io::Result<Functions> {
        let sealed = self.files.sealed(NAME)?;
        let code = BufReader::new(File::open(sealed.path())?);
        Functions::read(&mut code.take(sealed.size()?))
    }

    fn write(&self, functions: &Functions) -> io::Result<()> {
        let mut file: BufWriter<NamedTempFile> = BufWriter::new(self.files.new_file()?);
        functions.write(&mut file, self.limit)?;
        file.flush()?;
        self.files.adopt(NAME, file.into_inner().map_err(io::IntoInnerError::into_error)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::toolkits::tests::sandbox;

    const COMMON: usize = 100;

    /// A large component of functions of which the first are the same in all.
    fn component(own: usize) -> Vec<u8> {
        let function = |number: usize| {
            format!(
                "(func (param i32) (result i32) (i32.mul (i32.const {number}) (i32.xor (local.get 0) (i32.const {own}))))"
            )
        };
        let functions: String = (0..COMMON)
            .map(|number| function(number).replace(&format!("i32.const {own}"), "i32.const 7"))
            .chain((0..own).map(|number| function(number + 1000)))
            .collect();
        let padding = "0".repeat(LARGE);
        wat::parse_str(format!("(component (core module {functions} (@custom \"padding\" \"{padding}\")))"))
            .expect("it is a component")
    }

    fn compiler(data: &Path, limit: usize) -> Compiler {
        let files = MachineCode::open(data, "code", "engine").expect("a folder");
        Compiler { sandbox: sandbox(), memory: Some(Memory { files, limit }) }
    }

    fn file(data: &Path) -> PathBuf {
        data.join("code/engine").join(NAME).with_extension("cwasm")
    }

    fn size(data: &Path) -> u64 {
        fs::metadata(file(data)).expect("functions are kept").len()
    }

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a scratch directory")
    }

    #[tokio::test]
    async fn what_large_components_have_in_common_is_kept_once() {
        let data = folder();
        let compiler = compiler(data.path(), KEPT);
        compiler.compile(&component(0)).expect("it compiles");
        let first = size(data.path());

        compiler.compile(&component(COMMON / 10)).expect("it compiles");

        let grown = size(data.path()) - first;
        assert!(grown > 0 && grown < first / 4, "{grown} bytes beside {first}");
    }

    #[tokio::test]
    async fn no_more_is_kept_than_may_be() {
        const LIMIT: u64 = 10_000;
        const SEAL: u64 = 32;

        let data = folder();
        let compiler = compiler(data.path(), usize::try_from(LIMIT).expect("a small number"));

        for own in [0, 10, 100] {
            compiler.compile(&component(own)).expect("it compiles");
            let size = size(data.path());
            assert!(size > LIMIT / 2 && size <= LIMIT + SEAL, "{size} bytes");
        }
    }

    #[tokio::test]
    async fn functions_that_are_damaged_or_anothers_are_not_used_and_replaced() {
        let (data, other) = (folder(), folder());
        let compiler = compiler(data.path(), KEPT);
        let code = compiler.compile(&component(3)).expect("it compiles");
        let memory = compiler.memory.as_ref().expect("it has one");
        let good = fs::read(file(data.path())).expect("functions are kept");
        super::tests::compiler(other.path(), KEPT).compile(&component(3)).expect("it compiles");
        let foreign = fs::read(file(other.path())).expect("functions are kept");
        let mut flipped = good.clone();
        flipped[good.len() / 2] ^= 1;

        for bad in [flipped, foreign, good[..good.len() - 100].to_vec(), Vec::new()] {
            fs::write(file(data.path()), bad).expect("the file can be written");
            assert!(memory.try_read().is_err());

            assert_eq!(compiler.compile(&component(3)).expect("it compiles"), code);

            assert_eq!(size(data.path()), good.len() as u64);
            assert!(memory.try_read().is_ok(), "they are sealed anew");
        }
    }

    #[tokio::test]
    async fn small_components_leave_nothing() {
        let data = folder();
        let small = wat::parse_str("(component (core module (func)))").expect("it is a component");

        compiler(data.path(), KEPT).compile(&small).expect("it compiles");

        assert!(!file(data.path()).exists());
    }
}
