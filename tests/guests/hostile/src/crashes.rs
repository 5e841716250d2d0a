//! Calls that end the instance, or never end.

use std::hint::black_box;
use std::mem::MaybeUninit;

use std::time::Duration;

use guest_support::{Invocation, Outcome, arguments, clock, text};

const MEBIBYTE: usize = 1 << 20;

pub(crate) fn trap(_: &Invocation) -> Outcome {
    #[cfg(target_family = "wasm")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_family = "wasm"))]
    std::process::abort();
}

pub(crate) fn panic(_: &Invocation) -> Outcome {
    panic!("PANIC-DETAIL in the guest");
}

pub(crate) fn exit(_: &Invocation) -> Outcome {
    std::process::exit(0);
}

pub(crate) fn spin(_: &Invocation) -> Outcome {
    loop {
        black_box(());
    }
}

pub(crate) fn recurse(_: &Invocation) -> Outcome {
    text(descend(0).to_string())
}

#[allow(unconditional_recursion, reason = "the tool recurses without end on purpose")]
fn descend(depth: u64) -> u64 {
    // Works after the call, so that the compiler cannot turn it into a loop.
    black_box(descend(black_box(depth + 1))).wrapping_add(1)
}

pub(crate) fn recurse_with_data(_: &Invocation) -> Outcome {
    text(descend_with_data(0).to_string())
}

#[allow(unconditional_recursion, reason = "the tool recurses without end on purpose")]
fn descend_with_data(depth: u64) -> u64 {
    // Not initialised as a whole: an instruction that fills memory does not say which address it could not reach.
    let mut data = [const { MaybeUninit::<u64>::uninit() }; 512];
    let first = *black_box(&mut data)[0].write(depth);
    black_box(descend_with_data(black_box(depth + 1))).wrapping_add(first)
}

pub(crate) fn eat_memory(_: &Invocation) -> Outcome {
    let mut kept = Vec::new();
    loop {
        kept.push(vec![1_u8; MEBIBYTE]);
        black_box(&kept);
    }
}

pub(crate) fn hoard(invocation: &Invocation) -> Outcome {
    let wanted =
        usize::try_from(arguments(invocation)["mib"].as_u64().unwrap_or_default()).unwrap_or(usize::MAX);
    let kept: Vec<_> = (0..wanted).map(|_| vec![0x5a_u8; MEBIBYTE]).collect();
    clock::wait(Duration::from_millis(300));
    let whole = kept.iter().filter(|chunk| black_box(chunk).iter().all(|byte| *byte == 0x5a)).count();
    text(whole.to_string())
}

pub(crate) fn measure_memory(_: &Invocation) -> Outcome {
    let mut kept = Vec::new();
    loop {
        let mut chunk: Vec<u8> = Vec::new();
        if chunk.try_reserve_exact(MEBIBYTE).is_err() {
            return text(kept.len().to_string());
        }
        kept.push(black_box(chunk));
    }
}
