//! Titles of texts with markup, each by the rule of its language.

mod asciidoc;
mod front_matter;
mod latex;
mod man;
mod markdown;
mod numbered;
mod org;
mod rst;
#[cfg(test)]
mod tests;

pub use front_matter::FrontMatter;

/// Largest number of lines in which a title is searched.
const MAX_LINES: usize = 500;

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
    /// LaTeX
    Latex,
    /// Source of a manual page, by the macros `man` or `mdoc`.
    Man,
    /// None: only numbered series, such as RFCs, have a title at a place that is known.
    Plain,
}

impl Markup {
    const ALL: [Self; 7] =
        [Self::Markdown, Self::Rst, Self::AsciiDoc, Self::Org, Self::Latex, Self::Man, Self::Plain];

    /// Markup language of a text by the extension of its file, and for manual pages by its beginning too:
    /// `lantern.1` may be a log.
    pub fn of_file(extension: &str, head: &[u8]) -> Option<Self> {
        let is_section = || extension.starts_with(|it: char| it.is_ascii_digit()) && extension.len() <= 2;
        match extension {
            "md" | "markdown" => Some(Self::Markdown),
            "rst" => Some(Self::Rst),
            "adoc" | "asciidoc" => Some(Self::AsciiDoc),
            "org" => Some(Self::Org),
            "tex" | "ltx" | "latex" => Some(Self::Latex),
            "man" | "mdoc" => Some(Self::Man),
            _ if is_section() && man::REQUESTS.iter().any(|it| head.starts_with(it.as_bytes())) => {
                Some(Self::Man)
            }
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
            Self::Latex => "text/x-tex",
            Self::Man => "text/troff",
            Self::Plain => "text/plain",
        }
    }

    /// Markup language of a media type that [`media_type`](Self::media_type) returns.
    pub fn of_media_type(media_type: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|markup| markup.media_type() == media_type)
    }

    /// Returns the title that a text gives itself: in its front matter, in the header of a numbered series, or
    /// by its markup.
    pub fn title_of(self, text: &str) -> Option<String> {
        let (matter, body) = match FrontMatter::split(text).filter(|_| self.may_have_front_matter()) {
            Some((matter, body)) => (Some(matter), body),
            None => (None, text),
        };
        let in_matter = matter.and_then(|matter| matter.value(&["title"]));
        let title = in_matter.or_else(|| numbered::title(body)).or_else(|| match self {
            Self::Markdown => markdown::title(body),
            Self::Rst => rst::title(body),
            Self::AsciiDoc => asciidoc::title(body),
            Self::Org => org::title(body),
            Self::Latex => latex::title(body),
            Self::Man => man::title(body),
            Self::Plain => None,
        });
        title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty())
    }

    /// Site generators read front matter in these languages.
    fn may_have_front_matter(self) -> bool {
        matches!(self, Self::Markdown | Self::Rst | Self::AsciiDoc | Self::Org)
    }
}

/// Lines of a text in which a title is searched.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.trim_start_matches('\u{FEFF}').lines().take(MAX_LINES)
}
