//! JSON Schema of the manifest, and parsing of manifests.

use std::sync::LazyLock;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use jsonschema::{JsonType, ValidationError, Validator};
use schemars::generate::SchemaSettings;
use semver::Version;
use serde_json::{Map, Value};

use crate::json::{Measure, measure};
use crate::{Problems, ToolkitDefinition};

/// Version of Kitbag that defines this manifest format.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Maximum number of JSON values in a manifest. A value takes some 30 bytes once it is parsed.
const MAX_VALUES: usize = 200_000;
/// Maximum number of reported problems.
const MAX_PROBLEMS: usize = 100;
/// Maximum nesting depth of a manifest: 120 levels for a schema, and 3 around it. JSON parsers stop at 128
/// levels, and replies that list tools add some levels around a schema too.
const MAX_LEVELS: usize = 123;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<ToolkitDefinition>();
    schema.insert("title".to_owned(), "Manifest of a Kitbag toolkit".into());
    schema.to_value()
});

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&SCHEMA).expect("the schema of the manifest is valid"));

/// Returns the JSON Schema (2020-12) of the manifest: its members and their types.
/// [`validate`](crate::validate) checks further rules.
pub fn json_schema() -> &'static Value {
    &SCHEMA
}

/// Parses a manifest.
///
/// # Errors
///
/// All violations of [`json_schema`], or the one reason why the text was not parsed.
pub fn parse(json: &str) -> Result<ToolkitDefinition, Problems> {
    let Measure { values, levels } = measure(json.as_bytes(), MAX_VALUES);
    if levels > MAX_LEVELS {
        return Err(whole(format!("is nested {levels} levels deep, and {MAX_LEVELS} may be")));
    }
    if values > MAX_VALUES {
        return Err(whole(format!("has more than {MAX_VALUES} values")));
    }
    let manifest: Value =
        serde_json::from_str(json).map_err(|error| whole(format!("is not valid JSON: {error}")))?;
    let mut problems = Problems::default();
    for error in VALIDATOR.iter_errors(&manifest).take(MAX_PROBLEMS) {
        add(&error, &manifest, &mut problems);
    }
    problems.0.truncate(MAX_PROBLEMS);
    if !problems.0.is_empty() {
        return Err(problems);
    }
    serde_json::from_value(manifest).map_err(|error| whole(error.to_string()))
}

fn whole(message: String) -> Problems {
    let mut problems = Problems::default();
    problems.add("(root)", message);
    problems
}

/// Converts a validation error to problems.
fn add(error: &ValidationError<'_>, manifest: &Value, problems: &mut Problems) {
    let path = path(error);
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            let message = unknown(error, manifest);
            for name in unexpected.iter().take(MAX_PROBLEMS) {
                problems.add(member(&path, name), &message);
            }
        }
        ValidationErrorKind::Required { property } => {
            problems.add(member(&path, property.as_str().unwrap_or_default()), "is required");
        }
        ValidationErrorKind::Type { kind } => problems.add(non_empty(path), expected(kind)),
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let branches = context.iter().filter(|errors| !is_about_null(errors));
            let constants: Vec<_> = branches.clone().flatten().flat_map(constants_of).collect();
            if constants.is_empty() {
                for error in branches.flatten() {
                    add(error, manifest, problems);
                }
            } else {
                problems.add(non_empty(path), one_of(&constants));
            }
        }
        ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => {
            problems.add(non_empty(path), one_of(&constants_of(error)));
        }
        _ => problems.add(non_empty(path), error.masked().to_string()),
    }
}

/// Whether a branch of a choice accepts only null, which stands for an absent value.
fn is_about_null(errors: &[ValidationError<'_>]) -> bool {
    let is_null = |kind: &ValidationErrorKind| {
        matches!(kind, ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Null) })
    };
    errors.iter().all(|error| is_null(error.kind()))
}

fn constants_of(error: &ValidationError<'_>) -> Vec<String> {
    match error.kind() {
        ValidationErrorKind::Constant { expected_value } => vec![expected_value.to_string()],
        ValidationErrorKind::Enum { options } => {
            options.as_array().into_iter().flatten().map(Value::to_string).collect()
        }
        _ => Vec::new(),
    }
}

fn one_of(constants: &[String]) -> String {
    match constants {
        [only] => format!("must be {only}"),
        all => format!("must be one of: {}", all.join(", ")),
    }
}

fn expected(kind: &TypeKind) -> &'static str {
    let is = |expected| match kind {
        TypeKind::Single(only) => *only == expected,
        TypeKind::Multiple(all) => all.contains(expected),
    };
    if is(JsonType::String) {
        "must be a string"
    } else if is(JsonType::Boolean) {
        "must be true or false"
    } else if is(JsonType::Array) {
        "must be a list"
    } else {
        "must be an object"
    }
}

/// Returns the message about unknown fields. It names the version that the manifest was written for if that
/// is newer than this one, else the known fields.
fn unknown(error: &ValidationError<'_>, manifest: &Value) -> String {
    let written_for = manifest["kitbag"].as_str().and_then(|version| Version::parse(version).ok());
    if let Some(newer) = written_for.filter(|version| Version::parse(VERSION).is_ok_and(|own| *version > own))
    {
        return format!(
            "there is no such field in Kitbag {VERSION}; the toolkit was made for Kitbag {newer}: use a server of that version"
        );
    }
    let names = fields_at(error, manifest)
        .map(|fields| fields.keys().map(String::as_str).collect::<Vec<_>>().join(", "));
    match names {
        Some(names) => format!("there is no such field; there are {names}"),
        None => "there is no such field".to_owned(),
    }
}

/// Returns the schema's `properties` at the location of an error.
fn fields_at(error: &ValidationError<'_>, manifest: &Value) -> Option<&'static Map<String, Value>> {
    let mut schema = resolved(&SCHEMA, manifest);
    let mut value = manifest;
    for segment in error.instance_path() {
        let below;
        (below, value) = match segment {
            LocationSegment::Index(index) => (schema.get("items")?, value.get(index)?),
            LocationSegment::Property(name) => {
                let property = schema.get("properties").and_then(|known| known.get(&*name));
                (property.or_else(|| schema.get("additionalProperties"))?, value.get(&*name)?)
            }
        };
        schema = resolved(below, value);
    }
    schema.get("properties")?.as_object()
}

/// Resolves a schema to the part that describes a value: follows references, the first branch of `anyOf` (an
/// optional value), and conditions.
fn resolved(mut schema: &'static Value, value: &Value) -> &'static Value {
    loop {
        let target =
            schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
        let choice = schema.get("anyOf").and_then(|choices| choices.get(0));
        let kind = schema.get("allOf").and_then(Value::as_array).and_then(|conditions| {
            let meant = |it: &&Value| it["if"]["properties"]["type"]["const"] == value["type"];
            conditions.iter().find(meant).map(|it| &it["then"])
        });
        let branch = if value.is_array() { "then" } else { "else" };
        let next =
            target.and_then(|pointer| SCHEMA.pointer(pointer)).or(choice).or(kind).or(schema.get(branch));
        let Some(next) = next else { return schema };
        schema = next;
    }
}

/// Returns the path of an error, such as `tools[2].name`; empty for the manifest itself.
fn path(error: &ValidationError<'_>) -> String {
    error.instance_path().into_iter().fold(String::new(), |path, segment| match segment {
        LocationSegment::Index(index) => format!("{path}[{index}]"),
        LocationSegment::Property(name) => member(&path, &name),
    })
}

fn member(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn non_empty(path: String) -> String {
    if path.is_empty() { "(root)".to_owned() } else { path }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn least() -> Value {
        json!({
            "id": "books", "name": "Books", "description": "Finds books.", "icon": "📚", "version": "1.0.0",
            "tools": [{ "name": "find", "description": "Finds a book.", "inputSchema": { "type": "object" } }],
        })
    }

    /// Returns the problems of the minimal manifest with some members added or replaced.
    fn problems(change: &Value) -> Vec<String> {
        let mut manifest = least();
        for (name, value) in change.as_object().expect("an object") {
            manifest[name] = value.clone();
        }
        parse(&manifest.to_string())
            .err()
            .map_or_else(Vec::new, |it| it.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn every_place_that_does_not_fit_is_told_with_what_is_expected() {
        assert_eq!(problems(&json!({})), [""; 0]);
        let found = problems(&json!({
            "id": 3, "egress": "api.example", "visibility": "public", "author": null,
            "tools": [{ "name": "find", "inputSchema": {}, "mutating": "yes" }, "find"],
            "config": { "language": { "type": "text", "label": "Language" } },
            "auth": { "type": "digest", "tokenUrl": "u", "clientIdSecret": "I", "clientSecretSecret": "S", "apiHost": "h" },
        }));

        let mut found = found;
        found.sort();
        assert_eq!(
            found,
            [
                "auth.type: must be one of: \"oauth2_client_credentials\", \"oauth2_authorization_code\", \"api_key\", \"basic\"",
                "config.language.type: must be one of: \"string\", \"number\", \"boolean\", \"select\"",
                "egress: must be a list",
                "id: must be a string",
                "tools[0].description: is required",
                "tools[0].mutating: must be true or false",
                "tools[1]: must be an object",
                "visibility: must be one of: \"private\", \"shared\"",
            ]
        );
    }

    #[test]
    fn a_field_that_is_not_known_is_refused_by_name() {
        let hints = json!({ "readOnlyHint": true, "readonly": true });
        let tool = json!({ "name": "a", "description": "b", "inputSchema": {}, "annotations": hints, "cached": true });

        let mut found = problems(&json!({ "secret": [], "skills": [], "tools": [tool] }));

        found.sort();
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].contains("secrets"), "{found:?}");
        assert!(found[1].starts_with("skills: there is no such field; there are "), "{found:?}");
        assert_eq!(
            found[2],
            "tools[0].annotations.readonly: there is no such field; there are destructiveHint, idempotentHint, openWorldHint, readOnlyHint"
        );
        assert!(
            found[3].starts_with("tools[0].cached: there is no such field; there are alwaysOn, "),
            "{found:?}"
        );
    }

    #[test]
    fn of_a_sign_in_what_is_wrong_with_the_type_that_was_meant_is_told() {
        let basic =
            json!({ "type": "basic", "usernameSecret": "U", "passwordSecret": "P", "apiHost": "a.example" });
        assert_eq!(problems(&json!({ "auth": basic })), [""; 0]);
        assert_eq!(
            problems(
                &json!({ "auth": [basic, { "type": "api_key", "secret": "K", "in": "query", "apiHost": "b" }] })
            ),
            [""; 0]
        );
        for (auth, expected) in [
            (
                json!({ "type": "basic", "usernameSecret": "U", "apiHost": "a" }),
                "auth.passwordSecret: is required",
            ),
            (
                json!([basic, { "type": "api_key", "secret": 1, "apiHost": "b" }]),
                "auth[1].secret: must be a string",
            ),
            (
                json!([{ "type": "api_key", "secret": "K", "in": "body", "apiHost": "b" }]),
                "auth[0].in: must be one of: \"header\", \"query\"",
            ),
            (
                json!([{ "type": "api_key", "secret": "K", "apiHost": "b", "tokenUrl": "u" }]),
                "auth[0].tokenUrl: there is no such field; there are apiHost, in, name, prefix, secret, type",
            ),
            (json!({ "secret": "K" }), "auth.type: is required"),
            (json!("basic"), "auth: must be an object"),
        ] {
            assert_eq!(problems(&json!({ "auth": auth })), [expected], "{auth}");
        }
        assert_eq!(problems(&json!({ "auth": [] })).len(), 1);
        assert_eq!(problems(&json!({ "auth": vec![basic; 9] })).len(), 1);
    }

    #[test]
    fn of_a_newer_manifest_the_version_that_knows_its_fields_is_named() {
        let message = "skills: there is no such field in Kitbag 0.1.0; the toolkit was made for Kitbag 7.1.0: use a server of that version";
        assert_eq!(
            problems(&json!({ "kitbag": "7.1.0", "skills": [] })),
            [message.replace("0.1.0", VERSION)]
        );
        // A newer version alone, without an unknown field, is not a problem.
        assert_eq!(problems(&json!({ "kitbag": "7.1.0" })), [""; 0]);
        for version in [VERSION, "0.0.1", "new"] {
            let found = problems(&json!({ "kitbag": version, "skills": [] }));
            assert!(found[0].starts_with("skills: there is no such field; there are"), "{found:?}");
        }
    }

    #[test]
    fn problems_are_few_however_many_there_are() {
        let many: Map<String, Value> = (0..5000).map(|index| (format!("f{index}"), json!(1))).collect();

        assert_eq!(problems(&Value::Object(many)).len(), MAX_PROBLEMS);
        assert_eq!(problems(&json!({ "tools": vec![json!(1); 5000] })).len(), MAX_PROBLEMS);
    }

    #[test]
    fn what_is_no_manifest_at_all_is_told_as_that() {
        for (text, expected) in [
            ("", "(root): is not valid JSON"),
            ("[]", "(root): must be an object"),
            (&format!("{}1{}", "[".repeat(500), "]".repeat(500)), "(root): is nested 500 levels deep"),
            (&format!("[{}0]", "0,".repeat(1_000_000)), "(root): has more than 200000 values"),
        ] {
            let found = parse(text).expect_err("it is no manifest").to_string();
            assert!(found.starts_with(expected) && !found.contains('\n'), "{found}");
        }
    }
}
