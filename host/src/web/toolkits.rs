//! Deploying and managing toolkits over HTTP.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, post};
use axum::{Extension, Json};
use kitbag_manifest::Visibility;
use serde::{Deserialize, Serialize};

use super::Shared;
use super::documents::declared_length;
use super::error::WebError;
use crate::identity::Caller;
use crate::tasks::to_its_end;
use crate::toolkits::{Claim, Deployed, FormerOwner, Live, TakenOver, ToolkitError, ToolkitRecord};

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
}

/// `POST /toolkits`: the component as the body; `?takeOver=true` where it may be another operator's.
pub(super) async fn deploy(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Query(options): Query<DeployOptions>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Deployed>), WebError> {
    require_operator(&shared, &caller)?;
    if headers.get(header::CONTENT_TYPE).is_none_or(|value| value != "application/wasm") {
        let detail = "The body must be a component, with Content-Type: application/wasm.";
        return Err(WebError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    // A client that goes away once its component has arrived does not stop the deploy: it runs to
    // its end, whoever is listening.
    let claim = if options.take_over { Claim::TakeOver } else { Claim::OwnOnly };
    let deploy = async move {
        let (component, length) = (body.into_data_stream(), declared_length(&headers));
        shared.toolkits.deploy(component, length, shared.component_size, &caller.user_id, claim).await
    };
    let deployed = to_its_end(deploy).await.map_err(ToolkitError::from)??;
    Ok((StatusCode::CREATED, Json(deployed)))
}

/// `GET /toolkits`: what the caller can see; operators see all.
pub(super) async fn list(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
) -> impl IntoResponse {
    let registry = shared.toolkits.registry();
    let sees_all = is_operator(&shared, &caller);
    let visible: Vec<_> = registry
        .all()
        .filter(|toolkit| sees_all || toolkit.is_visible_to(&caller.user_id))
        .map(|toolkit| {
            let it = &toolkit.definition;
            Summary {
                id: it.id.clone(),
                name: it.name.clone(),
                description: it.description.clone(),
                icon: it.icon.clone(),
                version: it.version.clone(),
                visibility: it.visibility,
                owner: toolkit.owner.clone(),
                taken_over: toolkit.taken_over.clone(),
                tools: it.tools.iter().map(|tool| tool.name.clone()).collect(),
            }
        })
        .collect();
    Json(visible)
}

/// `GET /toolkits/{id}`: manifest and versions.
pub(super) async fn show(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<ToolkitRecord>, WebError> {
    if !is_operator(&shared, &caller) {
        visible_to(&shared, &caller, &id)?;
    }
    Ok(Json(shared.toolkits.record(&id).await?))
}

/// What to go back to; without a version, to the one that was live before.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RollBack {
    version: Option<String>,
}

/// What is live now.
#[derive(Serialize)]
pub(super) struct RolledBack {
    id: String,
    version: String,
}

/// The route of a rollback, whose body holds a version number.
pub(super) fn rollback() -> MethodRouter<Shared> {
    post(roll_back).layer(DefaultBodyLimit::max(MAX_ROLLBACK_BYTES))
}

/// `POST /toolkits/{id}/rollback`: body `{"version": "1.0.0"}`, or none.
async fn roll_back(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
    body: Bytes,
) -> Result<Json<RolledBack>, WebError> {
    require_operator(&shared, &caller)?;
    let wanted = if body.is_empty() { Ok(RollBack::default()) } else { serde_json::from_slice(&body) };
    let wanted = wanted.map_err(|error| WebError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
    let version = shared.toolkits.roll_back(&id, wanted.version.as_deref(), &caller.user_id).await?;
    Ok(Json(RolledBack { id, version }))
}

/// `DELETE /toolkits/{id}`: with all its versions.
pub(super) async fn remove(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, WebError> {
    require_operator(&shared, &caller)?;
    shared.toolkits.remove(&id, &caller.user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /toolkits/{id}/release`, by its owner: any operator may have it.
pub(super) async fn release(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<StatusCode, WebError> {
    require_operator(&shared, &caller)?;
    shared.toolkits.release(&id, &caller.user_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /toolkits/{id}/take-over`: it is the caller's from now on, and what users have set for it is gone.
pub(super) async fn take_over(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<TakenOver>, WebError> {
    require_operator(&shared, &caller)?;
    Ok(Json(shared.toolkits.take_over(&id, &caller.user_id).await?))
}

/// The live toolkit, if the caller may see and call it. Others' private toolkits do not exist for them.
pub(super) fn visible_to(shared: &Shared, caller: &Caller, id: &str) -> Result<Arc<Live>, ToolkitError> {
    let registry = shared.toolkits.registry();
    let visible = registry.get(id).filter(|live| live.is_visible_to(&caller.user_id));
    visible.cloned().ok_or_else(|| ToolkitError::Unknown(id.to_owned()))
}

pub(super) fn is_operator(shared: &Shared, caller: &Caller) -> bool {
    shared.operators.contains(&caller.user_id)
}

/// Refuses everybody whom the operator has not named.
pub(super) fn require_operator(shared: &Shared, caller: &Caller) -> Result<(), WebError> {
    if is_operator(shared, caller) {
        return Ok(());
    }
    let detail = format!("Only operators may do this; {} is not one (setting `operators`).", caller.user_id);
    Err(WebError::new(StatusCode::FORBIDDEN, detail))
}
