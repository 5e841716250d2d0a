//! HTTP API of users, for operators: who is here, what each has, and the end of one.

use axum::body::Body;
use axum::extract::{Path, Query};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kitbag_access::values::users::{DocumentsFate, UserDetails, UserEnd, UserSummary};
use kitbag_access::{AccessError, Export, MAX_USERS, Operator, User};
use kitbag_base::json_object::JsonObject;
use serde::{Deserialize, Serialize};

use super::body::read_small;
use super::error::WebError;
use crate::authenticate::By;
use crate::json::Json;

/// Maximum bytes of the body that ends a user.
const MAX_BODY_BYTES: usize = 4 << 10;
/// Number of users on a page, if the request names none.
const DEFAULT_USERS: u32 = 100;

/// Query string of the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Page {
    /// Id of the last user of the page before.
    #[serde(default)]
    after: String,
    limit: Option<u32>,
}

/// A page of users.
#[derive(Serialize)]
pub(super) struct List {
    users: Vec<UserSummary>,
    /// `after` of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// What becomes of the documents of a user who is ended.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Terms {
    documents_to: Option<String>,
    #[serde(default)]
    erase: bool,
    #[serde(default)]
    access_only: bool,
}

/// What an operator wants to end of a user.
pub(super) enum End {
    /// Their access; what they have stays.
    Access,
    /// Everything.
    All(DocumentsFate),
}

/// `GET /users?after=…&limit=…`: users who were seen or have anything here, by id.
pub(super) async fn list(
    By(operator): By<Operator>,
    Query(Page { after, limit }): Query<Page>,
) -> Result<Json<List>, WebError> {
    let limit = limit.unwrap_or(DEFAULT_USERS).clamp(1, MAX_USERS);
    let users = operator.users().list(&after, limit).await?;
    let is_full = users.len() == limit as usize;
    let next = users.last().filter(|_| is_full).map(|user| user.id.clone());
    Ok(Json(List { users, next }))
}

/// `GET /users/{id}`: what a user has: names and numbers.
pub(super) async fn show(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<Json<UserDetails>, WebError> {
    Ok(Json(operator.users().get(&id).await?))
}

/// `POST /users/{id}/end`: `{"documentsTo": "handbook"}` or `{"erase": true}`; with neither, documents go to the bin. The
/// same again goes on as long as the response has `"isFinished": false`. `{"accessOnly": true}` leaves what the user has.
pub(super) async fn end(
    By(operator): By<Operator>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<UserEnd>, WebError> {
    let body = read_small(body, MAX_BODY_BYTES).await;
    let body = body.map_err(|why| WebError::unread(why, MAX_BODY_BYTES))?;
    let terms =
        if body.is_empty() { Ok(JsonObject(Terms::default())) } else { serde_json::from_slice(&body) };
    let JsonObject(Terms { documents_to, erase, access_only }) =
        terms.map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    Ok(Json(run(&operator, &id, wanted(documents_to, erase, access_only)?).await?))
}

/// `GET /export`: everything that the user has here, as a tar archive.
pub(super) async fn export_own(By(user): By<User>) -> Result<Response, WebError> {
    Ok(archive(user.export().await?))
}

/// `GET /users/{id}/export`: the same of a user whose access was ended, for operators.
pub(super) async fn export(By(operator): By<Operator>, Path(id): Path<String>) -> Result<Response, WebError> {
    Ok(archive(operator.users().export(&id).await?))
}

/// `DELETE /users/{id}/keys/{key}`: revokes a key of a user, for operators.
pub(super) async fn revoke_key(
    By(operator): By<Operator>,
    Path((id, key)): Path<(String, String)>,
) -> Result<StatusCode, WebError> {
    operator.users().revoke_key(&id, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Response with an archive, which browsers save.
pub(super) fn archive(export: Export) -> Response {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    let disposition = format!("attachment; filename=\"{}\"", export.file_name);
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_str(&disposition).expect("ASCII"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    (headers, Body::from_stream(export.archive)).into_response()
}

/// Ends a user for an operator.
pub(super) async fn run(operator: &Operator, id: &str, end: End) -> Result<UserEnd, AccessError> {
    match end {
        End::Access => operator.users().end_access(id).await,
        End::All(documents) => operator.users().end(id, documents).await,
    }
}

/// Returns what to end. Fails for terms that contradict each other.
fn wanted(documents_to: Option<String>, is_erased: bool, is_access_only: bool) -> Result<End, WebError> {
    match (documents_to, is_erased, is_access_only) {
        (None, false, true) => Ok(End::Access),
        (None, false, false) => Ok(End::All(DocumentsFate::Bin)),
        (Some(id), false, false) => Ok(End::All(DocumentsFate::Collection(id))),
        (None, true, false) => Ok(End::All(DocumentsFate::Erased)),
        _ => {
            let why =
                "Documents either move to a collection, are erased, or stay where access alone is ended.";
            Err(WebError::new(StatusCode::BAD_REQUEST, why))
        }
    }
}
