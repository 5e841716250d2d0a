//! The regex engines that match texts against patterns.
//!
//! Invariant: a compiled pattern has no memory of its own for matches. Each thread has the memory for one
//! [`Linear`] match, and each check caches a few compiled [`Backtracking`] patterns until it ends. So the
//! memory for matches grows with the number of checking threads and not with the number of patterns.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use regex_automata::nfa::thompson::pikevm::{Cache, PikeVM};
use regex_automata::nfa::thompson::{Config, WhichCaptures};

use super::budget::Exceeded;
use super::look_around;
use super::meter::{charge, end};

/// Maximum number of times that a pattern may backtrack in one match.
const BACKTRACK_LIMIT: usize = 4_000;

/// Maximum number of backtracking patterns that stay compiled until the end of a check. Each has automata
/// that grow during matches, to some MiB at worst.
const MAX_COMPILED: usize = 4;

/// Steps that compiling a backtracking pattern counts as.
const STEPS_PER_COMPILATION: u64 = 3_000;

thread_local! {
    /// Memory for one match of a [`Linear`] pattern.
    static MATCH_CACHE: RefCell<Option<Cache>> = const { RefCell::new(None) };
    /// Compiled backtracking patterns of the current check, most recently used first.
    static COMPILED: RefCell<Vec<(Arc<str>, fancy_regex::Regex)>> = const { RefCell::new(Vec::new()) };
}

/// Frees what patterns allocated for the matches of one check.
pub(super) fn end_of_check() {
    COMPILED.take();
}

/// A pattern that is matched in time linear in the length of the text.
pub(super) struct Linear(Vec<Part>);

/// An automaton that must match, or must not match if `matches` is `false`.
struct Part {
    automaton: PikeVM,
    matches: bool,
}

impl Linear {
    /// Compiles a pattern to at most `size` bytes; `None` if it is larger, or has unsupported syntax.
    ///
    /// Look-ahead at the beginning of the text is supported: it becomes separate matches.
    pub(super) fn compile(pattern: &str, size: usize) -> Option<Self> {
        let mut left = size;
        let parts = look_around::split(pattern).into_iter().map(|(pattern, matches)| {
            let automaton = automaton(&pattern, left)?;
            left = left.checked_sub(automaton.get_nfa().memory_usage())?;
            Some(Part { automaton, matches })
        });
        parts.collect::<Option<_>>().map(Self)
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        let matched = catch_unwind(AssertUnwindSafe(|| {
            MATCH_CACHE.with_borrow_mut(|cache| {
                self.0.iter().all(|Part { automaton, matches }| {
                    let cache = cache.get_or_insert_with(|| automaton.create_cache());
                    cache.reset(automaton);
                    automaton.is_match(cache, text) == *matches
                })
            })
        }));
        matched.unwrap_or_else(|_panic| end(Exceeded::Pattern))
    }
}

/// A pattern with look-around or backreferences.
pub(super) struct Backtracking(Arc<str>);

impl Backtracking {
    /// Accepts a pattern whose parts take at most `size` bytes in total when compiled.
    pub(super) fn admit(pattern: &str, size: usize) -> Option<Self> {
        automaton(&look_around::without(pattern), size)?;
        let admitted = Self(pattern.into());
        admitted.compile().map(|_| admitted)
    }

    /// Returns whether the text matches; aborts the check if the pattern reaches its backtrack limit.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let known = COMPILED.with_borrow_mut(|kept| {
            let at = kept.iter().position(|(pattern, _)| Arc::ptr_eq(pattern, &self.0))?;
            Some(kept.remove(at).1)
        });
        let regex = known.unwrap_or_else(|| {
            charge(STEPS_PER_COMPILATION);
            self.compile().expect("it was compiled when it was admitted")
        });
        let matched = catch_unwind(AssertUnwindSafe(|| regex.is_match(text)));
        // The result is unknown: it must not count as a match or as a mismatch in the schema.
        let Ok(Ok(matched)) = matched else { end(Exceeded::Pattern) };
        COMPILED.with_borrow_mut(|kept| {
            kept.insert(0, (self.0.clone(), regex));
            kept.truncate(MAX_COMPILED);
        });
        matched
    }

    fn compile(&self) -> Option<fancy_regex::Regex> {
        fancy_regex::RegexBuilder::new(&self.0).backtrack_limit(BACKTRACK_LIMIT).build().ok()
    }
}

/// Returns how many bytes a pattern takes when compiled; `None` if that is more than `limit`, or if it is not
/// a valid pattern without look-around.
pub(super) fn measure(pattern: &str, limit: usize) -> Option<usize> {
    automaton(pattern, limit).map(|automaton| automaton.get_nfa().memory_usage())
}

fn automaton(pattern: &str, size: usize) -> Option<PikeVM> {
    let limits = Config::new().nfa_size_limit(Some(size)).which_captures(WhichCaptures::None);
    PikeVM::builder().thompson(limits).build(pattern).ok()
}
