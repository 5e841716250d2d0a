//! Generates JSON Schemas (draft 2020-12) of arguments and structured results on demand.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{ReplaceBoolSchemas, RestrictFormats};
use serde_json::Value;

/// Returns the schema of the JSON that `T` deserializes from.
pub(crate) fn input<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// Returns the schema of the JSON that `T` serializes to.
pub(crate) fn output<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    // Rust's number formats ("uint32") are not part of the JSON Schema standard.
    let settings = settings.with_transform(RestrictFormats::default());
    // Some clients refuse all tools of a server that lists a boolean as the schema of a property.
    let mut objects_only = ReplaceBoolSchemas::default();
    objects_only.skip_additional_properties = true;
    let settings = settings.with_transform(objects_only);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();

    // Not useful to a model: the draft, which the protocol fixes, and the type's Rust name.
    schema.remove("$schema");
    if schema.get("title").and_then(Value::as_str) == Some(&T::schema_name()) {
        schema.remove("title");
    }
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::NoArgs;

    /// Where to look.
    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Query {
        /// Words to find.
        text: String,
        #[serde(default = "ten")]
        limit: u32,
        since: Option<String>,
    }

    fn ten() -> u32 {
        10
    }

    #[test]
    fn arguments_show_what_a_model_reads_and_nothing_else() {
        assert_eq!(
            input::<Query>(),
            json!({
                "type": "object",
                "description": "Where to look.",
                "properties": {
                    "text": { "type": "string", "description": "Words to find." },
                    "limit": { "type": "integer", "minimum": 0, "default": 10 },
                    "since": { "type": ["string", "null"] },
                },
                "required": ["text"],
            })
        );
    }

    #[test]
    fn a_field_of_any_type_has_no_boolean_as_its_schema() {
        #[derive(Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        struct Anything {
            #[expect(dead_code, reason = "only its schema matters")]
            value: Value,
        }

        let schema = input::<Anything>();

        assert_eq!(schema["properties"]["value"], json!({}));
        assert_eq!(schema["additionalProperties"], false);
    }

    #[test]
    fn a_result_always_has_the_fields_that_are_always_written() {
        assert_eq!(output::<Query>()["required"], json!(["text", "limit", "since"]));
    }

    #[test]
    fn a_tool_without_arguments_takes_an_object() {
        assert_eq!(input::<NoArgs>()["type"], "object");
    }
}
