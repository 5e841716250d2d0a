//! Builds components from toolkit sources: TypeScript with the builder of its SDK, Rust with a WebAssembly
//! compiler that is installed on the machine.
//!
//! Rust is compiled for rustup's target `wasm32-wasip2`, of which cargo's output is the component.
//!
//! Compiler output goes to `target-guests` at the root of the crate's workspace unless
//! [`BuildOptions`] says otherwise. It is separate from `target` because a build for WebAssembly
//! would otherwise wait for every other cargo in that workspace. Components are written to its folder `components`, one per
//! package: `target-guests/components/PACKAGE.wasm`.
//!
//! Invariant: nothing here validates the toolkit. The deploy does.

mod cargo;
mod component;
pub mod openapi;
mod package;
mod recipe;
pub mod scaffold;
mod typescript;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::{fmt, io};

pub use self::typescript::{BuiltToolkit, build_typescript, is_typescript, serve_typescript};

use self::package::{Package, Workspace};
use self::recipe::{Recipe, TARGET};

/// Folder for WebAssembly compiler output, at a workspace's root.
pub const TARGET_DIRECTORY: &str = "target-guests";

/// Options of a build.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Folder for compiler output and components; by default [`TARGET_DIRECTORY`] at the root of the crate's
    /// workspace.
    pub target_directory: Option<PathBuf>,
    /// Features of the packages, in addition to the default ones.
    pub features: Vec<String>,
}

/// Cargo settings that halve the size: for modules that are loaded often and compute little.
const SIZE_PROFILE: [(&str, &str); 3] = [
    ("CARGO_PROFILE_RELEASE_LTO", "fat"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "s"),
    ("CARGO_PROFILE_RELEASE_STRIP", "symbols"),
];

/// A built component.
#[derive(Clone, Debug)]
pub struct BuiltComponent {
    /// Cargo package of the component.
    pub package: String,
    /// Path of the component.
    pub path: PathBuf,
    /// The component's bytes.
    pub bytes: Vec<u8>,
}

/// Builds the Rust crate in `directory`.
///
/// `progress` receives lines without line ends: cargo's status lines, the compiler's warnings, and
/// a line at intervals when nothing else happens. The compiler's errors are in the error. Dropping
/// the future ends the compiler.
pub async fn build_rust(
    directory: &Path,
    options: &BuildOptions,
    progress: impl Fn(&str),
) -> Result<BuiltComponent, ToolchainError> {
    let manifest = directory.join("Cargo.toml");
    if !manifest.is_file() {
        return Err(ToolchainError::NoManifest { directory: directory.to_owned() });
    }
    let recipe = recipe::find(directory).await?;
    let workspace = package::read(directory, &recipe).await?;
    let package = workspace.package_in(directory)?;

    let mut built = build(&workspace, &[package], &recipe, options, &progress).await?;
    Ok(built.pop().expect("build returns one component for each package"))
}

/// Builds several packages of the workspace in `root`, with one run of cargo for each stack size. Returns
/// their components in the order of `packages`.
///
/// For `progress` see [`build_rust`].
pub async fn build_workspace(
    root: &Path,
    packages: &[&str],
    options: &BuildOptions,
    progress: impl Fn(&str),
) -> Result<Vec<BuiltComponent>, ToolchainError> {
    if !root.join("Cargo.toml").is_file() {
        return Err(ToolchainError::NoManifest { directory: root.to_owned() });
    }
    let recipe = recipe::find(root).await?;
    let workspace = package::read(root, &recipe).await?;
    let packages: Vec<_> =
        packages.iter().map(|name| workspace.package_named(name)).collect::<Result<_, _>>()?;

    build(&workspace, &packages, &recipe, options, &progress).await
}

/// Compiles packages of the workspace in `root` whose libraries are core modules, with one run of cargo for
/// each stack size. Returns the modules in the order of `packages`.
///
/// For `progress` see [`build_rust`].
pub async fn build_modules(
    root: &Path,
    packages: &[&str],
    options: &BuildOptions,
    progress: impl Fn(&str),
) -> Result<Vec<PathBuf>, ToolchainError> {
    let mut recipe = recipe::find(root).await?;
    recipe.environment = &SIZE_PROFILE;
    let workspace = package::read(root, &recipe).await?;
    let packages: Vec<_> =
        packages.iter().map(|name| workspace.package_named(name)).collect::<Result<_, _>>()?;

    let (modules, _) = compile(&workspace, &packages, &recipe, options, &progress).await?;
    Ok(modules)
}

/// Reason why a build failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolchainError {
    /// The directory is not a crate.
    #[error("{} is not a Rust crate: it has no Cargo.toml", directory.display())]
    NoManifest {
        /// Directory of the expected crate.
        directory: PathBuf,
    },
    /// The manifest has only a `[workspace]`.
    #[error("{} is a workspace without a crate of its own: name the directory of one of its crates", directory.display())]
    NoPackage {
        /// Directory of the expected crate.
        directory: PathBuf,
    },
    /// The workspace has no such package.
    #[error("the workspace {} has no package {name:?}", root.display())]
    UnknownPackage {
        /// Root of the workspace.
        root: PathBuf,
        /// Requested package.
        name: String,
    },
    /// The crate's library is not a `cdylib`.
    #[error("{package} does not build a component: add crate-type = [\"cdylib\"] to [lib] in {}", manifest.display())]
    NotACdylib {
        /// Name of the package.
        package: String,
        /// Path of the manifest.
        manifest: PathBuf,
    },
    /// The package's `[package.metadata.kitbag]` is not valid.
    #[error("{package}: [package.metadata.kitbag] in {}: {reason}", manifest.display())]
    Settings {
        /// Name of the package.
        package: String,
        /// Path of the manifest.
        manifest: PathBuf,
        /// Problem with the settings.
        reason: String,
    },
    /// The target is not installed.
    #[error(
        "no compiler for WebAssembly was found: install Rust with rustup, and run rustup target add wasm32-wasip2"
    )]
    NoCompiler,
    /// A program could not be started or read.
    #[error("{step} failed: could not run {}: {reason}", program.display())]
    Run {
        /// Step that failed.
        step: Step,
        /// Program that was to run.
        program: PathBuf,
        /// Error of the operating system.
        reason: io::Error,
    },
    /// Cargo ran and failed.
    #[error("{step} failed ({status})\n{output}")]
    Cargo {
        /// Step that failed.
        step: Step,
        /// Cargo's exit status.
        status: ExitStatus,
        /// All output of cargo and the compiler, except lines that `progress` has received.
        output: String,
    },
    /// Node.js, which runs the builder, is not installed.
    #[error(
        "toolkits in TypeScript are built by Node.js, and there is no `node` here: install Node 20 or newer"
    )]
    NoNode,
    /// The npm package is not installed.
    #[error(
        "{} is built by the npm package kitbag, which is not installed there: run `npm install` in its folder \
         (in a checkout of Kitbag, `just install`)",
        path.display()
    )]
    NoTypeScriptSdk {
        /// Path of the toolkit.
        path: PathBuf,
    },
    /// The builder of the TypeScript SDK reported this error.
    #[error("{0}")]
    TypeScript(String),
    /// A program's output was not as documented.
    #[error("{step} failed: {reason}")]
    Unexpected {
        /// Step that failed.
        step: Step,
        /// Problem with the output.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("could not access {}: {reason}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        reason: io::Error,
    },
}

/// Steps of a build, as errors name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reading the workspace's metadata from cargo.
    Manifest,
    /// Compiling to WebAssembly.
    Compile,
    /// Making a component of a bundle of TypeScript.
    Component,
    /// Generating tools from an OpenAPI document.
    OpenApi,
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Manifest => "reading Cargo.toml",
            Self::Compile => "compiling to WebAssembly",
            Self::Component => "making a component of the compiled module",
            Self::OpenApi => "reading the OpenAPI document",
        })
    }
}

async fn build(
    workspace: &Workspace,
    packages: &[&Package],
    recipe: &Recipe,
    options: &BuildOptions,
    progress: &impl Fn(&str),
) -> Result<Vec<BuiltComponent>, ToolchainError> {
    let (modules, target_directory) = compile(workspace, packages, recipe, options, progress).await?;

    let mut built = Vec::with_capacity(packages.len());
    for (package, module) in packages.iter().zip(modules) {
        let component = component::place(&package.name, &module, &target_directory).await?;
        progress(&format!("Built {} ({} KiB)", component.path.display(), component.bytes.len() / 1024));
        built.push(component);
    }
    Ok(built)
}

/// Runs the compiler, once for each stack size. Returns the output file of each package, and the target
/// directory.
async fn compile(
    workspace: &Workspace,
    packages: &[&Package],
    recipe: &Recipe,
    options: &BuildOptions,
    progress: &impl Fn(&str),
) -> Result<(Vec<PathBuf>, PathBuf), ToolchainError> {
    let mut by_stack: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for package in packages {
        package.check_is_cdylib()?;
        by_stack.entry(package.stack_bytes()?).or_default().push(&package.name);
    }
    let target_directory =
        options.target_directory.clone().unwrap_or_else(|| workspace.root.join(TARGET_DIRECTORY));

    progress(&format!("Building with the installed target {TARGET}"));
    let mut modules = HashMap::new();
    for (stack_bytes, names) in by_stack {
        let root = &workspace.root;
        let made =
            cargo::compile(root, &names, stack_bytes, recipe, options, &target_directory, progress).await?;
        modules.extend(made);
    }
    let modules = packages.iter().map(|package| {
        modules.remove(&package.manifest_path).ok_or_else(|| ToolchainError::Unexpected {
            step: Step::Compile,
            reason: format!("cargo named no WebAssembly file for {}", package.name),
        })
    });
    Ok((modules.collect::<Result<_, _>>()?, target_directory))
}
