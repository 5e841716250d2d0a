//! Number formats (ISO 29500-1, section 18.8.31) of times of day, durations and numbers with a given number of digits.
//! `office_oxide` shows other numbers, and dates.

/// Maximum length of a format, in bytes. Excel takes 255 characters.
pub(super) const MAX_CODE_BYTES: usize = 1 << 9;
/// Days up to which times are shown; spreadsheets end at the year 9999.
const MAX_DAYS: f64 = 3_000_000.0;
const SECONDS_PER_DAY: f64 = 86_400.0;
/// Numbers that have each of their digits, and more.
const MAX_DIGITS: f64 = 1e15;

/// A format: sections for numbers of different size or sign.
pub(super) struct NumberFormat(Vec<Section>);

struct Section {
    condition: Option<(Comparison, f64)>,
    shape: Shape,
}

#[derive(Clone, Copy)]
enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    Unequal,
    GreaterOrEqual,
    Greater,
}

/// What a section makes of a number.
enum Shape {
    /// A date, or a number without anything peculiar.
    Other,
    /// A time of day.
    Time(Clock),
    /// A duration, of which the largest unit is not limited.
    Elapsed(Clock),
    /// A fraction, which is shown as a decimal number.
    Fraction,
    /// Digits at given places.
    Digits { pieces: Vec<Piece>, decimals: usize },
}

/// The units that are shown.
#[derive(Default)]
struct Clock {
    has_date: bool,
    hours: bool,
    minutes: bool,
    seconds: bool,
    decimals: usize,
}

#[derive(PartialEq)]
enum Piece {
    Zero,
    Optional,
    Literal(char),
}

impl NumberFormat {
    pub(super) fn compile(code: &str) -> Self {
        if code.len() > MAX_CODE_BYTES {
            return Self(Vec::new());
        }
        Self(sections(code).into_iter().map(Section::compile).collect())
    }

    /// Returns what is shown of a number, if it is of one of these kinds.
    pub(super) fn show(&self, number: f64) -> Option<String> {
        let is_conditional = self.0.iter().any(|section| section.condition.is_some());
        let position = match self.0.len() {
            _ if is_conditional => self.0.iter().position(|it| it.applies_to(number))?,
            0 => return None,
            2.. if number < 0.0 => 1,
            3.. if number == 0.0 => 2,
            _ => 0,
        };
        // The section for negative numbers has the sign among its literals.
        let shown = if position == 1 && !is_conditional { number.abs() } else { number };
        self.0[position].shape.show(shown)
    }
}

/// Splits a format at semicolons that are not literals.
fn sections(code: &str) -> Vec<&str> {
    let mut sections = Vec::new();
    let mut start = 0;
    let mut is_quoted = false;
    let mut characters = code.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' if !is_quoted => drop(characters.next()),
            ';' if !is_quoted => {
                sections.push(&code[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    sections.push(&code[start..]);
    sections
}

impl Section {
    fn compile(code: &str) -> Self {
        let mut condition = None;
        let mut pieces = Vec::new();
        let mut clock = Clock::default();
        let mut is_elapsed = false;
        let mut decimals = None;
        let mut places = 0_usize;
        let mut is_fraction = false;
        let mut is_other = code.to_ascii_lowercase().contains("general");
        let mut rest = code;
        while let Some(character) = rest.chars().next() {
            let after = &rest[character.len_utf8()..];
            rest = after;
            places += usize::from(matches!(character, '0' | '#' | '?'));
            match character {
                '"' => {
                    let (literal, after) = after.split_once('"').unwrap_or((after, ""));
                    pieces.extend(literal.chars().map(Piece::Literal));
                    rest = after;
                }
                '[' => {
                    let (directive, after) = after.split_once(']').unwrap_or((after, ""));
                    rest = after;
                    let unit = directive.chars().next().unwrap_or_default().to_ascii_lowercase();
                    let is_unit = directive.chars().all(|it| it.eq_ignore_ascii_case(&unit));
                    if is_unit && matches!(unit, 'h' | 'm' | 's') && clock.add(unit) {
                        is_elapsed = true;
                    } else if let Some(symbol) = directive.strip_prefix('$') {
                        let symbol = symbol.split('-').next().unwrap_or_default();
                        pieces.extend(symbol.chars().map(Piece::Literal));
                    } else {
                        condition = condition.or_else(|| comparison(directive));
                    }
                }
                '\\' => {
                    pieces.extend(after.chars().next().map(Piece::Literal));
                    rest = without_first(after);
                }
                // As wide as the next character, or filled with it.
                '_' | '*' => rest = without_first(after),
                'A' | 'a' if starts_with(after, "m/pm") => rest = &after["m/pm".len()..],
                'A' | 'a' if starts_with(after, "/p") => rest = &after["/p".len()..],
                '.' if clock.seconds => {
                    clock.decimals = after.bytes().take_while(|byte| *byte == b'0').count().min(3);
                    rest = after.trim_start_matches('0');
                }
                '.' if decimals.is_none() => decimals = Some(0),
                '0' if decimals.is_some() => decimals = decimals.map(|count| count + 1),
                '0' => pieces.push(Piece::Zero),
                '#' if decimals.is_none() => pieces.push(Piece::Optional),
                '/' if places > 0 && code.contains(['?', '#']) => is_fraction = true,
                ' ' | '-' | '+' | '(' | ')' | ':' | '/' | '$' => pieces.push(Piece::Literal(character)),
                _ if clock.add(character.to_ascii_lowercase()) => {}
                _ => is_other = true,
            }
        }
        let shape = match (clock.hours || clock.seconds || is_elapsed, decimals.unwrap_or_default()) {
            (true, _) if is_elapsed => Shape::Elapsed(clock),
            (true, _) => Shape::Time(clock),
            (false, _) if is_fraction && !clock.has_date && !clock.minutes => Shape::Fraction,
            (false, decimals) if !is_other && !clock.has_date && !clock.minutes && is_peculiar(&pieces) => {
                Shape::Digits { pieces, decimals }
            }
            _ => Shape::Other,
        };
        Self { condition, shape }
    }

    fn applies_to(&self, number: f64) -> bool {
        self.condition.is_none_or(|(comparison, limit)| match comparison {
            Comparison::Less => number < limit,
            Comparison::LessOrEqual => number <= limit,
            Comparison::Equal => number == limit,
            Comparison::Unequal => number != limit,
            Comparison::GreaterOrEqual => number >= limit,
            Comparison::Greater => number > limit,
        })
    }
}

/// Whether there are digits that a number may not have, or something between them.
fn is_peculiar(pieces: &[Piece]) -> bool {
    let zeros = pieces.iter().filter(|piece| **piece == Piece::Zero).count();
    let is_digit = |piece: &Piece| !matches!(piece, Piece::Literal(_));
    let first = pieces.iter().position(is_digit).unwrap_or_default();
    let last = pieces.iter().rposition(is_digit).unwrap_or_default();
    zeros > 1 || pieces[first..].iter().take(last - first).any(|piece| !is_digit(piece))
}

fn comparison(directive: &str) -> Option<(Comparison, f64)> {
    let (operator, number) = directive.split_at(directive.find(|it: char| !"<>=".contains(it))?);
    let comparison = match operator {
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        "=" => Comparison::Equal,
        "<>" => Comparison::Unequal,
        ">=" => Comparison::GreaterOrEqual,
        ">" => Comparison::Greater,
        _ => return None,
    };
    Some((comparison, number.trim().parse().ok()?))
}

fn without_first(text: &str) -> &str {
    let mut characters = text.chars();
    characters.next();
    characters.as_str()
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start))
}

impl Clock {
    /// Adds a unit, by its letter in lower case; returns whether it is one.
    fn add(&mut self, letter: char) -> bool {
        match letter {
            'h' => self.hours = true,
            // Months, without hours or seconds.
            'm' => self.minutes = true,
            's' => self.seconds = true,
            'y' | 'd' | 'e' | 'g' | 'b' => self.has_date = true,
            _ => return false,
        }
        true
    }
}

impl Shape {
    fn show(&self, number: f64) -> Option<String> {
        match self {
            Self::Other => None,
            Self::Fraction => (number.abs() < MAX_DIGITS).then(|| number.to_string()),
            Self::Time(clock) => {
                let is_time = (0.0..MAX_DAYS).contains(&number) && (number < 1.0 || !clock.has_date);
                is_time.then(|| time(number.fract(), clock))
            }
            Self::Elapsed(clock) => (number.abs() < MAX_DAYS).then(|| elapsed(number, clock)),
            Self::Digits { pieces, decimals } => {
                (number.abs() < MAX_DIGITS).then(|| digits(number, pieces, *decimals))
            }
        }
    }
}

/// A time of day of 24 hours, whichever way the format has.
fn time(days: f64, clock: &Clock) -> String {
    let (seconds, fraction) = seconds(days, clock.decimals);
    let seconds = seconds % SECONDS_PER_DAY as u64;
    let hours = seconds / 3600;
    let minutes = seconds / 60 % 60;
    let mut shown = match clock {
        Clock { hours: true, .. } => format!("{hours:02}:{minutes:02}"),
        _ => format!("{:02}", seconds / 60),
    };
    if clock.seconds {
        shown += &format!(":{:02}{fraction}", seconds % 60);
    }
    shown
}

fn elapsed(days: f64, clock: &Clock) -> String {
    let (seconds, fraction) = seconds(days.abs(), clock.decimals);
    let mut shown = if days < 0.0 { "-".to_owned() } else { String::new() };
    let units = match clock {
        Clock { hours: true, seconds: true, .. } => {
            format!("{}:{:02}:{:02}{fraction}", seconds / 3600, seconds / 60 % 60, seconds % 60)
        }
        Clock { hours: true, minutes: true, .. } => format!("{}:{:02}", seconds / 3600, seconds / 60 % 60),
        Clock { hours: true, .. } => format!("{}", seconds / 3600),
        Clock { minutes: true, seconds: true, .. } => {
            format!("{}:{:02}{fraction}", seconds / 60, seconds % 60)
        }
        Clock { minutes: true, .. } => format!("{}", seconds / 60),
        _ => format!("{seconds}{fraction}"),
    };
    shown.push_str(&units);
    shown
}

/// Whole seconds, and the decimals after them with their point.
fn seconds(days: f64, decimals: usize) -> (u64, String) {
    let scale = 10_u64.pow(decimals as u32);
    let units = (days * SECONDS_PER_DAY * scale as f64).round() as u64;
    let fraction = if decimals == 0 { String::new() } else { format!(".{:0decimals$}", units % scale) };
    (units / scale, fraction)
}

/// The digits of a number at the places of a format, from the last to the first.
fn digits(number: f64, pieces: &[Piece], decimals: usize) -> String {
    let rounded = format!("{:.*}", decimals.min(15), number.abs());
    let (whole, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
    let whole = whole.trim_start_matches('0');
    let places = pieces.iter().filter(|piece| !matches!(piece, Piece::Literal(_))).count();
    let mut missing = places.saturating_sub(whole.len());
    let mut left = whole.chars();
    let mut more = whole.len().saturating_sub(places);

    let mut shown = String::new();
    let last = pieces.iter().rposition(|piece| !matches!(piece, Piece::Literal(_)));
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Literal(literal) => shown.push(*literal),
            Piece::Zero | Piece::Optional if missing > 0 => {
                missing -= 1;
                if *piece == Piece::Zero {
                    shown.push('0');
                }
            }
            Piece::Zero | Piece::Optional => {
                shown.extend(left.by_ref().take(1 + std::mem::take(&mut more)));
            }
        }
        if Some(at) == last && !fraction.is_empty() {
            shown.push('.');
            shown.push_str(fraction);
        }
    }
    if number < 0.0 { format!("-{}", shown.trim()) } else { shown.trim().to_owned() }
}
