//! Titles of LaTeX texts.

/// Bytes in which a title is searched.
const MAX_BYTES: usize = 64 << 10;
/// Commands whose argument is no part of a title.
const NOTES: [&str; 4] = ["thanks", "footnote", "label", "vspace"];

/// Argument of `\title`, or else of the first `\chapter`, as a reader sees it.
pub(super) fn title(text: &str) -> Option<String> {
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let source: String = text.lines().map(|line| format!("{}\n", without_comment(line))).collect();
    ["\\title", "\\chapter"].into_iter().find_map(|command| {
        let title = shown(argument_of(&source, command)?);
        (!title.is_empty()).then_some(title)
    })
}

/// Part of a line before its comment.
fn without_comment(line: &str) -> &str {
    let is_comment = |(at, _): &(usize, &str)| *at == 0 || line.as_bytes()[at - 1] != b'\\';
    line.match_indices('%').find(is_comment).map_or(line, |(at, _)| &line[..at])
}

/// Argument of a command, after an optional one in brackets.
fn argument_of<'t>(source: &'t str, command: &str) -> Option<&'t str> {
    let found = source.match_indices(command).find_map(|(at, _)| {
        let rest = source[at + command.len()..].trim_start_matches('*').trim_start();
        rest.starts_with(['{', '[']).then_some(rest)
    })?;
    let rest = match found.strip_prefix('[') {
        Some(short) => short.split_once(']')?.1.trim_start(),
        None => found,
    };
    group(rest).map(|(inside, _)| inside)
}

/// Splits off a group in braces.
fn group(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            _ if is_escaped => {}
            '{' => depth += 1,
            '}' if depth == 1 => return Some((&text[1..at], &text[at + 1..])),
            '}' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    None
}

/// Text without commands; arguments of commands stay, except those of notes.
fn shown(mut source: &str) -> String {
    let mut shown = String::new();
    while let Some((before, rest)) = source.split_once('\\') {
        shown.push_str(before);
        let name = &rest[..rest.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(rest.len())];
        source = &rest[name.len()..];
        if name.is_empty() {
            // A line end, a letter that is no command, or an accent, which is left out.
            let next = source.chars().next();
            shown.push_str(match next {
                Some('\\' | ' ' | ',') => " ",
                Some(it) if "&%$#_{}".contains(it) => &source[..1],
                _ => "",
            });
            source = &source[next.map_or(0, char::len_utf8)..];
        } else if NOTES.contains(&name) {
            source = group(source.trim_start()).map_or(source, |(_, rest)| rest);
        } else if name.starts_with(|it: char| it.is_ascii_uppercase()) {
            // `\LaTeX` stands for itself; a command in small letters for its argument, or for nothing.
            shown.push_str(name);
        }
    }
    shown.push_str(source);
    let shown: String = shown.chars().filter(|it| !matches!(it, '{' | '}')).collect();
    shown
        .replace('~', " ")
        .replace("---", "—")
        .replace("--", "–")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
