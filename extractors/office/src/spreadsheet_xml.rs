//! Workbooks as one XML document: `SpreadsheetML` of Office 2003.

use std::collections::HashMap;

use extractor_text::Flow;

use crate::archive::decode;
use crate::bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted};
use crate::workbook::{CellFormat, MAX_FORMATS, target_in_formula, target_of};
use crate::xml::{Node, Nodes};

/// The namespace of a workbook, which stands in its first tag.
const NAMESPACE: &[u8] = b"urn:schemas-microsoft-com:office:spreadsheet";
/// Bytes in which the namespace is searched.
const HEAD_BYTES: usize = 4 << 10;

/// Returns whether a file is such a workbook.
pub(crate) fn is_workbook(file: &[u8]) -> bool {
    let head = &file[..file.len().min(HEAD_BYTES)];
    // UTF-16 is seen through.
    let head: Vec<_> = head.iter().copied().filter(|byte| *byte != 0).collect();
    head.windows(NAMESPACE.len()).any(|bytes| bytes == NAMESPACE)
}

/// Reads a workbook.
pub(crate) fn read(file: Vec<u8>) -> Result<Extracted, ExtractError> {
    let document = decode(file);
    let mut workbook = Workbook::default();
    let outcome = workbook.read(&document);
    if workbook.flow.is_empty() {
        outcome?;
    }
    let (text, truncated) = workbook.flow.finish();
    Ok(Extracted { title: extractor_text::own_title(&workbook.title), text, truncated })
}

#[derive(Default)]
struct Workbook {
    title: String,
    flow: Flow,
    formats: HashMap<String, CellFormat>,
    /// The style whose format is defined.
    style: String,
}

impl Workbook {
    fn read(&mut self, document: &str) -> Result<(), ExtractError> {
        let mut nodes = Nodes::of(document);
        // Of the open cell: its style, the target of its link, whether a comment is open.
        let mut style = None;
        let mut link = None;
        let mut is_comment = false;
        while let Some(node) = nodes.next()? {
            if self.flow.is_full() {
                break;
            }
            match node {
                Node::Start(tag) => match tag.name() {
                    "Title" if self.title.is_empty() => self.title = nodes.text("Title")?,
                    "Style" => self.style = tag.attribute("ID").unwrap_or_default(),
                    "NumberFormat" if self.formats.len() < MAX_FORMATS => {
                        let format = tag.attribute("Format").map(|code| CellFormat::compile(&code));
                        self.formats.extend(format.map(|format| (self.style.clone(), format)));
                    }
                    "Worksheet" => {
                        self.flow.paragraph();
                        self.flow.push(&tag.attribute("Name").unwrap_or_default());
                        self.flow.paragraph();
                    }
                    "Cell" => {
                        let computed = || target_in_formula(&tag.attribute("Formula")?);
                        (style, link) = (tag.attribute("StyleID"), tag.attribute("HRef").or_else(computed));
                    }
                    "Comment" => is_comment = true,
                    "Data" if is_comment => {
                        let comment = nodes.text("Data")?;
                        self.flow.push(&format!(" ({})", comment.trim()));
                    }
                    "Data" => {
                        let kind = tag.attribute("Type").unwrap_or_default();
                        let value = nodes.text("Data")?;
                        let format = style.as_ref().and_then(|style| self.formats.get(style));
                        let text = shown(&kind, &value, format);
                        self.flow.push(&text);
                        let target = link.take().filter(|link: &String| !link.starts_with('#'));
                        if let Some(target) = target.and_then(|target| target_of(&text, &target)) {
                            self.flow.push(&target);
                        }
                    }
                    _ => {}
                },
                Node::End(name) => match name.as_str() {
                    "Comment" => is_comment = false,
                    "Cell" => self.flow.tab(),
                    "Row" => self.flow.line(),
                    _ => {}
                },
                Node::Text(_) => {}
            }
        }
        Ok(())
    }
}

/// What a program shows of a cell.
fn shown(kind: &str, value: &str, format: Option<&CellFormat>) -> String {
    let number = || value.trim().parse::<f64>().ok();
    match kind {
        "Number" => format.zip(number()).map(|(format, number)| format.show(number)),
        "DateTime" => {
            let time = format.zip(serial(value)).and_then(|(format, days)| format.show_time(days));
            let value = value.trim().trim_end_matches(".000");
            Some(time.unwrap_or_else(|| value.trim_end_matches("T00:00:00").replace('T', " ")))
        }
        "Boolean" => Some(if value.trim() == "1" { "TRUE" } else { "FALSE" }.to_owned()),
        _ => None,
    }
    .unwrap_or_else(|| value.to_owned())
}

/// Days since the end of 1899, the time as their fraction: `1899-12-31T13:45:00.000` → 0.5729.
fn serial(value: &str) -> Option<f64> {
    let (date, time) = value.trim().split_once('T')?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<u16>().ok());
    let year = date.next()??;
    let month = date.next()??;
    let day = date.next()??;
    let mut time = time.splitn(3, ':').map(|part| part.parse::<f64>().ok());
    let hours = time.next()??;
    let minutes = time.next()??;
    let seconds = time.next()??;
    let days = days(year, month, day) - days(1899, 12, 31);
    Some(f64::from(days) + (hours * 3600.0 + minutes * 60.0 + seconds) / 86_400.0)
}

/// Days of the Gregorian calendar, counted in years that begin in March.
fn days(year: u16, month: u16, day: u16) -> i32 {
    let year = i32::from(year) - i32::from(month < 3);
    let month = (i32::from(month) + 9) % 12;
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + i32::from(day)
}
