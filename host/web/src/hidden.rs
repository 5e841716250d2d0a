//! What a user hides from models, over HTTP.

use std::sync::Arc;

use axum::Extension;
use axum::Json;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use kitbag_access::User;
use serde::{Deserialize, Serialize};

use super::error::WebError;
use super::tools::CallLimits;
use crate::authenticate::By;

/// What is hidden of one toolkit.
#[derive(Serialize)]
pub(super) struct HiddenPart {
    toolkit: String,
    /// `None` where all of it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
}

/// What to hide of a toolkit, or to show.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// All of it, if no tool is named.
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

/// `POST /toolkits/{id}/hide?tool=…`: from the models of the caller.
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

/// `POST /toolkits/{id}/show-again?tool=…`; without a tool, whatever is hidden of the toolkit.
pub(super) async fn show_again(
    By(user): By<User>,
    Extension(limits): Extension<Arc<CallLimits>>,
    Path(id): Path<String>,
    Query(Part { tool }): Query<Part>,
) -> Result<StatusCode, WebError> {
    limits.admit(&user)?;
    user.show_again(&id, tool.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
