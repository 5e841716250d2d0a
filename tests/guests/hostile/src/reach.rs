//! Attempts to keep the host busy, or to see more of it than a call may.

use std::io::Read as _;
use std::time::Duration;
use std::{env, fs, io};

use guest_support::serde_json::json;
use guest_support::wasip2::filesystem::preopens::get_directories;
use guest_support::{Invocation, Outcome, clock, structured, text};

const ONE_HOUR: Duration = Duration::from_hours(1);

pub(crate) fn sleep_poll(_: &Invocation) -> Outcome {
    clock::wait(ONE_HOUR);
    text("an hour later")
}

pub(crate) fn resource_flood(_: &Invocation) -> Outcome {
    let mut kept = Vec::new();
    loop {
        kept.push(clock::alarm(ONE_HOUR));
    }
}

/// Returns environment and arguments; both lists are empty if the sandbox works.
pub(crate) fn read_env(_: &Invocation) -> Outcome {
    structured(&json!({
        "variables": env::vars().collect::<Vec<_>>(),
        "arguments": env::args().collect::<Vec<_>>(),
    }))
}

/// Tries to read and write files; every value is empty or null if the sandbox works.
pub(crate) fn read_files(_: &Invocation) -> Outcome {
    let mut input = String::new();
    let read = io::stdin().read_to_string(&mut input);
    let listed =
        fs::read_dir("/").into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    structured(&json!({
        "directories": get_directories().into_iter().map(|(_, name)| name).collect::<Vec<_>>(),
        "root": listed,
        "passwd": fs::read_to_string("/etc/passwd").ok(),
        "relative": fs::read_to_string("Cargo.toml").ok(),
        "written": fs::write("/tmp/hostile", "x").ok(),
        "stdin": read.ok().map(|_| input).filter(|input| !input.is_empty()),
    }))
}
