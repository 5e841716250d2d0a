//! Tar archives (POSIX ustar) that are written as a stream, entry by entry.

use std::io;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use serde::Serialize;
use tokio::sync::mpsc::Sender;

/// Size of a block: entries fill whole ones.
const BLOCK: usize = 512;
/// Bytes per piece of the stream: what a slow reader holds in memory.
const PIECE: usize = 64 << 10;
/// Longest name of an entry, in bytes.
const MAX_NAME_BYTES: usize = 100;
/// First size that the octal digits of a header cannot express.
const MAX_OCTAL: u64 = 1 << 33;

/// Reason why an archive was not completed.
#[derive(Debug)]
pub(super) enum Incomplete {
    /// Nobody reads it any more.
    Unread,
    /// Something could not be read.
    Failed(io::Error),
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Incomplete {
    fn from(error: E) -> Self {
        Self::Failed(io::Error::other(error))
    }
}

/// An archive that is being written.
pub(super) struct Archive {
    to: Sender<io::Result<Bytes>>,
    /// Modification time of its entries, in seconds since 1970.
    time: u64,
}

impl Archive {
    pub(super) fn new(to: Sender<io::Result<Bytes>>, time: u64) -> Self {
        Self { to, time }
    }

    /// Adds a file.
    pub(super) async fn add(&self, name: &str, content: impl Into<Bytes>) -> Result<(), Incomplete> {
        let content = content.into();
        self.begin(name, content.len() as u64).await?;
        self.send(content.clone()).await?;
        self.pad(content.len() as u64).await
    }

    /// Adds a file with a value as JSON.
    pub(super) async fn add_json(&self, name: &str, value: &impl Serialize) -> Result<(), Incomplete> {
        let mut json = serde_json::to_vec_pretty(value)?;
        json.push(b'\n');
        self.add(name, json).await
    }

    /// Adds a file with each value as a line of JSON, unless there is none.
    pub(super) async fn add_lines<T: Serialize>(&self, name: &str, values: &[T]) -> Result<(), Incomplete> {
        let mut lines = Vec::new();
        for value in values {
            serde_json::to_writer(&mut lines, value)?;
            lines.push(b'\n');
        }
        if lines.is_empty() { Ok(()) } else { self.add(name, lines).await }
    }

    /// Adds a file of `size` bytes, as they are read. Fails if there are more or fewer.
    pub(super) async fn add_stream(
        &self,
        name: &str,
        size: u64,
        mut content: BoxStream<'static, io::Result<Bytes>>,
    ) -> Result<(), Incomplete> {
        self.begin(name, size).await?;
        let mut left = size;
        while let Some(piece) = content.next().await {
            let piece = piece?;
            let Some(rest) = left.checked_sub(piece.len() as u64) else { return Err(changed(name)) };
            left = rest;
            self.send(piece).await?;
        }
        if left > 0 {
            return Err(changed(name));
        }
        self.pad(size).await
    }

    /// Ends the archive: two empty blocks.
    pub(super) async fn end(&self) -> Result<(), Incomplete> {
        self.send(Bytes::from_static(&[0; 2 * BLOCK])).await
    }

    /// Reports why the archive is not completed: its reader must not take it for a whole one.
    pub(super) async fn fail(&self, error: io::Error) {
        // Nobody may read it any more.
        let _ = self.to.send(Err(error)).await;
    }

    async fn begin(&self, name: &str, size: u64) -> Result<(), Incomplete> {
        self.send(Bytes::copy_from_slice(&header(name, size, self.time))).await
    }

    async fn pad(&self, size: u64) -> Result<(), Incomplete> {
        let over = usize::try_from(size % BLOCK as u64).expect("less than a block");
        let padding = (BLOCK - over) % BLOCK;
        self.send(Bytes::from_static(&[0; BLOCK]).slice(..padding)).await
    }

    async fn send(&self, mut content: Bytes) -> Result<(), Incomplete> {
        while !content.is_empty() {
            let piece = content.split_to(content.len().min(PIECE));
            self.to.send(Ok(piece)).await.map_err(|_unread| Incomplete::Unread)?;
        }
        Ok(())
    }
}

fn changed(name: &str) -> Incomplete {
    Incomplete::Failed(io::Error::other(format!("{name} does not have the size that was stored")))
}

/// Header of a file.
fn header(name: &str, size: u64, time: u64) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    debug_assert!(name.len() <= MAX_NAME_BYTES && name.is_ascii(), "{name}");
    put(0, &name.as_bytes()[..name.len().min(MAX_NAME_BYTES)]);
    put(100, b"0000600\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    if size < MAX_OCTAL {
        put(124, format!("{size:011o}\0").as_bytes());
    } else {
        // GNU's extension for large files, which all programs read: the highest bit, and the number in binary.
        put(124, &[0x80, 0, 0, 0]);
        put(128, &size.to_be_bytes());
    }
    put(136, format!("{:011o}\0", time.min(MAX_OCTAL - 1)).as_bytes());
    // The sum counts its own field as spaces.
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use tokio::sync::mpsc::channel;

    use super::*;

    async fn written(write: impl AsyncFnOnce(&Archive) -> Result<(), Incomplete>) -> io::Result<Vec<u8>> {
        let (to, mut pieces) = channel(1 << 10);
        let archive = Archive::new(to, 1_700_000_000);
        match write(&archive).await {
            Ok(()) => archive.end().await.expect("it is read"),
            Err(Incomplete::Failed(error)) => archive.fail(error).await,
            Err(Incomplete::Unread) => panic!("it is read"),
        }
        drop(archive);
        let mut all = Vec::new();
        while let Some(piece) = pieces.recv().await {
            let piece = piece?;
            assert!(piece.len() <= PIECE);
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    fn pieces(sizes: &[usize]) -> BoxStream<'static, io::Result<Bytes>> {
        let pieces: Vec<_> = sizes.iter().map(|size| Ok(Bytes::from(vec![b'x'; *size]))).collect();
        stream::iter(pieces).boxed()
    }

    #[tokio::test]
    async fn entries_fill_whole_blocks_and_the_sum_is_that_of_the_header() {
        let archive = written(async |archive| {
            archive.add("a.txt", "wing").await?;
            archive.add_lines("none.jsonl", &[(); 0]).await?;
            archive.add("full.txt", vec![b'y'; BLOCK]).await?;
            archive.add_stream("b.bin", 100_000, pieces(&[90_000, 10_000])).await
        })
        .await
        .expect("it is complete");

        assert_eq!(archive.len(), BLOCK * (2 + 2 + 1 + 100_000_usize.div_ceil(BLOCK) + 2));
        assert_eq!((&archive[..5], &archive[124..136]), (&b"a.txt"[..], &b"00000000004\0"[..]));
        assert_eq!(&archive[BLOCK..BLOCK + 5], b"wing\0");
        assert_eq!(&archive[2 * BLOCK..2 * BLOCK + 8], b"full.txt");
        let mut first = archive[..BLOCK].to_vec();
        let sum = String::from_utf8(first[148..154].to_vec()).expect("digits");
        first[148..156].fill(b' ');
        let expected: u32 = first.iter().map(|byte| u32::from(*byte)).sum();
        assert_eq!(u32::from_str_radix(&sum, 8), Ok(expected));
    }

    #[tokio::test]
    async fn a_file_of_another_size_than_announced_breaks_the_archive_off() {
        for sizes in [&[3][..], &[2, 3], &[]] {
            let broken = written(async |archive| archive.add_stream("b.bin", 4, pieces(sizes)).await).await;
            assert!(broken.is_err(), "{sizes:?}");
        }
    }

    #[test]
    fn sizes_beyond_the_octal_digits_are_binary() {
        let large = header("a", MAX_OCTAL, 0);
        assert_eq!(&large[124..136], [0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
        assert_eq!(&header("a", MAX_OCTAL - 1, 0)[124..136], b"77777777777\0");
    }
}
