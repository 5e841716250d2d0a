//! `kitbag toolkit new`

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::cli::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;
use crate::toolchain::scaffold::{self, CrateSource, Language, PackageSource};

/// Start a new toolkit, in Rust or in TypeScript.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kitbag toolkit new greeter\n  kitbag toolkit new greeter --lang ts\n\n\
                  It asks nothing. What it makes builds and passes its own tests as it stands.")]
pub(in crate::cli) struct New {
    /// The toolkit's id: lower-case letters, digits and hyphens.
    id: String,
    /// What it is written in.
    #[arg(long, value_enum, default_value_t)]
    lang: Lang,
    /// Where to put it; by default a folder named like the toolkit.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Folder of the SDK, the crate `kitbag-toolkit` or the npm package `kitbag`; by default the one in the checkout
    /// that this program was built from, or without a checkout the one of this version from the registry.
    #[arg(long)]
    sdk: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Lang {
    #[default]
    Rust,
    #[value(alias = "typescript")]
    Ts,
}

impl Lang {
    /// The SDK's folder in a checkout.
    fn sdk(self) -> &'static str {
        match self {
            Self::Rust => "guest-sdk/rust",
            Self::Ts => "guest-sdk/typescript",
        }
    }

    fn with_sdk(self, folder: PathBuf) -> Language {
        match self {
            Self::Rust => Language::Rust(CrateSource::Path(folder)),
            Self::Ts => Language::TypeScript(PackageSource::Path(folder)),
        }
    }

    /// With the SDK in the folder of a checkout, or the published one if the checkout is not on this machine.
    fn with_sdk_of(self, checkout: &Path) -> Language {
        if let Ok(folder) = checkout.join(self.sdk()).canonicalize() {
            return self.with_sdk(folder);
        }
        let version = env!("CARGO_PKG_VERSION").to_owned();
        match self {
            Self::Rust => Language::Rust(CrateSource::Version(version)),
            Self::Ts => Language::TypeScript(PackageSource::Version(format!("^{version}"))),
        }
    }

    /// Three commands that an author runs next, in the new folder, and what each does.
    fn next(self) -> [(&'static str, &'static str); 3] {
        let test = match self {
            Self::Rust => ("cargo test", "runs its tests, without a sandbox and without a network"),
            Self::Ts => {
                ("npm install && npm test", "runs its tests, without a sandbox and without a network")
            }
        };
        [
            test,
            ("kitbag toolkit dev", "serves it over MCP on this machine, and again after each change"),
            ("kitbag toolkit deploy .", "builds it, and makes it live on your server"),
        ]
    }
}

/// What each file is for.
fn purpose(file: &Path) -> &'static str {
    match file.file_name().and_then(OsStr::to_str).unwrap_or_default() {
        "lib.rs" => "the toolkit: what it declares, one tool, and its tests",
        "extension.ts" => "the toolkit: what it declares, and one tool",
        "extension.test.ts" => "its tests",
        "Cargo.toml" | "package.json" => "its dependencies; `version` is the toolkit's",
        "tsconfig.json" => "how editors and the compiler check types",
        "README.md" => "how to test, run and deploy it",
        ".gitignore" => "what Git leaves out",
        _ => "",
    }
}

impl New {
    pub(super) fn run(self) -> Result<(), CliError> {
        let directory = self.directory.unwrap_or_else(|| PathBuf::from(&self.id));
        let language = match self.sdk {
            None => self.lang.with_sdk_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")),
            Some(sdk) => self.lang.with_sdk(sdk.canonicalize().map_err(|error| {
                CliError::new(format!("the SDK is not at {}: {error}", sdk.display()))
                    .hint("name its folder with --sdk")
            })?),
        };
        let files = scaffold::create(&self.id, &directory, &language)
            .map_err(|error| CliError::new(error.to_string()))?;
        let next = self.lang.next();
        let steps: Vec<_> = next.iter().map(|(command, _)| *command).collect();
        let data = json!({ "id": self.id, "directory": directory, "files": files, "next": steps });
        report(&data, || {
            say!("Made the toolkit {} in {}:", self.id, directory.display());
            for file in &files {
                let name = file.strip_prefix(&directory).unwrap_or(file);
                say!("  {:<20} {}", name.display(), purpose(name));
            }
            say!("\nIt greets people, to show how a tool is written. Next, in {}:", directory.display());
            for (command, purpose) in next {
                say!("  {:<24} {}", command, purpose);
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_checkout_a_new_toolkit_uses_the_published_sdk() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let version = env!("CARGO_PKG_VERSION");
        let (rust, ts) =
            (CrateSource::Version(version.to_owned()), PackageSource::Version(format!("^{version}")));

        assert_eq!(Lang::Rust.with_sdk_of(folder.path()), Language::Rust(rust));
        assert_eq!(Lang::Ts.with_sdk_of(folder.path()), Language::TypeScript(ts));

        let sdk = folder.path().join("guest-sdk/rust");
        std::fs::create_dir_all(&sdk).expect("a scratch folder");
        let sdk = sdk.canonicalize().expect("it is there");
        assert_eq!(Lang::Rust.with_sdk_of(folder.path()), Language::Rust(CrateSource::Path(sdk)));
    }
}
