//! Metadata within text files: front matter and title.

use kitbag_knowledge::{FrontMatter, Markup};

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

/// Splits off front matter.
pub(super) fn parse(text: String) -> Parsed {
    let Some((matter, body)) = FrontMatter::split(&text) else { return Parsed { text, ..Parsed::default() } };
    let url = matter.value(&["url", "source", "canonical"]);
    Parsed {
        title: matter.value(&["title"]),
        author: matter.value(&["author"]),
        url: url.filter(|url| url.starts_with("http://") || url.starts_with("https://")),
        text: body.trim_start_matches(['\r', '\n']).to_owned(),
    }
}

/// Title in the front matter, or else in the text.
pub(super) fn title_of(parsed: &Parsed, markup: Markup) -> Option<String> {
    parsed.title.clone().or_else(|| markup.title_of(&parsed.text))
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
        assert_eq!(title_of(&parsed, Markup::Markdown).as_deref(), Some("On: Prices"));
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
            assert_eq!(title_of(&parsed, Markup::Markdown).as_deref(), title, "{text}");
            assert_eq!(title_of(&parsed, Markup::Plain), parsed.title, "{text}");
            assert_eq!(parsed.url, None);
        }
    }
}
