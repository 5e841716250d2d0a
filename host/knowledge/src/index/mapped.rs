//! Memory-mapped files: the system loads pages on use, and drops them under memory pressure.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::{Advice, Mmap};

/// Memory-mapped file.
#[derive(Clone)]
pub(super) struct Mapped(Arc<Mmap>);

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Mapped {
    /// Maps a file that nobody will modify or truncate, only replace or delete.
    #[expect(unsafe_code, reason = "a file that changes under its mapping is undefined behaviour")]
    pub(super) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: files of indexes are in a folder of mode 0700 in the data directory, which one process at a time locks. This
        // process writes each of them once, before it is mapped, and then only renames or deletes it, after which the mapping
        // still has its pages. An account that could change it meanwhile is the server's own, and could change the program too.
        Ok(Self(Arc::new(unsafe { Mmap::map(file)? })))
    }

    /// Bytes of the file, without a copy.
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::from_owner(self.clone())
    }

    /// Tells the system that part of the file has random access: otherwise it would load neighbouring pages,
    /// too.
    pub(super) fn is_used_at_random(&self, part: &Bytes) {
        let start = part.as_ptr().addr().checked_sub(self.0.as_ptr().addr());
        if let Some(start) = start.filter(|start| start + part.len() <= self.0.len() && !part.is_empty()) {
            // If the advice is refused, more pages are loaded.
            let _ = self.0.advise_range(Advice::Random, start, part.len());
        }
    }
}
