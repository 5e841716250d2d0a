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
    memory: Option<MachineCode>,
}

impl Compiler {
    /// Compiles for `sandbox`, and keeps functions in `memory`.
    pub(crate) fn new(sandbox: Sandbox, memory: MachineCode) -> Self {
        Self { sandbox, memory: Some(memory) }
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
        let mut functions = memory.map(remembered).unwrap_or_default();
        let code = self.sandbox.compile(component, &mut functions)?;
        if let Some(memory) = memory
            && functions.has_grown()
            && let Err(error) = keep(memory, &functions)
        {
            warn!(%error, "the next large component is compiled from its beginning");
        }
        Ok(code)
    }
}

/// Reads what is kept; where there is nothing, or nothing that can be trusted, begins anew.
fn remembered(memory: &MachineCode) -> Functions {
    let read = || -> io::Result<Functions> {
        let sealed = memory.sealed(NAME)?;
        let code = BufReader::new(File::open(sealed.path())?);
        Functions::read(&mut code.take(sealed.size()?))
    };
    match read() {
        Ok(functions) => functions,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Functions::default(),
        Err(error) => {
            warn!(%error, "the functions that were kept cannot be used");
            Functions::default()
        }
    }
}

fn keep(memory: &MachineCode, functions: &Functions) -> io::Result<()> {
    let mut file: BufWriter<NamedTempFile> = BufWriter::new(memory.new_file()?);
    functions.write(&mut file, KEPT)?;
    file.flush()?;
    memory.adopt(NAME, file.into_inner().map_err(io::IntoInnerError::into_error)?)
}
