//! More to read than anybody wants.

use std::io::{Write as _, stdout};
use std::time::Duration;

use guest_support::{Invocation, Outcome, clock, error, log, progress, text};

const FLOOD: usize = 10_000_000;
const LINE: usize = 10_000;

pub(crate) fn log_ok(_: &Invocation) -> Outcome {
    log::write(&["\"first entry\"".to_owned(), r#"{"answer":42}"#.to_owned()]);
    log::write(&["second entry, no JSON".to_owned()]);
    println!("a line on standard output");
    eprintln!("a line on standard error");
    text("logged")
}

pub(crate) fn log_flood(_: &Invocation) -> Outcome {
    let line = "x".repeat(LINE);
    for _ in 0..FLOOD / LINE {
        log::write(std::slice::from_ref(&line));
    }
    text("logged")
}

pub(crate) fn log_for_ever(_: &Invocation) -> Outcome {
    let line = "x".repeat(LINE);
    loop {
        log::write(std::slice::from_ref(&line));
    }
}

pub(crate) fn report_for_ever(_: &Invocation) -> Outcome {
    let line = "x".repeat(LINE);
    for done in 0_u32.. {
        progress::report(f64::from(done), None, Some(&line));
    }
    text("reported")
}

pub(crate) fn stdout_flood(_: &Invocation) -> Outcome {
    let line = "x".repeat(LINE);
    for _ in 0..FLOOD / LINE {
        println!("{line}");
    }
    text("printed")
}

pub(crate) fn stdout_one_line(_: &Invocation) -> Outcome {
    let piece = "x".repeat(LINE);
    for _ in 0..FLOOD / LINE {
        print!("{piece}");
    }
    text("printed")
}

pub(crate) fn half_a_line(_: &Invocation) -> Outcome {
    print!("half a line");
    if let Err(refusal) = stdout().flush() {
        return error(refusal.to_string());
    }
    clock::wait(Duration::from_hours(1));
    text("printed")
}
