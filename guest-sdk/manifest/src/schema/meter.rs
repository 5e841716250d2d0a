//! Counts the steps of a check, and ends it when there are too many.
//!
//! The validator has no budget of its own and cannot be told to stop. It reads the value through
//! [`metered`](super::metered), which counts here and ends the check from within such a read.

use std::cell::{Cell, RefCell};

use super::budget::{Budget, Exceeded, Matching};
use super::{engine, unwind};

pub(super) use super::unwind::end;

/// After how many steps whoever wants the check is asked whether it is to go on.
const STEPS_BETWEEN_LOOKS: u64 = 2048;

/// Bytes of text that are read, compared or matched in the time of one step.
const TEXT_PER_STEP: usize = 8;

/// Steps that a pattern costs before it has read anything.
const STEPS_PER_MATCH: u64 = 10;

thread_local! {
    static LEFT: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Bytes that a member's name may have.
    static MAX_NAME: Cell<usize> = const { Cell::new(usize::MAX) };
    /// At how many steps left to look up again.
    static NEXT_LOOK: Cell<u64> = const { Cell::new(0) };
    static BUDGET: RefCell<Option<Budget>> = const { RefCell::new(None) };
}

/// How long a text may be that a pattern is matched against, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextLimits {
    /// So long that the match takes a few milliseconds at the worst.
    pub(super) prompt: usize,
    /// So long that it takes a few seconds at the worst.
    pub(super) thorough: usize,
}

/// Runs a check within a budget, of a value whose names have at most `max_name` bytes. It must not begin
/// another one.
pub(super) fn within<T>(budget: &Budget, max_name: usize, check: impl FnOnce() -> T) -> Result<T, Exceeded> {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            LEFT.set(u64::MAX);
            NEXT_LOOK.set(0);
            MAX_NAME.set(usize::MAX);
            BUDGET.take();
            engine::end_of_check();
        }
    }

    let _reset = Reset;
    LEFT.set(budget.steps);
    NEXT_LOOK.set(budget.steps.saturating_sub(STEPS_BETWEEN_LOOKS));
    MAX_NAME.set(max_name);
    BUDGET.set(Some(budget.clone()));
    unwind::catch(check)
}

/// Counts steps; does not return when there are too many.
#[inline]
pub(super) fn charge(steps: u64) {
    let left = LEFT.get();
    if left < steps {
        end(Exceeded::Steps);
    }
    LEFT.set(left - steps);
    if left - steps < NEXT_LOOK.get() {
        look();
    }
}

/// Counts a text that is read or compared.
#[inline]
pub(super) fn charge_text(bytes: usize) {
    charge(1 + (bytes / TEXT_PER_STEP) as u64);
}

/// Counts a name that is read.
pub(super) fn charge_name(bytes: usize) {
    if bytes > MAX_NAME.get() {
        end(Exceeded::Name(MAX_NAME.get()));
    }
    charge_text(bytes);
    // The patterns of `patternProperties` may take the square of a name's length.
    let length = bytes as u64;
    charge(length * length / 64);
}

/// Counts a match of a pattern against a text, before it is made.
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
    // A long match takes time that no step counts.
    if bytes > limits.prompt / 16 {
        look();
    }
}

/// Steps that are left of the check under way.
#[cfg(test)]
pub(super) fn left() -> u64 {
    LEFT.get()
}

#[cold]
fn look() {
    NEXT_LOOK.set(LEFT.get().saturating_sub(STEPS_BETWEEN_LOOKS));
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
        // Outside of a check nothing is counted.
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
