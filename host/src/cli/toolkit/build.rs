//! `kitbag toolkit build`

use std::path::{Path, PathBuf};

use clap::Args;

use super::inspect_locally;
use crate::cli::CliError;
use crate::toolchain::{self, BuildOptions};

/// Turn a crate into a component, and write manifest.json beside it.
#[derive(Args, Debug)]
#[command(after_help = "The component is made only when a deploy would accept it.")]
pub(in crate::cli) struct Build {
    /// Directory of the crate.
    #[arg(default_value = ".")]
    directory: PathBuf,
    /// Where the component and its manifest go; by default `dist` in the crate's directory.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Where a build put its results.
pub(in crate::cli) struct Built {
    /// The component.
    pub(in crate::cli) component: PathBuf,
    /// Its manifest.
    pub(in crate::cli) manifest: PathBuf,
}

impl Build {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let built = build(&self.directory, self.out).await?;
        println!("{}", built.component.display());
        println!("{}", built.manifest.display());
        Ok(())
    }
}

/// Builds the crate in `directory`; results go to `out`, or else to its folder `dist`.
pub(in crate::cli) async fn build(directory: &Path, out: Option<PathBuf>) -> Result<Built, CliError> {
    let component = toolchain::build_rust(directory, &BuildOptions::default(), |line| eprintln!("{line}"))
        .await
        .map_err(|error| CliError::new(error.to_string()))?;
    let definition = inspect_locally(component.bytes.clone()).await?.definition;

    let out = out.unwrap_or_else(|| directory.join("dist"));
    let built =
        Built { component: out.join(format!("{}.wasm", definition.id)), manifest: out.join("manifest.json") };
    let manifest =
        serde_json::to_string_pretty(&*definition).map_err(|error| CliError::new(error.to_string()))?;
    std::fs::create_dir_all(&out)
        .and_then(|()| std::fs::write(&built.component, &component.bytes))
        .and_then(|()| std::fs::write(&built.manifest, manifest + "\n"))
        .map_err(|error| CliError::new(format!("cannot write to {}: {error}", out.display())))?;
    Ok(built)
}
