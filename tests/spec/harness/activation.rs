//! The real program with a socket that it did not open, as a service manager starts it.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::kitbag;
use super::server::make_private;

/// A shell that passes its standard input as the first socket of `sd_listen_fds(3)`.
pub(crate) fn activated(data: &Path, socket: OwnedFd) -> Command {
    let program = kitbag([""; 0]).as_std().get_program().to_string_lossy().into_owned();
    make_private(data);
    let mut command = Command::new("sh");
    command
        .args(["-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\" 3<&0 </dev/null", "sh", &program, "serve"])
        // A port that is not used: the socket comes first.
        .args(["--listen", "127.0.0.1:1", "--output", "jsonl", "--data"])
        .arg(data)
        .stdin(Stdio::from(socket))
        .kill_on_drop(true);
    command
}
