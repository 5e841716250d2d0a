//! View of the reply to a call. All its content comes from the toolkit, and is bounded.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kitbag_access::values::dispatch::{ErrorCode, Failure, Reply, Success};
use kitbag_base::bounded_json::{self, Beginning};
use kitbag_manifest::content::{Content, Media, ResourceBody};
use serde_json::Value;

use crate::ui::schema_form::Mistakes;
use crate::ui::text;

/// Maximum bytes shown of a text.
const MAX_SHOWN_BYTES: usize = 256 << 10;
/// Maximum number of content blocks shown.
const MAX_BLOCKS: usize = 100;
/// Maximum bytes of one image, and of all images, shown.
const MAX_IMAGE_BYTES: usize = 2 << 20;
const MAX_IMAGES_BYTES: usize = 4 << 20;
/// Image types that every browser decodes, without any that can contain scripts.
const RASTER_TYPES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];

/// View model of a reply.
#[expect(clippy::struct_excessive_bools, reason = "they answer different questions")]
pub(super) struct ShownReply {
    /// Duration of the call, as text.
    pub(super) time: String,
    /// Outcome of the call.
    pub(super) summary: &'static str,
    pub(super) is_failure: bool,
    pub(super) is_retryable: bool,
    /// Missing secrets that caused the failure.
    pub(super) missing: Vec<String>,
    /// Whether connecting an account may fix the failure.
    pub(super) needs_account: bool,
    /// Whether a consent of the user may fix the failure.
    pub(super) needs_consent: bool,
    /// Violations of the input schema, each as `pointer: message`.
    violations: Vec<String>,
    pub(super) text: Shown,
    pub(super) structured: Option<Shown>,
    pub(super) blocks: Vec<Block>,
    /// Number of blocks that are not shown.
    pub(super) left_out: usize,
}

/// The beginning of a text.
pub(super) struct Shown {
    pub(super) text: String,
    /// Size of the omitted rest: `1.4 kB more`, or `The rest` if unknown; `None` if all is shown.
    pub(super) rest: Option<String>,
}

/// Content block besides the text.
pub(super) enum Block {
    Image {
        source: String,
        label: String,
    },
    Document {
        uri: String,
        label: String,
        text: Shown,
    },
    /// Any other block, with its type and size, or its name.
    Other {
        label: String,
    },
}

impl ShownReply {
    pub(super) fn of(reply: Reply, time: Duration) -> Self {
        let time = text::duration(time);
        match reply {
            Reply::Success(success) => Self::succeeded(success, time),
            Reply::Failure(failure) => Self::failed(failure, time),
        }
    }

    fn succeeded(Success { text, structured, content, .. }: Success, time: String) -> Self {
        let left_out = content.len().saturating_sub(MAX_BLOCKS);
        let mut room = MAX_IMAGES_BYTES;
        Self {
            time,
            summary: "The tool has answered.",
            is_failure: false,
            is_retryable: false,
            missing: Vec::new(),
            needs_account: false,
            needs_consent: false,
            violations: Vec::new(),
            text: Shown::lines(&text),
            structured: structured.as_ref().map(Shown::json),
            blocks: content.into_iter().take(MAX_BLOCKS).map(|it| Block::of(it.content, &mut room)).collect(),
            left_out,
        }
    }

    fn failed(failure: Failure, time: String) -> Self {
        let summary = match failure.envelope.code {
            ErrorCode::ToolError => "The call has failed.",
            ErrorCode::InvalidParams => "The arguments do not fit the tool.",
        };
        Self {
            time,
            summary,
            is_failure: true,
            is_retryable: failure.envelope.retryable,
            violations: failure.violations,
            text: Shown::lines(&failure.envelope.error),
            needs_account: failure.needs_account,
            needs_consent: failure.needs_consent,
            missing: failure.missing_secrets,
            structured: None,
            blocks: Vec::new(),
            left_out: 0,
        }
    }

    /// Error message for each argument. The text of the failure contains all of them too.
    pub(super) fn mistakes(&self) -> Mistakes {
        let pairs = self.violations.iter().filter_map(|violation| violation.split_once(": "));
        pairs
            .filter(|(pointer, _)| pointer.starts_with('/') && pointer.len() > 1)
            .map(|(pointer, message)| (pointer.to_owned(), message.to_owned()))
            .collect()
    }
}

impl Shown {
    /// Creates a text with its line ends.
    fn lines(text: &str) -> Self {
        let end = text.floor_char_boundary(MAX_SHOWN_BYTES);
        let rest = (end < text.len()).then(|| format!("{} more", text::size((text.len() - end) as u64)));
        Self { text: text::shown_lines(&text[..end]).into_owned(), rest }
    }

    /// Formats a value as indented JSON.
    pub(super) fn json(value: &Value) -> Self {
        let Beginning { text, is_whole } = bounded_json::beginning(value, MAX_SHOWN_BYTES);
        let rest = (!is_whole).then(|| "The rest".to_owned());
        Self { text: text::shown_json(&text).into_owned(), rest }
    }
}

impl Block {
    /// Converts a block; `room` is the remaining number of bytes for images.
    fn of(content: Content, room: &mut usize) -> Self {
        match content {
            Content::Image(media) => Self::image(&media, room),
            Content::Audio(media) => Self::Other { label: sized(&media.media_type, media.data.len()) },
            Content::Resource(document) => {
                let media_type = document.media_type.as_deref().unwrap_or("no type");
                match document.body {
                    ResourceBody::Text(text) => Self::Document {
                        label: sized(media_type, text.len()),
                        uri: document.uri,
                        text: Shown::lines(&text),
                    },
                    ResourceBody::Blob(bytes) => {
                        Self::Other { label: format!("{}: {}", document.uri, sized(media_type, bytes.len())) }
                    }
                }
            }
            Content::Link(link) => Self::Other { label: format!("{}: {}", link.name, link.uri) },
        }
    }

    /// Converts an image; its type is detected from the bytes, whatever the toolkit declares.
    fn image(Media { data, media_type }: &Media, room: &mut usize) -> Self {
        let label = sized(media_type, data.len());
        let found = infer::get(data).map(|it| it.mime_type()).filter(|found| RASTER_TYPES.contains(found));
        match (found, room.checked_sub(data.len())) {
            (Some(found), Some(rest)) if data.len() <= MAX_IMAGE_BYTES => {
                *room = rest;
                Self::Image { source: format!("data:{found};base64,{}", STANDARD.encode(data)), label }
            }
            _ => Self::Other { label },
        }
    }
}

fn sized(media_type: &str, bytes: usize) -> String {
    format!("{media_type}, {}", text::size(bytes as u64))
}

#[cfg(test)]
mod tests {
    use kitbag_manifest::reply;
    use serde_json::json;

    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    fn image(data: &[u8], media_type: &str) -> Content {
        Content::image(data, media_type)
    }

    fn answer(content: Vec<Content>) -> ShownReply {
        let content = content.into_iter().map(Into::into).collect();
        let success = Success { text: "done".to_owned(), content, ..Success::default() };
        ShownReply::of(Reply::Success(success), Duration::from_millis(7))
    }

    #[test]
    fn only_what_is_a_raster_image_by_its_bytes_is_shown_as_one() {
        let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>";
        let large = [PNG, &vec![0; MAX_IMAGE_BYTES]].concat();
        let content = vec![
            image(PNG, "text/html"),
            image(svg, "image/png"),
            image(svg, "image/svg+xml"),
            image(b"<!doctype html><script>", "image/png"),
            image(&large, "image/png"),
            image(b"", "image/png"),
        ];

        let blocks = answer(content).blocks;

        let Block::Image { source, label } = &blocks[0] else { panic!("the first is a PNG") };
        assert!(source.starts_with("data:image/png;base64,iVBORw0KGgo"), "{source}");
        assert_eq!(label, "text/html, 16 B");
        assert!(blocks[1..].iter().all(|block| matches!(block, Block::Other { .. })));
    }

    #[test]
    fn what_a_page_shows_of_a_reply_is_bounded() {
        let half = [PNG, &vec![0; MAX_IMAGE_BYTES - PNG.len()]].concat();
        let mut content = vec![image(&half, "image/png"); 4];
        content.resize(MAX_BLOCKS + 5, image(PNG, "image/png"));
        let images = answer(content);
        let shown = images.blocks.iter().filter(|block| matches!(block, Block::Image { .. })).count();
        assert_eq!((images.blocks.len(), images.left_out), (MAX_BLOCKS, 5));
        assert_eq!(shown, MAX_IMAGES_BYTES / MAX_IMAGE_BYTES);

        let long = Shown::lines(&"é".repeat(MAX_SHOWN_BYTES));
        assert_eq!((long.text.len(), long.rest.as_deref()), (MAX_SHOWN_BYTES, Some("262.1 kB more")));
        let nested = Shown::json(&(0..100).fold(json!(vec![1; 10_000]), |inner, _| json!([inner])));
        assert_eq!((nested.text.len(), nested.rest.as_deref()), (MAX_SHOWN_BYTES, Some("The rest")));
        let short = Shown::json(&json!({ "a": "\u{202e}" }));
        assert_eq!((short.text.as_str(), short.rest), ("{\n  \"a\": \"\\u202e\"\n}", None));
    }

    #[test]
    fn violations_are_found_by_their_argument() {
        let violations = ["/a: is odd", "/tags/1: is no text; it is a number", "/: \"b\" is required"];
        let violations = violations.map(str::to_owned).to_vec();
        let envelope = reply::Failure::invalid_params(&violations);
        let failure = Failure { violations, ..envelope.into() };

        let mistakes = ShownReply::of(Reply::Failure(failure), Duration::ZERO).mistakes();

        assert_eq!(mistakes.keys().collect::<Vec<_>>(), ["/a", "/tags/1"]);
        assert_eq!((&*mistakes["/a"], &*mistakes["/tags/1"]), ("is odd", "is no text; it is a number"));
        let other = reply::Failure::tool_error("Invalid arguments: /a: is odd");
        assert!(ShownReply::of(Reply::Failure(other.into()), Duration::ZERO).mistakes().is_empty());
    }
}
