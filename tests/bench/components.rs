//! Components to call.

use std::path::{Path, PathBuf};

use kitbag_toolchain::{BuildOptions, TARGET_DIRECTORY};

use crate::Outcome;

/// Components, built from this repository.
pub(crate) struct Components {
    /// `toolkits/text`: a real toolkit, made with the SDK.
    pub(crate) text: Vec<u8>,
    /// `tests/guests/greeter-v1`: a trivial guest without the SDK, which can also wait for a given time.
    pub(crate) greeter: Vec<u8>,
    /// `tests/guests/probe`: calls each capability directly.
    pub(crate) probe: Vec<u8>,
    /// `tests/bench/count`: the measured tool of `text`, in TypeScript.
    pub(crate) script: Vec<u8>,
    /// `toolkits/currency` and `toolkits/translate`: two toolkits in TypeScript that use the network.
    pub(crate) scripts: [Vec<u8>; 2],
}

/// Builds the components. Fast if they are up to date.
pub(crate) async fn build() -> Outcome<Components> {
    let root = root();
    let [text, greeter, probe] = rust(["toolkit-text", "guest-greeter-v1", "guest-probe"]).await?;
    Ok(Components {
        text,
        greeter,
        probe,
        script: typescript(&root, "tests/bench/count").await?,
        scripts: [
            typescript(&root, "toolkits/currency").await?,
            typescript(&root, "toolkits/translate").await?,
        ],
    })
}

/// Builds crates of this repository. Fast if they are up to date.
pub(crate) async fn rust<const COUNT: usize>(packages: [&str; COUNT]) -> Outcome<[Vec<u8>; COUNT]> {
    let report = |line: &str| eprintln!("{line}");
    let built =
        kitbag_toolchain::build_workspace(&root(), &packages, &BuildOptions::default(), report).await?;
    let components: Vec<_> = built.into_iter().map(|component| component.bytes).collect();
    components.try_into().map_err(|_| "each package gives one component".into())
}

/// Builds `tests/bench/act-server`, the tool as a component for ACT, and returns its path. Fast if it is up
/// to date.
pub(crate) async fn build_for_act() -> Outcome<PathBuf> {
    let root = root();
    let options =
        BuildOptions { target_directory: Some(root.join(TARGET_DIRECTORY)), ..BuildOptions::default() };
    let crate_directory = root.join("tests/bench/act-server");
    let built = kitbag_toolchain::build_rust(&crate_directory, &options, |line| eprintln!("{line}")).await?;
    Ok(built.path)
}

/// Builds a toolkit in TypeScript. Fast if it is up to date.
async fn typescript(root: &Path, folder: &str) -> Outcome<Vec<u8>> {
    let out = root.join(TARGET_DIRECTORY).join("typescript").join(folder);
    let report = |line: &str| eprintln!("{line}");
    let built = kitbag_toolchain::build_typescript(&root.join(folder), Some(&out), report).await?;
    Ok(std::fs::read(built.component)?)
}

/// Root of this repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
