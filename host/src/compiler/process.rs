//! The compiler process, seen from outside: started, waited for, ended, and what its end means.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt as _, copy, sink};
use tokio::process::{Child, Command};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::child::ARGUMENT;
use super::protocol::{MAX_FILE_BYTES, Request, Response, send};
use super::{CompileLimits, LimitReached};

/// What is read of the process's last words.
const MAX_WORDS: usize = 4 << 10;
/// How the standard library begins to say that there is no memory.
const NO_MEMORY: &str = "memory allocation of ";

/// What a process is started with.
pub(super) struct Start {
    pub(super) program: PathBuf,
    pub(super) request: Request,
    pub(super) files: Vec<File>,
    pub(super) wall: Duration,
    /// Bytes.
    pub(super) max_response: usize,
}

/// How a process ended.
pub(super) enum Ended {
    Answered(Response),
    /// Whoever wanted it does not any more.
    Stopped,
    /// Without an answer.
    Early(Reason),
}

/// Why there is no answer.
pub(super) enum Reason {
    WallTime,
    TooLongAResponse,
    Died { status: ExitStatus, words: String },
}

/// Runs a process to its end. Dropping the future, or cancelling `stop`, ends it at once.
///
/// The kernel ends the process when the thread goes that started it, so it has one of its own.
pub(super) async fn run(start: Start, stop: CancellationToken) -> io::Result<Ended> {
    let (done, ended) = oneshot::channel();
    let _stop_when_dropped = stop.clone().drop_guard();
    thread::Builder::new().name("compiler".to_owned()).spawn(move || {
        let ended = Builder::new_current_thread()
            .enable_all()
            .build()
            .and_then(|runtime| runtime.block_on(run_here(start, stop)));
        drop(done.send(ended));
    })?;
    ended.await.unwrap_or_else(|_| Err(io::Error::other("the thread of the compiler ended early")))
}

async fn run_here(start: Start, stop: CancellationToken) -> io::Result<Ended> {
    let Start { program, request, files, wall, max_response } = start;
    let (ours, theirs) = UnixStream::pair()?;
    send(&ours, &request, &files)?;
    drop((ours, files));
    let mut child = Command::new(program)
        .arg0("kitbag")
        .arg(ARGUMENT)
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let ended = tokio::select! {
        biased;
        () = stop.cancelled() => Ok(Ended::Stopped),
        ended = timeout(wall, answer(&mut child, max_response)) => {
            ended.unwrap_or(Ok(Ended::Early(Reason::WallTime)))
        }
    };
    // Unless somebody has waited for it already: nothing of it is to be left.
    if child.id().is_some() {
        child.kill().await?;
    }
    ended
}

/// Reads what the process has to say, and waits for its end.
async fn answer(child: &mut Child, max_response: usize) -> io::Result<Ended> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let response = async {
        let response = read(stdout, max_response + 1).await?;
        if response.len() > max_response { Err(ErrorKind::FileTooLarge.into()) } else { Ok(response) }
    };
    // Until it has closed both, or has said too much.
    let (response, words) = match tokio::try_join!(response, read_and_drain(stderr, MAX_WORDS)) {
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            return Ok(Ended::Early(Reason::TooLongAResponse));
        }
        said => said?,
    };
    let status = child.wait().await?;
    let words = String::from_utf8_lossy(&words).into_owned();
    match serde_json::from_slice(&response) {
        Ok(response) if status.success() => Ok(Ended::Answered(response)),
        _ => Ok(Ended::Early(Reason::Died { status, words })),
    }
}

async fn read(from: Option<impl AsyncRead + Unpin>, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(limit as u64).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Keeps the beginning. Whoever writes more does not wait for it to be read.
async fn read_and_drain(from: Option<impl AsyncRead + Unpin>, limit: usize) -> io::Result<Vec<u8>> {
    let Some(mut from) = from else { return Ok(Vec::new()) };
    let bytes = read(Some(&mut from), limit).await?;
    copy(&mut from, &mut sink()).await?;
    Ok(bytes)
}

impl Reason {
    /// Says what the process died of. What it had to say itself stays in the log: a stranger's component may
    /// have had a part in it.
    pub(super) fn explain(&self, limits: CompileLimits, max_response: usize) -> LimitReached {
        let (status, words) = match self {
            Self::WallTime => return LimitReached::WallTime(limits.wall),
            Self::TooLongAResponse => return LimitReached::Response(max_response),
            Self::Died { status, words } => (status, words),
        };
        let is = |signal: Signal| status.signal() == Some(signal.as_raw());
        if is(Signal::XCPU) {
            return LimitReached::ProcessorTime(limits.time);
        }
        if is(Signal::XFSZ) {
            return LimitReached::MachineCode(MAX_FILE_BYTES);
        }
        if words.contains(NO_MEMORY) {
            return LimitReached::Memory(limits.memory);
        }
        warn!(%status, ?words, "the compiler process died");
        let how = if is(Signal::KILL) {
            "it was killed, perhaps because the machine has no memory left".to_owned()
        } else {
            status.to_string()
        };
        LimitReached::Crash(how)
    }
}
