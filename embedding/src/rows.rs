//! Many vectors in 16 bits a number, and their products with one.
//!
//! A number is kept in two halves of 8 bits. The upper halves alone say roughly how near every vector is; both say it
//! to four decimal places, for those where it matters.

#[cfg(test)]
mod tests;

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
    rounded: Vec<i16>,
    step: f32,
}

const BLOCK: usize = 1024;
/// The largest upper half.
const STEPS: f32 = 127.0;
/// Parts of one of its steps that a lower half counts, at most half of them on either side.
const PARTS: f32 = 254.0;

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

    /// Roughly the product of each row with the probe, in order: some thousandths off.
    pub fn rough(&self, probe: &Probe) -> Vec<f32> {
        let mut products = Vec::with_capacity(self.count);
        if probe.rounded.len() != self.width {
            return products;
        }
        for block in &self.blocks {
            for (row, step) in block.upper.chunks_exact(self.width).zip(&block.steps) {
                let sum: i32 =
                    row.iter().zip(&probe.rounded).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
                #[expect(clippy::cast_precision_loss, reason = "it is rough")]
                products.push(sum as f32 * (step * probe.step));
            }
        }
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
        let numbers =
            upper.iter().zip(lower).map(|(upper, lower)| f32::from(*upper) + f32::from(*lower) / PARTS);
        numbers.zip(&probe.exact).map(|(number, probe)| number * probe).sum::<f32>()
            * block.steps[row % BLOCK]
    }
}

impl Block {
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
        let rounded = vector.iter().map(|number| i16::from(byte((number / step).round()))).collect();
        Self { exact: vector, rounded, step }
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
