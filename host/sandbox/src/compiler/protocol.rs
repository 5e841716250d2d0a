//! The protocol between a server and its compiler process: one request with open files, one response.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use kitbag_manifest::Problem;
use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use super::CompileLimits;
use crate::{DescribeLimits, Imports};

/// Maximum number of passed files: the component and the machine code.
const MAX_FILES: usize = 2;
/// Maximum size of a request, in bytes.
const MAX_REQUEST_BYTES: usize = 16 << 10;
/// Maximum size of a response without the declaration, in bytes: imports, or problems.
const RESPONSE_OVERHEAD_BYTES: usize = 4 << 20;
/// Maximum number of bytes that one byte of a declaration may become as JSON within JSON: `\\u0000` for a
/// zero.
const MAX_ESCAPE_FACTOR: usize = 8;
/// Maximum size of a file that the process may write, in bytes, if the disk has space for it.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 30;

/// The task of the process, and its limits.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) task: Task,
    /// Version of the engine that the machine code is for.
    pub(super) code_version: String,
    /// Process id of the server.
    pub(super) parent: i32,
    /// Memory limit in bytes.
    pub(super) memory: u64,
    /// CPU time limit in seconds.
    pub(super) seconds: u64,
    /// Maximum size of each file that the process writes, in bytes.
    pub(super) max_file: u64,
    /// Size of the component in bytes.
    pub(super) component: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Task {
    /// Inspect and compile a toolkit, and get its declaration.
    Describe(DescribeLimits),
    /// Inspect and compile a toolkit.
    Toolkit,
    /// Inspect and compile an extractor.
    Extractor,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Response {
    Compiled(Outcome),
    /// The component has these problems.
    Refused(Vec<Problem>),
    OutOfMemory,
    /// The process itself failed, with this message.
    Failed(String),
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) imports: Imports,
    pub(super) optional_exports: BTreeSet<String>,
    pub(super) unused_exports: Vec<String>,
    /// The toolkit's declaration, as JSON.
    pub(super) declaration: Option<String>,
}

impl Request {
    pub(super) fn new(
        task: Task,
        code_version: String,
        limits: CompileLimits,
        max_file: u64,
        component: u64,
    ) -> Self {
        Self {
            task,
            code_version,
            parent: own_id(),
            memory: limits.memory as u64,
            seconds: whole_seconds(limits.time),
            max_file,
            component,
        }
    }
}

/// The id of this process.
fn own_id() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

/// Rounds up to whole seconds, the unit of the CPU time limit. Returns at least one.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1)
}

/// Maximum size of a response, in bytes, if its declaration has at most `result` bytes.
pub(super) fn max_response(result: usize) -> usize {
    result.saturating_mul(MAX_ESCAPE_FACTOR).saturating_add(RESPONSE_OVERHEAD_BYTES)
}

/// Sends a request with its files. It stays in the socket's buffer until the process reads it.
pub(super) fn send(socket: &UnixStream, request: &Request, files: &[File]) -> io::Result<()> {
    let request = serde_json::to_vec(request)?;
    let descriptors: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fits =
        request.len() <= MAX_REQUEST_BYTES && control.push(SendAncillaryMessage::ScmRights(&descriptors));
    let sent = sendmsg(socket, &[IoSlice::new(&request)], &mut control, SendFlags::empty())?;
    if fits && sent == request.len() {
        Ok(())
    } else {
        Err(io::Error::other("the request to the compiler is too large"))
    }
}

/// Receives a request and its files, until the end of the stream.
pub(super) fn receive(socket: &UnixStream) -> io::Result<(Request, Vec<File>)> {
    let mut request = vec![0; MAX_REQUEST_BYTES];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FILES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut request)], &mut control, flags)?;
    request.truncate(received.bytes);
    let files = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors.map(File::from).collect::<Vec<_>>()),
        _ => None,
    });
    let files = files.flatten().collect();
    socket.take(MAX_REQUEST_BYTES as u64).read_to_end(&mut request)?;
    Ok((serde_json::from_slice(&request)?, files))
}
