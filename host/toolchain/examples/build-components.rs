//! Builds packages of a workspace into components, with one run of cargo for each stack size, and validates
//! none of them:
//!
//! ```sh
//! cargo run --workspace --example build-components -- DIRECTORY PACKAGE…
//! ```
//!
//! `kitbag toolkit build` is for valid toolkits; this program also builds components that a deploy must
//! refuse.

use std::path::Path;
use std::process::ExitCode;

use kitbag_toolchain::BuildOptions;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let Some((root, packages)) = arguments.split_first() else {
        eprintln!("usage: build-components DIRECTORY PACKAGE…");
        return ExitCode::from(2);
    };
    let packages: Vec<_> = packages.iter().map(String::as_str).collect();

    let progress = |line: &str| eprintln!("{line}");
    match kitbag_toolchain::build_workspace(Path::new(root), &packages, &BuildOptions::default(), progress)
        .await
    {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
