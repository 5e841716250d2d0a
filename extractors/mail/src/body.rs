//! The text of a part of a message, without what its format adds for programs.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{Encoding, Message, MessagePart, MimeHeaders, PartType};

use crate::calendar;

/// Bytes from which an encoding is guessed.
const MAX_SNIFFED_BYTES: usize = 64 << 10;

/// Returns whether a part is a report or a piece of a message, which are read as text.
pub(crate) fn is_report(part: &MessagePart<'_>) -> bool {
    ["delivery-status", "disposition-notification", "feedback-report", "partial"]
        .iter()
        .any(|subtype| part.is_content_type("message", subtype))
}

/// Returns the text of a part. Where its encoding is not declared, or wrongly, it is guessed from the bytes.
pub(crate) fn decoded<'p>(message: &'p Message<'_>, part: &'p MessagePart<'_>) -> Cow<'p, str> {
    let (PartType::Text(text) | PartType::Html(text)) = &part.body else { return Cow::Borrowed("") };
    if !text.contains(char::REPLACEMENT_CHARACTER) {
        return Cow::Borrowed(text);
    }
    let raw = message.raw_message.get(part.offset_body as usize..part.offset_end as usize);
    let bytes = raw.and_then(|raw| match part.encoding {
        Encoding::None => Some(raw.to_vec()),
        Encoding::QuotedPrintable => quoted_printable_decode(raw),
        Encoding::Base64 => base64_decode(raw),
    });
    bytes.map_or(Cow::Borrowed(text), |bytes| Cow::Owned(guessed(&bytes)))
}

/// Decodes text of an unknown encoding.
pub(crate) fn guessed(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    let from = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
    let telling = &bytes[from..];
    detector.feed(&telling[..telling.len().min(MAX_SNIFFED_BYTES)], true);
    detector.guess(None, Utf8Detection::Deny).decode(bytes).0.into_owned()
}

/// Returns the text of a part that is no page, as a person reads it.
pub(crate) fn plain<'t>(part: &MessagePart<'_>, text: &'t str) -> Cow<'t, str> {
    if part.is_content_type("text", "calendar") {
        return Cow::Owned(calendar::read(text));
    }
    if part.is_content_type("text", "enriched") || part.is_content_type("text", "richtext") {
        return Cow::Owned(enriched(text));
    }
    let parameter = |name| part.content_type().and_then(|it| it.attribute(name));
    match parameter("format") {
        Some(format) if format.eq_ignore_ascii_case("flowed") => {
            let deletes_space = parameter("delsp").is_some_and(|it| it.eq_ignore_ascii_case("yes"));
            Cow::Owned(unflowed(text, deletes_space))
        }
        _ => Cow::Borrowed(text),
    }
}

/// Joins the lines of each paragraph (RFC 3676, section 4).
fn unflowed(text: &str, deletes_space: bool) -> String {
    let mut joined = String::with_capacity(text.len());
    // Depth of quotation of the paragraph that the next line continues.
    let mut continued = None;
    for line in text.lines() {
        let content = line.trim_start_matches('>');
        let depth = line.len() - content.len();
        let content = content.strip_prefix(' ').unwrap_or(content);
        if continued != Some(depth) {
            if !joined.is_empty() && !joined.ends_with('\n') {
                joined.push('\n');
            }
            joined.push_str(&line[..depth]);
            if depth > 0 {
                joined.push(' ');
            }
        }
        // `-- ` begins a signature.
        let is_flowed = content.ends_with(' ') && content != "-- ";
        if is_flowed && deletes_space {
            let content = &content[..content.len() - 1];
            // A word was divided: its hyphen is not part of it.
            let divided = content.strip_suffix('-').filter(|it| it.ends_with(char::is_alphabetic));
            joined.push_str(divided.unwrap_or(content));
        } else {
            joined.push_str(content);
        }
        if !is_flowed {
            joined.push('\n');
        }
        continued = is_flowed.then_some(depth);
    }
    joined
}

/// Removes the commands of enriched text (RFC 1896): `<bold>`, with `<<` for a bracket. One line end is a space, and of
/// several the first is left out.
fn enriched(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_parameter = false;
    while let Some(at) = rest.find('<') {
        let (before, command) = rest.split_at(at);
        if !is_parameter {
            plain.push_str(before);
        }
        if let Some(after) = command.strip_prefix("<<") {
            plain.push('<');
            rest = after;
            continue;
        }
        let Some((name, after)) = command[1..].split_once('>') else {
            rest = command;
            break;
        };
        if name.eq_ignore_ascii_case("param") {
            is_parameter = true;
        } else if name.eq_ignore_ascii_case("/param") {
            is_parameter = false;
        }
        rest = after;
    }
    plain.push_str(rest);
    plain
}
