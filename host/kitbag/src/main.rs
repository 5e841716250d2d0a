//! The `kitbag` program: parse, run, exit code.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use kitbag_sandbox::compiler;
use mimalloc::MiMalloc;

/// How long work off the request threads (a file that is being read) may hold up the end.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Calls allocate much, and free on other threads what one has allocated (docs/decisions/0052).
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // Before there is another thread: what this process gives up, its threads give up too.
    if env::args_os().nth(1).is_some_and(|argument| argument == compiler::ARGUMENT) {
        return compiler::run_child();
    }
    let command = match kitbag::cli::parse() {
        Ok(command) => command,
        Err(code) => return code,
    };
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(kitbag::cli::run(command));
    runtime.shutdown_timeout(EXIT_TIMEOUT);
    code
}
