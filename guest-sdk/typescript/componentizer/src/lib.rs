//! Makes a component from the engine (a core module) and the engine's memory after it has run a toolkit's
//! bundle.
//!
//! Compiled to WebAssembly, it is part of the npm package of the TypeScript SDK and runs in Node.js, as the
//! engine does when it runs the bundle. Its exports are `allocate` and `componentize`.

#[cfg(target_family = "wasm")]
mod exports;
mod snapshot;

use anyhow::{Context, Result};
use wit_component::ComponentEncoder;

pub use snapshot::{Snapshot, snapshot};

/// Makes a component whose initial memory is `memory`. It keeps the engine's imports from interfaces that
/// `is_granted` accepts, given the full name with version; every other import becomes a function that traps.
pub fn componentize(engine: &[u8], memory: &[u8], is_granted: impl Fn(&str) -> bool) -> Result<Vec<u8>> {
    let module = snapshot(&Snapshot { engine, memory, is_granted })?;
    ComponentEncoder::default()
        .module(&module)
        .context("the engine does not say which world it is for")?
        .encode()
        .context("the engine is no component of its world")
}
