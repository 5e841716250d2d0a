//! Text from placed glyphs: those of one direction of writing after the other, each by columns and lines.

use std::collections::HashMap;

use crate::collector::PlacedGlyph;
use crate::{columns, lines};

/// Directions of writing on a page that are read; a drawing may have one for each label.
const MAX_ANGLES: usize = 32;

/// Returns the text of a page.
pub(crate) fn write(glyphs: Vec<PlacedGlyph>) -> String {
    let mut frames: Vec<(i32, Vec<PlacedGlyph>)> = Vec::new();
    for glyph in without_copies(glyphs) {
        match frames.iter().position(|(angle, _)| *angle == glyph.angle) {
            Some(frame) => frames[frame].1.push(glyph),
            None if frames.len() < MAX_ANGLES => frames.push((glyph.angle, vec![glyph])),
            None => {}
        }
    }
    let mut text = String::new();
    for (_, frame) in frames {
        columns::write(lines::of(frame), &mut text);
    }
    text.truncate(text.trim_end().len());
    text
}

/// Leaves glyphs out that are drawn again at nearly the same place, as bold text and shadows are.
fn without_copies(glyphs: Vec<PlacedGlyph>) -> Vec<PlacedGlyph> {
    let mut seen: HashMap<(i32, i64, i64), Vec<usize>> = HashMap::new();
    let mut kept: Vec<PlacedGlyph> = Vec::with_capacity(glyphs.len());
    for glyph in glyphs {
        let near = (0.5 * glyph.width).min(0.12 * glyph.size).max(0.01);
        #[allow(clippy::cast_possible_truncation, reason = "cells of a grid")]
        let cell = |place: f64| (place / CELL).floor() as i64;
        let column = cell(glyph.along);
        let row = cell(glyph.up);
        let around = (-1..=1).flat_map(|across| (-1..=1).map(move |up| (across, up)));
        let is_copy = |other: &PlacedGlyph| {
            (other.along - glyph.along).abs() < near
                && (other.up - glyph.up).abs() < near
                && other.text == glyph.text
        };
        let is_seen = around.clone().any(|(across, up)| {
            let places = seen.get(&(glyph.angle, column + across, row + up));
            places.is_some_and(|places| places.iter().rev().take(MAX_COMPARED).any(|at| is_copy(&kept[*at])))
        });
        if !is_seen {
            seen.entry((glyph.angle, column, row)).or_default().push(kept.len());
            kept.push(glyph);
        }
    }
    kept
}

/// Size of a cell in which copies are searched, in points.
const CELL: f64 = 4.0;
/// Glyphs of a cell with which one is compared.
const MAX_COMPARED: usize = 64;
