//! Code that `derive(FromRow)` generates in crates with stores. It refers to `::sqlx`; those crates depend on
//! this crate under that name, and so on neither a connection nor an engine (docs/decisions/0020).

pub use sqlx::{ColumnIndex, Error, FromRow, Result, Row, decode, types};
