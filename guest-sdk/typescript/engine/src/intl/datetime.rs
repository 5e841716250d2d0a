//! `Intl.DateTimeFormat`.

use super::data::{self, LocaleData};
use super::number;
use super::parts::{Parts, placeholders};
use super::skeleton::{Field, Generator, Item, classify, join, parse};
use super::zone::Zone;

pub(crate) struct Options {
    pub(crate) numbering: String,
    pub(crate) buddhist: bool,
    pub(crate) zone: Zone,
    /// Hour cycle as a pattern letter: `h`, `H`, `K` or `k`.
    pub(crate) hour: char,
    pub(crate) format: Format,
}

/// Requested components of a date or time, and their style.
pub(crate) enum Format {
    /// Pattern letters of the components, such as `yMMMd`.
    Skeleton(String),
    /// Date and time styles, from 0 for full to 3 for short.
    Styles(Option<usize>, Option<usize>),
}

/// The native part of `Intl.DateTimeFormat`.
pub(crate) struct DateTimeFormat {
    locale: LocaleData,
    options: Options,
    items: Vec<Item>,
    digits: Vec<char>,
}

/// A time in a zone, in the Gregorian calendar.
struct Fields {
    year: i64,
    month: usize,
    day: u32,
    weekday: usize,
    hour: u32,
    minute: u32,
    second: u32,
    millisecond: u32,
}

impl DateTimeFormat {
    pub(crate) fn new(locale: LocaleData, options: Options) -> Self {
        let dates = locale.dates();
        let calendar = if options.buddhist { &dates.generic } else { &dates.gregorian };
        let numbers = locale.numbers();
        let system = numbers
            .systems
            .iter()
            .find(|system| system.id == options.numbering)
            .unwrap_or(&numbers.systems[0]);
        let generator = || Generator::new(dates, calendar, system.decimal);
        let items = match &options.format {
            Format::Skeleton(skeleton) => generator().best(skeleton),
            Format::Styles(date, time) => {
                let date = date.map(|style| (style, parse(calendar.date_formats[style])));
                let time = time.map(|style| parse(dates.time_formats[style]));
                let items = match (date, time) {
                    (Some((style, date)), Some(time)) => join(dates.at_time_formats[style], &[&time, &date]),
                    (Some((_, items)), None) | (None, Some(items)) => items,
                    (None, None) => Vec::new(),
                };
                let own = items.iter().find_map(|item| match item {
                    Item::Field(letter @ ('h' | 'H' | 'K' | 'k'), _) => Some(*letter),
                    _ => None,
                });
                match own {
                    Some(own) if own != options.hour => generator().best(&with_hour(&items, options.hour)),
                    _ => items,
                }
            }
        };
        let items = items.into_iter().map(|item| match item {
            Item::Field('h' | 'H' | 'K' | 'k', count) => Item::Field(options.hour, count),
            item => item,
        });
        let digits = number::digits(&options.numbering);
        Self { locale, items: items.collect(), options, digits }
    }

    /// Returns the name of the time zone.
    pub(crate) fn zone(&self) -> &str {
        self.options.zone.name()
    }

    /// Returns letter and count of each field of the pattern, such as `M3`, for `resolvedOptions`.
    pub(crate) fn fields(&self) -> Vec<String> {
        let fields = self.items.iter().filter_map(|item| match item {
            Item::Field(letter, count) => Some(format!("{letter}{count}")),
            Item::Literal(_) => None,
        });
        fields.collect()
    }

    /// Formats a time in milliseconds since 1970.
    pub(crate) fn format(&self, time: f64) -> Parts {
        let fields = Fields::of(time, self.options.zone.offset(time).seconds);
        let mut parts = Parts::default();
        self.write(&self.items, &fields, time, &mut parts);
        parts
    }

    fn write(&self, items: &[Item], fields: &Fields, time: f64, parts: &mut Parts) {
        for item in items {
            match item {
                Item::Literal(text) => parts.push("literal", text),
                Item::Field(letter, count) => {
                    let (kind, text) = self.field(*letter, *count, fields, time);
                    parts.push(kind, &text);
                }
            }
        }
    }

    fn field(&self, letter: char, count: usize, fields: &Fields, time: f64) -> (&'static str, String) {
        let dates = self.locale.dates();
        // Index into names: wide, abbreviated, narrow.
        let width = match count {
            0..=3 => 1,
            4 => 0,
            _ => 2,
        };
        let year = if self.options.buddhist { fields.year + 543 } else { fields.year };
        let name = |names: &[Vec<&'static str>; 3], index: usize| {
            names[width].get(index).map_or(String::new(), |name| (*name).to_owned())
        };
        match letter {
            'G' if self.options.buddhist => ("era", String::from(self.buddhist_era(width))),
            'G' => ("era", name(&dates.eras, usize::from(year > 0))),
            'y' | 'u' | 'Y' | 'r' => {
                let year = if year > 0 { year } else { 1 - year };
                let shown = if count == 2 { year % 100 } else { year };
                ("year", self.number(shown, if count == 1 { 1 } else { count }))
            }
            'Q' | 'q' => ("literal", name(&dates.quarters, fields.month / 3)),
            'M' | 'L' if count <= 2 => {
                ("month", self.number(i64::try_from(fields.month + 1).unwrap_or_default(), count))
            }
            'M' => ("month", name(&dates.months, fields.month)),
            'L' => ("month", name(&dates.months_alone, fields.month)),
            'd' => ("day", self.number(i64::from(fields.day), count)),
            'E' | 'c' | 'e' if count == 6 => {
                ("weekday", dates.days_short[usize::from(letter == 'c')][fields.weekday].to_owned())
            }
            'c' => ("weekday", name(&dates.days_alone, fields.weekday)),
            'E' | 'e' => ("weekday", name(&dates.days, fields.weekday)),
            'a' => ("dayPeriod", self.period(width, if fields.hour < 12 { "am" } else { "pm" })),
            'b' => ("dayPeriod", self.period(width, half_day(fields))),
            'B' => ("dayPeriod", self.period(width, self.flexible_period(fields))),
            'h' => ("hour", self.number(i64::from((fields.hour + 11) % 12 + 1), count)),
            'H' => ("hour", self.number(i64::from(fields.hour), count)),
            'K' => ("hour", self.number(i64::from(fields.hour % 12), count)),
            'k' => ("hour", self.number(i64::from((fields.hour + 23) % 24 + 1), count)),
            'm' => ("minute", self.number(i64::from(fields.minute), count)),
            's' => ("second", self.number(i64::from(fields.second), count)),
            'S' => {
                let text = format!("{:03}", fields.millisecond);
                ("fractionalSecond", self.localized(&text[..count.min(3)]))
            }
            'z' | 'v' | 'O' => (
                "timeZoneName",
                self.options.zone.display(letter, count >= 4, time, self.locale, &self.digits),
            ),
            _ => ("literal", String::new()),
        }
    }

    fn buddhist_era(&self, width: usize) -> &'static str {
        match (self.locale.language(), width) {
            ("th", 0) => "พุทธศักราช",
            ("th", _) => "พ.ศ.",
            _ => "BE",
        }
    }

    fn period(&self, width: usize, period: &str) -> String {
        let names = &self.locale.dates().periods[width];
        let of = |wanted: &str| {
            names.iter().find(|(known, _)| *known == wanted).map(|(_, name)| (*name).to_owned())
        };
        of(period)
            .or_else(|| {
                of(if matches!(period, "midnight" | "am" | "morning1" | "morning2" | "night2") {
                    "am"
                } else {
                    "pm"
                })
            })
            .unwrap_or_default()
    }

    fn flexible_period(&self, fields: &Fields) -> &'static str {
        let Some(rules) = data::find(&data::supplemental().day_periods, self.locale.language()) else {
            return half_day(fields);
        };
        let hour = u8::try_from(fields.hour).unwrap_or_default();
        let exact = rules.iter().find(|(_, from, before)| {
            from == before && *from == hour && fields.minute == 0 && fields.second == 0
        });
        let within = |from: u8, before: u8| {
            if from < before {
                (from..before).contains(&hour)
            } else {
                from != before && (hour >= from || hour < before)
            }
        };
        exact
            .or_else(|| rules.iter().find(|(_, from, before)| within(*from, *before)))
            .map_or(half_day(fields), |(period, _, _)| period)
    }

    fn number(&self, number: i64, width: usize) -> String {
        self.localized(&format!("{number:0width$}"))
    }

    fn localized(&self, text: &str) -> String {
        text.chars()
            .map(|letter| letter.to_digit(10).map_or(letter, |digit| self.digits[digit as usize]))
            .collect()
    }

    /// Formats the range from `start` to `end`. Also returns the source of each part: one of the two, or
    /// both.
    pub(crate) fn format_range(&self, start: f64, end: f64) -> (Parts, Vec<&'static str>) {
        let of = |time| Fields::of(time, self.options.zone.offset(time).seconds);
        let first = of(start);
        let second = of(end);
        let difference = self.difference(&first, &second);
        let one = self.format(start);
        let shared = |parts: Parts| {
            let count = parts.iter().count();
            (parts, vec!["shared"; count])
        };
        let Some(difference) = difference else { return shared(one) };

        let mut parts = Parts::default();
        let mut sources = Vec::new();
        if let Some(pattern) = self.interval(difference) {
            let cut = second_half(&pattern);
            for (index, item) in pattern.iter().enumerate() {
                let mut piece = Parts::default();
                let late = index >= cut;
                let (fields, time) = if late { (&second, end) } else { (&first, start) };
                self.write(std::slice::from_ref(item), fields, time, &mut piece);
                let source = source(&pattern, index, cut);
                for (kind, text) in piece.iter() {
                    parts.push(kind, text);
                    sources.resize(parts.iter().count(), source);
                }
            }
            return (parts, sources);
        }
        let two = self.format(end);
        for piece in placeholders(self.locale.dates().interval_fallback) {
            let (piece, source) = match piece {
                Ok(0) => (one.iter().collect::<Vec<_>>(), "startRange"),
                Ok(_) => (two.iter().collect(), "endRange"),
                Err(text) => (vec![("literal", text)], "shared"),
            };
            for (kind, text) in piece {
                parts.push(kind, text);
                sources.resize(parts.iter().count(), source);
            }
        }
        (parts, sources)
    }

    /// Returns the largest field that differs, if the pattern shows a field that does.
    fn difference(&self, first: &Fields, second: &Fields) -> Option<char> {
        let half = |fields: &Fields| fields.hour / 12;
        let largest = if (first.year > 0) != (second.year > 0) {
            'G'
        } else if first.year != second.year {
            'y'
        } else if first.month != second.month {
            'M'
        } else if first.day != second.day {
            'd'
        } else if half(first) != half(second) && matches!(self.options.hour, 'h' | 'K') {
            'a'
        } else if first.hour != second.hour {
            'H'
        } else if first.minute != second.minute {
            'm'
        } else if first.second != second.second {
            's'
        } else if first.millisecond != second.millisecond {
            'S'
        } else {
            return None;
        };
        let rank = |letter: char| classify(letter, 1).map_or(Field::Zone, |(field, _, _)| field);
        let shown = self.items.iter().any(|item| match item {
            Item::Field(letter, _) => {
                rank(*letter) >= rank(largest) && rank(*letter) != Field::Zone
                    || *letter == 'E' && rank(largest) <= Field::Day
            }
            Item::Literal(_) => false,
        });
        shown.then_some(largest)
    }

    /// Returns a pattern of CLDR for both times; `None` if the two have to be formatted separately.
    fn interval(&self, difference: char) -> Option<Vec<Item>> {
        let dates = self.locale.dates();
        let calendar = if self.options.buddhist { &dates.generic } else { &dates.gregorian };
        let letters = |keep: &dyn Fn(Field) -> bool| -> String {
            let mut fields: Vec<(Field, String)> = self
                .items
                .iter()
                .filter_map(|item| match item {
                    Item::Field(letter, count) => {
                        let letter = match letter {
                            'L' => 'M',
                            'c' | 'e' => 'E',
                            'K' => 'h',
                            'k' => 'H',
                            'z' | 'O' => 'v',
                            other => *other,
                        };
                        let (field, width, _) = classify(letter, *count)?;
                        let count =
                            if width > 0 || field == Field::Zone || field == Field::Weekday && *count <= 3 {
                                1
                            } else {
                                *count
                            };
                        (field != Field::DayPeriod && keep(field))
                            .then(|| (field, letter.to_string().repeat(count)))
                    }
                    Item::Literal(_) => None,
                })
                .collect();
            fields.sort();
            fields.into_iter().map(|(_, letters)| letters).collect()
        };
        let find = |skeleton: &str| {
            let mut letter = if difference == 'H' && skeleton.contains('h') { 'h' } else { difference };
            if letter == 'a' && !skeleton.contains('h') {
                letter = 'H';
            }
            let exact = data::find(&calendar.intervals, skeleton);
            let near = || {
                calendar
                    .intervals
                    .iter()
                    .filter_map(|(known, patterns)| {
                        Some((Generator::interval_distance(skeleton, known)?, patterns))
                    })
                    .min_by_key(|(distance, _)| *distance)
                    .map(|(_, patterns)| patterns)
            };
            let patterns = exact.or_else(near)?;
            patterns.iter().find(|(of, _)| of.starts_with(letter)).map(|(_, pattern)| parse(pattern))
        };
        let all = letters(&|_| true);
        let date = letters(&|field| field < Field::DayPeriod);
        let time = letters(&|field| field > Field::DayPeriod);
        let pattern = if date.is_empty() || time.is_empty() {
            find(&all)?
        } else if matches!(difference, 'a' | 'H' | 'm') {
            let date: Vec<Item> = Generator::new(dates, calendar, ".")
                .best(&letters_of(&self.items, |field| field < Field::DayPeriod));
            join(dates.date_time_formats[3], &[&find(&time)?, &date])
        } else {
            return None;
        };
        Some(self.with_widths(pattern))
    }

    /// Gives the fields of an interval pattern the widths of the pattern for a single time.
    fn with_widths(&self, pattern: Vec<Item>) -> Vec<Item> {
        let width = |field: Field, numeric: bool| {
            self.items.iter().find_map(|item| match item {
                Item::Field(letter, count) => {
                    let (own, width, _) = classify(*letter, *count)?;
                    (own == field && (width > 0) == numeric).then_some((*letter, *count))
                }
                Item::Literal(_) => None,
            })
        };
        let adjusted = pattern.into_iter().map(|item| {
            let Item::Field(letter, count) = item else { return item };
            let Some((field, kind, _)) = classify(letter, count) else { return item };
            match width(field, kind > 0) {
                Some((own, own_count)) => {
                    let letter = if field == Field::Zone || field == Field::Hour { own } else { letter };
                    Item::Field(letter, if kind > 0 { count } else { own_count })
                }
                None => item,
            }
        });
        adjusted.collect()
    }
}

/// Returns the letters of those fields of a pattern that `keep` accepts.
fn letters_of(items: &[Item], keep: impl Fn(Field) -> bool) -> String {
    items
        .iter()
        .filter_map(|item| match item {
            Item::Field(letter, count) => {
                let (field, _, _) = classify(*letter, *count)?;
                keep(field).then(|| letter.to_string().repeat(*count))
            }
            Item::Literal(_) => None,
        })
        .collect()
}

/// Returns the letters of the fields with another hour cycle.
fn with_hour(items: &[Item], hour: char) -> String {
    letters_of(items, |field| field != Field::DayPeriod)
        .chars()
        .map(|letter| if matches!(letter, 'h' | 'H' | 'K' | 'k') { hour } else { letter })
        .collect()
}

/// Returns the index at which an interval pattern first repeats a field.
fn second_half(pattern: &[Item]) -> usize {
    let field = |item: &Item| match item {
        Item::Field(letter, count) => classify(*letter, *count).map(|(field, _, _)| field),
        Item::Literal(_) => None,
    };
    (0..pattern.len())
        .find(|index| {
            field(&pattern[*index])
                .is_some_and(|own| pattern[..*index].iter().any(|item| field(item) == Some(own)))
        })
        .unwrap_or(pattern.len())
}

fn source(pattern: &[Item], index: usize, cut: usize) -> &'static str {
    let field = |item: &Item| match item {
        Item::Field(letter, count) => classify(*letter, *count).map(|(field, _, _)| field),
        Item::Literal(_) => None,
    };
    let repeated = |at: usize| {
        field(&pattern[at]).is_some_and(|own| {
            pattern.iter().enumerate().any(|(other, item)| other != at && field(item) == Some(own))
        })
    };
    let first = (0..cut).find(|at| repeated(*at)).unwrap_or(cut);
    let first_end = (0..cut).rev().find(|at| repeated(*at)).map_or(cut, |at| at + 1);
    let last = (cut..pattern.len()).rev().find(|at| repeated(*at)).map_or(cut, |at| at + 1);
    if (first..first_end).contains(&index) {
        "startRange"
    } else if (cut..last).contains(&index) {
        "endRange"
    } else {
        "shared"
    }
}

fn half_day(fields: &Fields) -> &'static str {
    match (fields.hour, fields.minute, fields.second) {
        (12, 0, 0) => "noon",
        (0..12, _, _) => "am",
        _ => "pm",
    }
}

impl Fields {
    fn of(time: f64, offset: i32) -> Self {
        // Times in JavaScript are within 8.64e15 ms.
        #[allow(clippy::cast_possible_truncation, reason = "bounded by the range of Date")]
        let time = time.floor() as i64 + i64::from(offset) * 1000;
        let days = time.div_euclid(86_400_000);
        let milliseconds = time.rem_euclid(86_400_000);
        // Days of a year that begins in March, in eras of 400 years.
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = (month + 2) % 12;
        let small = |number: i64| u32::try_from(number).unwrap_or_default();
        Self {
            year: year_of_era + era * 400 + i64::from(month < 2),
            month: usize::try_from(month).unwrap_or_default(),
            day: small(day),
            weekday: usize::try_from((days + 4).rem_euclid(7)).unwrap_or_default(),
            hour: small(milliseconds / 3_600_000),
            minute: small(milliseconds / 60_000 % 60),
            second: small(milliseconds / 1000 % 60),
            millisecond: small(milliseconds % 1000),
        }
    }
}
