//! Entry points for `fuzz/`.

use bytes::Bytes;

use super::writer::Seal;
use super::{Header, PREFIX, UserIndex, encoded, read, write};
use crate::store::Revision;

/// Reads a file with these columns and sizes, a valid header and a valid seal. Returns what follows the
/// header when the index is written again.
pub fn index(columns: &[u8]) -> Option<Vec<u8>> {
    let mut file = begin();
    let start = file.len();
    file.extend_from_slice(columns);
    let (header, index) = unsealed(&file)?;
    let mut written = write(&header, &index, Vec::new()).ok()?;
    written.truncate(written.len() - size_of::<Seal>());
    Some(written.split_off(start))
}

/// Whether a file with these bytes and a valid seal can be read.
pub fn is_index(bytes: &[u8]) -> bool {
    unsealed(bytes).is_some()
}

fn unsealed(bytes: &[u8]) -> Option<(Header, UserIndex)> {
    // The seal is checked earlier, when a file is opened.
    read(&Bytes::from([bytes, &[0; size_of::<Seal>()]].concat()), &|_| {})
}

/// Prefix and header of a file.
fn begin() -> Vec<u8> {
    let model = Some("current".to_owned());
    let header = Header { holder: "ana".to_owned(), model, revision: Revision { revision: 7, removals: 2 } };
    let mut file = write(&header, &UserIndex::default(), Vec::new()).expect("the header is short");
    file.truncate(PREFIX + encoded(&header).len());
    file
}
