//! Block sizes of `QuickJS` and the C library.

/// Maximum bytes of a small block, which `QuickJS` places in an arena.
const MAX_SMALL_BYTES: usize = 512;
/// Size of an arena and of its header, in bytes. All blocks of an arena have one size.
const ARENA_BYTES: usize = 4096;
const ARENA_HEAD_BYTES: usize = 24;
/// Maximum bytes that the C library adds to a block.
const OVERHEAD_BYTES: usize = 16;

/// Whether `QuickJS` places a block in an arena.
pub(super) fn is_small(size: usize) -> bool {
    size <= MAX_SMALL_BYTES
}

/// Returns the usable bytes of a block for a request of `size` bytes: of an arena's block if it is small,
/// else of a block of the C library.
pub(super) fn usable(size: usize) -> usize {
    match size {
        0..=16 => 16,
        17..=128 => size.next_multiple_of(8),
        129..=256 => size.next_multiple_of(16),
        257..=MAX_SMALL_BYTES => size.next_multiple_of(32),
        _ => usable_large(size),
    }
}

/// Returns the usable bytes of a block of the C library: with its header, it is a multiple of the alignment.
fn usable_large(size: usize) -> usize {
    const ALIGNMENT: usize = 16;
    /// Header of a block of the C library, in bytes.
    const HEADER_BYTES: usize = 4;
    let whole = size.saturating_add(HEADER_BYTES).checked_next_multiple_of(ALIGNMENT);
    whole.unwrap_or(usize::MAX) - HEADER_BYTES
}

/// Returns the maximum memory of blocks with these usable sizes, with small ones in arenas, in bytes.
pub(super) fn memory_for(sizes: impl Iterator<Item = usize>) -> usize {
    let mut small = [0_usize; MAX_SMALL_BYTES / 8 + 1];
    let mut bytes = 0;
    for size in sizes {
        if is_small(size) {
            small[size / 8] += 1;
        } else {
            bytes += size + OVERHEAD_BYTES;
        }
    }
    let arenas = small.into_iter().enumerate().skip(1).map(|(eighth, count)| {
        let blocks = (ARENA_BYTES - ARENA_HEAD_BYTES) / (eighth * 8);
        count.div_ceil(blocks) * (ARENA_BYTES + OVERHEAD_BYTES)
    });
    bytes + arenas.sum::<usize>()
}
