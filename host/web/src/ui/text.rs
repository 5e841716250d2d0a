//! Formatting of numbers, times and foreign text on pages.

use std::borrow::Cow;
use std::time::Duration;

use bytesize::ByteSize;
use jiff::Timestamp;
use kitbag_access::values::knowledge::{Quota, Usage};
use kitbag_access::values::toolkits::Provenance;
use kitbag_base::visible;

/// Foreign text on one line: invisible characters are shown as codes.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    visible::line(text)
}

/// Source and signer of a version: begins with `from`, or `said to be from`.
pub(super) fn provenance(it: &Provenance) -> String {
    visible::line(&it.told()).into_owned()
}

/// Name of the user who uploaded or requested something, or of the server itself.
pub(super) fn who(user: &str) -> Cow<'_, str> {
    if user.is_empty() { Cow::Borrowed("this server") } else { visible::line(user) }
}

/// Foreign text with its line ends; invisible characters are shown as codes.
pub(super) fn shown_lines(text: &str) -> Cow<'_, str> {
    visible::lines(text)
}

/// Foreign JSON with its line ends; invisible characters are escaped, which keeps its meaning.
pub(super) fn shown_json(json: &str) -> Cow<'_, str> {
    visible::json(json)
}

/// Formats a duration: `38 ms`, `1.2 s`.
pub(super) fn duration(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

/// Formats a size in bytes: `1.4 kB`.
pub(super) fn size(bytes: u64) -> String {
    ByteSize(bytes).display().si().to_string()
}

/// Formats an RFC 3339 time as a day: `3 Nov 2026`; returns an invalid time unchanged.
pub(super) fn day(time: &str) -> String {
    time.parse::<Timestamp>().map_or_else(|_| time.to_owned(), |time| time.strftime("%-d %b %Y").to_string())
}

/// Formats an RFC 3339 time to the minute: `3 Nov 2026, 08:15 UTC`; returns an invalid time unchanged.
pub(super) fn minute(time: &str) -> String {
    let shown = |time: Timestamp| time.strftime("%-d %b %Y, %H:%M UTC").to_string();
    time.parse::<Timestamp>().map_or_else(|_| time.to_owned(), shown)
}

/// Formats the time of day of an RFC 3339 time: `08:15:30`; returns an invalid time unchanged.
pub(super) fn clock(time: &str) -> String {
    time.parse::<Timestamp>().map_or_else(|_| time.to_owned(), |time| time.strftime("%H:%M:%S").to_string())
}

/// Formats a time in milliseconds since 1970 as a day.
pub(super) fn day_of(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).map_or_else(|_| String::new(), |time| day(&time.to_string()))
}

/// Formats what the documents of a holder take, and may take.
pub(super) fn usage(usage: Usage, quota: Quota) -> String {
    format!(
        "{} of {} documents, {} of {}",
        number(usage.documents),
        number(quota.documents),
        size(usage.bytes),
        size(quota.bytes)
    )
}

/// Formats a number with grouped digits: `12,345`.
pub(super) fn number(number: impl TryInto<u64>) -> String {
    let digits = number.try_into().unwrap_or(u64::MAX).to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a number with a noun: `1 tool`, `3 tools`, `12,345 tools`.
pub(super) fn count(count: impl TryInto<u64>, noun: &str) -> String {
    let number = number(count);
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_for_people() {
        assert_eq!(day("2026-11-03T08:15:00Z"), "3 Nov 2026");
        assert_eq!(day("soon"), "soon");
        assert_eq!(minute("2026-11-03T08:15:30Z"), "3 Nov 2026, 08:15 UTC");
        assert_eq!([clock("2026-11-03T08:15:30.5Z"), clock("soon")], ["08:15:30", "soon"]);
        assert_eq!([count(1, "tool"), count(3, "tool"), count(0, "tool")], ["1 tool", "3 tools", "0 tools"]);
        assert_eq!(
            [0, 999, 1000, 12_345, 1_234_567].map(number),
            ["0", "999", "1,000", "12,345", "1,234,567"]
        );
        assert_eq!(shown("a\u{202e}b"), r"a\u{202e}b");
        assert_eq!(size(1400), "1.4 kB");
        assert_eq!(duration(Duration::from_micros(38_900)), "38 ms");
        assert_eq!(duration(Duration::from_millis(1_240)), "1.2 s");
    }
}
