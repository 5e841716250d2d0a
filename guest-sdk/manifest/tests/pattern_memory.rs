//! Tests how much memory patterns keep after matches: a toolkit's author writes the patterns, and its
//! callers choose the texts for which the memory of the engines grows.

#![expect(unsafe_code, reason = "implementing an allocator is unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use kitbag_manifest::schema::Schema;
use serde_json::{Map, Value, json};

/// Maximum bytes that a thread may keep for patterns, whatever it has checked.
const MAX_THREAD_BYTES: isize = 4 << 20;
/// Maximum bytes that a thread may keep in addition for the names of one toolkit.
const MAX_NAME_PATTERNS_BYTES: isize = 10 << 20;

/// The system allocator, with a count of the live bytes of each thread.
struct CountingAllocator;

thread_local! {
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
}

#[expect(clippy::cast_possible_wrap, reason = "no test allocates that much")]
fn count(bytes: usize, sign: isize) {
    // Fails while the thread ends.
    let _ = LIVE_BYTES.try_with(|live| live.set(live.get() + sign * bytes as isize));
}

// SAFETY: every call is passed on to the system allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 1);
        // SAFETY: the caller upholds the contract of the method.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(layout.size(), -1);
        // SAFETY: the caller upholds the contract of the method.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Returns how many more bytes this thread holds after `work`.
fn kept_after(work: impl FnOnce()) -> isize {
    let before = LIVE_BYTES.get();
    work();
    LIVE_BYTES.get() - before
}

/// Returns pseudo-random letters.
fn letters(count: usize, seed: u32) -> String {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(b"abc"[(state >> 24) as usize % 3])
    };
    std::iter::repeat_with(next).take(count).collect()
}

fn check_all(schema: &Schema, texts: &[String]) {
    for text in texts {
        schema.violations(&json!({ "a": text }));
    }
}

/// Creates a schema with 100 patterns, of which the tested texts match the first or none. The automaton of
/// each has 4,096 states.
fn schema(beginning: &str) -> Schema {
    let pattern = |index: usize| json!({ "pattern": format!("^{beginning}[abc]*a[abc]{{11}}x{{{index}}}$") });
    let patterns: Vec<Value> = (0..100).map(pattern).collect();
    let schema = json!({ "type": "object", "properties": { "a": { "anyOf": patterns } } });
    Schema::compile(&schema).expect("the schema is admitted")
}

#[test]
fn patterns_whose_automata_are_large_keep_little() {
    let schema = schema("");
    let texts: Vec<String> = (0..3).map(|seed| letters(4_000, seed)).collect();

    let kept = kept_after(|| check_all(&schema, &texts));

    assert!(kept < MAX_THREAD_BYTES, "{kept} bytes are kept");
}

#[test]
fn patterns_that_look_around_keep_little() {
    let schema = schema("(?:(?!x)a)?");
    let texts: Vec<String> = (0..3).map(|seed| letters(2_000, seed)).collect();

    let kept = kept_after(|| check_all(&schema, &texts));

    assert!(kept < MAX_THREAD_BYTES, "{kept} bytes are kept");
}

#[test]
fn patterns_of_names_keep_little() {
    let explodes = |index: usize| (format!("^(a|b|c)*a[abc]{{{}}}$", 3 + index), json!({}));
    let patterns: Map<String, Value> = (0..32).map(explodes).collect();
    let schema = json!({ "type": "object", "patternProperties": patterns });
    let schema = Schema::compile(&schema).expect("the schema is admitted");

    let kept = kept_after(|| {
        for seed in 0..400 {
            schema.violations(&json!({ letters(256, seed): 1 }));
        }
        for seed in 0..4 {
            schema.violations(&json!({ letters(10_000, seed): 1 }));
        }
    });

    assert!(kept < MAX_NAME_PATTERNS_BYTES, "{kept} bytes are kept");
}
