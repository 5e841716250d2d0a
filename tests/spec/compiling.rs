//! Components are compiled in a separate process with bounded resources: no upload can stop the server or its
//! live toolkits.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kitbag::settings::Settings;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::harness::wat::{compile, versioned};
use crate::harness::{
    Answer, Kitbag, Process, ServerProcess, Stopped, Wat, eventually, guests, kitbag, run, within,
};

/// Component of forty nested ones, each of which instantiates the previous one twice: 2.7 KB, 2^40 instances.
pub(crate) fn bomb() -> Vec<u8> {
    let levels = (1..40).fold("(component $c0)".to_owned(), |before, level| {
        format!(
            "{before} (component $c{level} (alias outer 1 $c{} (component $i))
                (instance (instantiate $i)) (instance (instantiate $i)))",
            level - 1
        )
    });
    component_with(&format!("{levels} (instance (instantiate $c39))"))
}

/// Component that contains `body`, and passes the check of its exports but no further check.
fn component_with(body: &str) -> Vec<u8> {
    let tools = versioned("tools");
    compile(&format!(r#"(component {body} (instance $tools) (export "{tools}" (instance $tools)))"#))
}

/// Component within all limits, with `functions` functions that take some milliseconds each to compile.
fn slow(functions: usize) -> Vec<u8> {
    let step =
        "(local.set 0 (i64.add (i64.mul (local.get 0) (local.get 1)) (i64.rotl (local.get 1) (local.get 0))))
        (local.set 1 (i64.xor (local.get 0) (i64.div_u (local.get 1) (i64.or (local.get 0) (i64.const 1)))))"
            .repeat(200);
    let functions = format!("(func (param i64 i64) {step})").repeat(functions);
    component_with(&format!("(core module {functions})"))
}

/// Component that takes longer to compile than any test runs.
pub(crate) fn endless() -> Vec<u8> {
    slow(6000)
}

#[track_caller]
fn assert_only_problem(answer: &Answer, path: &str, words: &str) {
    let problems = answer.problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].0, path);
    assert!(problems[0].1.contains(words), "{problems:?}");
}

/// Asserts that earlier uploads left no files behind, and that the live toolkit can be called.
async fn assert_unharmed(kitbag: &Kitbag) {
    eventually("no upload is left", async || kitbag.files("uploads").is_empty()).await;
    assert_eq!(kitbag.files("components").len(), 1);
    assert_eq!(kitbag.files("code").len(), 1, "{:?}", kitbag.files("code"));
    assert_eq!(kitbag.as_user("ben").call("hints__plain", json!({})).await.text(), "plain");
}

/// Starts a server and deploys a working toolkit.
async fn kitbag_with(change: impl FnOnce(&mut Settings)) -> Kitbag {
    let kitbag = Stopped::with(change).compiling_each_time().start().await;
    kitbag.deploy(guests::HINTS).await;
    kitbag
}

#[tokio::test]
async fn few_bytes_that_unfold_without_end_are_refused_before_they_are_compiled() {
    let kitbag = kitbag_with(|_| {}).await;
    let component = bomb();
    assert!(component.len() < 3_000, "{} bytes", component.len());

    let answer = within("the deploy", kitbag.as_operator().deploy(component)).await;

    let answer = answer.assert_problem(422, "refused");
    assert_only_problem(&answer, "component", "instances of components in all");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn types_that_unfold_without_end_are_refused_before_they_are_compiled() {
    let kitbag = kitbag_with(|_| {}).await;
    let doubling: Vec<_> =
        (1..=16).map(|level| format!("(type $t{level} (tuple $t{0} $t{0}))", level - 1)).collect();
    let functions = r#"(type (func (param "a" $t16)))"#.repeat(500);
    let component = component_with(&format!("(type $t0 (tuple u8 u8)) {} {functions}", doubling.concat()));

    let answer = within("the deploy", kitbag.as_operator().deploy(component)).await;

    let answer = answer.assert_problem(422, "refused");
    assert_only_problem(&answer, "component", "values in all of its types");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_check_on_the_authors_machine_has_the_same_bounds() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let path = folder.path().join("bomb.wasm");
    std::fs::write(&path, bomb()).expect("the folder is ours");

    let refused = check(folder.path(), &path).await;

    refused.assert_failed("instances of components in all");
    // The time limit comes from the settings.
    std::fs::write(folder.path().join("kitbag.toml"), "compile-time = \"1s\"\n").expect("the folder is ours");
    std::fs::write(&path, endless()).expect("the folder is ours");

    let cut_off = check(folder.path(), &path).await;

    cut_off.assert_failed("more than 1 s of processor time");
    cut_off.assert_failed("compile-time");
}

async fn check(directory: &Path, component: &Path) -> crate::harness::CommandOutput {
    let mut command = kitbag(["toolkit", "check"]);
    command.arg(component).current_dir(directory);
    run(command).await
}

#[tokio::test]
async fn a_component_that_takes_too_long_is_cut_off_and_the_answer_says_so() {
    let kitbag = kitbag_with(|settings| settings.compile_time = "1s".parse().expect("a duration")).await;

    let answer = within("the deploy", kitbag.as_operator().deploy(endless())).await;

    let answer = answer.assert_problem(422, "refused");
    assert_only_problem(&answer, "component", "more than 1 s of processor time");
    assert!(answer.problems()[0].1.contains("compile-time"), "{:?}", answer.problems());
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_component_that_takes_too_much_memory_is_cut_off_and_the_answer_says_so() {
    let kitbag = kitbag_with(|settings| settings.compile_memory = "100MiB".parse().expect("a size")).await;
    // Two copies of the data fit into the memory limit, three do not.
    let data = "x".repeat(36 << 20);
    let large = component_with(&format!(r#"(core module (memory 1024) (data (i32.const 0) "{data}"))"#));

    let answer = within("the deploy", kitbag.as_operator().deploy(large)).await;

    let answer = answer.assert_problem(422, "refused");
    assert_only_problem(&answer, "component", "more than 100 MiB of memory");
    assert!(answer.problems()[0].1.contains("compile-memory"), "{:?}", answer.problems());
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_declaration_that_eats_memory_is_given_up() {
    let kitbag = kitbag_with(|_| {}).await;
    let eats = "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1)))) unreachable";

    let answer = kitbag.as_operator().deploy(Wat { describe: eats, ..Wat::default() }.component()).await;

    let answer = answer.assert_problem(422, "refused");
    assert_only_problem(&answer, "describe", "memory limit");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_declaration_that_says_too_much_is_given_up_and_the_answer_names_the_setting() {
    let kitbag = kitbag_with(|settings| settings.bounds.call_result = 64 << 10).await;
    // Longer than a declaration may be: 128 KiB, the limit of a result and 64 KiB for overhead.
    let long = "x".repeat(300 << 10);

    let answer = kitbag.as_operator().deploy(Wat { description: &long, ..Wat::default() }.component()).await;

    let answer = answer.assert_problem(422, "refused");
    assert_only_problem(&answer, "describe", "larger than a result may be");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_component_whose_imports_take_too_long_to_name_is_refused_for_that() {
    let kitbag = kitbag_with(|settings| settings.bounds.call_result = 64 << 10).await;
    let imports = (0..60).map(|number| format!("(import \"{}{number}\" (func))", "a".repeat(95_000)));

    let answer = kitbag.as_operator().deploy(component_with(&imports.collect::<String>())).await;

    let answer = answer.assert_problem(422, "refused");
    assert_only_problem(&answer, "component", "import fewer, or under shorter names");
    assert_unharmed(&kitbag).await;
}

#[tokio::test]
async fn a_schema_that_is_nested_too_deeply_is_refused_for_that() {
    let kitbag = kitbag_with(|_| {}).await;
    let nested = |levels: usize| {
        let inner = |inner: String, _| format!(r#"{{"type":"object","properties":{{"a":{inner}}}}}"#);
        (0..levels).fold(r#"{"type":"object"}"#.to_owned(), inner)
    };

    for levels in [60, 62, 63, 64, 1000] {
        let schema = nested(levels);
        for toolkit in
            [Wat { input: Some(&schema), ..Wat::default() }, Wat { output: Some(&schema), ..Wat::default() }]
        {
            let answer = kitbag.as_operator().deploy(toolkit.component()).await;
            let answer = answer.assert_problem(422, "refused");
            assert_only_problem(&answer, "(root)", &format!("nested {} levels deep", 2 * levels + 4));
        }
    }

    let deepest = nested(59);
    let toolkit = Wat { input: Some(&deepest), ..Wat::default() };
    kitbag.as_operator().deploy(toolkit.component()).await.assert_status(201);
    assert_eq!(kitbag.as_user("ben").call("wat__run", json!({ "a": {} })).await.text(), "done");
}

#[tokio::test]
async fn a_manifest_may_have_a_field_that_the_server_knows_and_no_other() {
    let kitbag = kitbag_with(|_| {}).await;
    let with = |further| Wat { further, ..Wat::default() }.component();

    let newer = with(r#"{"kitbag":"99.1.0","skills":[]}"#);
    let answer = kitbag.as_operator().deploy(newer).await.assert_problem(422, "refused");
    assert_only_problem(&answer, "skills", "the toolkit was made for Kitbag 99.1.0");
    let misspelled = with(r#"{"authr":"Ana"}"#);
    let answer = kitbag.as_operator().deploy(misspelled).await.assert_problem(422, "refused");
    assert_only_problem(&answer, "authr", "there is no such field; there are ");

    let known = with(r#"{"kitbag":"99.1.0","author":"Ana"}"#);
    kitbag.as_operator().deploy(known).await.assert_status(201);
    assert_eq!(kitbag.as_user("ben").call("wat__run", json!({})).await.text(), "done");
}

#[tokio::test]
async fn the_compiler_gets_nothing_of_the_server_but_the_component() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    let server = ServerProcess::start_with(data.path(), |command| {
        command.env("MY_MASTER_KEY", key).args(["--master-key", "env:MY_MASTER_KEY"]);
        command.args(["--compile-time", "7s", "--compile-memory", "1GiB"]);
    })
    .await;
    let operator = server.as_operator().await;
    let deploy = tokio::spawn(async move { operator.deploy(endless()).await });
    let compiler = compiler_of(&server).await;

    // The compiler confines itself before it starts threads, so with several threads it is confined.
    eventually("it compiles", async || status(compiler, "Threads:").parse::<u32>().is_ok_and(|it| it > 1))
        .await;
    assert_eq!(
        String::from_utf8_lossy(&compiler.read("environ")),
        "MIMALLOC_ARENA_EAGER_COMMIT=0\0MIMALLOC_PAGE_COMMIT_ON_DEMAND=1\0"
    );
    assert_eq!(String::from_utf8_lossy(&compiler.read("cmdline")), "kitbag\0compile-component\0");
    let files = compiler.open_files();
    assert!(!files.is_empty(), "nothing can be seen");
    for file in &files {
        assert!(!file.contains("kitbag.sqlite") && !file.contains("code.key"), "{files:?}");
        assert!(!file.contains("master-key") && !file.ends_with("/lock"), "{files:?}");
    }
    let limits = String::from_utf8(compiler.read("limits")).expect("text");
    for (name, limit) in [
        ("Max data size", (1 << 30).to_string()),
        ("Max cpu time", "7".to_owned()),
        ("Max core file size", "0".to_owned()),
        ("Max open files", "64".to_owned()),
        ("Max file size", (1 << 30).to_string()),
    ] {
        let line = limits.lines().find(|line| line.starts_with(name)).expect("a limit");
        assert_eq!(line[name.len()..].split_whitespace().next(), Some(limit.as_str()), "{line}");
    }
    assert_eq!(status(compiler, "NoNewPrivs:"), "1");
    assert_eq!(compiler.niceness(), (Process(server.process()).niceness() + 5).min(19));

    server.kill().await;
    drop(deploy);
    eventually("the compiler has died with its server", async || !compiler.is_running()).await;
}

/// Waits for the compiler process of a server.
async fn compiler_of(server: &ServerProcess) -> Process {
    let server = Process(server.process());
    eventually("a compiler runs", async || {
        server.children().iter().any(|child| child.read("cmdline").ends_with(b"compile-component\0"))
    })
    .await;
    server.children()[0]
}

fn status(process: Process, name: &str) -> String {
    let status = String::from_utf8(process.read("status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_default().trim().to_owned()
}

#[tokio::test]
async fn a_server_that_is_asked_to_stop_does_not_wait_for_a_compilation() {
    let data = tempfile::tempdir().expect("a scratch directory");
    let server = ServerProcess::start(data.path()).await;
    let operator = server.as_operator().await;
    let deploy = tokio::spawn(async move { operator.deploy(endless()).await });
    let compiler = compiler_of(&server).await;

    let started = Instant::now();
    let status = server.terminate().await;

    // A stopping server would wait up to 30 s for requests in progress.
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(status.success(), "{status}");
    deploy.await.expect("no panic").assert_problem(503, "the server is stopping");
    eventually("the compiler has ended", async || !compiler.is_running()).await;
    let left: Vec<_> = std::fs::read_dir(data.path().join("uploads")).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn one_component_is_compiled_at_a_time_and_no_operator_takes_all_places() {
    let kitbag = kitbag_with(|settings| {
        settings.operators = "olga,ana,ben,eve".parse().expect("a list");
        settings.compile_time = "1m".parse().expect("a duration");
    })
    .await;
    let component = endless();
    let deploy_as = |name: &str| {
        let (operator, component) = (kitbag.as_user(name), component.clone());
        tokio::spawn(async move { operator.deploy(component).await })
    };
    let of_ana: Vec<_> = (0..9).map(|_| deploy_as("ana")).collect();
    let turned_away = |deploys: &[JoinHandle<Answer>]| deploys.iter().filter(|it| it.is_finished()).count();
    eventually("six of ana's are turned away", async || turned_away(&of_ana) == 6).await;

    let of_others: Vec<_> =
        ["ben", "ben", "ben", "eve", "eve", "eve", "olga"].map(deploy_as).into_iter().collect();
    eventually("the server is full", async || turned_away(&of_others) == 1).await;

    assert_eq!(turned_away(&of_ana), 6, "three of ana's wait");
    for deploy in of_ana.into_iter().chain(of_others).filter(JoinHandle::is_finished) {
        deploy.await.expect("no panic").assert_problem(503, "waiting to be compiled");
    }
    assert_eq!(kitbag.anonymous().get("/healthz").await.status, 200);
}

/// Creates a compiler program that waits while the file `wait` exists beside it. A shell writes the program:
/// processes that other tests fork would inherit a file handle of this process, and a program that is open
/// for writing cannot be executed (`ETXTBSY`).
fn waiting_compiler(folder: &Path) -> PathBuf {
    let program = folder.join("compiler");
    let script = format!(
        "cat > {program} <<'END'\n#!/bin/sh\nwhile [ -e {wait} ]; do sleep 0.1; done\nexec {kitbag} \"$@\"\nEND\nchmod 700 {program}",
        program = program.display(),
        wait = folder.join("wait").display(),
        kitbag = env!("CARGO_BIN_EXE_kitbag"),
    );
    let written = std::process::Command::new("sh").args(["-c", &script]).status().expect("there is a shell");
    assert!(written.success());
    program
}

#[tokio::test]
async fn a_call_does_not_wait_for_ever_until_its_toolkit_is_compiled_again_which_goes_on() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let stopped = kitbag_with(|_| {}).await.stop().await;
    std::fs::remove_dir_all(stopped.data().join("code")).expect("there is code");
    std::fs::write(folder.path().join("wait"), "").expect("the folder is ours");
    let kitbag = stopped.compiling_with(&waiting_compiler(folder.path())).start().await;
    let ben = kitbag.as_user("ben");

    ben.call("hints__plain", json!({})).await.assert_retryable("being prepared");
    assert_eq!(ben.logged("hints__plain").await["outcome"], "busy");

    std::fs::remove_file(folder.path().join("wait")).expect("the folder is ours");
    // The compilation continues without another call.
    eventually("it is compiled", async || kitbag.files("code").len() == 1).await;
    assert_eq!(ben.call("hints__plain", json!({})).await.text(), "plain");
}
