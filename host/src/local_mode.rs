//! What the commands on this machine share with a server that is its own issuer.

use std::fs;
use std::io;
use std::path::Path;

use url::Url;

/// The user whose commands these are; an operator.
pub const USER: &str = "local";

/// Holds the URL of the server that last ran on the data directory.
const FILE: &str = "server-url";

/// Leaves the server's URL for the commands to find.
pub fn announce(data: &Path, base_url: &Url) -> io::Result<()> {
    fs::write(data.join(FILE), base_url.as_str())
}

/// The URL of the server that last ran on `data`, or nothing when none did.
pub fn announced(data: &Path) -> Option<Url> {
    fs::read_to_string(data.join(FILE)).ok()?.trim().parse().ok()
}
