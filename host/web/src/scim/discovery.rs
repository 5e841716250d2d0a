//! What this server supports of SCIM (RFC 7643, sections 5 to 7).

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use kitbag_base::base_url::below;
use serde_json::{Value, json};
use url::Url;

use super::error::ScimError;
use super::{CORE_GROUP, CORE_USER, MAX_COUNT, respond};
use crate::state::Shared;

/// `GET /scim/v2/ServiceProviderConfig`
pub(crate) async fn configuration(State(shared): State<Shared>) -> Result<Response, ScimError> {
    let supported = |is: bool| json!({ "supported": is });
    let value = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
        "documentationUri": "https://www.rfc-editor.org/rfc/rfc7644",
        "patch": supported(true),
        "bulk": { "supported": false, "maxOperations": 0, "maxPayloadSize": 0 },
        "filter": { "supported": true, "maxResults": MAX_COUNT },
        "changePassword": supported(false),
        "sort": supported(false),
        "etag": supported(false),
        "authenticationSchemes": [{
            "type": "oauthbearertoken",
            "name": "Bearer token",
            "description": "A token made by an operator: kitbag user scim-token new",
            "primary": true,
        }],
        "meta": meta(&shared.base_url, "ServiceProviderConfig", "/scim/v2/ServiceProviderConfig"),
    });
    respond(StatusCode::OK, value).await
}

/// `GET /scim/v2/ResourceTypes`
pub(crate) async fn resource_types(State(shared): State<Shared>) -> Result<Response, ScimError> {
    respond(StatusCode::OK, list(&all_types(&shared.base_url))).await
}

/// `GET /scim/v2/ResourceTypes/{name}`
pub(crate) async fn resource_type(
    State(shared): State<Shared>,
    Path(name): Path<String>,
) -> Result<Response, ScimError> {
    let found = all_types(&shared.base_url).into_iter().find(|it| it["id"] == name.as_str());
    respond(StatusCode::OK, found.ok_or_else(unknown)?).await
}

/// `GET /scim/v2/Schemas`
pub(crate) async fn schemas(State(shared): State<Shared>) -> Result<Response, ScimError> {
    respond(StatusCode::OK, list(&all_schemas(&shared.base_url))).await
}

/// `GET /scim/v2/Schemas/{id}`
pub(crate) async fn schema(
    State(shared): State<Shared>,
    Path(id): Path<String>,
) -> Result<Response, ScimError> {
    let found = all_schemas(&shared.base_url).into_iter().find(|it| it["id"] == id.as_str());
    respond(StatusCode::OK, found.ok_or_else(unknown)?).await
}

fn all_types(base_url: &Url) -> [Value; 2] {
    [("User", CORE_USER), ("Group", CORE_GROUP)].map(|(name, schema)| {
        json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
            "id": name,
            "name": name,
            "endpoint": format!("/{name}s"),
            "schema": schema,
            "meta": meta(base_url, "ResourceType", &format!("/scim/v2/ResourceTypes/{name}")),
        })
    })
}

fn all_schemas(base_url: &Url) -> [Value; 2] {
    let name = ["formatted", "familyName", "givenName", "middleName", "honorificPrefix", "honorificSuffix"];
    let user = json!([
        unique(required(text("userName", "Name by which the provider signs the user in"))),
        exact(text("externalId", "Id of the user at the provider")),
        text("displayName", "Name for people"),
        complex("name", "Parts of the name", false, name.map(|part| text(part, "Part of the name")).into()),
        complex(
            "emails",
            "Addresses",
            true,
            json!([
                text("value", "Address"),
                text("display", "Name for people"),
                text("type", "Such as work"),
                boolean("primary", "Whether it is the main one"),
            ])
        ),
        required(boolean("active", "Whether the user may sign in")),
    ]);
    let group = json!([
        unique(required(exact(text("displayName", "Name, which grants use")))),
        exact(text("externalId", "Id of the group at the provider")),
        complex(
            "members",
            "Users in the group",
            true,
            json!([
                immutable(exact(text("value", "Id of the user"))),
                immutable(reference("$ref", "URL of the user", "User")),
                read_only(with(text("type", "Kind of the member"), "canonicalValues", json!(["User"]))),
            ])
        ),
    ]);
    [("User", CORE_USER, user), ("Group", CORE_GROUP, group)].map(|(name, id, attributes)| {
        json!({
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
            "id": id,
            "name": name,
            "description": name,
            "attributes": attributes,
            "meta": meta(base_url, "Schema", &format!("/scim/v2/Schemas/{id}")),
        })
    })
}

fn attribute(name: &str, kind: &str, description: &str) -> Value {
    json!({
        "name": name, "type": kind, "multiValued": false, "description": description, "required": false,
        "mutability": "readWrite", "returned": "default",
    })
}

fn text(name: &str, description: &str) -> Value {
    let mut text = attribute(name, "string", description);
    text["caseExact"] = false.into();
    text["uniqueness"] = "none".into();
    text
}

fn reference(name: &str, description: &str, kind: &str) -> Value {
    let reference = with(text(name, description), "type", "reference");
    with(with(reference, "referenceTypes", json!([kind])), "caseExact", true)
}

fn boolean(name: &str, description: &str) -> Value {
    attribute(name, "boolean", description)
}

fn complex(name: &str, description: &str, is_multi_valued: bool, parts: Value) -> Value {
    let mut complex = attribute(name, "complex", description);
    complex["multiValued"] = is_multi_valued.into();
    complex["subAttributes"] = parts;
    complex
}

fn with(mut attribute: Value, member: &str, value: impl Into<Value>) -> Value {
    attribute[member] = value.into();
    attribute
}

fn required(attribute: Value) -> Value {
    with(attribute, "required", true)
}

fn unique(attribute: Value) -> Value {
    with(attribute, "uniqueness", "server")
}

fn exact(attribute: Value) -> Value {
    with(attribute, "caseExact", true)
}

fn immutable(attribute: Value) -> Value {
    with(attribute, "mutability", "immutable")
}

fn read_only(attribute: Value) -> Value {
    with(attribute, "mutability", "readOnly")
}

fn meta(base_url: &Url, kind: &str, path: &str) -> Value {
    json!({ "resourceType": kind, "location": below(base_url, path) })
}

fn list(resources: &[Value]) -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
        "totalResults": resources.len(),
        "startIndex": 1,
        "itemsPerPage": resources.len(),
        "Resources": resources,
    })
}

fn unknown() -> ScimError {
    ScimError::new(StatusCode::NOT_FOUND, "there is no such schema or type")
}
