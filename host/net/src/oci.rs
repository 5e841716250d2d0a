//! Components in OCI registries: pulls components that `wkg` or `wasm-to-oci` have pushed, and pushes them in
//! the format of `wkg`.
//!
//! Invariants:
//! - responses are read only up to the announced size or a limit: the announced size of a component is
//!   checked before its first byte is read, and each response has a deadline;
//! - a returned component has the digest that its manifest names, and the manifest the digest that the
//!   reference names;
//! - credentials are read only when a registry requires them, and sent only to it and to the token service
//!   that it names, over TLS or within this machine;
//! - a registry at a public address leads to public addresses alone, and no text of another server's response
//!   is in an error.

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
