//! Columns of numbers as bytes: the size of each in bytes (`u64`), and then its numbers, all little-endian.

/// Appends a column, whose bytes `write` appends.
pub(super) fn put(bytes: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; SIZE]);
    write(bytes);
    let size = (bytes.len() - start - SIZE) as u64;
    bytes[start..start + SIZE].copy_from_slice(&size.to_le_bytes());
}

/// Appends a column of numbers.
pub(super) fn put_numbers<const N: usize>(bytes: &mut Vec<u8>, numbers: impl Iterator<Item = [u8; N]>) {
    put(bytes, |bytes| numbers.for_each(|number| bytes.extend_from_slice(&number)));
}

/// Reads columns, one after the other. Whatever a column says of its size, no more is read than there is.
pub(super) struct Columns<'a>(&'a [u8]);

const SIZE: usize = size_of::<u64>();

impl<'a> Columns<'a> {
    /// Those in `bytes`.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes of the next column; nothing where it is not whole.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let (size, rest) = self.0.split_first_chunk::<SIZE>()?;
        let size = usize::try_from(u64::from_le_bytes(*size)).ok()?;
        let (column, rest) = rest.split_at_checked(size)?;
        self.0 = rest;
        Some(column)
    }

    /// The numbers of the next column; nothing where one is not whole.
    pub(super) fn numbers<const N: usize>(&mut self) -> Option<&'a [[u8; N]]> {
        let (numbers, rest) = self.bytes()?.as_chunks::<N>();
        rest.is_empty().then_some(numbers)
    }

    /// Whether there is nothing more.
    pub(super) fn are_read(&self) -> bool {
        self.0.is_empty()
    }
}
