//! Statements that may read all of a table that grows.

/// A beginning or another part of a statement, the table, and why it may.
pub(crate) type Exception = (&'static str, &'static str, &'static str);

/// All of them.
pub(crate) const EXCEPTIONS: [Exception; 0] = [];
