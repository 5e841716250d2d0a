//! Phase of the component: it is still being built, or a call runs in it.
//!
//! Every call starts with the same state, that after the build. So time, randomness, timers and requests are
//! refused during the build: the line of JavaScript that uses one is recorded, and the build fails.

#![expect(unsafe_code, reason = "the engine's C code reads the clock without its context")]

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_longlong, c_void};
use std::ptr::NonNull;

use rquickjs::{Ctx, Exception, qjs};
use wasip2::clocks::{monotonic_clock, wall_clock};

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

thread_local! {
    static IS_BUILT: Cell<bool> = const { Cell::new(false) };
    /// Context whose top level is running during the build.
    static TOP_LEVEL_CONTEXT: Cell<Option<NonNull<qjs::JSContext>>> = const { Cell::new(None) };
    /// First refused action of the top level, with its stack.
    static VIOLATION: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Guard that exists while the top level of the toolkit's code runs.
pub(super) struct TopLevel;

/// Marks that the top level of the toolkit's code is about to run; ends when the result is dropped.
pub(super) fn enter_top_level(ctx: &Ctx<'_>) -> TopLevel {
    TOP_LEVEL_CONTEXT.set(Some(ctx.as_raw()));
    TopLevel
}

impl Drop for TopLevel {
    fn drop(&mut self) {
        TOP_LEVEL_CONTEXT.set(None);
    }
}

/// Marks the end of the build: the snapshot is about to be taken, and from now on calls run.
pub(super) fn finish_build() {
    IS_BUILT.set(true);
}

/// Returns and clears the first refused action of the top level, with its stack.
pub(super) fn take_violation() -> Option<String> {
    VIOLATION.take()
}

/// Fails unless a call runs. `action` describes what the code does, such as "sets a timer".
pub(super) fn require_call(ctx: &Ctx<'_>, action: &str) -> rquickjs::Result<()> {
    if IS_BUILT.get() {
        return Ok(());
    }
    record_violation(ctx, action);
    Err(Exception::throw_message(ctx, &format!("the module's top level {action}, which only a call may do")))
}

/// Returns whether the top level did something that was refused; it is stopped then.
pub(super) fn has_violation() -> bool {
    VIOLATION.with_borrow(Option::is_some)
}

/// Records that the top level exceeds its memory limit. There is no memory left to read its stack.
pub(super) fn refuse_memory(mebibytes: usize) {
    if !has_violation() {
        VIOLATION.set(Some(format!("the module's top level takes more than {mebibytes} MiB of memory")));
    }
}

/// Records the first refused action.
fn record_violation(ctx: &Ctx<'_>, action: &str) {
    if has_violation() {
        return;
    }
    let sentence = format!("the module's top level {action}");
    // Set before the stack is read, which may run a script's own code.
    VIOLATION.set(Some(sentence.clone()));
    let stack = Exception::from_message(ctx.clone(), "").ok().and_then(|error| error.stack());
    VIOLATION.set(Some(format!("{sentence}\n{}", stack.unwrap_or_default())));
}

/// Returns the time of a host clock in nanoseconds, for the engine; 0 during the build.
fn nanoseconds(clock: impl Fn() -> u64) -> u64 {
    if IS_BUILT.get() {
        return clock();
    }
    if let Some(context) = TOP_LEVEL_CONTEXT.get() {
        // SAFETY: the context lives while its code runs, and this function is called by that code.
        record_violation(&unsafe { Ctx::from_raw(context) }, "asks for the time");
    }
    0
}

fn wall_nanoseconds() -> u64 {
    let wall_clock::Datetime { seconds, nanoseconds } = wall_clock::now();
    seconds.saturating_mul(NANOSECONDS_PER_SECOND).saturating_add(u64::from(nanoseconds))
}

/// `struct timeval` and `struct timespec` of the C library for WASI.
#[repr(C)]
struct Time {
    seconds: c_longlong,
    /// Microseconds or nanoseconds. The C library's `tv_nsec` is half as wide; the rest is padding.
    fraction: c_longlong,
}

/// Replaces the C library's function, which `Date` uses.
///
/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut Time, _zone: *mut c_void) -> c_int {
    let now = nanoseconds(wall_nanoseconds);
    // SAFETY: the caller upholds the contract of this function.
    unsafe { time.write(parts(now, 1000)) };
    0
}

/// Replaces the C library's function, which `performance` uses. Always reads the monotonic clock: no other is
/// used.
///
/// # Safety
/// The same as for the C library's function.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(_clock: *const c_void, time: *mut Time) -> c_int {
    // SAFETY: the caller upholds the contract of this function.
    unsafe { time.write(parts(nanoseconds(monotonic_clock::now), 1)) };
    0
}

fn parts(nanoseconds: u64, unit: u64) -> Time {
    let number = |it: u64| c_longlong::try_from(it).unwrap_or_default();
    Time {
        seconds: number(nanoseconds / NANOSECONDS_PER_SECOND),
        fraction: number(nanoseconds % NANOSECONDS_PER_SECOND / unit),
    }
}
