//! Titles of `AsciiDoc` texts.

use super::lines;

/// Title in the header of a document: `= Title`, or a title with a line below it, before any other text. Comments,
/// attributes and directives may precede it. References to attributes of the header are replaced.
pub(super) fn title(text: &str) -> Option<String> {
    let mut attributes = Vec::<(&str, &str)>::new();
    let mut is_comment = false;
    let mut lines = lines(text).map(str::trim_end).peekable();
    while let Some(line) = lines.next() {
        if line == "////" {
            is_comment = !is_comment;
        } else if let Some((name, value)) = attribute(line).filter(|_| !is_comment) {
            attributes.push((name, value));
        } else if !is_comment && !is_before_title(line) {
            let marked = ["= ", "# "].into_iter().find_map(|mark| line.strip_prefix(mark));
            let is_underlined = lines.peek().is_some_and(|below| {
                !below.is_empty()
                    && below.bytes().all(|byte| byte == b'=')
                    && below.len().abs_diff(line.chars().count()) <= 1
            });
            return marked.or(is_underlined.then_some(line)).map(|title| replaced(title, &attributes));
        }
    }
    let declared = attributes.iter().find(|(name, _)| matches!(*name, "doctitle" | "title"));
    declared.map(|(_, title)| (*title).to_owned())
}

/// Attribute entry, `:name: value`.
fn attribute(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix(':')?.split_once(':')?;
    let is_name = |it: char| it.is_alphanumeric() || matches!(it, '-' | '_' | '!');
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, value.trim()))
}

/// Whether a line may stand before the title: blank, a comment, attributes of a block, or a directive.
fn is_before_title(line: &str) -> bool {
    line.is_empty()
        || line.starts_with("//")
        || (line.starts_with('[') && line.ends_with(']'))
        || ["ifdef::", "ifndef::", "ifeval::", "endif::", "include::"].iter().any(|it| line.starts_with(it))
}

fn replaced(title: &str, attributes: &[(&str, &str)]) -> String {
    let mut title = title.to_owned();
    for (name, value) in attributes {
        title = title.replace(&format!("{{{name}}}"), value);
    }
    title
}
