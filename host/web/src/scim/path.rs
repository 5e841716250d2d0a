//! Paths of attributes (RFC 7644, section 3.10).

use serde_json::{Map, Value};

use super::error::ScimError;

/// Maximum length of a path without a filter, in bytes.
const MAX_PATH_BYTES: usize = 256;
/// Schemas whose attributes are kept. Those of other schemas are not.
const CORE: [&str; 2] =
    ["urn:ietf:params:scim:schemas:core:2.0:user:", "urn:ietf:params:scim:schemas:core:2.0:group:"];

/// An attribute, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttributePath {
    attribute: String,
    sub_attribute: Option<String>,
}

impl AttributePath {
    /// Parses `attribute` or `attribute.subAttribute`, optionally after the name of a schema.
    pub(super) fn parse(text: &str) -> Result<Self, ScimError> {
        let invalid = || ScimError::bad_request("invalidFilter", format!("{text:?} is no attribute"));
        if text.is_empty() || text.len() > MAX_PATH_BYTES || !text.is_ascii() {
            return Err(invalid());
        }
        let lower = text.to_ascii_lowercase();
        let local = match CORE.iter().find(|schema| lower.starts_with(*schema)) {
            Some(schema) => &text[schema.len()..],
            // An attribute of another schema, which no resource has.
            None if lower.starts_with("urn:") => {
                return Ok(Self { attribute: text.to_owned(), sub_attribute: None });
            }
            None => text,
        };
        let is_name = |name: &str| {
            name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '$')
                && name[1..].bytes().all(|it| it.is_ascii_alphanumeric() || b"-_$".contains(&it))
        };
        let (attribute, sub_attribute) = match local.split_once('.') {
            Some((attribute, sub_attribute)) => (attribute, Some(sub_attribute)),
            None => (local, None),
        };
        if !is_name(attribute) || sub_attribute.is_some_and(|name| !is_name(name)) {
            return Err(invalid());
        }
        Ok(Self { attribute: attribute.to_owned(), sub_attribute: sub_attribute.map(str::to_owned) })
    }

    /// The attribute.
    pub(super) fn attribute(&self) -> &str {
        &self.attribute
    }

    /// The part of it.
    pub(super) fn sub_attribute(&self) -> Option<&str> {
        self.sub_attribute.as_deref()
    }

    /// Whether it is this attribute, or a part of it.
    pub(super) fn is(&self, attribute: &str) -> bool {
        self.attribute.eq_ignore_ascii_case(attribute)
    }

    /// Whether values are compared by case.
    pub(super) fn is_case_exact(&self) -> bool {
        self.is("id") || self.is("externalId") || self.is("members")
    }

    /// Returns the values in a resource: of each item of a multi-valued attribute, its `value` without a sub-attribute.
    pub(super) fn values<'r>(&self, resource: &'r Map<String, Value>) -> Vec<&'r Value> {
        let part = |item: &'r Value| match (item, &self.sub_attribute) {
            (Value::Object(item), Some(name)) => member(item, name),
            (_, Some(_)) => None,
            (Value::Object(members), None) => Some(member(members, "value").unwrap_or(item)),
            (_, None) => Some(item),
        };
        self.items(resource).into_iter().filter_map(part).collect()
    }

    /// Returns the items of a multi-valued attribute; otherwise the value.
    pub(super) fn items<'r>(&self, resource: &'r Map<String, Value>) -> Vec<&'r Value> {
        match member(resource, &self.attribute) {
            Some(Value::Array(items)) => items.iter().collect(),
            Some(value) => vec![value],
            None => Vec::new(),
        }
    }
}

/// Returns a member of an object, whatever the case of its name (RFC 7643, section 2.1).
pub(super) fn member<'o>(object: &'o Map<String, Value>, name: &str) -> Option<&'o Value> {
    object.get(name).or_else(|| {
        object.iter().find(|(member, _)| member.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    })
}
