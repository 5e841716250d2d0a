//! E-books (EPUB 3.3): chapters in reading order.

use std::collections::{HashMap, HashSet};

use extractor_text::{Flow, Syntax};
use percent_encoding::percent_decode_str;

use crate::archive::Archive;
use crate::bindings::exports::kitbag::extractor::extraction::{ExtractError, Extracted};
use crate::xml::{Node, Nodes};
use crate::{collected, doctype};

/// Reads a book. Unreadable chapters are skipped, unless all are.
pub(crate) fn read(mut archive: Archive) -> Result<Extracted, ExtractError> {
    let container = archive.text("META-INF/container.xml")?.unwrap_or_default();
    let package_path = package_path(&container)?;
    let package = archive.text(&package_path)?;
    let package = package.ok_or_else(|| ExtractError::Damaged("it has no package document".to_owned()))?;
    let book = Book::read(&package)?;
    let encrypted = encrypted(&archive.text("META-INF/encryption.xml")?.unwrap_or_default());

    let mut flow = Flow::default();
    let mut failure = None;
    for chapter in &book.chapters {
        if flow.is_full() {
            break;
        }
        let path = resolve(&package_path, chapter);
        if encrypted.contains(&path) {
            return Err(ExtractError::Encrypted);
        }
        match archive.text(&path) {
            Ok(Some(page)) => {
                let expanded = doctype::expanded(&page);
                archive.count(expanded.len().saturating_sub(page.len()) as u64);
                flow.page(&expanded, Syntax::Xml);
            }
            Ok(None) if archive.was_cut() => break,
            Ok(None) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    collected(&archive, &book.title, flow, failure)
}

/// Returns the path of the package document (EPUB 3.3, section 4.2.6.3.1).
fn package_path(container: &str) -> Result<String, ExtractError> {
    let mut nodes = Nodes::of(container);
    while let Some(node) = nodes.next()? {
        match node {
            Node::Start(tag) if tag.name() == "rootfile" => {
                if let Some(path) = tag.attribute("full-path") {
                    return Ok(path);
                }
            }
            _ => {}
        }
    }
    Err(ExtractError::Damaged("its container names no package document".to_owned()))
}

/// What the package document says (EPUB 3.3, section 5).
#[derive(Default)]
struct Book {
    title: String,
    /// Paths of the chapters in reading order.
    chapters: Vec<String>,
}

impl Book {
    fn read(package: &str) -> Result<Self, ExtractError> {
        let mut book = Self::default();
        let mut manifest = HashMap::new();
        let mut nodes = Nodes::of(package);
        while let Some(node) = nodes.next()? {
            let Node::Start(tag) = node else { continue };
            match tag.name() {
                "title" if book.title.trim().is_empty() => book.title = nodes.text("title")?,
                "item" => {
                    // The table of contents repeats the headings.
                    let is_contents =
                        tag.attribute("properties").is_some_and(|it| it.split(' ').any(|it| it == "nav"));
                    if let (Some(id), Some(path), false) =
                        (tag.attribute("id"), tag.attribute("href"), is_contents)
                    {
                        manifest.insert(id, path);
                    }
                }
                "itemref" => {
                    book.chapters.extend(tag.attribute("idref").and_then(|id| manifest.get(&id).cloned()))
                }
                _ => {}
            }
        }
        Ok(book)
    }
}

/// Returns the paths of encrypted parts. Fonts are often among them, in books that can be read.
fn encrypted(encryption: &str) -> HashSet<String> {
    let mut paths = HashSet::new();
    let mut nodes = Nodes::of(encryption);
    while let Ok(Some(node)) = nodes.next() {
        match node {
            Node::Start(tag) if tag.name() == "CipherReference" => {
                paths.extend(tag.attribute("URI").map(|path| resolve("", &path)));
            }
            _ => {}
        }
    }
    paths
}

/// Returns the path in the archive of what the document at `base` calls `reference`. None leads out of the archive.
fn resolve(base: &str, reference: &str) -> String {
    let reference = reference.split(['#', '?']).next().unwrap_or_default();
    let reference = percent_decode_str(reference).decode_utf8_lossy();
    let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut path = Vec::new();
    for name in folder.split('/').chain(reference.split('/')) {
        match name {
            "" | "." => {}
            ".." => drop(path.pop()),
            name => path.push(name),
        }
    }
    path.join("/")
}
