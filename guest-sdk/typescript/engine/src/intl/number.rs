//! `Intl.NumberFormat`: rounding by `fixed_decimal`, patterns and symbols from CLDR.

use std::str::FromStr;

use fixed_decimal::{
    Decimal, FloatPrecision, RoundingIncrement, Sign, SignedRoundingMode, UnsignedRoundingMode,
};
use icu_plurals::PluralRuleType;

use super::data::{self, LocaleData, System};
use super::parts::{Parts, placeholders};
use super::pattern::{Affix, Pattern};
use super::plural::Plurals;

/// Maximum digits of a formatted number: a short text such as "1e30000" would be formatted with all its
/// digits.
const MAX_DIGITS: i16 = 2000;

/// A number to format.
pub(crate) enum Number {
    NaN,
    Infinity(Sign),
    Finite(Decimal),
}

impl Number {
    pub(crate) fn from_f64(number: f64) -> Self {
        if number.is_nan() {
            return Self::NaN;
        }
        let sign = if number.is_sign_negative() { Sign::Negative } else { Sign::None };
        match Decimal::try_from_f64(number, FloatPrecision::RoundTrip) {
            Ok(decimal) => Self::Finite(decimal),
            Err(_) => Self::Infinity(sign),
        }
    }

    /// Reads a decimal literal or `Infinity`; anything else, and a number that is too long, is `NaN`.
    pub(crate) fn from_text(text: &str) -> Self {
        match text {
            "Infinity" | "+Infinity" => Self::Infinity(Sign::None),
            "-Infinity" => Self::Infinity(Sign::Negative),
            "" => Self::from_f64(0.0),
            _ => match Decimal::from_str(text) {
                Ok(decimal) if decimal.absolute.nonzero_magnitude_start() < MAX_DIGITS => {
                    Self::Finite(decimal)
                }
                _ => Self::NaN,
            },
        }
    }
}

/// Options for the number of digits.
#[derive(Clone)]
pub(crate) struct Digits {
    pub(crate) integer: i16,
    /// Minimum and maximum number of fraction digits.
    pub(crate) fraction: (i16, i16),
    pub(crate) significant: (i16, i16),
    pub(crate) rounding: Rounding,
    pub(crate) mode: SignedRoundingMode,
    /// Rounding increment: 1, 2, 5, … 5000.
    pub(crate) increment: u16,
    pub(crate) strip_if_integer: bool,
}

/// Digit option that determines rounding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    Fraction,
    Significant,
    MorePrecision,
    LessPrecision,
}

impl Digits {
    pub(crate) fn round(&self, number: &Decimal) -> Decimal {
        let mut rounded = match self.rounding {
            Rounding::Fraction => self.by_fraction(number),
            Rounding::Significant => self.by_significance(number),
            Rounding::MorePrecision | Rounding::LessPrecision => {
                let start =
                    if number.absolute.is_zero() { 0 } else { number.absolute.nonzero_magnitude_start() };
                let by_significance = start - self.significant.1 + 1;
                let significant = by_significance <= -self.fraction.1;
                if significant == (self.rounding == Rounding::MorePrecision) {
                    self.by_significance(number)
                } else {
                    self.by_fraction(number)
                }
            }
        };
        if self.strip_if_integer {
            rounded.absolute.trim_end_if_integer();
        }
        rounded.absolute.pad_start(self.integer);
        rounded
    }

    fn by_fraction(&self, number: &Decimal) -> Decimal {
        let mut rounded = number.clone();
        let (zeros, increment) = match self.increment {
            increment if increment % 1000 == 0 => (3, increment / 1000),
            increment if increment % 100 == 0 => (2, increment / 100),
            increment if increment % 10 == 0 => (1, increment / 10),
            increment => (0, increment),
        };
        let increment = match increment {
            2 => RoundingIncrement::MultiplesOf2,
            5 => RoundingIncrement::MultiplesOf5,
            25 => RoundingIncrement::MultiplesOf25,
            _ => RoundingIncrement::MultiplesOf1,
        };
        rounded.round_with_mode_and_increment(zeros - self.fraction.1, self.mode, increment);
        rounded.absolute.trim_end();
        rounded.absolute.pad_end(-self.fraction.0);
        rounded.absolute.trim_start();
        rounded
    }

    fn by_significance(&self, number: &Decimal) -> Decimal {
        let mut rounded = number.clone();
        if !rounded.absolute.is_zero() {
            let start = rounded.absolute.nonzero_magnitude_start();
            rounded.round_with_mode(start - self.significant.1 + 1, self.mode);
        }
        let start = if rounded.absolute.is_zero() { 0 } else { rounded.absolute.nonzero_magnitude_start() };
        rounded.absolute.trim_end();
        rounded.absolute.pad_end((start - self.significant.0 + 1).min(0));
        rounded.absolute.trim_start();
        rounded
    }
}

/// The style of a number.
pub(crate) enum Style {
    Decimal,
    Percent,
    Currency {
        code: String,
        display: CurrencyDisplay,
        accounting: bool,
    },
    /// A unit, and the index of its width: long, short or narrow.
    Unit {
        unit: String,
        width: usize,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CurrencyDisplay {
    Code,
    Symbol,
    NarrowSymbol,
    Name,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    Standard,
    Scientific,
    Engineering,
    CompactShort,
    CompactLong,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignDisplay {
    Auto,
    Never,
    Always,
    ExceptZero,
    Negative,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grouping {
    Never,
    Auto,
    Always,
    MinTwo,
}

pub(crate) struct Options {
    pub(crate) numbering: String,
    pub(crate) style: Style,
    pub(crate) notation: Notation,
    pub(crate) sign: SignDisplay,
    pub(crate) grouping: Grouping,
    pub(crate) digits: Digits,
}

/// The native part of `Intl.NumberFormat`.
pub(crate) struct NumberFormat {
    locale: LocaleData,
    options: Options,
    system: &'static System,
    digits: Vec<char>,
    min_grouping: usize,
    pattern: Pattern,
    /// Power of ten, plural category and pattern.
    compact: &'static [(u8, &'static str, &'static str)],
    currency: Option<&'static str>,
    plurals: Option<Plurals>,
}

impl NumberFormat {
    pub(crate) fn new(locale: LocaleData, mut options: Options) -> Self {
        let numbers = locale.numbers();
        let of = |id: &str| numbers.systems.iter().find(|system| system.id == id);
        let system = of(&options.numbering).or_else(|| of("latn")).unwrap_or(&numbers.systems[0]);
        // The percent sign is placed by the locale's pattern, also for the unit `percent`.
        let percentage = match &options.style {
            Style::Unit { unit, width } => unit == "percent" && *width > 0,
            style => matches!(style, Style::Percent),
        };
        let pattern = Pattern::parse(match &options.style {
            _ if percentage => system.percent_pattern,
            Style::Decimal
            | Style::Percent
            | Style::Unit { .. }
            | Style::Currency { display: CurrencyDisplay::Name, .. } => system.decimal_pattern,
            Style::Currency { accounting: true, .. } => system.accounting_pattern,
            Style::Currency { .. } => system.currency_pattern,
        });
        let money =
            matches!(&options.style, Style::Currency { display, .. } if *display != CurrencyDisplay::Name);
        let compact: &[_] = match options.notation {
            Notation::CompactShort | Notation::CompactLong if money => &system.compact_currency,
            Notation::CompactShort => &system.compact_short,
            Notation::CompactLong => &system.compact_long,
            _ => &[],
        };
        let currency = match &mut options.style {
            Style::Currency { code, display, .. } => symbol(locale, code, *display),
            _ => None,
        };
        let named = matches!(
            options.style,
            Style::Unit { .. } | Style::Currency { display: CurrencyDisplay::Name, .. }
        );
        let plurals =
            (named || !compact.is_empty()).then(|| Plurals::new(locale.name(), PluralRuleType::Cardinal));
        let min_grouping = usize::from(numbers.min_grouping);
        let digits = digits(&options.numbering);
        Self { locale, options, system, digits, min_grouping, pattern, compact, currency, plurals }
    }

    pub(crate) fn format(&self, number: &Number) -> Parts {
        let (sign, exponent, rounded) = match number {
            Number::NaN => (Sign::None, 0, None),
            Number::Infinity(sign) => (*sign, 0, None),
            Number::Finite(decimal) => {
                let mut decimal = decimal.clone();
                if matches!(self.options.style, Style::Percent) {
                    decimal.absolute.multiply_pow10(2);
                }
                let (exponent, rounded) = self.round(&decimal);
                (decimal.sign(), exponent, Some(rounded))
            }
        };
        let zero =
            rounded.as_ref().map_or(matches!(number, Number::NaN), |rounded| rounded.absolute.is_zero());
        let sign = shown_sign(self.options.sign, sign, zero);

        let mut digits = Parts::default();
        match (&rounded, number) {
            (Some(rounded), _) => self.digits(rounded, exponent, &mut digits),
            (None, Number::NaN) => digits.push("nan", self.system.nan),
            (None, _) => digits.push("infinity", self.system.infinity),
        }
        let category = match (&self.plurals, &rounded) {
            (Some(plurals), Some(rounded)) => plurals.category(rounded),
            _ => "other",
        };
        self.with_symbols(&digits, sign, exponent, rounded.as_ref(), category)
    }

    /// Returns the number rounded as it is shown.
    pub(crate) fn rounded(&self, number: &Number) -> Option<Decimal> {
        match number {
            Number::Finite(decimal) => Some(self.round(decimal).1),
            _ => None,
        }
    }

    /// Puts signs, symbols and units around the digits.
    fn with_symbols(
        &self,
        digits: &Parts,
        sign: Option<Sign>,
        exponent: i16,
        rounded: Option<&Decimal>,
        category: &str,
    ) -> Parts {
        let compact = rounded.filter(|_| exponent != 0).and_then(|rounded| {
            let magnitude = rounded.absolute.nonzero_magnitude_start() + exponent;
            self.compact_pattern(magnitude, compact_category(rounded, self.compact, magnitude, category))
        });
        let inside = match &compact {
            Some(compact) => self.affixed(compact, digits, sign, true),
            None => self.affixed(&self.pattern, digits, sign, false),
        };
        match &self.options.style {
            Style::Unit { unit, width } if unit == "percent" && *width > 0 => inside,
            Style::Unit { unit, width } => self.with_unit(unit, *width, category, &inside),
            Style::Currency { code, display: CurrencyDisplay::Name, .. } => {
                let names = data::find(&self.locale.currency_names().currencies, code);
                let name = names.map_or(code.as_str(), |names| {
                    let exact = names.iter().find(|(count, _)| *count == category);
                    let other = || names.iter().find(|(count, _)| *count == "other");
                    exact.or_else(other).or(names.first()).map_or(code.as_str(), |(_, name)| name)
                });
                let mut parts = Parts::default();
                for piece in placeholders(data::plural(&self.system.currency_names, category)) {
                    match piece {
                        Ok(0) => parts.append(&inside),
                        Ok(_) => parts.push_trimmed("currency", name),
                        Err(literal) => parts.push("literal", literal),
                    }
                }
                parts
            }
            _ => inside,
        }
    }

    /// Rounds a number, and determines the exponent in notations that have one (ECMA-402, section 16.5.19).
    fn round(&self, number: &Decimal) -> (i16, Decimal) {
        let scaled = |exponent: i16| {
            let mut scaled = number.clone();
            scaled.absolute.multiply_pow10(-exponent);
            self.options.digits.round(&scaled)
        };
        if self.options.notation == Notation::Standard || number.absolute.is_zero() {
            return (0, scaled(0));
        }
        let magnitude = number.absolute.nonzero_magnitude_start();
        let exponent = self.exponent(magnitude);
        let rounded = scaled(exponent);
        if rounded.absolute.is_zero() || rounded.absolute.nonzero_magnitude_start() == magnitude - exponent {
            return (exponent, rounded);
        }
        let next = self.exponent(magnitude + 1);
        if next == exponent { (exponent, rounded) } else { (next, scaled(next)) }
    }

    fn exponent(&self, magnitude: i16) -> i16 {
        match self.options.notation {
            Notation::Standard => 0,
            Notation::Scientific => magnitude,
            Notation::Engineering => magnitude.div_euclid(3) * 3,
            Notation::CompactShort | Notation::CompactLong => {
                let Some((power, _, pattern)) = nearest(self.compact, magnitude).last() else { return 0 };
                let pattern = Pattern::parse(pattern);
                let plain = pattern.positive.0.iter().chain(&pattern.positive.1).all(is_plain);
                if plain { 0 } else { i16::from(*power) + 1 - i16::try_from(pattern.zeros).unwrap_or(1) }
            }
        }
    }

    fn compact_pattern(&self, magnitude: i16, category: &str) -> Option<Pattern> {
        let mut of_power = nearest(self.compact, magnitude);
        let other = of_power.clone().find(|(_, count, _)| *count == "other");
        of_power
            .find(|(_, count, _)| *count == category)
            .or(other)
            .map(|(_, _, pattern)| Pattern::parse(pattern))
    }

    /// Writes the digits with groups, decimal sign and exponent.
    fn digits(&self, rounded: &Decimal, exponent: i16, parts: &mut Parts) {
        let money = matches!(self.options.style, Style::Currency { .. });
        let own =
            |own: &'static str, general: &'static str| if money && !own.is_empty() { own } else { general };
        let group = own(self.system.currency_group, self.system.group);
        let range = rounded.absolute.magnitude_range();
        let start = *range.end();
        let end = *range.start();
        let digit = |magnitude: i16| self.digits[usize::from(rounded.absolute.digit_at(magnitude))];

        let count = usize::try_from(start + 1).unwrap_or(1);
        let (last, before) = self.groups(count);
        let mut integer = String::new();
        for left in (0..count).rev() {
            integer.push(digit(i16::try_from(left).unwrap_or_default()));
            if left >= last && last > 0 && (left - last).is_multiple_of(before) && left > 0 {
                parts.push("integer", &integer);
                parts.push("group", group);
                integer.clear();
            }
        }
        parts.push("integer", &integer);
        if end < 0 {
            parts.push("decimal", own(self.system.currency_decimal, self.system.decimal));
            let fraction: String = (end..0).rev().map(digit).collect();
            parts.push("fraction", &fraction);
        }
        if matches!(self.options.notation, Notation::Scientific | Notation::Engineering) {
            parts.push("exponentSeparator", self.system.exponential);
            if exponent < 0 {
                parts.push_trimmed("exponentMinusSign", self.system.minus);
            }
            let exponent = exponent.unsigned_abs().to_string();
            let digits = exponent.bytes().map(|byte| self.digits[usize::from(byte - b'0')]);
            parts.push("exponentInteger", &digits.collect::<String>());
        }
    }

    /// Returns the sizes of the last group and of those before it; the first is zero if there are no groups.
    fn groups(&self, count: usize) -> (usize, usize) {
        let least = match self.options.grouping {
            Grouping::Never => return (0, 1),
            Grouping::Auto => self.min_grouping,
            Grouping::MinTwo => self.min_grouping.max(2),
            Grouping::Always => 1,
        };
        let scientific = matches!(self.options.notation, Notation::Scientific | Notation::Engineering);
        let (size, others) = self.pattern.groups;
        if scientific || size == 0 || count < size + least { (0, 1) } else { (size, others.max(1)) }
    }

    fn affixed(&self, pattern: &Pattern, digits: &Parts, sign: Option<Sign>, compact: bool) -> Parts {
        let has = |affixes: &(Vec<Affix>, Vec<Affix>), wanted| {
            affixes.0.contains(wanted) || affixes.1.contains(wanted)
        };
        let plus_for_minus = sign == Some(Sign::Positive) && !has(&pattern.positive, &Affix::Plus);
        let negative = pattern.negative.as_ref().filter(|negative| {
            sign == Some(Sign::Negative) || (plus_for_minus && has(negative, &Affix::Minus))
        });
        let (prefix, suffix) = negative.unwrap_or(&pattern.positive);
        let mut parts = Parts::default();
        if negative.is_none() {
            self.sign(sign, &mut parts);
        }
        let literal = if compact { "compact" } else { "literal" };
        let percent = if matches!(self.options.style, Style::Percent) { "percentSign" } else { "unit" };
        let write = |affix: &[Affix], parts: &mut Parts| {
            for piece in affix {
                match piece {
                    Affix::Literal(text) => parts.push_trimmed(literal, text),
                    Affix::Minus if plus_for_minus => self.sign(sign, parts),
                    Affix::Minus => parts.push_trimmed("minusSign", self.system.minus),
                    Affix::Plus => parts.push_trimmed("plusSign", self.system.plus),
                    Affix::Percent => parts.push_trimmed(percent, self.system.percent),
                    Affix::Currency => parts.push_trimmed("currency", self.currency_text()),
                }
            }
        };
        write(prefix, &mut parts);
        if prefix.last() == Some(&Affix::Currency)
            && self.currency_text().chars().next_back().is_some_and(is_word)
        {
            parts.push("literal", "\u{a0}");
        }
        // Some compact patterns consist of a word only, such as "mille".
        if !compact || pattern.zeros > 0 {
            parts.append(digits);
        }
        if suffix.first() == Some(&Affix::Currency)
            && self.currency_text().chars().next().is_some_and(is_word)
        {
            parts.push("literal", "\u{a0}");
        }
        write(suffix, &mut parts);
        parts
    }

    fn sign(&self, sign: Option<Sign>, parts: &mut Parts) {
        match sign {
            Some(Sign::Negative) => parts.push_trimmed("minusSign", self.system.minus),
            Some(Sign::Positive) => parts.push_trimmed("plusSign", self.system.plus),
            _ => {}
        }
    }

    fn currency_text(&self) -> &str {
        match (&self.options.style, self.currency) {
            (_, Some(symbol)) => symbol,
            (Style::Currency { code, .. }, None) => code,
            _ => "",
        }
    }

    fn with_unit(&self, unit: &str, width: usize, category: &str, amount: &Parts) -> Parts {
        let units = self.locale.units();
        let mut parts = Parts::default();
        let mut fill = |pattern: &str| {
            for piece in placeholders(pattern) {
                match piece {
                    Ok(_) => parts.append(amount),
                    Err(text) => parts.push_trimmed("unit", text),
                }
            }
        };
        let of = |unit: &str| data::find(&units.units, unit).map(|widths| &widths[width]);
        if let Some((_, counts)) = of(unit) {
            fill(data::plural(counts, category));
            return parts;
        }
        let Some((numerator, denominator)) = unit.split_once("-per-") else { return parts };
        let (Some((_, counts)), Some((per, singular))) = (of(numerator), of(denominator)) else {
            return parts;
        };
        let numerator = data::plural(counts, category);
        if per.is_empty() {
            let denominator = data::plural(singular, "one").replace("{0}", "");
            let joined = units.per[width].replace("{1}", denominator.trim());
            fill(&joined.replace("{0}", numerator));
        } else {
            fill(&per.replace("{0}", numerator));
        }
        parts
    }
}

/// Returns the compact patterns of the largest power of ten that is at most `magnitude`.
fn nearest<'c>(
    compact: &'c [(u8, &'static str, &'static str)],
    magnitude: i16,
) -> impl Iterator<Item = &'c (u8, &'static str, &'static str)> + Clone {
    let power =
        compact.iter().map(|(power, _, _)| *power).filter(|power| i16::from(*power) <= magnitude).max();
    compact.iter().filter(move |(of, _, _)| Some(*of) == power)
}

/// Returns the plural category, or `1` for exactly one if the compact patterns have one for that.
fn compact_category<'c>(
    rounded: &Decimal,
    compact: &[(u8, &'static str, &'static str)],
    magnitude: i16,
    category: &'c str,
) -> &'c str {
    let one = rounded.absolute.nonzero_magnitude_start() == 0
        && rounded.absolute.digit_at(0) == 1
        && *rounded.absolute.magnitude_range().start() == 0;
    if one && nearest(compact, magnitude).any(|(_, count, _)| *count == "1") { "1" } else { category }
}

fn is_plain(affix: &Affix) -> bool {
    match affix {
        Affix::Literal(text) => {
            text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\u{200f}').is_empty()
        }
        _ => true,
    }
}

/// Returns whether a currency that has this letter next to the digits needs a space: neither a symbol nor a
/// space.
fn is_word(letter: char) -> bool {
    let symbol = matches!(letter, '$' | '¢'..='¥' | '֏' | '؋' | '৲' | '৳' | '฿' | '៛' | '\u{20a0}'..='\u{20cf}' | '﷼' | '＄' | '￥');
    !symbol && !letter.is_whitespace()
}

fn shown_sign(display: SignDisplay, sign: Sign, zero: bool) -> Option<Sign> {
    let negative = sign == Sign::Negative;
    match display {
        SignDisplay::Auto => negative.then_some(Sign::Negative),
        SignDisplay::ExceptZero if zero => None,
        SignDisplay::Always | SignDisplay::ExceptZero => {
            Some(if negative { Sign::Negative } else { Sign::Positive })
        }
        SignDisplay::Negative => (negative && !zero).then_some(Sign::Negative),
        SignDisplay::Never => None,
    }
}

fn symbol(locale: LocaleData, code: &str, display: CurrencyDisplay) -> Option<&'static str> {
    let currencies = &locale.numbers().currencies;
    let (_, symbol, narrow) =
        &currencies[currencies.binary_search_by_key(&code, |(known, _, _)| known).ok()?];
    match display {
        CurrencyDisplay::Symbol => Some(symbol),
        CurrencyDisplay::NarrowSymbol => Some(narrow),
        CurrencyDisplay::Code | CurrencyDisplay::Name => None,
    }
}

/// Returns the ten digits of a numbering system.
pub(crate) fn digits(numbering: &str) -> Vec<char> {
    data::find(&data::supplemental().digits, numbering)
        .map_or("0123456789", |digits| *digits)
        .chars()
        .collect()
}

/// Returns the number of digits after the decimal sign for a currency.
pub(crate) fn fraction_digits(code: &str) -> u8 {
    data::find(&data::supplemental().fractions, code).copied().unwrap_or(2)
}

/// Returns a rounding mode by its name in ECMA-402.
pub(crate) fn rounding_mode(name: &str) -> SignedRoundingMode {
    match name {
        "ceil" => SignedRoundingMode::Ceil,
        "floor" => SignedRoundingMode::Floor,
        "expand" => SignedRoundingMode::Unsigned(UnsignedRoundingMode::Expand),
        "trunc" => SignedRoundingMode::Unsigned(UnsignedRoundingMode::Trunc),
        "halfCeil" => SignedRoundingMode::HalfCeil,
        "halfFloor" => SignedRoundingMode::HalfFloor,
        "halfTrunc" => SignedRoundingMode::Unsigned(UnsignedRoundingMode::HalfTrunc),
        "halfEven" => SignedRoundingMode::Unsigned(UnsignedRoundingMode::HalfEven),
        _ => SignedRoundingMode::Unsigned(UnsignedRoundingMode::HalfExpand),
    }
}
