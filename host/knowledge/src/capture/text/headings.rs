//! Titles of texts with markup.

/// Largest number of lines in which a title is searched.
const MAX_LINES: usize = 500;
/// Punctuation that underlines titles in reStructuredText.
const UNDERLINES: &str = "=-`:'\"~^_*+#<>.";

/// Markup language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// `CommonMark`
    Markdown,
    /// reStructuredText
    Rst,
    /// `AsciiDoc`
    AsciiDoc,
    /// Org mode
    Org,
}

impl Markup {
    /// Markup language of a file extension.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "md" | "markdown" => Some(Self::Markdown),
            "rst" => Some(Self::Rst),
            "adoc" | "asciidoc" => Some(Self::AsciiDoc),
            "org" => Some(Self::Org),
            _ => None,
        }
    }

    /// Media type of texts in this language.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Markdown => "text/markdown",
            Self::Rst => "text/x-rst",
            Self::AsciiDoc => "text/asciidoc",
            Self::Org => "text/org",
        }
    }

    /// Markup language of a media type that [`media_type`](Self::media_type) returns.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        let all = [Self::Markdown, Self::Rst, Self::AsciiDoc, Self::Org];
        all.into_iter().find(|markup| markup.media_type() == media_type)
    }

    /// Returns the title of a text: its first heading of the first level.
    pub fn title_of(self, text: &str) -> Option<String> {
        let title = match self {
            Self::Markdown => markdown(text),
            Self::Rst => rst(text),
            Self::AsciiDoc => prefixed(text, "= "),
            Self::Org => org(text),
        };
        title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty())
    }
}

/// Finds `# Title`, or a line underlined with `===`, outside of code blocks.
fn markdown(text: &str) -> Option<&str> {
    let (mut fence, mut before) = (None, "");
    for line in text.lines().take(MAX_LINES) {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let shown = line.trim();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| indent < 4 && shown.starts_with(mark)) {
            fence = if fence == Some(mark) { None } else { fence.or(Some(mark)) };
            before = "";
        } else if fence.is_none() && indent < 4 && !line.starts_with('\t') {
            if let Some(heading) = shown.strip_prefix("# ") {
                let heading = heading.trim_end_matches('#');
                return Some(heading.trim()).filter(|heading| !heading.is_empty());
            }
            if !before.is_empty() && !shown.is_empty() && shown.bytes().all(|byte| byte == b'=') {
                return Some(before);
            }
            before = if shown.starts_with(['-', '>', '*', '#', '|']) { "" } else { shown };
        } else {
            before = "";
        }
    }
    None
}

/// Finds a line that is followed by an underline of at least the same length.
fn rst(text: &str) -> Option<&str> {
    let lines = || text.lines().take(MAX_LINES);
    let pairs = lines().zip(lines().skip(1));
    pairs.filter(|(title, _)| !title.starts_with([' ', '\t', '.'])).find_map(|(title, below)| {
        let (title, below) = (title.trim_end(), below.trim_end());
        let mark = below.chars().next().filter(|mark| UNDERLINES.contains(*mark))?;
        let is_line = |line: &str| !line.is_empty() && line.chars().all(|it| it == mark);
        (is_line(below)
            && !is_line(title)
            && !title.is_empty()
            && below.len() >= title.chars().count().min(3))
        .then_some(title)
    })
}

/// Finds `#+TITLE: Title`, or else the first headline.
fn org(text: &str) -> Option<&str> {
    let keyword = |line: &str| line.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("#+title:"));
    let title = text.lines().take(MAX_LINES).find(|line| keyword(line)).map(|line| &line[8..]);
    title.or_else(|| prefixed(text, "* "))
}

fn prefixed<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    text.lines().take(MAX_LINES).find_map(|line| line.strip_prefix(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_title_that_its_markup_marks() {
        for (markup, text, title) in [
            (Markup::Markdown, "Intro\n# Prices #\n# Other", Some("Prices")),
            (Markup::Markdown, "Harbour guide\n=============\n\nWords", Some("Harbour guide")),
            (Markup::Markdown, "## Only a second level", None),
            (Markup::Markdown, "# ", None),
            (Markup::Markdown, "```sh\n# a comment\n```\n\n# Title", Some("Title")),
            (Markup::Markdown, "~~~\n# a comment\n```\n# a comment\n~~~", None),
            (Markup::Markdown, "    # indented code\n\n| a |\n====", None),
            (Markup::Rst, "Harbour guide\n=============\n\nWords", Some("Harbour guide")),
            (Markup::Rst, ".. _top:\n\n=====\nTides\n=====\n\nSub\n---", Some("Tides")),
            (Markup::Rst, ".. code::\n\n   a\n   ===\n\nno title", None),
            (Markup::Rst, "# a comment\nwords", None),
            (Markup::AsciiDoc, "// note\n= Harbour guide\nAna\n\n== Part", Some("Harbour guide")),
            (Markup::AsciiDoc, "== Part", None),
            (Markup::Org, "#+title: Tides\n* Ebb", Some("Tides")),
            (Markup::Org, "* Ebb\n** Flood", Some("Ebb")),
        ] {
            assert_eq!(markup.title_of(text).as_deref(), title, "{markup:?}: {text}");
        }
    }
}
