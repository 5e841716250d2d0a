//! Ends a check from within a read of the value, several calls deep in the validator.
//!
//! Natively the stack is unwound, and caught where the check began. WebAssembly cannot do that by itself: the
//! program that runs the module does it by an exception. What the functions on the way held is not given
//! back then, so it throws the instance away afterwards.

use super::budget::Exceeded;

#[cfg(not(target_family = "wasm"))]
mod platform {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    use super::Exceeded;

    pub(in crate::schema) fn catch<T>(check: impl FnOnce() -> T) -> Result<T, Exceeded> {
        // Neither the value nor the compiled schema is changed by a check: nothing half-done is seen after it.
        catch_unwind(AssertUnwindSafe(check)).map_err(|panic| match panic.downcast::<Exceeded>() {
            Ok(exceeded) => *exceeded,
            Err(panic) => resume_unwind(panic),
        })
    }

    pub(in crate::schema) fn end(why: Exceeded) -> ! {
        // Not a panic: no message is written, and nobody else's hook is called.
        resume_unwind(Box::new(why))
    }
}

#[cfg(target_family = "wasm")]
#[expect(unsafe_code, reason = "the program that runs the module is called, and calls back")]
mod platform {
    use std::cell::Cell;
    use std::ffi::c_void;

    use super::Exceeded;

    #[link(wasm_import_module = "kitbag-rules")]
    unsafe extern "C" {
        /// Calls `run_check` with `check`, and returns also where `end` was called on the way.
        fn catch_end(check: *mut c_void);
        /// Leaves everything up to `catch_end`.
        fn end_check() -> !;
    }

    thread_local! {
        static WHY: Cell<Option<Exceeded>> = const { Cell::new(None) };
    }

    pub(in crate::schema) fn catch<T>(check: impl FnOnce() -> T) -> Result<T, Exceeded> {
        let (mut check, mut made) = (Some(check), None);
        let mut run = || made = check.take().map(|check| check());
        let mut run: &mut dyn FnMut() = &mut run;
        // SAFETY: `run_check` gets the address that is passed here, and `run` outlives the call.
        unsafe { catch_end((&raw mut run).cast()) };
        made.ok_or_else(|| WHY.take().expect("only `end` leaves a check before its end"))
    }

    /// Runs what [`catch`] was given.
    ///
    /// # Safety
    /// The address must be the one that `catch_end` was called with.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn run_check(check: *mut c_void) {
        // SAFETY: the caller keeps the contract of this function.
        let run = unsafe { &mut *check.cast::<&mut dyn FnMut()>() };
        run();
    }

    pub(in crate::schema) fn end(why: Exceeded) -> ! {
        WHY.set(Some(why));
        // SAFETY: the import takes nothing.
        unsafe { end_check() }
    }
}

pub(super) use platform::{catch, end};
