//! Parses JSON text into typed values. Errors give the path of the value that does not fit.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct NoArgs {}

/// Failure to parse a JSON text as the expected type.
#[derive(Debug)]
pub(crate) enum ParseError {
    /// The text is not valid JSON.
    Malformed(String),
    /// The JSON does not fit the type. The message starts with the JSON Pointer of the offending value.
    Shape(String),
}

/// Parses a JSON text. Trailing data after the value is an error.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, ParseError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = pointer(error.path());
        let inner = error.into_inner();
        if inner.is_data() {
            ParseError::Shape(format!("{path}: {inner}"))
        } else {
            ParseError::Malformed(inner.to_string())
        }
    })?;
    reader.end().map_err(|error| ParseError::Malformed(error.to_string()))?;
    Ok(value)
}

/// Formats a path as a JSON Pointer (RFC 6901); the root is `/`.
fn pointer(path: &Path) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => text.extend(["/", &index.to_string()]),
            Segment::Map { key } => text.extend(["/", &key.replace('~', "~0").replace('/', "~1")]),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    if text.is_empty() { "/".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Order {
        #[expect(dead_code, reason = "only its path matters")]
        items: Vec<u8>,
    }

    #[test]
    fn a_value_of_another_shape_is_named_by_its_path() {
        let Err(ParseError::Shape(message)) = parse::<Order>(r#"{"items":[1,900]}"#) else {
            panic!("900 does not fit a u8");
        };

        assert!(message.starts_with("/items/1: "), "{message}");
    }

    #[test]
    fn what_is_no_json_is_malformed() {
        for text in ["", "<html>", r#"{"items":[1"#, r#"{"items":[]} x"#] {
            assert!(matches!(parse::<Order>(text), Err(ParseError::Malformed(_))), "{text:?}");
        }
    }
}
