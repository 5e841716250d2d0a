//! Inverted index: the chunks that contain each term.
//!
//! Postings of a file are read in place and not trusted: a term may be any number, and a posting may name any
//! chunk.

use std::collections::HashMap;
use std::io::{self, Write};

use bytes::Bytes;

use super::ChunkNumber;
use crate::words::Term;

/// Postings of all terms, in parts. Each part covers later chunks than the one before.
#[derive(Clone, Default)]
pub(super) struct Postings {
    parts: Vec<Part>,
    /// Postings that are in no part. The hasher is fast and not collision-resistant: terms are hashes
    /// already, and users who provoke collisions slow down only their own searches.
    recent: HashMap<Term, Vec<Posting>, foldhash::fast::RandomState>,
    recent_count: usize,
}

/// Immutable postings in columns, all little-endian.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// Terms (`u32`), ascending.
    pub(super) terms: Bytes,
    /// Cumulative number of postings up to each term (`u64`).
    pub(super) ends: Bytes,
    /// Postings, grouped by term, ascending within each.
    pub(super) postings: Bytes,
}

/// Packed posting: term frequency saturating at 255 (8 bits), chunk number (24 bits), little-endian.
pub(super) type Posting = [u8; size_of::<u32>()];

/// Memory in bytes per term that is in no part, besides its postings, and per posting: vectors grow by
/// doubling, and on average a third is unused.
const BYTES_PER_TERM: usize = 64;
const BYTES_PER_POSTING: usize = 6;

impl Postings {
    /// Postings of a single part; `None` if its columns do not match.
    pub(super) fn of_part(part: Part) -> Option<Self> {
        let is_whole = part.terms.len().is_multiple_of(size_of::<u32>())
            && part.postings.len().is_multiple_of(size_of::<u32>())
            && part.ends.len() == part.terms.len() * 2
            // Otherwise terms would share postings, and rewriting the file would enlarge it.
            && part.ends.as_chunks().0.is_sorted_by_key(|end| u64::from_le_bytes(*end))
            && part.end(part.len()) == part.postings.len() / size_of::<u32>();
        is_whole.then(|| Self { parts: vec![part], ..Self::default() })
    }

    pub(super) fn push(&mut self, term: Term, posting: Posting) {
        self.recent.entry(term).or_default().push(posting);
        self.recent_count += 1;
    }

    /// Postings of a term, by part.
    pub(super) fn of(&self, term: Term) -> impl Iterator<Item = &[Posting]> {
        let of_parts = self.parts.iter().map(move |part| part.of(term));
        of_parts.chain(self.recent.get(&term).map(Vec::as_slice))
    }

    /// All terms, ascending.
    pub(super) fn terms(&self) -> Vec<Term> {
        let of_parts = self.parts.iter().flat_map(|part| part.terms.as_chunks().0);
        let of_parts = of_parts.map(|term| Term::from_le_bytes(*term));
        let mut terms: Vec<_> = of_parts.chain(self.recent.keys().copied()).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// Terms with postings that are in no part, ascending.
    pub(super) fn recent_terms(&self) -> Vec<Term> {
        let mut terms: Vec<_> = self.recent.keys().copied().collect();
        terms.sort_unstable();
        terms
    }

    /// Writes the postings of a term that are in no part.
    pub(super) fn write_recent(&self, term: Term, out: &mut impl Write) -> io::Result<u64> {
        let postings = self.recent.get(&term).map(Vec::as_slice).unwrap_or_default();
        out.write_all(postings.as_flattened())?;
        Ok(postings.len() as u64)
    }

    /// Replaces the postings in memory by the same postings in a part. Returns false, without a change, if
    /// the part's columns do not match.
    pub(super) fn replace_recent(&mut self, part: Part) -> bool {
        let Some(Self { parts, .. }) = Self::of_part(part) else { return false };
        self.parts.extend(parts);
        (self.recent, self.recent_count) = Default::default();
        true
    }

    /// Approximate memory of the postings that are in no part, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.recent.len() * BYTES_PER_TERM + self.recent_count * BYTES_PER_POSTING
    }

    /// Upper bound of the file size of all postings, in bytes.
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

    /// Number of postings of the first `terms` terms.
    fn end(&self, terms: usize) -> usize {
        let (ends, _) = self.ends.as_chunks();
        let end =
            terms.checked_sub(1).and_then(|last| ends.get(last)).map_or(0, |end| u64::from_le_bytes(*end));
        usize::try_from(end).unwrap_or(usize::MAX)
    }
}

/// Packs a posting.
pub(super) fn posting(place: ChunkNumber, count: u16) -> Posting {
    (place << 8 | u32::from(count.min(0xff))).to_le_bytes()
}

/// Unpacks a posting: chunk number and term frequency.
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
