//! Places a compiled component among those of its workspace.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::fs;

use super::{BuiltComponent, ToolchainError};

/// Copies the compiler's output to `components/PACKAGE.wasm` in the target directory.
pub(super) async fn place(
    package: &str,
    compiled: &Path,
    target_directory: &Path,
) -> Result<BuiltComponent, ToolchainError> {
    let file_error = |path: &Path| {
        let path = path.to_owned();
        move |reason| ToolchainError::File { path, reason }
    };

    let bytes = fs::read(compiled).await.map_err(file_error(compiled))?;
    let directory = target_directory.join("components");
    fs::create_dir_all(&directory).await.map_err(file_error(&directory))?;
    let path = directory.join(format!("{package}.wasm"));
    write_atomically(&path, &bytes).await.map_err(file_error(&path))?;

    Ok(BuiltComponent { package: package.to_owned(), path, bytes })
}

/// Writes to a temporary file and renames it, so that a partial component is never visible.
async fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static WRITES: AtomicU64 = AtomicU64::new(0);

    // Several builds may write the same component concurrently, in this process and in others.
    let (process, write) = (std::process::id(), WRITES.fetch_add(1, Ordering::Relaxed));
    let temporary = PathBuf::from(format!("{}.{process}-{write}", path.display()));
    fs::write(&temporary, bytes).await?;
    fs::rename(&temporary, path).await
}
