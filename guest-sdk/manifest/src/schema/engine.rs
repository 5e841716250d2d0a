//! The engines that match texts with patterns.
//!
//! Invariant: a compiled pattern keeps no memory of its own for matches. A thread has that for one match of
//! [`Linear`] at a time, and a check for a few patterns of [`Backtracking`] until it ends: what patterns take
//! grows with the number of threads that check and not with the number of patterns.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use regex_automata::nfa::thompson::pikevm::{Cache, PikeVM};
use regex_automata::nfa::thompson::{Config, WhichCaptures};

use super::budget::Exceeded;
use super::look_around;
use super::meter::{charge, end};

/// How often a pattern may backtrack.
const BACKTRACK_LIMIT: usize = 4_000;

/// Backtracking patterns that stay compiled until the end of a check. Each has automata that grow while they
/// match, to some MiB at the worst.
const MAX_KEPT: usize = 4;

/// Steps that compiling a backtracking pattern takes.
const STEPS_PER_COMPILATION: u64 = 3_000;

thread_local! {
    static CACHE: RefCell<Option<Cache>> = const { RefCell::new(None) };
    /// The one that was used last is the first.
    static KEPT: RefCell<Vec<(Arc<str>, fancy_regex::Regex)>> = const { RefCell::new(Vec::new()) };
}

/// Gives back what patterns took for the matches of one check.
pub(super) fn end_of_check() {
    KEPT.take();
}

/// A pattern that is matched in time linear in the text.
pub(super) struct Linear(Vec<Part>);

/// What has to match, or must not.
struct Part {
    automaton: PikeVM,
    matches: bool,
}

impl Linear {
    /// Compiles a pattern of at most `size` bytes; nothing for a larger one, and for what it does not know.
    ///
    /// Look-ahead at the beginning of the text is known: it only asks for more than one match.
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
            CACHE.with_borrow_mut(|cache| {
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
    /// Accepts a pattern whose parts take at most `size` bytes together when they are compiled.
    pub(super) fn admit(pattern: &str, size: usize) -> Option<Self> {
        automaton(&look_around::without(pattern), size)?;
        let admitted = Self(pattern.into());
        admitted.compile().map(|_| admitted)
    }

    /// Whether the text matches; ends the check where the pattern tries too many ways.
    pub(super) fn is_match(&self, text: &str) -> bool {
        let known = KEPT.with_borrow_mut(|kept| {
            let at = kept.iter().position(|(pattern, _)| Arc::ptr_eq(pattern, &self.0))?;
            Some(kept.remove(at).1)
        });
        let regex = known.unwrap_or_else(|| {
            charge(STEPS_PER_COMPILATION);
            self.compile().expect("it was compiled when it was admitted")
        });
        let matched = catch_unwind(AssertUnwindSafe(|| regex.is_match(text)));
        // Neither a match nor none: whatever else the schema says must not be decided by it.
        let Ok(Ok(matched)) = matched else { end(Exceeded::Pattern) };
        KEPT.with_borrow_mut(|kept| {
            kept.insert(0, (self.0.clone(), regex));
            kept.truncate(MAX_KEPT);
        });
        matched
    }

    fn compile(&self) -> Option<fancy_regex::Regex> {
        fancy_regex::RegexBuilder::new(&self.0).backtrack_limit(BACKTRACK_LIMIT).build().ok()
    }
}

/// Returns how many bytes a pattern takes when it is compiled; nothing where that is more than `limit`, and
/// for what is no pattern without look-around.
pub(super) fn measure(pattern: &str, limit: usize) -> Option<usize> {
    automaton(pattern, limit).map(|automaton| automaton.get_nfa().memory_usage())
}

fn automaton(pattern: &str, size: usize) -> Option<PikeVM> {
    let limits = Config::new().nfa_size_limit(Some(size)).which_captures(WhichCaptures::None);
    PikeVM::builder().thompson(limits).build(pattern).ok()
}
