//! Kind of a local file, by its name.

use std::path::Path;

use kitbag_manifest::file_formats::{self, FileFormat, FileKind, Reading};

/// Form in which a file is sent to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text, with a title found in it.
    Prose,
    /// Text, with its file name as the title.
    Code,
    /// File whose text the server extracts; with a media type if the bytes may not identify it.
    File(Option<&'static str>),
    /// Unknown kind: read only if the file is named explicitly.
    Unknown,
}

const PROSE: [&str; 12] =
    ["adoc", "asciidoc", "log", "markdown", "md", "org", "rst", "srt", "tex", "text", "txt", "vtt"];
/// Names of prose files without an extension, in lower case.
const NAMED_PROSE: [&str; 13] = [
    "authors",
    "changelog",
    "changes",
    "contributing",
    "contributors",
    "copying",
    "history",
    "install",
    "license",
    "news",
    "notice",
    "readme",
    "todo",
];
/// Names of code files without an extension, in lower case.
const NAMED_CODE: [&str; 8] = [
    "containerfile",
    "dockerfile",
    "gemfile",
    "jenkinsfile",
    "justfile",
    "makefile",
    "rakefile",
    "vagrantfile",
];
/// Extensions of source code and configuration.
const CODE: [&str; 93] = [
    "asm",
    "astro",
    "awk",
    "bash",
    "bat",
    "bib",
    "c",
    "cc",
    "cfg",
    "clj",
    "cljs",
    "cmake",
    "cmd",
    "conf",
    "cpp",
    "cs",
    "cshtml",
    "css",
    "cu",
    "cxx",
    "dart",
    "diff",
    "ejs",
    "elm",
    "erb",
    "erl",
    "ex",
    "exs",
    "f90",
    "fs",
    "fsx",
    "go",
    "gradle",
    "graphql",
    "groovy",
    "h",
    "hbs",
    "hcl",
    "hh",
    "hpp",
    "hrl",
    "hs",
    "ini",
    "java",
    "jl",
    "js",
    "jsonc",
    "jsx",
    "kt",
    "kts",
    "less",
    "lisp",
    "lua",
    "m",
    "mjs",
    "ml",
    "mli",
    "nim",
    "nix",
    "patch",
    "php",
    "pl",
    "pm",
    "properties",
    "proto",
    "ps1",
    "py",
    "pyi",
    "r",
    "rb",
    "rs",
    "sass",
    "scala",
    "scm",
    "scss",
    "sh",
    "sol",
    "sql",
    "svelte",
    "swift",
    "tcl",
    "tf",
    "toml",
    "ts",
    "tsx",
    "v",
    "vb",
    "vue",
    "wat",
    "wit",
    "yaml",
    "yml",
    "zig",
];
impl Kind {
    /// Determines the kind of the file at a path.
    pub(super) fn of(path: &Path) -> Self {
        let extension = extension(path);
        let extension = extension.as_str();
        if extension.is_empty() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            let prose = NAMED_PROSE.contains(&&*name);
            let code = NAMED_CODE.contains(&&*name);
            return if prose {
                Self::Prose
            } else if code {
                Self::Code
            } else {
                Self::Unknown
            };
        }
        if PROSE.contains(&extension) {
            return Self::Prose;
        }
        if CODE.contains(&extension) {
            return Self::Code;
        }
        match file_formats::of_extension(extension) {
            None | Some(FileFormat { reading: Reading::Unread, .. }) => Self::Unknown,
            // The bytes of archives, compound files and messages may not tell what they are.
            Some(FileFormat {
                reading: Reading::Parsed(FileKind::Office | FileKind::Mail),
                media_type,
                ..
            }) => Self::File(Some(media_type)),
            Some(_) => Self::File(None),
        }
    }
}

/// File extension in lower case; empty if there is none.
pub(super) fn extension(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

#[cfg(test)]
mod tests {
    use kitbag_manifest::file_formats::{FORMATS, WORD};

    use super::*;

    #[test]
    fn a_name_says_how_a_file_is_sent() {
        for (name, kind) in [
            ("a/Notes.MD", Kind::Prose),
            ("main.rs", Kind::Code),
            ("a.b.ts", Kind::Code),
            ("Report.DOCX", Kind::File(Some(WORD))),
            ("letter.eml", Kind::File(Some("message/rfc822"))),
            ("paper.pdf", Kind::File(None)),
            ("tides.xml", Kind::File(None)),
            ("tides.ipynb", Kind::File(Some("application/x-ipynb+json"))),
            ("a.exe", Kind::Unknown),
            ("Makefile", Kind::Code),
            ("README", Kind::Prose),
            ("notes.log", Kind::Prose),
            ("unknown", Kind::Unknown),
            (".rs", Kind::Unknown),
        ] {
            assert_eq!(Kind::of(Path::new(name)), kind, "{name}");
        }
    }

    #[test]
    fn each_extension_has_one_kind() {
        let files = FORMATS.iter().flat_map(|format| format.extensions);
        assert!(files.into_iter().all(|extension| !CODE.contains(extension)));
        let mut all: Vec<_> = PROSE.iter().chain(&CODE).collect();
        let count = all.len();
        all.sort();
        all.dedup();

        assert_eq!(all.len(), count);
    }
}
