//! The tool `extract_links`: web links and e-mail addresses in a text.

use std::collections::HashSet;

use kitbag_toolkit::prelude::*;
use linkify::{LinkFinder, LinkKind};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct LinkArgs {
    /// Plain text, Markdown or HTML.
    text: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Links {
    /// Web links, each once.
    urls: Vec<String>,
    /// E-mail addresses, each once.
    emails: Vec<String>,
}

pub(crate) async fn extract_links(args: LinkArgs, _ctx: Ctx) -> Result<Structured<Links>> {
    let links = Links { urls: find(&args.text, &LinkKind::Url), emails: find(&args.text, &LinkKind::Email) };
    let text = if links.urls.is_empty() && links.emails.is_empty() {
        "There are no links in the text.".to_owned()
    } else {
        [links.urls.as_slice(), links.emails.as_slice()].concat().join("\n")
    };
    Ok(Structured::new(text, links))
}

fn find(text: &str, kind: &LinkKind) -> Vec<String> {
    let mut seen = HashSet::new();
    LinkFinder::new()
        .links(text)
        .filter(|link| link.kind() == kind && seen.insert(link.as_str()))
        .map(|link| link.as_str().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use kitbag_toolkit::prelude::*;

    use crate::toolkit;

    fn extract(text: &str) -> Outcome {
        dispatch(&toolkit(), Call::new("extract_links").args(json!({ "text": text })))
    }

    #[test]
    fn links_come_once_and_in_order_without_the_punctuation_around_them() {
        let outcome = extract(
            "See [the docs](https://b.example/x_(y)?q=1#top), <a href=\"https://a.example/\">, \
             https://b.example/x_(y)?q=1#top. Write to ana@a.example!",
        );

        assert_eq!(
            outcome.structured(),
            &json!({
                "urls": ["https://b.example/x_(y)?q=1#top", "https://a.example/"],
                "emails": ["ana@a.example"],
            })
        );
        assert_eq!(outcome.text(), "https://b.example/x_(y)?q=1#top\nhttps://a.example/\nana@a.example");
    }

    #[test]
    fn a_text_without_links_says_so() {
        assert_eq!(extract("nothing here: 3.14, a.b, @you").text(), "There are no links in the text.");
    }
}
