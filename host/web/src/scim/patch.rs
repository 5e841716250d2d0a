//! Operations of PATCH (RFC 7644, section 3.5.2), as the RFC has them and as Entra and Okta send them.

use serde_json::Value;

use super::Resource;
use super::error::ScimError;
use super::filter::{Filter, MAX_FILTER_BYTES};
use super::path::{AttributePath, member};

/// Maximum number of operations of one request.
const MAX_OPERATIONS: usize = 1000;
/// Schema of the message.
const PATCH_OP: &str = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    /// `None`: the value is an object of attributes.
    pub(super) target: Option<Target>,
    pub(super) value: Option<Value>,
}

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Add,
    Replace,
    Remove,
}

/// Target of an operation: `attribute`, `attribute.part`, `attribute[filter]` or `attribute[filter].part`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) path: AttributePath,
    pub(super) filter: Option<Filter>,
}

/// Reads the operations of a request.
pub(super) fn operations(body: &Resource) -> Result<Vec<Operation>, ScimError> {
    let invalid = |detail: &str| ScimError::bad_request("invalidSyntax", detail);
    let is_patch = member(body, "schemas").and_then(Value::as_array).is_some_and(|schemas| {
        schemas.iter().filter_map(Value::as_str).any(|schema| schema.eq_ignore_ascii_case(PATCH_OP))
    });
    if !is_patch {
        return Err(invalid("the schema of a PATCH is urn:ietf:params:scim:api:messages:2.0:PatchOp"));
    }
    let Some(Value::Array(operations)) = member(body, "Operations") else {
        return Err(invalid("Operations is a list"));
    };
    if operations.is_empty() || operations.len() > MAX_OPERATIONS {
        return Err(invalid(&format!("a PATCH has from 1 to {MAX_OPERATIONS} operations")));
    }
    let operation = |operation: &Value| {
        let operation = operation.as_object().ok_or_else(|| invalid("an operation is an object"))?;
        let kind =
            match member(operation, "op").and_then(Value::as_str).map(str::to_ascii_lowercase).as_deref() {
                Some("add") => Kind::Add,
                Some("replace") => Kind::Replace,
                Some("remove") => Kind::Remove,
                _ => return Err(invalid("op is add, replace or remove")),
            };
        let target = match member(operation, "path") {
            None | Some(Value::Null) => None,
            Some(Value::String(path)) if path.is_empty() => None,
            Some(Value::String(path)) => Some(Target::parse(path)?),
            Some(_) => return Err(ScimError::bad_request("invalidPath", "a path is a text")),
        };
        if target.is_none() && kind == Kind::Remove {
            return Err(ScimError::bad_request("noTarget", "what is removed has a path"));
        }
        Ok(Operation { kind, target, value: member(operation, "value").cloned() })
    };
    operations.iter().map(operation).collect()
}

impl Target {
    pub(super) fn parse(text: &str) -> Result<Self, ScimError> {
        let invalid = |error: ScimError| error.with_type("invalidPath");
        let wrong = || ScimError::bad_request("invalidPath", format!("{text:?} is no path"));
        if text.len() > MAX_FILTER_BYTES {
            return Err(ScimError::bad_request("invalidPath", "the path is too long"));
        }
        let Some((attribute, rest)) = text.split_once('[') else {
            return Ok(Self { path: AttributePath::parse(text.trim()).map_err(invalid)?, filter: None });
        };
        let (filter, part) = rest.rsplit_once(']').ok_or_else(wrong)?;
        let path = match part.strip_prefix('.') {
            Some(part) => format!("{}.{part}", attribute.trim()),
            None if part.trim().is_empty() => attribute.trim().to_owned(),
            None => return Err(wrong()),
        };
        let path = AttributePath::parse(&path).map_err(invalid)?;
        Ok(Self { path, filter: Some(Filter::parse(filter)?) })
    }
}
