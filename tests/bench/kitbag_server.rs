//! The real program as a child process, in local mode.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::Full;

use crate::Outcome;
use crate::child::Server;
use crate::client::{Connection, Prepared};

/// Starts `kitbag serve` on a data directory.
pub(crate) fn start(data: &Path, more: &[&str]) -> Outcome<Server> {
    // A server rejects a data directory that other users can access.
    std::fs::set_permissions(data, std::fs::Permissions::from_mode(0o700))?;
    // In a folder without `kitbag.toml`, and with a log level that leaves out deploys.
    Server::start(
        program(data)
            .args(["serve", "--listen", "127.0.0.1:0"])
            // A single user sends all requests.
            .args(["--mcp-requests-per-minute", "4294967295"])
            .args(more)
            .env("KITBAG_LOG", "warn"),
    )
}

/// Uploads a component.
pub(crate) async fn deploy(server: &Server, data: &Path, component: &[u8]) -> Outcome<()> {
    let request = upload(&server.address().to_string(), &token(data)?, component)?;
    Connection::open(server.address()).await?.exchange(&request).await.map(drop)
}

/// Prepares the upload of a component to a server with this address.
pub(crate) fn upload(host: &str, token: &str, component: &[u8]) -> Outcome<Prepared> {
    Ok(Request::post("/toolkits")
        .header(header::HOST, host)
        .header(header::CONTENT_TYPE, "application/wasm")
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .body(Full::new(Bytes::copy_from_slice(component)))?)
}

/// Returns an access token of the operator for the server that runs on `data`.
pub(crate) fn token(data: &Path) -> Outcome<String> {
    token_of(data, None)
}

/// Returns an access token of a user, by default the operator, for the server that runs on `data`.
pub(crate) fn token_of(data: &Path, user: Option<&str>) -> Outcome<String> {
    let user = user.iter().flat_map(|user| ["--user", user]);
    let output = program(data).arg("token").args(user).output()?;
    if !output.status.success() {
        return Err(format!("kitbag token failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn program(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kitbag"));
    command.current_dir(data).env("KITBAG_DATA", data);
    command
}
