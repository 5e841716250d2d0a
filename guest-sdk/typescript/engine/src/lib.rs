//! Engine of toolkits written in TypeScript: `QuickJS`, and those parts of the web platform that are better
//! implemented natively than in JavaScript.
//!
//! A native part is a module that JavaScript imports by name, such as `kitbag:url`. The classes that authors
//! use are written in TypeScript (`guest-sdk/typescript/src/sandbox/web`) on top of these modules.

#![allow(clippy::needless_pass_by_value, reason = "functions that JavaScript calls own their arguments")]

mod compression;
#[cfg(feature = "crypto")]
mod crypto;
mod encoding;
#[cfg(feature = "intl")]
mod intl;
mod rules;
mod runtime;
#[cfg(target_family = "wasm")]
mod sandbox;
mod script;
mod url;
#[cfg_attr(
    not(any(feature = "crypto", target_family = "wasm")),
    allow(dead_code, reason = "some items are used by some variants only")
)]
mod values;

pub use runtime::{Engine, EngineError};
