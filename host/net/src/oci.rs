//! Components in registries of the OCI distribution specification: pulls them as `wkg` and `wasm-to-oci` have pushed them, and
//! pushes them so that `wkg` pulls them.
//!
//! Invariants:
//! - of a registry's answers, no more is read than has been said before, or than the limit: sizes are compared before a byte of a
//!   component is read, and each answer has a deadline;
//! - what is returned has the digest that the manifest names, and the manifest the one that the reference names;
//! - credentials are read when a registry asks for them, and sent to it and to the token service that it names, over TLS or on this
//!   machine.

mod answer;
mod artifact;
mod authorization;
mod credential;
mod error;
mod newest;
mod push;
mod reference;
mod registry;
mod sending;
#[cfg(test)]
mod tests;

pub use artifact::{Artifact, SignatureText};
pub use error::RegistryError;
pub use push::Pushed;
pub use reference::{ContentDigest, InvalidReference, PinnedReference, Reference, SCHEME};
pub use registry::{Pulled, Registry};
