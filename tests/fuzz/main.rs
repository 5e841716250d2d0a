//! Every fuzz target over its whole corpus: what the fuzzer has found once stays found.
//!
//! `just fuzz` looks for more; what it finds and what is mended then belongs into `fuzz/corpus`.

// The targets are a crate of their own when they are fuzzed.
#[path = "../../fuzz/targets/lib.rs"]
#[allow(unreachable_pub, reason = "public in the crate of the fuzz targets")]
mod targets;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How long one input may take on the busiest machine. Inputs take milliseconds.
const TIMEOUT: Duration = Duration::from_mins(2);

/// What all corpora may take, in bytes.
const MAX_CORPORA: u64 = 300 << 10;

macro_rules! corpora {
    ($($target:ident: $name:ident;)+) => {
        const TARGETS: &[&str] = &[$(stringify!($target)),+];

        $(#[test]
        fn $name() {
            run_corpus(stringify!($target), targets::$target);
        })+
    };
}

corpora! {
    allowlist: a_request_goes_where_the_list_allows_and_nowhere_else;
    component: an_accepted_component_is_valid_and_imports_what_is_listed;
    declaration: an_accepted_declaration_is_one_that_the_host_can_use;
    file: the_bytes_of_a_file_break_out_of_no_header_and_no_encoding;
    form: a_form_is_bounded_and_gives_no_argument_that_its_schema_does_not_name;
    headers: a_request_is_let_in_under_one_name_and_presents_one_token;
    hints: a_process_hears_what_another_one_has_sent;
    index: a_file_of_an_index_is_read_and_written_as_the_same;
    lines: each_line_of_a_file_is_one_document_or_one_problem;
    manifest: an_accepted_manifest_names_no_file_outside_its_backup;
    message: a_message_is_what_any_reader_of_json_sees_in_it;
    picture: an_accepted_picture_is_small_and_what_it_says;
    query: an_accepted_query_is_within_every_bound;
    redaction: nothing_of_a_secret_remains_in_a_cleaned_output;
    schema: the_problems_of_a_value_are_few_and_repeat_none_of_it;
    search: what_a_query_demands_stands_in_it;
    token: no_token_is_accepted_but_what_the_issuer_signed;
    upload: what_is_read_of_a_form_with_a_file_was_sent;
}

#[test]
fn each_target_is_built_and_has_a_small_corpus() {
    let folders: BTreeSet<_> = entries(&fuzz().join("corpus")).iter().map(|path| name(path)).collect();
    assert_eq!(folders, TARGETS.iter().map(|target| (*target).to_owned()).collect());
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).expect("the crate is there");
    for target in TARGETS {
        assert!(manifest.contains(&format!("name = \"{target}\"")), "{target} is not built");
        assert!(fuzz().join(format!("fuzz_targets/{target}.rs")).exists(), "{target} has no program");
    }
    let files = TARGETS.iter().flat_map(|target| inputs(target));
    let size: u64 = files.map(|file| fs::metadata(file).expect("a file").len()).sum();
    assert!(size <= MAX_CORPORA, "the corpora have {size} bytes: take something out");
}

/// Runs a target on each input of its corpus, one after the other.
fn run_corpus(target: &str, run: fn(&[u8])) {
    let inputs = inputs(target);
    assert!(inputs.len() >= 10, "the corpus of {target} has only {} inputs", inputs.len());
    for input in inputs {
        let data = fs::read(&input).expect("a file");
        let (report, done) = channel();
        let worker = thread::spawn(move || {
            run(&data);
            // Nobody waits any more once the time is over.
            let _ = report.send(());
        });
        match done.recv_timeout(TIMEOUT) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => panic!("{} takes longer than {TIMEOUT:?}", input.display()),
            Err(RecvTimeoutError::Disconnected) => {
                let _ = worker.join();
                panic!("{} breaks a rule; what it says stands above", input.display());
            }
        }
    }
}

fn inputs(target: &str) -> Vec<PathBuf> {
    entries(&fuzz().join("corpus").join(target))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    entries
}

fn name(path: &Path) -> String {
    path.file_name().expect("it is in a folder").to_string_lossy().into_owned()
}

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}
