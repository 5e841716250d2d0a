//! Patterns: each is compiled within a bound, and knows how long a text it may be matched against.
//!
//! Authors write the patterns and callers choose the texts, and nothing interrupts a match. So an engine
//! whose time is linear in the text is preferred; look-around and backreferences need one that
//! backtracks, which gets short texts only.

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

/// Bytes that all compiled patterns of texts of one schema may take.
const MAX_TEXT_PATTERNS_SIZE: usize = 4 << 20;

/// Bytes that all compiled patterns of names (`patternProperties`) of one schema may take. The validator
/// matches these itself, and each keeps what it needed for its longest name, once a thread.
pub(crate) const MAX_NAME_PATTERNS_SIZE: usize = 64 << 10;

/// Bytes that one of them may take.
const MAX_NAME_PATTERN_SIZE: usize = 16 << 10;

/// Bytes of a name that patterns are matched against.
pub(super) const MAX_NAME_LENGTH: usize = 256;

/// Bytes that a compiled pattern may take, and how long texts may then be. The engine's time for a byte of
/// text is at the worst proportional to the size: a few nanoseconds for each of its states.
const LINEAR: [(usize, TextLimits); 4] = [
    (4 << 10, TextLimits { prompt: 8 << 10, thorough: 8 << 20 }),
    (16 << 10, TextLimits { prompt: 2 << 10, thorough: 2 << 20 }),
    (128 << 10, TextLimits { prompt: 256, thorough: 256 << 10 }),
    (1 << 20, TextLimits { prompt: 32, thorough: 32 << 10 }),
];

/// The same for a pattern that backtracks: its time grows with the square of the text, or more.
const BACKTRACKING: (usize, TextLimits) = (16 << 10, TextLimits { prompt: 64, thorough: 2 << 10 });

/// What the patterns of schemas take when they are compiled, in bytes.
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

/// The engine of patterns of names, which knows no look-around. Those of texts are matched by a keyword of ours.
pub(super) fn engine_of_names() -> PatternOptions<Regex> {
    // Without automata that are built while they match: each would keep its states, once a thread.
    PatternOptions::regex().size_limit(MAX_NAME_PATTERN_SIZE).dfa_size_limit(0)
}

/// Returns what patterns of names take together when they are compiled, or why they cannot be.
pub(super) fn size_of_names(patterns: &[&str]) -> Result<usize, String> {
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

/// The keyword `pattern`.
struct Pattern {
    engine: Engine,
    limits: TextLimits,
    /// As the author wrote it.
    source: String,
}

enum Engine {
    Linear(Linear),
    Backtracking(Backtracking),
}

/// Makes the keyword for one schema, and counts in `taken` what its patterns take.
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
    for (size, limits) in LINEAR {
        if let Some(linear) = Linear::compile(&translated, size) {
            return Ok((compiled(Engine::Linear(linear), limits), size));
        }
    }
    let (size, limits) = BACKTRACKING;
    let backtracking = Backtracking::admit(&translated, size).ok_or_else(invalid)?;
    Ok((compiled(Engine::Backtracking(backtracking), limits), size))
}

fn not_a_pattern(source: &str) -> String {
    format!("\"{source}\" is not a regular expression, or too large a one")
}

/// Bytes of a pattern that a message quotes; a longer one tells a model nothing.
const MAX_QUOTED: usize = 100;

impl Pattern {
    fn mismatch(&self) -> String {
        if self.source.len() > MAX_QUOTED {
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
