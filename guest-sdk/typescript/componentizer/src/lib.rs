//! From the engine, a core module, and the memory that it had once it ran a toolkit's bundle, to a component.
//!
//! Compiled to WebAssembly it travels in the npm package of the TypeScript SDK, and runs where the engine ran: in
//! Node.js. Its exports are `allocate` and `componentize`.

#[cfg(target_family = "wasm")]
mod exports;
mod snapshot;

use anyhow::{Context, Result};
use wit_component::ComponentEncoder;

pub use snapshot::{Snapshot, snapshot};

/// Makes a component that begins with `memory`. Of the engine's imports it has those whose interface `is_granted`
/// accepts by its full name, with the version; every other one is a function that traps.
pub fn componentize(engine: &[u8], memory: &[u8], is_granted: impl Fn(&str) -> bool) -> Result<Vec<u8>> {
    let module = snapshot(&Snapshot { engine, memory, is_granted })?;
    ComponentEncoder::default()
        .module(&module)
        .context("the engine does not say which world it is for")?
        .encode()
        .context("the engine is no component of its world")
}
