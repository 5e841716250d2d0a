//! Components to deploy.

use std::path::Path;

use kitbag_toolchain::BuildOptions;

use crate::Outcome;

/// Components, built from this repository.
pub(crate) struct Components {
    /// Deployed at the start: a real toolkit, one that misbehaves, one that uses every capability.
    pub(crate) lasting: [Vec<u8>; 3],
    /// Two versions of one toolkit, deployed and removed over and over.
    pub(crate) greeter: [Vec<u8>; 2],
}

/// Builds the components. Fast if they are up to date.
pub(crate) async fn build() -> Outcome<Components> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let packages = ["toolkit-text", "guest-hostile", "guest-probe", "guest-greeter-v1", "guest-greeter-v2"];
    let options = BuildOptions::default();
    let built =
        kitbag_toolchain::build_workspace(&root, &packages, &options, |line| eprintln!("{line}")).await?;
    let built: Vec<_> = built.into_iter().map(|component| component.bytes).collect();
    let [text, hostile, probe, one, two] =
        <[_; 5]>::try_from(built).map_err(|_| "five packages give five components")?;
    Ok(Components { lasting: [text, hostile, probe], greeter: [one, two] })
}
