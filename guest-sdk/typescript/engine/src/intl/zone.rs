//! Time zones: offsets from the IANA database, names from CLDR.

use std::fmt::Write as _;

use tz::TimeZone;

use super::data::{self, LocaleData};

/// A time zone.
pub(crate) struct Zone {
    name: String,
    rules: TimeZone,
}

/// Offset of a zone from UTC at one time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offset {
    pub(crate) seconds: i32,
    pub(crate) daylight: bool,
}

impl Zone {
    /// Finds a zone by its IANA name in any case, or by an offset such as `+05:30`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        if let Some((canonical, seconds)) = fixed(name) {
            return Some(Self { name: canonical, rules: TimeZone::fixed(seconds).ok()? });
        }
        let (known, data) = data::time_zone(name)?;
        let utc = [
            "UTC",
            "GMT",
            "Etc/UTC",
            "Etc/GMT",
            "Etc/UCT",
            "Etc/Zulu",
            "Zulu",
            "UCT",
            "Universal",
            "Etc/Universal",
        ];
        let known = if utc.contains(&known) { "UTC" } else { known };
        Some(Self { name: known.to_owned(), rules: TimeZone::from_tz_data(&data).ok()? })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the offset at a time in milliseconds since 1970.
    pub(crate) fn offset(&self, time: f64) -> Offset {
        // Times in JavaScript are within 8.64e15 ms.
        #[allow(clippy::cast_possible_truncation, reason = "bounded by the range of Date")]
        let found = self.rules.find_local_time_type((time / 1000.0).floor() as i64);
        found.map_or(Offset { seconds: 0, daylight: false }, |found| Offset {
            seconds: found.ut_offset(),
            daylight: found.is_dst(),
        })
    }

    /// Returns the name for a pattern letter: specific for `z`, generic for `v`, an offset for `O`. The long
    /// form is for a letter that is repeated four times.
    pub(crate) fn display(
        &self,
        letter: char,
        long: bool,
        time: f64,
        locale: LocaleData,
        digits: &[char],
    ) -> String {
        let offset = self.offset(time);
        let kind = match (letter, offset.daylight) {
            ('O', _) => return gmt(offset.seconds, long, locale, digits),
            ('v', _) => 0,
            (_, false) => 1,
            (_, true) => 2,
        };
        let of = |names: &[&'static str; 6], kind: usize| names[kind + if long { 0 } else { 3 }];
        let id = canonical(&self.name);
        let zones = locale.zones();
        let own = data::find(&zones.zones, id).map(|names| of(names, kind));
        if let Some(name) = own.filter(|name| !name.is_empty()) {
            return name.to_owned();
        }
        let names = metazone(id, time).and_then(|metazone| data::find(&zones.metazones, metazone));
        if let Some(names) = names {
            let mut name = of(names, kind);
            // A zone without daylight saving time has no generic name of its own.
            if name.is_empty() && kind == 0 && !self.has_daylight(time) {
                name = of(names, 1);
            }
            if !name.is_empty() {
                return name.to_owned();
            }
        }
        gmt(offset.seconds, long, locale, digits)
    }

    /// Returns whether the zone has daylight saving time within half a year before or after.
    fn has_daylight(&self, time: f64) -> bool {
        const MONTH: f64 = 30.0 * 86_400_000.0;
        [-6.0, -3.0, 0.0, 3.0, 6.0].into_iter().any(|months| self.offset(time + months * MONTH).daylight)
    }
}

/// Formats an offset as `GMT+1`, or `GMT+01:00` if long.
fn gmt(seconds: i32, long: bool, locale: LocaleData, digits: &[char]) -> String {
    let dates = locale.dates();
    let (positive, negative) = dates.hour_format.split_once(';').unwrap_or(("+HH:mm", "-HH:mm"));
    let pattern = if seconds < 0 { negative } else { positive };
    let (sign, rest) = pattern.split_at(pattern.find('H').unwrap_or(1));
    let (separator, end) = rest.trim_start_matches('H').split_once("mm").unwrap_or((":", ""));
    let hours = seconds.unsigned_abs() / 3600;
    let minutes = seconds.unsigned_abs() / 60 % 60;
    let mut offset = sign.to_owned();
    let mut write = |number: u32, width: usize| {
        let text = format!("{number:0width$}");
        offset.extend(text.bytes().map(|byte| digits[usize::from(byte - b'0')]));
    };
    write(hours, if long { 2 } else { 1 });
    if long || minutes != 0 {
        offset.push_str(separator);
        let mut tail = String::new();
        write!(tail, "{minutes:02}").expect("writing to a string cannot fail");
        if !seconds.unsigned_abs().is_multiple_of(60) {
            write!(tail, "{separator}{:02}", seconds.unsigned_abs() % 60)
                .expect("writing to a string cannot fail");
        }
        offset.extend(
            tail.chars().map(|letter| letter.to_digit(10).map_or(letter, |digit| digits[digit as usize])),
        );
        offset.push_str(end);
    }
    dates.gmt_format.replace("{0}", &offset)
}

/// Parses an offset such as `+05:30`, `-0800` or `+09`; returns it in ECMA-402's format, and its seconds.
fn fixed(name: &str) -> Option<(String, i32)> {
    let (sign, rest) = match name.as_bytes().first()? {
        b'+' => (1, &name[1..]),
        b'-' => (-1, &name[1..]),
        _ => return None,
    };
    let digits: String = match rest.split_once(':') {
        Some((hours, minutes)) if hours.len() == 2 && minutes.len() == 2 => format!("{hours}{minutes}"),
        Some(_) => return None,
        None if rest.len() == 2 => format!("{rest}00"),
        None => rest.to_owned(),
    };
    if digits.len() != 4 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (digits[..2].parse().ok()?, digits[2..].parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let sign_text = if sign < 0 && hours + minutes > 0 { '-' } else { '+' };
    Some((format!("{sign_text}{hours:02}:{minutes:02}"), sign * (hours * 3600 + minutes * 60)))
}

/// Returns CLDR's name of a zone, which is often an older one.
fn canonical(name: &str) -> &str {
    data::find(&data::supplemental().zone_aliases, name).copied().unwrap_or(name)
}

fn metazone(id: &str, time: f64) -> Option<&'static str> {
    let uses = data::find(&data::supplemental().metazones, id)?;
    #[allow(clippy::cast_precision_loss, reason = "seconds of a calendar are exact")]
    let current = uses.iter().find(|(_, end)| end.is_none_or(|end| time < end as f64 * 1000.0));
    current.map(|(metazone, _)| *metazone)
}
