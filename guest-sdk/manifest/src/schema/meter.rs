//! Counts the steps of a check, and aborts it when there are too many.
//!
//! The validator has no budget of its own and cannot be told to stop. It reads the value through
//! [`metered`](super::metered), which counts here and aborts the check from within such a read.

use std::cell::{Cell, RefCell};

use super::budget::{Budget, Exceeded, Matching};
use super::{engine, unwind};

pub(super) use super::unwind::end;

/// Steps between two calls of the `stop` function of a budget.
const STEPS_BETWEEN_STOP_CHECKS: u64 = 2048;

/// Bytes of text that count as one step when they are read, compared or matched.
const TEXT_BYTES_PER_STEP: usize = 8;

/// Fixed cost of a match in steps, before it reads any text.
const STEPS_PER_MATCH: u64 = 10;

thread_local! {
    static STEPS_LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Maximum length of a member's name, in bytes.
    static MAX_NAME_BYTES: Cell<usize> = const { Cell::new(usize::MAX) };
    /// Number of steps left at which `stop` is called next.
    static NEXT_STOP_CHECK: Cell<u64> = const { Cell::new(0) };
    static BUDGET: RefCell<Option<Budget>> = const { RefCell::new(None) };
}

/// Maximum length of a text that a pattern is matched against, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextLimits {
    /// Length at which a match takes a few milliseconds at worst.
    pub(super) prompt: usize,
    /// Length at which a match takes a few seconds at worst.
    pub(super) thorough: usize,
}

/// Runs a check within a budget; names in the value may have at most `max_name_bytes`. Checks must not be
/// nested.
pub(super) fn within<T>(
    budget: &Budget,
    max_name_bytes: usize,
    check: impl FnOnce() -> T,
) -> Result<T, Exceeded> {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            STEPS_LEFT.set(u64::MAX);
            NEXT_STOP_CHECK.set(0);
            MAX_NAME_BYTES.set(usize::MAX);
            BUDGET.take();
            engine::end_of_check();
        }
    }

    let _reset = Reset;
    STEPS_LEFT.set(budget.steps);
    NEXT_STOP_CHECK.set(budget.steps.saturating_sub(STEPS_BETWEEN_STOP_CHECKS));
    MAX_NAME_BYTES.set(max_name_bytes);
    BUDGET.set(Some(budget.clone()));
    unwind::catch(check)
}

/// Counts steps; aborts the check, without returning, when there are too many.
#[inline]
pub(super) fn charge(steps: u64) {
    let left = STEPS_LEFT.get();
    if left < steps {
        end(Exceeded::Steps);
    }
    STEPS_LEFT.set(left - steps);
    if left - steps < NEXT_STOP_CHECK.get() {
        check_stop();
    }
}

/// Counts a text that is read or compared.
#[inline]
pub(super) fn charge_text(bytes: usize) {
    charge(1 + (bytes / TEXT_BYTES_PER_STEP) as u64);
}

/// Counts a name that is read.
pub(super) fn charge_name(bytes: usize) {
    if bytes > MAX_NAME_BYTES.get() {
        end(Exceeded::Name(MAX_NAME_BYTES.get()));
    }
    charge_text(bytes);
    // Matching `patternProperties` may take time quadratic in the length of a name.
    let length = bytes as u64;
    charge(length * length / 64);
}

/// Counts a match of a pattern against a text of so many bytes; called before the match.
pub(super) fn charge_match(bytes: usize, limits: TextLimits) {
    if bytes > limits.thorough {
        end(Exceeded::Text(limits.thorough));
    }
    let is_prompt = BUDGET
        .with_borrow(|budget| budget.as_ref().is_some_and(|budget| budget.matching == Matching::Prompt));
    if is_prompt && bytes > limits.prompt {
        end(Exceeded::Stopped);
    }
    charge_text(bytes);
    charge(STEPS_PER_MATCH);
    // Steps do not account for the time of a long match, so `stop` is called before it.
    if bytes > limits.prompt / 16 {
        check_stop();
    }
}

/// Returns the steps left in the current check.
#[cfg(test)]
pub(super) fn steps_left() -> u64 {
    STEPS_LEFT.get()
}

#[cold]
fn check_stop() {
    NEXT_STOP_CHECK.set(STEPS_LEFT.get().saturating_sub(STEPS_BETWEEN_STOP_CHECKS));
    let stop = BUDGET.with_borrow(|budget| budget.as_ref().and_then(|budget| budget.stop.clone()));
    if stop.is_some_and(|stop| stop()) {
        end(Exceeded::Stopped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(steps: u64) -> Budget {
        Budget { steps, ..Budget::whole() }
    }

    #[test]
    fn a_check_ends_when_its_steps_are_used_up_and_the_next_one_has_its_own() {
        let run = |steps| within(&budget(steps), usize::MAX, || (0..10).for_each(|_| charge(1)));

        assert_eq!(run(9), Err(Exceeded::Steps));
        assert_eq!(run(10), Ok(()));
        // Outside of a check the number of steps is not limited.
        charge(u64::MAX / 2);
    }

    #[test]
    fn a_check_ends_when_it_is_told_to() {
        let run = || (0..1_000_000).for_each(|_| charge(1));

        assert_eq!(within(&budget(u64::MAX).until(|| true), usize::MAX, run), Err(Exceeded::Stopped));
        assert_eq!(within(&budget(u64::MAX).until(|| false), usize::MAX, run), Ok(()));
    }

    #[test]
    fn a_panic_is_a_panic() {
        let panicked = std::panic::catch_unwind(|| within(&budget(1), usize::MAX, || panic!("on purpose")));

        assert!(panicked.is_err());
    }
}
