//! Numerical code of the knowledge base: embeddings of texts, and similarity search over many vectors.
//!
//! A separate crate, because its loops need optimisation whatever the profile of the host is. It does no I/O,
//! does not block, and owns no threads.

pub mod bert;
mod bytes;
pub mod rows;
