//! Texts, spreadsheets and presentations of `OpenDocument` (ISO 26300-1).

use extractor_text::Flow;

use crate::archive::Archive;
use crate::bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted};
use crate::collected;
use crate::workbook::{target_in_formula, target_of};
use crate::xml::{Node, Nodes, Tag};

/// Maximum number of embedded documents that are read.
const MAX_EMBEDDED: usize = 100;

/// Reads a document.
pub(crate) fn read(mut archive: Archive) -> Result<Extracted, ExtractError> {
    if archive.text("META-INF/manifest.xml")?.is_some_and(|manifest| manifest.contains("encryption-data")) {
        return Err(ExtractError::Encrypted);
    }
    let content = archive.text("content.xml")?.unwrap_or_default();
    let mut body = Body::default();
    let mut failure = body.read(&content).err();
    body.flow.paragraph();
    // Charts and texts within the document, and the headers and footers of its pages.
    for part in archive.names_ending_with("/content.xml", MAX_EMBEDDED) {
        let embedded = archive.text(&part).ok().flatten().unwrap_or_default();
        failure = failure.or(body.read(&embedded).err());
        body.flow.paragraph();
    }
    let styles = archive.text("styles.xml").ok().flatten().unwrap_or_default();
    failure = failure.or(body.read_page_styles(&styles).err());
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
    /// Ruby annotations of the paragraph, which follow it.
    readings: String,
    /// The value of the open cell, and how much text there was before it.
    value: Option<(String, usize)>,
    /// The target that the formula of the open cell names, and how much text there was before it.
    computed: Option<(String, usize)>,
    /// The target of the open link of a cell, and how much text there was before it.
    link: Option<(String, usize)>,
}

impl Body {
    fn read(&mut self, content: &str) -> Result<(), ExtractError> {
        let mut nodes = Nodes::of(content);
        self.read_nodes(&mut nodes, None)
    }

    /// Reads the headers and footers in the styles of pages, and what all slides of a style show: frames of a class are
    /// examples of what a slide may have.
    fn read_page_styles(&mut self, styles: &str) -> Result<(), ExtractError> {
        let mut nodes = Nodes::of(styles);
        while let Some(node) = nodes.next()? {
            let Node::Start(tag) = node else { continue };
            let name = tag.name().to_owned();
            let is_either = name.starts_with("header") || name.starts_with("footer");
            let is_shown =
                matches!(name.as_str(), "frame" | "custom-shape") && tag.attribute("class").is_none();
            if (is_either && !name.ends_with("style") || is_shown) && !self.flow.is_full() {
                self.read_nodes(&mut nodes, Some(&name))?;
                self.flow.paragraph();
            }
        }
        Ok(())
    }

    /// Reads up to the end of the element `until`, or of the document.
    fn read_nodes(&mut self, nodes: &mut Nodes<'_>, until: Option<&str>) -> Result<(), ExtractError> {
        while let Some(node) = nodes.next()? {
            if self.flow.is_full() {
                break;
            }
            match node {
                Node::End(name) if until == Some(name.as_str()) => break,
                Node::Start(tag) => match tag.name() {
                    // Deleted text, and the marks of notes.
                    name @ ("tracked-changes" | "note-citation") => nodes.skip(&name.to_owned())?,
                    // Of whoever wrote a comment, and when.
                    name @ ("creator" | "creator-initials" | "date" | "date-string") if self.notes > 0 => {
                        nodes.skip(&name.to_owned())?;
                    }
                    // The source of a formula (MathML 3, section 5.2); a comment has no encoding.
                    "annotation" if tag.attribute("encoding").is_some() => {
                        self.flow.push(&nodes.text("annotation")?);
                        self.flow.paragraph();
                    }
                    "ruby-text" => {
                        self.readings.push_str(&nodes.text("ruby-text")?);
                        self.readings.push(' ');
                    }
                    "table-cell" => {
                        self.cells += 1;
                        let target = tag.attribute("formula").and_then(|it| target_in_formula(&it));
                        self.computed = target.map(|target| (target, self.flow.len()));
                        self.value = value(&tag).map(|value| (value, self.flow.len()));
                    }
                    "a" if self.is_spreadsheet => {
                        let target = tag.attribute("href").filter(|target| !target.starts_with('#'));
                        self.link = target.map(|target| (target, self.flow.len()));
                    }
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
            // The last two are headers and footers of slides.
            "p" | "h" | "header-decl" | "footer-decl" => self.paragraphs += 1,
            "s" => self.flow.space(),
            "tab" => self.flow.tab(),
            "line-break" => self.flow.line(),
            "covered-table-cell" => self.cells += 1,
            "title" | "desc" => self.flow.space(),
            // A note stands within the paragraph that it belongs to.
            "note-body" | "annotation" => {
                self.show_value();
                self.flow.push(" (");
                self.notes += 1;
            }
            "page" => self.flow.paragraph(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "title" | "desc" => self.flow.space(),
            "p" | "h" | "header-decl" | "footer-decl" => {
                let readings = std::mem::take(&mut self.readings);
                if !readings.trim().is_empty() {
                    self.flow.push(" (");
                    self.flow.push(readings.trim());
                    self.flow.append(")");
                }
                self.paragraphs = self.paragraphs.saturating_sub(1);
                if self.notes > 0 || self.cells > 0 { self.flow.space() } else { self.flow.paragraph() }
            }
            "table-cell" | "covered-table-cell" => {
                self.cells = self.cells.saturating_sub(1);
                self.show_value();
                let link = self.computed.take();
                self.show_target(link);
                self.flow.tab();
            }
            "a" => {
                let link = self.link.take();
                self.show_target(link);
            }
            "table-row" => self.flow.line(),
            "table" => self.flow.paragraph(),
            "note-body" | "annotation" => {
                self.notes = self.notes.saturating_sub(1);
                self.flow.append(")");
                if self.paragraphs == 0 {
                    if self.cells > 0 { self.flow.space() } else { self.flow.paragraph() }
                }
            }
            _ => {}
        }
    }

    /// Adds the target of a link, unless its text tells it.
    fn show_target(&mut self, link: Option<(String, usize)>) {
        let told = link.and_then(|(target, before)| target_of(self.flow.since(before), &target));
        if let Some(target) = told {
            self.flow.push(&target);
        }
    }

    /// Adds the value of the open cell, unless the cell has text.
    fn show_value(&mut self) {
        let value = self.value.take().filter(|(_, before)| self.flow.len() == *before);
        if let Some((value, _)) = value {
            self.flow.push(&value);
        }
    }
}

/// The value of a cell, for those that have no text.
fn value(cell: &Tag<'_>) -> Option<String> {
    const VALUES: [&str; 4] = ["string-value", "date-value", "boolean-value", "value"];
    let time = cell.attribute("time-value").map(|time| clock(&time).unwrap_or(time));
    let value = time.or_else(|| VALUES.into_iter().find_map(|name| cell.attribute(name)))?;
    let is_percentage = cell.attribute("value-type").is_some_and(|kind| kind == "percentage");
    let percentage = value.parse::<f64>().ok().filter(|_| is_percentage).map(|share| share * 100.0);
    // Without what is beyond the precision of shares.
    let percentage = percentage.map(|it| format!("{}%", (it * 1e9).round() / 1e9));
    Some(percentage.unwrap_or(value)).filter(|value| !value.is_empty())
}

/// `PT13H45M00S` → `13:45`, and with seconds unless they are zero.
fn clock(duration: &str) -> Option<String> {
    let (hours, rest) = duration.strip_prefix("PT")?.split_once('H')?;
    let (minutes, rest) = rest.split_once('M')?;
    let seconds = rest.strip_suffix('S').unwrap_or_default();
    let is_number = |text: &str| text.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let is_clock = [hours, minutes, seconds].into_iter().all(is_number) && !hours.is_empty();
    let seconds = if seconds.parse() == Ok(0.0) { "" } else { seconds };
    let point = if seconds.is_empty() { "" } else { ":" };
    is_clock.then(|| format!("{hours}:{minutes}{point}{seconds}"))
}
