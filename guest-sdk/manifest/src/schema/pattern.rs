//! Patterns: each is compiled within a bound, and knows how long a text it may be matched against.
//!
//! Authors write the patterns and callers choose the texts, and nothing interrupts a match. So an engine
//! whose time is linear in the text is preferred; look-around and backreferences need one that
//! backtracks, which gets short texts only.

use std::sync::atomic::{AtomicUsize, Ordering};

use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::Location;
use jsonschema::{Draft, Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};

use super::budget::Exceeded;
use super::meter::{TextLimits, charge_match, end};
use super::metered::Metered;

/// How often a pattern may backtrack.
pub(super) const BACKTRACK_LIMIT: usize = 4_000;

/// Bytes of a lazily built automaton, of which each thread that matches has one.
pub(super) const AUTOMATON_SIZE: usize = 256 << 10;

/// Bytes that all compiled patterns of one schema may take.
const MAX_PATTERNS_SIZE: usize = 4 << 20;

/// Bytes that a compiled pattern may take, and how long texts may then be. The engine's time for a byte of
/// text is at the worst proportional to the size: a few nanoseconds for each of its states.
const LINEAR: [(usize, TextLimits); 4] = [
    (4 << 10, TextLimits { prompt: 8 << 10, thorough: 8 << 20 }),
    (16 << 10, TextLimits { prompt: 2 << 10, thorough: 2 << 20 }),
    (128 << 10, TextLimits { prompt: 256, thorough: 256 << 10 }),
    (1 << 20, TextLimits { prompt: 32, thorough: 32 << 10 }),
];

/// The same for a pattern that backtracks: its time grows with the square of the text, or more.
pub(super) const BACKTRACKING: (usize, TextLimits) = (16 << 10, TextLimits { prompt: 64, thorough: 2 << 10 });

/// The keyword `pattern`.
struct Pattern {
    /// Checks nothing but the pattern.
    validator: Validator<Metered>,
    limits: TextLimits,
}

/// Makes the keyword for one schema.
#[expect(clippy::type_complexity, reason = "the type is the library's")]
pub(super) fn factory() -> impl for<'a> Fn(
    &'a Map<String, Value>,
    &'a Value,
    Location,
) -> Result<Box<dyn for<'i> Keyword<'i, Metered>>, ValidationError<'a>>
+ Send
+ Sync
+ 'static {
    let left = AtomicUsize::new(MAX_PATTERNS_SIZE);
    move |_, pattern, _| {
        let (compiled, size) = compile(pattern)?;
        let is_room = left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(size));
        if is_room.is_err() {
            return Err(ValidationError::custom(format!(
                "its patterns take more than {MAX_PATTERNS_SIZE} bytes when they are compiled"
            )));
        }
        Ok(Box::new(compiled))
    }
}

fn compile(pattern: &Value) -> Result<(Pattern, usize), ValidationError<'static>> {
    let schema = json!({ "pattern": pattern });
    let options = || jsonschema::options_for::<Metered>().with_draft(Draft::Draft202012).offline();
    for (size, limits) in LINEAR {
        let engine = PatternOptions::regex().size_limit(size).dfa_size_limit(AUTOMATON_SIZE);
        if let Ok(validator) = options().with_pattern_options(engine).build(&schema) {
            return Ok((Pattern { validator, limits }, size));
        }
    }
    let (size, limits) = BACKTRACKING;
    let engine = PatternOptions::fancy_regex()
        .backtrack_limit(BACKTRACK_LIMIT)
        .size_limit(size)
        .dfa_size_limit(AUTOMATON_SIZE);
    let validator = options().with_pattern_options(engine).build(&schema)?;
    Ok((Pattern { validator, limits }, size))
}

impl<'i> Keyword<'i, Metered> for Pattern {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        let Value::String(text) = instance else { return Ok(()) };
        charge_match(text.len(), self.limits);
        self.validator.validate(instance).inspect_err(|error| {
            // Neither a match nor none: whatever else the schema says must not be decided by it.
            if matches!(error.kind(), ValidationErrorKind::BacktrackLimitExceeded { .. }) {
                end(Exceeded::Pattern);
            }
        })
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let Value::String(text) = instance else { return true };
        charge_match(text.len(), self.limits);
        self.validator.is_valid(instance) || self.validate(instance).is_ok()
    }
}
