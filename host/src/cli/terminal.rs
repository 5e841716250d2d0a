//! What commands print for people.

use std::io::IsTerminal;

/// Whether what is printed is seen by a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Screen {
    /// A terminal, which shows what stands out.
    Terminal,
    /// A file, or another program.
    Plain,
}

impl Screen {
    /// Where standard output goes. Who has set `NO_COLOR` wants none of it.
    pub(super) fn of_stdout() -> Self {
        let wants_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if std::io::stdout().is_terminal() && !wants_plain { Self::Terminal } else { Self::Plain }
    }

    /// Makes text stand out.
    pub(super) fn bold(self, text: &str) -> String {
        match self {
            Self::Terminal => format!("\u{1b}[1m{text}\u{1b}[0m"),
            Self::Plain => text.to_owned(),
        }
    }

    /// Makes text stand back.
    pub(super) fn dim(self, text: &str) -> String {
        match self {
            Self::Terminal => format!("\u{1b}[2m{text}\u{1b}[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}

/// What others wrote must not steer the terminal, nor turn lines around: what would is shown, not sent.
pub(super) fn harmless(text: &str) -> String {
    let turns = |letter: char| matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_harmless =
        |letter: char| (!letter.is_control() && !turns(letter)) || letter == '\n' || letter == '\t';
    text.chars().fold(String::with_capacity(text.len()), |mut out, letter| {
        if is_harmless(letter) {
            out.push(letter);
        } else {
            out.extend(letter.escape_unicode());
        }
        out
    })
}

/// The same on one line.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    harmless(&words.join(" "))
}

/// `1 document`, `2 documents`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_does_not_steer_the_terminal() {
        assert_eq!(harmless("a\u{1b}[2J\nb\u{202e}c\r"), "a\\u{1b}[2J\nb\\u{202e}c\\u{d}");
        assert_eq!(one_line(" a\n\u{1b}\t b "), "a \\u{1b} b");
    }
}
