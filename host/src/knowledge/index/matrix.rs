//! Vectors, row by row, and their products with another. The loops over them are the library's, which is
//! compiled with optimisation whatever the profile of this crate is.

use candle_core::{Device, Error, Tensor};

use super::{ChunkNumber, NO_ROW};

/// Vectors of one size.
#[derive(Default)]
pub(super) struct Matrix {
    /// Numbers of a vector; 0 before the first.
    dimensions: usize,
    /// Rows that do not change any more, [`BLOCK`] in each tensor: nothing is copied as the matrix grows.
    blocks: Vec<Tensor>,
    /// The rows after those.
    tail: Vec<f32>,
    /// Whose each row is, or [`NOBODY`].
    owners: Vec<ChunkNumber>,
    dead: usize,
}

const BLOCK: usize = 1024;
const NOBODY: ChunkNumber = ChunkNumber::MAX;

impl Matrix {
    /// Adds a vector in the place of the one at the row `before`. Returns the row; nothing where the
    /// vector is of another size than the others.
    pub(super) fn put(&mut self, owner: ChunkNumber, vector: &[u8], before: u32) -> Option<u32> {
        let (numbers, rest) = vector.as_chunks::<{ size_of::<f32>() }>();
        if self.owners.is_empty() {
            self.dimensions = numbers.len();
        }
        if !rest.is_empty() || numbers.is_empty() || numbers.len() != self.dimensions {
            return None;
        }
        if self.tail.len() == BLOCK * self.dimensions {
            let rows = std::mem::take(&mut self.tail);
            let block = Tensor::from_vec(rows, (BLOCK, self.dimensions), &Device::Cpu);
            self.blocks.push(block.expect("the block has as many numbers as its shape"));
        }
        self.clear(before);
        self.tail.extend(numbers.iter().map(|number| f32::from_le_bytes(*number)));
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
        let numbers = self.blocks.len() * BLOCK * self.dimensions + self.tail.capacity();
        numbers * size_of::<f32>() + self.owners.capacity() * size_of::<ChunkNumber>()
    }

    /// The product of every row with a vector; none where the vector is of another size.
    pub(super) fn products(&self, vector: &[f32]) -> Result<Vec<(ChunkNumber, f32)>, Error> {
        if self.owners.is_empty() || vector.len() != self.dimensions {
            return Ok(Vec::new());
        }
        let vector = Tensor::from_slice(vector, (self.dimensions, 1), &Device::Cpu)?;
        let mut products = Vec::with_capacity(self.owners.len());
        let tail_rows = self.tail.len() / self.dimensions;
        let tail = Tensor::from_slice(&self.tail, (tail_rows, self.dimensions), &Device::Cpu)?;
        for block in self.blocks.iter().chain([&tail]) {
            let values = block.matmul(&vector)?.flatten_all()?.to_vec1::<f32>()?;
            let owners = &self.owners[products.len()..];
            products.extend(owners.iter().copied().zip(values));
        }
        products.retain(|(owner, _)| *owner != NOBODY);
        Ok(products)
    }
}
