//! The reading order of lines: a column after the other where a page has columns, and otherwise row by row.

use crate::direction::{self, Direction};
use crate::lines::Line;

/// A gap of so many sizes divides cells.
const CELL_GAP: f64 = 1.5;
/// Least width of the gutter between two columns, in sizes.
const MIN_GUTTER: f64 = 0.9;
/// Columns have so many rows at least.
const MIN_ROWS: usize = 3;
/// Columns of text have so many characters a row at least; those of a table have fewer.
const MIN_CHARS_PER_ROW: usize = 18;
/// A step down of more sizes is the end of a paragraph.
const PARAGRAPH_STEP: f64 = 1.9;
/// Maximum number of gutters that are followed.
const MAX_GUTTERS: usize = 16;

/// Text without a wide gap.
struct Cell {
    from: f64,
    to: f64,
    text: String,
}

struct Row {
    up: f64,
    size: f64,
    direction: Direction,
    /// From left to right.
    cells: Vec<Cell>,
}

/// Adds the text of lines that come from the top to the bottom.
pub(crate) fn write(lines: Vec<Line>, text: &mut String) {
    let mut band = Band::default();
    for row in lines.into_iter().map(Row::of).filter(|row| !row.cells.is_empty()) {
        if let Err(row) = band.add(row) {
            std::mem::take(&mut band).write(text);
            // The first row fits any band.
            drop(band.add(row));
        }
    }
    band.write(text);
}

impl Row {
    fn of(line: Line) -> Self {
        let glyphs: Vec<_> = line.fragments.into_iter().flatten().collect();
        let direction = Direction::of(&glyphs);
        let mut cells: Vec<Vec<_>> = Vec::new();
        for glyph in glyphs {
            let is_apart = |last: &crate::collector::PlacedGlyph| {
                glyph.along - last.end() > CELL_GAP * last.size.min(glyph.size)
            };
            match cells.last_mut() {
                Some(cell) if !cell.last().is_some_and(is_apart) => cell.push(glyph),
                _ => cells.push(vec![glyph]),
            }
        }
        let cells = cells.into_iter().map(|glyphs| Cell {
            from: glyphs[0].along,
            to: glyphs.iter().map(|glyph| glyph.end()).fold(f64::MIN, f64::max),
            text: direction::write(&glyphs, direction),
        });
        let cells = cells.filter(|cell| !cell.text.is_empty()).collect();
        Self { up: line.up, size: line.size, direction, cells }
    }

    /// The cells between two places, in reading order, with tabs between them.
    fn between(&self, from: f64, to: f64) -> Option<String> {
        let mut cells: Vec<_> = self.cells.iter().filter(|cell| cell.from >= from && cell.to <= to).collect();
        if self.direction == Direction::RightToLeft {
            cells.reverse();
        }
        let texts: Vec<_> = cells.into_iter().map(|cell| cell.text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\t"))
    }
}

/// Rows one below the other that leave the same gutters free.
#[derive(Default)]
struct Band {
    rows: Vec<Row>,
    /// From left to right.
    gutters: Vec<(f64, f64)>,
    from: f64,
    to: f64,
}

impl Band {
    /// Adds a row, unless it crosses every gutter.
    fn add(&mut self, row: Row) -> Result<(), Row> {
        let free = free(&row);
        let from = row.cells[0].from;
        let to = row.cells.iter().map(|cell| cell.to).fold(f64::MIN, f64::max);
        if self.rows.is_empty() {
            (self.gutters, self.from, self.to) = (free, from, to);
            self.rows.push(row);
            return Ok(());
        }
        let common = self
            .gutters
            .iter()
            .flat_map(|one| free.iter().map(|other| (one.0.max(other.0), one.1.min(other.1))));
        let mut common: Vec<_> = common.filter(|gap| gap.1 - gap.0 >= MIN_GUTTER * row.size).collect();
        common.truncate(MAX_GUTTERS);
        let from = self.from.min(from);
        let to = self.to.max(to);
        if !common.iter().any(|gap| gap.0 > from && gap.1 < to) {
            return Err(row);
        }
        (self.gutters, self.from, self.to) = (common, from, to);
        self.rows.push(row);
        Ok(())
    }

    fn write(self, text: &mut String) {
        let inner = self.gutters.iter().filter(|gap| gap.0 > self.from && gap.1 < self.to);
        let edges: Vec<_> = inner.map(|gap| f64::midpoint(gap.0, gap.1)).collect();
        let starts = std::iter::once(f64::MIN).chain(edges.iter().copied());
        let columns: Vec<_> = starts.zip(edges.iter().copied().chain([f64::MAX])).collect();
        if columns.len() > 1 && columns.iter().all(|column| self.is_text(*column)) {
            columns.into_iter().for_each(|(from, to)| self.write_between(from, to, text));
        } else {
            self.write_between(f64::MIN, f64::MAX, text);
        }
    }

    /// Returns whether there is running text between two places, and not the cells of a table.
    fn is_text(&self, (from, to): (f64, f64)) -> bool {
        let rows: Vec<_> = self.rows.iter().filter_map(|row| row.between(from, to)).collect();
        let chars: usize = rows.iter().map(|row| row.chars().count()).sum();
        rows.len() >= MIN_ROWS && chars >= MIN_CHARS_PER_ROW * rows.len()
    }

    fn write_between(&self, from: f64, to: f64, text: &mut String) {
        let mut last: Option<&Row> = None;
        for row in &self.rows {
            let Some(line) = row.between(from, to) else { continue };
            let is_paragraph =
                last.is_some_and(|last| last.up - row.up > PARAGRAPH_STEP * last.size.max(row.size));
            if !is_paragraph && divides_word(text, &line) {
                text.pop();
            } else if !text.is_empty() {
                text.push_str(if is_paragraph { "\n\n" } else { "\n" });
            }
            text.push_str(&line);
            last = Some(row);
        }
    }
}

/// Returns whether the hyphen at the end of a text divides a word that the next line continues.
fn divides_word(text: &str, next: &str) -> bool {
    let divided = text.strip_suffix(['-', '\u{AD}', '\u{2010}']);
    divided.is_some_and(|it| it.ends_with(char::is_lowercase)) && next.starts_with(char::is_lowercase)
}

/// What a row leaves free: before, between and after its cells.
fn free(row: &Row) -> Vec<(f64, f64)> {
    let mut free = Vec::new();
    let mut at = f64::MIN;
    for cell in row.cells.iter().take(MAX_GUTTERS) {
        if cell.from > at {
            free.push((at, cell.from));
        }
        at = at.max(cell.to);
    }
    // What follows the last cell that is looked at counts as taken.
    let end = row.cells.iter().map(|cell| cell.to).fold(at, f64::max);
    free.push((end, f64::MAX));
    free
}
