//! Which chunks have which word.
//!
//! Postings of a file stay where they are. Nothing that they say is trusted: a term may have any bytes, and a posting may
//! name any chunk.

use std::collections::HashMap;
use std::io::{self, Write};

use bytes::Bytes;

use super::ChunkNumber;
use crate::words::Term;

/// The postings of all terms, in parts. Each part is of later chunks than the one before.
#[derive(Clone, Default)]
pub(super) struct Postings {
    parts: Vec<Part>,
    /// Those that are in no part. A term is a hash already, and a user who makes theirs collide slows down their own searches
    /// only.
    recent: HashMap<Term, Vec<Posting>, foldhash::fast::RandomState>,
    recent_count: usize,
}

/// Postings that do not change, by columns, all little-endian.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// The terms (`u32`), in ascending order.
    pub(super) terms: Bytes,
    /// How many postings there are up to the last of each term (`u64`).
    pub(super) ends: Bytes,
    /// The postings, those of a term beside each other in ascending order.
    pub(super) postings: Bytes,
}

/// How often a chunk has a term (8 bits, saturating), and its number (24 bits), little-endian.
pub(super) type Posting = [u8; size_of::<u32>()];

/// Bytes of memory for each term in no part, besides its postings, and for each posting: vectors of them grow by doubling, and
/// on average a third is unused.
const BYTES_PER_TERM: usize = 64;
const BYTES_PER_POSTING: usize = 6;

impl Postings {
    /// Those of a part; nothing where it is not whole.
    pub(super) fn of_part(part: Part) -> Option<Self> {
        let is_whole = part.terms.len().is_multiple_of(size_of::<u32>())
            && part.postings.len().is_multiple_of(size_of::<u32>())
            && part.ends.len() == part.terms.len() * 2
            // Otherwise terms share postings, and a file that is written anew has more than this one.
            && part.ends.as_chunks().0.is_sorted_by_key(|end| u64::from_le_bytes(*end))
            && part.end(part.len()) == part.postings.len() / size_of::<u32>();
        is_whole.then(|| Self { parts: vec![part], ..Self::default() })
    }

    pub(super) fn push(&mut self, term: Term, posting: Posting) {
        self.recent.entry(term).or_default().push(posting);
        self.recent_count += 1;
    }

    /// The postings of a term, by parts.
    pub(super) fn of(&self, term: Term) -> impl Iterator<Item = &[Posting]> {
        let of_parts = self.parts.iter().map(move |part| part.of(term));
        of_parts.chain(self.recent.get(&term).map(Vec::as_slice))
    }

    /// All terms, in ascending order.
    pub(super) fn terms(&self) -> Vec<Term> {
        let of_parts = self.parts.iter().flat_map(|part| part.terms.as_chunks().0);
        let of_parts = of_parts.map(|term| Term::from_le_bytes(*term));
        let mut terms: Vec<_> = of_parts.chain(self.recent.keys().copied()).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// The terms of postings that are in no part, in ascending order.
    pub(super) fn recent_terms(&self) -> Vec<Term> {
        let mut terms: Vec<_> = self.recent.keys().copied().collect();
        terms.sort_unstable();
        terms
    }

    /// Writes the recent postings of a term.
    pub(super) fn write_recent(&self, term: Term, out: &mut impl Write) -> io::Result<u64> {
        let postings = self.recent.get(&term).map(Vec::as_slice).unwrap_or_default();
        out.write_all(postings.as_flattened())?;
        Ok(postings.len() as u64)
    }

    /// Replaces the recent postings by the same in a part. False, and nothing changes, where it is not whole.
    pub(super) fn replace_recent(&mut self, part: Part) -> bool {
        let Some(Self { parts, .. }) = Self::of_part(part) else { return false };
        self.parts.extend(parts);
        (self.recent, self.recent_count) = Default::default();
        true
    }

    /// Memory of the postings that are in no part, roughly, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.recent.len() * BYTES_PER_TERM + self.recent_count * BYTES_PER_POSTING
    }

    /// Bytes of a file that has all postings, at most.
    pub(super) fn file_bytes(&self) -> usize {
        let part = |part: &Part| part.terms.len() + part.ends.len() + part.postings.len();
        let per_term = size_of::<u32>() + size_of::<u64>();
        let recent = self.recent.len() * per_term + self.recent_count * size_of::<u32>();
        self.parts.iter().map(part).sum::<usize>() + recent
    }
}

impl Part {
    fn len(&self) -> usize {
        self.terms.len() / size_of::<u32>()
    }

    fn of(&self, term: Term) -> &[Posting] {
        let (terms, _) = self.terms.as_chunks();
        let place = terms.partition_point(|it| Term::from_le_bytes(*it) < term);
        if terms.get(place).is_none_or(|it| Term::from_le_bytes(*it) != term) {
            return &[];
        }
        let (postings, _) = self.postings.as_chunks();
        postings.get(self.end(place)..self.end(place + 1)).unwrap_or_default()
    }

    /// How many postings the first `terms` terms have.
    fn end(&self, terms: usize) -> usize {
        let (ends, _) = self.ends.as_chunks();
        let end =
            terms.checked_sub(1).and_then(|last| ends.get(last)).map_or(0, |end| u64::from_le_bytes(*end));
        usize::try_from(end).unwrap_or(usize::MAX)
    }
}

/// The posting of a chunk.
pub(super) fn posting(place: ChunkNumber, count: u16) -> Posting {
    (place << 8 | u32::from(count.min(0xff))).to_le_bytes()
}

/// The chunk's number, and how often it has the term.
pub(super) fn place_and_count(posting: Posting) -> (ChunkNumber, u8) {
    (u32::from_le_bytes(posting) >> 8, posting[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_terms_of_a_part_share_postings() {
        let numbers = |numbers: &[u64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let part = |ends: &[u64]| Part {
            terms: [1_u32, 2, 3].iter().flat_map(|term| term.to_le_bytes()).collect(),
            ends: numbers(ends),
            postings: [posting(0, 1), posting(1, 1)].concat().into(),
        };

        assert!(Postings::of_part(part(&[1, 1, 2])).is_some());
        assert!(Postings::of_part(part(&[2, 0, 2])).is_none());
        assert!(Postings::of_part(part(&[1, 1, 1])).is_none());
    }
}
