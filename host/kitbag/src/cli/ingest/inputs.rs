//! Turns the command's arguments into documents, one at a time: a folder may exceed memory.

mod count;
mod folder;

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use kitbag_knowledge::Markup;
use url::Url;

use super::kinds::{Kind, extension};
use super::lines::Lines;
use super::mailbox::Mailbox;
use super::text::{Parsed, parse, title_of};
use super::{Content, Document, File, Ingest};
use crate::cli::error::CliError;

/// Largest text, in bytes, as on the server.
const MAX_TEXT_BYTES: u64 = 4 << 20;

/// Why a file of white space, or of front matter alone, is not sent.
const BLANK: &str = "has no text";

use folder::{Folder, Rules};
pub(super) use folder::{LeftOut, Why};

/// Item to ingest.
pub(super) enum Input {
    /// A document with its text.
    Document(Document),
    /// File whose text the server extracts.
    File(File),
}

/// Iterator over the inputs of the command, each with its name for messages.
pub(super) struct Inputs<'a> {
    command: &'a Ingest,
    waiting: VecDeque<Source>,
    lines: Option<(String, Lines)>,
    folder: Option<Folder>,
    mailbox: Option<(PathBuf, Mailbox)>,
    left_out: LeftOut,
}

/// Source that has not been read yet.
enum Source {
    Standard,
    Page(Url),
    /// File, with its path relative to the command's argument.
    File(PathBuf, PathBuf),
    Folder(PathBuf),
}

type Named = (String, Result<Input, String>);

impl<'a> Inputs<'a> {
    /// Checks that all named sources exist before anything is sent.
    pub(super) fn of(command: &'a Ingest) -> Result<Self, CliError> {
        let mut waiting = VecDeque::new();
        for source in &command.sources {
            waiting.push_back(Source::of(source)?);
        }
        let standard = waiting.iter().filter(|source| matches!(source, Source::Standard)).count();
        if standard > 1 {
            return Err(CliError::new("standard input can be read once only"));
        }
        let is_one =
            matches!(waiting.make_contiguous(), [Source::Standard | Source::Page(_) | Source::File(..)]);
        if command.title.is_some() && !is_one {
            return Err(CliError::new("--title is for one document")
                .hint("texts have their own titles: in front matter, as a heading, or as the file's name"));
        }
        let left_out = LeftOut::default();
        // Reports invalid patterns before anything is sent.
        for source in &waiting {
            if let Source::Folder(path) = source {
                Folder::open(path, command.rules(), &left_out)?;
            }
        }
        Ok(Self { command, waiting, lines: None, folder: None, mailbox: None, left_out })
    }

    /// Files skipped in folders so far.
    pub(super) fn left_out(&self) -> LeftOut {
        self.left_out.clone()
    }
}

impl Source {
    fn of(text: &str) -> Result<Self, CliError> {
        if text == "-" {
            return Ok(Self::Standard);
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            let url =
                Url::parse(text).map_err(|error| CliError::new(format!("{text} is no URL: {error}")))?;
            return Ok(Self::Page(url));
        }
        let path = PathBuf::from(text);
        let unreadable = |error| CliError::new(format!("cannot read {text}: {error}"));
        let kind = fs::metadata(&path).map_err(unreadable)?;
        let name = path.file_name().map(PathBuf::from).unwrap_or_default();
        Ok(if kind.is_dir() { Self::Folder(path) } else { Self::File(path, name) })
    }
}

impl Iterator for Inputs<'_> {
    type Item = Named;

    fn next(&mut self) -> Option<Named> {
        loop {
            if let Some((name, lines)) = &mut self.lines {
                match lines.next() {
                    Some((number, line)) => {
                        let document = line.map(|document| Input::Document(self.command.completed(document)));
                        return Some((format!("{name}:{number}"), document));
                    }
                    None => self.lines = None,
                }
            }
            if let Some((path, mailbox)) = &mut self.mailbox {
                match mailbox.next() {
                    Some((number, message)) => {
                        let input = message.map(|message| self.command.message(path, number, message));
                        return Some((format!("{}:{number}", path.display()), input));
                    }
                    None => self.mailbox = None,
                }
            }
            if let Some(folder) = &mut self.folder {
                match folder.next() {
                    Some(Ok((path, within))) => match self.command.wants(&path) {
                        Ok(()) => self.waiting.push_front(Source::File(path, within)),
                        Err(what) => {
                            self.left_out.add(Why::UnknownKind, what);
                            continue;
                        }
                    },
                    Some(Err((name, reason))) => return Some((name, Err(reason))),
                    None => self.folder = None,
                }
            }
            let named = match self.waiting.pop_front()? {
                Source::Standard if self.command.jsonl => {
                    self.lines = Some(("-".to_owned(), Lines::of(BufReader::new(io::stdin()))));
                    None
                }
                Source::Standard => Some(("-".to_owned(), self.command.standard_input())),
                Source::Page(url) => Some((url.to_string(), Ok(self.command.page(&url)))),
                Source::File(path, _) if self.command.jsonl => match fs::File::open(&path) {
                    Ok(file) => {
                        self.lines = Some((path.display().to_string(), Lines::of(BufReader::new(file))));
                        None
                    }
                    Err(error) => Some((path.display().to_string(), Err(error.to_string()))),
                },
                Source::File(path, _) if extension(&path) == "mbox" => match fs::File::open(&path) {
                    Ok(file) => {
                        self.mailbox = Some((path, Mailbox::of(BufReader::new(file))));
                        None
                    }
                    Err(error) => Some((path.display().to_string(), Err(error.to_string()))),
                },
                Source::File(path, within) => {
                    Some((path.display().to_string(), self.command.file(path, &within)))
                }
                Source::Folder(path) => match Folder::open(&path, self.command.rules(), &self.left_out) {
                    Ok(folder) => {
                        self.folder = Some(folder);
                        None
                    }
                    Err(error) => Some((path.display().to_string(), Err(error.to_string()))),
                },
            };
            if named.is_some() {
                return named;
            }
        }
    }
}

impl Ingest {
    fn rules(&self) -> Rules<'_> {
        Rules { exclude: &self.exclude, takes_ignored: self.no_ignore }
    }

    /// Checks that a file in a folder is of a wanted kind; the error describes its kind.
    fn wants(&self, path: &Path) -> Result<(), String> {
        let extension = extension(path);
        let is_wanted = if self.jsonl && self.only.is_empty() {
            matches!(extension.as_str(), "jsonl" | "ndjson")
        } else if self.only.is_empty() {
            Kind::of(path) != Kind::Unknown
        } else {
            self.only.iter().any(|wanted| wanted.trim_start_matches('.').eq_ignore_ascii_case(&extension))
        };
        match extension.as_str() {
            _ if is_wanted => Ok(()),
            "" => Err("without an extension".to_owned()),
            extension => Err(format!(".{extension}")),
        }
    }

    /// Message of a mailbox; the server extracts its text.
    fn message(&self, mailbox: &Path, number: usize, message: Vec<u8>) -> Input {
        let name = mailbox.file_stem().unwrap_or_default().to_string_lossy();
        let title = format!("{name} {number}");
        let mime_type = Some("message/rfc822".to_owned());
        let about = Document { title: title.clone(), title_is_name: true, mime_type, ..Document::default() };
        let content = Content::Bytes { name: format!("{title}.eml"), bytes: message };
        Input::File(File { content, about: self.completed(about) })
    }

    fn standard_input(&self) -> Result<Input, String> {
        let text = read_text(io::stdin())?.ok_or("is no UTF-8 text; write it into a file first")?;
        let parsed = parse(text);
        if parsed.text.trim().is_empty() {
            return Err(BLANK.to_owned());
        }
        let title = title_of(&parsed, Markup::Markdown);
        let title = self.title.clone().or(title).ok_or("has no heading to be its title; give it --title")?;
        Ok(Input::Document(self.text(title, parsed, None)))
    }

    fn page(&self, url: &Url) -> Input {
        Input::Document(self.completed(Document {
            title: self.title.clone().unwrap_or_else(|| url.to_string()),
            url: Some(url.to_string()),
            file_url: Some(url.to_string()),
            ..Document::default()
        }))
    }

    /// Reads a file: text is sent as it is; the server extracts the text of other files.
    fn file(&self, path: PathBuf, within: &Path) -> Result<Input, String> {
        let failed = |error: io::Error| error.to_string();
        let url = self.url_base.as_ref().map(|base| url_below(base, within)).transpose()?;
        let size = fs::metadata(&path).map_err(failed)?.len();
        if size == 0 {
            return Err("is empty".to_owned());
        }
        let kind = Kind::of(&path);
        let name = if kind == Kind::Code { path.file_name() } else { path.file_stem() };
        let name = name.unwrap_or_default().to_string_lossy().into_owned();
        if !matches!(kind, Kind::File(_))
            && size <= MAX_TEXT_BYTES
            && let Some(text) = read_text(fs::File::open(&path).map_err(failed)?)?
        {
            let parsed = if kind == Kind::Code { Parsed { text, ..Parsed::default() } } else { parse(text) };
            if parsed.text.trim().is_empty() {
                return Err(BLANK.to_owned());
            }
            let own = if kind == Kind::Code {
                None
            } else {
                let markup = Markup::of_file(&extension(&path), parsed.text.as_bytes());
                title_of(&parsed, markup.unwrap_or(Markup::Plain))
            };
            let given = self.title.clone().or(own);
            let title_is_name = given.is_none();
            let document = self.text(given.unwrap_or(name), parsed, url);
            return Ok(Input::Document(Document { title_is_name, ..document }));
        }
        let title_is_name = self.title.is_none();
        let title = self.title.clone().unwrap_or(name);
        let mime_type = if let Kind::File(media_type) = kind { media_type } else { None };
        let mime_type = mime_type.map(str::to_owned);
        let about = self.completed(Document { title, title_is_name, url, mime_type, ..Document::default() });
        Ok(Input::File(File { content: Content::Path(path), about }))
    }

    fn text(&self, title: String, parsed: Parsed, url: Option<String>) -> Document {
        self.completed(Document {
            title,
            url: parsed.url.or(url),
            author: parsed.author,
            text: Some(parsed.text),
            ..Document::default()
        })
    }

    /// Adds the metadata that the command sets for all documents.
    fn completed(&self, document: Document) -> Document {
        let has_file = document.text.is_none();
        Document {
            author: document.author.or_else(|| self.author.clone()),
            feed: document.feed.or_else(|| self.feed()),
            capture_only: document.capture_only || (self.capture_only && has_file),
            ..document
        }
    }
}

/// Reads UTF-8 text; `None` if it is not UTF-8.
fn read_text(input: impl Read) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    let mut input = BufReader::new(input.take(MAX_TEXT_BYTES + 1));
    let head = input.fill_buf().map_err(|error| error.to_string())?;
    if head.contains(&0) {
        return Ok(None);
    }
    input.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        return Err(format!("is longer than a text may be ({MAX_TEXT_BYTES} bytes)"));
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").map_or(bytes.clone(), <[u8]>::to_vec);
    Ok(String::from_utf8(text).ok().filter(|text| !text.contains('\0')))
}

/// Appends the components of a path to a URL, each as one segment.
fn url_below(base: &Url, within: &Path) -> Result<String, String> {
    let mut url = base.clone();
    let no_base = || format!("{base} cannot have a path below it");
    let mut segments = url.path_segments_mut().map_err(|()| no_base())?;
    segments.pop_if_empty();
    for name in within {
        segments.push(&name.to_string_lossy());
    }
    drop(segments);
    Ok(url.into())
}

#[cfg(test)]
mod tests;
