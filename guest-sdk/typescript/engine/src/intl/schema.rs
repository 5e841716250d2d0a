//! The locale data that `data/intl/generate.js` writes: JSON there, deflated Postcard in the engine.
//! `build.rs` packs it with `S = String`; the engine borrows from the unpacked bytes with `S = &'static str`.

use serde::{Deserialize, Serialize};

/// Key-value pairs sorted by key.
pub(crate) type Table<S, V> = Vec<(S, V)>;
/// A text for each plural category of the locale.
pub(crate) type Counts<S> = Table<S, S>;
/// Names in three widths: wide, abbreviated and narrow.
pub(crate) type Names<S> = [Vec<S>; 3];

/// Digits, symbols and patterns of numbers.
#[derive(Serialize, Deserialize)]
pub(crate) struct Numbers<S> {
    /// The default numbering system of the locale.
    pub(crate) numbering: S,
    /// The numbering system of the locale's script.
    pub(crate) native: S,
    /// Minimum number of digits before the first group separator.
    pub(crate) min_grouping: u8,
    pub(crate) systems: Vec<System<S>>,
    /// Code, symbol and narrow symbol, unless both symbols are the code itself.
    pub(crate) currencies: Vec<(S, S, S)>,
}

/// Symbols and patterns of one numbering system.
#[derive(Serialize, Deserialize)]
pub(crate) struct System<S> {
    pub(crate) id: S,
    pub(crate) decimal: S,
    pub(crate) group: S,
    pub(crate) percent: S,
    pub(crate) plus: S,
    pub(crate) minus: S,
    pub(crate) approximately: S,
    pub(crate) exponential: S,
    pub(crate) infinity: S,
    pub(crate) nan: S,
    /// Decimal sign of amounts of money; empty if the same as `decimal`.
    pub(crate) currency_decimal: S,
    /// Group separator of amounts of money; empty if the same as `group`.
    pub(crate) currency_group: S,
    pub(crate) decimal_pattern: S,
    pub(crate) percent_pattern: S,
    pub(crate) currency_pattern: S,
    pub(crate) accounting_pattern: S,
    /// Patterns of number and currency name, such as `{0} {1}`.
    pub(crate) currency_names: Counts<S>,
    /// Short compact patterns: power of ten, plural category, pattern.
    pub(crate) compact_short: Vec<(u8, S, S)>,
    pub(crate) compact_long: Vec<(u8, S, S)>,
    pub(crate) compact_currency: Vec<(u8, S, S)>,
    pub(crate) range: S,
}

/// Names of currencies; the plural category `""` is the name without an amount.
#[derive(Serialize, Deserialize)]
pub(crate) struct CurrencyNames<S> {
    pub(crate) currencies: Table<S, Counts<S>>,
}

/// Pattern for "per unit" (may be empty), and patterns of amounts.
pub(crate) type UnitPatterns<S> = (S, Counts<S>);

/// Patterns of units in three widths: long, short and narrow.
#[derive(Serialize, Deserialize)]
pub(crate) struct Units<S> {
    pub(crate) units: Table<S, [UnitPatterns<S>; 3]>,
    pub(crate) per: [S; 3],
}

/// Patterns that depend on the calendar.
#[derive(Serialize, Deserialize)]
pub(crate) struct Calendar<S> {
    /// Date formats in the order full, long, medium, short.
    pub(crate) date_formats: [S; 4],
    /// Available patterns, by skeleton.
    pub(crate) available: Table<S, S>,
    /// Interval patterns, by skeleton and by the largest field that differs.
    pub(crate) intervals: Table<S, Table<S, S>>,
}

/// Names and patterns of dates and times.
#[derive(Serialize, Deserialize)]
pub(crate) struct Dates<S> {
    pub(crate) gregorian: Calendar<S>,
    /// Patterns for calendars whose years need an era.
    pub(crate) generic: Calendar<S>,
    pub(crate) months: Names<S>,
    pub(crate) months_alone: Names<S>,
    pub(crate) days: Names<S>,
    pub(crate) days_alone: Names<S>,
    pub(crate) days_short: [Vec<S>; 2],
    pub(crate) quarters: Names<S>,
    /// Names of day periods: `am`, `pm`, `noon`, `morning1` and others.
    pub(crate) periods: [Table<S, S>; 3],
    pub(crate) periods_alone: [Table<S, S>; 3],
    pub(crate) eras: Names<S>,
    pub(crate) time_formats: [S; 4],
    pub(crate) date_time_formats: [S; 4],
    pub(crate) at_time_formats: [S; 4],
    /// Patterns to append a field to a pattern without it, by field (`skeleton::Field`).
    pub(crate) append: Vec<S>,
    /// Names of fields for `append`, by field.
    pub(crate) field_names: Vec<S>,
    pub(crate) interval_fallback: S,
    /// Positive and negative format of an offset, such as `+HH:mm;-HH:mm`.
    pub(crate) hour_format: S,
    pub(crate) gmt_format: S,
    pub(crate) gmt_zero: S,
}

/// Long generic, standard and daylight names, then the short ones; empty if there is no name.
pub(crate) type ZoneNames<S> = [S; 6];

/// Names of time zones.
#[derive(Serialize, Deserialize)]
pub(crate) struct Zones<S> {
    pub(crate) metazones: Table<S, ZoneNames<S>>,
    pub(crate) zones: Table<S, ZoneNames<S>>,
}

/// Patterns of relative times and lists.
#[derive(Serialize, Deserialize)]
pub(crate) struct Phrases<S> {
    pub(crate) relative: Vec<Relative<S>>,
    /// List patterns start, middle, end and pair, for conjunctions, disjunctions and units, each long, short
    /// and narrow.
    pub(crate) lists: Vec<[S; 4]>,
}

/// One unit of relative time in one style.
#[derive(Serialize, Deserialize)]
pub(crate) struct Relative<S> {
    /// Unit and style: `day`, `day-short`, `day-narrow`.
    pub(crate) name: S,
    /// Words such as "tomorrow", by their distance.
    pub(crate) fixed: Vec<(i8, S)>,
    pub(crate) future: Counts<S>,
    pub(crate) past: Counts<S>,
}

/// Data that does not belong to one locale.
#[derive(Serialize, Deserialize)]
pub(crate) struct Supplemental<S> {
    /// Locales without their own data, and the locale that has the same data.
    pub(crate) same: Table<S, S>,
    /// Parent locales that are not found by removing subtags.
    pub(crate) parents: Table<S, S>,
    /// Ten digits of each numbering system.
    pub(crate) digits: Table<S, S>,
    pub(crate) currencies: Vec<S>,
    /// Digits after the decimal sign, for currencies that differ from `DEFAULT`.
    pub(crate) fractions: Table<S, u8>,
    /// Preferred hour letter and first allowed one, by region, or by language and region.
    pub(crate) hours: Vec<(S, S, S)>,
    /// Day periods by language: name, first hour, and the hour after the last one.
    pub(crate) day_periods: Table<S, Vec<(S, u8, u8)>>,
    /// Other names of zones, with their names in CLDR.
    pub(crate) zone_aliases: Table<S, S>,
    /// Past and current metazones of each zone, with their end in seconds since 1970.
    pub(crate) metazones: Table<S, Vec<(S, Option<i64>)>>,
}
