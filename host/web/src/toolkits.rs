//! Deploying and managing toolkits over HTTP.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use kitbag_access::values::toolkits::audience::Grant;
use kitbag_access::values::toolkits::{
    Claim, Deployed, FormerOwner, LimitUsage, Origin, Rollback, RolledBack, SignedBy, TakenOver,
    ToolkitRecord, Version, VouchReason,
};
use kitbag_access::{ListedToolkit, Operator, User};
use kitbag_base::json_object::JsonObject;
use kitbag_base::signatures::{InvalidSignature, Signature};
use kitbag_manifest::{ToolkitDefinition, Visibility};
use kitbag_net::oci::PinnedReference;
use serde::{Deserialize, Serialize};

use super::Shared;
use super::body::read_small;
use super::documents::declared_length;
use super::error::WebError;
use super::media_type;
use crate::authenticate::By;

/// Bytes of the body of a rollback.
const MAX_ROLLBACK_BYTES: usize = 4 << 10;

/// One line of the listing.
#[derive(Serialize)]
pub(super) struct Summary {
    id: String,
    name: String,
    description: String,
    icon: String,
    version: String,
    visibility: Visibility,
    owner: String,
    #[serde(rename = "takenOver", skip_serializing_if = "Option::is_none")]
    taken_over: Option<FormerOwner>,
    tools: Vec<String>,
}

/// How a deploy is meant.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DeployOptions {
    /// Whether the toolkit becomes the caller's where it is another operator's.
    #[serde(default)]
    take_over: bool,
    /// Why the caller vouches for the version, if they do.
    vouch: Option<VouchReason>,
    /// Where the component was pulled from, with the digest.
    source: Option<PinnedReference>,
    /// A publisher's signature of the component, in base64.
    signature: Option<SignatureText>,
}

/// How a deploy of an upload is meant.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DeployTerms {
    #[serde(default)]
    take_over: bool,
    vouch: Option<VouchReason>,
}

/// What an upload comes with.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UploadOptions {
    source: Option<PinnedReference>,
    signature: Option<SignatureText>,
}

/// A signature in a query.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct SignatureText(Signature);

impl TryFrom<String> for SignatureText {
    type Error = InvalidSignature;

    fn try_from(text: String) -> Result<Self, InvalidSignature> {
        text.parse().map(Self)
    }
}

impl DeployTerms {
    pub(super) fn into_terms(self) -> (Claim, Option<VouchReason>) {
        (if self.take_over { Claim::TakeOver } else { Claim::OwnOnly }, self.vouch)
    }
}

impl UploadOptions {
    pub(super) fn into_origin(self) -> Origin {
        let signature = self.signature.map(|SignatureText(signature)| signature);
        Origin { source: self.source, signature, ..Origin::default() }
    }
}

/// `POST /toolkits`: the component as the body; `?takeOver=true` where it may be another operator's, `vouch` with the
/// reason of an operator who vouches for the version, `source` with the pinned reference that it was pulled from, and
/// `signature` with that of a publisher, in base64.
pub(super) async fn deploy(
    State(shared): State<Shared>,
    By(operator): By<Operator>,
    Query(options): Query<DeployOptions>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Deployed>), WebError> {
    expect_component(&headers)?;
    let (length, limit) = (declared_length(&headers), shared.component_size);
    let DeployOptions { take_over, vouch, source, signature } = options;
    let terms = DeployTerms { take_over, vouch }.into_terms();
    let origin = UploadOptions { source, signature }.into_origin();
    let deployed = operator.deploy(body.into_data_stream(), length, limit, terms, origin).await?;
    Ok((StatusCode::CREATED, Json(deployed)))
}

/// Refuses a body of another type than a component's.
pub(super) fn expect_component(headers: &HeaderMap) -> Result<(), WebError> {
    if media_type::is(headers, "application/wasm") {
        return Ok(());
    }
    let detail = "The body must be a component, with Content-Type: application/wasm.";
    Err(WebError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

/// `GET /toolkits`: what the caller can see; operators see all.
pub(super) async fn list(By(user): By<User>) -> Json<Vec<Summary>> {
    Json(user.listing().into_iter().map(Summary::from).collect())
}

/// A toolkit as the caller sees it.
#[derive(Serialize)]
pub(super) struct Shown {
    #[serde(flatten)]
    record: ToolkitRecord,
    /// For whom it is; for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<Vec<Grant>>,
    /// Limits of the caller's calls, with what is used of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<LimitUsage>,
}

/// `GET /toolkits/{id}`: manifest and versions.
pub(super) async fn show(By(user): By<User>, Path(id): Path<String>) -> Result<Json<Shown>, WebError> {
    let record = user.toolkit_record(&id).await?;
    let audience = user.operator().ok().map(|operator| operator.audience(&id)).transpose()?;
    let limits = match user.toolkit(&id) {
        Ok(visible) => visible.limits().await?,
        Err(_not_callable) => Vec::new(),
    };
    Ok(Json(Shown { record, audience: audience.map(|it| it.grants().to_vec()), limits }))
}

/// `GET /toolkits/{id}/versions/{version}`, by operators: its manifest and imports, and who deployed it when.
pub(super) async fn version(
    By(operator): By<Operator>,
    Path((id, version)): Path<(String, String)>,
) -> Result<Json<Version>, WebError> {
    Ok(Json(operator.version(&id, &version).await?))
}

/// `POST /toolkits/{id}/rollback`: body `{"version": "1.0.0"}`, or none; with `"live": {"version": …, "digest": …}` only
/// if that is live, with `vouch` by an operator who vouches for it, and with `digest` or `manifestDigest` only to the version that has these.
pub(super) async fn roll_back(
    By(operator): By<Operator>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json<RolledBack>, WebError> {
    let body = read_small(body, MAX_ROLLBACK_BYTES).await;
    let body = body.map_err(|why| WebError::unread(why, MAX_ROLLBACK_BYTES))?;
    let wanted = if body.is_empty() { Ok(JsonObject::default()) } else { serde_json::from_slice(&body) };
    let JsonObject::<Rollback>(wanted) =
        wanted.map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    Ok(Json(operator.roll_back(&id, wanted).await?))
}

/// `DELETE /toolkits/{id}/publisher`: the next version may be signed by another publisher, or by none. Answers with the one that
/// it was bound to.
pub(super) async fn reset_publisher(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<Json<SignedBy>, WebError> {
    Ok(Json(operator.reset_publisher(&id).await?))
}

/// `DELETE /toolkits/{id}`: with all its versions.
pub(super) async fn remove(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<StatusCode, WebError> {
    operator.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /toolkits/{id}/release`, by its owner: any operator may have it.
pub(super) async fn release(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<StatusCode, WebError> {
    operator.release(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /toolkits/{id}/take-over`: it is the caller's from now on, and what users have set for it is gone.
pub(super) async fn take_over(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<Json<TakenOver>, WebError> {
    Ok(Json(operator.take_over(&id).await?))
}

impl From<ListedToolkit> for Summary {
    fn from(ListedToolkit { live, definition }: ListedToolkit) -> Self {
        let definition = ToolkitDefinition::clone(&definition);
        Self {
            id: definition.id,
            name: definition.name,
            description: definition.description,
            icon: definition.icon,
            version: definition.version,
            visibility: definition.visibility,
            owner: live.owner.clone(),
            taken_over: live.taken_over.clone(),
            tools: definition.tools.into_iter().map(|tool| tool.name).collect(),
        }
    }
}
