//! Writer for the columns of a file: hashes them in pieces, and keeps no column in memory.

use std::io::{self, Write};

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Size of a hashed piece, in bytes: pieces are checked by several threads.
pub(super) const PIECE: usize = 1 << 20;
/// Alignment of columns, so that groups of sketches do not cross cache lines.
pub(super) const ALIGNMENT: usize = 64;

/// Hash of everything before it.
pub(super) type Seal = [u8; size_of::<u128>()];

/// Sequential writer of columns.
pub(super) struct Writer<W> {
    out: W,
    piece: Vec<u8>,
    seal: Seals,
    written: u64,
    sizes: Vec<u64>,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W) -> Self {
        let piece = Vec::with_capacity(PIECE);
        Self { out, piece, seal: Seals::default(), written: 0, sizes: Vec::new() }
    }

    /// Writes a column.
    pub(super) fn column(&mut self, write: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.align()?;
        let start = self.written;
        write(self)?;
        self.sizes.push(self.written - start);
        Ok(())
    }

    /// Writes a column of numbers.
    pub(super) fn numbers<const N: usize>(
        &mut self,
        numbers: impl Iterator<Item = [u8; N]>,
    ) -> io::Result<()> {
        self.column(|out| numbers.into_iter().try_for_each(|number| out.write_all(&number)))
    }

    /// Ends the file: writes the sizes of its columns and the seal.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.align()?;
        let sizes = std::mem::take(&mut self.sizes);
        sizes.into_iter().try_for_each(|size| self.write_all(&size.to_le_bytes()))?;
        self.end_piece()?;
        self.out.write_all(&self.seal.finish())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn align(&mut self) -> io::Result<()> {
        let gap = self.written.next_multiple_of(ALIGNMENT as u64) - self.written;
        (0..gap).try_for_each(|_| self.write_all(&[0]))
    }

    fn end_piece(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            self.seal.add(&digest(&self.piece));
            self.out.write_all(&self.piece)?;
            self.piece.clear();
        }
        Ok(())
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        self.written += taken as u64;
        if self.piece.len() == PIECE {
            self.end_piece()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Hash of a piece.
pub(super) fn digest(piece: &[u8]) -> Seal {
    xxh3_128(piece).to_le_bytes()
}

/// Combines the hashes of all pieces into one.
#[derive(Default)]
pub(super) struct Seals(Xxh3);

impl Seals {
    pub(super) fn add(&mut self, digest: &Seal) {
        self.0.update(digest);
    }

    pub(super) fn finish(&self) -> Seal {
        self.0.digest128().to_le_bytes()
    }
}
