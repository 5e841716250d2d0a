//! `kitbag toolkit new`

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::CliError;
use crate::toolchain::scaffold::{self, SdkSource};

/// Start a new toolkit in Rust.
#[derive(Args, Debug)]
#[command(after_help = "What it makes builds and passes its own test as it stands.")]
pub(in crate::cli) struct New {
    /// The toolkit's id: lower-case letters, digits and hyphens.
    id: String,
    /// Where to put it; by default a folder named like the toolkit.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Folder of the SDK crate `kitbag-toolkit`; by default the one this program was built with.
    #[arg(long)]
    sdk: Option<PathBuf>,
}

impl New {
    pub(super) fn run(self) -> Result<(), CliError> {
        let directory = self.directory.unwrap_or_else(|| PathBuf::from(&self.id));
        let sdk = self.sdk.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk/rust"));
        let sdk = sdk.canonicalize().map_err(|error| {
            CliError::new(format!("the SDK is not at {}: {error}", sdk.display()))
                .hint("name its folder with --sdk")
        })?;
        let files = scaffold::create(&self.id, &directory, &SdkSource::Path(sdk))
            .map_err(|error| CliError::new(error.to_string()))?;
        for file in files {
            println!("{}", file.display());
        }
        println!("\nNext:\n  cd {}\n  cargo test\n  kitbag toolkit build", directory.display());
        Ok(())
    }
}
