//! OAuth discovery: authorization server and scopes.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use kitbag_base::base_url::below;
use serde_json::{Value, json};

use super::error::WebError;
use super::names::{addressed, base_urls};
use super::state::Shared;
use crate::json::Json;

/// Protected resource metadata (RFC 9728, section 2), with the client that MCP clients may share, which `kitbag
/// connect` and `kitbag login` read.
pub(super) async fn protected_resource(State(shared): State<Shared>, headers: HeaderMap) -> Json<Value> {
    let base_urls = base_urls(&shared);
    let mut metadata = json!({
        "resource": below(addressed(&base_urls, &headers), "/mcp"),
        "authorization_servers": [shared.identity.issuer()],
        "bearer_methods_supported": ["header"],
    });
    if let Some(scopes) = shared.identity.scopes().await {
        metadata["scopes_supported"] = scopes.into();
    }
    if let Some(client_id) = shared.identity.mcp_client_id() {
        metadata["kitbag_mcp_client_id"] = client_id.into();
    }
    Json(metadata)
}

/// Authorization server metadata (RFC 8414), of the identity provider or of this server itself.
pub(super) async fn authorization_server(
    State(shared): State<Shared>,
) -> Result<impl IntoResponse, WebError> {
    let metadata = match &shared.authorization_server {
        Some(server) => server.metadata().to_string().into(),
        None => shared.identity.authorization_server_metadata().await.map_err(|_unreachable| {
            WebError::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "The identity provider cannot be reached at the moment.",
            )
        })?,
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], metadata))
}
