//! Questions to the calling user: form schemas derived from types, and possible outcomes.

use kitbag_manifest::asking;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RestrictFormats;
use serde_json::{Map, Value, json};

/// Outcome of a question asked with [`Ctx::ask`](crate::Ctx::ask).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked<T> {
    /// The user submitted the form; the value fits its schema.
    Accepted(T),
    /// The user declined to answer.
    Declined,
    /// The user dismissed the form, or did not answer in time.
    Cancelled,
}

impl<T> Asked<T> {
    /// Returns the submitted value; `None` if the user declined or cancelled.
    pub fn accepted(self) -> Option<T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Declined | Self::Cancelled => None,
        }
    }

    /// Converts the submitted value, if there is one.
    pub(crate) fn try_map<U, E>(self, convert: impl FnOnce(T) -> Result<U, E>) -> Result<Asked<U>, E> {
        Ok(match self {
            Self::Accepted(value) => Asked::Accepted(convert(value)?),
            Self::Declined => Asked::Declined,
            Self::Cancelled => Asked::Cancelled,
        })
    }
}

/// Reason why a question could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The calling client does not support forms (elicitation in form mode).
    #[error("{}", asking::UNSUPPORTED)]
    Unsupported,
    /// The question breaks a rule. The text names the rule and the path of the offending field.
    #[error("{}", asking::refused(.0))]
    Invalid(String),
}

/// Returns the form schema for a struct `T`. Its fields may be strings, numbers, booleans, unit-variant enums
/// and lists of such enums; an `Option` is an optional field.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|it| it.inline_subschemas = true);
    let settings = settings.with_transform(RestrictFormats::default());
    let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let fields: Map<_, _> = properties.into_iter().map(|(name, schema)| (name, field(schema))).collect();
    let mut form = json!({ "type": "object", "properties": fields });
    for member in ["description", "required"] {
        if let Some(value) = schema.get(member) {
            form[member] = value.clone();
        }
    }
    form
}

/// Converts the schema of a field to the subset that MCP elicitation allows.
fn field(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else { return schema };
    // `Option<Enum>`: keeps the branch that is not null.
    let is_some = |it: &&Value| it["type"] != "null";
    if let Some(some) = schema.get("anyOf").and_then(Value::as_array).and_then(|all| all.iter().find(is_some))
    {
        let mut inner = field(some.clone());
        if let (Some(description), Some(inner)) = (schema.get("description"), inner.as_object_mut()) {
            inner.entry("description").or_insert_with(|| description.clone());
        }
        return inner;
    }
    schema.retain(|member, value| member != "default" || !value.is_null());
    // `Option` of a simple type: `["string", "null"]` becomes `"string"`.
    if let Some(Value::Array(types)) = schema.get("type")
        && let Some(some) = types.iter().find(|it| *it != "null").cloned()
    {
        schema.insert("type".to_owned(), some);
    }
    if let Some(Value::Array(choices)) = schema.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    // Enums whose variants have descriptions.
    if let Some(Value::Array(variants)) = schema.get("oneOf") {
        let choices = titled(variants);
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("oneOf".to_owned(), choices);
    }
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        if let Some(Value::Array(variants)) = items.get("oneOf") {
            *items = Map::from_iter([("anyOf".to_owned(), titled(variants))]);
        }
        items.retain(|member, _| matches!(member.as_str(), "type" | "enum" | "anyOf"));
    }
    Value::Object(schema)
}

/// Returns the choices with titles: each variant's description, or its name if it has none.
fn titled(variants: &[Value]) -> Value {
    let choices = variants.iter().flat_map(|variant| {
        let names = variant["enum"].as_array().cloned().unwrap_or_else(|| vec![variant["const"].clone()]);
        names.into_iter().map(|name| {
            let title = variant.get("description").unwrap_or(&name).clone();
            json!({ "const": name, "title": title })
        })
    });
    choices.collect()
}

#[cfg(test)]
mod tests {
    use kitbag_manifest::question::Question;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    enum Plain {
        OneWay,
        Return,
    }

    #[derive(Deserialize, JsonSchema)]
    enum Described {
        /// By train
        Train,
        Bus,
    }

    /// A trip.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Trip {
        /// Where to.
        city: String,
        days: u8,
        price: Option<f64>,
        sure: bool,
        kind: Plain,
        other: Option<Plain>,
        by: Described,
        also: Vec<Described>,
        tags: Option<Vec<Plain>>,
    }

    #[test]
    fn a_type_of_flat_fields_makes_a_form() {
        let schema = schema::<Trip>();

        let question = Question::check("trip", "Where to?", &schema.to_string());

        assert!(question.is_ok(), "{schema:#}: {question:?}");
        assert_eq!(schema["description"], "A trip.");
        assert_eq!(schema["required"], json!(["city", "days", "sure", "kind", "by", "also"]));
        assert_eq!(schema["properties"]["city"], json!({ "type": "string", "description": "Where to." }));
        assert_eq!(schema["properties"]["days"], json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
        assert_eq!(schema["properties"]["price"], json!({ "type": "number" }));
        assert_eq!(schema["properties"]["kind"], json!({ "type": "string", "enum": ["oneWay", "return"] }));
        assert_eq!(schema["properties"]["other"], schema["properties"]["kind"]);
        let titled = json!([{ "const": "Bus", "title": "Bus" }, { "const": "Train", "title": "By train" }]);
        assert_eq!(schema["properties"]["by"], json!({ "type": "string", "oneOf": titled }));
        assert_eq!(schema["properties"]["also"], json!({ "type": "array", "items": { "anyOf": titled } }));
    }

    #[test]
    fn a_type_that_is_no_form_is_refused_by_the_rules() {
        #[derive(Deserialize, JsonSchema)]
        #[expect(dead_code, reason = "only its schema matters")]
        struct Nested {
            trip: Trip,
        }

        let schema = schema::<Nested>();

        assert!(Question::check("trip", "Where to?", &schema.to_string()).is_err(), "{schema:#}");
    }
}
