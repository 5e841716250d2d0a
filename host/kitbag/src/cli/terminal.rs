//! Output of commands: the only way from a command to standard output and standard error.
//!
//! Invariant: untrusted text is never printed to a terminal unescaped. [`say!`] and [`note!`] take the
//! program's own words as a literal, and escape every interpolated value onto one line; only a [`Text`],
//! which was made in the same way, is used as it is. The macros and streams of the standard library are
//! forbidden in `cli` (`clippy.toml`).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fmt::{self, Display, Formatter};
use std::io::{self, IsTerminal, Write};

use kitbag_base::visible;
use serde_json::json;

use super::error::CliError;
use super::format::Format;

/// Longest line of an error, and of a description in a listing, in characters.
const MAX_LINE_CHARS: usize = 2_000;
/// Largest number of lines of an error.
const MAX_LINES: usize = 500;
/// Assumed width of a terminal, in columns.
const TERMINAL_COLUMNS: usize = 80;

/// Text that is safe to print: each part is a literal of the program or was escaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text(String);

/// A value that can be interpolated into the program's own words.
pub(super) trait Printable {
    fn print(&self, out: &mut Formatter<'_>) -> fmt::Result;
}

/// Makes a [`Text`] from a literal and values. Inline captures (`{name}`) would not be escaped, so they are a
/// compile error.
macro_rules! text {
    ($words:literal, $($name:ident = $value:expr),+ $(,)?) => {
        $crate::cli::terminal::Text::of_parts(format_args!(
            concat!($words), $($name = $crate::cli::terminal::Shown(&$value)),+
        ))
    };
    ($words:literal $(, $value:expr)* $(,)?) => {
        $crate::cli::terminal::Text::of_parts(format_args!(
            concat!($words) $(, $crate::cli::terminal::Shown(&$value))*
        ))
    };
}

/// Prints a line on standard output; arguments as for [`text!`].
macro_rules! say {
    ($($part:tt)+) => { $crate::cli::terminal::print(&$crate::cli::terminal::text!($($part)+)) };
}

/// Prints a line on standard error; arguments as for [`text!`].
macro_rules! note {
    ($($part:tt)+) => { $crate::cli::terminal::print_note(&$crate::cli::terminal::text!($($part)+)) };
}

pub(super) use {note, say, text};

impl Text {
    /// Creates a text from escaped parts; for [`text!`] only.
    pub(super) fn of_parts(parts: fmt::Arguments<'_>) -> Self {
        Self(parts.to_string())
    }

    /// Escapes text of several lines. Continuation lines are indented by `spaces`, so that none looks like a
    /// line of the program's own.
    pub(super) fn indented(text: &str, spaces: usize) -> Self {
        Self(visible::lines(text).replace('\n', &format!("\n{:spaces$}", "")))
    }

    /// Escapes prose as one line: runs of white space, line breaks included, become single spaces.
    pub(super) fn prose(text: &str) -> Self {
        let words: Vec<_> = text.split(is_space).filter(|word| !word.is_empty()).collect();
        Self(visible::line(&words.join(" ")).into_owned())
    }

    /// Wraps prose at 80 columns. Continuation lines are indented by `indent`, so that none looks like a line
    /// of the program's own, as it would if the terminal wrapped the text.
    pub(super) fn wrapped(prose: &Self, indent: usize) -> Self {
        let mut out = String::new();
        let mut column = indent;
        for word in prose.0.split(' ') {
            // No character is wider than two columns; narrow non-ASCII ones may wrap early.
            let width: usize = word.chars().map(|letter| letter.len_utf8().min(2)).sum();
            if column > indent && column + 1 + width > TERMINAL_COLUMNS {
                write!(out, "\n{:indent$}", "").expect("a string takes everything");
                column = indent;
            } else if column > indent {
                out.push(' ');
                column += 1;
            }
            for letter in word.chars() {
                let width = letter.len_utf8().min(2);
                if column + width > TERMINAL_COLUMNS {
                    write!(out, "\n{:indent$}", "").expect("a string takes everything");
                    column = indent;
                }
                out.push(letter);
                column += width;
            }
        }
        Self(out)
    }

    /// Like [`prose`](Self::prose), truncated to `max_chars` characters.
    pub(super) fn clipped_prose(text: &str, max_chars: usize) -> Self {
        Self(clipped(&Self::prose(text).0, max_chars).into_owned())
    }

    /// Escapes JSON for a terminal without changing its meaning.
    pub(super) fn json(json: &str) -> Self {
        Self(visible::json(json).into_owned())
    }

    pub(super) fn push(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }

    /// Joins lines with line breaks.
    pub(super) fn lines(lines: &[Self]) -> Self {
        let lines: Vec<_> = lines.iter().map(|line| line.0.as_str()).collect();
        Self(lines.join("\n"))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Wrapper for a value that is interpolated into a [`Text`].
pub(super) struct Shown<'a, T: ?Sized>(pub(super) &'a T);

impl<T: Printable + ?Sized> Display for Shown<'_, T> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.0.print(out)
    }
}

impl<T: Printable + ?Sized> Printable for &T {
    fn print(&self, out: &mut Formatter<'_>) -> fmt::Result {
        (**self).print(out)
    }
}

impl Printable for Text {
    fn print(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.pad(&self.0)
    }
}

impl Printable for str {
    fn print(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.pad(&visible::line(self))
    }
}

/// Implements [`Printable`] with escaping, for types with arbitrary text.
macro_rules! escaped {
    ($($type:ty),+) => {$(
        impl Printable for $type {
            fn print(&self, out: &mut Formatter<'_>) -> fmt::Result {
                self.to_string().as_str().print(out)
            }
        }
    )+};
}

escaped!(String, Cow<'_, str>, std::path::Display<'_>, url::Url, CliError);

/// Implements [`Printable`] without escaping, for types that are written in digits.
macro_rules! digits {
    ($($type:ty),+) => {$(
        impl Printable for $type {
            fn print(&self, out: &mut Formatter<'_>) -> fmt::Result {
                Display::fmt(self, out)
            }
        }
    )+};
}

digits!(usize, u32, u64, i64, f64);

/// Prints a line on standard output. Panics on failure, as `println!` does, unless the reader has closed the
/// pipe.
pub(super) fn print(text: &Text) {
    match try_print(text) {
        // The reader has closed the pipe.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => panic!("cannot print: {error}"),
        Ok(()) => {}
    }
}

/// Prints a line and flushes standard output.
#[expect(clippy::disallowed_methods, reason = "the one place that writes there")]
pub(super) fn try_print(text: &Text) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", text.0)?;
    out.flush()
}

/// Prints a note on standard error; ignores failures.
pub(super) fn print_note(text: &Text) {
    if Format::current().is_json() {
        write_note(&Text::json(&json!({ "note": text.0.trim() }).to_string()));
    } else {
        write_note(text);
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that writes there")]
fn write_note(text: &Text) {
    let _ = writeln!(io::stderr(), "{}", text.0);
}

/// Prints an error: what happened, details, and what to do next.
pub(super) fn print_error(error: &CliError) {
    let CliError { message, problems, hint, exit } = error;
    if Format::current().is_json() {
        let lines = |text: &str| clipped(text, MAX_LINE_CHARS * MAX_LINES).into_owned();
        let problems: Vec<_> = problems.iter().take(MAX_LINES).map(|problem| lines(problem)).collect();
        let error = json!({
            "message": lines(message),
            "problems": problems,
            "hint": hint.as_deref().map(lines),
            "exitCode": *exit as u8,
        });
        return write_note(&Text::json(&json!({ "error": error }).to_string()));
    }
    note!("error: {}", bounded(message));
    for problem in problems.iter().take(MAX_LINES) {
        note!("  {}", clipped(&visible::line(problem), MAX_LINE_CHARS));
    }
    if let Some(more) = problems.len().checked_sub(MAX_LINES).filter(|more| *more > 0) {
        note!("  (and {} more)", more);
    }
    if let Some(hint) = hint {
        note!("hint: {}", bounded(hint));
    }
}

/// Returns standard output for raw bytes of a file.
#[expect(clippy::disallowed_methods, reason = "a file that somebody asks for is written as it is")]
pub(super) fn raw_stdout() -> Result<io::StdoutLock<'static>, CliError> {
    let out = io::stdout();
    if out.is_terminal() {
        return Err(CliError::new("standard output is a terminal, and the file could steer it")
            .hint("name a file, or send the output to another program"));
    }
    Ok(out.lock())
}

/// Truncates the text of an error. Continuation lines are indented, so that none looks like a line of the
/// program's own.
fn bounded(text: &str) -> Text {
    let mut lines: Vec<_> = text.lines().take(MAX_LINES).map(|line| clipped(line, MAX_LINE_CHARS)).collect();
    if let Some(more) = text.lines().count().checked_sub(MAX_LINES).filter(|more| *more > 0) {
        lines.push(format!("(and {more} more lines)").into());
    }
    Text::indented(&lines.join("\n"), 2)
}

/// White space that prose collapses. Separators other than spaces and line breaks are shown escaped.
fn is_space(letter: char) -> bool {
    letter.is_whitespace() && !matches!(letter, '\u{b}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn clipped(text: &str, max_chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max_chars) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            let more = text[end..].chars().count();
            format!("{}… (and {more} more characters)", &text[..end]).into()
        }
    }
}

/// Whether standard error is a terminal.
#[expect(clippy::disallowed_methods, reason = "nothing is written")]
pub(super) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Destination of standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Screen {
    /// A terminal, with bold and dim text.
    Terminal,
    /// A file or another program, without styles.
    Plain,
}

impl Screen {
    /// Detects the destination from standard output, `NO_COLOR` (<https://no-color.org>) and `TERM`.
    #[expect(clippy::disallowed_methods, reason = "nothing is written")]
    pub(super) fn of_stdout() -> Self {
        let wants_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        if io::stdout().is_terminal() && !wants_plain { Self::Terminal } else { Self::Plain }
    }

    /// Renders text bold.
    pub(super) fn bold(self, text: &Text) -> Text {
        self.with(1, text)
    }

    /// Renders text dim.
    pub(super) fn dim(self, text: &Text) -> Text {
        self.with(2, text)
    }

    fn with(self, rendition: u32, text: &Text) -> Text {
        match self {
            Self::Terminal => text!("\u{1b}[{}m{}\u{1b}[0m", rendition, text),
            Self::Plain => text.clone(),
        }
    }
}

/// Formats a count with its noun: `1 document`, `2 documents`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_onto_one_line_and_texts_are_taken_over() {
        let stranger = "a\u{1b}[2J\nb\u{202e}".to_owned();

        assert_eq!(text!("{}\n{:<4}|", stranger, "c").as_str(), "a\\u{1b}[2J\\nb\\u{202e}\nc   |");
        assert_eq!(text!("{name}", name = stranger).as_str(), r"a\u{1b}[2J\nb\u{202e}");
        assert_eq!(
            Screen::Terminal.bold(&text!("{}", stranger)).as_str(),
            "\u{1b}[1ma\\u{1b}[2J\\nb\\u{202e}\u{1b}[0m"
        );
        assert_eq!(text!("{}", text!("{}", stranger)), text!("{}", stranger));
        assert_eq!(Text::prose(" a\n\u{1b}\t b ").as_str(), "a \\u{1b} b");
    }

    #[test]
    fn no_line_of_a_stranger_begins_where_lines_of_the_program_do() {
        assert_eq!(Text::indented("a\nerror: b\r\n\n", 4).as_str(), "a\n    error: b\\r\n    \n    ");
        assert_eq!(bounded("a\nhint: run this").as_str(), "a\n  hint: run this");
    }

    #[test]
    fn prose_is_broken_before_the_terminal_breaks_it() {
        let text = format!("{} {} may", "word ".repeat(30), "x".repeat(200));

        let wrapped = Text::wrapped(&Text::prose(&text), 6);

        let lines: Vec<_> = format!("      {}", wrapped.as_str()).lines().map(str::to_owned).collect();
        assert!(lines.len() > 4 && lines.iter().all(|line| line.len() <= TERMINAL_COLUMNS), "{lines:#?}");
        assert!(
            lines.iter().all(|line| line.starts_with("      ") && !line.starts_with("       ")),
            "{lines:#?}"
        );
        let fits = format!("{} of", "x".repeat(TERMINAL_COLUMNS - 3));
        assert_eq!(Text::wrapped(&Text::prose(&fits), 0).as_str(), fits, "a word may end in the last column");
        assert_eq!(Text::prose("a \u{2003}\u{a0}b\u{2028}c").as_str(), r"a b\u{2028}c");
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        let long = "é".repeat(MAX_LINE_CHARS + 7);

        assert!(bounded(&long).as_str().ends_with("é… (and 7 more characters)"));
        assert!(bounded(&"a\n".repeat(MAX_LINES + 2)).as_str().ends_with("\n  (and 2 more lines)"));
        assert_eq!(Text::clipped_prose("one two", 3).as_str(), "one… (and 4 more characters)");
        assert_eq!(Text::clipped_prose("one", 3).as_str(), "one");
    }
}
