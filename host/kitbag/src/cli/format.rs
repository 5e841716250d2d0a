//! The format of a command's output: text for people, or JSON.

use std::sync::OnceLock;

use clap::{Args, ValueEnum};

/// Output format of the process. Set once, before a command runs.
static FORMAT: OnceLock<Format> = OnceLock::new();

/// The format of standard output and standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// JSON Lines: a list has a line for each item, everything else is one line.
    Jsonl,
}

/// The choice of a format.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Choice {
    /// What to print: text for people, one JSON document, or a line of JSON for each item.
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        display_order = 900
    )]
    output: Format,
    /// The same as --output json.
    #[arg(long, global = true, conflicts_with = "output", display_order = 901)]
    json: bool,
}

impl Choice {
    pub(super) fn format(self) -> Format {
        if self.json { Format::Json } else { self.output }
    }

    /// Guesses the format that an invalid command line asks for, so that its error is printed in it.
    pub(super) fn guess(arguments: impl Iterator<Item = String>) -> Format {
        let mut format = Format::Text;
        let mut before = String::new();
        for argument in arguments {
            let named = ["--output=", "-o"].iter().find_map(|flag| argument.strip_prefix(flag));
            let named =
                if ["--output", "-o"].contains(&before.as_str()) { Some(argument.as_str()) } else { named };
            match named {
                Some("json") => format = Format::Json,
                Some("jsonl") => format = Format::Jsonl,
                _ if argument == "--json" => format = Format::Json,
                _ => {}
            }
            before = argument;
        }
        format
    }
}

impl Format {
    /// Sets the output format of this process.
    pub(super) fn choose(self) {
        // Later calls are ignored.
        let _ = FORMAT.set(self);
    }

    /// Returns the output format of this process.
    pub(super) fn current() -> Self {
        FORMAT.get().copied().unwrap_or_default()
    }

    pub(super) fn is_json(self) -> bool {
        self != Self::Text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_line_is_answered_in_the_format_that_it_asks_for() {
        for (line, expected) in [
            ("kitbag search", Format::Text),
            ("kitbag search --json", Format::Json),
            ("kitbag -o json search", Format::Json),
            ("kitbag search --output=jsonl", Format::Jsonl),
            ("kitbag search -ojson", Format::Json),
            ("kitbag search --output yaml", Format::Text),
            ("kitbag ingest --jsonl", Format::Text),
        ] {
            assert_eq!(Choice::guess(line.split(' ').map(str::to_owned)), expected, "{line}");
        }
    }
}
