//! Servers of other projects, which are measured if `just install-bench` could install them: `FastMCP` and ACT.

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

/// The same tool with `FastMCP`: one process of Python.
pub(crate) fn fastmcp() -> Outcome<Candidate> {
    let folder = folder("python-server");
    let address = free_address()?;
    let mut python = Command::new(installed(&folder, "python")?);
    python.arg("server.py").arg(address.port().to_string()).current_dir(&folder);
    let server = Server::start_at(address, &mut python)?;
    let call = count(address)?;
    Ok(Candidate { name: "fastmcp", server, call, _data: None })
}

/// The same tool as a component in another sandboxed host, ACT. That keeps one instance for all calls, and runs one call
/// after the other.
pub(crate) async fn act() -> Outcome<Candidate> {
    let program = installed(&folder("act-server"), "act")?;
    let component = components::build_for_act().await?;
    let data = tempfile::tempdir()?;
    let address = free_address()?;
    let mut act = Command::new(program);
    act.args(["run", "--mcp", "--http", "--listen", &address.to_string()])
        .arg(component)
        // Neither the user's settings nor the user's cache.
        .envs(["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"].map(|variable| (variable, data.path())))
        // A line for each call.
        .stderr(Stdio::null());
    let server = Server::start_at(address, &mut act)?;
    let call = count(address)?;
    Ok(Candidate { name: "act", server, call, _data: Some(data) })
}

/// `tools/call` of `count`: neither server puts a toolkit's name before the tool's.
fn count(address: SocketAddr) -> Outcome<Prepared> {
    tool_call(address, None, "count", &json!({ "text": candidate::text() }))
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bench").join(name)
}

/// A program of the virtual environment in `folder`.
fn installed(folder: &Path, program: &str) -> Outcome<PathBuf> {
    let path = folder.join(".venv/bin").join(program);
    if path.is_file() { Ok(path) } else { Err("not installed; `just install-bench` shows the reason".into()) }
}

/// An address of this machine with a port that is free now: neither server prints the one that it chose itself.
fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
