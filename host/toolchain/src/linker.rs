//! Finds a linker for WebAssembly, for a compiler that does not include one.

use std::env;
use std::path::{Path, PathBuf};

use super::ToolchainError;

/// The Debian package of a linker, named in the error.
const PACKAGE: &str = "lld";

/// Finds a linker: rustup's `rust-lld` in one of the sysroots or in any installed toolchain, or
/// LLVM's `wasm-ld` on `PATH`, the newest version first.
pub(super) fn find(sysroots: &[PathBuf]) -> Result<PathBuf, ToolchainError> {
    let toolchains = rustup_home().map(|home| children(&home.join("toolchains"))).unwrap_or_default();

    sysroots
        .iter()
        .chain(&toolchains)
        .find_map(|sysroot| rust_lld(sysroot))
        .or_else(|| wasm_ld(&search_path()))
        .ok_or(ToolchainError::NoLinker { package: PACKAGE })
}

fn rust_lld(sysroot: &Path) -> Option<PathBuf> {
    children(&sysroot.join("lib/rustlib"))
        .into_iter()
        .map(|host| host.join("bin/rust-lld"))
        .find(|it| it.is_file())
}

/// Returns `wasm-ld`, which is the machine's default, or else the `wasm-ld-VERSION` of the highest version.
fn wasm_ld(directories: &[PathBuf]) -> Option<PathBuf> {
    let version = |path: &PathBuf| -> Option<u32> {
        let name = path.file_name()?.to_str()?.strip_prefix("wasm-ld")?;
        if name.is_empty() { Some(u32::MAX) } else { name.strip_prefix('-')?.parse().ok() }
    };
    directories
        .iter()
        .flat_map(|directory| children(directory))
        .filter_map(|path| Some((version(&path)?, path)))
        .max_by_key(|(version, _)| *version)
        .map(|(_, path)| path)
}

fn search_path() -> Vec<PathBuf> {
    env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
}

fn rustup_home() -> Option<PathBuf> {
    env::var_os("RUSTUP_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".rustup")))
}

/// Returns the entries of a directory, sorted; none if it cannot be read.
fn children(directory: &Path) -> Vec<PathBuf> {
    let entries = directory.read_dir().into_iter().flatten();
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_newest_versioned_linker_is_taken() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        for name in ["wasm-ld-9", "wasm-ld-22", "wasm-ld-extra", "ld.lld"] {
            fs::write(directory.path().join(name), "").expect("a scratch file");
        }

        let found = wasm_ld(&[directory.path().to_owned()]);

        assert_eq!(found, Some(directory.path().join("wasm-ld-22")));
    }
}
