//! Compiles components in a separate process with limited resources.
//!
//! The process parses and compiles an untrusted component, and runs it to get its declaration. It receives
//! the component, and the files for its results, as open file descriptors. Its environment is two settings
//! of the allocator, and with Landlock in the kernel it cannot open files or connections. It has no access to
//! the key that seals machine code.
//!
//! Invariant: one such process runs at a time, at a low priority, with limits for memory, CPU time, wall
//! time and output, and writes nothing that would use up the disk's reserve. It ends when its caller stops
//! waiting.

mod child;
mod confinement;
mod process;
mod protocol;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kitbag_base::disk::{Disk, DiskFull};
use kitbag_base::shares::Shares;
use kitbag_base::turns::{Lane, Turn, Turns};
use kitbag_manifest::{Problem, ToolkitDefinition};
use thiserror::Error;
use tokio_util::sync::CancellationToken;

use crate::{DescribeLimits, Imports};

pub use child::{ARGUMENT, run as run_child};

use process::Ended;
use protocol::{MAX_FILE_BYTES, Outcome, Request, Response, Task};

/// Maximum number of deploys that run or wait; further ones are refused.
const MAX_DEPLOYS: usize = 9;
/// Maximum number of deploys of one operator that run or wait.
const MAX_DEPLOYS_PER_OPERATOR: usize = 3;
/// Owner of extractors in the queue: documents of every user wait for them.
const NO_OWNER: &str = "";

/// Resource limits of one compilation.
#[derive(Clone, Copy, Debug)]
pub struct CompileLimits {
    /// Maximum CPU time, over all cores; whole seconds, at least one.
    pub time: Duration,
    /// Maximum wall time.
    pub wall: Duration,
    /// Maximum private memory, in bytes.
    pub memory: usize,
}

impl CompileLimits {
    /// Creates limits with a wall time derived from the CPU time, because the process runs at a low priority.
    pub fn new(time: Duration, memory: usize) -> Self {
        const WALL_TIME_FACTOR: u32 = 5;
        const MIN_WALL_TIME: Duration = Duration::from_mins(1);

        Self { time, wall: time.saturating_mul(WALL_TIME_FACTOR).saturating_add(MIN_WALL_TIME), memory }
    }
}

/// The executable that is started as a compiler process.
#[derive(Clone, Debug)]
pub struct Program(PathBuf);

/// Compiles components, one at a time. Clones share the queue.
#[derive(Clone)]
pub struct Compiler(Arc<Shared>);

struct Shared {
    program: Program,
    limits: CompileLimits,
    disk: Disk,
    deploys: Shares,
    turns: Turns,
    stopping: CancellationToken,
}

/// A compiled toolkit.
#[derive(Debug)]
pub struct Described {
    /// Interfaces that the toolkit imports.
    pub imports: Imports,
    /// Exported interfaces that are optional for toolkits.
    pub optional_exports: BTreeSet<String>,
    /// Exports that the host does not use, for display.
    pub unused_exports: Vec<String>,
    /// The declaration, not validated yet.
    pub definition: ToolkitDefinition,
}

/// A compilation: the component, the engine version, and the file for the machine code.
pub struct Job<'a> {
    /// The component, open for reading.
    pub component: File,
    /// Version of the engine to compile for; see [`Sandbox::code_version`](crate::Sandbox::code_version).
    pub code_version: String,
    /// Empty file for the machine code, open for writing.
    pub code: &'a File,
}

/// Reason why a component was not compiled.
#[derive(Debug, Error)]
pub enum CompileError {
    /// The component has problems.
    #[error("the component is refused")]
    Refused(Vec<Problem>),
    /// The compilation reached a limit.
    #[error(transparent)]
    Limit(#[from] LimitReached),
    /// The queue is full, for all operators or for this one.
    #[error("too many other components are waiting to be compiled")]
    Busy,
    /// The machine code would use up the disk's reserve.
    #[error(transparent)]
    DiskFull(#[from] DiskFull),
    /// The server is shutting down.
    #[error("the server is stopping")]
    Stopping,
    /// The server or the machine failed; the text is for the log.
    #[error("the compiler failed: {0}")]
    Failed(String),
}

/// The limit that a compilation reached. Shown to the operator who uploaded the component.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LimitReached {
    /// Exceeded this CPU time.
    #[error(
        "inspecting and compiling it takes more than {} s of processor time; make it smaller, or have the operator raise the setting compile-time",
        .0.as_secs()
    )]
    ProcessorTime(Duration),
    /// Exceeded this wall time.
    #[error(
        "inspecting and compiling it took longer than {} s; try again when the machine is less busy, or have the operator raise the setting compile-time",
        .0.as_secs()
    )]
    WallTime(Duration),
    /// Exceeded this memory, in bytes.
    #[error(
        "inspecting and compiling it takes more than {} MiB of memory; make it smaller, or have the operator raise the setting compile-memory",
        .0 >> 20
    )]
    Memory(usize),
    /// The machine code exceeds this size, in bytes.
    #[error("its machine code is larger than {} MiB, which none may be", .0 >> 20)]
    MachineCode(u64),
    /// The compiler process's response exceeds this size, in bytes.
    #[error(
        "its imports, or what is wrong with it, take more than {} MiB to name; import fewer, or under shorter names",
        .0 >> 20
    )]
    Response(usize),
    /// The compiler process died, with this description.
    #[error("the compiler gave up on it ({0}); please report it, with the component")]
    Crash(String),
}

impl Program {
    /// Returns the executable of this process, even if its file was replaced on disk.
    pub fn this() -> Self {
        let path =
            if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() };
        Self(path.unwrap_or_else(|_| "kitbag".into()))
    }

    /// Uses the executable at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

impl Compiler {
    /// Compiles with `program`, within the free space of `disk`. Cancelling `stopping` ends a running
    /// compilation.
    pub fn new(program: Program, limits: CompileLimits, disk: Disk, stopping: CancellationToken) -> Self {
        let deploys = Shares::new(MAX_DEPLOYS, MAX_DEPLOYS_PER_OPERATOR);
        let turns = Turns::new(1, 1);
        Self(Arc::new(Shared { program, limits, disk, deploys, turns, stopping }))
    }

    /// Inspects and compiles a toolkit that `operator` has uploaded, and gets its declaration.
    pub async fn describe(
        &self,
        job: Job<'_>,
        limits: DescribeLimits,
        operator: &str,
    ) -> Result<Described, CompileError> {
        let _place = self.0.deploys.take(operator, 1).map_err(|_exceeded| CompileError::Busy)?;
        let turn = self.turn(Lane::Deferred, operator).await?;
        let outcome = self.run(&turn, job, Task::Describe(limits)).await?;
        let declaration = outcome.declaration.unwrap_or_default();
        let definition = serde_json::from_str(&declaration)
            .map_err(|error| CompileError::Failed(format!("its declaration cannot be read: {error}")))?;
        let Outcome { imports, optional_exports, unused_exports, .. } = outcome;
        Ok(Described { imports, optional_exports, unused_exports, definition })
    }

    /// Compiles a deployed toolkit of `owner` again. A call waits for it, so it has priority over deploys.
    pub async fn toolkit(&self, job: Job<'_>, owner: &str) -> Result<(), CompileError> {
        let turn = self.turn(Lane::Urgent, owner).await?;
        self.run(&turn, job, Task::Toolkit).await.map(drop)
    }

    /// Inspects and compiles an extractor, also with priority over deploys.
    pub async fn extractor(&self, job: Job<'_>) -> Result<(), CompileError> {
        let turn = self.turn(Lane::Urgent, NO_OWNER).await?;
        self.run(&turn, job, Task::Extractor).await.map(drop)
    }

    async fn turn(&self, lane: Lane, user: &str) -> Result<Turn, CompileError> {
        tokio::select! {
            biased;
            () = self.0.stopping.cancelled() => Err(CompileError::Stopping),
            turn = self.0.turns.take_in(lane, user) => Ok(turn),
        }
    }

    async fn run(&self, turn: &Turn, job: Job<'_>, task: Task) -> Result<Outcome, CompileError> {
        self.0.disk.while_there_is_room(self.compile(turn, job, task)).await?
    }

    async fn compile(&self, _turn: &Turn, job: Job<'_>, task: Task) -> Result<Outcome, CompileError> {
        let Job { component, code_version, code } = job;
        let failed = |error: io::Error| CompileError::Failed(error.to_string());
        let size = component.metadata().map_err(failed)?.len();
        let Shared { program, limits, disk, stopping, .. } = &*self.0;
        let max_file = disk.room().min(MAX_FILE_BYTES);
        let max_response = match &task {
            Task::Describe(limits) => protocol::max_response(limits.result()),
            Task::Toolkit | Task::Extractor => protocol::max_response(0),
        };
        let request = Request::new(task, code_version, *limits, max_file, size);
        let files = vec![component, code.try_clone().map_err(failed)?];
        let wall = limits.wall;
        let child = process::Start { program: program.0.clone(), request, files, wall, max_response };
        let response = match process::run(child, stopping.child_token()).await.map_err(failed)? {
            Ended::Answered(response) => response,
            Ended::Stopped => return Err(CompileError::Stopping),
            Ended::Failed(reason) => {
                return Err(match reason.explain(*limits, max_response) {
                    LimitReached::MachineCode(_) if max_file < MAX_FILE_BYTES => DiskFull.into(),
                    limit => limit.into(),
                });
            }
        };
        match response {
            Response::Compiled(outcome) => Ok(outcome),
            Response::Refused(problems) => Err(CompileError::Refused(problems)),
            Response::OutOfMemory => Err(LimitReached::Memory(limits.memory).into()),
            Response::Failed(reason) => Err(CompileError::Failed(reason)),
        }
    }
}
