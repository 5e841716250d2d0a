//! Files of indexes: whatever their columns say, reading them ends with an index or with none.

use kitbag::fuzzing::documents::{index as written_again, is_index};

/// Input: the columns of a file.
///
/// Checks that what was read of an accepted file is written as a file that is read as the same, and is no longer. Any
/// bytes as a whole file, with the right hash or without, are read to an end.
pub fn index(data: &[u8]) {
    is_index(data);
    let Some(columns) = written_again(data) else { return };
    assert!(columns.len() <= data.len(), "more is written than was read");
    assert_eq!(
        written_again(&columns).as_ref(),
        Some(&columns),
        "what was written is read as something else"
    );
}
