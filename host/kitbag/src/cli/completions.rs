//! `kitbag completions`

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Command;
use super::error::CliError;
use super::output::expect_text;
use super::terminal::{Text, print};

/// Print a script that completes commands in a shell.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kitbag completions bash > ~/.local/share/bash-completion/completions/kitbag
  kitbag completions zsh > ~/.zfunc/_kitbag          with ~/.zfunc in fpath, before compinit
  kitbag completions fish > ~/.config/fish/completions/kitbag.fish
  kitbag completions powershell >> $PROFILE
  source <(kitbag completions bash)                  for this session only")]
pub(super) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<(), CliError> {
        expect_text("`kitbag completions` prints a script")?;
        print(&Text::indented(script(self.shell).trim_end(), 0));
        Ok(())
    }
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Command::command(), "kitbag", &mut script);
    String::from_utf8(script).expect("the help is UTF-8, and so are the scripts")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn scripts_are_printed_as_they_are_and_know_all_commands() {
        for shell in Shell::value_variants() {
            let script = script(*shell);

            assert_eq!(Text::indented(&script, 0).as_str(), script, "{shell}");
            for words in ["take-over", "sign-in-code", "completions"] {
                assert!(script.contains(words), "{shell}: {words}");
            }
        }
    }
}
