//! Looks for what another call has left in the same place of the host's memory.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use guest_support::{Invocation, Outcome, arguments, text};

/// What is written. It is computed, so that it is nowhere in the module itself.
const MARK_INVERTED: u64 = 0x1122_3344_5566_7788;
const WORDS_PER_MEBIBYTE: usize = (1 << 20) / 8;
/// Words of the stack that are marked.
const STACK_WORDS: usize = 2 << 10;

static VARIABLES: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

pub(crate) fn leave_marks(invocation: &Invocation) -> Outcome {
    let mark = black_box(!MARK_INVERTED);
    for variable in &VARIABLES {
        variable.store(mark, Ordering::Relaxed);
    }
    mark_the_stack(mark);
    let kept = vec![mark; mebibytes(invocation) * WORDS_PER_MEBIBYTE];
    let found = marks_in_memory();
    drop(black_box(kept));
    text(found.to_string())
}

pub(crate) fn count_marks(invocation: &Invocation) -> Outcome {
    // Not written to, so that the marks of another call would still be there.
    let room: Vec<u64> = Vec::with_capacity(mebibytes(invocation) * WORDS_PER_MEBIBYTE);
    let found = marks_in_memory();
    drop(black_box(room));
    text(found.to_string())
}

fn mebibytes(invocation: &Invocation) -> usize {
    arguments(invocation)["mib"].as_u64().and_then(|it| usize::try_from(it).ok()).unwrap_or_default()
}

#[inline(never)]
fn mark_the_stack(mark: u64) {
    black_box([mark; STACK_WORDS]);
}

/// Reads all memory of the instance.
#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "memory is read that belongs to no object")]
fn marks_in_memory() -> usize {
    const PAGE_WORDS: usize = (1 << 16) / 8;

    let words = core::arch::wasm32::memory_size::<0>() * PAGE_WORDS;
    // SAFETY: every address below the size of a memory can be read.
    let is_mark =
        |at: usize| unsafe { std::ptr::without_provenance::<u64>(at * 8).read_volatile() } == !MARK_INVERTED;
    (1..words).filter(|at| is_mark(*at)).count()
}

#[cfg(not(target_family = "wasm"))]
fn marks_in_memory() -> usize {
    0
}
