//! Extractors for web pages, PDF files, office documents and messages. Compiling them takes minutes, while
//! the server already responds.

use std::fs;
use std::io;
use std::path::Path;

use super::{build_all, step};
use crate::cli::error::CliError;
use crate::cli::terminal::say;

/// Packages in the checkout, with the file names of their components on the server.
const EXTRACTORS: [(&str, &str); 4] = [
    ("extractor-html", "html.wasm"),
    ("extractor-mail", "mail.wasm"),
    ("extractor-office", "office.wasm"),
    ("extractor-pdf", "pdf.wasm"),
];

/// Builds the extractors and installs them in the server's folder if any is missing. Reports the result.
pub(super) async fn install(checkout: &Path, folder: &Path) {
    if EXTRACTORS.iter().all(|(_, file)| folder.join(file).exists()) {
        return;
    }
    step(
        "Building what reads pages, PDF files and documents, which takes some minutes; everything else works meanwhile",
    );
    match build_and_install(checkout, folder).await {
        Ok(()) => say!(
            "\n▸ Pages, PDF files and documents can be captured now; those captured before are read at the next start"
        ),
        Err(error) => say!("  {}\n  Try again with `npx -y rust-just build-extractors`.", error),
    }
}

async fn build_and_install(checkout: &Path, folder: &Path) -> Result<(), CliError> {
    let packages = EXTRACTORS.map(|(package, _)| package);
    let components = build_all(checkout, &packages).await?;
    for (component, (_, file)) in components.iter().zip(EXTRACTORS) {
        put(component, folder, file).map_err(|error| {
            CliError::new(format!("{file} cannot be installed in {}: {error}", folder.display()))
        })?;
    }
    Ok(())
}

/// Installs a component atomically.
fn put(component: &Path, folder: &Path, file: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let unfinished = folder.join(format!("{file}.new"));
    fs::copy(component, &unfinished)?;
    fs::rename(unfinished, folder.join(file))
}
