//! HTTP API for uploads that wait for an operator to deploy or discard them.

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use kitbag_access::Operator;
use kitbag_access::values::toolkits::{Deployed, Incoming, Review, Reviewed, Tracked, UploadRecord};
use kitbag_base::json_object::JsonObject;

use super::body::read_small;
use super::documents::declared_length;
use super::error::WebError;
use super::state::Shared;
use super::toolkits::{TermsQuery, UploadOptions, expect_component};
use crate::authenticate::By;
use crate::json::Json;

/// Maximum bytes of the body of a deploy.
const MAX_DEPLOY_BYTES: usize = 4 << 10;

/// `POST /uploads`: the component as the body, with `?source=` and `&signature=` as for a deploy. Inspects it
/// like a deploy, and stores it for review.
pub(super) async fn receive(
    State(shared): State<Shared>,
    By(operator): By<Operator>,
    Query(options): Query<UploadOptions>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Review>), WebError> {
    expect_component(&headers)?;
    let component = Incoming {
        bytes: body.into_data_stream(),
        length: declared_length(&headers),
        limit: shared.component_size,
        origin: options.into_origin(),
    };
    let review = operator.reviews().upload(component).await?;
    Ok((StatusCode::CREATED, Json(review)))
}

/// `GET /uploads`: all uploads, newest first.
pub(super) async fn list(By(operator): By<Operator>) -> Result<Json<Vec<UploadRecord>>, WebError> {
    Ok(Json(operator.reviews().waiting().await?))
}

/// `GET /uploads/{digest}`: the changes it would make, and the live version it is compared with.
pub(super) async fn show(
    By(operator): By<Operator>,
    Path(digest): Path<String>,
) -> Result<Json<Review>, WebError> {
    Ok(Json(operator.reviews().get(&digest).await?))
}

/// `POST /uploads/{digest}/deploy`: body `{"live": {"version": "1.0.0", "digest": …}, "manifestDigest": …}`
/// from the review, with `"live": null` for a toolkit that is not deployed; 409 if another version is live,
/// or the upload was replaced by one with another manifest. `?takeOver=true` permits taking it over from
/// another operator; `vouch` is the reason of an operator who vouches for the version.
pub(super) async fn deploy(
    By(operator): By<Operator>,
    Path(digest): Path<String>,
    Query(options): Query<TermsQuery>,
    body: Body,
) -> Result<(StatusCode, Json<Deployed>), WebError> {
    let body = read_small(body, MAX_DEPLOY_BYTES).await;
    let body = body.map_err(|why| WebError::unread(why, MAX_DEPLOY_BYTES))?;
    let JsonObject::<Reviewed>(reviewed) = serde_json::from_slice(&body)
        .map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    let deployed = operator.reviews().deploy(&digest, options.into_terms(), reviewed).await?;
    Ok((StatusCode::CREATED, Json(deployed)))
}

/// `GET /updates`: toolkits that were deployed from a registry by a tag, with newer versions found at the
/// last check.
pub(super) async fn updates(By(operator): By<Operator>) -> Result<Json<Vec<Tracked>>, WebError> {
    Ok(Json(operator.reviews().newer_versions().await?))
}

/// `DELETE /uploads/{digest}`
pub(super) async fn discard(
    By(operator): By<Operator>,
    Path(digest): Path<String>,
) -> Result<StatusCode, WebError> {
    operator.reviews().discard(&digest).await?;
    Ok(StatusCode::NO_CONTENT)
}
