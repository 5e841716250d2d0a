//! The `kitbag` program: parse, run, exit code.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use kitbag_sandbox::compiler;
use mimalloc::MiMalloc;

/// Time limit at exit for blocking tasks, such as reading a file.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Calls allocate often, and free memory on other threads (docs/decisions/0052).
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    // Before any other thread exists, so that the privileges that the compiler drops are dropped for all its
    // threads.
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
