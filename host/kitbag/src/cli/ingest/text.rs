//! Metadata within text files: front matter and title.

use kitbag_knowledge::Markup;

/// Text, with the metadata of its front matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) title: Option<String>,
    pub(super) author: Option<String>,
    /// Publication URL; `http` and `https` only.
    pub(super) url: Option<String>,
    /// Text without its front matter.
    pub(super) text: String,
}

/// Splits off front matter: lines of `key: value` between two `---` lines at the very beginning.
pub(super) fn parse(text: String) -> Parsed {
    let Some((matter, body)) = split(&text) else { return Parsed { text, ..Parsed::default() } };
    let find = |wanted: &[&str]| {
        let mut lines = matter.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(key, _)| wanted.contains(&key.to_lowercase().as_str()));
        found.map(|(_, value)| unquoted(value.trim())).filter(|value| !value.is_empty())
    };
    let url = find(&["url", "source", "canonical"]);
    Parsed {
        title: find(&["title"]),
        author: find(&["author"]),
        url: url.filter(|url| url.starts_with("http://") || url.starts_with("https://")),
        text: body.trim_start_matches(['\r', '\n']).to_owned(),
    }
}

/// Title in the front matter, or else in the markup.
pub(super) fn title_of(parsed: &Parsed, markup: Option<Markup>) -> Option<String> {
    parsed.title.clone().or_else(|| markup?.title_of(&parsed.text))
}

fn split(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn unquoted(value: &str) -> String {
    let inner = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(value).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_says_what_it_says_and_is_no_part_of_the_text() {
        let text = "---\ntitle: \"On: Prices\"\nauthor: Ana\nsource: https://a.example/\ntags: [a]\n---\n\n# Other\nText";

        let parsed = parse(text.to_owned());

        assert_eq!(
            parsed,
            Parsed {
                title: Some("On: Prices".to_owned()),
                author: Some("Ana".to_owned()),
                url: Some("https://a.example/".to_owned()),
                text: "# Other\nText".to_owned(),
            }
        );
        assert_eq!(title_of(&parsed, Some(Markup::Markdown)).as_deref(), Some("On: Prices"));
    }

    #[test]
    fn without_front_matter_the_heading_is_the_title_where_there_are_headings() {
        for (text, title) in [
            ("Intro\n# Prices #\n# Other", Some("Prices")),
            ("plain text", None),
            ("---\nnot closed\n# Heading", Some("Heading")),
            ("---\r\ntitle: Windows\r\n---\r\ntext", Some("Windows")),
            ("---\nurl: javascript:alert(1)\n---\n# Heading", Some("Heading")),
        ] {
            let parsed = parse(text.to_owned());
            assert_eq!(title_of(&parsed, Some(Markup::Markdown)).as_deref(), title, "{text}");
            assert_eq!(title_of(&parsed, None), parsed.title, "{text}");
            assert_eq!(parsed.url, None);
        }
    }
}
