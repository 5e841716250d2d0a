//! OCI registry: Debian's `docker-registry`, with its data in a folder.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use super::certificates::Files;
use super::{eventually, root};

/// User name and password for a registry with authentication.
pub(crate) const REGISTRY_USER: (&str, &str) = ("ana", "s3cr3t");
/// [`REGISTRY_USER`] as a line of htpasswd.
const HTPASSWD: &str = "ana:$2b$04$lLtv1cJUbt8rrQGKABcLQuLPQwX8aqILrz19a8kZ3HRqXgSnu/qd.\n";

/// Registry process. Killed when dropped, and its data is deleted.
pub(crate) struct DockerRegistry {
    folder: TempDir,
    host: String,
    _running: Child,
}

impl DockerRegistry {
    /// Starts a registry without authentication, over plain HTTP.
    pub(crate) async fn start() -> Self {
        Self::start_with("", None).await
    }

    /// Starts a registry that accepts only [`REGISTRY_USER`], over TLS.
    pub(crate) async fn start_with_sign_in(certificate: &Files) -> Self {
        Self::start_with(HTPASSWD, Some(certificate)).await
    }

    async fn start_with(users: &str, certificate: Option<&Files>) -> Self {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let host = port.local_addr().expect("its address").to_string();
        drop(port);
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("users"), users).expect("a file");
        let auth = if users.is_empty() {
            String::new()
        } else {
            format!("auth: {{htpasswd: {{realm: test, path: '{}'}}}}\n", path("users"))
        };
        let tls = certificate.map_or_else(String::new, |files| {
            format!(
                ", tls: {{certificate: '{}', key: '{}'}}",
                files.certificate.display(),
                files.key.display()
            )
        });
        let configuration = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: '{}'}}}}\n\
             http: {{addr: '{host}'{tls}}}\n{auth}",
            path("data")
        );
        fs::write(path("config.yml"), configuration).expect("a file");
        let program = program().expect("run scripts/install-debian-program docker-registry");
        let running = Command::new(program)
            .args(["serve", &path("config.yml")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the registry can be started");
        eventually("the registry listens", async || TcpStream::connect(&host).await.is_ok()).await;
        Self { folder, host, _running: running }
    }

    /// Host and port of the registry.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Reference to an artifact in the registry.
    pub(crate) fn reference(&self, name: &str) -> String {
        format!("oci://{}/{name}", self.host)
    }

    /// File of a blob, by the hexadecimal digits of its digest.
    pub(crate) fn blob(&self, digest: &str) -> PathBuf {
        let blobs = self.folder.path().join("data/docker/registry/v2/blobs/sha256");
        blobs.join(&digest[..2]).join(digest).join("data")
    }
}

/// Finds the program: from `scripts/install-debian-program`, or in `PATH`; `None` if it is not installed.
fn program() -> Option<PathBuf> {
    let unpacked = root().join(".tools/docker-registry/docker-registry");
    let path = std::env::var_os("PATH")?;
    let installed = std::env::split_paths(&path).map(|folder| folder.join("docker-registry"));
    std::iter::once(unpacked).chain(installed).find(|program| program.is_file())
}
