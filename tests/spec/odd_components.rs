//! Components that no compiler produces: either the deploy is refused or a call is stopped, and the server
//! keeps running.

use std::time::{Duration, Instant};

use kitbag::settings::Settings;
use serde_json::json;
use wasmparser::{Parser, Payload};

use crate::harness::wat::{compile, versioned};
use crate::harness::{Answer, Kitbag, Wat, guests};

/// Builds a component that contains `body`. It passes the check of its exports, but no further check.
fn component_with(body: &str) -> Vec<u8> {
    let tools = versioned("tools");
    compile(&format!(r#"(component {body} (instance $tools) (export "{tools}" (instance $tools)))"#))
}

/// Concatenates what `part` returns for each number below `count`.
fn repeated(count: usize, part: impl FnMut(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().concat()
}

/// Starts a server and deploys a toolkit that works.
async fn kitbag() -> Kitbag {
    kitbag_with(|_| {}).await
}

async fn kitbag_with(change: impl FnOnce(&mut Settings)) -> Kitbag {
    let kitbag = Kitbag::start_with(change).await;
    kitbag.deploy(guests::HINTS).await;
    kitbag
}

/// Deploys a component, which must be refused, and returns its problems, one per line. Asserts that the
/// response is short and shows nothing of the host.
async fn refused(kitbag: &Kitbag, component: Vec<u8>) -> String {
    let answer = kitbag.as_operator().deploy(component).await.assert_problem(422, "refused");
    assert_small_and_clean(&answer);
    assert_served(kitbag).await;
    let problems = answer.problems();
    repeated(problems.len(), |number| format!("{}: {}\n", problems[number].0, problems[number].1))
}

#[track_caller]
fn assert_small_and_clean(answer: &Answer) {
    let text = String::from_utf8_lossy(&answer.body);
    assert!(text.len() < 64 << 10, "{} bytes say why", text.len());
    for trace in [".rs", "backtrace", "panicked", "host/"] {
        assert!(!text.contains(trace), "{trace} in {text}");
    }
}

async fn assert_served(kitbag: &Kitbag) {
    assert_eq!(kitbag.as_user("ben").call("hints__plain", json!({})).await.text(), "plain");
}

/// Deploys `toolkit`, calls it and asserts that the call ends in an error that contains `words`.
async fn assert_stopped(kitbag: &Kitbag, toolkit: Wat<'_>, words: &str) {
    let operator = kitbag.as_operator();
    operator.deploy(toolkit.component()).await.assert_status(201);
    for _ in 0..2 {
        kitbag.as_user("ana").call("wat__run", json!({})).await.assert_tool_error(words);
        assert_served(kitbag).await;
    }
    operator.delete("/toolkits/wat").await.assert_status(204);
}

/// Asserts that a deploy of `toolkit` is refused because its `describe` fails.
async fn assert_describe_fails(kitbag: &Kitbag, toolkit: Wat<'_>, words: &str) {
    let said = refused(kitbag, toolkit.component()).await;
    assert!(said.starts_with("describe: ") && said.contains(words), "{said}");
}

const ENDLESS: &str = "(loop $again (br $again))";

#[tokio::test]
async fn the_helper_makes_a_toolkit_that_works() {
    let kitbag = kitbag().await;

    kitbag.as_operator().deploy(Wat::default().component()).await.assert_status(201);

    assert_eq!(kitbag.as_user("ana").call("wat__run", json!({})).await.text(), "done");
}

#[tokio::test]
async fn a_table_grows_to_its_limit_and_no_further() {
    let kitbag = kitbag().await;
    let fields = "(table $table 1 funcref)";
    let grow = |by: &str| {
        format!(
            "(loop $again
                (if (i32.eq (table.grow $table (ref.null func) (i32.const {by})) (i32.const -1))
                    (then unreachable))
                (br $again))"
        )
    };

    for step in ["1", "1000", "-2"] {
        assert_stopped(&kitbag, Wat { fields, call: &grow(step), ..Wat::default() }, "table limit").await;
    }
    let begins_too_large = Wat { fields: "(table 100000000 funcref)", ..Wat::default() };
    refused(&kitbag, begins_too_large.component()).await;
}

#[tokio::test]
async fn a_memory_that_wants_everything_at_once_gets_nothing() {
    let kitbag = kitbag().await;
    let grow = "(if (i32.eq (memory.grow (i32.const 65000)) (i32.const -1)) (then unreachable))";

    assert_stopped(&kitbag, Wat { call: grow, ..Wat::default() }, "memory limit").await;
}

#[tokio::test]
async fn many_memories_are_no_way_around_the_limit() {
    let kitbag = kitbag().await;
    let memories = |count: usize, pages: usize| {
        let modules = repeated(count, |number| {
            format!("(core module $m{number} (memory {pages})) (core instance (instantiate $m{number}))")
        });
        component_with(&modules)
    };

    for (count, pages) in [(3, 1), (2, 65536), (500, 1)] {
        refused(&kitbag, memories(count, pages)).await;
    }
}

/// Builds a toolkit that additionally instantiates a core module `count` times.
fn with_instances(module: &str, count: usize) -> Vec<u8> {
    let mut component = Wat::default().component();
    let modules = Parser::new(0).parse_all(&component).map(|payload| payload.expect("it is valid"));
    let modules = modules.filter(|payload| matches!(payload, Payload::ModuleSection { .. })).count();
    let module = compile(&format!("(module {module})"));

    let (core_module_section, core_instance_section) = (1, 2);
    component.push(core_module_section);
    component.extend(leb128(module.len()));
    component.extend(module);
    let instantiate = [&[0][..], &leb128(modules), &[0]].concat();
    let instances = [leb128(count), instantiate.repeat(count)].concat();
    component.push(core_instance_section);
    component.extend(leb128(instances.len()));
    component.extend(instances);
    component
}

#[tokio::test]
async fn the_instances_of_a_component_share_one_bound_however_many_there_are() {
    let kitbag = kitbag().await;
    // Core module instances of the toolkit itself.
    let of_its_own = 4;
    let globals = "(global (mut i64) (i64.const 0))".repeat(4000);

    let many = with_instances("(global (mut i32) (i32.const 0))", 64 - of_its_own);
    kitbag.as_operator().deploy(many).await.assert_status(201);
    assert_eq!(kitbag.as_user("ana").call("wat__run", json!({})).await.text(), "done");
    kitbag.as_operator().delete("/toolkits/wat").await.assert_status(204);

    let said = refused(&kitbag, with_instances("", 65)).await;
    assert!(said.contains("instances of core modules in all, and one may have at most 64"), "{said}");
    let said = refused(&kitbag, with_instances(&globals, 30)).await;
    assert!(said.contains("exceeds the configured maximum of 1048576 bytes"), "{said}");
}

#[tokio::test]
async fn a_declaration_that_recurses_or_allocates_without_end_is_given_up() {
    let kitbag = kitbag().await;
    let recursive = "(func $deeper (call $deeper) (call $deeper))";
    let allocate =
        "(loop $again (br_if $again (i32.ne (memory.grow (i32.const 100)) (i32.const -1)))) unreachable";

    let describe = "(call $deeper)";
    assert_describe_fails(&kitbag, Wat { fields: recursive, describe, ..Wat::default() }, "stack limit")
        .await;
    assert_describe_fails(&kitbag, Wat { describe: allocate, ..Wat::default() }, "memory limit").await;
    assert_describe_fails(&kitbag, Wat { describe: "unreachable", ..Wat::default() }, "unreachable").await;
}

#[tokio::test]
async fn a_declaration_that_is_not_where_it_is_said_to_be_is_given_up() {
    let kitbag = kitbag().await;

    for elsewhere in ["-4", "3", "1048572"] {
        let describe = format!("(return (i32.const {elsewhere}))");
        assert_describe_fails(&kitbag, Wat { describe: &describe, ..Wat::default() }, "").await;
    }
}

#[tokio::test]
async fn instantiation_is_under_the_deadline_too() {
    let kitbag = kitbag_with(|settings| settings.call_time = "20ms".parse().expect("a duration")).await;
    let never = format!("(func $start {ENDLESS}) (start $start)");
    // Runs longer than the call deadline of this test (20 ms), and shorter than the 3 s for `describe`.
    let long = "(func $start (local $left i32) (local.set $left (i32.const 300000000))
            (loop $again
                (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1))))))
        (start $start)";

    assert_describe_fails(&kitbag, Wat { fields: &never, ..Wat::default() }, "did not answer within").await;
    assert_stopped(&kitbag, Wat { fields: long, ..Wat::default() }, "ran longer than 0.02 s").await;
}

#[tokio::test]
async fn a_component_of_thousands_of_parts_is_refused() {
    let kitbag = kitbag().await;
    let instances = |count| format!("(core module $m) {}", "(core instance (instantiate $m))".repeat(count));
    let imports = |count| repeated(count, |number| format!(r#"(import "evil:corp/api{number}" (instance))"#));
    let exports = repeated(5000, |number| format!(r#"(export "evil:corp/api{number}" (instance $i))"#));
    let exports = format!("(instance $i) {exports}");

    for body in [instances(65), instances(900), instances(5000), imports(5000), exports] {
        refused(&kitbag, component_with(&body)).await;
    }
    let said = refused(&kitbag, component_with(&imports(900))).await;
    assert!(said.contains("imports.evil:corp/api0:") && said.ends_with("and 700 more\n"), "{said}");
}

#[tokio::test]
async fn asynchronous_functions_are_refused_with_what_to_build_instead() {
    let kitbag = kitbag().await;
    let lowered = r#"(import "wasi:io/poll@0.2.0" (instance $poll (export "f" (func))))
        (core func (canon lower (func $poll "f") async))"#;

    for body in ["(core func (canon waitable-set.new))", lowered] {
        let said = refused(&kitbag, component_with(body)).await;
        assert!(said.contains("asynchronous") && said.contains("--backend-qjs-disable-async"), "{said}");
    }
}

#[tokio::test]
async fn absurdly_nested_types_and_components_are_refused() {
    let kitbag = kitbag().await;

    for depth in [50, 1000, 20_000] {
        let lists = repeated(depth, |level| format!("(type $t{} (list $t{level}))", level + 1));
        let lists = format!("(type $t0 (list u8)) {lists}");
        let tuples =
            repeated(depth.min(1000), |level| format!("(type $t{} (tuple $t{level} $t{level}))", level + 1));
        let tuples = format!("(type $t0 (tuple u8 u8)) {tuples}");
        for types in [lists, tuples] {
            refused(&kitbag, component_with(&types)).await;
        }
    }
    for depth in [10, 200, 5000] {
        refused(&kitbag, nested_components(depth)).await;
    }
}

/// Builds components nested `depth` levels deep. Encoded directly, because the text format parser limits the
/// depth.
fn nested_components(depth: usize) -> Vec<u8> {
    const COMPONENT_SECTION: u8 = 4;
    let preamble = b"\0asm\x0d\0\x01\0";
    let mut component = preamble.to_vec();
    for _ in 0..depth {
        let mut outer = preamble.to_vec();
        outer.push(COMPONENT_SECTION);
        outer.extend(leb128(component.len()));
        outer.extend(component);
        component = outer;
    }
    // The outermost component has the export of a toolkit: an empty instance.
    let mut toolkit = component_with("");
    toolkit.push(COMPONENT_SECTION);
    toolkit.extend(leb128(component.len()));
    toolkit.extend(component);
    toolkit
}

fn leb128(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = u8::try_from(number & 0x7f).expect("seven bits");
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

#[tokio::test]
async fn calls_are_served_while_a_component_compiles_for_long() {
    let kitbag = kitbag().await;
    let step =
        "(local.set 0 (i64.add (i64.mul (local.get 0) (local.get 1)) (i64.rotl (local.get 1) (local.get 0))))
        (local.set 1 (i64.xor (local.get 0) (i64.div_u (local.get 1) (i64.or (local.get 0) (i64.const 1)))))";
    let functions = format!("(func (param i64 i64) {})", step.repeat(200)).repeat(400);
    let slow = component_with(&format!("(core module {functions})"));
    let operator = kitbag.as_operator();

    let started = Instant::now();
    let compiling = tokio::spawn(async move { operator.deploy(slow).await });
    let mut slowest = Duration::ZERO;
    let mut served = 0;
    while !compiling.is_finished() {
        let call = Instant::now();
        assert_served(&kitbag).await;
        slowest = slowest.max(call.elapsed());
        served += 1;
    }

    compiling.await.expect("no panic").assert_problem(422, "refused");
    let whole = started.elapsed();
    assert!(whole > Duration::from_millis(500), "it compiled within {whole:?}: that proves nothing");
    assert!(served >= 20, "{served} calls were served during {whole:?}");
    assert!(slowest < whole / 2, "one call took {slowest:?} of {whole:?}");
}
