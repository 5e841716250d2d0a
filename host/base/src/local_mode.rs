//! What the commands on this machine share with a server that is its own issuer.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use url::Url;

use crate::loopback::is_loopback;
pub use crate::ownership::DEFAULT_DATA;
use crate::ownership::{self, Distrust, Protection};
use crate::private_file;

/// The user whose commands these are; an operator.
pub const USER: &str = "local";

/// Holds the URL of the server that last ran on the data directory.
const FILE: &str = "server-url";

/// Why a command does not talk to the server that a data directory names.
#[derive(Debug, Error)]
pub enum Unusable {
    /// Somebody else may have written it.
    #[error(transparent)]
    Distrusted(#[from] Distrust),
    /// It is none that could be a server in local mode.
    #[error("{path} does not hold the http or https URL of a server on this machine", path = .0.display())]
    Elsewhere(PathBuf),
}

/// Leaves the server's URL for the commands to find.
pub fn announce(data: &Path, base_url: &Url) -> io::Result<()> {
    private_file::replace(&data.join(FILE), base_url.as_str().as_bytes())
}

/// Whether a server in local mode has ever run on `data`.
pub fn was_announced(data: &Path) -> bool {
    data.join(FILE).exists()
}

/// The URL of the server that last ran on `data`, or nothing when none did. It is on this machine, and the
/// directory is the user's alone.
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
