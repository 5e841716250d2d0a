//! Texts, spreadsheets and presentations of `OpenDocument` (ISO 26300-1).

use extractor_text::Flow;

use crate::archive::Archive;
use crate::bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted};
use crate::collected;
use crate::xml::{Node, Nodes};

/// Reads a document.
pub(crate) fn read(mut archive: Archive) -> Result<Extracted, ExtractError> {
    if archive.text("META-INF/manifest.xml")?.is_some_and(|manifest| manifest.contains("encryption-data")) {
        return Err(ExtractError::Encrypted);
    }
    let content = archive.text("content.xml")?.unwrap_or_default();
    let mut body = Body::default();
    let failure = body.read(&content).err();
    let title = title(&archive.text("meta.xml").ok().flatten().unwrap_or_default());
    collected(&archive, &title, body.flow, failure)
}

/// Returns the title in the metadata.
fn title(metadata: &str) -> String {
    let mut nodes = Nodes::of(metadata);
    while let Ok(Some(node)) = nodes.next() {
        match node {
            Node::Start(tag) if tag.name() == "title" => return nodes.text("title").unwrap_or_default(),
            _ => {}
        }
    }
    String::new()
}

/// The text of a body, as far as it was read.
#[derive(Default)]
struct Body {
    flow: Flow,
    is_spreadsheet: bool,
    /// Open paragraphs, cells, notes: only paragraphs have text.
    paragraphs: usize,
    cells: usize,
    notes: usize,
}

impl Body {
    fn read(&mut self, content: &str) -> Result<(), ExtractError> {
        let mut nodes = Nodes::of(content);
        while let Some(node) = nodes.next()? {
            if self.flow.is_full() {
                break;
            }
            match node {
                Node::Start(tag) => match tag.name() {
                    // Deleted text, and the marks of notes.
                    name @ ("tracked-changes" | "note-citation") => nodes.skip(&name.to_owned())?,
                    "spreadsheet" => self.is_spreadsheet = true,
                    "table" if self.is_spreadsheet => {
                        self.flow.push(&tag.attribute("name").unwrap_or_default());
                        self.flow.paragraph();
                    }
                    name => self.start(name),
                },
                Node::End(name) => self.end(&name),
                Node::Text(text) if self.paragraphs > 0 => self.flow.push(&text),
                Node::Text(_) => {}
            }
        }
        Ok(())
    }

    fn start(&mut self, name: &str) {
        match name {
            "p" | "h" => self.paragraphs += 1,
            "s" => self.flow.space(),
            "tab" => self.flow.tab(),
            "line-break" => self.flow.line(),
            "table-cell" | "covered-table-cell" => self.cells += 1,
            // A note stands within the paragraph that it belongs to.
            "note-body" | "annotation" => {
                self.flow.push(" (");
                self.notes += 1;
            }
            "page" => self.flow.paragraph(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" | "h" => {
                self.paragraphs = self.paragraphs.saturating_sub(1);
                if self.notes > 0 || self.cells > 0 { self.flow.space() } else { self.flow.paragraph() }
            }
            "table-cell" | "covered-table-cell" => {
                self.cells = self.cells.saturating_sub(1);
                self.flow.tab();
            }
            "table-row" => self.flow.line(),
            "table" => self.flow.paragraph(),
            "note-body" | "annotation" => {
                self.notes = self.notes.saturating_sub(1);
                self.flow.append(")");
            }
            _ => {}
        }
    }
}
