//! Builder for statements of variable text, such as inserts of many rows.

use super::statement::{Statement, Text};
use super::value::Value;

/// Builder for a statement made of text and parameters. Values never become part of the text.
pub struct StatementBuilder<'v> {
    text: String,
    /// Byte offsets in `text` at which a parameter is inserted.
    places: Vec<usize>,
    values: Vec<Value<'v>>,
}

/// Maximum number of rows per statement.
const MAX_BATCH_ROWS: usize = 128;

/// Splits rows into batches for one statement each. Their lengths are powers of two, so that few statements have to be
/// prepared, and all fit into the cache of prepared statements.
pub fn batches<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let exponent = rows.len().min(MAX_BATCH_ROWS).checked_ilog2()?;
        let (first, later) = rows.split_at(1 << exponent);
        rows = later;
        Some(first)
    })
}

/// Builder for one row of a `VALUES` list.
pub struct RowBuilder<'b, 'v> {
    statement: &'b mut StatementBuilder<'v>,
    separator: &'static str,
}

impl<'v> StatementBuilder<'v> {
    /// Creates a builder with this text as the beginning.
    pub fn new(text: &'static str) -> Self {
        Self::of(text.to_owned())
    }

    /// As [`new`](Self::new), for text composed within this crate.
    pub(super) fn of(text: String) -> Self {
        Self { text, places: Vec::new(), values: Vec::new() }
    }

    /// Appends text.
    pub fn push(&mut self, text: &'static str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Appends a parameter with its value.
    pub fn push_bind(&mut self, value: impl Into<Value<'v>>) -> &mut Self {
        self.places.push(self.text.len());
        self.values.push(value.into());
        self
    }

    /// Appends `VALUES` with a row for each item. Requires at least one item.
    pub fn push_values<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut add: impl FnMut(RowBuilder<'_, 'v>, T),
    ) -> &mut Self {
        let mut before = "VALUES (";
        for item in items {
            self.push(before);
            add(RowBuilder { statement: self, separator: "" }, item);
            self.push(")");
            before = ", (";
        }
        self
    }

    /// Returns the finished statement.
    pub fn build(self) -> Statement<'v> {
        Statement::new(Text::Parts(self.text, self.places), self.values)
    }
}

impl<'v> RowBuilder<'_, 'v> {
    /// Appends a parameter with its value.
    pub fn push_bind(&mut self, value: impl Into<Value<'v>>) -> &mut Self {
        self.statement.push(self.separator).push_bind(value);
        self.separator = ", ";
        self
    }
}
