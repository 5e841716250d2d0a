//! Messages about values that do not fit a schema: where, and what is expected there.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::mismatch::{self, Kind, MAX_LISTED_CHOICES, Meant, Violation};

/// Returns the violations behind an error as `path: what is wrong`, without the offending value itself.
///
/// If no branch of a choice (`anyOf`, `oneOf`) fits, the violations of the branch that was probably meant are
/// returned, as far as it can be determined.
pub(super) fn lines(error: &ValidationError<'_>, value: &Value) -> Vec<String> {
    let (ValidationErrorKind::AnyOf { context: branches }
    | ValidationErrorKind::OneOfNotValid { context: branches }) = error.kind()
    else {
        return vec![line(error, value)];
    };
    let path = error.instance_path().as_str();
    let violations = |branch: &Vec<_>| branch.iter().map(|error| violation(error, path)).collect();
    match mismatch::meant(&branches.iter().map(violations).collect::<Vec<_>>()) {
        Meant::Branch { index, of } => {
            let lines = branches[index].iter().flat_map(|error| lines(error, value));
            lines.map(|line| mismatch::closest(&line, of)).collect()
        }
        Meant::Discriminator(indexes) => {
            discriminators(indexes.into_iter().flat_map(|index| &branches[index]), path)
        }
        Meant::AnyOf(indexes) => {
            let meant: Vec<_> = indexes.into_iter().map(|index| &branches[index]).collect();
            vec![format!("{}: {}", format_pointer(path), choices(&meant, value))]
        }
    }
}

/// Names, for each discriminator, the values that the branches expect.
fn discriminators<'a>(errors: impl Iterator<Item = &'a ValidationError<'a>>, path: &str) -> Vec<String> {
    let mut expected: Vec<(&str, Vec<String>)> = Vec::new();
    for error in errors.filter(|error| mismatch::is_other_discriminator(&violation(error, path))) {
        let at = error.instance_path().as_str();
        let constants = match error.kind() {
            ValidationErrorKind::Constant { expected_value } => vec![expected_value.to_string()],
            ValidationErrorKind::Enum { options } => {
                options.as_array().into_iter().flatten().map(Value::to_string).collect()
            }
            _ => continue,
        };
        match expected.iter_mut().find(|(known, _)| *known == at) {
            Some((_, known)) => known.extend(constants),
            None => expected.push((at, constants)),
        }
    }
    let line = |(at, constants): (&str, Vec<String>)| {
        format!("{}: {}", format_pointer(at), mismatch::not_one_of(&constants))
    };
    expected.into_iter().map(line).collect()
}

/// Classifies an error of a branch for the value at `path`.
fn violation(error: &ValidationError<'_>, path: &str) -> Violation {
    let inner = error.instance_path().as_str().strip_prefix(path).unwrap_or_default();
    let kind = match error.kind() {
        ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => Kind::Constant,
        ValidationErrorKind::Type { .. }
        | ValidationErrorKind::AnyOf { .. }
        | ValidationErrorKind::OneOfNotValid { .. }
        | ValidationErrorKind::FalseSchema
        | ValidationErrorKind::Not { .. } => Kind::Type,
        _ => Kind::Other,
    };
    Violation { depth: inner.matches('/').count(), kind }
}

fn line(error: &ValidationError<'_>, value: &Value) -> String {
    format!("{}: {}", format_pointer(error.instance_path().as_str()), message(error, value))
}

fn message(error: &ValidationError<'_>, value: &Value) -> String {
    let at = value.pointer(error.instance_path().as_str());
    match surplus(error, at) {
        Some(names) => format!("no properties are allowed ({names})"),
        None => error.masked().to_string(),
    }
}

/// Formats a JSON Pointer (RFC 6901); the root is `/`.
fn format_pointer(path: &str) -> &str {
    if path.is_empty() { "/" } else { path }
}

/// Describes what each of several choices expects.
fn choices(branches: &[&Vec<ValidationError<'_>>], value: &Value) -> String {
    let mut messages = Vec::new();
    for error in branches.iter().copied().flatten() {
        add_choices(error, value, &mut messages);
    }
    mismatch::choices(&messages, branches.len())
}

fn add_choices(error: &ValidationError<'_>, value: &Value, messages: &mut Vec<String>) {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            for error in context.iter().flatten() {
                add_choices(error, value, messages);
            }
        }
        _ if messages.len() > MAX_LISTED_CHOICES => {}
        _ => {
            let message = message(error, value);
            if !messages.contains(&message) {
                messages.push(message);
            }
        }
    }
}

/// Returns the names of the surplus properties if no property is allowed at all; the validator does not
/// name them in that case.
fn surplus(error: &ValidationError<'_>, at: Option<&Value>) -> Option<String> {
    let closed = matches!(error.kind(), ValidationErrorKind::FalseSchema)
        && error.schema_path().to_string().ends_with("/additionalProperties");
    let members = at.filter(|_| closed)?.as_object()?;
    Some(members.keys().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::schema::Schema;

    fn check(property: &Value, value: &Value) -> Vec<String> {
        let schema = json!({ "type": "object", "properties": { "a": property } });
        Schema::compile(&schema).expect("the schema is valid").violations(&json!({ "a": value }))
    }

    #[test]
    fn of_a_choice_between_objects_the_branch_that_was_meant_is_told() {
        let circle = json!({ "type": "object", "required": ["kind", "radius"],
            "properties": { "kind": { "const": "circle" }, "radius": { "type": "number" } } });
        let square = json!({ "type": "object", "required": ["kind", "side"],
            "properties": { "kind": { "const": "square" }, "side": { "type": "number" } } });

        for keyword in ["anyOf", "oneOf"] {
            let shape = json!({ keyword: [circle, square] });
            let found = check(&shape, &json!({ "kind": "square", "side": "canary" }));
            assert_eq!(found, ["/a/side: value is not of type \"number\""]);
            let found = check(&shape, &json!({ "kind": "circle" }));
            assert_eq!(found, ["/a: \"radius\" is a required property"]);
        }
    }

    #[test]
    fn every_value_of_a_discriminator_is_named() {
        let close =
            json!({ "type": "object", "required": ["type"], "properties": { "type": { "const": "close" } } });
        let rename = json!({ "type": "object", "required": ["type", "title"],
            "properties": { "type": { "enum": ["rename", "retitle"] }, "title": { "type": "string" } } });

        for keyword in ["anyOf", "oneOf"] {
            let change = json!({ keyword: [close, rename, { "type": "null" }] });

            let found = check(&change, &json!({ "type": "delete" }));
            assert_eq!(found, ["/a/type: value is not one of \"close\", \"rename\" or \"retitle\""]);
            let found = check(&change, &json!({ "type": "rename" }));
            assert_eq!(found, ["/a: \"title\" is a required property"]);
        }
    }

    #[test]
    fn of_a_choice_between_objects_the_closest_is_told_with_the_number_of_others() {
        let by_id =
            json!({ "type": "object", "required": ["id"], "properties": { "id": { "type": "integer" } } });
        let by_name = json!({ "type": "object", "required": ["name", "org"] });

        let found =
            check(&json!({ "anyOf": [by_id, by_name, { "type": "null" }] }), &json!({ "id": "canary" }));

        assert_eq!(found, ["/a/id: value is not of type \"integer\" (in the closest of 2 alternatives)"]);
    }

    #[test]
    fn of_a_choice_between_kinds_each_is_told() {
        let choice = json!({ "anyOf": [{ "type": "string" }, { "anyOf": [{ "type": "number" }, { "type": "null" }] }] });

        let found = check(&choice, &json!(["canary"]));

        let expected = "/a: value is not of type \"string\", or value is not of type \"number\", or value is not of type \"null\"";
        assert_eq!(found, [expected]);
    }

    #[test]
    fn many_choices_are_counted() {
        let patterns: Vec<_> = (0..40).map(|n| json!({ "pattern": format!("^{n}$") })).collect();

        let found = check(&json!({ "anyOf": patterns }), &json!("canary"));

        assert_eq!(found, ["/a: value fits none of 40 choices"]);
    }

    #[test]
    fn a_long_pattern_is_not_quoted() {
        let long = format!("^({})$", "[a-z]".repeat(40));

        assert_eq!(
            check(&json!({ "pattern": "^[a-z]$" }), &json!("1")),
            ["/a: value does not match \"^[a-z]$\""]
        );
        assert_eq!(check(&json!({ "pattern": long }), &json!("1")), ["/a: value does not match the pattern"]);
    }
}
