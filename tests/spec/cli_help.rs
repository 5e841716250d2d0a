//! Help, manual pages and shell completions.

use std::fs;
use std::process::Stdio;

use clap::CommandFactory;
use tokio::process::Command;

use crate::harness::{CommandOutput, kitbag, run};
use crate::hostile_text::leaves;

async fn program(name: &str, arguments: &[&str]) -> CommandOutput {
    let mut command = Command::new(name);
    command.args(arguments).stdin(Stdio::null());
    run(command).await
}

#[tokio::test]
async fn the_help_fits_a_screen() {
    for flag in ["--help", "-h", "help"] {
        let help = run(kitbag([flag])).await.succeeded();

        assert!(help.trim_end().lines().count() <= 23, "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        assert!(help.contains("Usage: kitbag <COMMAND>") && help.contains("Exit codes"), "{help}");
    }
    assert_eq!(run(kitbag([""; 0])).await.code, Some(2));
}

#[tokio::test]
async fn bash_completes_commands_options_and_values() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let script = folder.path().join("kitbag.bash");
    fs::write(&script, run(kitbag(["completions", "bash"])).await.succeeded()).expect("a file");
    let complete = async |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let (current, before) = (words[words.len() - 1], words[words.len() - 2]);
        let code = format!(
            "source '{}' && COMP_WORDS=({}) COMP_CWORD={} && _kitbag kitbag '{current}' '{before}' && \
             printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
            words.len() - 1,
        );
        let offered = program("bash", &["-c", &code]).await.succeeded();
        let mut offered: Vec<_> = offered.lines().map(str::to_owned).collect();
        offered.sort_unstable();
        offered
    };

    assert_eq!(complete("kitbag se").await, ["search", "secret", "serve"]);
    assert_eq!(complete("kitbag toolkit de").await, ["deploy", "dev"]);
    assert_eq!(complete("kitbag connect c").await, ["claude-code", "claude-desktop", "codex", "cursor"]);
    assert_eq!(complete("kitbag search --output j").await, ["json", "jsonl"]);
    assert!(complete("kitbag toolkit deploy --").await.contains(&"--review".to_owned()));
}

#[tokio::test]
async fn every_shell_gets_a_script_that_it_can_read() {
    for shell in ["zsh", "fish", "powershell", "elvish"] {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let file = folder.path().join("script");
        let script = run(kitbag(["completions", shell])).await.succeeded();
        fs::write(&file, &script).expect("a file");

        assert!(script.contains("take-over") && script.contains("--review"), "{shell}: {script}");
        // Parses the script if the shell is installed.
        if matches!(shell, "zsh" | "fish") && Command::new(shell).arg("--version").output().await.is_ok() {
            let read = program(shell, &["-n", file.to_str().expect("UTF-8")]).await;
            assert_eq!((read.code, read.stderr.as_str()), (Some(0), ""), "{shell}");
        }
    }
    assert_eq!(run(kitbag(["completions", "csh"])).await.code, Some(2));
}

#[tokio::test]
async fn every_command_has_a_manual_page_without_warnings() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let pages = folder.path().join("man1");
    let mut command = kitbag(["man"]);
    command.arg(&pages);

    run(command).await.succeeded();

    for path in leaves(&kitbag::cli::Command::command()) {
        let page = pages.join(format!("kitbag-{}.1", path.join("-")));
        let text = fs::read_to_string(&page).unwrap_or_else(|_| panic!("{path:?} has no page"));
        for section in [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH \"EXIT STATUS\""] {
            assert!(text.contains(&format!("\n{section}")), "{path:?}: no {section}");
        }
    }
    // Formats the pages as `man` does, if groff is installed.
    if Command::new("groff").arg("--version").output().await.is_ok() {
        for page in fs::read_dir(&pages).expect("a folder") {
            let page = page.expect("an entry").path();
            let page = page.to_str().expect("UTF-8");
            let formatted = program("groff", &["-man", "-ww", "-Tutf8", "-Kutf8", page]).await;
            assert_eq!((formatted.code, formatted.stderr.as_str()), (Some(0), ""), "{page}");
            assert!(formatted.stdout.contains("kitbag"), "{page}");
        }
    }
}

#[tokio::test]
async fn nothing_is_coloured_for_programs_or_against_a_persons_wish() {
    let at_a_terminal = async |arguments: &str, variable: Option<(&str, &str)>| {
        let program = kitbag([""; 0]).as_std().get_program().to_string_lossy().into_owned();
        let mut command = Command::new("script");
        command.args(["-qec", &format!("'{program}' {arguments}"), "/dev/null"]).stdin(Stdio::null());
        // With `CI` set, even a terminal with `TERM=dumb` would get colours.
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
            command.env_remove(name);
        }
        command.env("TERM", "xterm-256color").envs(variable);
        run(command).await.stdout
    };

    for arguments in ["search --help", "search --absent"] {
        let coloured = at_a_terminal(arguments, None).await;
        assert!(coloured.contains("\u{1b}["), "{arguments} has no colour at all: {coloured:?}");
        for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let plain = at_a_terminal(arguments, Some(variable)).await;
            assert!(!plain.contains('\u{1b}') && !plain.is_empty(), "{variable:?} {arguments}: {plain:?}");
        }
        let piped = run(kitbag(arguments.split(' '))).await;
        assert!(!format!("{}{}", piped.stdout, piped.stderr).contains('\u{1b}'), "{piped:?}");
    }
}
