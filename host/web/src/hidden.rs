//! HTTP API for the toolkits and tools that a user hides from models.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use kitbag_access::User;
use serde::{Deserialize, Serialize};

use super::error::WebError;
use super::tools::CallLimits;
use crate::authenticate::By;
use crate::json::Json;

/// Hidden tools of one toolkit.
#[derive(Serialize)]
pub(super) struct HiddenPart {
    toolkit: String,
    /// `None` if the whole toolkit is hidden.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
}

/// Query string: the part of a toolkit to hide or to show.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// `None` for the whole toolkit.
    tool: Option<String>,
}

/// `GET /hidden-tools`
pub(super) async fn list(By(user): By<User>) -> Result<Json<Vec<HiddenPart>>, WebError> {
    let hidden = user.hidden().await?;
    let parts = hidden.iter().map(|(toolkit, tools)| HiddenPart {
        toolkit: toolkit.to_owned(),
        tools: (!tools.is_empty()).then(|| tools.into_iter().map(str::to_owned).collect()),
    });
    Ok(Json(parts.collect()))
}

/// `POST /toolkits/{id}/hide?tool=…`: hides a toolkit or tool from the caller's models.
pub(super) async fn hide(
    By(user): By<User>,
    Extension(limits): Extension<Arc<CallLimits>>,
    Path(id): Path<String>,
    Query(Part { tool }): Query<Part>,
) -> Result<StatusCode, WebError> {
    limits.admit(&user)?;
    user.hide(&id, tool.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /toolkits/{id}/show-again?tool=…`. Without `tool`, shows everything hidden of the toolkit.
pub(super) async fn show_again(
    By(user): By<User>,
    Extension(limits): Extension<Arc<CallLimits>>,
    Path(id): Path<String>,
    Query(Part { tool }): Query<Part>,
) -> Result<StatusCode, WebError> {
    limits.admit(&user)?;
    user.stored_for(&id).show_again(tool.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
