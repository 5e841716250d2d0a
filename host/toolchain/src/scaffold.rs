//! Creates a new toolkit, in Rust or in TypeScript, that builds and passes its own tests.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kitbag_manifest::{Problems, ToolDefinition, ToolkitDefinition};

use super::openapi::GeneratedFile;

/// Name of a file, and its text with the placeholders `{{id}}`, `{{name}}`, `{{sdk}}` and `{{tests}}`.
type Template = (&'static str, &'static str);

const RUST: [Template; 4] = [
    ("Cargo.toml", include_str!("../scaffold/rust/Cargo.toml.tmpl")),
    ("README.md", include_str!("../scaffold/rust/README.md.tmpl")),
    (".gitignore", include_str!("../scaffold/rust/gitignore.tmpl")),
    ("src/lib.rs", include_str!("../scaffold/rust/lib.rs.tmpl")),
];

const TYPESCRIPT: [Template; 6] = [
    ("package.json", include_str!("../scaffold/typescript/package.json.tmpl")),
    ("tsconfig.json", include_str!("../scaffold/typescript/tsconfig.json.tmpl")),
    ("README.md", include_str!("../scaffold/typescript/README.md.tmpl")),
    (".gitignore", include_str!("../scaffold/typescript/gitignore.tmpl")),
    ("extension.ts", include_str!("../scaffold/typescript/extension.ts.tmpl")),
    ("extension.test.ts", include_str!("../scaffold/typescript/extension.test.ts.tmpl")),
];

/// Templates of the files that accompany those generated from an OpenAPI document.
const OPENAPI: [Template; 4] = [
    ("package.json", include_str!("../scaffold/typescript/package.json.tmpl")),
    ("tsconfig.json", include_str!("../scaffold/typescript/tsconfig.json.tmpl")),
    ("README.md", include_str!("../scaffold/typescript/README.openapi.md.tmpl")),
    (".gitignore", include_str!("../scaffold/typescript/gitignore.tmpl")),
];

/// The language of a new toolkit, with the source of its SDK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, with the crate `kitbag-toolkit`.
    Rust(CrateSource),
    /// TypeScript, with the npm package `kitbag`.
    TypeScript(PackageSource),
}

/// The source of the crate `kitbag-toolkit`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CrateSource {
    /// A local folder; absolute, because the new crate may be anywhere.
    Path(PathBuf),
    /// A revision of a Git repository.
    Git {
        /// URL of the repository.
        url: String,
        /// A commit, a tag or a branch.
        revision: String,
    },
    /// A version requirement for the registry, in cargo's syntax.
    Version(String),
}

/// The source of the npm package `kitbag`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackageSource {
    /// A local folder; absolute, because the new toolkit may be anywhere.
    Path(PathBuf),
    /// A version requirement for the registry, in npm's syntax.
    Version(String),
}

/// Writes a new toolkit with this id into `directory`, which is created if it is missing. Returns the files.
/// Writes nothing if one of them already exists.
pub fn create(id: &str, directory: &Path, language: &Language) -> Result<Vec<PathBuf>, ScaffoldError> {
    check_id(id)?;
    let (templates, sdk) = match language {
        Language::Rust(source) => (&RUST[..], crate_dependency(source)?),
        Language::TypeScript(source) => (&TYPESCRIPT[..], package_dependency(source)?),
    };
    write_all(filled(templates, id, &sdk, "extension.test.ts"), directory)
}

/// Same as [`create`], for a TypeScript toolkit whose sources were generated from an OpenAPI document.
pub fn create_generated(
    id: &str,
    directory: &Path,
    source: &PackageSource,
    generated: Vec<GeneratedFile>,
) -> Result<Vec<PathBuf>, ScaffoldError> {
    check_id(id)?;
    let mut files = filled(&OPENAPI, id, &package_dependency(source)?, "operations.test.ts");
    files.extend(generated.into_iter().map(|file| (file.name, file.text)));
    write_all(files, directory)
}

/// Checks that a server would accept a toolkit with this id.
pub fn check_id(id: &str) -> Result<(), ScaffoldError> {
    check(id).map_err(|problems| ScaffoldError::InvalidId { id: id.to_owned(), problems })
}

fn filled(templates: &[Template], id: &str, sdk: &str, tests: &str) -> Vec<(String, String)> {
    let name = display_name(id);
    let fill = |template: &str| {
        template
            .replace("{{id}}", id)
            .replace("{{name}}", &name)
            .replace("{{sdk}}", sdk)
            .replace("{{tests}}", tests)
    };
    templates.iter().map(|(file, template)| ((*file).to_owned(), fill(template))).collect()
}

fn write_all(files: Vec<(String, String)>, directory: &Path) -> Result<Vec<PathBuf>, ScaffoldError> {
    let files: Vec<(PathBuf, String)> =
        files.into_iter().map(|(file, content)| (directory.join(file), content)).collect();

    if let Some((taken, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        return Err(ScaffoldError::Exists(taken.clone()));
    }
    for (path, content) in &files {
        write_new(path, content).map_err(|reason| ScaffoldError::Write { path: path.clone(), reason })?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// Reason why a new toolkit could not be created.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// A server would refuse the toolkit because of its id.
    #[error("{id:?} cannot be a toolkit's id: {problems}")]
    InvalidId {
        /// Requested id.
        id: String,
        /// Problems with the id.
        problems: Problems,
    },
    /// A file already exists.
    #[error("{} is already there: name another directory", .0.display())]
    Exists(PathBuf),
    /// The path cannot be written to a manifest.
    #[error("the SDK's folder {} cannot be written to the manifest: its path is not UTF-8", .0.display())]
    SdkPath(PathBuf),
    /// A file could not be written.
    #[error("could not write {}: {reason}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        reason: io::Error,
    },
}

/// Checks that a server would accept the toolkit that the templates produce with this id.
fn check(id: &str) -> Result<(), Problems> {
    let tool = ToolDefinition {
        name: "greet".to_owned(),
        description: "Greets.".to_owned(),
        input_schema: serde_json::json!({ "type": "object" }),
        ..ToolDefinition::default()
    };
    let definition = ToolkitDefinition {
        id: id.to_owned(),
        name: "Greeter".to_owned(),
        description: "Greets.".to_owned(),
        icon: "👋".to_owned(),
        version: "0.1.0".to_owned(),
        tools: vec![tool],
        ..ToolkitDefinition::default()
    };
    kitbag_manifest::validate(definition).map(drop)
}

/// Returns the value of the dependency in `Cargo.toml`.
fn crate_dependency(source: &CrateSource) -> Result<String, ScaffoldError> {
    Ok(match source {
        CrateSource::Path(path) => format!("{{ path = {} }}", quoted(utf8(path)?)),
        CrateSource::Git { url, revision } => {
            format!("{{ git = {}, rev = {} }}", quoted(url), quoted(revision))
        }
        CrateSource::Version(version) => quoted(version),
    })
}

/// Returns the value of the dependency in `package.json`.
fn package_dependency(source: &PackageSource) -> Result<String, ScaffoldError> {
    Ok(match source {
        PackageSource::Path(path) => quoted(&format!("file:{}", utf8(path)?)),
        PackageSource::Version(version) => quoted(version),
    })
}

fn utf8(path: &Path) -> Result<&str, ScaffoldError> {
    path.to_str().ok_or_else(|| ScaffoldError::SdkPath(path.to_owned()))
}

/// Quotes a string for JSON, and so for TOML too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Converts an id to a display name: `word-count` becomes `Word count`.
fn display_name(id: &str) -> String {
    let words = id.replace('-', " ");
    let mut letters = words.trim().chars();
    letters
        .next()
        .map_or_else(|| id.to_owned(), |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn write_new(path: &Path, content: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(content.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust() -> Language {
        Language::Rust(CrateSource::Path(PathBuf::from("/sdk \"x\"")))
    }

    fn typescript() -> Language {
        Language::TypeScript(PackageSource::Path(PathBuf::from("/sdk \"x\"")))
    }

    fn texts(language: &Language) -> Vec<String> {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let files =
            create("word-count", &directory.path().join("new"), language).expect("nothing is in the way");
        files.iter().map(|file| fs::read_to_string(file).expect("it was written")).collect()
    }

    #[test]
    fn a_new_crate_has_all_its_files_and_no_placeholder() {
        let texts = texts(&rust());

        assert_eq!(texts.len(), RUST.len());
        assert!(texts.iter().all(|text| !text.contains("{{")), "{texts:?}");
        assert!(texts[0].contains(r#"kitbag-toolkit = { path = "/sdk \"x\"" }"#), "{}", texts[0]);
        assert!(texts[3].contains(r#"Toolkit::new("word-count", "Word count")"#), "{}", texts[3]);
    }

    #[test]
    fn a_new_extension_has_all_its_files_and_no_placeholder() {
        let texts = texts(&typescript());

        assert_eq!(texts.len(), TYPESCRIPT.len());
        assert!(texts.iter().all(|text| !text.contains("{{")), "{texts:?}");
        let package: serde_json::Value = serde_json::from_str(&texts[0]).expect("package.json is JSON");
        assert_eq!(package["name"], "toolkit-word-count");
        assert_eq!(package["dependencies"]["kitbag"], "file:/sdk \"x\"");
        assert!(texts[4].contains(r#"name: "Word count""#), "{}", texts[4]);
    }

    #[test]
    fn generated_files_stand_beside_those_that_every_toolkit_has() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let place = directory.path().join("new");
        let file = GeneratedFile { name: "extension.ts".to_owned(), text: "{{id}}".to_owned() };

        create_generated("pets", &place, &PackageSource::Version("^0.1.0".to_owned()), vec![file])
            .expect("nothing is in the way");

        let text = |name: &str| fs::read_to_string(place.join(name)).expect("it was written");
        assert_eq!(text("extension.ts"), "{{id}}", "placeholders are those of templates");
        assert!(text("package.json").contains("--test operations.test.ts"), "{}", text("package.json"));
        assert!(!text("README.md").contains("{{"), "{}", text("README.md"));
    }

    #[test]
    fn nothing_is_written_when_one_file_is_in_the_way() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        fs::write(directory.path().join("README.md"), "mine").expect("a scratch file");

        let error = create("words", directory.path(), &rust()).expect_err("a file is in the way");

        assert!(matches!(error, ScaffoldError::Exists(path) if path.ends_with("README.md")));
        assert!(!directory.path().join("Cargo.toml").exists());
    }

    #[test]
    fn an_id_is_one_that_a_server_accepts() {
        let directory = tempfile::tempdir().expect("a scratch directory");

        for id in ["", "Words", "a b", "a_b", "../up", "é", "user", &"a".repeat(128)] {
            let outcome = create(id, directory.path(), &typescript());
            assert!(matches!(outcome, Err(ScaffoldError::InvalidId { .. })), "{id} is refused");
        }
    }

    #[test]
    fn every_id_has_a_display_name() {
        assert_eq!(display_name("word-count"), "Word count");
        assert_eq!(display_name("2fa"), "2fa");
        assert_eq!(display_name("-"), "-");
    }
}
