//! The locale data as `data/intl/generate.js` writes it: JSON there, deflated Postcard in the engine. `build.rs`
//! packs it with `S = String`; the engine borrows from the unpacked bytes with `S = &'static str`.

use serde::{Deserialize, Serialize};

/// A list in the order of its keys.
pub(crate) type Table<S, V> = Vec<(S, V)>;
/// A text for each plural category that the locale has for it.
pub(crate) type Counts<S> = Table<S, S>;
/// Names in the widths wide, abbreviated and narrow.
pub(crate) type Names<S> = [Vec<S>; 3];

/// Digits, symbols and patterns of numbers.
#[derive(Serialize, Deserialize)]
pub(crate) struct Numbers<S> {
    /// The numbering system that the locale uses unless told otherwise.
    pub(crate) numbering: S,
    /// The numbering system of the locale's script.
    pub(crate) native: S,
    /// Digits before the first group separator at least.
    pub(crate) min_grouping: u8,
    pub(crate) systems: Vec<System<S>>,
    /// Code, symbol and narrow symbol, where one of these is not the code itself.
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
    /// Empty where amounts of money use `decimal`.
    pub(crate) currency_decimal: S,
    /// Empty where amounts of money use `group`.
    pub(crate) currency_group: S,
    pub(crate) decimal_pattern: S,
    pub(crate) percent_pattern: S,
    pub(crate) currency_pattern: S,
    pub(crate) accounting_pattern: S,
    /// `{0} {1}`: the number and the currency's name.
    pub(crate) currency_names: Counts<S>,
    /// Power of ten, plural category, pattern.
    pub(crate) compact_short: Vec<(u8, S, S)>,
    pub(crate) compact_long: Vec<(u8, S, S)>,
    pub(crate) compact_currency: Vec<(u8, S, S)>,
    pub(crate) range: S,
}

/// Names of currencies; the plural category `""` is the name by itself.
#[derive(Serialize, Deserialize)]
pub(crate) struct CurrencyNames<S> {
    pub(crate) currencies: Table<S, Counts<S>>,
}

/// A pattern of division by the unit (empty where there is none), and patterns of amounts.
pub(crate) type UnitPatterns<S> = (S, Counts<S>);

/// Patterns of units in the widths long, short and narrow.
#[derive(Serialize, Deserialize)]
pub(crate) struct Units<S> {
    pub(crate) units: Table<S, [UnitPatterns<S>; 3]>,
    pub(crate) per: [S; 3],
}

/// What depends on the calendar.
#[derive(Serialize, Deserialize)]
pub(crate) struct Calendar<S> {
    /// Full, long, medium, short.
    pub(crate) date_formats: [S; 4],
    /// Skeleton and pattern.
    pub(crate) available: Table<S, S>,
    /// Skeleton, and a pattern for each field that is the largest to differ.
    pub(crate) intervals: Table<S, Table<S, S>>,
}

/// Names and patterns of dates and times.
#[derive(Serialize, Deserialize)]
pub(crate) struct Dates<S> {
    pub(crate) gregorian: Calendar<S>,
    /// For calendars whose years need an era.
    pub(crate) generic: Calendar<S>,
    pub(crate) months: Names<S>,
    pub(crate) months_alone: Names<S>,
    pub(crate) days: Names<S>,
    pub(crate) days_alone: Names<S>,
    pub(crate) days_short: [Vec<S>; 2],
    pub(crate) quarters: Names<S>,
    /// `am`, `pm`, `noon`, `morning1` and the like.
    pub(crate) periods: [Table<S, S>; 3],
    pub(crate) periods_alone: [Table<S, S>; 3],
    pub(crate) eras: Names<S>,
    pub(crate) time_formats: [S; 4],
    pub(crate) date_time_formats: [S; 4],
    pub(crate) at_time_formats: [S; 4],
    /// By field (`skeleton::Field`): how it joins a pattern that lacks it.
    pub(crate) append: Vec<S>,
    /// By field, for `append`.
    pub(crate) field_names: Vec<S>,
    pub(crate) interval_fallback: S,
    /// Positive and negative, such as `+HH:mm;-HH:mm`.
    pub(crate) hour_format: S,
    pub(crate) gmt_format: S,
    pub(crate) gmt_zero: S,
}

/// Long generic, standard and daylight names, then short ones; empty where there is none.
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
    /// Start, middle, end and pair; of conjunctions, disjunctions and units, each long, short and narrow.
    pub(crate) lists: Vec<[S; 4]>,
}

/// One unit of relative time in one style.
#[derive(Serialize, Deserialize)]
pub(crate) struct Relative<S> {
    /// `day`, `day-short`, `day-narrow`.
    pub(crate) name: S,
    /// Words such as "tomorrow", by their distance.
    pub(crate) fixed: Vec<(i8, S)>,
    pub(crate) future: Counts<S>,
    pub(crate) past: Counts<S>,
}

/// What no locale owns.
#[derive(Serialize, Deserialize)]
pub(crate) struct Supplemental<S> {
    /// A locale, and the one that has its data.
    pub(crate) same: Table<S, S>,
    /// Parents that are not found by leaving out subtags.
    pub(crate) parents: Table<S, S>,
    /// Ten digits of each numbering system.
    pub(crate) digits: Table<S, S>,
    pub(crate) currencies: Vec<S>,
    /// Digits after the decimal sign, where not as `DEFAULT`.
    pub(crate) fractions: Table<S, u8>,
    /// By region, or by language and region: the preferred hour letter, and the first that is allowed.
    pub(crate) hours: Vec<(S, S, S)>,
    /// By language: day period, its first hour, and the hour after its last.
    pub(crate) day_periods: Table<S, Vec<(S, u8, u8)>>,
    /// Other names of zones, and CLDR's.
    pub(crate) zone_aliases: Table<S, S>,
    /// The metazones that a zone has been in, each with its end in seconds since 1970.
    pub(crate) metazones: Table<S, Vec<(S, Option<i64>)>>,
}
