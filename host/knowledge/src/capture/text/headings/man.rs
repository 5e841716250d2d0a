//! Titles of manual pages.

use super::lines;

/// Beginnings of sources of manual pages: comments, and the requests that come first.
pub(super) const REQUESTS: [&str; 4] = [".\\\"", "'\\\"", ".TH ", ".Dd "];

/// Name, section and description: `tar(1) – an archiver`, by the macros `man` (`.TH`, section NAME) or `mdoc`
/// (`.Dt`, `.Nm`, `.Nd`).
pub(super) fn title(text: &str) -> Option<String> {
    let mut page = Page::default();
    let mut is_name = false;
    for line in lines(text) {
        let mut words = words(line).into_iter();
        let request = words.next().unwrap_or_default();
        let mut rest = || words.by_ref().collect::<Vec<_>>().join(" ");
        match request.as_str() {
            ".TH" | ".Dt" if page.heading.is_none() => {
                let name = words.next()?;
                let section = words.next();
                page.heading = Some((name, section.unwrap_or_default()));
            }
            ".SH" | ".Sh" if is_name => break,
            ".SH" | ".Sh" => is_name = rest().eq_ignore_ascii_case("name"),
            ".Nm" if is_name => page.name = page.name.or(Some(rest())),
            ".Nd" => page.description = Some(rest()),
            _ if is_name && !line.starts_with(['.', '\'']) => {
                let (name, description) =
                    plain(line).split_once(" - ").map(|(a, b)| (a.to_owned(), b.to_owned()))?;
                page.name = page.name.or(Some(name));
                page.description = page.description.or(Some(description));
            }
            _ => {}
        }
    }
    page.title()
}

#[derive(Default)]
struct Page {
    /// Name in capitals, usually, and section.
    heading: Option<(String, String)>,
    name: Option<String>,
    description: Option<String>,
}

impl Page {
    fn title(self) -> Option<String> {
        let (heading, section) = self.heading?;
        // Of several names, the first one.
        let name =
            self.name.as_deref().and_then(|name| name.split([',', ' ']).next()).filter(|it| !it.is_empty());
        let name = name.map_or_else(|| heading.to_lowercase(), str::to_owned);
        let section = if section.is_empty() { section } else { format!("({section})") };
        Some(match self.description {
            Some(description) => format!("{name}{section} – {}", description.trim()),
            None => format!("{name}{section}"),
        })
    }
}

/// Words of a request; quoted ones may contain spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let quoted = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        let (word, after) =
            quoted.unwrap_or_else(|| rest.split_once(char::is_whitespace).unwrap_or((rest, "")));
        words.push(plain(word));
        rest = after.trim_start();
    }
    words
}

/// Text without escapes: fonts are left out, a protected hyphen is one.
fn plain(text: &str) -> String {
    let mut shown = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            shown.push(letter);
            continue;
        }
        match letters.next() {
            Some('-') => shown.push('-'),
            Some('e') => shown.push('\\'),
            Some('f') if letters.next() == Some('(') => drop((letters.next(), letters.next())),
            Some('(') => match (letters.next(), letters.next()) {
                (Some('e'), Some('m' | 'n')) => shown.push('-'),
                (Some('a'), Some('q')) => shown.push('\''),
                _ => {}
            },
            Some(' ' | '~') => shown.push(' '),
            _ => {}
        }
    }
    shown
}
