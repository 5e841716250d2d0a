//! A server to compare with: the same tool in native code behind `rmcp`, with the transport set up as
//! Kitbag's, and without sandbox, sign-in and validation.

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
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::net::TcpListener;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::Outcome;

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
        let mut result = CallToolResult::success(vec![ContentBlock::text(counts.summary())]);
        result.structured_content = serde_json::to_value(counts).ok();
        Ok(result.into())
    }
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
}

/// The result of `toolkits/text`; the program compares the two replies before it measures.
#[derive(Serialize)]
struct Counts {
    words: usize,
    characters: usize,
    characters_without_spaces: usize,
    bytes: usize,
    lines: usize,
    sentences: usize,
    paragraphs: usize,
}

impl Counts {
    fn of(text: &str) -> Self {
        let characters: Vec<_> = text.graphemes(true).collect();
        Self {
            words: text.unicode_words().count(),
            characters: characters.len(),
            characters_without_spaces: characters.iter().filter(|it| !it.trim().is_empty()).count(),
            bytes: text.len(),
            lines: text.lines().count(),
            sentences: text.unicode_sentences().count(),
            paragraphs: text.split("\n\n").count(),
        }
    }

    fn summary(&self) -> String {
        format!(
            "words: {}, characters: {} ({} without spaces), lines: {}, sentences: {}, paragraphs: {}",
            self.words,
            self.characters,
            self.characters_without_spaces,
            self.lines,
            self.sentences,
            self.paragraphs
        )
    }
}
