//! The glyphs of a page with their places.

use std::collections::VecDeque;

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::WritingMode;
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect, Shape};
use hayro_interpret::{BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask};

use crate::characters::Fonts;

/// Maximum number of glyphs of a page; what follows is not read.
const MAX_GLYPHS: usize = 500_000;
/// Units of a font's em.
const EM: f64 = 1000.0;
/// Advance of a glyph of which the font does not say it, in units of the em.
const DEFAULT_ADVANCE: f32 = 500.0;
/// Median advance of the glyphs of a run, in thousandths of the size: what is usual, and from which the size is wrong.
const USUAL_ADVANCE: f64 = 500.0;
const MAX_MEDIAN_ADVANCE: f64 = 1_600.0;
/// Text that is turned by less is straight, in degrees.
const STRAIGHT_DEGREES: f64 = 3.0;
/// How far the baseline of vertical text is from its middle, as a share of the size.
const VERTICAL_BASELINE: f64 = 0.88;
/// Margin around a page in which glyphs are visible enough, in points.
const MARGIN: f64 = 2.0;
/// Glyphs of which the horizontal scales are compared.
const COMPARED_SCALES: usize = 9;

/// A glyph in the frame of its line: `along` the direction of writing, and `up` from the baseline, in points.
#[derive(Clone, Debug)]
pub(crate) struct PlacedGlyph {
    pub(crate) text: String,
    /// Direction of writing in degrees, counterclockwise.
    pub(crate) angle: i32,
    pub(crate) along: f64,
    pub(crate) up: f64,
    pub(crate) width: f64,
    pub(crate) size: f64,
    /// Letter spacing of its run, which separates no words; `None` if the run is too short to tell.
    pub(crate) spacing: Option<f64>,
}

impl PlacedGlyph {
    pub(crate) fn end(&self) -> f64 {
        self.along + self.width
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }
}

/// Collects the glyphs of a page.
pub(crate) struct Collector<'f> {
    pub(crate) glyphs: Vec<PlacedGlyph>,
    /// Number of glyphs of which nothing says what they stand for.
    pub(crate) unknown: usize,
    visible: Rect,
    fonts: &'f mut Fonts,
    /// Sizes and horizontal scales of the last runs of one glyph.
    recent: VecDeque<(f64, f64)>,
}

impl<'f> Collector<'f> {
    pub(crate) fn new(page: Rect, fonts: &'f mut Fonts) -> Self {
        let visible = page.inflate(MARGIN, MARGIN);
        Self { glyphs: Vec::new(), unknown: 0, visible, fonts, recent: VecDeque::new() }
    }

    /// Returns the horizontal scale of a run, which is the same for all its glyphs: those of a substitute font are
    /// stretched one by one, so the median counts, of single glyphs with those before.
    fn scale(&mut self, shapes: &[[f64; 6]]) -> f64 {
        let of = |shape: &[f64; 6]| shape[0].hypot(shape[1]) / shape[2].hypot(shape[3]).max(f64::EPSILON);
        let mut scales: Vec<f64> = shapes.iter().map(of).collect();
        if let [shape] = shapes {
            let size = shape[2].hypot(shape[3]);
            self.recent.push_front((size, scales[0]));
            self.recent.truncate(COMPARED_SCALES);
            let alike = self.recent.iter().take_while(|(other, _)| (other - size).abs() < 0.01 * size);
            scales = alike.map(|(_, scale)| *scale).collect();
        } else {
            self.recent.clear();
        }
        median(&mut scales).unwrap_or(1.0)
    }

    fn place(&mut self, glyph: &Glyph<'_>, shape: &[f64; 6], scale: f64, is_vertical: bool, em: f64) {
        let size = em * shape[2].hypot(shape[3]);
        let across = em * shape[0].hypot(shape[1]);
        let has_size = size.is_finite() && across.is_finite() && size > 0.01 && across > 0.001;
        if !has_size || !self.visible.contains(Point::new(shape[4], shape[5])) {
            return;
        }
        let Some(text) = self.fonts.text(glyph) else {
            self.unknown += 1;
            return;
        };
        let angle = angle(shape, is_vertical);
        let (sin, cos) = f64::from(angle).to_radians().sin_cos();
        let mut along = shape[4] * cos + shape[5] * sin;
        let mut up = shape[5] * cos - shape[4] * sin;
        let mut width = f64::from(advance(glyph).unwrap_or(DEFAULT_ADVANCE)) / em * size * scale;
        if is_vertical {
            // The advance is downwards: the middle of the glyph is that of its outline.
            let middle = match glyph {
                Glyph::Outline(outline) => outline.outline().bounding_box().center().x,
                Glyph::Type3(_) => EM / 2.0,
            };
            (along, up, width) = (along - VERTICAL_BASELINE * size, up + middle / em * size, size);
        }
        let width = width.clamp(0.0, 4.0 * size);
        self.glyphs.push(PlacedGlyph { text, angle, along, up, width, size, spacing: None });
    }
}

impl<'a> Device<'a> for Collector<'_> {
    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'a>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {}
    fn draw_image(&mut self, _: Image<'a, '_>, _: ImageDrawProps<'a>) {}
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}

    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, 'a>, props: DrawProps<'a>, _: &DrawMode) {
        if self.glyphs.len() > MAX_GLYPHS {
            return;
        }
        let is_vertical = run.writing_mode() == WritingMode::Vertical;
        let shape = |transform: Affine| (props.transform * transform).as_coeffs();
        let shapes: Vec<_> = run.glyphs().iter().map(|glyph| shape(glyph.transform())).collect();
        let first = self.glyphs.len();
        let scale = self.scale(&shapes);
        let em = em(run);
        for (glyph, shape) in run.glyphs().iter().zip(&shapes) {
            self.place(glyph, shape, scale, is_vertical, em);
        }
        set_spacing(&mut self.glyphs[first..]);
    }
}

/// Units of the em of a run's font. A font whose glyphs are drawn by the file may have glyphs many times as large as the
/// size that the file names, so theirs is found by how wide they are.
fn em(run: &GlyphRun<'_, '_>) -> f64 {
    let is_drawn = |glyph: &Glyph<'_>| matches!(glyph, Glyph::Type3(_));
    let drawn = run.glyphs().iter().filter(|glyph| is_drawn(glyph));
    let mut widths: Vec<f64> =
        drawn.filter_map(|glyph| advance(glyph)).map(|it| f64::from(it).abs()).collect();
    let width = median(&mut widths).unwrap_or_default();
    if width < MAX_MEDIAN_ADVANCE { EM } else { EM * 10_f64.powf((width / USUAL_ADVANCE).log10().round()) }
}

fn advance(glyph: &Glyph<'_>) -> Option<f32> {
    match glyph {
        Glyph::Outline(outline) => outline.advance_width(),
        Glyph::Type3(drawn) => drawn.advance_width(),
    }
}

fn angle(shape: &[f64; 6], is_vertical: bool) -> i32 {
    let mut angle = shape[1].atan2(shape[0]).to_degrees();
    let straight = (angle / 90.0).round() * 90.0;
    if (angle - straight).abs() < STRAIGHT_DEGREES {
        angle = straight;
    }
    if is_vertical {
        angle -= 90.0;
    }
    #[allow(clippy::cast_possible_truncation, reason = "of a few hundred degrees")]
    let degrees = angle.round() as i32;
    degrees.rem_euclid(360)
}

/// Finds the letter spacing of a run: the median gap of its letters and digits, unless that is one between words.
fn set_spacing(run: &mut [PlacedGlyph]) {
    let is_letter = |glyph: &PlacedGlyph| glyph.text.chars().any(char::is_alphanumeric);
    let pairs = run.windows(2).filter(|pair| is_letter(&pair[0]) && is_letter(&pair[1]));
    let level = pairs.filter(|pair| (pair[0].up - pair[1].up).abs() < 0.1 * pair[0].size);
    let mut gaps: Vec<f64> = level.map(|pair| (pair[1].along - pair[0].end()) / pair[0].size).collect();
    // Two gaps are spacing only if they are equal.
    let is_enough = match gaps[..] {
        [one, other] => (one - other).abs() < 0.02,
        _ => gaps.len() > 2,
    };
    if !is_enough {
        return;
    }
    let gap = median(&mut gaps).filter(|gap| (0.02..0.35).contains(gap)).unwrap_or_default();
    run.iter_mut().for_each(|glyph| glyph.spacing = Some(gap * glyph.size));
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
