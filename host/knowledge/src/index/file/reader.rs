//! Reading of index files: integrity check, and location of columns.

use std::fs::File;
use std::io;
use std::num::NonZero;
use std::os::unix::fs::FileExt as _;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use bytes::Bytes;

use super::writer::{ALIGNMENT, PIECE, Seal, Seals, digest};

/// Largest number of threads that check a file, so that other work has processors.
const MAX_THREADS: usize = 2;

/// Whether a file of this size matches its seal. Reads it piece by piece, in constant memory.
pub(super) fn is_whole(file: &File, size: u64) -> io::Result<bool> {
    let Some(content) = size.checked_sub(size_of::<Seal>() as u64) else { return Ok(false) };
    let count = content.div_ceil(PIECE as u64);
    let digests = Mutex::new(vec![Seal::default(); usize::try_from(count).map_err(io::Error::other)?]);
    let next = AtomicU64::new(0);
    let check = || {
        let mut piece = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(());
            }
            let start = number * PIECE as u64;
            piece.resize(usize::try_from((content - start).min(PIECE as u64)).unwrap_or(PIECE), 0);
            file.read_exact_at(&mut piece, start)?;
            let digest = digest(&piece);
            let mut digests = digests.lock().unwrap_or_else(PoisonError::into_inner);
            digests[usize::try_from(number).map_err(io::Error::other)?] = digest;
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let checked: io::Result<()> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(check)).collect();
        let first = check();
        let others =
            others.into_iter().map(|it| it.join().unwrap_or_else(|_| Err(io::Error::other("a panic"))));
        others.fold(first, Result::and)
    });
    checked?;
    let mut all = Seals::default();
    digests.into_inner().unwrap_or_else(PoisonError::into_inner).iter().for_each(|digest| all.add(digest));
    let mut seal = Seal::default();
    file.read_exact_at(&mut seal, content)?;
    Ok(all.finish() == seal)
}

/// Columns of a file, of which the first begins after `start` bytes; `None` unless they cover the file
/// exactly.
pub(super) fn columns<const N: usize>(file: &Bytes, start: usize) -> Option<[Bytes; N]> {
    let content = file.len().checked_sub(size_of::<Seal>())?;
    let sizes_at = content.checked_sub(N * size_of::<u64>())?;
    let (sizes, _) = file.get(sizes_at..content)?.as_chunks::<{ size_of::<u64>() }>();
    let mut at = start;
    let mut columns = [const { Bytes::new() }; N];
    for (column, size) in columns.iter_mut().zip(sizes) {
        let first = at.checked_next_multiple_of(ALIGNMENT)?;
        at = first.checked_add(usize::try_from(u64::from_le_bytes(*size)).ok()?)?;
        if at > sizes_at {
            return None;
        }
        *column = file.slice(first..at);
    }
    (at.checked_next_multiple_of(ALIGNMENT)? == sizes_at).then_some(columns)
}

/// Numbers of a column; `None` if its size is not a multiple of theirs.
pub(super) fn numbers<const N: usize>(column: &[u8]) -> Option<&[[u8; N]]> {
    let (numbers, rest) = column.as_chunks();
    rest.is_empty().then_some(numbers)
}
