//! Finds the pattern for a set of date and time fields, as described in UTS #35, part 4, section 2.6.2.2
//! ("Matching Skeletons") and implemented in ICU's `DateTimePatternGenerator`.

use super::data::{Calendar, Dates};
use super::parts::placeholders;

/// Fields in the order of ICU, which is also the order of `Dates::append`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Field {
    Era,
    Year,
    Quarter,
    Month,
    WeekOfYear,
    WeekOfMonth,
    Weekday,
    Day,
    DayOfYear,
    DayOfWeekInMonth,
    DayPeriod,
    Hour,
    Minute,
    Second,
    FractionalSecond,
    Zone,
}

const FIELDS: usize = 16;
const NUMERIC: i32 = 0x100;
const DELTA: i32 = 0x10;
const NARROW: i32 = -0x101;
const SHORTER: i32 = -0x102;
const SHORT: i32 = -0x103;
const LONG: i32 = -0x104;
const MISSING: i32 = 0x1000;
const EXTRA: i32 = 0x10000;

/// An element of a pattern: a field's letter with its repetition count, or a literal text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Field(char, usize),
    Literal(String),
}

/// Parses a date pattern, including quotes.
pub(crate) fn parse(pattern: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut letters = pattern.chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        if letter == '\'' {
            if letters.next_if_eq(&'\'').is_none() {
                quoted = !quoted;
                continue;
            }
        } else if !quoted && letter.is_ascii_alphabetic() {
            match items.last_mut() {
                Some(Item::Field(last, count)) if *last == letter => *count += 1,
                _ => items.push(Item::Field(letter, 1)),
            }
            continue;
        }
        match items.last_mut() {
            Some(Item::Literal(text)) => text.push(letter),
            _ => items.push(Item::Literal(letter.to_string())),
        }
    }
    items
}

/// Returns the field of a pattern letter, ICU's measure of its width, and the minimum count for that width.
pub(crate) fn classify(letter: char, count: usize) -> Option<(Field, i32, usize)> {
    let text = |shift: i32| match count {
        0..=3 => (SHORT - shift, 3),
        4 => (LONG - shift, 4),
        5 => (NARROW - shift, 5),
        _ => (SHORTER - shift, 6),
    };
    let number = |shift: i32| (NUMERIC + shift + i32::try_from(count).unwrap_or(0), 1);
    let (field, (width, least)) = match letter {
        'G' => (Field::Era, {
            let (width, least) = text(0);
            (width, if least == 3 { 1 } else { least })
        }),
        'y' => (Field::Year, number(0)),
        'Y' => (Field::Year, number(DELTA)),
        'u' | 'r' => (Field::Year, number(2 * DELTA)),
        'Q' if count <= 2 => (Field::Quarter, number(0)),
        'Q' => (Field::Quarter, text(0)),
        'q' if count <= 2 => (Field::Quarter, number(DELTA)),
        'q' => (Field::Quarter, text(DELTA)),
        'M' if count <= 2 => (Field::Month, number(0)),
        'M' => (Field::Month, text(0)),
        'L' if count <= 2 => (Field::Month, number(DELTA)),
        'L' => (Field::Month, text(DELTA)),
        'w' => (Field::WeekOfYear, number(0)),
        'W' => (Field::WeekOfMonth, number(0)),
        'E' => (Field::Weekday, {
            let (width, least) = text(0);
            (width, if least == 3 { 1 } else { least })
        }),
        'c' if count <= 2 => (Field::Weekday, number(2 * DELTA)),
        'c' => (Field::Weekday, text(2 * DELTA)),
        'e' if count <= 2 => (Field::Weekday, number(DELTA)),
        'e' => (Field::Weekday, text(DELTA)),
        'd' => (Field::Day, number(0)),
        'D' => (Field::DayOfYear, number(0)),
        'F' => (Field::DayOfWeekInMonth, number(0)),
        'a' => (Field::DayPeriod, {
            let (width, least) = text(0);
            (width, if least == 3 { 1 } else { least })
        }),
        'b' => (Field::DayPeriod, {
            let (width, least) = text(DELTA);
            (width, if least == 3 { 1 } else { least })
        }),
        'B' => (Field::DayPeriod, {
            let (width, least) = text(3 * DELTA);
            (width, if least == 3 { 1 } else { least })
        }),
        'h' => (Field::Hour, number(0)),
        'K' => (Field::Hour, number(DELTA)),
        'H' => (Field::Hour, number(10 * DELTA)),
        'k' => (Field::Hour, number(11 * DELTA)),
        'm' => (Field::Minute, number(0)),
        's' => (Field::Second, number(0)),
        'S' => (Field::FractionalSecond, number(0)),
        'v' => (Field::Zone, if count < 4 { (SHORT - 2 * DELTA, 1) } else { (LONG - 2 * DELTA, 4) }),
        'z' => (Field::Zone, if count < 4 { (SHORT, 1) } else { (LONG, 4) }),
        'O' => (Field::Zone, if count < 4 { (SHORT - DELTA, 1) } else { (LONG - DELTA, 4) }),
        _ => return None,
    };
    Some((field, width, least))
}

/// The fields of a pattern or of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Skeleton {
    widths: [i32; FIELDS],
    /// Letter and count; `None` if the field is missing.
    original: [Option<(char, usize)>; FIELDS],
    /// Whether the day period (AM or PM) was added because of the hour cycle and not requested.
    added_period: bool,
}

impl Skeleton {
    fn of(items: &[Item]) -> Self {
        let mut skeleton = Self::default();
        for item in items {
            let Item::Field(letter, count) = item else { continue };
            let Some((field, width, _)) = classify(*letter, *count) else { continue };
            skeleton.original[field as usize] = Some((*letter, *count));
            skeleton.widths[field as usize] = width;
        }
        let period = Field::DayPeriod as usize;
        match skeleton.original[Field::Hour as usize] {
            Some(('h' | 'K', _)) if skeleton.original[period].is_none() => {
                skeleton.original[period] = Some(('a', 1));
                skeleton.widths[period] = SHORT;
                skeleton.added_period = true;
            }
            Some(('H' | 'k', _)) => {
                skeleton.original[period] = None;
                skeleton.widths[period] = 0;
            }
            _ => {}
        }
        skeleton
    }

    /// Returns the letters with minimum counts: patterns with the same base are variants of each other.
    fn base(&self) -> String {
        let mut base = String::new();
        for (letter, count) in self.original.iter().flatten() {
            let least = classify(*letter, *count).map_or(1, |(_, _, least)| least);
            base.extend(std::iter::repeat_n(*letter, least));
        }
        base
    }

    fn mask(&self) -> u32 {
        (0..FIELDS).filter(|field| self.widths[*field] != 0).fold(0, |mask, field| mask | 1 << field)
    }

    /// Returns the distance of the pattern's fields from the wanted ones, and the mask of missing fields.
    fn distance(&self, include: u32, pattern: &Self) -> (i32, u32) {
        let mut distance = 0;
        let mut missing = 0;
        for field in 0..FIELDS {
            let wanted = if include & 1 << field == 0 { 0 } else { self.widths[field] };
            let found = pattern.widths[field];
            if wanted == found {
                continue;
            }
            if wanted == 0 {
                distance += EXTRA;
            } else if found == 0 {
                distance += MISSING;
                missing |= 1 << field;
            } else {
                distance += (wanted - found).abs();
            }
        }
        (distance, missing)
    }
}

struct Entry {
    base: String,
    skeleton: Skeleton,
    pattern: Vec<Item>,
    /// Whether the skeleton comes from a table and was not derived from the pattern.
    specified: bool,
}

/// The patterns of one locale and calendar.
pub(crate) struct Generator {
    dates: &'static Dates,
    entries: Vec<Entry>,
    decimal: &'static str,
}

impl Generator {
    pub(crate) fn new(dates: &'static Dates, calendar: &'static Calendar, decimal: &'static str) -> Self {
        let mut generator = Self { dates, entries: Vec::new(), decimal };
        for letter in ["G", "y", "Q", "M", "w", "W", "E", "d", "D", "F", "a", "H", "m", "s", "S", "v"] {
            generator.add(None, letter, false);
        }
        for (date, time) in calendar.date_formats.iter().zip(&dates.time_formats) {
            generator.add(None, date, false);
            generator.add(None, time, false);
        }
        for (skeleton, pattern) in &calendar.available {
            generator.add(Some(skeleton), pattern, true);
        }
        // ICU searches them by first letter.
        generator.entries.sort_by_key(|entry| entry.base.bytes().next());
        generator
    }

    fn add(&mut self, skeleton: Option<&str>, pattern: &str, replace: bool) {
        let pattern = parse(pattern);
        let specified = skeleton.is_some();
        let skeleton = Skeleton::of(&skeleton.map_or_else(|| pattern.clone(), parse));
        let base = skeleton.base();
        if !replace && self.entries.iter().any(|entry| entry.base == base) {
            return;
        }
        let entry = Entry { base, skeleton, pattern, specified };
        match self.entries.iter_mut().find(|known| known.skeleton.original == entry.skeleton.original) {
            Some(known) if replace => *known = entry,
            Some(_) => {}
            None => self.entries.push(entry),
        }
    }

    /// Returns the pattern for the fields of `skeleton`, such as `yMMMd`.
    pub(crate) fn best(&self, skeleton: &str) -> Vec<Item> {
        let wanted = Skeleton::of(&parse(skeleton));
        let all = wanted.mask();
        let (found, missing) = self.nearest(&wanted, u32::MAX);
        if missing == 0 {
            return adjust(found, &wanted);
        }
        let dates_mask = (1 << Field::DayPeriod as u32) - 1;
        let date = self.joined(&wanted, all & dates_mask);
        let time = self.joined(&wanted, all & !dates_mask);
        match (date, time) {
            (Some(date), Some(time)) => {
                let style = match wanted.original[Field::Month as usize] {
                    Some(('M' | 'L', 4)) if wanted.original[Field::Weekday as usize].is_some() => 0,
                    Some(('M' | 'L', 4)) => 1,
                    Some(('M' | 'L', 3)) => 2,
                    _ => 3,
                };
                join(self.dates.at_time_formats[style], &[&time, &date])
            }
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => Vec::new(),
        }
    }

    fn nearest(&self, wanted: &Skeleton, include: u32) -> (&Entry, u32) {
        let mut best: Option<(&Entry, i32, u32)> = None;
        for entry in &self.entries {
            let (distance, missing) = wanted.distance(include, &entry.skeleton);
            if best.is_none_or(|(_, least, _)| distance < least) {
                best = Some((entry, distance, missing));
            }
        }
        let (entry, _, missing) = best.expect("there are patterns of single fields");
        (entry, missing)
    }

    /// Returns a pattern for the fields of `mask`, composed of several patterns if none has all fields.
    fn joined(&self, wanted: &Skeleton, mask: u32) -> Option<Vec<Item>> {
        if mask == 0 {
            return None;
        }
        let seconds = 1 << Field::Second as u32 | 1 << Field::FractionalSecond as u32;
        let fraction = 1 << Field::FractionalSecond as u32;
        let (found, mut missing) = self.nearest(wanted, mask);
        let mut result = adjust(found, wanted);
        while missing != 0 {
            if missing & seconds == fraction && mask & seconds == seconds {
                result = self.with_fraction(result, wanted);
                missing &= !fraction;
                continue;
            }
            let before = missing;
            let (found, left) = self.nearest(wanted, missing);
            let part = adjust(found, wanted);
            missing = left;
            let added = before & !left;
            if added == 0 {
                break;
            }
            let top = usize::try_from(added.ilog2()).unwrap_or_default();
            let name = vec![Item::Literal(String::from(self.dates.field_names[top]))];
            result = join(self.dates.append[top], &[&result, &part, &name]);
        }
        Some(result)
    }

    fn with_fraction(&self, items: Vec<Item>, wanted: &Skeleton) -> Vec<Item> {
        let count = wanted.original[Field::FractionalSecond as usize].map_or(1, |(_, count)| count);
        let mut result = Vec::new();
        for item in items {
            let second = matches!(item, Item::Field('s', _));
            result.push(item);
            if second {
                result.push(Item::Literal(String::from(self.decimal)));
                result.push(Item::Field('S', count));
            }
        }
        result
    }
}

/// Gives the pattern's fields the requested widths.
fn adjust(entry: &Entry, wanted: &Skeleton) -> Vec<Item> {
    let adjusted = entry.pattern.iter().map(|item| {
        let Item::Field(letter, count) = item else { return item.clone() };
        let Some((field, width, _)) = classify(*letter, *count) else { return item.clone() };
        let Some((wanted_letter, mut wanted_count)) = wanted.original[field as usize] else {
            return item.clone();
        };
        if wanted_letter == 'E' && wanted_count < 3 {
            wanted_count = 3;
        }
        let mut length = wanted_count;
        if matches!(field, Field::Minute | Field::Second) {
            length = *count;
        } else if entry.specified && !matches!(wanted_letter, 'c' | 'e') {
            let known = entry.skeleton.original[field as usize].map_or(0, |(_, count)| count);
            let known = if wanted_letter == 'E' && (1..3).contains(&known) { 3 } else { known };
            let numeric = width > 0;
            let wanted_numeric = wanted.widths[field as usize] > 0;
            if known == wanted_count || numeric != wanted_numeric {
                length = *count;
            }
        }
        let keeps = matches!(field, Field::Hour | Field::Month | Field::Weekday)
            || (field == Field::Year && wanted_letter != 'Y')
            || (field == Field::DayPeriod && wanted.added_period);
        let letter = if keeps { *letter } else { wanted_letter };
        let length = if field == Field::DayPeriod && wanted.added_period { *count } else { length };
        Item::Field(if letter == 'E' && length < 3 { 'e' } else { letter }, length)
    });
    adjusted.collect()
}

/// Inserts patterns into a text such as `{1} 'at' {0}`.
pub(crate) fn join(pattern: &str, arguments: &[&[Item]]) -> Vec<Item> {
    let mut items = Vec::new();
    for piece in placeholders(pattern) {
        match piece {
            Ok(number) => items.extend(arguments.get(number).copied().unwrap_or_default().iter().cloned()),
            Err(text) => items.extend(parse(text)),
        }
    }
    items
}

impl Generator {
    /// Returns the distance of an interval's skeleton, for `formatRange`; `None` if fields are missing or
    /// superfluous.
    pub(crate) fn interval_distance(wanted: &str, skeleton: &str) -> Option<i32> {
        let wanted = Skeleton::of(&parse(wanted));
        let found = Skeleton::of(&parse(skeleton));
        let (distance, missing) = wanted.distance(u32::MAX, &found);
        (missing == 0 && distance < MISSING).then_some(distance)
    }
}
