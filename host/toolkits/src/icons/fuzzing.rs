//! Entry points for `fuzz/`.

use bytes::Bytes;

use super::Picture;

/// Returns the media type with which a picture of these bytes is served; `None` if it is rejected.
pub fn picture(content: Vec<u8>) -> Option<String> {
    Picture::of(Bytes::from(content)).ok().map(|picture| picture.media_type)
}
