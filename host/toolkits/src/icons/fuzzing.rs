//! Entry points for `fuzz/`.

use bytes::Bytes;

use super::Picture;

/// The media type under which a picture with these bytes is shown; `None` if it is left out.
pub fn picture(content: Vec<u8>) -> Option<String> {
    Picture::of(Bytes::from(content)).ok().map(|picture| picture.media_type)
}
