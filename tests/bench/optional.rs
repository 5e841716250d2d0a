//! Optional servers of other projects, measured if `just install-bench` has installed them: `FastMCP` and
//! ACT.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::Outcome;
use crate::candidate::{self, Candidate};
use crate::child::Server;
use crate::client::Prepared;
use crate::components;
use crate::tool_call::tool_call;

/// Starts the same tool in `FastMCP`: one Python process.
pub(crate) fn fastmcp() -> Outcome<Candidate> {
    let folder = folder("python-server");
    let address = free_address()?;
    let mut python = Command::new(installed(&folder, "python")?);
    python.arg("server.py").arg(address.port().to_string()).current_dir(&folder);
    let server = Server::start_at(address, &mut python)?;
    let call = count(address)?;
    Ok(Candidate { name: "fastmcp", server, call, _data: None })
}

/// Starts the same tool as a component in another sandboxed host, ACT. ACT uses one instance for all calls,
/// and runs them one after the other.
pub(crate) async fn act() -> Outcome<Candidate> {
    let program = installed(&folder("act-server"), "act")?;
    let component = components::build_for_act().await?;
    let data = tempfile::tempdir()?;
    let address = free_address()?;
    let mut act = Command::new(program);
    act.args(["run", "--mcp", "--http", "--listen", &address.to_string()])
        .arg(component)
        // Isolated from the user's settings and cache.
        .envs(["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"].map(|variable| (variable, data.path())))
        // ACT logs a line per call.
        .stderr(Stdio::null());
    let server = Server::start_at(address, &mut act)?;
    let call = count(address)?;
    Ok(Candidate { name: "act", server, call, _data: Some(data) })
}

/// Prepares `tools/call` of `count`: neither server prefixes the tool's name with the toolkit's.
fn count(address: SocketAddr) -> Outcome<Prepared> {
    tool_call(address, None, "count", &json!({ "text": candidate::text() }))
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bench").join(name)
}

/// Path of a program in the virtual environment in `folder`.
fn installed(folder: &Path, program: &str) -> Outcome<PathBuf> {
    let path = folder.join(".venv/bin").join(program);
    if path.is_file() { Ok(path) } else { Err("not installed; `just install-bench` shows the reason".into()) }
}

/// Local address with a free port: neither server prints a port that it chose itself.
fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
