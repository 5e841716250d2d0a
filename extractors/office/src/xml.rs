//! XML as a sequence of tags and text. Entities that a document declares are not expanded, and nothing is loaded.

use std::borrow::Cow;

use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::bindings::exports::kitbag::extractor::extraction::ExtractError;

/// A tag or a piece of text. Names are without their namespaces.
pub(crate) enum Node<'x> {
    /// Also of an empty element, before its [`End`](Self::End).
    Start(Tag<'x>),
    End(String),
    Text(Cow<'x, str>),
}

/// A start tag.
pub(crate) struct Tag<'x>(BytesStart<'x>);

/// Reads a document in sequence.
pub(crate) struct Nodes<'x>(Reader<&'x [u8]>);

impl<'x> Nodes<'x> {
    pub(crate) fn of(document: &'x str) -> Self {
        let mut reader = Reader::from_str(document);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        Self(reader)
    }

    /// Returns the next tag or text; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Node<'x>>, ExtractError> {
        loop {
            let event = self.0.read_event();
            return Ok(Some(match event.map_err(|error| ExtractError::Damaged(error.to_string()))? {
                Event::Start(tag) => Node::Start(Tag(tag)),
                Event::End(tag) => Node::End(tag.local_name().as_ref().to_owned()),
                Event::Text(text) => Node::Text(text.into_inner()),
                Event::CData(text) => Node::Text(text.into_inner()),
                Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                    Ok(Some(character)) => Node::Text(character.to_string().into()),
                    _ => Node::Text(resolve_predefined_entity(&reference).unwrap_or_default().into()),
                },
                Event::Eof => return Ok(None),
                _ => continue,
            }));
        }
    }

    /// Number of bytes that were read.
    pub(crate) fn position(&self) -> usize {
        self.0.buffer_position() as usize
    }

    /// Skips what is in an element, of which the start tag was read, and its end tag.
    pub(crate) fn skip(&mut self, name: &str) -> Result<(), ExtractError> {
        let mut open = 1_usize;
        while open > 0 {
            match self.next()? {
                Some(Node::Start(tag)) if tag.name() == name => open += 1,
                Some(Node::End(end)) if end == name => open -= 1,
                None => break,
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the text in an element, of which the start tag was read.
    pub(crate) fn text(&mut self, name: &str) -> Result<String, ExtractError> {
        let mut text = String::new();
        while let Some(node) = self.next()? {
            match node {
                Node::Text(piece) => text.push_str(&piece),
                Node::End(end) if end == name => break,
                _ => {}
            }
        }
        Ok(text)
    }
}

impl Tag<'_> {
    pub(crate) fn name(&self) -> &str {
        self.0.local_name().into_inner()
    }

    /// Returns the value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        // Whether names are unique is not checked: it takes time quadratic in their number.
        let mut attributes = self.0.attributes();
        let attribute = attributes
            .with_checks(false)
            .filter_map(Result::ok)
            .find(|attribute| attribute.key.local_name().into_inner() == name)?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        Some(value.map_or_else(|_| attribute.value.to_string(), Cow::into_owned))
    }
}
