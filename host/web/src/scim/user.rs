//! Users in SCIM (RFC 7643, section 4.1): resources, and changes by PATCH (RFC 7644, section 3.5.2).
//!
//! Attributes of the schema that `/Schemas` describes are kept; others are ignored, as the RFC allows.

use kitbag_identity::{ProvisionedUser, UserContent};
use serde_json::{Map, Value, json};

use super::error::ScimError;
use super::filter::{Comparison, Filter};
use super::patch::{Kind, Operation, Target};
use super::path::member;
use super::{CORE_USER, Resource};

/// Attributes that are kept, besides the parts of `name` and `emails`.
const ATTRIBUTES: [&str; 6] = ["userName", "externalId", "active", "displayName", "name", "emails"];
/// Parts of `name`.
const NAME: [&str; 6] =
    ["formatted", "familyName", "givenName", "middleName", "honorificPrefix", "honorificSuffix"];
/// Parts of an address.
const EMAIL: [&str; 4] = ["value", "display", "type", "primary"];
/// Maximum number of addresses of a user.
const MAX_EMAILS: usize = 20;

/// Returns the resource of a user.
pub(super) fn resource(user: &ProvisionedUser) -> Resource {
    let mut resource = user.content.attributes.clone();
    resource.insert("schemas".to_owned(), json!([CORE_USER]));
    resource.insert("id".to_owned(), user.id.clone().into());
    resource.insert("userName".to_owned(), user.content.user_name.clone().into());
    if let Some(id) = &user.content.external_id {
        resource.insert("externalId".to_owned(), id.clone().into());
    }
    resource.insert("active".to_owned(), user.content.is_active.into());
    resource
}

/// Reads the attributes of a user from a resource. Without `active`, the user is as active as before.
pub(super) fn content(resource: &Resource, was_active: bool) -> Result<UserContent, ScimError> {
    let mut attributes = Map::new();
    if let Some(name) = optional_text(resource, "displayName")? {
        attributes.insert("displayName".to_owned(), name.into());
    }
    if let Some(Value::Object(name)) = member(resource, "name") {
        let name = parts(name, &NAME)?;
        if !name.is_empty() {
            attributes.insert("name".to_owned(), name.into());
        }
    }
    if let Some(emails) = member(resource, "emails").filter(|emails| !emails.is_null()) {
        let emails = addresses(emails)?;
        if !emails.is_empty() {
            attributes.insert("emails".to_owned(), emails.into());
        }
    }
    let is_active = match member(resource, "active") {
        None | Some(Value::Null) => was_active,
        Some(value) => boolean(value).ok_or_else(|| invalid_value("active is true or false"))?,
    };
    Ok(UserContent {
        user_name: optional_text(resource, "userName")?.ok_or_else(|| invalid_value("userName is needed"))?,
        external_id: optional_text(resource, "externalId")?,
        is_active,
        attributes,
    })
}

/// Applies operations to the resource of a user.
pub(super) fn patch(resource: &mut Resource, operations: Vec<Operation>) -> Result<(), ScimError> {
    for Operation { kind, target, value } in operations {
        if let Some(target) = target {
            apply(resource, kind, &target, value)?;
            continue;
        }
        let Some(Value::Object(members)) = value else {
            let why = "without a path, the value is an object of attributes";
            return Err(ScimError::bad_request("invalidSyntax", why));
        };
        for (path, value) in members {
            // Such as the enterprise extension, with its attributes.
            if !path.to_ascii_lowercase().starts_with("urn:") || path.contains(":core:2.0:") {
                apply(resource, kind, &Target::parse(&path)?, Some(value))?;
            }
        }
    }
    Ok(())
}

fn apply(
    resource: &mut Resource,
    kind: Kind,
    target: &Target,
    value: Option<Value>,
) -> Result<(), ScimError> {
    let Some(attribute) = ATTRIBUTES.iter().find(|name| target.path.is(name)) else {
        // Not kept, or the server's own: providers send `id` along with the attributes.
        return Ok(());
    };
    if kind != Kind::Remove && value.is_none() {
        return Err(ScimError::bad_request("invalidValue", "the operation needs a value"));
    }
    let value = value.unwrap_or(Value::Null);
    match *attribute {
        "emails" => change_emails(resource, kind, target, value),
        "name" => change_name(resource, kind, target, value),
        _ if target.filter.is_some() || target.path.sub_attribute().is_some() => {
            Err(ScimError::bad_request("invalidPath", format!("{attribute} has no parts")))
        }
        name if kind == Kind::Remove => {
            resource.remove(name);
            Ok(())
        }
        name => {
            resource.insert(name.to_owned(), value);
            Ok(())
        }
    }
}

fn change_name(resource: &mut Resource, kind: Kind, target: &Target, value: Value) -> Result<(), ScimError> {
    let mut name = match resource.remove("name") {
        Some(Value::Object(name)) => name,
        _ => Map::new(),
    };
    let part =
        target.path.sub_attribute().and_then(|part| NAME.iter().find(|it| it.eq_ignore_ascii_case(part)));
    match (target.path.sub_attribute(), part, kind) {
        (None, _, Kind::Remove) => name.clear(),
        (None, _, Kind::Add | Kind::Replace) => {
            let Value::Object(changes) = value else { return Err(invalid_value("name is an object")) };
            name.extend(parts(&changes, &NAME)?);
        }
        (Some(_), Some(part), Kind::Remove) => drop(name.remove(*part)),
        (Some(_), Some(part), Kind::Add | Kind::Replace) => {
            name.insert((*part).to_owned(), value);
        }
        (Some(_), None, _) => {}
    }
    resource.insert("name".to_owned(), name.into());
    Ok(())
}

fn change_emails(
    resource: &mut Resource,
    kind: Kind,
    target: &Target,
    value: Value,
) -> Result<(), ScimError> {
    let mut emails = match resource.remove("emails") {
        Some(Value::Array(emails)) => emails,
        _ => Vec::new(),
    };
    let is_meant = |item: &Value| match (&target.filter, item) {
        (Some(filter), Value::Object(item)) => filter.matches(item),
        (filter, _) => filter.is_none(),
    };
    let part = target.path.sub_attribute().map(str::to_owned);
    match (kind, part) {
        (Kind::Remove, None) => emails.retain(|item| !is_meant(item)),
        (Kind::Remove, Some(part)) => {
            for item in emails.iter_mut().filter(|item| is_meant(item)).filter_map(Value::as_object_mut) {
                item.retain(|name, _| !name.eq_ignore_ascii_case(&part));
            }
        }
        (Kind::Add, None) if target.filter.is_none() => {
            for item in addresses(&value)? {
                if !emails.contains(&item) {
                    emails.push(item);
                }
            }
        }
        (Kind::Replace, None) if target.filter.is_none() => emails = addresses(&value)?,
        (Kind::Add | Kind::Replace, part) => {
            let changes = match (part, value) {
                (Some(part), value) => Map::from_iter([(part, value)]),
                (None, Value::Object(changes)) => changes,
                (None, _) => return Err(invalid_value("an address is an object")),
            };
            if !emails.iter().any(is_meant) {
                // Providers change an address that is not there yet, such as that of the type "work".
                emails.push(target.filter.as_ref().map_or_else(Map::new, named_by).into());
            }
            for item in emails.iter_mut().filter(|item| is_meant(item)).filter_map(Value::as_object_mut) {
                item.extend(parts(&changes, &EMAIL)?);
            }
        }
    }
    if emails.len() > MAX_EMAILS {
        return Err(invalid_value(&format!("a user has at most {MAX_EMAILS} addresses")));
    }
    resource.insert("emails".to_owned(), emails.into());
    Ok(())
}

/// Returns an item that a filter on equalities matches.
fn named_by(filter: &Filter) -> Map<String, Value> {
    let equalities = match filter {
        Filter::Compare(path, Comparison::Equal, value) => vec![(path, value)],
        filter => filter.equalities(),
    };
    equalities.into_iter().map(|(path, value)| (path.attribute().to_owned(), value.clone())).collect()
}

/// Reads addresses: a list of objects, or one object.
fn addresses(value: &Value) -> Result<Vec<Value>, ScimError> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        Value::Object(_) => std::slice::from_ref(value),
        _ => return Err(invalid_value("emails are a list of objects")),
    };
    if items.len() > MAX_EMAILS {
        return Err(invalid_value(&format!("a user has at most {MAX_EMAILS} addresses")));
    }
    let address = |item: &Value| match item {
        Value::Object(item) => parts(item, &EMAIL).map(Value::Object),
        _ => Err(invalid_value("an address is an object")),
    };
    items.iter().map(address).collect()
}

/// Returns the known parts of a complex attribute: texts, and `primary`, which is true or false.
fn parts(object: &Map<String, Value>, known: &[&str]) -> Result<Map<String, Value>, ScimError> {
    let mut parts = Map::new();
    for name in known {
        let value = match member(object, name) {
            None | Some(Value::Null) => continue,
            Some(value) if *name == "primary" => boolean(value).map(Value::Bool),
            Some(value @ Value::String(_)) => Some(value.clone()),
            Some(_) => None,
        };
        let value = value.ok_or_else(|| invalid_value(&format!("{name} is of another type")))?;
        parts.insert((*name).to_owned(), value);
    }
    Ok(parts)
}

fn optional_text(resource: &Resource, name: &str) -> Result<Option<String>, ScimError> {
    match member(resource, name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(invalid_value(&format!("{name} is a text"))),
    }
}

/// Reads a boolean, which Entra sends as a text.
fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn invalid_value(detail: &str) -> ScimError {
    ScimError::bad_request("invalidValue", detail)
}
