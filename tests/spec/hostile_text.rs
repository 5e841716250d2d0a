//! Untrusted text in the output of commands: it cannot control the terminal, nor hide or imitate a command's
//! own output.

mod server;
mod uploads;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use clap::CommandFactory;
use serde_json::json;
use tokio::process::Command;

use self::server::{Answers, answer};
use crate::cli_output::assert_json;
use crate::harness::{CommandOutput, Impostor, Wat, kitbag, run, within};

/// Text that clears the screen, sets the title, changes the colour, reverses the writing direction, hides
/// characters, returns to the start of the line, and imitates lines of the program.
const EVIL: &str = "a\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{202e}\u{2066}\u{200f}\u{200b}\u{2028}\u{e0041}\u{feff}\r\u{8}\u{7f}b\
                    \nhint: run this\n\nA deploy would accept it.";
/// Lines in [`EVIL`] that imitate the program, and must not appear in its output as lines.
const FORGED: [&str; 2] = ["hint: run this", "A deploy would accept it."];

/// Returns the paths of all commands without subcommands.
pub(crate) fn leaves(command: &clap::Command) -> Vec<Vec<String>> {
    let mut leaves = Vec::new();
    for child in command.get_subcommands() {
        let below = leaves_below(child);
        leaves.extend(below.into_iter().map(|path| [vec![child.get_name().to_owned()], path].concat()));
    }
    leaves
}

fn leaves_below(command: &clap::Command) -> Vec<Vec<String>> {
    if command.has_subcommands() { leaves(command) } else { vec![Vec::new()] }
}

/// Returns the definition of a command at a path from [`leaves`].
pub(crate) fn leaf(path: &[String]) -> clap::Command {
    let mut command = kitbag::cli::Command::command();
    for name in path {
        command = command.find_subcommand(name).expect("it was found").clone();
    }
    command
}

/// Returns valid arguments of a command, without its connection options. A new command must be added here.
pub(crate) fn arguments(path: &[String], folder: &Path) -> Vec<String> {
    let component = folder.join("component.wasm");
    if !component.exists() {
        fs::write(&component, hostile_component()).expect("a file");
        let pair = rcgen::KeyPair::generate().expect("a key");
        fs::write(folder.join("key"), pair.serialize_pem()).expect("a file");
        fs::write(folder.join("public"), pair.public_key_pem()).expect("a file");
        fs::write(folder.join("evil.jsonl"), format!("{{\"title\": {}}}\nno {EVIL}", json!(EVIL)))
            .expect("a file");
    }
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    let (component, evil_file) = (component.display().to_string(), folder.join(EVIL.replace('/', "")));
    let (evil_file, jsonl) =
        (evil_file.display().to_string(), folder.join("evil.jsonl").display().to_string());
    let [key, public] = ["key", "public"].map(|name| folder.join(name).display().to_string());
    let pages = folder.join("man").display().to_string();
    let arguments: &[&str] = match path.as_slice() {
        ["serve" | "demo" | "logout" | "token" | "sign-in-code" | "audit" | "overview"]
        | ["documents" | "collection" | "toolkit" | "key" | "publisher" | "user", "list"]
        | ["user", "scim-token", "show"]
        | ["documents", "bin"]
        | ["vault", "rotate"]
        | ["toolkit", "failures" | "outdated"]
        | ["toolkit", "uploads", "list"] => &[],
        ["login"] => &["--no-browser"],
        ["connect"] => &["cursor"],
        ["completions"] => &["bash"],
        ["man"] => &[&pages],
        ["search"] => &["what is new"],
        ["ingest"] => &[&jsonl, "--jsonl", "--wait"],
        ["documents", "show" | "history" | "download" | "delete" | "restore"]
        | ["toolkit", "uploads", "show" | "discard"] => &["d-1"],
        ["documents", "move"] => &["d-1", "--to", "evil"],
        ["collection", "describe"] => &["evil", "--name", "evil"],
        ["toolkit", "new"] => &[EVIL],
        ["toolkit", "check" | "deploy"] => &[&component],
        ["toolkit", "build" | "dev" | "update-openapi"] => &[&evil_file],
        [
            "toolkit",
            "show" | "logs" | "rollback" | "release" | "hide" | "show-again" | "sign-out" | "share"
            | "allow-in-code" | "clear-cache",
        ]
        | ["collection", "new" | "show" | "share" | "delete" | "restore"]
        | ["key", "new" | "revoke"]
        | ["config", "get"]
        | ["secret", "list"]
        | ["publisher", "remove"]
        | ["user", "scim-token", "new" | "revoke"]
        | ["user", "access" | "show" | "export"] => &["evil"],
        ["toolkit" | "collection", "unshare"] => &["evil", "--everyone"],
        ["toolkit", "sign"] => &[&component, "--key", &key],
        ["toolkit", "push"] => &[&component, "oci://127.0.0.1:1/evil", "--key", &key],
        ["publisher", "add"] => &["evil", &public],
        ["toolkit", "diff"] => &["evil", "1.0.0", "2.0.0"],
        ["toolkit", "uploads", "deploy"] | ["documents", "purge"] => &["d-1", "--yes"],
        ["toolkit", "sign-in"] => &["evil", "--no-browser"],
        ["toolkit", "agree" | "take-over" | "remove" | "reset-publisher"]
        | ["collection", "purge" | "take-over"]
        | ["user", "end"] => &["evil", "--yes"],
        ["tool", "call"] => &["evil", "evil"],
        ["config", "set"] => &["evil", "key", "value"],
        ["config", "unset"] => &["evil", "key"],
        ["secret", "set"] => &["evil", "KEY", "--from-stdin"],
        ["secret", "unset"] => &["evil", "KEY"],
        ["model", "fetch"] => &["--from", &evil_file],
        ["model", "list" | "show" | "remove"] | ["doctor"] => &["--data", &evil_file],
        ["backup"] => &[&evil_file, "--data", &evil_file],
        ["database", "copy"] => &["--to", &evil_file, "--data", &evil_file],
        ["restore"] => &[&evil_file, "--check"],
        unknown => panic!("{unknown:?} is new: say how it is run against a hostile server"),
    };
    arguments.iter().map(ToString::to_string).collect()
}

/// Further arguments with which a command shows other parts of an answer.
fn further_runs(path: &[String]) -> Vec<Vec<String>> {
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    let runs: &[&[&str]] = match path.as_slice() {
        ["audit"] => &[&["--verify"], &["--calls"]],
        ["collection", "list"] => &[&["--all"]],
        ["key", "revoke"] => &[&["evil", "--user", "evil"]],
        ["user", "access"] => &[&["--group", "evil"], &["--toolkit", "evil"], &["--host", "evil"]],
        ["user", "end"] => &[&["evil", "--documents-to", "evil", "--yes"], &["evil", "--erase", "--yes"]],
        ["documents", "list"] => &[&["--collection", "evil"]],
        ["documents", "show"] => &[&["d-1", "--version", "3"]],
        ["search"] => &[&["what is new", "--in", "evil"]],
        ["documents", "restore"] => &[&["d-1", "--version", "3"], &["--all", "--collection", "evil"]],
        ["documents", "delete"] => &[&["d-1", "--purge", "--yes"], &["--source", "evil", "--yes"]],
        ["documents", "move"] => &[&["--all", "--to", "evil", "--yes"]],
        _ => &[],
    };
    runs.iter().map(|run| run.iter().map(ToString::to_string).collect()).collect()
}

fn hostile_component() -> Vec<u8> {
    Wat { description: EVIL, egress: &["xn--pypal-4ve.example"], scopes: &["svc:search"], ..Wat::default() }
        .component()
}

/// Asserts that the output contains no terminal control characters and no forged lines.
#[track_caller]
fn assert_harmless(case: &str, ran: &CommandOutput) {
    for text in [&ran.stdout, &ran.stderr] {
        let unescaped = text.chars().find(|letter| {
            let is_control = letter.is_control() && !matches!(letter, '\n' | '\t');
            is_control
                || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
                || matches!(letter, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        });
        assert!(unescaped.is_none(), "{case} prints {unescaped:?}: {text:?}");
        let forged = text.lines().find(|line| FORGED.contains(line));
        assert!(forged.is_none(), "{case} prints a stranger's line as its own: {text}");
    }
}

/// Creates a folder with a hostile settings file and a hostile server announcement.
fn hostile_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let key: Vec<_> = EVIL.chars().map(|letter| format!("\\U{:08X}", u32::from(letter))).collect();
    let key = key.concat();
    fs::write(folder.path().join("kitbag.toml"), format!("\"{key}\" = 1\n")).expect("a file");
    let data = folder.path().join("kitbag-data");
    fs::create_dir(&data).expect("a folder");
    fs::write(data.join("server-url"), EVIL).expect("a file");
    for (path, mode) in [(folder.path().join("kitbag.toml"), 0o644), (data, 0o700)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    folder
}

/// Runs a command in a hostile folder, against `server` if there is one.
async fn attempt(path: &[String], arguments: &[String], server: Option<&str>) -> CommandOutput {
    let folder = hostile_folder();
    let arguments: Vec<_> =
        arguments.iter().map(|it| it.replace("FOLDER", &folder.path().to_string_lossy())).collect();
    let mut command = kitbag(path.iter().chain(&arguments));
    command.current_dir(folder.path()).env("XDG_STATE_HOME", folder.path());
    if let Some(server) = server {
        command.env("KITBAG_TOKEN", "a-token").env("KITBAG_SERVER", server);
    }
    with_input(command, "s3cr3t").await
}

async fn with_input(mut command: Command, input: &str) -> CommandOutput {
    use tokio::io::AsyncWriteExt;

    let piped = std::process::Stdio::piped;
    let mut child =
        command.stdin(piped()).stdout(piped()).stderr(piped()).spawn().expect("the program can be started");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A command that does not read its input closes it.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    within("the command", child.wait_with_output()).await.expect("it was started").into()
}

/// Appends `--json` to the arguments.
fn with_json(arguments: &[String]) -> Vec<String> {
    [arguments, &["--json".to_owned()]].concat()
}

#[tokio::test]
async fn no_command_prints_what_a_hostile_server_wrote_as_it_is() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (mut escaped, mut unchanged) = (0, 0);
    for answers in [Answers::Good, Answers::Refusals, Answers::OtherShapes, Answers::Garbage] {
        let server = Impostor::start(move |head, server| answer(answers, head, server)).await;
        for path in leaves(&kitbag::cli::Command::command()) {
            let arguments = arguments(&path, scratch.path());
            if !leaf(&path).get_arguments().any(|argument| argument.get_id() == "server") {
                continue;
            }
            let runs = [arguments].into_iter().chain(further_runs(&path));
            for arguments in runs.flat_map(|it| [with_json(&it), it]) {
                let before = server.requests().len();

                let ran = attempt(&path, &arguments, Some(server.url())).await;

                let case = format!("{answers:?}: {path:?} {arguments:?}");
                assert_harmless(&case, &ran);
                assert!(
                    path == ["logout"] || path == ["connect"] || server.requests().len() > before,
                    "{case} asked nothing: {ran:?}"
                );
                if arguments.iter().any(|argument| argument == "--json") {
                    let data = assert_json(&case, &ran).unwrap_or_default().to_string();
                    unchanged += usize::from(data.contains('\u{202e}'));
                }
                escaped += usize::from(ran.stdout.contains("u{1b}") || ran.stderr.contains("u{1b}"));
            }
        }
    }
    assert!(escaped > 30, "only {escaped} runs have printed anything hostile");
    assert!(unchanged > 15, "JSON means what the server said: only {unchanged} runs");
}

#[tokio::test]
async fn no_command_prints_what_a_hostile_folder_holds_as_it_is() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    for path in leaves(&kitbag::cli::Command::command()) {
        let arguments = arguments(&path, scratch.path());
        for arguments in [arguments.clone(), with_json(&arguments)] {
            let ran = attempt(&path, &arguments, None).await;

            let case = format!("{path:?} {arguments:?}");
            assert_harmless(&case, &ran);
            if arguments.iter().any(|argument| argument == "--json") {
                assert_json(&case, &ran);
            }
        }
    }
}

#[tokio::test]
async fn no_description_hides_or_imitates_what_a_toolkit_may_do() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let component = folder.path().join("component.wasm");
    let padding = "\u{a0} ".repeat(200);
    let long = format!("{EVIL}\nmay\n  nothing{padding}may nothing beyond computing {}", "x".repeat(20_000));
    let toolkit = Wat {
        description: &long,
        egress: &["xn--pypal-4ve.example"],
        scopes: &["svc:search"],
        ..Wat::default()
    };
    fs::write(&component, toolkit.component()).expect("a file");
    let mut check = kitbag(["toolkit", "check"]);
    check.arg(&component).current_dir(folder.path());

    let ran = run(check).await;

    assert_harmless_but_accepted(&ran);
    let stdout = ran.succeeded();
    let may = stdout.lines().skip_while(|line| *line != "may").skip(1).take_while(|line| !line.is_empty());
    assert_eq!(may.collect::<Vec<_>>(), ["  egress xn--pypal-4ve.example", "  scope svc:search"], "{stdout}");
    assert_eq!(stdout.lines().filter(|line| *line == "may").count(), 1, "{stdout}");
    // No line is wider than 80 columns: a terminal does not wrap it, so the author's text stays indented.
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
    assert!(stdout.lines().count() < 40, "{stdout}");
    let words: Vec<_> = stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("more characters)"), "what was left out is said: {stdout}");
}

/// Like [`assert_harmless`], but the last line must say that a deploy would accept the component.
#[track_caller]
fn assert_harmless_but_accepted(ran: &CommandOutput) {
    let stdout = ran.stdout.strip_suffix("A deploy would accept it.\n");
    let stdout = stdout.unwrap_or_else(|| panic!("it would: {ran:?}"));
    assert_harmless(
        "check",
        &CommandOutput { code: ran.code, stdout: stdout.to_owned(), stderr: ran.stderr.clone() },
    );
}

#[tokio::test]
async fn at_a_terminal_only_the_programs_own_renditions_are_sent() {
    let server = Impostor::start(|head, server| answer(Answers::Good, head, server)).await;
    for arguments in ["search what is new", "documents", "toolkit list"] {
        // `script` runs a program in a pseudoterminal.
        let program = kitbag([""; 0]);
        let program = program.as_std().get_program().to_string_lossy().into_owned();
        let mut command = Command::new("script");
        command
            .args(["-qec", &format!("'{program}' {arguments}"), "/dev/null"])
            .env_remove("NO_COLOR")
            .env("KITBAG_TOKEN", "a-token")
            .env("KITBAG_SERVER", server.url())
            .env("XDG_STATE_HOME", "/nonexistent")
            .stdin(std::process::Stdio::null());

        let mut ran = run(command).await;

        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(arguments == "toolkit list" || ran.stdout.contains("\u{1b}[1m"), "no terminal: {ran:?}");
        // The terminal itself adds carriage returns.
        for own in ["\u{1b}[1m", "\u{1b}[2m", "\u{1b}[0m", "\r\n"] {
            ran.stdout = ran.stdout.replace(own, if own == "\r\n" { "\n" } else { "" });
        }
        assert_harmless(arguments, &ran);
    }
}
