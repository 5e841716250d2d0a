//! One message: its header, its text, the names of what is attached, attached texts, and the messages within it.

use extractor_text::{Flow, Syntax};
use mail_parser::{Address, Message, MessagePart, MimeHeaders, PartType};

use crate::body;

/// Maximum depth of messages within messages.
const MAX_DEPTH: usize = 8;
/// Maximum depth of parts within parts; deeper ones are not read.
const MAX_PART_DEPTH: usize = 32;
/// Maximum number of addresses in a field of the header.
const MAX_ADDRESSES: usize = 50;
/// Maximum number of attachments that are named.
const MAX_ATTACHMENTS: usize = 200;
/// A plain text says too little if the page that it stands for has so many times as many bytes.
const TOO_LITTLE: usize = 2;

/// Adds the text of a message that is `depth` messages deep.
pub(crate) fn write(message: &Message<'_>, depth: usize, flow: &mut Flow) {
    write_header(message, flow);
    let mut parts = Parts { message, attached: Vec::new(), inner: Vec::new() };
    if let Some(root) = message.parts.first() {
        parts.write(root, 0, flow);
    }
    flow.paragraph();
    let Parts { attached, inner, .. } = parts;
    write_names(message, flow);
    for part in attached {
        write_text(message, part, flow);
        flow.paragraph();
    }
    for message in inner {
        if depth < MAX_DEPTH && !flow.is_full() {
            flow.paragraph();
            write(message, depth + 1, flow);
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

fn write_names(message: &Message<'_>, flow: &mut Flow) {
    let names = message.parts.iter().filter_map(MimeHeaders::attachment_name);
    let names: Vec<_> = names.take(MAX_ATTACHMENTS).collect();
    if !names.is_empty() {
        flow.push("Attachments: ");
        flow.push(&names.join(", "));
        flow.paragraph();
    }
}

/// The parts of a message that are written later than where they stand.
struct Parts<'m> {
    message: &'m Message<'m>,
    attached: Vec<&'m MessagePart<'m>>,
    inner: Vec<&'m Message<'m>>,
}

impl<'m> Parts<'m> {
    fn write(&mut self, part: &'m MessagePart<'m>, depth: usize, flow: &mut Flow) {
        if flow.is_full() {
            return;
        }
        match &part.body {
            PartType::Multipart(children) if depth < MAX_PART_DEPTH => {
                let children = children.iter().filter_map(|id| self.message.part(*id)).collect::<Vec<_>>();
                if part.is_content_type("multipart", "alternative") {
                    self.write_best(&children, depth + 1, flow);
                } else {
                    children.into_iter().for_each(|child| self.write(child, depth + 1, flow));
                }
            }
            PartType::Message(inner) => self.inner.push(inner),
            _ if part.content_disposition().is_some_and(|it| it.is_attachment()) => self.attached.push(part),
            _ => write_text(self.message, part, flow),
        }
        flow.paragraph();
    }

    /// Writes the plain one of several forms of a text, unless it says too little; invitations always.
    fn write_best(&mut self, forms: &[&'m MessagePart<'m>], depth: usize, flow: &mut Flow) {
        let (events, forms): (Vec<_>, Vec<_>) =
            forms.iter().partition(|form| form.is_content_type("text", "calendar"));
        let mut best = Flow::default();
        for form in forms {
            let mut written = Flow::default();
            self.write(form, depth, &mut written);
            if written.len() > TOO_LITTLE * best.len() {
                best = written;
            }
        }
        flow.add(&best);
        events.into_iter().for_each(|event| self.write(event, depth, flow));
    }
}

/// Adds the text of a part, if it is text.
fn write_text(message: &Message<'_>, part: &MessagePart<'_>, flow: &mut Flow) {
    match &part.body {
        PartType::Html(_) => flow.page(&body::decoded(message, part), Syntax::Html),
        PartType::Text(_) => flow.lines(&body::plain(part, &body::decoded(message, part))),
        PartType::Binary(bytes) | PartType::InlineBinary(bytes) if body::is_report(part) => {
            flow.lines(&String::from_utf8_lossy(bytes));
        }
        _ => {}
    }
}
