//! The code of the compiler process: it reads a request, confines itself, does the work, and responds.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::panic;
use std::process::ExitCode;

use kitbag_manifest::Problem;
use tokio::runtime::Builder;

use super::confinement::{confine, die_with_parent};
use super::protocol::{Outcome, Request, Response, Task, receive};
use crate::{Compiled, CompilerEngine, DescribeError, DescribeLimits, Imports, Interfaces};

/// The argument that starts the program as a compiler process.
pub const ARGUMENT: &str = "compile-component";

/// Maximum number of problems that are reported.
const MAX_PROBLEMS: usize = 1000;

/// Runs the compiler process. Must be called while the process has one thread. Standard input is a socket
/// with the request.
pub fn run() -> ExitCode {
    // A panic's message may contain user data.
    panic::set_hook(Box::new(|panic| eprintln!("panic at {:?}", panic.location())));
    let answered = answer().and_then(|response| {
        let mut out = BufWriter::new(io::stdout().lock());
        serde_json::to_writer(&mut out, &response)?;
        out.flush()
    });
    match answered {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn answer() -> io::Result<Response> {
    die_with_parent()?;
    let (request, files) = receive(&UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))?;
    confine(&request)?;
    let mut files = files.into_iter();
    let (Some(component), Some(code)) = (files.next(), files.next()) else {
        return Err(io::Error::other("the request comes without its files"));
    };
    let component = read(component, request.component)?;
    Ok(match work(&request, &component, code) {
        Ok(outcome) => Response::Compiled(outcome),
        Err(Stop::Refused(problems)) => Response::Refused(problems),
        Err(Stop::OutOfMemory) => Response::OutOfMemory,
        Err(Stop::Failed(reason)) => Response::Failed(reason),
    })
}

/// Reason why the work stopped early.
enum Stop {
    Refused(Vec<Problem>),
    OutOfMemory,
    Failed(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

fn refused(path: &str, message: impl Into<String>) -> Stop {
    Stop::Refused(vec![Problem { path: path.to_owned(), message: message.into() }])
}

fn work(request: &Request, component: &[u8], mut code: File) -> Result<Outcome, Stop> {
    let Interfaces { imports, optional_exports, unused_exports } = inspect(request.task, component)?;
    let engine = match request.task {
        Task::Describe(_) | Task::Toolkit => CompilerEngine::for_toolkits(),
        Task::Extractor => CompilerEngine::for_extractors(),
    };
    let engine = engine.map_err(|error| Stop::Failed(error.to_string()))?;
    if engine.code_version() != request.code_version {
        return Err(Stop::Failed("the compiler is of another version than the server".to_owned()));
    }
    let compiled = engine.compile(component).map_err(|error| {
        if error.is_out_of_memory() {
            return Stop::OutOfMemory;
        }
        refused("component", format!("it cannot be compiled: {error}"))
    })?;
    let machine_code = compiled.machine_code().map_err(|error| Stop::Failed(error.to_string()))?;
    code.write_all(&machine_code)?;
    drop(machine_code);
    let declaration = match request.task {
        Task::Describe(limits) => Some(describe(&engine, &compiled, limits)?),
        Task::Toolkit | Task::Extractor => None,
    };
    Ok(Outcome { imports, optional_exports, unused_exports, declaration })
}

/// Reads the component's imports and exports. Unknown imports are refused before anything is compiled.
fn inspect(task: Task, component: &[u8]) -> Result<Interfaces, Stop> {
    let inspected = match task {
        Task::Describe(_) | Task::Toolkit => Interfaces::of_toolkit(component),
        Task::Extractor => {
            Imports::of_any(component).map(|imports| Interfaces { imports, ..Interfaces::default() })
        }
    };
    let interfaces = inspected.map_err(|error| refused("component", error.to_string()))?;
    // A component with an unknown import cannot be instantiated, not even for `describe`.
    let unknown = interfaces.imports.unknown().into_iter().map(|name| Problem {
        path: format!("imports.{name}"),
        message: "no toolkit may use this interface; build it for a world that does not import it".to_owned(),
    });
    let unknown: Vec<_> = unknown.take(MAX_PROBLEMS).collect();
    if unknown.is_empty() || matches!(task, Task::Extractor) {
        Ok(interfaces)
    } else {
        Err(Stop::Refused(unknown))
    }
}

fn describe(engine: &CompilerEngine, compiled: &Compiled, limits: DescribeLimits) -> Result<String, Stop> {
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let declared = runtime.block_on(engine.describe(compiled, limits)).map_err(|error| match error {
        DescribeError::Invalid(problems) => Stop::Refused(problems.0),
        error => refused("describe", error.to_string()),
    })?;
    serde_json::to_string(&declared).map_err(|error| Stop::Failed(error.to_string()))
}

fn read(mut file: File, size: u64) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(size).read_to_end(&mut bytes)?;
    Ok(bytes)
}
