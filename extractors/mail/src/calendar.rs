//! Invitations (iCalendar, RFC 5545): what, when, where, and who.

/// Maximum number of lines that are read of a calendar.
const MAX_LINES: usize = 20_000;

/// Properties with the words for them.
const PROPERTIES: [(&str, &str); 9] = [
    ("SUMMARY", ""),
    ("DTSTART", "Start: "),
    ("DTEND", "End: "),
    ("DUE", "Due: "),
    ("LOCATION", "Location: "),
    ("ORGANIZER", "Organizer: "),
    ("ATTENDEE", "Attendee: "),
    ("DESCRIPTION", ""),
    ("COMMENT", ""),
];

/// Returns what a calendar says of its events and tasks, a line for each property.
pub(crate) fn read(calendar: &str) -> String {
    let mut text = String::new();
    // Alarms and time zones, which have times of their own.
    let mut skipped: Option<String> = None;
    for line in unfolded(calendar) {
        let Some((property, value)) = divided(&line) else { continue };
        let mut parameters = property.split(';');
        let name = parameters.next().unwrap_or_default().to_ascii_uppercase();
        match (&skipped, name.as_str()) {
            (None, "BEGIN") if matches!(value, "VALARM" | "VTIMEZONE") => skipped = Some(value.to_owned()),
            (None, "BEGIN") if value != "VCALENDAR" => text.push('\n'),
            (Some(component), "END") if component == value => skipped = None,
            (None, _) => {
                if let Some((_, label)) = PROPERTIES.iter().find(|(known, _)| *known == name) {
                    text.push_str(label);
                    text.push_str(&shown(&name, value, parameters));
                    text.push('\n');
                }
            }
            _ => {}
        }
    }
    text
}

/// The lines, each joined with those that continue it.
fn unfolded(calendar: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in calendar.lines().take(MAX_LINES) {
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some(last)) => last.push_str(rest),
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// The property with its parameters, and its value: a colon in quotes does not divide them.
fn divided(line: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    let colon = line.char_indices().find(|(_, character)| {
        is_quoted ^= *character == '"';
        *character == ':' && !is_quoted
    });
    colon.map(|(at, _)| (&line[..at], &line[at + 1..]))
}

fn shown<'p>(name: &str, value: &str, mut parameters: impl Iterator<Item = &'p str>) -> String {
    match name {
        "DTSTART" | "DTEND" | "DUE" => time(value),
        "ORGANIZER" | "ATTENDEE" => {
            let address = value.strip_prefix("mailto:").or(value.strip_prefix("MAILTO:")).unwrap_or(value);
            let named = parameters.find_map(|it| it.strip_prefix("CN=").or(it.strip_prefix("cn=")));
            named.map_or(address.to_owned(), |name| format!("{} <{address}>", name.trim_matches('"')))
        }
        _ => unescaped(value),
    }
}

/// `20250701T100000Z` → `2025-07-01 10:00 UTC`
fn time(value: &str) -> String {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (Some(date), rest) =
        (value.get(..8).filter(|date| is_digits(date)), value.get(8..).unwrap_or_default())
    else {
        return value.to_owned();
    };
    let mut shown = format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]);
    if let Some(time) = rest.strip_prefix('T').and_then(|time| time.get(..4)).filter(|time| is_digits(time)) {
        shown.push_str(&format!(" {}:{}", &time[..2], &time[2..]));
        if rest.ends_with('Z') {
            shown.push_str(" UTC");
        }
    }
    shown
}

fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n' | 'N') => text.push('\n'),
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text
}
