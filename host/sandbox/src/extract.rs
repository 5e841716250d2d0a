//! Extractors: components that extract the text of an untrusted file, and can do nothing else.
//!
//! Invariant: an extractor has no access to anything. No capability is linked, its output is discarded, and
//! each file is read by a new instance.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;
use wasmtime::component::{Linker, ResourceTable};
use wasmtime::{Engine, Store, Trap};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::background::Background;
use super::limits::Meter;
use super::{EngineError, LoadError, engine, linker, map};
use crate::contract::{ExtractError, Extracted, LinkedExtractor};

/// Maximum number of elements of each table: large parsers have thousands of functions.
const MAX_TABLE_ELEMENTS: usize = 100_000;
/// Maximum number of handles to host resources; an extractor needs none.
const MAX_RESOURCES: usize = 16;
/// Maximum number of random bytes per request.
const MAX_RANDOM_BYTES: u64 = 64 << 10;
/// Maximum size of the data returned besides the text (a title, a reason), in bytes.
const TEXT_OVERHEAD_BYTES: usize = 64 << 10;

/// Limits for one file. Sizes are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct ExtractionLimits {
    /// Maximum wall time.
    pub time: Duration,
    /// Maximum linear memory, the sum of all memories of an instance.
    pub memory: usize,
    /// Maximum size of the text.
    pub text: usize,
}

/// The engine for extractors, with its limits. Clones share it.
#[derive(Clone)]
pub struct ExtractorSandbox {
    engine: Engine,
    background: Background,
    limits: ExtractionLimits,
}

/// A linked extractor, which can be instantiated repeatedly. Clones share it.
#[derive(Clone)]
pub struct Extractor {
    linked: Arc<LinkedExtractor<ExtractorData>>,
    sandbox: ExtractorSandbox,
}

/// Reason why a file was not read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ExtractionError {
    /// The file violates its format.
    #[error("damaged: {0}")]
    Damaged(String),
    /// The file cannot be read without a password.
    #[error("encrypted")]
    Encrypted,
    /// The file uses a feature that the extractor does not support.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// Extraction exceeded the time limit.
    #[error("not read within {} s", .0.as_secs())]
    Deadline(Duration),
    /// Extraction exceeded this memory limit, in bytes.
    #[error("more memory than {0} bytes")]
    Memory(usize),
    /// The extractor overflowed the stack, because the file is nested too deeply.
    #[error("nested too deeply")]
    Stack,
    /// The extractor trapped, or violated the contract. For the log only.
    #[error("the extractor failed: {0}")]
    Trap(String),
}

impl ExtractorSandbox {
    /// Starts the engine. Extractions that use much CPU time continue on `background`.
    pub fn new(limits: ExtractionLimits, background: Background) -> Result<Self, EngineError> {
        Ok(Self { engine: engine::start_for_extractors()?, background, limits })
    }

    /// Identifies the engine version and settings that machine code depends on.
    pub fn code_version(&self) -> String {
        engine::code_version(&self.engine)
    }

    /// Maps machine code from a file, and links only the imports of language runtimes.
    pub fn load(&self, code: &Path) -> Result<Extractor, LoadError> {
        let component = map(&self.engine, code).map_err(LoadError::Code)?;
        let mut linker = Linker::new(&self.engine);
        let extractor = linker::language_runtime(&mut linker)
            .and_then(|()| linker.instantiate_pre(&component))
            .and_then(LinkedExtractor::new)
            .map_err(LoadError::Link)?;
        Ok(Extractor { linked: Arc::new(extractor), sandbox: self.clone() })
    }
}

impl Extractor {
    /// Extracts the text of a whole file. Dropping the future ends the instance.
    pub async fn extract(&self, file: Bytes) -> Result<Extracted, ExtractionError> {
        let ExtractorSandbox { engine, background, limits } = &self.sandbox;
        let linked = self.linked.clone();
        let limits = *limits;
        let mut store = new_store(engine, limits);
        let guest = async move {
            let outcome = linked.extract(&mut store, &file).await;
            (outcome, store)
        };
        match background.run(limits.time, guest).await {
            Ok((Ok(Ok(extracted)), _store)) => Ok(bounded(extracted, limits.text)),
            Ok((Ok(Err(error)), _store)) => Err(error.into()),
            Ok((Err(error), store)) => Err(fault(&error, store.data(), limits)),
            Err(_elapsed) => Err(ExtractionError::Deadline(limits.time)),
        }
    }
}

/// The state of one store, for one file.
struct ExtractorData {
    meter: Meter,
    table: ResourceTable,
    wasi: WasiCtx,
}

impl WasiView for ExtractorData {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

fn new_store(engine: &Engine, limits: ExtractionLimits) -> Store<ExtractorData> {
    let mut table = ResourceTable::new();
    table.set_max_capacity(MAX_RESOURCES);
    // No directory, no environment, no argument, no standard input, no network; output goes nowhere.
    let wasi = WasiCtx::builder().allow_tcp(false).allow_udp(false).max_random_size(MAX_RANDOM_BYTES).build();
    let meter = Meter::of(limits.memory, MAX_TABLE_ELEMENTS);
    let mut store = Store::new(engine, ExtractorData { meter, table, wasi });
    store.limiter(|state| &mut state.meter);
    store.set_hostcall_fuel(limits.text.saturating_add(TEXT_OVERHEAD_BYTES));
    store.epoch_deadline_async_yield_and_update(1);
    store.set_epoch_deadline(1);
    store
}

/// Cuts the text to `max_bytes`. The extractor should have done this, but is not trusted to.
fn bounded(it: Extracted, max_bytes: usize) -> Extracted {
    let Extracted { title, mut text, truncated } = it;
    let is_longer = text.len() > max_bytes;
    text.truncate(text.floor_char_boundary(max_bytes));
    Extracted { title, text, truncated: truncated || is_longer }
}

fn fault(error: &wasmtime::Error, state: &ExtractorData, limits: ExtractionLimits) -> ExtractionError {
    if state.meter.refused().is_some() {
        return ExtractionError::Memory(limits.memory);
    }
    match error.downcast_ref::<Trap>() {
        // Compilers to WebAssembly place a part of the stack at the beginning of the memory.
        Some(Trap::StackOverflow | Trap::MemoryOutOfBounds) => ExtractionError::Stack,
        _ => ExtractionError::Trap(format!("{error:#}")),
    }
}

impl From<ExtractError> for ExtractionError {
    fn from(error: ExtractError) -> Self {
        match error {
            ExtractError::Damaged(how) => Self::Damaged(how),
            ExtractError::Encrypted => Self::Encrypted,
            ExtractError::Unsupported(what) => Self::Unsupported(what),
        }
    }
}
