//! Checks values of a user's settings against their declared fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{ConfigField, ConfigKind};

/// Returns the reason why `value` does not fit `field`; `None` if it fits.
pub fn mismatch(field: &ConfigField, value: &Value) -> Option<String> {
    match (field.kind, value) {
        (ConfigKind::String, Value::String(_))
        | (ConfigKind::Number, Value::Number(_))
        | (ConfigKind::Boolean, Value::Bool(_)) => None,
        (ConfigKind::Select, Value::String(choice)) if field.options.contains(choice) => None,
        (ConfigKind::Select, _) => Some(format!("must be one of: {}", field.options.join(", "))),
        (ConfigKind::String, _) => Some("must be a string".to_owned()),
        (ConfigKind::Number, _) => Some("must be a number".to_owned()),
        (ConfigKind::Boolean, _) => Some("must be true or false".to_owned()),
    }
}

/// Returns the reason for each value that does not fit the declared fields, by key.
pub fn problems(
    fields: &BTreeMap<String, ConfigField>,
    values: &Map<String, Value>,
) -> BTreeMap<String, String> {
    let problem = |(key, value): (&String, &Value)| {
        let reason = match fields.get(key) {
            None => Some("not declared".to_owned()),
            Some(field) => mismatch(field, value),
        };
        reason.map(|reason| (key.clone(), reason))
    };
    values.iter().filter_map(problem).collect()
}

/// Returns the content of a handler's `ctx.config`: the user's values, and the declared defaults of
/// unset ones. Ignores values whose key is no longer declared, or that no longer fit.
pub fn effective(fields: &BTreeMap<String, ConfigField>, values: &Map<String, Value>) -> Map<String, Value> {
    fields
        .iter()
        .filter_map(|(key, field)| {
            let chosen = values.get(key).filter(|value| mismatch(field, value).is_none());
            chosen.or(field.default.as_ref()).map(|value| (key.clone(), value.clone()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field(kind: ConfigKind, default: Option<Value>) -> ConfigField {
        ConfigField { kind, default, label: "L".into(), ..ConfigField::default() }
    }

    #[test]
    fn defaults_apply_where_the_user_set_nothing_that_fits() {
        let fields = BTreeMap::from([
            ("language".to_owned(), field(ConfigKind::String, Some(json!("en")))),
            ("limit".to_owned(), field(ConfigKind::Number, Some(json!(5)))),
            ("adult".to_owned(), field(ConfigKind::Boolean, None)),
        ]);
        let values = json!({ "language": "de", "limit": "many", "gone": 1 });

        let config = effective(&fields, values.as_object().expect("an object"));

        assert_eq!(Value::Object(config), json!({ "language": "de", "limit": 5 }));
    }
}
