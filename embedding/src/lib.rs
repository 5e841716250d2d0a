//! Numbers of the knowledge base: texts as vectors, and how near many vectors are to one.
//!
//! A crate of its own, because its loops need optimisation whatever the profile of the host is. Nothing in it reads a
//! file, waits or keeps a thread.

pub mod bert;
mod bytes;
pub mod rows;
