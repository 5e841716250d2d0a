//! Reference server: the same tool in native code behind `rmcp`, with Kitbag's transport settings, without
//! sandbox, sign-in and validation.

use std::sync::Arc;

use axum::Router;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::Outcome;
use crate::counts::Counts;

/// Serves `text__count` at `/mcp`.
pub(crate) async fn serve() -> Outcome<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts([address.to_string()])
        .with_allowed_origins([format!("http://{address}")])
        .enforce_origin_validation();
    let service = StreamableHttpService::new(|| Ok(Native), Arc::new(NeverSessionManager::default()), config);
    println!("the native server serves http://{address}");
    Ok(axum::serve(listener, Router::new().route_service("/mcp", service)).await?)
}

#[derive(Clone)]
struct Native;

impl ServerHandler for Native {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let arguments: Arguments = serde_json::from_value(arguments)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let counts = Counts::of(&arguments.text);
        let mut result = CallToolResult::success(vec![ContentBlock::text(summary(&counts))]);
        result.structured_content = serde_json::to_value(counts).ok();
        Ok(result.into())
    }
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
}

/// Formats the counts as one line of text.
fn summary(counts: &Counts) -> String {
    format!(
        "words: {}, characters: {} ({} without spaces), lines: {}, sentences: {}, paragraphs: {}",
        counts.words,
        counts.characters,
        counts.characters_without_spaces,
        counts.lines,
        counts.sentences,
        counts.paragraphs
    )
}
