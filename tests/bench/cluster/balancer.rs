//! `HAProxy` in front of several processes.

use std::env;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::Outcome;
use crate::child::Server;

/// Routing of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Routing {
    /// All requests of a user go to the same process.
    ByUser,
    /// Round robin.
    InTurn,
}

/// Running load balancer.
pub(crate) struct Balancer {
    server: Server,
    _folder: TempDir,
}

impl Balancer {
    /// Starts `HAProxy` on an address.
    pub(crate) fn start(address: SocketAddr, processes: &[SocketAddr], routing: Routing) -> Outcome<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("haproxy.cfg");
        let shipped = fs::read_to_string(root.join("packaging/compose/haproxy.cfg"))?;
        fs::write(&file, configuration(&shipped, address, processes, routing)?)?;
        let unpacked = root.join(".tools/haproxy");
        let (program, libraries) = if unpacked.join("haproxy").is_file() {
            (unpacked.join("haproxy"), unpacked.into_os_string())
        } else {
            (PathBuf::from("haproxy"), env::var_os("LD_LIBRARY_PATH").unwrap_or_default())
        };
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", libraries).arg("-db").arg("-f").arg(&file);
        let server = Server::start_at(address, &mut command).map_err(|error| format!("HAProxy: {error}"))?;
        Ok(Self { server, _folder: folder })
    }

    /// Process of the load balancer.
    pub(crate) fn server(&self) -> &Server {
        &self.server
    }

    /// Listening address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }
}

/// Adapts the shipped configuration to these processes.
fn configuration(
    shipped: &str,
    address: SocketAddr,
    processes: &[SocketAddr],
    routing: Routing,
) -> Outcome<String> {
    let mut lines = Vec::new();
    let (mut binds, mut balances) = (0, 0);
    for line in shipped.lines() {
        match line.split_whitespace().next() {
            Some("bind") => {
                binds += 1;
                lines.push(format!("    bind {address}"));
            }
            Some("balance") if routing == Routing::InTurn => {
                balances += 1;
                lines.push("    balance roundrobin".to_owned());
            }
            Some("hash-type") if routing == Routing::InTurn => {}
            Some("server") => {}
            word => {
                balances += usize::from(word == Some("balance"));
                lines.push(line.to_owned());
            }
        }
    }
    // The server list is at the end of the file.
    for (number, process) in processes.iter().enumerate() {
        lines.push(format!("    server process-{number} {process}"));
    }
    if (binds, balances) != (1, 1) {
        return Err("haproxy.cfg has another form than this benchmark knows".into());
    }
    Ok(lines.join("\n") + "\n")
}
