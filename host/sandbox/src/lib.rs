//! Compiles components and runs them: a new instance for each call, with limits, and linked only to what the
//! declaration grants.
//!
//! Invariant: no state survives a call. Isolation is never traded for speed.
//! Invariant: machine code is loaded only from files that a compiler process of this server, or of an
//! earlier run of it, has written.
//!
//! # Modules
//!
//! - `shape`, `imports`, `refused`: limits on the structure of a component; what it may import; imports that are
//!   always refused
//! - `call`, `instance`, `background`: a fresh instance for each call, and for each captured file
//! - `fault`: why a guest stopped, from the errors of wasmtime
//! - `resources`: measures the host memory of a guest's resources
//! - `extractors`: the installed components that read captured files: locates them, compiles each once, runs
//!   them, and explains failures to users
//! - `installed`: components that the operator installs as files (extractors and `code.wasm`), each compiled
//!   once
//! - `compiler`: untrusted bytes → machine code and declaration, in a separate process with limits;
//!   `compiler/child` is that process, `compiler/confinement` drops its privileges
//! - `capabilities`: what a guest may do, one file each: state, host functions, `add_to_linker`;
//!   `capabilities.rs` lists each once
//! - `contract`: the contracts with toolkits and extractors: one module for each version, with its
//!   bindings and conversions (docs/decisions/0019)
//! - `observations`: what the host observes of one call while it runs: log, traffic, tokens, missing
//!   secrets

mod background;
mod call;
mod call_data;
pub mod capabilities;
mod compile;
pub mod compiler;
pub mod contract;
mod describe;
mod engine;
mod extract;
pub mod extractors;
mod fault;
mod imports;
pub mod installed;
mod instance;
mod instance_pool;
mod io_error;
mod limits;
mod linker;
pub mod observations;
mod refused;
mod resources;
mod shape;

use std::io;
use std::path::Path;
use std::sync::Arc;

use kitbag_base::memory::MemoryBudget;
use thiserror::Error;
use tokio::sync::Semaphore;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use crate::capabilities::{Grants, Services};
pub use crate::contract::{CompletionSubject, Target};
use crate::observations::Observations;
pub use background::Background;
pub use call::{Ended, Fault, Invocation, Report, Stages};
pub use compile::{Compiled, CompilerEngine};
pub use describe::{DescribeError, DescribeLimits};
pub use extract::{ExtractionError, ExtractionLimits, Extractor, ExtractorSandbox};
pub use imports::{ImportError, Imports, Interfaces};
pub use instance::Instance;
pub use instance_pool::InstancePool;
pub use limits::Limits;
pub use refused::is_always_refused;

use call::Runner;
use call_data::CallData;

/// The engine, and the services and limits that calls share.
#[derive(Clone)]
pub struct Sandbox {
    engine: Engine,
    /// Linker with the interfaces of every toolkit, before grants are added.
    linker: Arc<Linker<CallData>>,
    background: Background,
    limits: Arc<Limits>,
    services: Services,
    memory: MemoryBudget,
    /// Slots of the pool of instances.
    slots: Arc<Semaphore>,
}

/// A toolkit's machine code, linked against exactly what it was granted, ready to be instantiated.
#[derive(Clone)]
pub struct Loaded {
    runner: Arc<Runner>,
}

/// The engine did not start, or cannot compile a component. Displayed with all causes.
#[derive(Debug, Error)]
#[error("{0:#}")]
pub struct EngineError(#[from] wasmtime::Error);

impl EngineError {
    /// Whether the operating system refused to allocate memory.
    pub fn is_out_of_memory(&self) -> bool {
        const ENOMEM: i32 = 12;

        let cause = self.0.root_cause();
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.raw_os_error() == Some(ENOMEM))
            || cause.to_string().contains("Cannot allocate memory")
    }
}

/// Reason why machine code could not be loaded.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The file is missing, damaged, or was compiled for another engine version.
    #[error("the machine code cannot be used: {0:#}")]
    Code(wasmtime::Error),
    /// The component imports an interface with a type or version that differs from the contract.
    #[error("the component does not fit the contract {name}: {0:#}", name = contract::NAME)]
    Link(wasmtime::Error),
}

impl Sandbox {
    /// Starts the engine and the clock that interrupts guests. Calls use `services`; those that use much CPU
    /// time continue on `background`.
    pub fn new(limits: Limits, services: Services, background: Background) -> Result<Self, EngineError> {
        let engine = engine::start(&limits)?;
        let linker = Arc::new(linker::for_every_toolkit(&engine)?);
        let slots = Arc::new(Semaphore::new(engine::instance_slots(limits.instances) as usize));
        let limits = Arc::new(limits);
        let memory = MemoryBudget::unlimited();
        Ok(Self { engine, linker, background, limits, services, memory, slots })
    }

    /// Limits the total memory of all calls. By default only each call is limited.
    #[must_use]
    pub fn with_memory(self, memory: MemoryBudget) -> Self {
        Self { memory, ..self }
    }

    /// Identifies the engine version and settings that machine code depends on.
    pub fn code_version(&self) -> String {
        engine::code_version(&self.engine)
    }

    /// Maps machine code from a file and links it against `grants`.
    pub fn load(&self, code: &Path, grants: &Grants) -> Result<Loaded, LoadError> {
        let component = map(&self.engine, code).map_err(LoadError::Code)?;
        let runner = linker::granted(&self.linker, grants, &component)
            .and_then(|linker| Runner::new(self, &linker, &component, grants.clone()))
            .map_err(LoadError::Link)?;
        Ok(Loaded { runner: Arc::new(runner) })
    }

    /// Returns the limits of `describe`.
    pub fn describe_limits(&self) -> DescribeLimits {
        DescribeLimits::of(&self.limits)
    }
}

impl Loaded {
    /// Creates the observations of a call. The caller owns them, so that they survive a cancelled call.
    pub fn new_observations(&self) -> Observations {
        self.runner.new_observations()
    }

    /// Runs one call until it ends, and reports the outcome. Dropping the future ends the guest.
    pub async fn call(&self, invocation: Invocation, observations: &Observations) -> Report {
        self.runner.clone().run(invocation, observations).await
    }
}

/// Maps machine code into memory.
#[expect(unsafe_code, reason = "machine code cannot be checked; it is never accepted from outside")]
fn map(engine: &Engine, code: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file was written by an engine with this version and these settings, which wasmtime
    // checks, and only the server's own user can have changed it: it is either new, with mode 0600, or
    // already open with its seal checked.
    unsafe { Component::deserialize_file(engine, code) }
}
