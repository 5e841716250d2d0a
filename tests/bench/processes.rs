//! Processes of a service, running the real program.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::child::Server;
use crate::service::{OPERATOR, Service};

/// Path of the program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_kitbag");

impl Service {
    /// Starts a process that listens on an address. `command`: the program, or a wrapper of it.
    pub(crate) fn start_with(
        &self,
        mut command: Command,
        address: SocketAddr,
        more: &[&str],
    ) -> Outcome<Server> {
        let data = self.data_at(address)?;
        // In a folder without `kitbag.toml`, and with a log level that leaves out deploys.
        command
            .current_dir(&data)
            .args(["serve", "--listen", &address.to_string(), "--base-url", &self.base_url()])
            .args(["--issuer", self.issuer(), "--operators", OPERATOR])
            .args(["--mcp-requests-per-minute", "4294967295", "--uploads-per-minute", "4294967295"])
            .arg(format!("--objects=folder:{}", self.objects().display()))
            .arg(format!("--master-key=file:{}", self.master_key().display()))
            .args(more)
            .env("KITBAG_DATA", &data)
            .env("KITBAG_LOG", "warn");
        if let Some(database) = self.database() {
            command.env("KITBAG_DATABASE", database.as_str());
        }
        Server::start_at(address, &mut command)
    }

    /// Data directory of the process that listens on an address.
    fn data_at(&self, address: SocketAddr) -> Outcome<PathBuf> {
        self.data(&format!("data-{}", address.port()))
    }

    /// Data directory of the only process.
    #[allow(dead_code, reason = "one of the benchmarks reads it")]
    pub(crate) fn data_of_only_process(&self) -> Outcome<PathBuf> {
        self.data_at(self.address())
    }

    /// Starts the only process, on the address that users know.
    pub(crate) fn start(&self, more: &[&str]) -> Outcome<Server> {
        self.start_with(Command::new(PROGRAM), self.address(), more)
    }
}
