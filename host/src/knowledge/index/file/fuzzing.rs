//! Entry points for `fuzz/`.

use super::{Header, UserIndex, decode, encode, seal};
use crate::knowledge::store::{Models, Revision};

/// Reads a file that ends with these columns, whose hash and header are right; returns its columns as they are written
/// again.
pub fn index(columns: &[u8]) -> Option<Vec<u8>> {
    let mut file = begin();
    let start = file.len();
    file.extend_from_slice(columns);
    seal(&mut file);
    let (header, index) = decode(&file)?;
    Some(encode(&header, &index)?.split_off(start))
}

/// Whether a file is read that has these bytes and the right hash, or no other one.
pub fn is_index(bytes: &[u8]) -> bool {
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    decode(&sealed).is_some() || decode(bytes).is_some()
}

/// Everything before the columns.
pub(super) fn begin() -> Vec<u8> {
    let models = Models { current: Some("current".to_owned()), previous: None };
    let header =
        Header { user_id: "ana".to_owned(), models, revision: Revision { revision: 7, removals: 2 } };
    let mut file = encode(&header, &UserIndex::default()).expect("the header is short");
    let end = file.iter().rposition(|byte| *byte == b'}').expect("the header is JSON");
    file.truncate(end + 1);
    file
}
