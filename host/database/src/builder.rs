//! Statements whose text depends on what they are about, such as those that insert many rows.

use super::statement::{Statement, Text};
use super::value::Value;

/// A statement that is put together from parts. Values never become part of the text.
pub struct StatementBuilder<'v> {
    text: String,
    /// Where in the text a parameter follows.
    places: Vec<usize>,
    values: Vec<Value<'v>>,
}

/// One row of values.
pub struct RowBuilder<'b, 'v> {
    statement: &'b mut StatementBuilder<'v>,
    separator: &'static str,
}

impl<'v> StatementBuilder<'v> {
    /// A statement that begins with this text.
    pub fn new(text: &'static str) -> Self {
        Self::of(text.to_owned())
    }

    /// A statement that begins with a text which this module has put together.
    pub(super) fn of(text: String) -> Self {
        Self { text, places: Vec::new(), values: Vec::new() }
    }

    /// Adds text.
    pub fn push(&mut self, text: &'static str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds a parameter with its value.
    pub fn push_bind(&mut self, value: impl Into<Value<'v>>) -> &mut Self {
        self.places.push(self.text.len());
        self.values.push(value.into());
        self
    }

    /// Adds `VALUES` with a row for each item. There must be at least one.
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

    /// The statement.
    pub fn build(self) -> Statement<'v> {
        Statement::new(Text::Parts(self.text, self.places), self.values)
    }
}

impl<'v> RowBuilder<'_, 'v> {
    pub fn push_bind(&mut self, value: impl Into<Value<'v>>) -> &mut Self {
        self.statement.push(self.separator).push_bind(value);
        self.separator = ", ";
        self
    }
}
