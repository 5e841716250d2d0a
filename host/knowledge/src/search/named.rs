//! Documents that a query names: by the number with which their title begins (`PEP 484`), or by the name of their
//! file (`rfc5321`, `notes.md`). They come before all others.

use std::collections::HashSet;
use std::iter::once;

use url::Url;

use super::Fused;
use crate::store::DocumentName;
use crate::words;

/// Number of documents, best first, among which a named one is searched: their names are read for this.
pub(super) const DEPTH: usize = 200;

/// Whether a query may name a document: it has a number, or a word with a dot inside.
pub(super) fn may_name(query: &str) -> bool {
    query.contains(|it: char| it.is_ascii_digit())
        || query.split_whitespace().any(|it| file_name(it).is_some())
}

/// Moves named documents to the beginning of a ranking, in the order that they have, with the highest score.
pub(super) fn first(query: &str, names: &[DocumentName], ranking: Vec<Fused>) -> Vec<Fused> {
    let query = Named::new(query);
    let named: HashSet<_> = names.iter().filter(|it| query.names(it)).map(|it| it.sequence).collect();
    let (mut first, rest): (Vec<_>, Vec<_>) =
        ranking.into_iter().partition(|found| named.contains(&found.document));
    first.iter_mut().for_each(|found| found.score = 1.0);
    first.extend(rest);
    first
}

/// What a query names.
struct Named {
    runs: Vec<String>,
    /// Words that look like names of files with an extension, in lower case.
    files: HashSet<String>,
}

impl Named {
    fn new(query: &str) -> Self {
        let files = query.split_whitespace().filter_map(file_name).map(str::to_lowercase);
        Self { runs: runs(query), files: files.collect() }
    }

    fn names(&self, document: &DocumentName) -> bool {
        let of_url = document.url.as_deref().and_then(last_segment);
        let files = document.file_name.iter().chain(&of_url);
        let has_file = files.clone().any(|name| self.files.contains(&name.to_lowercase()));
        let stems = files.map(|name| runs(name.rsplit_once('.').map_or(name, |(stem, _)| stem)));
        let numbered = stems.filter(|runs| is_numbered(runs));
        has_file || once(number_of(&document.title)).flatten().chain(numbered).any(|name| self.has(&name))
    }

    fn has(&self, name: &[String]) -> bool {
        self.runs.windows(name.len()).any(|some| some == name)
    }
}

/// Runs of letters and of digits, in lower case; numbers without leading zeros.
fn runs(text: &str) -> Vec<String> {
    let mut runs = Vec::<String>::new();
    let mut last = None;
    for letter in text.chars() {
        let kind = letter.is_alphanumeric().then(|| letter.is_ascii_digit());
        match runs.last_mut().filter(|_| kind.is_some() && kind == last) {
            Some(run) => run.extend(letter.to_lowercase()),
            None if kind.is_some() => runs.push(letter.to_lowercase().collect()),
            None => {}
        }
        last = kind;
    }
    let is_zeros = |run: &str| run.bytes().all(|it| it == b'0');
    runs.iter_mut().filter(|run| run.starts_with('0') && !is_zeros(run)).for_each(|run| {
        *run = run.trim_start_matches('0').to_owned();
    });
    runs
}

fn is_number(run: &str) -> bool {
    run.starts_with(|it: char| it.is_ascii_digit())
}

/// Whether a name has both a word and a number.
fn is_numbered(name: &[String]) -> bool {
    name.iter().any(|run| is_number(run)) && name.iter().any(|run| !is_number(run))
}

/// Series and number with which a title begins, such as `PEP 484` or `Version 3.11`; `None` for `In 1984`.
fn number_of(title: &str) -> Option<Vec<String>> {
    let series = title.split(|it: char| !it.is_alphabetic()).next().filter(|it| !it.is_empty())?;
    let rest = &title[series.len()..];
    let rest = rest.strip_prefix([' ', '-', '_', '#', '\u{a0}']).unwrap_or(rest);
    let number = &rest[..rest.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(rest.len())];
    let is_series = || series.chars().nth(1).is_some() && !words::is_stop_word(series);
    (is_number(number) && is_series()).then(|| once(series.to_lowercase()).chain(runs(number)).collect())
}

/// Word as the name of a file with an extension; `None` if it has none.
fn file_name(word: &str) -> Option<&str> {
    let word = word.trim_matches(|it: char| !it.is_alphanumeric());
    let (stem, extension) = word.rsplit_once('.')?;
    let is_extension =
        (1..=5).contains(&extension.len()) && extension.bytes().all(|it| it.is_ascii_alphanumeric());
    (is_extension && !stem.is_empty()).then_some(word)
}

/// Last segment of a URL's path, decoded.
pub(crate) fn last_segment(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let last = url.path_segments()?.next_back().filter(|name| !name.is_empty())?;
    Some(percent_encoding::percent_decode_str(last).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(query: &str, title: &str, file_name: Option<&str>, url: Option<&str>) -> bool {
        let document = DocumentName {
            sequence: 1,
            title: title.to_owned(),
            file_name: file_name.map(str::to_owned),
            url: url.map(str::to_owned),
        };
        may_name(query) && Named::new(query).names(&document)
    }

    #[test]
    fn a_document_is_named_by_the_number_of_its_title() {
        for (query, title, is_named) in [
            ("PEP 484", "PEP 484 – Type Hints", true),
            ("what does pep484 say of stubs?", "PEP 484 – Type Hints", true),
            ("pep-0484", "PEP 484 – Type Hints", true),
            ("PEP 48", "PEP 484 – Type Hints", false),
            ("PEP 4840", "PEP 484 – Type Hints", false),
            ("484", "PEP 484 – Type Hints", false),
            ("type hints", "PEP 484 – Type Hints", false),
            ("python 3", "Python 3.11 released", false),
            ("python 3.11", "Python 3.11 released", true),
            ("what happened in 1984?", "In 1984", false),
            ("tides 2026", "Tides, of 2026", false),
        ] {
            assert_eq!(names(query, title, None, None), is_named, "{query}: {title}");
        }
    }

    #[test]
    fn a_document_is_named_by_its_file() {
        for (query, file, is_named) in [
            ("rfc5321", "rfc5321", true),
            ("RFC 5321 on greylisting", "rfc5321", true),
            ("rfc5321.txt", "rfc5321.txt", true),
            ("rfc 532", "rfc5321", false),
            ("who wrote minutes.docx?", "Minutes.docx", true),
            ("minutes", "minutes.docx", false),
            ("minutes docx", "minutes.docx", false),
            ("2026", "2026", false),
            ("version 2.0", "2.0", true),
        ] {
            assert_eq!(names(query, "A title", Some(file), None), is_named, "{query}: {file}");
        }
        assert!(names("pep-0008.rst", "A title", None, Some("https://a.example/x/pep-0008.rst?raw=1")));
        assert!(names("pep 8", "A title", None, Some("https://a.example/x/pep-0008.rst")));
        assert!(!names("pep 8", "A title", None, Some("no URL")));
    }

    #[test]
    fn named_documents_come_first_in_their_order() {
        let found = |document, score| Fused { document, chunk: document, score };
        let name = |sequence, title: &str| DocumentName {
            sequence,
            title: title.to_owned(),
            ..DocumentName::default()
        };
        let names =
            [name(1, "On PEP 8"), name(2, "PEP 8 – Style"), name(3, "PEP 9"), name(4, "PEP 8 in short")];

        let ranking =
            first("pep 8", &names, vec![found(1, 0.9), found(2, 0.5), found(3, 0.4), found(4, 0.3)]);

        assert_eq!(ranking, [found(2, 1.0), found(4, 1.0), found(1, 0.9), found(3, 0.4)]);
        assert_eq!(first("pep 8", &names, Vec::new()), []);
    }
}
