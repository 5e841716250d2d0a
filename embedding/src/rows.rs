//! Many vectors with 16 bits per number, and their dot products with one vector.
//!
//! Each row also has a sketch with one bit per number, from which its product with a vector is estimated (Gao
//! and Long, *`RaBitQ`*, 2024). A sketch of 384 numbers takes 56 bytes, so that all rows can be estimated,
//! and exact products are computed only for the best.
//!
//! Rows of a file are read in place, such as in mapped memory; nothing here panics, whatever their bytes are.

mod estimate;
mod rotation;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::ops::Range;

use bytes::Bytes;
use rayon::prelude::*;
use rten_simd::{Isa, SimdOp};

use self::estimate::{Planes, estimate};
use self::rotation::Rotation;

/// Vectors of equal size, each of length about 1 or less.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Dimensions of the vectors.
    width: usize,
    rotation: Rotation,
    /// Immutable rows, each part with the number of its first row.
    parts: Vec<(usize, Columns<Bytes>)>,
    /// Rows after those of all parts: [`BLOCK`] in each block except the last, so that growth copies nothing.
    blocks: Vec<Columns<Vec<u8>>>,
    in_parts: usize,
    count: usize,
}

/// Rows in column layout, all little-endian.
#[derive(Clone, Debug, Default)]
pub struct Columns<B> {
    /// For each group of `LANES` rows and each 64 numbers: the sign bits of each row (`u64`). Missing rows at
    /// the end are zeros.
    pub sketches: B,
    /// For each row two numbers (`f32`): the factor of its estimates, and the number of its bits that are 1.
    pub factors: B,
    /// For each row its scale (`f32`), followed by its quantised numbers (`i16`).
    pub numbers: B,
}

/// Query vector, prepared for comparison with rows.
#[derive(Clone, Debug)]
pub struct Probe {
    exact: Vec<f32>,
    planes: Planes,
}

const BLOCK: usize = 1024;
/// Number of rows per sketch group, whose words are interleaved.
const LANES: usize = 8;
/// Bits per word of a sketch.
const WORD: usize = 64;
/// Bytes of one word of each of [`LANES`] rows.
const WORDS: usize = LANES * WORD / 8;
const FACTORS: usize = 2 * size_of::<f32>();
/// Largest absolute value of a quantised 16-bit number.
const STEPS: f32 = 32_767.0;
/// Number of parallel sums of a product.
const SUMS: usize = 16;
/// Smallest number of rows per thread.
const SHARE: usize = 8 * BLOCK;

impl Rows {
    /// Creates a set without rows, for vectors of `width` numbers.
    pub fn new(width: usize) -> Self {
        Self { width, rotation: Rotation::new(width), ..Self::default() }
    }

    /// Dimensions of the vectors.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Numbers of the rows that are in no part.
    pub fn recent(&self) -> Range<usize> {
        self.in_parts..self.count
    }

    /// Memory of the rows that are in no part, in bytes.
    pub fn bytes(&self) -> usize {
        let bytes = |block: &Columns<Vec<u8>>| {
            block.sketches.capacity() + block.factors.capacity() + block.numbers.capacity()
        };
        self.blocks.iter().map(bytes).sum()
    }

    /// Adds a row. Returns false, without a change, if its number of dimensions differs.
    pub fn push(&mut self, numbers: impl ExactSizeIterator<Item = f32> + Clone) -> bool {
        if numbers.len() != self.width || self.width == 0 {
            return false;
        }
        let place = (self.count - self.in_parts) % BLOCK;
        if place == 0 {
            self.blocks.push(Columns::default());
        }
        let block = self.blocks.last_mut().expect("one was just added");
        block.make_room(place, self.width);
        let step = step(numbers.clone());
        block.numbers.extend_from_slice(&step.to_le_bytes());
        let mut steps = Vec::with_capacity(self.width);
        for number in numbers {
            let rounded = rounded(number / step);
            block.numbers.extend_from_slice(&rounded.to_le_bytes());
            steps.push(f32::from(rounded));
        }
        let factor = step * self.sketch(&mut steps);
        let block = self.blocks.last_mut().expect("one was just added");
        block.push_sketch(place, factor, &steps);
        self.count += 1;
        true
    }

    /// Rotates a vector in place. Returns the factor of its estimates.
    fn sketch(&self, numbers: &mut [f32]) -> f32 {
        self.rotation.apply(numbers);
        let (square, sum) = numbers
            .iter()
            .fold((0.0, 0.0), |(square, sum), number| (square + number * number, sum + number.abs()));
        if sum > 0.0 { square / sum } else { 0.0 }
    }

    /// Set of immutable rows of `width` numbers each; `None` if the columns have other sizes.
    pub fn of_part(width: usize, part: Columns<Bytes>) -> Option<Self> {
        let count = part.view().count(width)?;
        if count == 0 {
            return Some(Self::default());
        }
        Some(Self { parts: vec![(0, part)], in_parts: count, count, ..Self::new(width) })
    }

    /// Replaces the rows in memory by the same rows in a part. Returns false, without a change, if the number
    /// of rows differs.
    pub fn replace_recent(&mut self, part: Columns<Bytes>) -> bool {
        let recent = self.recent();
        if recent.is_empty() || part.view().count(self.width) != Some(recent.len()) {
            return false;
        }
        self.blocks = Vec::new();
        self.parts.push((recent.start, part));
        self.in_parts = recent.end;
        true
    }

    /// Writes the sketches of some rows, in this order. All `rows` must exist.
    pub fn write_sketches(&self, rows: &[u32], out: &mut impl Write) -> io::Result<()> {
        let words = self.width.div_ceil(WORD);
        let mut group = vec![0; words * WORDS];
        for rows in rows.chunks(LANES) {
            group.fill(0);
            for (lane, row) in rows.iter().enumerate() {
                let (columns, row) = self.locate(*row as usize).ok_or(io::ErrorKind::InvalidInput)?;
                for word in 0..words {
                    let from = (row / LANES * words + word) * WORDS + row % LANES * size_of::<u64>();
                    let to = word * WORDS + lane * size_of::<u64>();
                    let bits = columns.sketches.get(from..from + size_of::<u64>()).unwrap_or(&[0; 8]);
                    group[to..to + size_of::<u64>()].copy_from_slice(bits);
                }
            }
            out.write_all(&group)?;
        }
        Ok(())
    }

    /// Writes the factors of some rows, in this order. All `rows` must exist.
    pub fn write_factors(&self, rows: &[u32], out: &mut impl Write) -> io::Result<()> {
        self.write_column(rows, FACTORS, |columns| columns.factors, out)
    }

    /// Writes the numbers of some rows, in this order. All `rows` must exist.
    pub fn write_numbers(&self, rows: &[u32], out: &mut impl Write) -> io::Result<()> {
        self.write_column(rows, row_bytes(self.width), |columns| columns.numbers, out)
    }

    fn write_column<'a>(
        &'a self,
        rows: &[u32],
        size: usize,
        column: impl Fn(Columns<&'a [u8]>) -> &'a [u8],
        out: &mut impl Write,
    ) -> io::Result<()> {
        for row in rows {
            let (columns, row) = self.locate(*row as usize).ok_or(io::ErrorKind::InvalidInput)?;
            let bytes = column(columns).get(row * size..(row + 1) * size);
            out.write_all(bytes.ok_or(io::ErrorKind::InvalidInput)?)?;
        }
        Ok(())
    }

    /// Estimates the product of each row with the probe, in order. For vectors of 384 numbers and length 1,
    /// half of the estimates have an error below 0.03. Work is shared by the threads of the current `rayon`
    /// pool.
    pub fn estimates(&self, probe: &Probe) -> Vec<f32> {
        let mut estimates = vec![0.0; self.count];
        if probe.exact.len() != self.width {
            return Vec::new();
        }
        let words = self.width.div_ceil(WORD);
        let mut rest = estimates.as_mut_slice();
        let mut work = Vec::new();
        for columns in self.views() {
            let (of_columns, after) = rest.split_at_mut(columns.count(self.width).unwrap_or_default());
            rest = after;
            let sketches = columns.sketches.chunks(SHARE / LANES * words * WORDS);
            let factors = columns.factors.chunks(SHARE * FACTORS);
            work.extend(of_columns.chunks_mut(SHARE).zip(sketches).zip(factors));
        }
        work.into_par_iter().for_each(|((estimates, sketches), factors)| {
            estimate(&probe.planes, sketches, factors, estimates);
        });
        estimates
    }

    /// Computes the products of rows, given by their numbers, with the probe, with an error below 0.0001.
    /// Rows that do not exist give 0.
    pub fn multiply(&self, probe: &Probe, products: &mut [(u32, f32)]) {
        Multiplier { rows: self, probe, out: products }.dispatch();
    }

    /// Numbers of a row, each with an error of at most a 65,000th of the largest; `None` if it does not exist.
    pub fn vector(&self, row: u32) -> Option<Vec<f32>> {
        let (step, numbers) = self.quantised(row)?;
        Some(numbers.iter().map(|number| step * f32::from(i16::from_le_bytes(*number))).collect())
    }

    /// Scale of a row, and its quantised numbers.
    fn quantised(&self, row: u32) -> Option<(f32, &[[u8; size_of::<i16>()]])> {
        let size = row_bytes(self.width);
        let (columns, row) = self.locate(row as usize)?;
        let (step, numbers) = columns.numbers.get(row * size..(row + 1) * size)?.split_first_chunk()?;
        Some((f32::from_le_bytes(*step), numbers.as_chunks().0))
    }

    /// Columns that contain a row, and its number in them.
    fn locate(&self, row: usize) -> Option<(Columns<&[u8]>, usize)> {
        if row >= self.in_parts {
            let recent = row - self.in_parts;
            return Some((self.blocks.get(recent / BLOCK)?.view(), recent % BLOCK));
        }
        let after = self.parts.partition_point(|(first, _)| *first <= row);
        let (first, part) = self.parts.get(after.checked_sub(1)?)?;
        Some((part.view(), row - first))
    }

    fn views(&self) -> impl Iterator<Item = Columns<&[u8]>> {
        self.parts.iter().map(|(_, part)| part.view()).chain(self.blocks.iter().map(Columns::view))
    }
}

impl<B: AsRef<[u8]>> Columns<B> {
    fn view(&self) -> Columns<&[u8]> {
        Columns {
            sketches: self.sketches.as_ref(),
            factors: self.factors.as_ref(),
            numbers: self.numbers.as_ref(),
        }
    }
}

impl Columns<&[u8]> {
    /// Number of rows of `width` numbers; `None` if the columns disagree.
    fn count(&self, width: usize) -> Option<usize> {
        if width == 0 {
            return [self.sketches, self.factors, self.numbers].iter().all(|it| it.is_empty()).then_some(0);
        }
        let row_bytes = width.checked_mul(size_of::<i16>())?.checked_add(size_of::<f32>())?;
        let count = self.numbers.len() / row_bytes;
        let sketches = count.div_ceil(LANES).checked_mul(width.div_ceil(WORD).checked_mul(WORDS)?)?;
        let are_whole = self.numbers.len() == count * row_bytes
            && self.factors.len() == count * FACTORS
            && self.sketches.len() == sketches;
        are_whole.then_some(count)
    }
}

impl Columns<Vec<u8>> {
    /// Reserves space for one more row after `rows` others: doubles the capacity when it is full, up to the
    /// size of a block.
    fn make_room(&mut self, rows: usize, width: usize) {
        if rows == self.factors.capacity() / FACTORS {
            let more = rows.clamp(LANES, BLOCK - rows);
            self.sketches.reserve_exact(more.div_ceil(LANES) * width.div_ceil(WORD) * WORDS);
            self.factors.reserve_exact(more * FACTORS);
            self.numbers.reserve_exact(more * row_bytes(width));
        }
    }

    /// Appends the sketch of row `row`, given its rotated numbers.
    fn push_sketch(&mut self, row: usize, factor: f32, rotated: &[f32]) {
        let group = row / LANES * rotated.len().div_ceil(WORD) * WORDS;
        if row.is_multiple_of(LANES) {
            self.sketches.resize(group + rotated.len().div_ceil(WORD) * WORDS, 0);
        }
        let mut ones = 0;
        for (word, numbers) in rotated.chunks(WORD).enumerate() {
            let bits = numbers.iter().rev().fold(0_u64, |bits, number| bits << 1 | u64::from(*number > 0.0));
            ones += bits.count_ones();
            let place = group + word * WORDS + row % LANES * size_of::<u64>();
            self.sketches[place..place + size_of::<u64>()].copy_from_slice(&bits.to_le_bytes());
        }
        #[expect(clippy::cast_precision_loss, reason = "vectors have far fewer than 2^23 numbers")]
        let ones = ones as f32;
        self.factors.extend_from_slice(&factor.to_le_bytes());
        self.factors.extend_from_slice(&ones.to_le_bytes());
    }
}

impl Probe {
    /// Prepares a vector for comparison.
    pub fn new(vector: Vec<f32>) -> Self {
        let mut rotated = vector.clone();
        Rotation::new(vector.len()).apply(&mut rotated);
        Self { exact: vector, planes: Planes::new(&rotated) }
    }
}

/// Computation of products. Dispatched, to be compiled for the instruction set of the processor.
struct Multiplier<'a> {
    rows: &'a Rows,
    probe: &'a Probe,
    out: &'a mut [(u32, f32)],
}

impl SimdOp for Multiplier<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "only what is inlined is compiled for these instructions")]
    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        for (row, product) in self.out {
            *product = match self.rows.quantised(*row) {
                Some((step, numbers)) => step * multiply(numbers, &self.probe.exact),
                None => 0.0,
            };
        }
    }
}

#[expect(clippy::inline_always, reason = "only what is inlined is compiled for these instructions")]
#[inline(always)]
fn multiply(numbers: &[[u8; size_of::<i16>()]], exact: &[f32]) -> f32 {
    let mut sums = [0_f32; SUMS];
    let (numbers, last_numbers) = numbers.as_chunks::<SUMS>();
    let (exact, last_exact) = exact.as_chunks::<SUMS>();
    for (numbers, exact) in numbers.iter().zip(exact) {
        for ((sum, number), exact) in sums.iter_mut().zip(numbers).zip(exact) {
            *sum += f32::from(i16::from_le_bytes(*number)) * exact;
        }
    }
    for ((sum, number), exact) in sums.iter_mut().zip(last_numbers).zip(last_exact) {
        *sum += f32::from(i16::from_le_bytes(*number)) * exact;
    }
    sums.iter().sum()
}

/// Bytes per row in the column of numbers.
fn row_bytes(width: usize) -> usize {
    size_of::<f32>() + width * size_of::<i16>()
}

/// Quantisation scale: the largest absolute value becomes [`STEPS`]. Never 0.
fn step(numbers: impl Iterator<Item = f32>) -> f32 {
    let largest = numbers.fold(0.0_f32, |largest, number| largest.max(number.abs()));
    let step = largest / STEPS;
    if step > 0.0 && step.is_finite() { step } else { 1.0 }
}

/// Rounded and clamped number; NaN gives 0.
fn rounded(number: f32) -> i16 {
    #[expect(clippy::cast_possible_truncation, reason = "it fits, and what does not is cut off")]
    let rounded = number.round() as i16;
    rounded
}
