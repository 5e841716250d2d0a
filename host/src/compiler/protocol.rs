//! What goes between a server and its compiler process: one request with open files, one response.

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
use crate::sandbox::{DescribeLimits, Imports};

/// The component and the machine code.
const MAX_FILES: usize = 2;
/// Bytes of a request.
const MAX_REQUEST_BYTES: usize = 16 << 10;
/// Bytes of a response beside the declaration: imports, or problems.
const RESPONSE_OVERHEAD_BYTES: usize = 4 << 20;
/// Bytes that one byte of a declaration may become, as JSON within JSON: `\\u0000` for a zero.
const MAX_ESCAPE_FACTOR: usize = 8;
/// The largest file that the process may write, where the disk has room for it.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 30;

/// What the process is asked to do, and within which bounds.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) task: Task,
    /// The engine that the machine code is for.
    pub(super) code_version: String,
    /// Process id of the server.
    pub(super) parent: i32,
    /// Bytes of memory.
    pub(super) memory: u64,
    /// Seconds of processor time.
    pub(super) seconds: u64,
    /// Bytes of each file that it writes.
    pub(super) max_file: u64,
    /// Bytes of the component.
    pub(super) component: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Task {
    /// Inspect and compile a toolkit, and ask it for its declaration.
    Describe(DescribeLimits),
    /// Inspect and compile a toolkit.
    Toolkit,
    /// Inspect and compile an extractor.
    Extractor,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Response {
    Compiled(Outcome),
    /// The component's fault.
    Refused(Vec<Problem>),
    OutOfMemory,
    /// The process's own fault.
    Failed(String),
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) imports: Imports,
    /// JSON.
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

/// This process, as its children see it.
fn own_id() -> i32 {
    rustix::process::getpid().as_raw_pid()
}

/// Processor time is bounded in whole seconds.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1)
}

/// Bytes of a response whose declaration has `result` at most.
pub(super) fn max_response(result: usize) -> usize {
    result.saturating_mul(MAX_ESCAPE_FACTOR).saturating_add(RESPONSE_OVERHEAD_BYTES)
}

/// Puts a request with its files into a socket, which holds it until it is read.
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

/// Reads a request and its files to the end of the socket.
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
