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
        Meant::Branch(index) => branches[index].iter().flat_map(|error| lines(error, value)).collect(),
        Meant::AnyOf(indexes) => {
            let meant: Vec<_> = indexes.into_iter().map(|index| &branches[index]).collect();
            vec![format!("{}: {}", format_pointer(path), choices(&meant, value))]
        }
    }
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
