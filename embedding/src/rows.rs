//! Many vectors in 16 bits a number, and their products with one.
//!
//! Each row also has a sketch of one bit a number, from which its product with a vector is estimated (Gao and Long, *`RaBitQ`*,
//! 2024). A sketch of 384 numbers takes 56 bytes, so all rows can be estimated, and products computed of the best alone.
//!
//! Rows of a file stay where they are, such as in mapped memory; whatever their bytes are, nothing here panics.

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

/// Vectors of one size, each at most of length 1 or so.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Numbers of a vector.
    width: usize,
    rotation: Rotation,
    /// Rows that do not change, each with the number of its first row.
    parts: Vec<(usize, Columns<Bytes>)>,
    /// Rows after those of all parts: [`BLOCK`] in each but the last, so that nothing is copied as there are more.
    blocks: Vec<Columns<Vec<u8>>>,
    in_parts: usize,
    count: usize,
}

/// Rows by columns, all little-endian.
#[derive(Clone, Debug, Default)]
pub struct Columns<B> {
    /// For each `LANES` rows: for each 64 numbers, the sign bits of each row (`u64`). Missing rows at the end are zeros.
    pub sketches: B,
    /// For each row, two numbers (`f32`): the factor of its estimate, and how many of its bits are 1.
    pub factors: B,
    /// For each row, the step of its numbers (`f32`), and then each in steps (`i16`).
    pub numbers: B,
}

/// A vector that rows are compared with.
#[derive(Clone, Debug)]
pub struct Probe {
    exact: Vec<f32>,
    planes: Planes,
}

const BLOCK: usize = 1024;
/// Rows whose sketches are beside each other.
const LANES: usize = 8;
/// Bits of a word of a sketch.
const WORD: usize = 64;
/// Bytes of the words of [`LANES`] rows.
const WORDS: usize = LANES * WORD / 8;
const FACTORS: usize = 2 * size_of::<f32>();
/// Steps that a number is from 0 at most, on either side.
const STEPS: f32 = 32_767.0;
/// Sums that are computed beside each other.
const SUMS: usize = 16;
/// Rows that a thread compares before it looks for more.
const SHARE: usize = 8 * BLOCK;

impl Rows {
    /// No rows yet, of `width` numbers each.
    pub fn new(width: usize) -> Self {
        Self { width, rotation: Rotation::new(width), ..Self::default() }
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

    /// Rows that are in no part.
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

    /// Adds a row; false, and nothing is added, where it has another number of numbers.
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

    /// Rotates a vector, and returns the factor of its estimates.
    fn sketch(&self, numbers: &mut [f32]) -> f32 {
        self.rotation.apply(numbers);
        let (square, sum) = numbers
            .iter()
            .fold((0.0, 0.0), |(square, sum), number| (square + number * number, sum + number.abs()));
        if sum > 0.0 { square / sum } else { 0.0 }
    }

    /// Rows of `width` numbers each that do not change; nothing where the columns are something else.
    pub fn of_part(width: usize, part: Columns<Bytes>) -> Option<Self> {
        let count = part.view().count(width)?;
        if count == 0 {
            return Some(Self::default());
        }
        Some(Self { parts: vec![(0, part)], in_parts: count, count, ..Self::new(width) })
    }

    /// Replaces the recent rows by the same in a part. False, and nothing changes, where it has not as many.
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

    /// Writes the sketches of some rows, in this order. All `rows` must be there.
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

    /// Writes the factors of some rows, in this order. All `rows` must be there.
    pub fn write_factors(&self, rows: &[u32], out: &mut impl Write) -> io::Result<()> {
        self.write_column(rows, FACTORS, |columns| columns.factors, out)
    }

    /// Writes the numbers of some rows, in this order. All `rows` must be there.
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

    /// Estimates the product of each row with the probe, in order. Where vectors have 384 numbers and the length 1, half of
    /// the estimates are less than .03 off. Work is shared by the threads of the current `rayon` pool.
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

    /// Computes products of rows, given by their numbers, with the probe: less than a ten-thousandth off. 0 where there is no
    /// such row.
    pub fn multiply(&self, probe: &Probe, products: &mut [(u32, f32)]) {
        Multiplier { rows: self, probe, out: products }.dispatch();
    }

    /// The columns that have a row, and its number there.
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
    /// How many rows of `width` numbers there are; nothing where the columns do not agree on that.
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
    /// Makes room for a row after `rows` others: twice as many rows whenever it is full, and never more than it will have.
    fn make_room(&mut self, rows: usize, width: usize) {
        if rows == self.factors.capacity() / FACTORS {
            let more = rows.clamp(LANES, BLOCK - rows);
            self.sketches.reserve_exact(more.div_ceil(LANES) * width.div_ceil(WORD) * WORDS);
            self.factors.reserve_exact(more * FACTORS);
            self.numbers.reserve_exact(more * row_bytes(width));
        }
    }

    /// Adds the sketch of row `row`, which has been rotated.
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
    /// Prepares a vector.
    pub fn new(vector: Vec<f32>) -> Self {
        let mut rotated = vector.clone();
        Rotation::new(vector.len()).apply(&mut rotated);
        Self { exact: vector, planes: Planes::new(&rotated) }
    }
}

/// Computes products. Dispatched, so that it is compiled for the instructions that the processor has.
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
            let size = row_bytes(self.rows.width);
            let numbers = self.rows.locate(*row as usize).and_then(|(columns, row)| {
                columns.numbers.get(row * size..(row + 1) * size)?.split_first_chunk::<{ size_of::<f32>() }>()
            });
            *product = numbers.map_or(0.0, |(step, numbers)| {
                f32::from_le_bytes(*step) * multiply(numbers.as_chunks().0, &self.probe.exact)
            });
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

/// Bytes of a row in the column of numbers.
fn row_bytes(width: usize) -> usize {
    size_of::<f32>() + width * size_of::<i16>()
}

/// What 1 stands for, so that the largest number still fits. Never 0.
fn step(numbers: impl Iterator<Item = f32>) -> f32 {
    let largest = numbers.fold(0.0_f32, |largest, number| largest.max(number.abs()));
    let step = largest / STEPS;
    if step > 0.0 && step.is_finite() { step } else { 1.0 }
}

/// A rounded number that fits; what is none is 0.
fn rounded(number: f32) -> i16 {
    #[expect(clippy::cast_possible_truncation, reason = "it fits, and what does not is cut off")]
    let rounded = number.round() as i16;
    rounded
}
