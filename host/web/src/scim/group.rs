//! Groups in SCIM (RFC 7643, section 4.2): resources, and changes by PATCH. Members are users.

use kitbag_base::base_url::below;
use kitbag_identity::{GroupChange, MemberChange, ProvisionedGroup};
use serde_json::{Map, Value, json};
use url::Url;

use super::error::ScimError;
use super::filter::{Comparison, Filter};
use super::patch::{Kind, Operation, Target};
use super::path::member;
use super::{CORE_GROUP, Resource};

/// Returns the resource of a group; without members if they are `None`.
pub(super) fn resource(base_url: &Url, group: &ProvisionedGroup, members: Option<&[String]>) -> Resource {
    let mut resource = Map::new();
    resource.insert("schemas".to_owned(), json!([CORE_GROUP]));
    resource.insert("id".to_owned(), group.id.clone().into());
    resource.insert("displayName".to_owned(), group.name.clone().into());
    if let Some(id) = &group.external_id {
        resource.insert("externalId".to_owned(), id.clone().into());
    }
    if let Some(members) = members {
        let item = |id: &String| {
            let location = below(base_url, &format!("/scim/v2/Users/{id}"));
            json!({ "value": id, "$ref": location, "type": "User" })
        };
        resource.insert("members".to_owned(), members.iter().map(item).collect());
    }
    resource
}

/// Reads a whole group: what is absent is removed.
pub(super) fn content(resource: &Resource) -> Result<GroupChange, ScimError> {
    let members = match member(resource, "members") {
        None | Some(Value::Null) => Vec::new(),
        Some(members) => ids(members)?,
    };
    Ok(GroupChange {
        name: Some(name(member(resource, "displayName").unwrap_or(&Value::Null))?),
        external_id: Some(external_id(member(resource, "externalId").unwrap_or(&Value::Null))?),
        members: vec![MemberChange::Replace(members)],
    })
}

/// Reads changes of a group from operations.
pub(super) fn patch(operations: Vec<Operation>) -> Result<GroupChange, ScimError> {
    let mut change = GroupChange::default();
    for Operation { kind, target, value } in operations {
        if let Some(target) = target {
            apply(&mut change, kind, &target, value.as_ref())?;
            continue;
        }
        let Some(Value::Object(attributes)) = value else {
            let why = "without a path, the value is an object of attributes";
            return Err(ScimError::bad_request("invalidSyntax", why));
        };
        for (path, value) in &attributes {
            apply(&mut change, kind, &Target::parse(path)?, Some(value))?;
        }
    }
    Ok(change)
}

fn apply(
    change: &mut GroupChange,
    kind: Kind,
    target: &Target,
    value: Option<&Value>,
) -> Result<(), ScimError> {
    let given = value.filter(|value| !value.is_null());
    if target.path.is("members") {
        change.members.push(member_change(kind, target, given)?);
    } else if target.path.is("displayName") {
        let value = if kind == Kind::Remove { &Value::Null } else { given.unwrap_or(&Value::Null) };
        change.name = Some(name(value)?);
    } else if target.path.is("externalId") {
        let value = if kind == Kind::Remove { &Value::Null } else { given.unwrap_or(&Value::Null) };
        change.external_id = Some(external_id(value)?);
    }
    Ok(())
}

fn member_change(kind: Kind, target: &Target, value: Option<&Value>) -> Result<MemberChange, ScimError> {
    let one = match &target.filter {
        None => None,
        Some(Filter::Compare(path, Comparison::Equal, Value::String(id))) if path.is("value") => {
            Some(id.clone())
        }
        Some(_) => {
            return Err(ScimError::bad_request(
                "invalidPath",
                "a member is named by members[value eq \"…\"]",
            ));
        }
    };
    match (kind, one, value) {
        (Kind::Remove, Some(id), _) => Ok(MemberChange::Remove(vec![id])),
        (Kind::Remove, None, Some(members)) => Ok(MemberChange::Remove(ids(members)?)),
        (Kind::Remove | Kind::Replace, None, None) => Ok(MemberChange::Replace(Vec::new())),
        (Kind::Add, None, Some(members)) => Ok(MemberChange::Add(ids(members)?)),
        (Kind::Replace, None, Some(members)) => Ok(MemberChange::Replace(ids(members)?)),
        (Kind::Add | Kind::Replace, Some(_), _) | (Kind::Add, None, None) => Err(ScimError::bad_request(
            "invalidPath",
            "members are added by a list of objects with their ids",
        )),
    }
}

/// Reads the ids of members: a list of objects, or one object.
fn ids(value: &Value) -> Result<Vec<String>, ScimError> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        value => std::slice::from_ref(value),
    };
    let id = |item: &Value| {
        let id = item.as_object().and_then(|item| member(item, "value")).and_then(Value::as_str);
        id.map(str::to_owned).ok_or_else(|| {
            ScimError::bad_request("invalidValue", "a member is an object with the id of a user as `value`")
        })
    };
    items.iter().map(id).collect()
}

fn name(value: &Value) -> Result<String, ScimError> {
    let name = value.as_str().filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or_else(|| ScimError::bad_request("invalidValue", "displayName is needed"))
}

fn external_id(value: &Value) -> Result<Option<String>, ScimError> {
    match value {
        Value::Null => Ok(None),
        Value::String(id) => Ok(Some(id.clone()).filter(|id| !id.is_empty())),
        _ => Err(ScimError::bad_request("invalidValue", "externalId is a text")),
    }
}
