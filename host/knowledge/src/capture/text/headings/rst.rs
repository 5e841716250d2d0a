//! Titles of reStructuredText: docutils' rule, and what Sphinx does with texts that have several sections of the
//! first level.
//!
//! The title is that of the section with which the text begins; or of the only section of its level, after an
//! introduction. Sections further down are parts of a document whose title is elsewhere.

use super::lines;

/// Punctuation that may underline titles.
const UNDERLINES: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// Heading with its style: the character of its lines, and whether there is one above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heading<'t> {
    title: &'t str,
    style: (char, bool),
}

/// Title of a text.
pub(super) fn title(text: &str) -> Option<String> {
    let lines: Vec<_> = lines(text).map(str::trim_end).collect();
    let headings: Vec<_> = (0..lines.len()).filter_map(|at| Some((at, heading(&lines, at)?))).collect();
    let Some((at, first)) = headings.first() else { return declared(&lines) };
    let begins = is_prologue(&lines[..*at]);
    let is_only = headings.iter().skip(1).all(|(_, other)| other.style != first.style);
    (begins || is_only).then(|| shown(first.title)).or_else(|| declared(&lines))
}

/// Heading that begins at a line, which follows a blank one.
fn heading<'t>(lines: &[&'t str], at: usize) -> Option<Heading<'t>> {
    let follows_blank = at == 0 || lines[at - 1].is_empty() || lines[at - 1].starts_with(".. ");
    let line = |at: usize| lines.get(at).copied().unwrap_or_default();
    let first = line(at);
    let second = line(at + 1);
    let third = line(at + 2);
    if !follows_blank || first.is_empty() {
        return None;
    }
    if let Some(mark) = mark(first) {
        let is_between =
            !second.trim().is_empty() && self::mark(second).is_none() && self::mark(third) == Some(mark);
        let title = second.trim();
        return (is_between && covers(first, title)).then_some(Heading { title, style: (mark, true) });
    }
    let is_title = !first.starts_with([' ', '\t']) && !first.starts_with(".. ");
    let mark = mark(second).filter(|_| is_title && covers(second, first))?;
    Some(Heading { title: first, style: (mark, false) })
}

/// Character of which a whole line consists.
fn mark(line: &str) -> Option<char> {
    let mark = line.chars().next().filter(|it| UNDERLINES.contains(*it))?;
    line.chars().all(|it| it == mark).then_some(mark)
}

/// Whether a line is long enough for a title. docutils takes shorter ones from four characters on, with a warning.
fn covers(line: &str, title: &str) -> bool {
    line.len() >= title.chars().count().min(4)
}

/// Whether these lines are no text: comments, directives, targets, fields, and images or badges.
fn is_prologue(lines: &[&str]) -> bool {
    let mut is_inside = false;
    lines.iter().filter(|line| !line.is_empty()).all(|line| {
        let is_indented = line.starts_with([' ', '\t']);
        let is_field = line.strip_prefix(':').is_some_and(|rest| rest.contains(':'));
        let is_badges = line
            .split_whitespace()
            .all(|word| word.starts_with('|') && word.trim_end_matches('_').ends_with('|'));
        let begins = line.starts_with("..") || line.starts_with("__") || is_field || is_badges;
        is_inside = if is_indented { is_inside } else { begins };
        is_inside
    })
}

/// Title in a field `:title:` or a directive `.. title::`.
fn declared(lines: &[&str]) -> Option<String> {
    lines.iter().find_map(|line| {
        let start = [":title:", ".. title::"]
            .into_iter()
            .find(|start| line.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start)))?;
        Some(line[start.len()..].trim().to_owned()).filter(|title| !title.is_empty())
    })
}

/// Title without inline markup: roles, emphasis, literals and targets of links.
fn shown(title: &str) -> String {
    let title = title.replace("``", "");
    let parts = title.split('`').enumerate().map(|(number, part)| {
        if number % 2 == 0 {
            return without_role(if number == 0 { part } else { part.trim_start_matches('_') });
        }
        let text = part.split_once(" <").filter(|_| part.ends_with('>')).map_or(part, |(text, _)| text);
        text.trim_start_matches(['!', '~'])
    });
    parts.collect::<String>().replace("**", "").replace('\\', "")
}

/// Text before a mark, without the role that follows it: `:mod:`.
fn without_role(text: &str) -> &str {
    let Some(before) = text.strip_suffix(':') else { return text };
    match before.rfind(':') {
        Some(start) if !before[start + 1..].is_empty() && !before[start + 1..].contains(' ') => {
            &before[..start]
        }
        _ => text,
    }
}
