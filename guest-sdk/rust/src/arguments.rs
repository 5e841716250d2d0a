//! JSON text into typed values, with the path of what does not fit.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

/// The arguments of a tool that takes none.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct NoArgs {}

/// Why a text is not the value that was expected.
#[derive(Debug)]
pub(crate) enum Misfit {
    /// It is no JSON.
    Malformed(String),
    /// It is JSON of another shape; begins with the JSON Pointer of the place.
    Shape(String),
}

/// Reads a whole JSON text.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Misfit> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = pointer(error.path());
        let inner = error.into_inner();
        if inner.is_data() {
            Misfit::Shape(format!("{path}: {inner}"))
        } else {
            Misfit::Malformed(inner.to_string())
        }
    })?;
    reader.end().map_err(|error| Misfit::Malformed(error.to_string()))?;
    Ok(value)
}

/// Spells a path as a JSON Pointer (RFC 6901); the root is `/`.
fn pointer(path: &Path) -> String {
    let mut spelled = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => spelled.extend(["/", &index.to_string()]),
            Segment::Map { key } => spelled.extend(["/", &key.replace('~', "~0").replace('/', "~1")]),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    if spelled.is_empty() { "/".to_owned() } else { spelled }
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
        let Err(Misfit::Shape(message)) = parse::<Order>(r#"{"items":[1,900]}"#) else {
            panic!("900 is no u8");
        };

        assert!(message.starts_with("/items/1: "), "{message}");
    }

    #[test]
    fn what_is_no_json_is_malformed() {
        for text in ["", "<html>", r#"{"items":[1"#, r#"{"items":[]} x"#] {
            assert!(matches!(parse::<Order>(text), Err(Misfit::Malformed(_))), "{text:?}");
        }
    }
}
