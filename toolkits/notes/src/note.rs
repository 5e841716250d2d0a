//! What a note is among documents.

use kitbag_toolkit::prelude::*;

/// Begins the title of every note. A knowledge base can be searched and not listed: this is a word that
/// all notes have, and so the search for it is the list.
pub(crate) const MARK: &str = "Note";

/// Letters of a title that is made of the note's first line.
const LONGEST_TITLE: usize = 80;

/// A note.
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) title: Option<String>,
    pub(crate) notebook: Option<String>,
}

impl Note {
    pub(crate) fn title(&self) -> String {
        self.title.clone().unwrap_or_else(|| shortened(self.text.trim().lines().next().unwrap_or_default()))
    }

    pub(crate) fn into_document(self) -> IngestDocument {
        let title = format!("{MARK}: {}", self.title());
        let feed = self.notebook.map(|name| IngestFeed {
            key: key(&name),
            name: name.trim().to_owned(),
            label: Some("notebook".into()),
        });
        IngestDocument { title, text: Some(self.text), feed, ..IngestDocument::default() }
    }
}

/// The title without the mark.
pub(crate) fn title(document: &DocumentSummary) -> &str {
    let rest = document.title.strip_prefix(MARK).and_then(|rest| rest.strip_prefix(": "));
    rest.unwrap_or(&document.title)
}

/// Whether a note lies in a notebook; its name is known by any spelling of case.
pub(crate) fn is_in(document: &DocumentSummary, notebook: &str) -> bool {
    document.feed.as_deref().is_some_and(|name| key(name) == key(notebook))
}

fn key(name: &str) -> String {
    name.trim().to_lowercase()
}

fn shortened(line: &str) -> String {
    if line.chars().count() <= LONGEST_TITLE {
        return line.to_owned();
    }
    let cut: String = line.chars().take(LONGEST_TITLE - 1).collect();
    format!("{}…", cut.trim_end())
}
