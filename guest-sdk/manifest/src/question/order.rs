//! Order of a form's fields in the author's JSON text; a parsed JSON map does not preserve it.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Member names of a JSON object, in document order.
#[derive(Default)]
struct Names(Vec<String>);

#[derive(Deserialize)]
struct Form {
    #[serde(default)]
    properties: Names,
}

/// Returns the names of a form's fields in document order; empty if the text is not a form.
pub(super) fn of_fields(schema: &str) -> Vec<String> {
    serde_json::from_str(schema).map(|Form { properties }| properties.0).unwrap_or_default()
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }

        deserializer.deserialize_map(Object)
    }
}
