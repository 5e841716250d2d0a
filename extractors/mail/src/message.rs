//! One message: its header, its text, the names of what is attached, and the messages within it.

use extractor_text::Flow;
use mail_parser::{Address, Message, MimeHeaders, PartType};

/// Maximum depth of messages within messages.
const MAX_DEPTH: usize = 8;
/// Maximum number of addresses in a field of the header.
const MAX_ADDRESSES: usize = 50;
/// Maximum number of attachments that are named.
const MAX_ATTACHMENTS: usize = 200;

/// Returns whether a header says what a message has.
pub(crate) fn has_sender_or_subject(message: &Message<'_>) -> bool {
    message.from().is_some() || message.sender().is_some() || message.subject().is_some()
}

/// Adds the text of a message that is `depth` messages deep.
pub(crate) fn write(message: &Message<'_>, depth: usize, flow: &mut Flow) {
    write_header(message, flow);
    write_body(message, flow);
    write_attachments(message, flow);
    if depth == MAX_DEPTH {
        return;
    }
    for part in message.attachments() {
        if let (PartType::Message(inner), false) = (&part.body, flow.is_full()) {
            flow.paragraph();
            write(inner, depth + 1, flow);
        }
    }
}

fn write_header(message: &Message<'_>, flow: &mut Flow) {
    let mut field = |name: &str, value: &str| {
        flow.push(name);
        flow.push(" ");
        flow.push(value);
        flow.line();
    };
    if let Some(subject) = message.subject() {
        field("Subject:", subject);
    }
    for (name, addresses) in [("From:", message.from()), ("To:", message.to()), ("Cc:", message.cc())] {
        if let Some(addresses) = addresses {
            field(name, &listed(addresses));
        }
    }
    if let Some(date) = message.date().filter(|date| date.is_valid()) {
        field("Date:", &date.to_rfc3339());
    }
    flow.paragraph();
}

/// `Ana <ana@a.example>, ben@b.example`
fn listed(addresses: &Address<'_>) -> String {
    let shown = addresses.iter().take(MAX_ADDRESSES).map(|it| match (it.name(), it.address()) {
        (Some(name), Some(address)) => format!("{name} <{address}>"),
        (name, address) => name.or(address).unwrap_or_default().to_owned(),
    });
    let shown: Vec<_> = shown.collect();
    shown.join(", ")
}

/// Adds the text of a message; where it has none but in HTML, that.
fn write_body(message: &Message<'_>, flow: &mut Flow) {
    let before = flow.len();
    message.text_bodies().for_each(|part| write_part(&part.body, flow));
    if flow.len() == before {
        message.html_bodies().for_each(|part| write_part(&part.body, flow));
    }
    flow.paragraph();
}

fn write_part(part: &PartType<'_>, flow: &mut Flow) {
    match part {
        PartType::Text(text) => flow.lines(text),
        PartType::Html(page) => drop(flow.html(page)),
        _ => {}
    }
    flow.paragraph();
}

fn write_attachments(message: &Message<'_>, flow: &mut Flow) {
    let names = message.attachments().filter_map(MimeHeaders::attachment_name);
    let names: Vec<_> = names.take(MAX_ATTACHMENTS).collect();
    if !names.is_empty() {
        flow.push("Attachments: ");
        flow.push(&names.join(", "));
        flow.paragraph();
    }
}
