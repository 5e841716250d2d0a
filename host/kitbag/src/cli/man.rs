//! `kitbag man`

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;
use serde_json::json;

use super::Command;
use super::error::CliError;
use super::output::report;
use super::terminal::say;

/// Common final sections of all pages, in roff (man(7)).
const COMMON: &str = r#".SH "EXIT STATUS"
.TP
0
Done.
.TP
1
Failed, and would fail again.
.TP
2
Called wrongly; nothing was done.
.TP
3
No server was reached, or it is busy: the same command may succeed later.
.TP
4
Not signed in, or the server does not accept the token.
.SH ENVIRONMENT
.TP
KITBAG_SERVER, KITBAG_TOKEN, KITBAG_DATA
As the options of the same names.
.TP
NO_COLOR
Print no bold or dim text, at a terminal either.
"#;

/// Write the manual pages, one for each command.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kitbag man ~/.local/share/man/man1
  man kitbag-toolkit-deploy")]
pub(super) struct Man {
    /// The folder for the pages; it is created if it is missing.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Man {
    pub(super) fn run(self) -> Result<(), CliError> {
        let directory = &self.directory;
        let files = write(directory)
            .map_err(|error| CliError::new(format!("cannot write to {}: {error}", directory.display())))?;
        report(&json!({ "directory": directory, "files": files }), || {
            say!("{} pages are in {}; `man kitbag` is the first.", files.len(), directory.display());
        })
    }
}

/// Writes the pages and returns their file names.
fn write(directory: &Path) -> io::Result<Vec<String>> {
    let mut command = Command::command().disable_help_subcommand(true);
    command.build();
    fs::create_dir_all(directory)?;
    let mut pages = Vec::new();
    render(&command, &mut pages)?;
    for (name, page) in &pages {
        fs::write(directory.join(name), page)?;
    }
    Ok(pages.into_iter().map(|(name, _)| name).collect())
}

/// Renders the page of a command and those of its subcommands.
fn render(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let page = Page::new(command.clone());
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    if let Some(more) = command.get_after_help() {
        text.extend_from_slice(notes(&more.to_string()).as_bytes());
    }
    text.extend_from_slice(COMMON.as_bytes());
    pages.push((page.get_filename(), text));
    command.get_subcommands().try_for_each(|subcommand| render(subcommand, pages))
}

/// Formats examples and notes, with the line breaks of the help text.
fn notes(text: &str) -> String {
    let mut roff = ".SH NOTES\n.nf\n".to_owned();
    for line in text.lines() {
        // Escapes hyphens, so that they can be copied, and control characters at the beginning of a line.
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        writeln!(roff, "{guard}{line}").expect("a string takes everything");
    }
    roff + ".fi\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_keep_their_lines_and_give_roff_no_commands() {
        let roff = notes("Examples:\n  kitbag a --b \\\n.SH x\n'x");

        assert_eq!(roff, ".SH NOTES\n.nf\nExamples:\n  kitbag a \\-\\-b \\e\n\\&.SH x\n\\&'x\n.fi\n");
    }
}
