//! `kitbag toolkit new`

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::cli::CliError;
use crate::cli::terminal::say;
use crate::toolchain::scaffold::{self, CrateSource, Language, PackageSource};

/// Start a new toolkit, in Rust or in TypeScript.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kitbag toolkit new greeter\n  kitbag toolkit new greeter --lang ts\n\n\
                  What it makes builds and passes its own tests as it stands.")]
pub(in crate::cli) struct New {
    /// The toolkit's id: lower-case letters, digits and hyphens.
    id: String,
    /// What it is written in.
    #[arg(long, value_enum, default_value_t)]
    lang: Lang,
    /// Where to put it; by default a folder named like the toolkit.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Folder of the SDK, the crate `kitbag-toolkit` or the npm package `kitbag`; by default the one this
    /// program was built with.
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

    /// What an author does next, in the new folder.
    fn next(self) -> &'static [&'static str] {
        match self {
            Self::Rust => &["cargo test", "kitbag toolkit dev", "kitbag toolkit build"],
            Self::Ts => &["npm install", "npm test", "kitbag toolkit dev", "kitbag toolkit build"],
        }
    }
}

impl New {
    pub(super) fn run(self) -> Result<(), CliError> {
        let directory = self.directory.unwrap_or_else(|| PathBuf::from(&self.id));
        let sdk = self
            .sdk
            .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(self.lang.sdk()));
        let sdk = sdk.canonicalize().map_err(|error| {
            CliError::new(format!("the SDK is not at {}: {error}", sdk.display()))
                .hint("name its folder with --sdk")
        })?;
        let files = scaffold::create(&self.id, &directory, &self.lang.with_sdk(sdk))
            .map_err(|error| CliError::new(error.to_string()))?;
        for file in files {
            say!("{}", file.display());
        }
        say!("\nNext:\n  cd {}", directory.display());
        for step in self.lang.next() {
            say!("  {}", step);
        }
        Ok(())
    }
}
