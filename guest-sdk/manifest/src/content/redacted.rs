//! Removal of secrets from content.

use super::{
    Content, ContentAnnotations, ContentBlock, EmbeddedResource, Media, MessageContent, PromptMessage,
    ResourceBody, ResourceLink,
};
use crate::redaction::Redactor;

impl PromptMessage {
    /// Removes the values from the message.
    pub fn redact(&mut self, redactor: &Redactor) {
        match &mut self.content {
            MessageContent::Text(text) => redactor.redact_string(text),
            MessageContent::Block(block) => block.redact(redactor),
        }
    }
}

impl ContentBlock {
    /// Removes the values from the content, and annotations that contain one.
    pub fn redact(&mut self, redactor: &Redactor) {
        content(redactor, &mut self.content);
        annotations(redactor, &mut self.annotations);
    }
}

fn content(redactor: &Redactor, content: &mut Content) {
    match content {
        Content::Image(Media { data, media_type }) | Content::Audio(Media { data, media_type }) => {
            redactor.redact_bytes(data);
            redactor.redact_string(media_type);
        }
        Content::Resource(EmbeddedResource { uri, media_type, body }) => {
            redactor.redact_string(uri);
            optional(redactor, media_type);
            match body {
                ResourceBody::Text(text) => redactor.redact_string(text),
                ResourceBody::Blob(blob) => redactor.redact_bytes(blob),
            }
        }
        Content::Link(ResourceLink { uri, name, title, description, media_type, size }) => {
            *size = size.filter(|size| !redactor.is_in_number(size));
            redactor.redact_string(uri);
            redactor.redact_string(name);
            for text in [title, description, media_type] {
                optional(redactor, text);
            }
        }
    }
}

fn annotations(redactor: &Redactor, annotations: &mut ContentAnnotations) {
    let ContentAnnotations { audience: _, priority, last_modified } = annotations;
    *priority = priority.filter(|priority| !redactor.is_in_number(priority));
    last_modified.take_if(|time| {
        let given = time.clone();
        redactor.redact_string(time);
        *time != given
    });
}

fn optional(redactor: &Redactor, text: &mut Option<String>) {
    if let Some(text) = text {
        redactor.redact_string(text);
    }
}
