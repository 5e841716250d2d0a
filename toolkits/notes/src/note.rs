//! How a note is stored as a document.

use kitbag_toolkit::prelude::*;

/// Prefix of the title of every note. A knowledge base can be searched but not listed: all notes contain this
/// word, so that a search for it lists them.
pub(crate) const TITLE_PREFIX: &str = "Note";

/// Maximum length of a title that is made from the note's first line.
const MAX_TITLE_CHARS: usize = 80;

/// A note.
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) title: Option<String>,
    pub(crate) notebook: Option<String>,
}

impl Note {
    pub(crate) fn title(&self) -> String {
        self.title.clone().unwrap_or_else(|| shorten(self.text.trim().lines().next().unwrap_or_default()))
    }

    pub(crate) fn into_document(self) -> IngestDocument {
        let title = format!("{TITLE_PREFIX}: {}", self.title());
        let feed = self.notebook.map(|name| IngestFeed {
            key: key(&name),
            name: name.trim().to_owned(),
            label: Some("notebook".into()),
        });
        IngestDocument { title, text: Some(self.text), feed, ..IngestDocument::default() }
    }
}

/// Returns the title without the prefix.
pub(crate) fn title(document: &DocumentSummary) -> &str {
    let rest = document.title.strip_prefix(TITLE_PREFIX).and_then(|rest| rest.strip_prefix(": "));
    rest.unwrap_or(&document.title)
}

/// Returns whether a note is in a notebook; ignores case in the name.
pub(crate) fn is_in(document: &DocumentSummary, notebook: &str) -> bool {
    document.feed.as_deref().is_some_and(|name| key(name) == key(notebook))
}

fn key(name: &str) -> String {
    name.trim().to_lowercase()
}

fn shorten(line: &str) -> String {
    if line.chars().count() <= MAX_TITLE_CHARS {
        return line.to_owned();
    }
    let cut: String = line.chars().take(MAX_TITLE_CHARS - 1).collect();
    format!("{}…", cut.trim_end())
}
