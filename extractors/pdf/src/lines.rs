//! Lines: glyphs that stand on one baseline.

use std::collections::HashMap;

use crate::collector::PlacedGlyph;

/// Height of a band in which lines are searched, in points.
const BAND: f64 = 8.0;
/// How far a line may be from a fragment that belongs to it, in points.
const REACH: f64 = 40.0;
/// Lines of a band that are considered for a fragment.
const MAX_CANDIDATES: usize = 64;
/// Fragments of a line that are looked at, to find what a fragment stands beside.
const MAX_NEIGHBOURS: usize = 200;

/// Glyphs that follow each other in the file and on the page.
pub(crate) type Fragment = Vec<PlacedGlyph>;

/// A line with the baseline and the size of its largest text.
pub(crate) struct Line {
    pub(crate) up: f64,
    pub(crate) size: f64,
    /// In the order of writing.
    pub(crate) fragments: Vec<Fragment>,
}

/// Returns the lines of a page, from the top to the bottom.
pub(crate) fn of(glyphs: Vec<PlacedGlyph>) -> Vec<Line> {
    let mut fragments = fragments(glyphs);
    // The largest first: what is smaller, and higher or lower, joins the line of what it belongs to.
    fragments.sort_by(|one, other| other[0].size.total_cmp(&one[0].size));
    let mut lines: Vec<Line> = Vec::new();
    let mut bands: HashMap<i64, Vec<usize>> = HashMap::new();
    for fragment in fragments {
        let up = fragment[0].up;
        let near = (band(up - REACH)..=band(up + REACH)).flat_map(|band| {
            bands.get(&band).into_iter().flat_map(|lines| lines.iter().rev().take(MAX_CANDIDATES))
        });
        let fits = near.copied().filter(|line| lines[*line].takes(&fragment));
        let distance = |line: &usize| (lines[*line].up - up).abs();
        match fits.min_by(|one, other| distance(one).total_cmp(&distance(other))) {
            Some(line) => lines[line].fragments.push(fragment),
            None => {
                bands.entry(band(up)).or_default().push(lines.len());
                lines.push(Line { up, size: fragment[0].size, fragments: vec![fragment] });
            }
        }
    }
    lines.sort_by(|one, other| other.up.total_cmp(&one.up));
    for line in &mut lines {
        line.fragments.sort_by(|one, other| one[0].along.total_cmp(&other[0].along));
    }
    lines
}

#[allow(clippy::cast_possible_truncation, reason = "of a page")]
fn band(up: f64) -> i64 {
    (up / BAND).floor() as i64
}

impl Line {
    /// Returns whether a fragment stands on this line: on its baseline, or beside it as an index or exponent.
    fn takes(&self, fragment: &Fragment) -> bool {
        let up = fragment[0].up;
        let size = fragment[0].size;
        let distance = (self.up - up).abs();
        if distance < 0.25 * size {
            return true;
        }
        if distance > 0.55 * self.size {
            return false;
        }
        let (start, end) = extent(fragment);
        let others =
            || self.fragments.iter().rev().take(MAX_NEIGHBOURS).map(|other| (extent(other), other[0].up));
        let overlaps = others().any(|((from, to), other_up)| {
            end.min(to) - start.max(from) > 0.3 * size && (other_up - up).abs() > 0.1 * size
        });
        let is_beside = others().any(|((from, to), _)| {
            (start - to).abs() < 0.5 * self.size || (from - end).abs() < 0.5 * self.size
        });
        !overlaps && (distance < 0.45 * size || (size < 0.85 * self.size && is_beside))
    }
}

/// Where a fragment begins and ends.
pub(crate) fn extent(fragment: &Fragment) -> (f64, f64) {
    (fragment[0].along, fragment.last().map_or(fragment[0].along, PlacedGlyph::end))
}

/// Joins glyphs that follow each other in the file and on the page, without blanks at their ends.
fn fragments(glyphs: Vec<PlacedGlyph>) -> Vec<Fragment> {
    let mut fragments: Vec<Fragment> = Vec::new();
    for glyph in glyphs {
        let fragment = fragments.last_mut();
        match fragment.filter(|fragment| fragment.last().is_some_and(|last| follows(last, &glyph))) {
            Some(fragment) => fragment.push(glyph),
            None => fragments.push(vec![glyph]),
        }
    }
    for fragment in &mut fragments {
        let end = fragment.iter().rposition(|glyph| !glyph.is_blank()).map_or(0, |at| at + 1);
        fragment.truncate(end);
        let start = fragment.iter().position(|glyph| !glyph.is_blank()).unwrap_or(end);
        fragment.drain(..start);
    }
    fragments.retain(|fragment| !fragment.is_empty());
    fragments
}

/// Overlaps are kerning or wrong widths, as long as a glyph begins after the one before.
fn follows(last: &PlacedGlyph, glyph: &PlacedGlyph) -> bool {
    let size = last.size.min(glyph.size);
    (glyph.up - last.up).abs() < 0.15 * size
        && glyph.along - last.end() < size
        && glyph.along >= last.along - 0.05 * size
        && last.size.max(glyph.size) < 1.6 * size
}
