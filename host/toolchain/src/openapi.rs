//! Generates a toolkit from an OpenAPI document, with the generator of the npm package `kitbag`, run by
//! Node.js.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::typescript::{COMMANDS, failed_to_start, package_for};
use super::{Step, ToolchainError};

/// An OpenAPI document, with options for the generation.
#[derive(Clone, Debug)]
pub struct OpenApiSource {
    /// Path or URL of the document.
    pub document: String,
    /// Tags, operations and methods to include; empty for all operations.
    pub only: Vec<String>,
    /// Base URL of the API, instead of the document's.
    pub api_url: Option<String>,
}

/// A generated file.
#[derive(Clone, Debug, Deserialize)]
pub struct GeneratedFile {
    /// Name, without a folder.
    pub name: String,
    /// Content.
    pub text: String,
}

/// A generated toolkit.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedToolkit {
    /// Sources, tests and the record for updates.
    pub files: Vec<GeneratedFile>,
    /// Tools, in the order of the document.
    pub tools: Vec<GeneratedTool>,
    /// Operations without a tool.
    pub not_made: Vec<NotMade>,
    /// Notes for the author.
    pub notes: Vec<String>,
}

/// A tool, and the operation that it calls.
#[derive(Debug, Deserialize, Serialize)]
pub struct GeneratedTool {
    /// Name of the tool.
    pub tool: String,
    /// Method and path.
    pub operation: String,
    /// Approximate size of the tool's description for models, in bytes.
    pub bytes: u64,
    /// Notes for the author.
    pub notes: Vec<String>,
}

/// An operation from which no tool can be generated.
#[derive(Debug, Deserialize, Serialize)]
pub struct NotMade {
    /// Method and path.
    pub operation: String,
    /// The document's `operationId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Reason.
    pub reason: String,
}

/// An operation of a document.
#[derive(Debug, Deserialize, Serialize)]
pub struct ListedOperation {
    /// Method and path.
    pub operation: String,
    /// The document's `operationId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the tool; `None` if none can be generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The document's tags.
    pub tags: Vec<String>,
    /// Approximate size of the tool's description for models, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Reason why no tool can be generated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Changes to a toolkit for a newer document.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenApiUpdate {
    /// Whether the document is unchanged since the toolkit was generated.
    pub is_same: bool,
    /// New tools, which the author has to list in `extension.ts`.
    pub added: Vec<ChangedTool>,
    /// Tools with different arguments, descriptions or requests.
    pub changed: Vec<ChangedTool>,
    /// Tools whose operation was removed.
    pub removed: Vec<ChangedTool>,
    /// Operations without a tool.
    pub not_made: Vec<NotMade>,
    /// Notes for the author.
    pub notes: Vec<String>,
    /// Files that were written.
    pub written: Vec<String>,
}

/// A tool that an update adds, changes or removes.
#[derive(Debug, Deserialize, Serialize)]
pub struct ChangedTool {
    /// Name of the tool.
    pub tool: String,
    /// Name of the constant in `operations.ts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constant: Option<String>,
    /// Method and path.
    pub operation: String,
}

/// Generates the sources of a toolkit. Writes nothing.
///
/// `sdk` is the folder of the npm package; by default the one that builds toolkits here.
pub async fn generate(
    id: &str,
    source: &OpenApiSource,
    directory: &Path,
    sdk: Option<&Path>,
) -> Result<GeneratedToolkit, ToolchainError> {
    let mut arguments = vec!["new".into(), "--directory".into(), directory.into()];
    arguments.extend(options(source));
    arguments.extend(["--".into(), id.into(), source.document.clone().into()]);
    run(Path::new("."), sdk, arguments).await
}

/// Lists the operations of a document, with the sizes of their tools.
pub async fn list(
    source: &OpenApiSource,
    sdk: Option<&Path>,
) -> Result<Vec<ListedOperation>, ToolchainError> {
    #[derive(Deserialize)]
    struct Listing {
        operations: Vec<ListedOperation>,
    }

    let mut arguments = vec!["list".into()];
    arguments.extend(options(source));
    arguments.extend(["--".into(), source.document.clone().into()]);
    run::<Listing>(Path::new("."), sdk, arguments).await.map(|listing| listing.operations)
}

/// Compares the toolkit in `folder` with a newer document, by default from the same source.
pub async fn compare(folder: &Path, document: Option<&str>) -> Result<OpenApiUpdate, ToolchainError> {
    update(folder, document, &[]).await
}

/// Same as [`compare`], and writes the generated files again.
pub async fn compare_and_write(
    folder: &Path,
    document: Option<&str>,
) -> Result<OpenApiUpdate, ToolchainError> {
    update(folder, document, &["--write"]).await
}

async fn update(
    folder: &Path,
    document: Option<&str>,
    flags: &[&str],
) -> Result<OpenApiUpdate, ToolchainError> {
    let mut arguments: Vec<OsString> = vec!["update".into()];
    arguments.extend(flags.iter().map(Into::into));
    if let Some(document) = document {
        arguments.push(format!("--document={document}").into());
    }
    arguments.extend(["--".into(), folder.into()]);
    run(folder, None, arguments).await
}

/// Options have the form `--name=value`, so that a value that starts with a hyphen is not parsed as an
/// option.
fn options(source: &OpenApiSource) -> Vec<OsString> {
    let only = source.only.iter().map(|word| format!("--only={word}"));
    let api_url = source.api_url.iter().map(|url| format!("--api-url={url}"));
    only.chain(api_url).map(Into::into).collect()
}

/// Output of the generator: one line of JSON.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Outcome<T> {
    Done(T),
    Failed { message: String },
}

async fn run<T: DeserializeOwned>(
    near: &Path,
    sdk: Option<&Path>,
    arguments: Vec<OsString>,
) -> Result<T, ToolchainError> {
    let package = sdk.map_or_else(|| package_for(near), |sdk| Ok(PathBuf::from(sdk)))?;
    let output = Command::new("node")
        .arg(package.join(COMMANDS))
        .arg("openapi")
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(failed_to_start)?;
    outcome(&output.stdout).unwrap_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        let reason = format!("the generator ended without a result ({})\n{}", output.status, said.trim_end());
        Err(ToolchainError::Unexpected { step: Step::OpenApi, reason })
    })
}

/// Parses the generator's output; `None` if it is not recognised.
fn outcome<T: DeserializeOwned>(stdout: &[u8]) -> Option<Result<T, ToolchainError>> {
    match serde_json::from_slice(stdout).ok()? {
        Outcome::Done(result) => Some(Ok(result)),
        Outcome::Failed { message } => Some(Err(ToolchainError::TypeScript(message))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_says_what_it_made_or_why_it_failed() {
        let done = br#"{"event":"done","operations":[],"files":[],"tools":[],"notMade":[{"operation":"GET /a","reason":"no"}],"notes":[]}"#;
        let made: GeneratedToolkit = outcome(done).expect("it is known").expect("it succeeded");
        assert_eq!(made.not_made[0].reason, "no");

        let failed =
            outcome::<GeneratedToolkit>(br#"{"event":"failed","kind":"document","message":"no document"}"#);
        assert_eq!(failed.expect("it is known").expect_err("it failed").to_string(), "no document");
        assert!(outcome::<GeneratedToolkit>(b"noise").is_none());
    }

    #[test]
    fn values_of_options_are_never_options() {
        let source = OpenApiSource {
            document: "a.json".to_owned(),
            only: vec!["--write".to_owned()],
            api_url: Some("https://a.example".to_owned()),
        };

        assert_eq!(options(&source), ["--only=--write", "--api-url=https://a.example"]);
    }
}
