//! Content blocks of results besides the text (images, audio, documents and links), messages of prompts, and
//! contents of resources.

mod offered;
#[cfg(feature = "rules")]
mod redacted;

#[cfg(feature = "rules")]
pub use offered::messages_problem;
pub use offered::{MessageContent, PromptMessage, ResourceContents};

/// A content block of a result. Its size counts towards the size limit of the result.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentBlock {
    /// The content.
    pub content: Content,
    /// Hints for the client.
    pub annotations: ContentAnnotations,
}

/// The content of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An image.
    Image(Media),
    /// Audio.
    Audio(Media),
    /// A document embedded in the result.
    Resource(EmbeddedResource),
    /// A link to a document that the client may fetch itself.
    Link(ResourceLink),
}

/// Hints of a content block for the client, as in the Model Context Protocol.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContentAnnotations {
    /// Intended audience of the block; empty for no hint.
    pub audience: Vec<Role>,
    /// Importance of the block, from 0 (optional) to 1 (required).
    pub priority: Option<f64>,
    /// Time of the last change (RFC 3339), such as `2026-11-26T09:30:00Z`.
    pub last_modified: Option<String>,
}

/// A party of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The person who uses the client.
    User,
    /// The model.
    Assistant,
}

/// An image or audio file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// The file's bytes.
    pub data: Vec<u8>,
    /// Media type, such as `image/png`; not validated.
    pub media_type: String,
}

/// A document embedded in a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddedResource {
    /// URI that identifies the document; need not resolve.
    pub uri: String,
    /// Media type, such as `text/markdown`; not validated.
    pub media_type: Option<String>,
    /// The content of the document.
    pub body: ResourceBody,
}

/// Content of an embedded document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Binary data.
    Blob(Vec<u8>),
}

/// A link to a document that the client may fetch itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceLink {
    /// URI of the document.
    pub uri: String,
    /// Stable name, for programs.
    pub name: String,
    /// Display name, for people.
    pub title: Option<String>,
    /// Description of the document's content.
    pub description: Option<String>,
    /// Media type, such as `text/csv`; not validated.
    pub media_type: Option<String>,
    /// Size in bytes.
    pub size: Option<u64>,
}

impl ContentBlock {
    /// Creates a block without annotations.
    pub fn new(content: impl Into<Content>) -> Self {
        Self { content: content.into(), annotations: ContentAnnotations::default() }
    }

    /// Sets the intended audience of the block.
    #[must_use]
    pub fn audience(mut self, audience: impl IntoIterator<Item = Role>) -> Self {
        self.annotations.audience = audience.into_iter().collect();
        self
    }

    /// Sets the importance of the block, from 0 (optional) to 1 (required).
    #[must_use]
    pub fn priority(mut self, priority: f64) -> Self {
        self.annotations.priority = Some(priority);
        self
    }

    /// Sets the time of the last change (RFC 3339), such as `2026-11-26T09:30:00Z`.
    #[must_use]
    pub fn last_modified(mut self, time: impl Into<String>) -> Self {
        self.annotations.last_modified = Some(time.into());
        self
    }
}

impl Content {
    /// Creates an image with a media type such as `image/png`.
    pub fn image(data: impl Into<Vec<u8>>, media_type: impl Into<String>) -> Self {
        Self::Image(Media { data: data.into(), media_type: media_type.into() })
    }

    /// Creates audio with a media type such as `audio/wav`.
    pub fn audio(data: impl Into<Vec<u8>>, media_type: impl Into<String>) -> Self {
        Self::Audio(Media { data: data.into(), media_type: media_type.into() })
    }
}

impl EmbeddedResource {
    /// Creates a text document. `uri` identifies it and need not resolve.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), media_type: None, body: ResourceBody::Text(text.into()) }
    }

    /// Creates a binary document. `uri` identifies it and need not resolve.
    pub fn blob(uri: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { uri: uri.into(), media_type: None, body: ResourceBody::Blob(bytes.into()) }
    }

    /// Sets the media type, such as `text/markdown`.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }
}

impl ResourceLink {
    /// Creates a link; `name` is a stable name for programs.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            name: name.into(),
            title: None,
            description: None,
            media_type: None,
            size: None,
        }
    }

    /// Sets the display name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description of what the document contains.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the media type.
    #[must_use]
    pub fn media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Sets the size, in bytes.
    #[must_use]
    pub fn size(mut self, bytes: u64) -> Self {
        self.size = Some(bytes);
        self
    }
}

impl From<EmbeddedResource> for Content {
    fn from(resource: EmbeddedResource) -> Self {
        Self::Resource(resource)
    }
}

impl From<ResourceLink> for Content {
    fn from(link: ResourceLink) -> Self {
        Self::Link(link)
    }
}

impl<C: Into<Content>> From<C> for ContentBlock {
    fn from(content: C) -> Self {
        Self::new(content)
    }
}

#[cfg(feature = "rules")]
mod rules {
    use std::sync::LazyLock;

    use jsonschema::Validator;
    use serde_json::{Value, json};

    use super::{Content, ContentAnnotations, ContentBlock, EmbeddedResource, ResourceBody, ResourceLink};
    use crate::limits::CONTENT_OVERHEAD_BYTES;

    static DATE_TIME: LazyLock<Validator> = LazyLock::new(|| {
        let schema = json!({ "type": "string", "format": "date-time" });
        let options = jsonschema::options().should_validate_formats(true);
        options.build(&schema).expect("the schema is valid")
    });

    impl ContentBlock {
        /// Returns the block's contribution to the size of a result, in bytes: its parts, and a fixed
        /// overhead so that empty blocks count too.
        pub fn size(&self) -> usize {
            let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            let content = match &self.content {
                Content::Image(media) | Content::Audio(media) => media.data.len() + media.media_type.len(),
                Content::Resource(EmbeddedResource { uri, media_type, body }) => {
                    let body = match body {
                        ResourceBody::Text(text) => text.len(),
                        ResourceBody::Blob(bytes) => bytes.len(),
                    };
                    uri.len() + length(media_type) + body
                }
                Content::Link(ResourceLink { uri, name, title, description, media_type, size: _ }) => {
                    uri.len() + name.len() + length(title) + length(description) + length(media_type)
                }
            };
            CONTENT_OVERHEAD_BYTES + content + length(&self.annotations.last_modified)
        }
    }

    impl ContentAnnotations {
        /// Returns the name of an invalid hint and what is expected of it. Clients would refuse the whole
        /// result because of it.
        fn problem(&self) -> Option<&'static str> {
            let is_time = |text: &String| {
                !text.contains(char::is_lowercase) && DATE_TIME.is_valid(&Value::String(text.clone()))
            };
            if self.audience.len() > 2 {
                return Some("audience: names a role twice");
            }
            if self.priority.is_some_and(|priority| !(0.0..=1.0).contains(&priority)) {
                return Some("priority: must be a number from 0 to 1");
            }
            if self.last_modified.as_ref().is_some_and(|time| !is_time(time)) {
                return Some("lastModified: must be a time such as 2026-11-26T09:30:00Z");
            }
            None
        }
    }

    /// Returns the first problem of the content of a result, with its path.
    pub fn problem(content: &[ContentBlock]) -> Option<String> {
        let problem = |(index, block): (usize, &ContentBlock)| {
            let problem = block.annotations.problem()?;
            Some(format!("content[{index}].annotations.{problem}"))
        };
        content.iter().enumerate().find_map(problem)
    }

    #[cfg(test)]
    mod tests {
        use super::problem;
        use crate::content::{Content, ContentBlock, ResourceLink, Role};

        #[test]
        fn hints_that_a_client_would_refuse_are_told_with_their_path() {
            let block = || ContentBlock::new(Content::image([0], "image/png"));
            for time in ["2026-11-26T09:30:00Z", "2026-11-26T09:30:00.25+01:00"] {
                let blocks = [block().audience([Role::User]).priority(1.0).last_modified(time), block()];
                assert_eq!(problem(&blocks), None, "{time}");
            }

            for (wrong, expected) in [
                (block().priority(1.5), "priority: must be a number from 0 to 1"),
                (block().priority(f64::NAN), "priority: must be a number from 0 to 1"),
                (block().audience([Role::User; 3]), "audience: names a role twice"),
                (
                    block().last_modified("yesterday"),
                    "lastModified: must be a time such as 2026-11-26T09:30:00Z",
                ),
                (
                    block().last_modified("2026-11-26"),
                    "lastModified: must be a time such as 2026-11-26T09:30:00Z",
                ),
                (
                    block().last_modified("2026-11-26t09:30:00z"),
                    "lastModified: must be a time such as 2026-11-26T09:30:00Z",
                ),
            ] {
                assert_eq!(problem(&[block(), wrong]), Some(format!("content[1].annotations.{expected}")));
            }
        }

        #[test]
        fn every_part_counts() {
            let link = ResourceLink::new("a:b", "b").title("t").description("dd").media_type("m/m");
            let empty = ContentBlock::new(Content::image([], ""));

            assert_eq!(ContentBlock::new(link).size() - empty.size(), 3 + 1 + 1 + 2 + 3);
            assert_eq!(empty.clone().last_modified("2026-11-26T09:30:00Z").size() - empty.size(), 20);
        }
    }
}

#[cfg(feature = "rules")]
pub use rules::problem;
