//! Statement parameters.

use std::borrow::Cow;

/// A parameter of a statement. `None` is `NULL`.
pub enum Value<'v> {
    /// An integer.
    Integer(Option<i64>),
    /// A boolean.
    Boolean(bool),
    /// A string.
    Text(Option<Cow<'v, str>>),
    /// A byte string.
    Bytes(Option<Cow<'v, [u8]>>),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(Some(value))
    }
}

impl From<u32> for Value<'_> {
    fn from(value: u32) -> Self {
        i64::from(value).into()
    }
}

impl From<Option<i64>> for Value<'_> {
    fn from(value: Option<i64>) -> Self {
        Self::Integer(value)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(value: &'v str) -> Self {
        Some(value).into()
    }
}

impl<'v> From<Option<&'v str>> for Value<'v> {
    fn from(value: Option<&'v str>) -> Self {
        Self::Text(value.map(Cow::Borrowed))
    }
}

impl<'v> From<&'v String> for Value<'v> {
    fn from(value: &'v String) -> Self {
        value.as_str().into()
    }
}

impl<'v> From<&'v Option<String>> for Value<'v> {
    fn from(value: &'v Option<String>) -> Self {
        value.as_deref().into()
    }
}

impl From<String> for Value<'_> {
    fn from(value: String) -> Self {
        Some(value).into()
    }
}

impl From<Option<String>> for Value<'_> {
    fn from(value: Option<String>) -> Self {
        Self::Text(value.map(Cow::Owned))
    }
}

impl<'v> From<&'v [u8]> for Value<'v> {
    fn from(value: &'v [u8]) -> Self {
        Self::Bytes(Some(Cow::Borrowed(value)))
    }
}

impl<'v> From<&'v Vec<u8>> for Value<'v> {
    fn from(value: &'v Vec<u8>) -> Self {
        value.as_slice().into()
    }
}

impl<'v> From<&'v Option<Vec<u8>>> for Value<'v> {
    fn from(value: &'v Option<Vec<u8>>) -> Self {
        Self::Bytes(value.as_deref().map(Cow::Borrowed))
    }
}

impl From<Vec<u8>> for Value<'_> {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(Some(Cow::Owned(value)))
    }
}
