//! Compiles the rules for the TypeScript SDK, a core module, and puts it where the npm package has it:
//!
//! ```sh
//! cargo run -p kitbag --example build-rules -- DIRECTORY FILE
//! ```

use std::path::Path;
use std::process::ExitCode;

use kitbag::toolchain::{self, BuildOptions};

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [root, file] = arguments.as_slice() else {
        eprintln!("usage: build-rules DIRECTORY FILE");
        return ExitCode::from(2);
    };

    let progress = |line: &str| eprintln!("{line}");
    let options = BuildOptions::default();
    match toolchain::build_module(Path::new(root), "kitbag-rules-module", &options, progress).await {
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        Ok(module) => match std::fs::copy(&module, file) {
            Ok(size) => {
                eprintln!("Built {file} ({} KiB)", size / 1024);
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("error: could not write {file}: {error}");
                ExitCode::FAILURE
            }
        },
    }
}
