//! `kitbag toolkit new`

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use kitbag_toolchain::ToolchainError;
use kitbag_toolchain::openapi::{self, OpenApiSource};
use kitbag_toolchain::scaffold::{self, CrateSource, Language, PackageSource};
use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::output::report;
use crate::cli::terminal::say;

/// Start a new toolkit, in Rust or in TypeScript.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kitbag toolkit new greeter\n  kitbag toolkit new greeter --lang ts\n  \
                  kitbag toolkit new pets --openapi petstore.yaml\n  \
                  kitbag toolkit new shop --openapi https://shop.example/openapi.json --list\n  \
                  kitbag toolkit new shop --openapi https://shop.example/openapi.json --only orders --only GET\n\n\
                  It asks nothing. What it makes builds and passes its own tests as it stands.")]
pub(in crate::cli) struct New {
    /// The toolkit's id: lower-case letters, digits and hyphens.
    id: String,
    /// What it is written in: by default rust, and with --openapi ts.
    #[arg(long, value_enum)]
    lang: Option<Lang>,
    /// Make a tool of each operation of an OpenAPI document (3.0, 3.1, Swagger 2.0).
    #[arg(long, value_name = "FILE|URL")]
    openapi: Option<String>,
    /// Only operations with this tag, operationId or method; as often as needed.
    #[arg(long, value_name = "TAG|OPERATION|METHOD", requires = "openapi")]
    only: Vec<String>,
    /// Write nothing, and list the operations with the sizes of their tools.
    #[arg(long, requires = "openapi")]
    list: bool,
    /// Address of the API, instead of the document's.
    #[arg(long, value_name = "URL", requires = "openapi")]
    api_url: Option<String>,
    /// Where to put it; by default a folder named like the toolkit.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Folder of the SDK, the crate `kitbag-toolkit` or the npm package `kitbag`; by default the one in the checkout
    /// that this program was built from, or without a checkout the one of this version from the registry.
    #[arg(long)]
    sdk: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Lang {
    #[default]
    Rust,
    #[value(alias = "typescript")]
    Ts,
}

impl Lang {
    /// Folder of the SDK in a checkout.
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

    /// Language with the SDK in the checkout, or with the published one if there is no checkout on this
    /// machine.
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

    /// Next three commands for an author in the new folder, with descriptions.
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

/// Purpose of a generated file.
fn purpose(file: &Path) -> &'static str {
    match file.file_name().and_then(OsStr::to_str).unwrap_or_default() {
        "lib.rs" => "the toolkit: what it declares, one tool, and its tests",
        "extension.ts" => "the toolkit: what it declares, and its tools",
        "api.ts" => "the address of the API, and its errors",
        "operations.ts" => "generated: a tool for each operation",
        "operations.test.ts" => "generated: a call of each tool",
        "openapi.json" => "what the generated files come from",
        "extension.test.ts" => "its tests",
        "Cargo.toml" | "package.json" => "its dependencies; `version` is the toolkit's",
        "tsconfig.json" => "how editors and the compiler check types",
        "README.md" => "how to test, run and deploy it",
        ".gitignore" => "what Git leaves out",
        _ => "",
    }
}

impl New {
    pub(super) async fn run(self) -> Result<(), CliError> {
        let directory = self.directory.clone().unwrap_or_else(|| PathBuf::from(&self.id));
        if let Some(document) = self.openapi.clone() {
            let source = OpenApiSource { document, only: self.only.clone(), api_url: self.api_url.clone() };
            return if self.list {
                self.list(&source).await
            } else {
                self.generate(&source, &directory).await
            };
        }
        let lang = self.lang.unwrap_or_default();
        let language = self.language(lang)?;
        let files = scaffold::create(&self.id, &directory, &language)
            .map_err(|error| CliError::new(error.to_string()))?;
        let next = lang.next();
        let steps: Vec<_> = next.iter().map(|(command, _)| *command).collect();
        let data = json!({ "id": self.id, "directory": directory, "files": files, "next": steps });
        report(&data, || {
            say_files(&self.id, &directory, &files);
            say!("\nIt greets people, to show how a tool is written. Next, in {}:", directory.display());
            for (command, purpose) in next {
                say!("  {:<24} {}", command, purpose);
            }
        })
    }

    fn language(&self, lang: Lang) -> Result<Language, CliError> {
        match &self.sdk {
            None => Ok(lang.with_sdk_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))),
            Some(sdk) => Ok(lang.with_sdk(sdk.canonicalize().map_err(|error| {
                CliError::new(format!("the SDK is not at {}: {error}", sdk.display()))
                    .hint("name its folder with --sdk")
            })?)),
        }
    }

    async fn list(&self, source: &OpenApiSource) -> Result<(), CliError> {
        let operations = openapi::list(source, self.sdk.as_deref()).await.map_err(failed)?;
        report(&operations, || {
            for it in &operations {
                let size = it.bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
                let tags = it.tags.join(", ");
                match &it.reason {
                    None => say!(
                        "{:>6}  {:<40} {}  [{}]",
                        size,
                        it.tool.as_deref().unwrap_or_default(),
                        it.operation,
                        tags
                    ),
                    Some(reason) => {
                        say!("{:>6}  {:<40} {}: {}", size, "cannot be made", it.operation, reason);
                    }
                }
            }
            let bytes: u64 = operations.iter().filter_map(|it| it.bytes).sum();
            say!(
                "\n{} operations, {} bytes for a model that reads all of their tools",
                operations.len(),
                bytes
            );
        })
    }

    async fn generate(&self, source: &OpenApiSource, directory: &Path) -> Result<(), CliError> {
        if self.lang == Some(Lang::Rust) {
            return Err(
                CliError::new("toolkits from OpenAPI documents are in TypeScript").hint("leave out --lang")
            );
        }
        scaffold::check_id(&self.id).map_err(|error| CliError::new(error.to_string()))?;
        let Language::TypeScript(package) = self.language(Lang::Ts)? else {
            unreachable!("Lang::Ts is TypeScript");
        };
        let made =
            openapi::generate(&self.id, source, directory, self.sdk.as_deref()).await.map_err(failed)?;
        let files = scaffold::create_generated(&self.id, directory, &package, made.files)
            .map_err(|error| CliError::new(error.to_string()))?;
        let next = Lang::Ts.next();
        let steps: Vec<_> = next.iter().map(|(command, _)| *command).collect();
        let data = json!({
            "id": self.id, "directory": directory, "files": files, "next": steps,
            "tools": made.tools, "notMade": made.not_made, "notes": made.notes,
        });
        report(&data, || {
            say_files(&self.id, directory, &files);
            say!("\nIt has {} tools.", made.tools.len());
            for it in &made.tools {
                for note in &it.notes {
                    say!("  {}: {}", it.tool, note);
                }
            }
            for note in &made.notes {
                say!("  note: {}", note);
            }
            if !made.not_made.is_empty() {
                say!("\n{} operations cannot be made:", made.not_made.len());
                for it in &made.not_made {
                    say!("  {}: {}", it.operation, it.reason);
                }
            }
            say!("\nNext, in {}:", directory.display());
            for (command, purpose) in next {
                say!("  {:<24} {}", command, purpose);
            }
        })
    }
}

fn say_files(id: &str, directory: &Path, files: &[PathBuf]) {
    say!("Made the toolkit {} in {}:", id, directory.display());
    for file in files {
        let name = file.strip_prefix(directory).unwrap_or(file);
        say!("  {:<20} {}", name.display(), purpose(name));
    }
}

#[expect(clippy::needless_pass_by_value, reason = "map_err passes it so")]
pub(super) fn failed(error: ToolchainError) -> CliError {
    CliError::new(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_checkout_a_new_toolkit_uses_the_published_sdk() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let version = env!("CARGO_PKG_VERSION");
        let rust = CrateSource::Version(version.to_owned());
        let ts = PackageSource::Version(format!("^{version}"));

        assert_eq!(Lang::Rust.with_sdk_of(folder.path()), Language::Rust(rust));
        assert_eq!(Lang::Ts.with_sdk_of(folder.path()), Language::TypeScript(ts));

        let sdk = folder.path().join("guest-sdk/rust");
        std::fs::create_dir_all(&sdk).expect("a scratch folder");
        let sdk = sdk.canonicalize().expect("it is there");
        assert_eq!(Lang::Rust.with_sdk_of(folder.path()), Language::Rust(CrateSource::Path(sdk)));
    }
}
