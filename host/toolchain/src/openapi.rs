//! Makes a toolkit from an OpenAPI document, with the generator of the npm package `kitbag`, run by Node.js.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::process::Command;

use super::typescript::{COMMANDS, failed_to_start, package_for};
use super::{Step, ToolchainError};

/// A document, and what to make of it.
#[derive(Clone, Debug)]
pub struct OpenApiSource {
    /// Path or URL.
    pub document: String,
    /// Tags, operations and methods; empty for all operations.
    pub only: Vec<String>,
    /// Address of the API, instead of the document's.
    pub api_url: Option<String>,
}

/// A file with its text.
#[derive(Clone, Debug, Deserialize)]
pub struct GeneratedFile {
    /// Its name, without a folder.
    pub name: String,
    /// Its text.
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
    /// Operations that are no tools.
    pub not_made: Vec<NotMade>,
    /// What the author should know.
    pub notes: Vec<String>,
}

/// A tool, and the operation that it calls.
#[derive(Debug, Deserialize, Serialize)]
pub struct GeneratedTool {
    /// Name of the tool.
    pub tool: String,
    /// Method and path.
    pub operation: String,
    /// About how many bytes a model reads of it.
    pub bytes: u64,
    /// What the author should know.
    pub notes: Vec<String>,
}

/// An operation that cannot be made.
#[derive(Debug, Deserialize, Serialize)]
pub struct NotMade {
    /// Method and path.
    pub operation: String,
    /// The document's `operationId`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Why not.
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
    /// Name of the tool; `None` if it cannot be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The document's tags.
    pub tags: Vec<String>,
    /// About how many bytes a model reads of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Why it cannot be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a newer document changes in a toolkit.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenApiUpdate {
    /// Whether the document is the one that the toolkit was made from.
    pub is_same: bool,
    /// New tools, which the author has to list in `extension.ts`.
    pub added: Vec<ChangedTool>,
    /// Tools whose arguments, words or requests are different.
    pub changed: Vec<ChangedTool>,
    /// Tools whose operation is gone.
    pub removed: Vec<ChangedTool>,
    /// Operations that are no tools.
    pub not_made: Vec<NotMade>,
    /// What the author should know.
    pub notes: Vec<String>,
    /// Files that were written.
    pub written: Vec<String>,
}

/// A tool of an update.
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

/// Makes the sources of a toolkit. Writes nothing.
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

/// Lists the operations of a document with the sizes of their tools.
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

/// Compares the toolkit in `folder` with a newer document, by default the one that it was made from.
pub async fn compare(folder: &Path, document: Option<&str>) -> Result<OpenApiUpdate, ToolchainError> {
    update(folder, document, &[]).await
}

/// Compares as [`compare`] does, and writes the generated files anew.
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

/// Values follow their option after `=`: one that begins with a hyphen is no option.
fn options(source: &OpenApiSource) -> Vec<OsString> {
    let only = source.only.iter().map(|word| format!("--only={word}"));
    let api_url = source.api_url.iter().map(|url| format!("--api-url={url}"));
    only.chain(api_url).map(Into::into).collect()
}

/// The generator's output: one line of JSON.
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

/// Returns what the generator says; `None` if it said nothing that is known.
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
