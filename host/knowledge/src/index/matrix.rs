//! Vectors by row, and the chunks that own the rows.

use std::cmp::Reverse;
use std::io::{self, Write};

use bytes::Bytes;
use kitbag_embedding::rows::{Columns, Probe, Rows};
use rayon::prelude::*;

use super::{ChunkNumber, NO_ROW};

/// Vectors of equal size.
#[derive(Clone, Default)]
pub(super) struct Matrix {
    rows: Rows,
    /// Chunk that owns each row, or [`NOBODY`].
    owners: Vec<ChunkNumber>,
    dead: usize,
}

/// A matrix of several that are searched together, with the place of its first chunk among all of theirs.
#[derive(Clone, Copy)]
pub(super) struct MatrixPart<'m> {
    pub(super) matrix: &'m Matrix,
    pub(super) first: ChunkNumber,
}

/// Dot products of rows with a vector, by the places of their owners.
#[derive(Debug, Default)]
pub(super) struct Products {
    /// Products, exact to four decimal places: of all rows, or of at least the [`EXACT`] rows with the
    /// greatest estimates.
    pub(super) exact: Vec<(ChunkNumber, f32)>,
    /// Estimated products of the other rows, if they are needed.
    pub(super) others: Vec<(ChunkNumber, f32)>,
}

const NOBODY: ChunkNumber = ChunkNumber::MAX;

/// Number of rows with exact products. Among a million rows, one of the best hundred has such an estimation
/// error that it is missed about once in a thousand times.
const EXACT: usize = 8192;

/// Smallest number of exact products per thread. This many take less time than distributing the work.
const SHARE: usize = 1024;
/// Smallest number of estimates per thread.
const ESTIMATES: usize = 16_384;

impl Matrix {
    /// Adds a vector. Returns its row; `None` if its size differs from that of the others.
    pub(super) fn put(&mut self, owner: ChunkNumber, vector: &[u8]) -> Option<u32> {
        let (numbers, rest) = vector.as_chunks::<{ size_of::<f32>() }>();
        if self.rows.is_empty() && self.rows.width() != numbers.len() {
            self.rows = Rows::new(numbers.len());
        }
        let numbers = numbers.iter().map(|number| f32::from_le_bytes(*number));
        if !rest.is_empty() || !self.rows.push(numbers) {
            return None;
        }
        self.owners.push(owner);
        u32::try_from(self.owners.len() - 1).ok()
    }

    /// Matrix of rows of `width` numbers in a file, one for each of these owners; `None` if the columns have
    /// other sizes.
    pub(super) fn of_part(width: usize, part: Columns<Bytes>, owners: Vec<ChunkNumber>) -> Option<Self> {
        let rows = Rows::of_part(width, part)?;
        (rows.len() == owners.len()).then_some(Self { rows, owners, dead: 0 })
    }

    /// Replaces the rows in memory by the same rows in a file. Returns false, without a change, if the number
    /// of rows differs.
    pub(super) fn replace_recent(&mut self, part: Columns<Bytes>) -> bool {
        self.rows.replace_recent(part)
    }

    /// Rows that are in no file.
    pub(super) fn recent(&self) -> Vec<u32> {
        self.rows.recent().filter_map(|row| u32::try_from(row).ok()).collect()
    }

    /// Dimensions of the vectors.
    pub(super) fn width(&self) -> usize {
        self.rows.width()
    }

    /// Writes the sketches of some rows.
    pub(super) fn write_sketches(&self, rows: &[u32], out: &mut impl Write) -> io::Result<()> {
        self.rows.write_sketches(rows, out)
    }

    /// Writes the factors for the estimates of some rows.
    pub(super) fn write_factors(&self, rows: &[u32], out: &mut impl Write) -> io::Result<()> {
        self.rows.write_factors(rows, out)
    }

    /// Writes the numbers of some rows.
    pub(super) fn write_numbers(&self, rows: &[u32], out: &mut impl Write) -> io::Result<()> {
        self.rows.write_numbers(rows, out)
    }

    /// Marks a row as dead.
    pub(super) fn clear(&mut self, row: u32) {
        if row != NO_ROW {
            self.owners[row as usize] = NOBODY;
            self.dead += 1;
        }
    }

    /// Number of rows without an owner.
    pub(super) fn dead(&self) -> usize {
        self.dead
    }

    /// Number of rows with an owner.
    pub(super) fn alive(&self) -> usize {
        self.owners.len() - self.dead
    }

    /// Memory without mapped files, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.recent_bytes() + self.owners.capacity() * size_of::<ChunkNumber>()
    }

    /// Memory of the rows that are in no file, in bytes.
    pub(super) fn recent_bytes(&self) -> usize {
        self.rows.bytes()
    }

    /// Vector of a row; `None` if there is none.
    pub(super) fn vector(&self, row: u32) -> Option<Vec<f32>> {
        self.rows.vector(row)
    }

    /// Exact products of some rows with a vector of their size, in order.
    pub(super) fn products_of(&self, rows: impl Iterator<Item = u32>, vector: Vec<f32>) -> Vec<f32> {
        let mut products: Vec<_> = rows.map(|row| (row, 0.0)).collect();
        self.rows.multiply(&Probe::new(vector), &mut products);
        products.into_iter().map(|(_, product)| product).collect()
    }
}

/// Dot products of a vector with all rows whose owner `counts`. If `is_enough` rejects the exact products, the
/// other rows are estimated. Skips matrices of another width.
pub(super) fn products(
    parts: &[MatrixPart<'_>],
    vector: &[f32],
    counts: impl Fn(ChunkNumber) -> bool + Sync,
    is_enough: impl Fn(&[(ChunkNumber, f32)]) -> bool,
) -> Products {
    let parts: Vec<_> = parts.iter().filter(|part| part.matrix.width() == vector.len()).collect();
    let probe = Probe::new(vector.to_vec());
    let alive: usize = parts.iter().map(|part| part.matrix.alive()).sum();
    if alive <= EXACT {
        let mut rows: Vec<_> = parts.iter().map(|part| part.rows_that(&counts)).collect();
        return Products { exact: exact(&parts, &probe, &mut rows), others: Vec::new() };
    }
    let estimates: Vec<_> = parts.par_iter().map(|part| part.estimates(&probe, &counts)).collect();
    let mut rows = greatest(&estimates, EXACT);
    let exact = exact(&parts, &probe, &mut rows);
    if is_enough(&exact) {
        return Products { exact, others: Vec::new() };
    }
    let others = parts.iter().zip(estimates).zip(rows).flat_map(|((part, mut estimates), exact)| {
        for (row, _) in &exact {
            estimates[*row as usize] = f32::NAN;
        }
        let rest = (0..).zip(estimates).filter(|(_, estimate)| !estimate.is_nan());
        rest.map(|(row, estimate)| (part.owner(row), estimate)).collect::<Vec<_>>()
    });
    Products { others: others.collect(), exact }
}

/// Computes the products of the rows of each part.
fn exact(parts: &[&MatrixPart<'_>], probe: &Probe, rows: &mut [Vec<(u32, f32)>]) -> Vec<(ChunkNumber, f32)> {
    let count: usize = rows.iter().map(Vec::len).sum();
    if count <= SHARE {
        parts.iter().zip(&mut *rows).for_each(|(part, rows)| part.matrix.rows.multiply(probe, rows));
    } else {
        let shares = parts
            .par_iter()
            .zip(&mut *rows)
            .flat_map(|(part, rows)| rows.par_chunks_mut(SHARE).map(|share| (&part.matrix.rows, share)));
        shares.for_each(|(rows, share)| rows.multiply(probe, share));
    }
    let of_part = |(part, rows): (&&MatrixPart<'_>, &Vec<(u32, f32)>)| {
        rows.iter().map(|(row, product)| (part.owner(*row), *product)).collect::<Vec<_>>()
    };
    parts.iter().zip(&*rows).flat_map(of_part).collect()
}

impl MatrixPart<'_> {
    /// Place of the chunk that owns a row; the row must have an owner.
    fn owner(&self, row: u32) -> ChunkNumber {
        self.first + self.matrix.owners[row as usize]
    }

    fn has(&self, owner: ChunkNumber, counts: impl Fn(ChunkNumber) -> bool) -> bool {
        owner != NOBODY && counts(self.first + owner)
    }

    /// Rows whose owner `counts`, without products.
    fn rows_that(&self, counts: impl Fn(ChunkNumber) -> bool) -> Vec<(u32, f32)> {
        let rows = (0..).zip(&self.matrix.owners).filter(|(_, owner)| self.has(**owner, &counts));
        rows.map(|(row, _)| (row, 0.0)).collect()
    }

    /// Estimated products of all rows; NaN for those whose owner does not count.
    fn estimates(&self, probe: &Probe, counts: impl Fn(ChunkNumber) -> bool + Sync) -> Vec<f32> {
        let mut estimates = self.matrix.rows.estimates(probe);
        estimates.par_iter_mut().zip(&self.matrix.owners).with_min_len(ESTIMATES).for_each(
            |(estimate, owner)| {
                if !self.has(*owner, &counts) {
                    *estimate = f32::NAN;
                }
            },
        );
        estimates
    }
}

/// Rows with the greatest estimates, by part: at least `wanted`, at most twice as many. NaN is ignored.
fn greatest(estimates: &[Vec<f32>], wanted: usize) -> Vec<Vec<(u32, f32)>> {
    const BUCKETS: usize = 8192;
    /// Estimates of cosines are between −1 and 1, except for errors.
    const RANGE: f32 = 1.5;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is cut off")]
    #[expect(clippy::cast_precision_loss, reason = "it is small")]
    let bucket =
        |estimate: f32| (((estimate + RANGE) * (BUCKETS as f32 / (2.0 * RANGE))) as usize).min(BUCKETS - 1);
    let shares = estimates.par_iter().flat_map(|of_part| of_part.par_chunks(ESTIMATES));
    let counts = shares.map(|share| {
        let mut counts = vec![0_usize; BUCKETS];
        share.iter().filter(|it| !it.is_nan()).for_each(|estimate| counts[bucket(*estimate)] += 1);
        counts
    });
    let counts = counts.reduce(Vec::new, |mut one, other| {
        if one.is_empty() {
            return other;
        }
        one.iter_mut().zip(other).for_each(|(one, other)| *one += other);
        one
    });
    let mut found = 0;
    let least = (0..counts.len()).rev().find(|bucket| {
        found += counts[*bucket];
        found >= wanted
    });
    let least = least.unwrap_or_default();
    let of_share = |(number, share): (usize, &[f32])| {
        let rows = (number * ESTIMATES..).zip(share);
        let great = rows.filter(|(_, it)| !it.is_nan() && bucket(**it) >= least);
        great.filter_map(|(row, estimate)| Some((u32::try_from(row).ok()?, *estimate))).collect::<Vec<_>>()
    };
    let of_part = |estimates: &Vec<f32>| {
        estimates.par_chunks(ESTIMATES).enumerate().flat_map_iter(of_share).collect::<Vec<_>>()
    };
    let mut greatest: Vec<_> = estimates.par_iter().map(of_part).collect();
    if greatest.iter().map(Vec::len).sum::<usize>() > 2 * wanted {
        // Very many estimates are equal.
        let of_part = |(part, rows): (usize, &mut Vec<(u32, f32)>)| {
            std::mem::take(rows).into_iter().map(move |row| (part, row))
        };
        let mut all: Vec<_> = greatest.iter_mut().enumerate().flat_map(of_part).collect();
        all.sort_by_key(|(_, (_, estimate))| Reverse(bucket(*estimate)));
        all.truncate(2 * wanted);
        for (part, row) in all {
            greatest[part].push(row);
        }
    }
    greatest
}
