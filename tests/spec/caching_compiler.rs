//! Compiler process for the servers of tests: answers from a cache for a component that was compiled before,
//! and becomes `kitbag` for any other. Most of the processor time of the tests went into compiling the same
//! components again.
//!
//! ```text
//! target/debug/compiled-in-tests/<build of kitbag>/<key>.cwasm   machine code
//!                                                  <key>.json    response
//! ```
//!
//! The key is the digest of the component and of the request, without the members that differ between servers.
//! On a miss, limits, signals and failures are those of `kitbag` itself; a second process forwards its response
//! and stores it with the machine code. Tests of the compiler use `kitbag` directly.

use std::env::{args_os, current_exe};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, IoSliceMut, Read as _, Seek as _, Write as _, copy, pipe};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kitbag_base::sha256::Sha256;
use rustix::cmsg_space;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use serde_json::Value;

/// Members of a request that depend on the server and not on the component.
const SERVER_MEMBERS: [&str; 2] = ["parent", "max_file"];
/// Larger than any request.
const MAX_REQUEST_BYTES: usize = 64 << 10;
/// First argument of the process that stores a result, followed by the machine code and the name of the entry.
const STORE: &str = "store";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = args_os().skip(1).collect();
    match arguments.as_slice() {
        [first, code, entry] if first == STORE => store(Path::new(code), &Entry(entry.into())),
        _ => answer(),
    }
}

/// Files of a result, by their path without an extension.
struct Entry(PathBuf);

impl Entry {
    /// Returns the entry of a request to `program`.
    fn of(program: &Path, request: &[u8], component: &mut File) -> Result<Self, Box<dyn Error>> {
        let mut request: Value = serde_json::from_slice(request)?;
        let members = request.as_object_mut().ok_or("the request is not an object")?;
        members.retain(|name, _| !SERVER_MEMBERS.contains(&name.as_str()));
        let mut digest = Sha256::new();
        digest.update(&serde_json::to_vec(members)?);
        let mut bytes = Vec::new();
        component.rewind()?;
        component.read_to_end(&mut bytes)?;
        digest.update(&bytes);

        Ok(Self(cache_of(program)?.join(hex::encode(digest.finish()))))
    }

    fn response(&self) -> PathBuf {
        self.0.with_extension("json")
    }

    fn code(&self) -> PathBuf {
        self.0.with_extension("cwasm")
    }
}

/// Returns the folder of entries of this build of `program`. Deletes those of other builds.
fn cache_of(program: &Path) -> io::Result<PathBuf> {
    let build = program.metadata()?;
    let build = format!("{}-{}-{}", build.size(), build.mtime(), build.mtime_nsec());
    let folders = program.with_file_name("compiled-in-tests");
    let folder = folders.join(build);
    fs::create_dir_all(&folders)?;
    if fs::create_dir(&folder).is_ok() {
        for other in fs::read_dir(&folders)?.flatten().filter(|other| other.path() != folder) {
            fs::remove_dir_all(other.path())?;
        }
    }
    Ok(folder)
}

fn answer() -> Result<(), Box<dyn Error>> {
    let program = current_exe()?.ancestors().nth(2).ok_or("there is no folder of programs")?.join("kitbag");
    let (request, files) = peek()?;
    let [component, code] = <[File; 2]>::try_from(files).map_err(|_| "a request has two files")?;
    let entry = Entry::of(&program, &request, &mut component.try_clone()?)?;
    // Written last, so that its machine code is complete.
    if let Ok(response) = fs::read(entry.response()) {
        copy(&mut File::open(entry.code())?, &mut &code)?;
        return Ok(io::stdout().write_all(&response)?);
    }
    let (response, out) = pipe()?;
    Command::new(current_exe()?)
        .arg(STORE)
        .arg(format!("/proc/self/fd/{}", code.as_raw_fd()))
        .arg(&entry.0)
        .stdin(response)
        .spawn()?;
    for file in [&component, &code] {
        fcntl_setfd(file, FdFlags::CLOEXEC)?;
    }
    Err(Command::new(program).arg0("kitbag").args(args_os().skip(1)).stdout(Stdio::from(out)).exec().into())
}

/// Reads the request and its files from standard input, and leaves them there.
fn peek() -> io::Result<(Vec<u8>, Vec<File>)> {
    let mut request = vec![0; MAX_REQUEST_BYTES];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let stdin = io::stdin();
    let received =
        recvmsg(stdin.as_fd(), &mut [IoSliceMut::new(&mut request)], &mut control, RecvFlags::PEEK)?;
    request.truncate(received.bytes);
    let files = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.collect::<Vec<OwnedFd>>(),
        _ => Vec::new(),
    });
    Ok((request, files.map(File::from).collect()))
}

/// Passes the response on, and stores it unless the compiler failed.
fn store(code: &Path, entry: &Entry) -> Result<(), Box<dyn Error>> {
    let code = File::open(code)?;
    let mut response = Vec::new();
    io::stdin().read_to_end(&mut response)?;
    let is_result = serde_json::from_slice(&response)
        .is_ok_and(|response: Value| response.get("Compiled").or(response.get("Refused")).is_some());
    if is_result {
        persist(&entry.code(), &mut &code)?;
        persist(&entry.response(), &mut response.as_slice())?;
    }
    Ok(io::stdout().write_all(&response)?)
}

/// Writes a file that is complete as soon as it exists.
fn persist(path: &Path, content: &mut impl io::Read) -> Result<(), Box<dyn Error>> {
    let folder = path.parent().ok_or("an entry is in a folder")?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    copy(content, &mut file)?;
    file.persist(path)?;
    Ok(())
}
