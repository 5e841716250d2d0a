//! Converts a compiled module to a component.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::{fs, task};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::ComponentEncoder;

use super::{BuiltComponent, ToolchainError};

/// Reads the compiler's output, converts it to a component if it is a core module, and writes it to
/// `components/PACKAGE.wasm` in the target directory.
pub(super) async fn make(
    package: &str,
    module: &Path,
    target_directory: &Path,
) -> Result<BuiltComponent, ToolchainError> {
    let file_error = |path: &Path| {
        let path = path.to_owned();
        move |reason| ToolchainError::File { path, reason }
    };

    let module_bytes = fs::read(module).await.map_err(file_error(module))?;
    let bytes = task::spawn_blocking(move || componentize(module_bytes))
        .await
        .expect("the encoder returns its errors")
        .map_err(|reason| ToolchainError::Component { package: package.to_owned(), reason })?;

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
    let process = std::process::id();
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    let temporary = PathBuf::from(format!("{}.{process}-{write}", path.display()));
    fs::write(&temporary, bytes).await?;
    fs::rename(&temporary, path).await
}

fn componentize(module: Vec<u8>) -> Result<Vec<u8>, String> {
    if wasmparser::Parser::is_component(&module) {
        return Ok(module);
    }
    ComponentEncoder::default()
        .validate(true)
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)
        .and_then(|encoder| encoder.module(&module))
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_left_as_it_is() {
        let empty = b"\0asm\x0d\0\x01\0".to_vec();

        assert_eq!(componentize(empty.clone()), Ok(empty));
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert!(componentize(b"MZ".to_vec()).is_err());
    }
}
