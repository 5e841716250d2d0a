//! Titles of Org texts.

use super::lines;

/// Keywords of tasks, by default.
const TASKS: [&str; 2] = ["TODO ", "DONE "];

/// Text of all `#+TITLE:` lines, or else of the first headline.
pub(super) fn title(text: &str) -> Option<String> {
    let keyword = |line: &'_ str| {
        let (start, rest) = line.split_at_checked("#+title:".len())?;
        start.eq_ignore_ascii_case("#+title:").then(|| rest.trim().to_owned())
    };
    let title = lines(text).filter_map(keyword).collect::<Vec<_>>().join(" ");
    if !title.trim().is_empty() {
        return Some(title);
    }
    lines(text).find_map(|line| line.strip_prefix("* ")).map(|line| headline(line).to_owned())
}

/// Text of a headline without its keyword, priority and tags.
fn headline(line: &str) -> &str {
    let line = line.trim();
    let line = TASKS.iter().find_map(|task| line.strip_prefix(task)).unwrap_or(line).trim_start();
    let is_priority = line.starts_with("[#") && line.as_bytes().get(3) == Some(&b']');
    let line = line.get(4..).filter(|_| is_priority).unwrap_or(line).trim_start();
    match line.rsplit_once(char::is_whitespace) {
        Some((title, tags)) if tags.len() > 2 && tags.starts_with(':') && tags.ends_with(':') => {
            title.trim_end()
        }
        _ => line,
    }
}
