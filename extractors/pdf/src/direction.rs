//! Words of a line, and text from right to left in the order in which it is read.

use crate::collector::PlacedGlyph;

/// A gap of this share of the size is a space.
const SPACE: f64 = 0.1;
/// The same before an index or exponent, which belongs to the word before it.
const SPACE_BEFORE_SCRIPT: f64 = 0.3;

/// How most of a line is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    LeftToRight,
    RightToLeft,
}

impl Direction {
    /// The direction of most letters.
    pub(crate) fn of(glyphs: &[PlacedGlyph]) -> Self {
        let is_rightward = |glyph: &&PlacedGlyph| is_right_to_left(&glyph.text);
        let right = glyphs.iter().filter(is_rightward).count();
        let letters = glyphs.iter().filter(|glyph| glyph.text.chars().any(char::is_alphabetic)).count();
        if 2 * right > letters { Self::RightToLeft } else { Self::LeftToRight }
    }
}

/// Returns the text of glyphs that stand from left to right.
pub(crate) fn write(glyphs: &[PlacedGlyph], direction: Direction) -> String {
    let mut pieces: Vec<&str> = Vec::with_capacity(glyphs.len());
    let mut last: Option<&PlacedGlyph> = None;
    for glyph in glyphs {
        if last.is_some_and(|last| are_apart(last, glyph)) {
            pieces.push(" ");
        }
        pieces.push(if glyph.is_blank() { " " } else { &glyph.text });
        last = Some(glyph);
    }
    if pieces.iter().any(|piece| is_right_to_left(piece)) {
        pieces = reordered(pieces, direction);
    }
    let mut text = String::new();
    for piece in pieces {
        if piece != " " || !(text.is_empty() || text.ends_with(' ')) {
            text.push_str(piece);
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn are_apart(last: &PlacedGlyph, glyph: &PlacedGlyph) -> bool {
    let size = last.size.min(glyph.size);
    // The gap has the spacing of the run before it. A run that is too short to tell its own may continue that one.
    let spacing =
        last.spacing.map_or(0.0, |spacing| glyph.spacing.map_or(spacing, |other| spacing.min(other)));
    let gap = glyph.along - last.end() - spacing;
    let is_back = glyph.along < last.along - 0.3 * size;
    let is_script = glyph.size < 0.85 * last.size && (glyph.up - last.up).abs() > 0.1 * last.size;
    let space = if is_script { SPACE_BEFORE_SCRIPT * last.size } else { SPACE * size };
    gap > space || is_back
}

fn is_right_to_left(text: &str) -> bool {
    text.chars().any(|it| {
        matches!(it, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}')
            && !matches!(it, '\u{660}'..='\u{669}' | '\u{6F0}'..='\u{6F9}')
    })
}

/// Reverses what is written from right to left, and the order of all parts if the line is. What has no direction goes
/// with what stands around it, and with the line where that differs.
fn reordered(pieces: Vec<&str>, direction: Direction) -> Vec<&str> {
    let mut runs: Vec<(Direction, Vec<&str>)> = Vec::new();
    let mut undirected: Vec<&str> = Vec::new();
    for piece in pieces {
        let of_piece = if is_right_to_left(piece) {
            Direction::RightToLeft
        } else if piece.chars().any(char::is_alphanumeric) {
            Direction::LeftToRight
        } else {
            undirected.push(piece);
            continue;
        };
        let before = runs.last().map_or(direction, |run| run.0);
        let between = if before == of_piece { of_piece } else { direction };
        add(&mut runs, between, std::mem::take(&mut undirected));
        add(&mut runs, of_piece, vec![piece]);
    }
    add(&mut runs, direction, undirected);
    for (_, run) in runs.iter_mut().filter(|run| run.0 == Direction::RightToLeft) {
        run.reverse();
    }
    if direction == Direction::RightToLeft {
        runs.reverse();
    }
    runs.into_iter().flat_map(|(_, run)| run).collect()
}

fn add<'p>(runs: &mut Vec<(Direction, Vec<&'p str>)>, direction: Direction, pieces: Vec<&'p str>) {
    match runs.last_mut() {
        Some(run) if run.0 == direction => run.1.extend(pieces),
        _ if pieces.is_empty() => {}
        _ => runs.push((direction, pieces)),
    }
}
