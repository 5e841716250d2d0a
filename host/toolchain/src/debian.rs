//! Debian's compiler, for machines without access to rustup's servers.
//!
//! Debian packages the sources of the standard library, but not its compiled form for WebAssembly, and a C
//! library for WASI. Cargo compiles the former against the latter (`-Zbuild-std`): under a minute, once per
//! target directory.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::recipe::Recipe;
use super::{ToolchainError, linker};

/// Required files, each with its Debian package.
const REQUIRED_FILES: [(&str, &str); 4] = [
    ("usr/bin/rustc", "rustc-web"),
    ("usr/bin/cargo", "cargo-web"),
    ("usr/lib/rustlib/src/rust/library/std/Cargo.toml", "rust-web-src"),
    ("usr/lib/wasm32-wasi/libc.a", "wasi-libc"),
];

/// Returns the recipe for the packages installed under `root` (`/`, except in tests).
/// `sysroot` is that of another compiler, which may have the linker that Debian's compiler lacks.
pub(super) fn recipe(root: &Path, sysroot: Option<&Path>) -> Result<Recipe, ToolchainError> {
    let missing: Vec<_> = REQUIRED_FILES
        .iter()
        .filter(|(part, _)| !root.join(part).exists())
        .map(|(_, package)| *package)
        .collect();
    if !missing.is_empty() {
        let install = format!(
            "run rustup target add wasm32-wasip2, or on Debian apt-get install -y --no-install-recommends {}",
            missing.join(" ")
        );
        return Err(ToolchainError::NoCompiler { install });
    }
    let sysroots: Vec<_> = sysroot.map(Path::to_owned).into_iter().chain([root.join("usr")]).collect();
    let linker = linker::find(&sysroots)?;

    let libc = root.join("usr/lib/wasm32-wasi");
    Ok(Recipe {
        cargo: root.join("usr/bin/cargo"),
        target: "wasm32-wasip1",
        arguments: &["-Zbuild-std=std,panic_abort"],
        environment: vec![
            ("PATH", path_with_first(&root.join("usr/bin"))),
            ("RUSTC", root.join("usr/bin/rustc").into()),
            // A stable compiler refuses all `-Z` options without it.
            ("RUSTC_BOOTSTRAP", "1".into()),
            ("CARGO_TARGET_WASM32_WASIP1_LINKER", linker.into()),
        ],
        rustflags: vec!["-Clink-self-contained=no".to_owned(), format!("-Lnative={}", libc.display())],
        // Cargo sets these to rustup's compiler for all programs that it runs, such as this one.
        removed_variables: &["RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH"],
        summary: "Debian's compiler (the standard library is compiled first, once)".to_owned(),
    })
}

/// Returns `PATH` with this directory prepended.
fn path_with_first(directory: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let directories = std::iter::once(PathBuf::from(directory)).chain(env::split_paths(&path));
    env::join_paths(directories).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn install(root: &Path, part: &str) {
        let file = root.join(part);
        fs::create_dir_all(file.parent().expect("a part is in a directory")).expect("a scratch directory");
        fs::write(file, "").expect("a scratch file");
    }

    #[test]
    fn what_is_missing_is_named_in_one_sentence() {
        let root = tempfile::tempdir().expect("a scratch directory");
        install(root.path(), "usr/bin/rustc");
        install(root.path(), "usr/bin/cargo");

        let error = recipe(root.path(), None).expect_err("two packages are missing").to_string();

        assert!(
            error.ends_with("apt-get install -y --no-install-recommends rust-web-src wasi-libc"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1);
    }

    #[test]
    fn the_linker_of_another_compiler_will_do() {
        let root = tempfile::tempdir().expect("a scratch directory");
        for (part, _) in REQUIRED_FILES {
            install(root.path(), part);
        }
        install(root.path(), "other/lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");

        let recipe = recipe(root.path(), Some(&root.path().join("other"))).expect("all parts are there");

        let (_, linker) = &recipe.environment[3];
        assert!(Path::new(linker).ends_with("bin/rust-lld"), "{}", linker.display());
        assert_eq!(recipe.target, "wasm32-wasip1");
    }
}
