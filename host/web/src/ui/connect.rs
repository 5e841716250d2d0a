//! Instructions for connecting an MCP client.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kitbag_access::{User, VisibleToolkit};
use kitbag_base::base_url::below;
use kitbag_base::mcp_clients::{CLIENTS, DEFAULT_NAME, McpClient, McpServer};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use shlex::try_join;

use super::assets;
use super::cost;
use super::frame::{self, Frame, Section};
use super::text;
use crate::authenticate::By;
use crate::error::WebError;
use crate::state::Shared;

#[derive(Template)]
#[template(path = "ui/templates/connect.html")]
struct ConnectPage {
    frame: Option<Frame>,
    url: String,
    /// Identifier that every client signs in with, where none can register.
    client_id: Option<String>,
    clients: Vec<Client>,
    /// Whether the server runs code of models.
    runs_code: bool,
    /// Number of tools that the user's clients list.
    tools: usize,
    /// Token cost of a listing, as text.
    cost: String,
    /// Whether the user hides the server's own tools; `None` if it offers none.
    hides_own: Option<bool>,
}

/// An MCP client, and how to add this server to it.
struct Client {
    title: &'static str,
    /// Deep link that the client opens.
    link: Option<String>,
    command: Option<String>,
    /// Locations of its configuration file, by operating system or scope.
    files: Vec<(&'static str, &'static str)>,
    configuration: String,
    sign_in: &'static str,
}

/// `GET /ui/connect`
pub(super) async fn show(
    By(user): By<User>,
    frame: Frame,
    State(shared): State<Shared>,
) -> Result<Response, WebError> {
    let url = below(&shared.base_url, "/mcp");
    let server = McpServer {
        url: url.parse().expect("a path below a URL is a URL"),
        client_id: shared.identity.mcp_client_id().map(str::to_owned),
    };
    let toolkits = user.toolkits();
    let hidden = user.hidden().await?;
    let definitions = toolkits.iter().map(VisibleToolkit::definition).chain(user.own_tools());
    let tools = definitions.flat_map(|it| it.tools.iter().filter(|tool| !hidden.has(&it.id, &tool.name)));
    let tools: Vec<_> = tools.collect();
    let page = ConnectPage {
        clients: CLIENTS.iter().map(|client| Client::of(client, &server)).collect(),
        url,
        client_id: server.client_id,
        runs_code: user.can_run_code(),
        tools: tools.len(),
        cost: cost::of(tools),
        hides_own: user.own_tools().map(|own| own.tools.iter().all(|tool| hidden.has(&own.id, &tool.name))),
        frame: Some(frame.at(Section::Connect)),
    };
    Ok(frame::page(StatusCode::OK, &page))
}

impl Client {
    fn of(client: &McpClient, server: &McpServer) -> Self {
        let user = client.user_file.map(|file| {
            let unix = if file.linux == file.macos {
                vec![("Linux, macOS", file.linux)]
            } else {
                vec![("Linux", file.linux), ("macOS", file.macos)]
            };
            [unix, vec![("Windows", file.windows)]].concat()
        });
        let project = client.project_file.map(|file| ("A project", file));
        let command = client.command(DEFAULT_NAME, server);
        Self {
            title: client.title,
            link: match client.id {
                "cursor" => Some(cursor_link(&client.entry(server).into())),
                "vscode" => Some(visual_studio_code_link(&client.entry(server).into())),
                _ => None,
            },
            command: command.and_then(|words| try_join(words.iter().map(String::as_str)).ok()),
            files: user.into_iter().flatten().chain(project).collect(),
            configuration: client.configuration(DEFAULT_NAME, server),
            sign_in: client.sign_in,
        }
    }
}

/// Deep link for Cursor, in its own URL scheme: its web page would learn the server's address.
fn cursor_link(entry: &Value) -> String {
    let config = STANDARD.encode(entry.to_string());
    let config = utf8_percent_encode(&config, NON_ALPHANUMERIC);
    format!("cursor://anysphere.cursor-deeplink/mcp/install?name=kitbag&config={config}")
}

/// Deep link for Visual Studio Code.
fn visual_studio_code_link(entry: &Value) -> String {
    let mut entry = entry.clone();
    entry["name"] = DEFAULT_NAME.into();
    format!("vscode:mcp/install?{}", utf8_percent_encode(&entry.to_string(), NON_ALPHANUMERIC))
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;
    use serde_json::json;

    use super::*;

    #[test]
    fn links_hold_the_address_in_the_form_of_each_client() {
        let url = "https://kb.example/mcp";

        assert_eq!(
            cursor_link(&json!({ "url": url })),
            "cursor://anysphere.cursor-deeplink/mcp/install?name=kitbag&config=eyJ1cmwiOiJodHRwczovL2tiLmV4YW1wbGUvbWNwIn0%3D"
        );
        let link = visual_studio_code_link(&json!({ "type": "http", "url": url }));
        let link = link.strip_prefix("vscode:mcp/install?").expect("its scheme");
        let entry = percent_decode_str(link).decode_utf8().expect("text");
        let entry: Value = serde_json::from_str(&entry).expect("JSON");
        assert_eq!(entry, json!({ "name": "kitbag", "type": "http", "url": url }));
    }
}
