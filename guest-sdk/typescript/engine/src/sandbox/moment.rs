//! Whether the component is being made, or a call runs in it.
//!
//! What is made is the same in every call. So time, randomness, timers and requests are refused until then: the
//! line of JavaScript that asks for one is remembered, and the component is not made.

#![expect(unsafe_code, reason = "the engine's C code asks for the time without its context")]

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_longlong, c_void};
use std::ptr::NonNull;

use rquickjs::{Ctx, Exception, qjs};
use wasip2::clocks::{monotonic_clock, wall_clock};

const NANOSECONDS_A_SECOND: u64 = 1_000_000_000;

thread_local! {
    static IS_MADE: Cell<bool> = const { Cell::new(false) };
    /// The context whose code runs while the component is made.
    static MAKING: Cell<Option<NonNull<qjs::JSContext>>> = const { Cell::new(None) };
    static ASKED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The toolkit's own code runs while this is there.
pub(super) struct Making;

/// The toolkit's own code is about to run.
pub(super) fn making(ctx: &Ctx<'_>) -> Making {
    MAKING.set(Some(ctx.as_raw()));
    Making
}

impl Drop for Making {
    fn drop(&mut self) {
        MAKING.set(None);
    }
}

/// The snapshot is about to be taken: from now on calls run.
pub(super) fn end_of_making() {
    IS_MADE.set(true);
}

/// Whether calls run.
pub(super) fn is_made() -> bool {
    IS_MADE.get()
}

/// What was asked too early, with the stack of the first that did.
pub(super) fn asked_too_early() -> Option<String> {
    ASKED.take()
}

/// Refuses what only a call may do.
pub(super) fn only_in_a_call(ctx: &Ctx<'_>, what: &str) -> rquickjs::Result<()> {
    if IS_MADE.get() {
        return Ok(());
    }
    note(ctx, what);
    Err(Exception::throw_message(ctx, &format!("the module's top level {what}, which only a call may do")))
}

/// Whether something was asked too early: then there is no use in going on.
pub(super) fn is_over() -> bool {
    ASKED.with_borrow(Option::is_some)
}

/// Remembers the first that asks too early.
fn note(ctx: &Ctx<'_>, what: &str) {
    if is_over() {
        return;
    }
    let sentence = format!("the module's top level {what}");
    // Before the stack is asked for, which may run a script's own code.
    ASKED.set(Some(sentence.clone()));
    let stack = Exception::from_message(ctx.clone(), "").ok().and_then(|error| error.stack());
    ASKED.set(Some(format!("{sentence}\n{}", stack.unwrap_or_default())));
}

/// Nanoseconds by a clock of the host, for the engine; 0 while the component is made.
fn nanoseconds(clock: impl Fn() -> u64) -> u64 {
    if IS_MADE.get() {
        return clock();
    }
    if let Some(context) = MAKING.get() {
        // SAFETY: the context lives while its code runs, and this is called by it.
        note(&unsafe { Ctx::from_raw(context) }, "asks for the time");
    }
    0
}

fn wall_nanoseconds() -> u64 {
    let wall_clock::Datetime { seconds, nanoseconds } = wall_clock::now();
    seconds.saturating_mul(NANOSECONDS_A_SECOND).saturating_add(u64::from(nanoseconds))
}

/// `struct timeval` and `struct timespec` of the C library for WASI.
#[repr(C)]
struct Time {
    seconds: c_longlong,
    /// Of a second: millionths or billionths. The C library's `tv_nsec` is half as wide, and the rest padding.
    fraction: c_longlong,
}

/// In the place of the C library's: what `Date` asks.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut Time, _zone: *mut c_void) -> c_int {
    let now = nanoseconds(wall_nanoseconds);
    // SAFETY: the caller keeps the contract of this function.
    unsafe { time.write(parts(now, 1000)) };
    0
}

/// In the place of the C library's: what `performance` asks, which is the monotonic clock, and nothing asks for another.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(_clock: *const c_void, time: *mut Time) -> c_int {
    // SAFETY: the caller keeps the contract of this function.
    unsafe { time.write(parts(nanoseconds(monotonic_clock::now), 1)) };
    0
}

fn parts(nanoseconds: u64, unit: u64) -> Time {
    let number = |it: u64| c_longlong::try_from(it).unwrap_or_default();
    Time {
        seconds: number(nanoseconds / NANOSECONDS_A_SECOND),
        fraction: number(nanoseconds % NANOSECONDS_A_SECOND / unit),
    }
}
