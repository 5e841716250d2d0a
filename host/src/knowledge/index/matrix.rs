//! Vectors, row by row, and whose they are.

use kitbag_embedding::rows::{Probe, Rows};
use rayon::prelude::*;

use super::{ChunkNumber, NO_ROW};

/// Vectors of one size.
#[derive(Default)]
pub(super) struct Matrix {
    rows: Rows,
    /// Whose each row is, or [`NOBODY`].
    owners: Vec<ChunkNumber>,
    dead: usize,
}

const NOBODY: ChunkNumber = ChunkNumber::MAX;

/// Rows whose products are exact: twice as many as documents are fused.
pub(in crate::knowledge) const EXACT: usize = 2048;

/// Products that one thread computes exactly before it looks for more.
const SHARE: usize = 256;

/// Rows of which it can be told how their products are spread.
const MIN_SPREAD: usize = 32;

impl Matrix {
    /// Adds a vector. Returns its row; nothing where the vector is of another size than the others.
    pub(super) fn put(&mut self, owner: ChunkNumber, vector: &[u8]) -> Option<u32> {
        let (numbers, rest) = vector.as_chunks::<{ size_of::<f32>() }>();
        if self.rows.is_empty() {
            self.rows = Rows::new(numbers.len());
        }
        let numbers = numbers.iter().map(|number| f32::from_le_bytes(*number));
        if !rest.is_empty() || !self.rows.push(numbers) {
            return None;
        }
        self.owners.push(owner);
        u32::try_from(self.owners.len() - 1).ok()
    }

    /// Appends some rows to `bytes`: how many numbers a row has (`u64`, little-endian), and then the rows.
    pub(super) fn write(&self, rows: &[u32], bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&(self.rows.width() as u64).to_le_bytes());
        self.rows.write(rows, bytes);
    }

    /// Rows as [`write`](Self::write) has written them, one for each of these owners; nothing where the bytes are something
    /// else.
    pub(super) fn read(bytes: &[u8], owners: Vec<ChunkNumber>) -> Option<Self> {
        let (width, rows) = bytes.split_first_chunk::<{ size_of::<u64>() }>()?;
        let width = usize::try_from(u64::from_le_bytes(*width)).ok()?;
        let rows = Rows::read(width, rows)?;
        (rows.len() == owners.len()).then_some(Self { rows, owners, dead: 0 })
    }

    /// Lets go of a row.
    pub(super) fn clear(&mut self, row: u32) {
        if row != NO_ROW {
            self.owners[row as usize] = NOBODY;
            self.dead += 1;
        }
    }

    /// Rows that are nobody's.
    pub(super) fn dead(&self) -> usize {
        self.dead
    }

    /// How many rows are somebody's.
    pub(super) fn alive(&self) -> usize {
        self.owners.len() - self.dead
    }

    /// Whether there are rows, and none is anybody's.
    pub(super) fn is_dead(&self) -> bool {
        self.dead > 0 && self.alive() == 0
    }

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes() + self.owners.capacity() * size_of::<ChunkNumber>()
    }

    /// The product of every row whose owner `counts` with a vector: the greatest [`EXACT`] first, in any order and exact
    /// to four places, and then the others roughly. None where the vector is of another size.
    pub(super) fn products(
        &self,
        vector: &[f32],
        counts: impl Fn(ChunkNumber) -> bool,
    ) -> Vec<(ChunkNumber, f32)> {
        let probe = Probe::new(vector.to_vec());
        let rough = (0_u32..).zip(self.rows.rough(&probe)).zip(&self.owners);
        let counting = rough.filter(|(_, owner)| **owner != NOBODY && counts(**owner));
        let mut products: Vec<(u32, f32)> = counting.map(|(product, _)| product).collect();
        greatest_first(&mut products);
        let exact = products.len().min(EXACT);
        products[..exact].par_chunks_mut(SHARE).flatten_iter().for_each(|(row, product)| {
            *product = self.rows.product(*row as usize, &probe);
        });
        for (row, _) in &mut products {
            *row = self.owners[*row as usize];
        }
        products
    }

    /// How the products of all rows with a vector are spread; nothing of too few.
    pub(super) fn spread(&self, vector: &[f32]) -> Option<Spread> {
        if self.alive() < MIN_SPREAD {
            return None;
        }
        let rough = self.rows.rough(&Probe::new(vector.to_vec())).into_iter().zip(&self.owners);
        let alive: Vec<_> =
            rough.filter(|(_, owner)| **owner != NOBODY).map(|(product, _)| f64::from(product)).collect();
        #[expect(clippy::cast_precision_loss, reason = "there are no more than 2^24")]
        let count = alive.len() as f64;
        let mean = alive.iter().sum::<f64>() / count;
        let variance = alive.iter().map(|product| (product - mean).powi(2)).sum::<f64>() / count;
        // Nothing can be told from vectors that are all alike, or of another size.
        (variance > 0.0).then(|| Spread { mean, deviation: variance.sqrt() })
    }
}

/// Mean and standard deviation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    mean: f64,
    deviation: f64,
}

impl Spread {
    /// What a product of this spread is in another one.
    #[expect(clippy::cast_possible_truncation, reason = "as precise as products")]
    pub(super) fn mapped(self, product: f32, other: Self) -> f32 {
        (other.mean + (f64::from(product) - self.mean) / self.deviation * other.deviation) as f32
    }
}

/// Puts the greatest [`EXACT`] products first, in any order.
pub(super) fn greatest_first<T>(products: &mut [(T, f32)]) {
    if products.len() > EXACT {
        products.select_nth_unstable_by(EXACT, |one, other| other.1.total_cmp(&one.1));
    }
}
