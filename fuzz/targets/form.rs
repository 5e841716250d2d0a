//! Forms of pages: the fields of one, and the arguments of a tool that its schema makes of them.

use kitbag::fuzzing::web::{arguments, form as read};
use serde_json::Value;
use url::form_urlencoded;

const MAX_FIELDS: usize = 1000;
/// Fields of the form for a schema.
const MAX_SCHEMA_FIELDS: usize = 200;

/// Input: a JSON Schema on the first line, and then the body of a form.
///
/// Checks that the fields are those that another parser reads, that a form is not longer than allowed whatever its
/// schema, that what it is filled in with at first has no mistakes, and that no argument is there that the schema does
/// not name.
pub fn form(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (schema, body) = (&data[..at], data.get(at + 1..).unwrap_or_default());

    let expected: Vec<(String, String)> = form_urlencoded::parse(body).into_owned().collect();
    let fields = read(body.to_vec());
    assert_eq!(fields.is_none(), expected.len() > MAX_FIELDS);
    let fields = fields.unwrap_or_default();
    assert!(fields.is_empty() || fields == expected);

    let Ok(schema) = serde_json::from_slice::<Value>(schema) else { return };
    let filled = arguments(&schema, fields);
    assert!(filled.rows <= MAX_SCHEMA_FIELDS, "the form has {} rows", filled.rows);
    let untouched = filled.untouched.expect("what the form is filled in with has no mistakes");
    let named = schema.to_string();
    for key in filled.arguments.iter().flatten().chain(&untouched).map(|(key, _)| key) {
        assert!(named.contains(&Value::from(key.as_str()).to_string()), "the schema does not name {key:?}");
    }
}
