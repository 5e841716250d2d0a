//! Reads members of JavaScript objects for the contract's records.

use rquickjs::{FromJs, Object, Result};

use crate::values::Text;

/// Returns a member as text; `None` if it is undefined or null.
pub(super) fn text(object: &Object<'_>, name: &str) -> Result<Option<String>> {
    Ok(object.get::<_, Option<Text>>(name)?.map(|Text(text)| text))
}

/// Returns a member as text; an error if it is missing.
pub(super) fn required(object: &Object<'_>, name: &str) -> Result<String> {
    Ok(object.get::<_, Text>(name)?.0)
}

/// Returns the items of a member that is a list; empty if it is undefined or null.
pub(super) fn list<'js, T: FromJs<'js>>(object: &Object<'js>, name: &str) -> Result<Vec<T>> {
    Ok(object.get::<_, Option<Vec<T>>>(name)?.unwrap_or_default())
}
