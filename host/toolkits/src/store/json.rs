//! Values in text columns.

use serde::{Deserialize, Serialize};

use crate::error::ToolkitError;

pub(super) fn to_json(value: &impl Serialize) -> Result<String, ToolkitError> {
    serde_json::to_string(value).map_err(|error| ToolkitError::Storage(error.to_string()))
}

pub(super) fn from_json<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, ToolkitError> {
    serde_json::from_str(text).map_err(|error| ToolkitError::Storage(error.to_string()))
}
