//! What `derive(FromRow)` writes into a crate with stores. It names `::sqlx`; such a crate has this one under that name, and so
//! neither a connection nor an engine (docs/decisions/0020).

pub use sqlx::{ColumnIndex, Error, FromRow, Result, Row, decode, types};
