//! Aborts a check from within a read of the value, several calls deep in the validator.
//!
//! Natively, the stack is unwound to where the check began. WebAssembly cannot unwind by itself: the program
//! that runs the module does it with an exception. Memory of the abandoned functions is not freed then, so
//! the program discards the instance afterwards.

use super::budget::Exceeded;

#[cfg(not(target_family = "wasm"))]
mod platform {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::Exceeded;

    pub(in crate::schema) fn catch<T>(check: impl FnOnce() -> T) -> Result<T, Exceeded> {
        // Unwind safe: a check changes neither the value nor the compiled schema.
        catch_unwind(AssertUnwindSafe(check)).map_err(|panic| match panic.downcast::<Exceeded>() {
            Ok(exceeded) => *exceeded,
            Err(panic) => resume_unwind(panic),
        })
    }

    pub(in crate::schema) fn end(why: Exceeded) -> ! {
        // `resume_unwind` instead of `panic!`: it writes no message and calls no panic hook.
        resume_unwind(Box::new(why))
    }
}

#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "calls the program that runs the module, which calls back")]
mod platform {
    use std::cell::Cell;
    use std::ffi::c_void;

    use super::Exceeded;

    #[link(wasm_import_module = "kitbag-rules")]
    unsafe extern "C" {
        /// Calls `run_check` with `check`; also returns if `end_check` is called during that.
        fn catch_end(check: *mut c_void);
        /// Unwinds the stack up to `catch_end`.
        fn end_check() -> !;
    }

    thread_local! {
        static END_REASON: Cell<Option<Exceeded>> = const { Cell::new(None) };
    }

    pub(in crate::schema) fn catch<T>(check: impl FnOnce() -> T) -> Result<T, Exceeded> {
        let mut check = Some(check);
        let mut made = None;
        let mut run = || made = check.take().map(|check| check());
        let mut run: &mut dyn FnMut() = &mut run;
        // SAFETY: `run_check` gets the address that is passed here, and `run` outlives the call.
        unsafe { catch_end((&raw mut run).cast()) };
        made.ok_or_else(|| END_REASON.take().expect("only `end` leaves a check early"))
    }

    /// Runs the check that was passed to [`catch`].
    ///
    /// # Safety
    /// The address must be the one that `catch_end` was called with.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn run_check(check: *mut c_void) {
        // SAFETY: the caller upholds the contract of this function.
        let run = unsafe { &mut *check.cast::<&mut dyn FnMut()>() };
        run();
    }

    pub(in crate::schema) fn end(why: Exceeded) -> ! {
        END_REASON.set(Some(why));
        // SAFETY: the import takes no arguments.
        unsafe { end_check() }
    }
}

pub(super) use platform::{catch, end};
