//! Patterns of schemas, with bounds on their compiled size and on the texts that they are matched against.
//!
//! Authors write the patterns, callers choose the texts, and a match cannot be interrupted. So an engine
//! whose time is linear in the length of the text is preferred; look-around and backreferences need one that
//! backtracks, which is given short texts only.

use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonschema::paths::Location;
use jsonschema::{Keyword, PatternOptions, Regex, ValidationError};
use jsonschema_regex::to_rust_regex;
use serde_json::{Map, Value};

use super::engine::{Backtracking, Linear, measure};
use super::meter::{TextLimits, charge_match};
use super::metered::Metered;

/// Maximum total size of the compiled patterns for texts (`pattern`) of one schema, in bytes.
const MAX_TEXT_PATTERNS_SIZE: usize = 4 << 20;

/// Maximum total size of the compiled patterns for names (`patternProperties`) of one schema, in bytes. The
/// validator matches these itself, and each keeps the memory for its longest name in every thread.
pub(crate) const MAX_NAME_PATTERNS_SIZE: usize = 64 << 10;

/// Maximum size of one of them, in bytes.
const MAX_NAME_PATTERN_SIZE: usize = 16 << 10;

/// Maximum length of a name that patterns are matched against, in bytes.
pub(super) const MAX_NAME_BYTES: usize = 256;

/// Maximum size of a compiled pattern in bytes, with the limits of texts for that size. The engine's time for
/// a byte of text is at worst proportional to the size: a few nanoseconds for each state.
const LINEAR_LIMITS: [(usize, TextLimits); 4] = [
    (4 << 10, TextLimits { prompt: 8 << 10, thorough: 8 << 20 }),
    (16 << 10, TextLimits { prompt: 2 << 10, thorough: 2 << 20 }),
    (128 << 10, TextLimits { prompt: 256, thorough: 256 << 10 }),
    (1 << 20, TextLimits { prompt: 32, thorough: 32 << 10 }),
];

/// Maximum compiled size and limits of texts for a pattern that backtracks: its time grows with the square of
/// the text's length, or faster.
const BACKTRACKING_LIMITS: (usize, TextLimits) = (16 << 10, TextLimits { prompt: 64, thorough: 2 << 10 });

/// Size of the compiled patterns of schemas, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatternsSize {
    pub(crate) texts: usize,
    pub(crate) names: usize,
}

impl AddAssign for PatternsSize {
    fn add_assign(&mut self, other: Self) {
        self.texts += other.texts;
        self.names += other.names;
    }
}

/// Returns the options of the validator's engine for patterns of names, which does not support look-around.
/// Patterns for texts are matched by [`Pattern`] instead.
pub(super) fn name_pattern_options() -> PatternOptions<Regex> {
    // No lazy DFAs, which are built during matches: each would keep its states in every thread.
    PatternOptions::regex().size_limit(MAX_NAME_PATTERN_SIZE).dfa_size_limit(0)
}

/// Returns the total compiled size of patterns of names in bytes, or why they cannot be compiled.
pub(super) fn name_patterns_size(patterns: &[&str]) -> Result<usize, String> {
    let mut sum = 0;
    for pattern in patterns {
        let measured =
            to_rust_regex(pattern).ok().and_then(|pattern| measure(&pattern, MAX_NAME_PATTERN_SIZE));
        sum += measured.ok_or_else(|| not_a_pattern(pattern))?;
        if sum > MAX_NAME_PATTERNS_SIZE {
            return Err(format!(
                "its patterns in patternProperties take more than {MAX_NAME_PATTERNS_SIZE} bytes when they are compiled"
            ));
        }
    }
    Ok(sum)
}

/// Implementation of the keyword `pattern`.
struct Pattern {
    engine: Engine,
    limits: TextLimits,
    /// Pattern as the author wrote it.
    source: String,
}

enum Engine {
    Linear(Linear),
    Backtracking(Backtracking),
}

/// Returns the factory of the keyword for one schema. It adds the compiled size of each pattern to `taken`.
#[expect(clippy::type_complexity, reason = "the type is the library's")]
pub(super) fn factory(
    taken: Arc<AtomicUsize>,
) -> impl for<'a> Fn(
    &'a Map<String, Value>,
    &'a Value,
    Location,
) -> Result<Box<dyn for<'i> Keyword<'i, Metered>>, ValidationError<'a>>
+ Send
+ Sync
+ 'static {
    move |_, pattern, _| {
        let Value::String(source) = pattern else {
            return Err(ValidationError::custom("a pattern must be a string"));
        };
        let (compiled, size) = compile(source)?;
        if taken.fetch_add(size, Ordering::Relaxed) + size > MAX_TEXT_PATTERNS_SIZE {
            return Err(ValidationError::custom(format!(
                "its patterns take more than {MAX_TEXT_PATTERNS_SIZE} bytes when they are compiled"
            )));
        }
        Ok(Box::new(compiled))
    }
}

fn compile(source: &str) -> Result<(Pattern, usize), ValidationError<'static>> {
    let invalid = || ValidationError::custom(not_a_pattern(source));
    let translated = to_rust_regex(source).map_err(|()| invalid())?;
    let compiled = |engine, limits| Pattern { engine, limits, source: source.to_owned() };
    for (size, limits) in LINEAR_LIMITS {
        if let Some(linear) = Linear::compile(&translated, size) {
            return Ok((compiled(Engine::Linear(linear), limits), size));
        }
    }
    let (size, limits) = BACKTRACKING_LIMITS;
    let backtracking = Backtracking::admit(&translated, size).ok_or_else(invalid)?;
    Ok((compiled(Engine::Backtracking(backtracking), limits), size))
}

fn not_a_pattern(source: &str) -> String {
    format!("\"{source}\" is not a regular expression, or too large a one")
}

/// Maximum length of a pattern quoted in a message, in bytes; a longer one does not help a model.
const MAX_QUOTED_BYTES: usize = 100;

impl Pattern {
    fn mismatch(&self) -> String {
        if self.source.len() > MAX_QUOTED_BYTES {
            return "value does not match the pattern".to_owned();
        }
        format!("value does not match \"{}\"", self.source)
    }
}

impl<'i> Keyword<'i, Metered> for Pattern {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            return Ok(());
        }
        Err(ValidationError::custom(self.mismatch()))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let Value::String(text) = instance else { return true };
        charge_match(text.len(), self.limits);
        match &self.engine {
            Engine::Linear(linear) => linear.is_match(text),
            Engine::Backtracking(backtracking) => backtracking.is_match(text),
        }
    }
}
