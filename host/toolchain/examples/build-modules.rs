//! Compiles packages of a workspace into core modules, with one run of cargo for each stack size, and copies
//! each to a file:
//!
//! ```sh
//! cargo run --workspace --example build-modules -- DIRECTORY PACKAGE=FILE…
//! cargo run --workspace --example build-modules -- DIRECTORY PACKAGE=FILE --features FEATURE…
//! ```

use std::path::Path;
use std::process::ExitCode;

use kitbag_toolchain::BuildOptions;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let mut halves = arguments.splitn(2, |it| it == "--features");
    let modules = halves.next().and_then(wanted);
    let features = halves.next().unwrap_or_default().to_vec();
    let Some((root, wanted)) = modules else {
        eprintln!("usage: build-modules DIRECTORY PACKAGE=FILE… [--features FEATURE…]");
        return ExitCode::from(2);
    };
    match build(Path::new(root), &wanted, features).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the directory, and each package with its target file.
fn wanted(arguments: &[String]) -> Option<(&str, Vec<(&str, &str)>)> {
    let (root, packages) = arguments.split_first()?;
    let packages = packages.iter().map(|it| it.split_once('=')).collect::<Option<_>>()?;
    Some((root, packages))
}

async fn build(root: &Path, wanted: &[(&str, &str)], features: Vec<String>) -> Result<(), String> {
    let packages: Vec<_> = wanted.iter().map(|(package, _)| *package).collect();
    let options = BuildOptions { features, ..BuildOptions::default() };
    let progress = |line: &str| eprintln!("{line}");
    let modules = kitbag_toolchain::build_modules(root, &packages, &options, progress).await;
    for (module, (_, file)) in modules.map_err(|error| error.to_string())?.iter().zip(wanted) {
        let size = std::fs::copy(module, file).map_err(|error| format!("could not write {file}: {error}"))?;
        eprintln!("Built {file} ({} KiB)", size / 1024);
    }
    Ok(())
}
