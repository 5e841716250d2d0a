//! The `kitbag` program: parse, run, exit code.

use std::process::ExitCode;

use clap::Parser;
use kitbag::cli::Command;

#[tokio::main]
async fn main() -> ExitCode {
    kitbag::cli::run(Command::parse()).await
}
