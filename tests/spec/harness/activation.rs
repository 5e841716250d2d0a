//! The real program with a listening socket passed by a service manager.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::kitbag;
use super::server::make_private;

/// Shell command that passes its standard input as the first socket of `sd_listen_fds(3)`.
pub(crate) fn activated(data: &Path, socket: OwnedFd) -> Command {
    let program = kitbag([""; 0]).as_std().get_program().to_string_lossy().into_owned();
    make_private(data);
    let mut command = Command::new("sh");
    command
        .args(["-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\" 3<&0 </dev/null", "sh", &program, "serve"])
        // Unused: the passed socket takes precedence over this address.
        .args(["--listen", "127.0.0.1:1", "--output", "jsonl", "--data"])
        .arg(data)
        .stdin(Stdio::from(socket))
        .kill_on_drop(true);
    command
}
