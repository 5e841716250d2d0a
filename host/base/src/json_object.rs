//! Deserialization from JSON objects only.

use std::fmt::{self, Formatter};
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A `T` that is deserialized from a JSON object only. Serde's derived structs also accept an array, with its
/// items as the fields in order, which no sender of a request intends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonObject<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Pair<'a> {
        a: &'a str,
        b: Option<JsonObject<Inner>>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        c: u8,
    }

    #[test]
    fn a_list_is_no_object_at_any_depth() {
        let read = |text| serde_json::from_str::<JsonObject<Pair>>(text).map(|JsonObject(pair)| pair);

        let whole = Pair { a: "x", b: Some(JsonObject(Inner { c: 7 })) };
        assert_eq!(read(r#" {"a": "x", "b": {"c": 7}} "#).ok(), Some(whole));
        assert_eq!(read(r#"{"a": "x"}"#).ok(), Some(Pair { a: "x", b: None }));
        for refused in
            [r#"["x", {"c": 7}]"#, r#"{"a": "x", "b": [7]}"#, "null", "\"x\"", r#"{"a": "x", "d": 1}"#]
        {
            assert!(read(refused).is_err(), "{refused}");
        }
        let reason = read(r#"["x"]"#).expect_err("a list").to_string();
        assert!(reason.contains("expected a JSON object"), "{reason}");
    }
}
