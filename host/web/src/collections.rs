//! HTTP API of collections and of their members. Their documents are in `graphql` and `documents`.

use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use jiff::Timestamp;
use kitbag_access::values::collections::{Collection, Description, Membership, Role};
use kitbag_access::values::identity::Subject;
use kitbag_access::{Operator, User};
use kitbag_base::json_object::JsonObject;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::body::read_small;
use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// Maximum bytes of a body: the maximum number of members with names of maximum length.
const MAX_BYTES: usize = 256 << 10;

/// A collection to make.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewCollection {
    id: String,
    name: String,
    #[serde(default)]
    description: String,
}

/// A collection's new name and description.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewDescription {
    name: String,
    #[serde(default)]
    description: String,
}

/// Members of a collection.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Members {
    members: Vec<Membership>,
}

/// A member whose membership ends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ended {
    user: Option<String>,
    group: Option<String>,
    #[serde(default)]
    everyone: bool,
}

/// Query string of a deletion.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deletion {
    #[serde(default)]
    purge: bool,
}

/// A collection in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    id: String,
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
    /// What the caller may do; absent for an operator who is no member.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    /// RFC 3339, UTC; absent unless it is in the bin.
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deleted_by: Option<String>,
    /// Absent where it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<Size>,
    /// Absent in the list of one's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    members: Option<Vec<Membership>>,
}

/// What the documents of a collection take.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Size {
    documents: u64,
    bytes: u64,
}

/// Collections.
#[derive(Serialize)]
pub(super) struct List {
    collections: Vec<Listed>,
}

/// Formats milliseconds since 1970.
fn time(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).unwrap_or_default().to_string()
}

impl Listed {
    fn of(collection: &Collection, role: Option<Role>) -> Self {
        let deletion = collection.deleted.clone();
        Self {
            id: collection.id.clone(),
            name: collection.name.clone(),
            description: collection.description.clone(),
            role,
            deleted_at: deletion.as_ref().map(|it| time(it.at)),
            deleted_by: deletion.map(|it| it.by),
            size: None,
            members: None,
        }
    }
}

/// `GET /collections`: those that the caller may read, and then those in the bin that the caller kept.
pub(super) async fn list(By(user): By<User>) -> Json<List> {
    let collections = user.collections();
    let there = collections.list().into_iter().map(|(it, role)| Listed::of(&it, Some(role)));
    let deleted = collections.deleted().into_iter().map(|it| Listed::of(&it, Some(Role::Curator)));
    Json(List { collections: there.chain(deleted).collect() })
}

/// `GET /all-collections`: all of them, with what they take, for operators.
pub(super) async fn list_all(By(operator): By<Operator>) -> Result<Json<List>, WebError> {
    let all = operator.collections().list().await?;
    let listed = all.into_iter().map(|it| Listed {
        size: Some(Size { documents: it.usage.documents, bytes: it.usage.bytes }),
        members: Some(it.collection.members.clone()),
        ..Listed::of(&it.collection, None)
    });
    Ok(Json(List { collections: listed.collect() }))
}

/// `POST /collections`: `{"id": "handbook", "name": "Handbook", "description": "How we work"}`.
pub(super) async fn create(By(user): By<User>, body: Body) -> Result<(StatusCode, Json<Listed>), WebError> {
    let NewCollection { id, name, description } = read(body).await?;
    user.collections().create(&id, &Description { name, description }).await?;
    Ok((StatusCode::CREATED, shown(&user, &id).await?))
}

/// `GET /collections/{id}`: a collection that the caller may read, with its members, and what it takes.
pub(super) async fn show(By(user): By<User>, Path(id): Path<String>) -> Result<Json<Listed>, WebError> {
    shown(&user, &id).await
}

/// `PATCH /collections/{id}`: `{"name": …, "description": …}`.
pub(super) async fn describe(
    By(user): By<User>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<Listed>, WebError> {
    let NewDescription { name, description } = read(body).await?;
    user.collections().describe(&id, &Description { name, description }).await?;
    shown(&user, &id).await
}

/// `DELETE /collections/{id}`: into the bin, with its documents; with `?purge=true` a deleted one for good.
pub(super) async fn delete(
    By(user): By<User>,
    Path(id): Path<String>,
    Query(Deletion { purge }): Query<Deletion>,
) -> Result<StatusCode, WebError> {
    if purge {
        user.collections().purge(&id).await?;
    } else {
        user.collections().delete(&id).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /collections/{id}/restore`: back from the bin.
pub(super) async fn restore(By(user): By<User>, Path(id): Path<String>) -> Result<Json<Listed>, WebError> {
    user.collections().restore(&id).await?;
    shown(&user, &id).await
}

/// `POST /collections/{id}/take-over`: makes an operator a curator.
pub(super) async fn take_over(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<StatusCode, WebError> {
    operator.collections().take_over(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /collections/{id}/members`: adds members, or changes their roles: `{"members": [{"group": "sales", "role":
/// "reader"}, …]}`. Responds with all of them.
pub(super) async fn share(
    By(user): By<User>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<Members>, WebError> {
    let Members { members } = read(body).await?;
    user.collections().share(&id, &members).await?;
    members_of(&user, &id)
}

/// `DELETE /collections/{id}/members?group=sales`, or with `user=…` or `everyone=true`.
pub(super) async fn unshare(
    By(user): By<User>,
    Path(id): Path<String>,
    Query(Ended { user: member, group, everyone }): Query<Ended>,
) -> Result<StatusCode, WebError> {
    let subject = Subject::named(member, group, everyone)
        .map_err(|invalid| WebError::new(StatusCode::BAD_REQUEST, invalid.to_string()))?;
    user.collections().unshare(&id, &subject).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn members_of(user: &User, id: &str) -> Result<Json<Members>, WebError> {
    let (collection, _) = user.collections().get(id)?;
    Ok(Json(Members { members: collection.members.clone() }))
}

async fn shown(user: &User, id: &str) -> Result<Json<Listed>, WebError> {
    let (collection, role) = user.collections().get(id)?;
    let (usage, _) = user.documents().of(Some(id))?.usage().await?;
    let size = Some(Size { documents: usage.documents, bytes: usage.bytes });
    let members = Some(collection.members.clone());
    Ok(Json(Listed { size, members, ..Listed::of(&collection, Some(role)) }))
}

async fn read<T: DeserializeOwned>(body: Body) -> Result<T, WebError> {
    let body = read_small(body, MAX_BYTES).await.map_err(|why| WebError::unread(why, MAX_BYTES))?;
    let read: Result<JsonObject<T>, _> = serde_json::from_slice(&body);
    read.map(|JsonObject(read)| read)
        .map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))
}
