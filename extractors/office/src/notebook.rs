//! Jupyter notebooks (nbformat 3 and 4): what cells say, and what came out of them as text. Pictures and data are skipped
//! while the file is parsed.

use extractor_text::{Flow, MAX_TEXT_BYTES, Syntax, cut};
use serde::Deserialize;

use crate::bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted};

/// Returns whether a file may be a notebook: it is the only document that is an object of JSON.
pub(crate) fn is_notebook(file: &[u8]) -> bool {
    file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file).trim_ascii_start().starts_with(b"{")
}

/// Reads a notebook.
pub(crate) fn read(file: &[u8]) -> Result<Extracted, ExtractError> {
    let file = file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file);
    let notebook: Notebook = serde_json::from_slice(file)
        .map_err(|error| ExtractError::Damaged(format!("it is not a valid notebook: {error}")))?;
    let sheets = notebook.worksheets.into_iter().flat_map(|sheet| sheet.cells);
    let cells: Vec<_> = notebook.cells.into_iter().chain(sheets).collect();
    let heading = || cells.iter().filter(|cell| cell.cell_type != "code").find_map(Cell::heading);
    let title = notebook.metadata.title.or_else(heading).unwrap_or_default();

    let mut text = String::new();
    for cell in &cells {
        add(&mut text, &cell.source.text());
        add(&mut text, &cell.input.text());
        for output in &cell.outputs {
            add(&mut text, &output.text());
        }
    }
    let (text, truncated) = cut(&text);
    Ok(Extracted { title: extractor_text::own_title(&title), text, truncated })
}

/// Adds a block without what a terminal obeys, up to somewhat more than is used.
fn add(text: &mut String, block: &str) {
    if block.trim().is_empty() || text.len() > MAX_TEXT_BYTES {
        return;
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    let end = block.floor_char_boundary(MAX_TEXT_BYTES + 1);
    let mut characters = block[..end].trim_end().chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1B}' && characters.next_if_eq(&'[').is_some() {
            // A colour or another attribute (ECMA-48, section 5.4).
            characters.find(|it| ('@'..='~').contains(it));
        } else if character == '\n' || character == '\t' || !character.is_control() {
            text.push(character);
        }
    }
}

#[derive(Deserialize)]
struct Notebook {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    cells: Vec<Cell>,
    /// Of nbformat 3.
    #[serde(default)]
    worksheets: Vec<Worksheet>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    title: Option<String>,
}

#[derive(Deserialize)]
struct Worksheet {
    #[serde(default)]
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    cell_type: String,
    #[serde(default)]
    source: Lines,
    /// The source of a cell of code in nbformat 3.
    #[serde(default)]
    input: Lines,
    #[serde(default)]
    outputs: Vec<Output>,
}

impl Cell {
    fn heading(&self) -> Option<String> {
        self.source.text().lines().find_map(|line| Some(line.strip_prefix("# ")?.to_owned()))
    }
}

/// What came out of a cell. Errors are their name and message, without the trace.
#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    text: Lines,
    #[serde(default)]
    data: Data,
    #[serde(default)]
    ename: Lines,
    #[serde(default)]
    evalue: Lines,
}

#[derive(Default, Deserialize)]
struct Data {
    #[serde(default, rename = "text/plain")]
    plain: Lines,
    #[serde(default, rename = "text/markdown")]
    markdown: Lines,
    #[serde(default, rename = "text/html")]
    html: Lines,
}

impl Output {
    fn text(&self) -> String {
        let Data { plain, markdown, html } = &self.data;
        let page = || {
            let mut flow = Flow::default();
            flow.page(&html.text(), Syntax::Html);
            flow.finish().0
        };
        let error = || match (self.ename.text(), self.evalue.text()) {
            (name, message) if name.is_empty() || message.is_empty() => name + &message,
            (name, message) => format!("{name}: {message}"),
        };
        let texts: [&dyn Fn() -> String; 5] =
            [&|| self.text.text(), &|| markdown.text(), &|| plain.text(), &page, &error];
        texts.into_iter().map(|text| text()).find(|text| !text.is_empty()).unwrap_or_default()
    }
}

/// A text, or its lines with their ends.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    One(String),
    Many(Vec<String>),
    Other(serde::de::IgnoredAny),
}

impl Default for Lines {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Lines {
    fn text(&self) -> String {
        match self {
            Self::One(text) => text.clone(),
            Self::Many(lines) => lines.concat(),
            Self::Other(_) => String::new(),
        }
    }
}
