//! Runs toolkits: a fresh instance for each call, under limits, with nothing linked that the
//! declaration does not grant.
//!
//! Invariant: no state survives a call. Isolation is never traded for speed.
//! Invariant: compiled code is only ever loaded from files that a compiler process of this server, or of an
//! earlier run of it, has written.

mod background;
mod call;
mod compile;
mod content;
mod describe;
mod engine;
mod extract;
mod functions;
mod imports;
mod io_error;
mod limits;
mod linker;
mod shape;
mod state;

use std::io;
use std::path::Path;
use std::sync::Arc;

use thiserror::Error;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::capabilities::{Grants, Trail};
use crate::egress::Egress;
use crate::knowledge::Knowledge;
use crate::memory::MemoryBudget;
use crate::outbound_auth::OutboundAuth;
pub use call::{CallError, Ended, Fault, Invocation, Report, Stages, ToolError, ToolResult};
pub use compile::{Compiled, CompilerEngine};
pub use content::{Content, EmbeddedResource, Media, ResourceBody, ResourceLink};
pub use describe::{DescribeError, DescribeLimits};
pub use extract::{Extracted, ExtractionError, ExtractionLimits, Extractor, ExtractorSandbox};
pub use functions::Functions;
pub use imports::{ImportError, Imports};
pub use limits::Limits;

use background::Background;
use call::Runner;

/// The engine and everything that calls share.
#[derive(Clone)]
pub struct Sandbox {
    engine: Engine,
    background: Arc<Background>,
    limits: Arc<Limits>,
    egress: Egress,
    outbound_auth: OutboundAuth,
    knowledge: Option<Knowledge>,
    memory: MemoryBudget,
}

/// A toolkit's machine code, linked against exactly what it was granted and ready to be
/// instantiated.
#[derive(Clone)]
pub struct Loaded {
    runner: Arc<Runner>,
}

/// The engine did not start, or it cannot use a component; says why, cause by cause.
#[derive(Debug, Error)]
#[error("{0:#}")]
pub struct EngineError(#[from] wasmtime::Error);

impl EngineError {
    /// Whether the system gave the engine no more memory.
    pub fn is_out_of_memory(&self) -> bool {
        const ENOMEM: i32 = 12;

        let cause = self.0.root_cause();
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.raw_os_error() == Some(ENOMEM))
            || cause.to_string().contains("Cannot allocate memory")
    }
}

/// Machine code cannot be made ready to run.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file is missing, damaged, or another engine's.
    #[error("the machine code cannot be used: {0:#}")]
    Code(wasmtime::Error),
    /// The component asks for something in another shape or version than the contract gives it.
    #[error("the component does not fit the contract kitbag:toolkit@0.1: {0:#}")]
    Link(wasmtime::Error),
}

impl Sandbox {
    /// Starts the engine, the clock that interrupts guests, and the threads for those that compute
    /// for long.
    pub fn new(limits: Limits, egress: Egress) -> Result<Self, EngineError> {
        let engine = engine::start(&limits)?;
        let background = Arc::new(Background::start().map_err(wasmtime::Error::new)?);
        let outbound_auth = OutboundAuth::new(egress.clone());
        let (limits, knowledge, memory) = (Arc::new(limits), None, MemoryBudget::unlimited());
        Ok(Self { engine, background, limits, egress, outbound_auth, knowledge, memory })
    }

    /// Gives calls a knowledge base; without one, whoever uses it traps.
    #[must_use]
    pub fn with_knowledge(self, knowledge: Knowledge) -> Self {
        Self { knowledge: Some(knowledge), ..self }
    }

    /// Bounds the memory of all calls together; without that, each is bounded alone.
    #[must_use]
    pub fn with_memory(self, memory: MemoryBudget) -> Self {
        Self { memory, ..self }
    }

    /// Names the machine code that this engine produces: another engine version or other settings
    /// give another name.
    pub fn code_version(&self) -> String {
        engine::code_version(&self.engine)
    }

    /// Maps machine code from a file and links it against `grants`.
    pub fn load(&self, code: &Path, grants: &Grants) -> Result<Loaded, LoadError> {
        let component = map(&self.engine, code).map_err(LoadError::Code)?;
        let runner = linker::granted(&self.engine, grants)
            .and_then(|linker| Runner::new(self, &linker, &component, grants.clone()))
            .map_err(LoadError::Link)?;
        Ok(Loaded { runner: Arc::new(runner) })
    }

    /// The bounds under which a component is asked for its declaration.
    pub fn describe_limits(&self) -> DescribeLimits {
        DescribeLimits::of(&self.limits)
    }

    /// Starts the engine for extractors. They share the threads of toolkits that compute for long.
    pub fn for_extractors(&self, limits: ExtractionLimits) -> Result<ExtractorSandbox, EngineError> {
        ExtractorSandbox::start(self.background.clone(), limits)
    }
}

impl Loaded {
    /// Begins the trail of one call. Whoever keeps it can read what a call did that never finished.
    pub fn new_trail(&self) -> Trail {
        self.runner.new_trail()
    }

    /// Runs one call to its end, and says how it ended. Dropping the future ends the guest.
    pub async fn call(&self, invocation: Invocation, trail: &Trail) -> Report {
        self.runner.clone().run(invocation, trail).await
    }
}

/// Maps machine code into memory.
#[expect(unsafe_code, reason = "machine code cannot be checked; it is never accepted from outside")]
fn map(engine: &Engine, code: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file was written by an engine of this very version and settings, and nobody but the
    // server's own user can have changed it: it is either fresh, with mode 0600, or open already and
    // its seal was checked. wasmtime checks version and settings.
    unsafe { Component::deserialize_file(engine, code) }
}
