//! Titles of documents in a numbered series, in whatever markup: an enhancement proposal with a header of fields
//! (RFC 2822), and an RFC. The number is part of the title, because people name such a document by it.

use super::lines;

/// Lines in which the header of an RFC ends.
const MAX_HEADER: usize = 60;

/// Title of a proposal or an RFC; `None` for other texts.
pub(super) fn title(text: &str) -> Option<String> {
    proposal(text).or_else(|| rfc(text))
}

/// Title of a text that begins with fields, of which one is `Title`: `PEP: 8` and `Title: Style Guide` give
/// `PEP 8 – Style Guide`.
fn proposal(text: &str) -> Option<String> {
    let mut fields = Vec::<(&str, String)>::new();
    for line in
        lines(text).skip_while(|line| line.trim().is_empty()).take_while(|line| !line.trim().is_empty())
    {
        if line.starts_with([' ', '\t']) {
            let (_, value) = fields.last_mut()?;
            *value = format!("{value} {}", line.trim());
            continue;
        }
        let (name, value) = line.split_once(':')?;
        let is_name = |it: char| it.is_ascii_alphanumeric() || it == '-';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        fields.push((name, value.trim().to_owned()));
    }
    // A single field may be a sentence with a colon.
    let (_, title) =
        fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("title")).filter(|_| fields.len() > 1)?;
    let (series, number) = &fields[0];
    let is_number = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
    Some(if is_number { format!("{series} {number} – {title}") } else { title.clone() })
}

/// Title of an RFC: the indented lines after its header, before the next blank line.
fn rfc(text: &str) -> Option<String> {
    let mut header = lines(text).take(MAX_HEADER).skip_while(|line| line.trim().is_empty()).peekable();
    let number = header.by_ref().take_while(|line| !line.trim().is_empty()).find_map(|line| {
        let number =
            line.strip_prefix("Request for Comments:")?.split_whitespace().next()?.trim_end_matches(',');
        (!number.is_empty() && number.bytes().all(|it| it.is_ascii_digit())).then_some(number)
    })?;
    let mut rest = header.skip_while(|line| line.trim().is_empty() || !line.starts_with("   "));
    let title = rest.by_ref().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let title = title.collect::<Vec<_>>().join(" ");
    (!title.is_empty()).then(|| format!("RFC {number}: {title}"))
}
