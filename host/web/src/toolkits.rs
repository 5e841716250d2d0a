//! HTTP API to deploy and manage toolkits.

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use kitbag_access::values::toolkits::audience::Grant;
use kitbag_access::values::toolkits::{
    Claim, DeployTerms, Deployed, FormerOwner, Incoming, LimitUsage, Origin, Rollback, RolledBack, SignedBy,
    TakenOver, ToolkitRecord, Version, VouchReason,
};
use kitbag_access::{ListedToolkit, Operator, User};
use kitbag_base::json_object::JsonObject;
use kitbag_base::signatures::{InvalidSignature, Signature};
use kitbag_manifest::{ToolkitDefinition, Visibility};
use kitbag_net::oci::PinnedReference;
use serde::{Deserialize, Serialize};

use super::body::read_small;
use super::documents::declared_length;
use super::error::WebError;
use super::media_type;
use super::state::Shared;
use crate::authenticate::By;
use crate::json::Json;

/// Maximum bytes of the body of a rollback.
const MAX_ROLLBACK_BYTES: usize = 4 << 10;

/// Entry of the listing.
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

/// Query string of a deploy.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DeployOptions {
    /// Whether the caller takes over the toolkit if another operator owns it.
    #[serde(default)]
    take_over: bool,
    /// The caller's reason for vouching for the version, if any.
    vouch: Option<VouchReason>,
    /// Registry reference from which the component was pulled, with its digest.
    source: Option<PinnedReference>,
    /// Signature of the component by a publisher, in base64.
    signature: Option<SignatureText>,
}

/// Query string of a deploy of an earlier upload.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TermsQuery {
    #[serde(default)]
    take_over: bool,
    vouch: Option<VouchReason>,
}

/// Query string of an upload.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UploadOptions {
    source: Option<PinnedReference>,
    signature: Option<SignatureText>,
}

/// A signature in a query string.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct SignatureText(Signature);

impl TryFrom<String> for SignatureText {
    type Error = InvalidSignature;

    fn try_from(text: String) -> Result<Self, InvalidSignature> {
        text.parse().map(Self)
    }
}

impl TermsQuery {
    pub(super) fn into_terms(self) -> DeployTerms {
        let claim = if self.take_over { Claim::TakeOver } else { Claim::OwnOnly };
        DeployTerms { claim, vouch: self.vouch }
    }
}

impl UploadOptions {
    pub(super) fn into_origin(self) -> Origin {
        let signature = self.signature.map(|SignatureText(signature)| signature);
        Origin { source: self.source, signature, ..Origin::default() }
    }
}

/// `POST /toolkits`: the component as the body. `?takeOver=true` permits taking it over from another
/// operator, `vouch` is the reason of an operator who vouches for the version, `source` the pinned reference
/// from which it was pulled, and `signature` a publisher's signature in base64.
pub(super) async fn deploy(
    State(shared): State<Shared>,
    By(operator): By<Operator>,
    Query(options): Query<DeployOptions>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Deployed>), WebError> {
    expect_component(&headers)?;
    let DeployOptions { take_over, vouch, source, signature } = options;
    let component = Incoming {
        bytes: body.into_data_stream(),
        length: declared_length(&headers),
        limit: shared.component_size,
        origin: UploadOptions { source, signature }.into_origin(),
    };
    let deployed = operator.deploy(component, TermsQuery { take_over, vouch }.into_terms()).await?;
    Ok((StatusCode::CREATED, Json(deployed)))
}

/// Fails unless the `Content-Type` is that of a component.
pub(super) fn expect_component(headers: &HeaderMap) -> Result<(), WebError> {
    if media_type::is(headers, "application/wasm") {
        return Ok(());
    }
    let detail = "The body must be a component, with Content-Type: application/wasm.";
    Err(WebError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

/// `GET /toolkits`: toolkits that the caller can see; operators see all.
pub(super) async fn list(By(user): By<User>) -> Json<Vec<Summary>> {
    Json(user.listed().all().into_iter().map(Summary::from).collect())
}

/// A toolkit from the caller's view.
#[derive(Serialize)]
pub(super) struct Shown {
    #[serde(flatten)]
    record: ToolkitRecord,
    /// Grants; only for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<Vec<Grant>>,
    /// Limits of the caller's calls, with their usage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    limits: Vec<LimitUsage>,
}

/// `GET /toolkits/{id}`: manifest and versions.
pub(super) async fn show(By(user): By<User>, Path(id): Path<String>) -> Result<Json<Shown>, WebError> {
    let record = user.listed().record(&id).await?;
    let audience = user.operator().ok().map(|operator| operator.audiences().of(&id)).transpose()?;
    let limits = match user.toolkit(&id) {
        Ok(visible) => visible.limits().await?,
        Err(_not_callable) => Vec::new(),
    };
    Ok(Json(Shown { record, audience: audience.map(|it| it.grants().to_vec()), limits }))
}

/// `GET /toolkits/{id}/versions/{version}`, for operators: its manifest, imports, deployer and time.
pub(super) async fn version(
    By(operator): By<Operator>,
    Path((id, version)): Path<(String, String)>,
) -> Result<Json<Version>, WebError> {
    Ok(Json(operator.versions().get(&id, &version).await?))
}

/// `POST /toolkits/{id}/rollback`: body `{"version": "1.0.0"}`, or none. With `"live": {"version": …,
/// "digest": …}` it fails unless that version is live; `vouch` is the reason of an operator who vouches for
/// the version; with `digest` or `manifestDigest` it fails unless the version has these.
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

/// `DELETE /toolkits/{id}/publisher`: the next version may be signed by another publisher, or unsigned.
/// Responds with the former publisher.
pub(super) async fn reset_publisher(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<Json<SignedBy>, WebError> {
    Ok(Json(operator.publishers().reset(&id).await?))
}

/// `DELETE /toolkits/{id}`: removes it with all its versions.
pub(super) async fn remove(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<StatusCode, WebError> {
    operator.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /toolkits/{id}/release`, by its owner: any operator may take it over from then on.
pub(super) async fn release(
    By(operator): By<Operator>,
    Path(id): Path<String>,
) -> Result<StatusCode, WebError> {
    operator.release(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /toolkits/{id}/take-over`: makes the caller the owner, and deletes what users have set for the
/// toolkit.
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
