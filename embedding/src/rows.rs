//! Many vectors in 16 bits a number, and their products with one.
//!
//! A number is kept in two halves of 8 bits. The upper halves alone say roughly how near every vector is; both say it
//! to four decimal places, for those where it matters.

#[cfg(test)]
mod tests;

use rayon::prelude::*;
use rten_gemm::{GemmInputA, GemmInputB, GemmOptions, QuantParams};
use rten_tensor::{Matrix, NdTensorView};

use crate::bytes::{self, STEPS, ZERO};

/// Vectors of one size, each at most of length 1 or so.
#[derive(Debug, Default)]
pub struct Rows {
    /// Numbers of a vector.
    width: usize,
    /// [`BLOCK`] vectors in each but the last: nothing is copied as there are more.
    blocks: Vec<Block>,
    count: usize,
}

#[derive(Debug, Default)]
struct Block {
    upper: Vec<i8>,
    lower: Vec<i8>,
    /// What 1 of the upper half stands for in each vector.
    steps: Vec<f32>,
}

/// A vector that rows are compared with.
#[derive(Clone, Debug)]
pub struct Probe {
    exact: Vec<f32>,
    /// [`ZERO`] stands for 0.
    rounded: Vec<u8>,
    step: f32,
}

const BLOCK: usize = 1024;
/// Parts of one of its steps that a lower half counts, at most half of them on either side.
const PARTS: f32 = 254.0;
/// Sums that are computed beside each other.
const LANES: usize = 16;

impl Rows {
    /// No rows yet, of `width` numbers each.
    pub fn new(width: usize) -> Self {
        Self { width, blocks: Vec::new(), count: 0 }
    }

    /// Numbers of a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Memory, in bytes.
    pub fn bytes(&self) -> usize {
        let bytes = |block: &Block| {
            block.upper.capacity() + block.lower.capacity() + block.steps.capacity() * size_of::<f32>()
        };
        self.blocks.iter().map(bytes).sum()
    }

    /// Adds a row; false, and nothing is added, where it has another number of numbers.
    pub fn push(&mut self, numbers: impl ExactSizeIterator<Item = f32> + Clone) -> bool {
        if numbers.len() != self.width || self.width == 0 {
            return false;
        }
        if self.count.is_multiple_of(BLOCK) {
            self.blocks.push(Block::default());
        }
        let block = self.blocks.last_mut().expect("one was just added");
        block.make_room(self.width);
        let step = step(numbers.clone());
        for number in numbers {
            let steps = number / step;
            let upper = steps.round();
            block.upper.push(byte(upper));
            block.lower.push(byte(((steps - upper) * PARTS).round()));
        }
        block.steps.push(step);
        self.count += 1;
        true
    }

    /// Roughly the product of each row with the probe, in order: some thousandths off. Work is shared by the threads of
    /// the current `rayon` pool.
    pub fn rough(&self, probe: &Probe) -> Vec<f32> {
        if probe.rounded.len() != self.width {
            return Vec::new();
        }
        let mut products = vec![0.0; self.count];
        let blocks = products.par_chunks_mut(BLOCK).zip(&self.blocks);
        blocks.for_each(|(products, block)| block.rough(probe, products));
        products
    }

    /// The product of a row with the probe: less than a ten-thousandth off. 0 where there is no such row.
    pub fn product(&self, row: usize, probe: &Probe) -> f32 {
        let Some(block) = self.blocks.get(row / BLOCK) else { return 0.0 };
        let first = row % BLOCK * self.width;
        let (Some(upper), Some(lower)) =
            (block.upper.get(first..first + self.width), block.lower.get(first..first + self.width))
        else {
            return 0.0;
        };
        let mut lanes = [0_f32; LANES];
        let numbers = upper.chunks(LANES).zip(lower.chunks(LANES)).zip(probe.exact.chunks(LANES));
        for ((upper, lower), exact) in numbers {
            for (((lane, upper), lower), exact) in lanes.iter_mut().zip(upper).zip(lower).zip(exact) {
                *lane += (f32::from(*upper) + f32::from(*lower) * (1.0 / PARTS)) * exact;
            }
        }
        lanes.iter().sum::<f32>() * block.steps[row % BLOCK]
    }
}

impl Block {
    /// Roughly the product of each row with the probe.
    fn rough(&self, probe: &Probe, products: &mut [f32]) {
        let mut sums = [0; BLOCK];
        let sums = &mut sums[..products.len()];
        probe.multiply(&self.upper, sums);
        for ((product, sum), step) in products.iter_mut().zip(sums).zip(&self.steps) {
            #[expect(clippy::cast_precision_loss, reason = "it is rough")]
            let sum = *sum as f32;
            *product = sum * (step * probe.step);
        }
    }

    /// Makes room for a row: twice as many rows whenever it is full, and never more than it will have.
    fn make_room(&mut self, width: usize) {
        let rows = self.steps.len();
        if rows == self.steps.capacity() {
            let more = rows.clamp(1, BLOCK - rows);
            self.upper.reserve_exact(more * width);
            self.lower.reserve_exact(more * width);
            self.steps.reserve_exact(more);
        }
    }
}

impl Probe {
    /// Prepares a vector.
    pub fn new(vector: Vec<f32>) -> Self {
        let step = step(vector.iter().copied());
        let rounded =
            vector.iter().map(|number| byte((number / step).round()).cast_unsigned() ^ ZERO).collect();
        Self { exact: vector, rounded, step }
    }

    /// The sum of the products with each of `rows`.
    fn multiply(&self, rows: &[i8], sums: &mut [i32]) {
        let Some(executor) = bytes::executor() else { return self.multiply_plainly(rows, sums) };
        let width = self.rounded.len();
        let columns = Matrix::from_data_with_strides([width, sums.len()], rows, [1, width]);
        let columns = columns.expect("each row has as many numbers");
        let vector = GemmInputA::Unpacked(NdTensorView::from_data([1, width], self.rounded.as_slice()));
        let zero = Some(QuantParams { zero_point: &[ZERO] });
        let options = GemmOptions { a_quant: zero, ..GemmOptions::default() };
        executor.gemm(sums, vector, GemmInputB::Unpacked(columns), options).expect("the shapes fit");
    }

    /// The same without instructions for it.
    fn multiply_plainly(&self, rows: &[i8], sums: &mut [i32]) {
        for (row, sum) in rows.chunks_exact(self.rounded.len()).zip(sums) {
            let numbers = self.rounded.iter().map(|number| i16::from(*number) - i16::from(ZERO));
            *sum = row.iter().zip(numbers).map(|(row, number)| i32::from(*row) * i32::from(number)).sum();
        }
    }
}

/// What 1 stands for, so that the largest number still fits. Never 0.
fn step(numbers: impl Iterator<Item = f32>) -> f32 {
    let largest = numbers.fold(0.0_f32, |largest, number| largest.max(number.abs()));
    if largest > 0.0 && largest.is_finite() { largest / STEPS } else { 1.0 }
}

/// A rounded number that fits; what is none is 0.
fn byte(number: f32) -> i8 {
    #[expect(clippy::cast_possible_truncation, reason = "it fits, and what does not is cut off")]
    let byte = number as i8;
    byte
}
