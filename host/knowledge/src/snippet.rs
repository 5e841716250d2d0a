//! Snippets: the part of a passage around the query words.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::words::{Analyzer, Term};

/// Length of a snippet in bytes, without ellipses.
const LENGTH: usize = 240;

/// Mark of omitted text.
const ELLIPSIS: char = '…';

/// Extracts a snippet from a passage: the part with the most distinct query words, or else the beginning.
/// White space is collapsed. `query` has terms of the passage's analyzer.
pub(super) fn snippet(passage: &str, analyzer: Analyzer, query: &[Term]) -> String {
    let passage = passage.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = best_window(&passage, analyzer, query).unwrap_or(0..0);
    let Range { start, end } = widened(&passage, found);
    let mut snippet = String::with_capacity(LENGTH + 2 * ELLIPSIS.len_utf8());
    if start > 0 {
        snippet.push(ELLIPSIS);
    }
    snippet.push_str(passage[start..end].trim());
    if end < passage.len() {
        snippet.push(ELLIPSIS);
    }
    snippet
}

/// Range of at most [`LENGTH`] bytes from one query word to another that has the most distinct query words;
/// the first one of several.
fn best_window(passage: &str, analyzer: Analyzer, query: &[Term]) -> Option<Range<usize>> {
    let wanted: HashSet<_> = query.iter().copied().collect();
    let hits: Vec<_> = analyzer
        .words(passage)
        .map(|word| (word.range, word.term))
        .filter(|(range, term)| wanted.contains(term) && range.len() <= LENGTH)
        .collect();
    let mut inside = HashMap::<Term, usize>::new();
    let mut first = 0;
    let mut best = None::<(usize, Range<usize>)>;
    for (range, term) in &hits {
        *inside.entry(*term).or_default() += 1;
        // Drops leading words that do not fit any more, or occur again later.
        while range.end - hits[first].0.start > LENGTH
            || inside.get(&hits[first].1).is_some_and(|count| *count > 1)
        {
            let count = inside.entry(hits[first].1).or_default();
            *count -= 1;
            if *count == 0 {
                inside.remove(&hits[first].1);
            }
            first += 1;
        }
        if best.as_ref().is_none_or(|(count, _)| inside.len() > *count) {
            best = Some((inside.len(), hits[first].0.start..range.end));
        }
    }
    best.map(|(_, range)| range)
}

/// Extends a range on both sides up to [`LENGTH`], to word borders if there are some near.
fn widened(passage: &str, found: Range<usize>) -> Range<usize> {
    let room = LENGTH.saturating_sub(found.len());
    // Space that one side cannot use goes to the other.
    let before = (room / 2).max(room.saturating_sub(passage.len() - found.end)).min(found.start);
    let after = (room - before).min(passage.len() - found.end);
    let start = passage.ceil_char_boundary(found.start - before);
    let end = passage.floor_char_boundary(found.end + after);
    let start = if start == 0 {
        0
    } else {
        passage[start..found.start].find(' ').map_or(start, |space| start + space + 1)
    };
    let end = if end == passage.len() {
        end
    } else {
        passage[found.end..end].rfind(' ').map_or(end, |space| found.end + space)
    };
    start..end
}
