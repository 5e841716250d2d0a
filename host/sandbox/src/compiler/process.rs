//! Starts the compiler process, waits for it or ends it, and interprets its exit status.

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

/// Maximum number of bytes of standard error that are recorded.
const MAX_STDERR_BYTES: usize = 4 << 10;
/// Environment that makes the process's allocator commit memory on demand: writable memory counts towards the
/// limit (`RLIMIT_DATA`), and by default the allocator commits a gibibyte at once.
const ALLOCATE_ON_DEMAND: [(&str, &str); 2] =
    [("MIMALLOC_ARENA_EAGER_COMMIT", "0"), ("MIMALLOC_PAGE_COMMIT_ON_DEMAND", "1")];
/// Prefix of the standard library's message for a failed allocation.
const OUT_OF_MEMORY: &str = "memory allocation of ";

/// Parameters of a compiler process.
pub(super) struct Start {
    pub(super) program: PathBuf,
    pub(super) request: Request,
    pub(super) files: Vec<File>,
    pub(super) wall: Duration,
    /// Maximum size of the response, in bytes.
    pub(super) max_response: usize,
}

/// Outcome of a compiler process.
pub(super) enum Ended {
    Answered(Response),
    /// The caller stopped waiting.
    Stopped,
    /// The process ended without a response.
    Failed(Reason),
}

/// Reason why there is no response.
pub(super) enum Reason {
    WallTime,
    ResponseTooLarge,
    Died { status: ExitStatus, stderr_text: String },
}

/// Runs a process until it ends. Dropping the future, or cancelling `stop`, ends it at once.
///
/// The kernel kills the process when the thread that started it ends, so a dedicated thread starts it.
pub(super) async fn run(start: Start, stop: CancellationToken) -> io::Result<Ended> {
    let (done, ended) = oneshot::channel();
    let _stop_when_dropped = stop.clone().drop_guard();
    thread::Builder::new().name("compiler".to_owned()).spawn(move || {
        let ended = Builder::new_current_thread()
            .enable_all()
            .build()
            .and_then(|runtime| runtime.block_on(run_on_this_thread(start, stop)));
        drop(done.send(ended));
    })?;
    ended.await.unwrap_or_else(|_| Err(io::Error::other("the thread of the compiler ended early")))
}

async fn run_on_this_thread(start: Start, stop: CancellationToken) -> io::Result<Ended> {
    let Start { program, request, files, wall, max_response } = start;
    let (ours, theirs) = UnixStream::pair()?;
    send(&ours, &request, &files)?;
    drop((ours, files));
    let mut child = Command::new(program)
        .arg0("kitbag")
        .arg(ARGUMENT)
        .env_clear()
        .envs(ALLOCATE_ON_DEMAND)
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
        ended = timeout(wall, response(&mut child, max_response)) => {
            ended.unwrap_or(Ok(Ended::Failed(Reason::WallTime)))
        }
    };
    // Reaps the process unless that has been done, so that no zombie remains.
    if child.id().is_some() {
        child.kill().await?;
    }
    ended
}

/// Reads the response, and waits for the process to end.
async fn response(child: &mut Child, max_response: usize) -> io::Result<Ended> {
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let response = async {
        let response = read(stdout, max_response + 1).await?;
        if response.len() > max_response { Err(ErrorKind::FileTooLarge.into()) } else { Ok(response) }
    };
    // Reads until both pipes are closed, or the response is too long.
    let (response, stderr_text) = match tokio::try_join!(response, read_and_drain(stderr, MAX_STDERR_BYTES)) {
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            return Ok(Ended::Failed(Reason::ResponseTooLarge));
        }
        said => said?,
    };
    let status = child.wait().await?;
    let stderr_text = String::from_utf8_lossy(&stderr_text).into_owned();
    match serde_json::from_slice(&response) {
        Ok(response) if status.success() => Ok(Ended::Answered(response)),
        _ => Ok(Ended::Failed(Reason::Died { status, stderr_text })),
    }
}

async fn read(from: Option<impl AsyncRead + Unpin>, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(limit as u64).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Returns the first `limit` bytes, and discards the rest so that the writer never blocks.
async fn read_and_drain(from: Option<impl AsyncRead + Unpin>, limit: usize) -> io::Result<Vec<u8>> {
    let Some(mut from) = from else { return Ok(Vec::new()) };
    let bytes = read(Some(&mut from), limit).await?;
    copy(&mut from, &mut sink()).await?;
    Ok(bytes)
}

impl Reason {
    /// Determines the limit that was reached. Standard error goes to the log only: an untrusted component may
    /// have influenced it.
    pub(super) fn explain(&self, limits: CompileLimits, max_response: usize) -> LimitReached {
        let (status, stderr_text) = match self {
            Self::WallTime => return LimitReached::WallTime(limits.wall),
            Self::ResponseTooLarge => return LimitReached::Response(max_response),
            Self::Died { status, stderr_text } => (status, stderr_text),
        };
        let is = |signal: Signal| status.signal() == Some(signal.as_raw());
        if is(Signal::XCPU) {
            return LimitReached::ProcessorTime(limits.time);
        }
        if is(Signal::XFSZ) {
            return LimitReached::MachineCode(MAX_FILE_BYTES);
        }
        if stderr_text.contains(OUT_OF_MEMORY) {
            return LimitReached::Memory(limits.memory);
        }
        warn!(%status, ?stderr_text, "the compiler process died");
        let how = if is(Signal::KILL) {
            "it was killed, perhaps because the machine has no memory left".to_owned()
        } else {
            status.to_string()
        };
        LimitReached::Crash(how)
    }
}
