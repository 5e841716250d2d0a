//! Output to the log, to progress reports and to the standard streams, most of it far too much.

use std::io::{Write as _, stdout};
use std::time::Duration;

use guest_support::{Invocation, Outcome, clock, error, log, progress, text};

const FLOOD_BYTES: usize = 10_000_000;
const LINE_BYTES: usize = 10_000;

pub(crate) fn log_ok(_: &Invocation) -> Outcome {
    log::write(&["\"first entry\"".to_owned(), r#"{"answer":42}"#.to_owned()]);
    log::write(&["second entry, no JSON".to_owned()]);
    println!("a line on standard output");
    eprintln!("a line on standard error");
    text("logged")
}

pub(crate) fn log_flood(_: &Invocation) -> Outcome {
    let line = "x".repeat(LINE_BYTES);
    for _ in 0..FLOOD_BYTES / LINE_BYTES {
        log::write(std::slice::from_ref(&line));
    }
    text("logged")
}

pub(crate) fn log_for_ever(_: &Invocation) -> Outcome {
    let line = "x".repeat(LINE_BYTES);
    loop {
        log::write(std::slice::from_ref(&line));
    }
}

pub(crate) fn report_for_ever(_: &Invocation) -> Outcome {
    let line = "x".repeat(LINE_BYTES);
    for done in 0_u32.. {
        progress::report(f64::from(done), None, Some(&line));
    }
    text("reported")
}

pub(crate) fn stdout_flood(_: &Invocation) -> Outcome {
    let line = "x".repeat(LINE_BYTES);
    for _ in 0..FLOOD_BYTES / LINE_BYTES {
        println!("{line}");
    }
    text("printed")
}

pub(crate) fn stdout_one_line(_: &Invocation) -> Outcome {
    let piece = "x".repeat(LINE_BYTES);
    for _ in 0..FLOOD_BYTES / LINE_BYTES {
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
