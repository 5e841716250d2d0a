//! The `kitbag` program: parse, run, exit code.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use kitbag::cli::Command;

/// How long work off the request threads (a component that is being compiled) may hold up the end.
const LINGER: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let command = Command::parse();
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(kitbag::cli::run(command));
    runtime.shutdown_timeout(LINGER);
    code
}
