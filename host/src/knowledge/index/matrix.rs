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

impl Matrix {
    /// Adds a vector in the place of the one at the row `before`. Returns the row; nothing where the
    /// vector is of another size than the others.
    pub(super) fn put(&mut self, owner: ChunkNumber, vector: &[u8], before: u32) -> Option<u32> {
        let (numbers, rest) = vector.as_chunks::<{ size_of::<f32>() }>();
        if self.rows.is_empty() {
            self.rows = Rows::new(numbers.len());
        }
        let numbers = numbers.iter().map(|number| f32::from_le_bytes(*number));
        if !rest.is_empty() || !self.rows.push(numbers) {
            return None;
        }
        self.clear(before);
        self.owners.push(owner);
        u32::try_from(self.owners.len() - 1).ok()
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

    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes() + self.owners.capacity() * size_of::<ChunkNumber>()
    }

    /// The product of every row whose owner `counts` with a vector: the greatest [`EXACT`] first, in any order and exact
    /// to four places, and then the others roughly. None where the vector is of another size.
    pub(super) fn products(
        &self,
        vector: Vec<f32>,
        counts: impl Fn(ChunkNumber) -> bool,
    ) -> Vec<(ChunkNumber, f32)> {
        let probe = Probe::new(vector);
        let rough = (0_u32..).zip(self.rows.rough(&probe)).zip(&self.owners);
        let counting = rough.filter(|(_, owner)| **owner != NOBODY && counts(**owner));
        let mut products: Vec<(u32, f32)> = counting.map(|(product, _)| product).collect();
        if products.len() > EXACT {
            products.select_nth_unstable_by(EXACT, |one, other| other.1.total_cmp(&one.1));
        }
        let exact = products.len().min(EXACT);
        products[..exact].par_chunks_mut(SHARE).flatten_iter().for_each(|(row, product)| {
            *product = self.rows.product(*row as usize, &probe);
        });
        for (row, _) in &mut products {
            *row = self.owners[*row as usize];
        }
        products
    }
}
