//! Files shared by the commands on this machine and a server in local mode, which is its own issuer.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use url::Url;

use crate::loopback::is_loopback;
pub use crate::ownership::DEFAULT_DATA;
use crate::ownership::{self, Distrust, Protection};
use crate::private_file;

/// User id of the commands of local mode; an operator.
pub const USER: &str = "local";

/// File that contains the URL of the server that last ran on the data directory.
const FILE: &str = "server-url";

/// Reason why a command does not connect to the server that a data directory names.
#[derive(Debug, Error)]
pub enum Unusable {
    /// Another user may have written the file.
    #[error(transparent)]
    Distrusted(#[from] Distrust),
    /// The file does not contain the URL of a possible server in local mode.
    #[error("{path} does not hold the http or https URL of a server on this machine", path = .0.display())]
    Elsewhere(PathBuf),
}

/// Writes the server's URL to the data directory, for commands.
pub fn announce(data: &Path, base_url: &Url) -> io::Result<()> {
    private_file::replace(&data.join(FILE), base_url.as_str().as_bytes())
}

/// Whether a server in local mode has ever run on `data`.
pub fn was_announced(data: &Path) -> bool {
    data.join(FILE).exists()
}

/// Returns the URL of the server that last ran on `data`, or `None`. The URL is a loopback URL, and the
/// directory must be accessible to the current user only.
pub fn announced(data: &Path) -> Result<Option<Url>, Unusable> {
    let path = data.join(FILE);
    let Some(text) = ownership::read(&path, Protection::Private)? else { return Ok(None) };
    let url = text.trim().parse().ok().filter(|url: &Url| matches!(url.scheme(), "http" | "https"));
    url.filter(is_loopback).map(Some).ok_or(Unusable::Elsewhere(path))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_server_is_announced_on_this_machine_or_not_at_all() {
        let private = Permissions::from_mode(0o700);
        let data = tempfile::Builder::new().permissions(private).tempdir().expect("a scratch directory");

        for (text, is_usable) in [
            ("http://127.0.0.1:8787/", true),
            ("https://localhost:1", true),
            ("http://127.8.9.1:1\n", true),
            ("http://[::1]:8787", true),
            ("http://evil.example/", false),
            ("https://evil.example/", false),
            ("http://localhost.evil.example/", false),
            ("http://127.0.0.1@evil.example/", false),
            ("http://10.0.0.1/", false),
            ("http://0.0.0.0:1/", false),
            ("file:///etc/passwd", false),
            ("nonsense", false),
            ("", false),
        ] {
            private_file::replace(&data.path().join(FILE), text.as_bytes()).expect("it is ours");
            assert_eq!(matches!(announced(data.path()), Ok(Some(_))), is_usable, "{text}");
        }
    }
}
