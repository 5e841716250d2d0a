//! MCP at `/mcp`: the protocol is rmcp's, callers and tools are ours.
//!
//! How results and errors are spelled is in `docs/mcp.md`; keep the two together.

mod catalogue;

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Extensions,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};

use super::Shared;
use crate::dispatch::{Dispatch, DispatchError, Failure, Reply, Success};
use crate::identity::Caller;
use catalogue::Catalogue;

/// The endpoint. Stateless: every request stands alone, so any process can answer it.
pub(super) fn service(shared: &Shared) -> StreamableHttpService<Handler, NeverSessionManager> {
    let handler = Handler {
        dispatch: shared.dispatch.clone(),
        catalogue: Arc::new(Catalogue::new(shared.toolkits.clone())),
    };
    let host = shared.base_url.authority().to_owned();
    let own_origin = shared.base_url.origin().ascii_serialization();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_hosts([host])
        .with_allowed_origins(shared.allowed_origins.iter().cloned().chain([own_origin]))
        .enforce_origin_validation();
    StreamableHttpService::new(move || Ok(handler.clone()), Arc::new(NeverSessionManager::default()), config)
}

/// Answers MCP requests.
#[derive(Clone)]
pub(super) struct Handler {
    dispatch: Arc<Dispatch>,
    catalogue: Arc<Catalogue>,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("kitbag", env!("CARGO_PKG_VERSION")).with_title("Kitbag");
        info
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = caller(&context.extensions)?;
        Ok(ListToolsResult::with_all_items(self.catalogue.visible_to(&caller.user_id)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = caller(&context.extensions)?;
        let arguments = request.arguments.unwrap_or_default();
        // Boxed, because rmcp moves the future of a request several times, and this one is large.
        let call = Box::pin(self.dispatch.call(caller, &request.name, arguments));
        // A client that goes away takes its call with it: the guest stops.
        let reply = tokio::select! {
            reply = call => reply,
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
        };
        match reply {
            Ok(Reply::Success(success)) => Ok(succeeded(success).into()),
            Ok(Reply::Failure(failure)) => Ok(failed(&failure).into()),
            Err(error @ DispatchError::UnknownTool(_)) => {
                Err(ErrorData::invalid_params(error.to_string(), None))
            }
            Err(error @ DispatchError::Unavailable) => {
                Err(ErrorData::internal_error(error.to_string(), None))
            }
        }
    }
}

fn succeeded(success: Success) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(success.text)]);
    result.structured_content = success.structured;
    result
}

/// The envelope is the text of the result: it is what the model reads, code and all.
fn failed(failure: &Failure) -> CallToolResult {
    let envelope = serde_json::to_string(failure).expect("strings and booleans always serialise");
    CallToolResult::error(vec![ContentBlock::text(envelope)])
}

/// The caller whom `authenticate` let in.
fn caller(extensions: &Extensions) -> Result<&Caller, ErrorData> {
    extensions
        .get::<Parts>()
        .and_then(|parts| parts.extensions.get::<Caller>())
        .ok_or_else(|| ErrorData::internal_error("the request has no caller", None))
}
