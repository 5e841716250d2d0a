//! Ruby in DOCX (ISO 29500-1, section 17.3.3.25), of which `office_oxide` drops the words and their readings where it is
//! part of a run, as Word writes it. The words become text of the run; the readings follow the paragraph.

use crate::archive::Archive;
use crate::bindings::exports::kitbag::extractor::extraction::ExtractError;
use crate::xml::{Node, Nodes};

/// Maximum number of parts in which ruby is searched.
const MAX_PARTS: usize = 100;

/// Returns the parts with ruby, by their names, without it.
pub(crate) fn unwrapped(archive: &mut Archive) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    for name in archive.names_ending_with(".xml", MAX_PARTS) {
        let part = if name.starts_with("word/") { archive.text(&name).ok().flatten() } else { None };
        // A part that is incomplete is left to whoever reads it.
        let part = part.filter(|part| part.contains("ruby") && !archive.was_cut());
        if let Some(Ok(Some(part))) = part.map(|part| without_ruby(&part)) {
            parts.push((name, part));
        }
    }
    parts
}

/// Returns a part without ruby; `None` if there is none in it.
fn without_ruby(part: &str) -> Result<Option<String>, ExtractError> {
    let mut changed = String::with_capacity(part.len());
    let mut readings = String::new();
    let mut copied = 0;
    let mut before = 0;
    let mut runs = 0_usize;
    let mut nodes = Nodes::of(part);
    while let Some(node) = nodes.next()? {
        match node {
            Node::Start(tag) if tag.name() == "ruby" => {
                let words = words(&mut nodes, &mut readings)?;
                changed.push_str(&part[copied..before]);
                changed.push_str(&if runs > 0 { text(&words) } else { run(&words) });
                copied = nodes.position();
            }
            Node::Start(tag) if tag.name() == "r" => runs += 1,
            Node::End(name) if name == "r" => runs = runs.saturating_sub(1),
            Node::End(name) if name == "p" && !readings.is_empty() => {
                changed.push_str(&part[copied..before]);
                changed.push_str(&run(&format!(" ({})", std::mem::take(&mut readings))));
                copied = before;
            }
            _ => {}
        }
        before = nodes.position();
    }
    if copied == 0 {
        return Ok(None);
    }
    changed.push_str(&part[copied..]);
    Ok(Some(changed))
}

/// Returns the words of ruby, of which the start tag was read, and adds what is above them to the readings.
fn words(nodes: &mut Nodes<'_>, readings: &mut String) -> Result<String, ExtractError> {
    let mut words = String::new();
    let mut reading = String::new();
    let mut is_reading = false;
    while let Some(node) = nodes.next()? {
        match node {
            Node::Start(tag) if tag.name() == "rt" => is_reading = true,
            Node::End(name) if name == "rt" => is_reading = false,
            Node::Start(tag) if tag.name() == "t" => {
                let text = nodes.text("t")?;
                if is_reading { reading.push_str(&text) } else { words.push_str(&text) }
            }
            Node::End(name) if name == "ruby" => break,
            _ => {}
        }
    }
    if !readings.is_empty() && !reading.is_empty() {
        readings.push(' ');
    }
    readings.push_str(&reading);
    Ok(words)
}

fn run(words: &str) -> String {
    format!("<w:r>{}</w:r>", text(words))
}

fn text(words: &str) -> String {
    format!("<w:t xml:space=\"preserve\">{}</w:t>", quick_xml::escape::escape(words))
}
