//! Brushes, and the strokes that they leave.
//!
//! A stroke keeps the layer as it was and how much it covers so far; each point changes only the
//! pixels near it. Where a stroke crosses itself it is no darker, so opacity means the whole
//! stroke's.

use std::collections::BTreeMap;

use atelier_language::tr;
use serde::{Deserialize, Serialize};

use super::compose::scale;
use super::content::DocumentContent;
use super::document::Document;
use super::edit::Ink;
use super::tile::TILE_SIDE;
use super::{LayerError, LayerId, PixelRect};

/// Smallest and largest diameter of a brush in pixels.
pub const BRUSH_SIZES: (f32, f32) = (1.0, 1000.0);

/// A round brush.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Brush {
    /// Diameter in pixels.
    pub size: f32,
    /// Part of the radius that is wholly covered, 0 to 1.
    pub hardness: f32,
    /// Opacity of the stroke, 0 to 1.
    pub opacity: f32,
    /// Distance of the dabs in diameters.
    pub spacing: f32,
    /// How far the stroke lags behind the pointer, 0 to 1: trembling hands want more.
    pub smoothing: f32,
}

impl Default for Brush {
    fn default() -> Self {
        Self { size: 40.0, hardness: 0.8, opacity: 1.0, spacing: 0.1, smoothing: 0.3 }
    }
}

impl Brush {
    /// The brush with every value within its range.
    #[must_use]
    pub fn checked(self) -> Self {
        let part = |value: f32, usual: f32| if value.is_finite() { value.clamp(0.0, 1.0) } else { usual };
        let usual = Self::default();
        Self {
            size: if self.size.is_finite() { self.size.clamp(BRUSH_SIZES.0, BRUSH_SIZES.1) } else { usual.size },
            hardness: part(self.hardness, usual.hardness),
            opacity: part(self.opacity, usual.opacity),
            spacing: part(self.spacing, usual.spacing).max(0.02),
            smoothing: part(self.smoothing, usual.smoothing).min(0.95),
        }
    }
}

/// A place of the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrokePoint {
    /// Pixels from the document's left edge.
    pub x: f32,
    /// Pixels from the document's top edge.
    pub y: f32,
    /// How hard a pen presses, 0 to 1; 1 where nobody knows.
    pub pressure: f32,
}

impl StrokePoint {
    /// A place of a pointer without pressure.
    #[must_use]
    pub const fn new(x: f32, y: f32) -> Self {
        Self { x, y, pressure: 1.0 }
    }

    fn towards(self, other: Self, part: f32) -> Self {
        let between = |from: f32, to: f32| from + (to - from) * part;
        Self { x: between(self.x, other.x), y: between(self.y, other.y), pressure: between(self.pressure, other.pressure) }
    }

    fn distance(self, other: Self) -> f32 {
        (self.x - other.x).hypot(self.y - other.y)
    }
}

/// A stroke that is being drawn on the current layer of a document.
#[derive(Clone, Debug)]
pub struct Stroke {
    brush: Brush,
    ink: Ink,
    layer: LayerId,
    before: DocumentContent,
    /// Whether left and right, top and bottom continue each other.
    wraps: [bool; 2],
    /// How much is covered, by the tile's index.
    coverage: BTreeMap<usize, Vec<u8>>,
    last: StrokePoint,
    /// Pixels from the last dab to `last`.
    since_dab: f32,
    /// Where the pointer is; a smoothed stroke is behind it.
    pointer: StrokePoint,
}

impl Stroke {
    /// Begins a stroke with a dab. Returns the rectangle to be composed anew too.
    ///
    /// # Errors
    /// Where the current layer cannot be changed.
    pub fn begin(document: &mut Document, brush: Brush, ink: Ink, at: StrokePoint) -> Result<(Self, PixelRect), LayerError> {
        Self::begin_wrapped(document, brush, ink, at, [false; 2])
    }

    /// As [`begin`](Self::begin); `wraps`: whether what goes beyond the left or right border, and
    /// the upper or lower one, comes back at the opposite one.
    ///
    /// # Errors
    /// Where the current layer cannot be changed.
    pub fn begin_wrapped(
        document: &mut Document,
        brush: Brush,
        ink: Ink,
        at: StrokePoint,
        wraps: [bool; 2],
    ) -> Result<(Self, PixelRect), LayerError> {
        let before = document.begin_pixels()?;
        let ink = match ink {
            Ink::Colour(chosen) => Ink::Colour(before.current_layer().ink(chosen)),
            Ink::Eraser => Ink::Eraser,
        };
        let layer = before.current();
        let coverage = BTreeMap::new();
        let mut stroke = Self { brush: brush.checked(), ink, layer, before, wraps, coverage, last: at, since_dab: 0.0, pointer: at };
        let changed = stroke.dab(at);
        stroke.paint(document, changed);
        Ok((stroke, changed))
    }

    /// Where the pointer was last.
    #[must_use]
    pub const fn pointer(&self) -> StrokePoint {
        self.pointer
    }

    /// Draws towards a place of the pointer. Returns the rectangle to be composed anew.
    pub fn move_to(&mut self, document: &mut Document, to: StrokePoint) -> PixelRect {
        if !(to.x.is_finite() && to.y.is_finite()) {
            return PixelRect::default();
        }
        self.pointer = to;
        let target = self.last.towards(to, 1.0 - self.brush.smoothing);
        self.line_to(document, target)
    }

    /// Draws a straight line to a place of the pointer, without smoothing. Returns the rectangle to
    /// be composed anew.
    pub fn line(&mut self, document: &mut Document, to: StrokePoint) -> PixelRect {
        if !(to.x.is_finite() && to.y.is_finite()) {
            return PixelRect::default();
        }
        self.pointer = to;
        self.line_to(document, to)
    }

    /// Draws to the pointer and ends the stroke, as one change of the document. Returns the
    /// rectangle to be composed anew.
    pub fn finish(mut self, document: &mut Document) -> PixelRect {
        let changed = self.line_to(document, self.pointer);
        let name = if self.ink == Ink::Eraser { tr!("core-erase-a-stroke") } else { tr!("core-paint-a-stroke") };
        document.finish_pixels(name, self.before);
        changed
    }

    /// Takes the stroke back. Returns the rectangle to be composed anew.
    pub fn cancel(self, document: &mut Document) -> PixelRect {
        let Some(before) = self.before.layer(self.layer) else { return PixelRect::default() };
        let Some(pixels) = document.pixels_mut(self.layer) else { return PixelRect::default() };
        let changed = pixels.tiles_apart(&before.pixels);
        *pixels = before.pixels.clone();
        changed
    }

    fn line_to(&mut self, document: &mut Document, to: StrokePoint) -> PixelRect {
        let from = self.last;
        let length = from.distance(to);
        let mut changed = PixelRect::default();
        let mut at = 0.0;
        loop {
            let place = from.towards(to, if length > 0.0 { at / length } else { 1.0 });
            let step = (self.diameter(place) * self.brush.spacing).max(0.5);
            let next = at + step - self.since_dab;
            if next > length {
                self.since_dab += length - at;
                break;
            }
            at = next;
            self.since_dab = 0.0;
            changed = changed.union(&self.dab(from.towards(to, at / length)));
        }
        self.last = to;
        self.paint(document, changed);
        changed
    }

    fn diameter(&self, at: StrokePoint) -> f32 {
        (self.brush.size * at.pressure.clamp(0.02, 1.0)).max(BRUSH_SIZES.0)
    }

    /// Adds a dab to the coverage, on both sides of borders that continue each other, and returns
    /// the rectangle in which it may have grown.
    fn dab(&mut self, at: StrokePoint) -> PixelRect {
        let bounds = self.before.bounds();
        let [x_wraps, y_wraps] = self.wraps;
        let across = places_around(at.x, bounds.left, bounds.width, x_wraps);
        let down = places_around(at.y, bounds.top, bounds.height, y_wraps);
        let mut changed = PixelRect::default();
        for y in down.into_iter().flatten() {
            for x in across.into_iter().flatten() {
                changed = changed.union(&self.dab_at(StrokePoint { x, y, ..at }));
            }
        }
        changed
    }

    fn dab_at(&mut self, at: StrokePoint) -> PixelRect {
        let radius = self.diameter(at) / 2.0;
        // The edge is at least a pixel wide, so that it is smooth.
        let outer = radius + 0.5;
        let inner = (radius * self.brush.hardness).min(radius - 0.5).max(0.0);
        let least = ((at.x - outer).floor() as i32, (at.y - outer).floor() as i32);
        let most = ((at.x + outer).ceil() as i32, (at.y + outer).ceil() as i32);
        let rect = PixelRect::between(least, most).intersection(&self.before.bounds());
        if rect.is_empty() {
            return PixelRect::default();
        }
        let pixels = &self.before.current_layer().pixels;
        for y in rect.top..rect.bottom() {
            let dy = y as f32 + 0.5 - at.y;
            let mut x = rect.left;
            while x < rect.right() {
                let end = (x + TILE_SIDE as i32 - x % TILE_SIDE as i32).min(rect.right());
                let tile = self.coverage.entry(pixels.tile_index(x as u32, y as u32));
                let covered = tile.or_insert_with(|| vec![0; (TILE_SIDE * TILE_SIDE) as usize]);
                let row = (y as u32 % TILE_SIDE * TILE_SIDE) as usize;
                let first = row + (x as u32 % TILE_SIDE) as usize;
                for (x, value) in (x..end).zip(&mut covered[first..]) {
                    let dx = x as f32 + 0.5 - at.x;
                    *value = (*value).max(falloff(dx * dx + dy * dy, inner, outer));
                }
                x = end;
            }
        }
        rect
    }

    /// Lays the stroke, as far as it covers, over the layer as it was.
    fn paint(&self, document: &mut Document, rect: PixelRect) {
        let opacity = (self.brush.opacity * 255.0 + 0.5) as u32;
        let Some(layer) = self.before.layer(self.layer) else { return };
        let (before, keeps_alpha) = (&layer.pixels, layer.alpha_locked);
        let Some(pixels) = document.pixels_mut(self.layer) else { return };
        pixels.change(rect, self.ink != Ink::Eraser && !keeps_alpha, |x, y, run| {
            match before.run(x, y) {
                Some(old) => run.copy_from_slice(&old[..run.len()]),
                None => run.fill(0),
            }
            let Some(covered) = self.coverage.get(&before.tile_index(x, y)) else { return };
            let first = (y % TILE_SIDE * TILE_SIDE + x % TILE_SIDE) as usize;
            for (pixel, covered) in run.chunks_exact_mut(4).zip(&covered[first..]) {
                self.ink.apply(pixel, scale(u32::from(*covered), opacity), keeps_alpha);
            }
        });
    }
}

/// A place along a side that begins at `start`, or where it wraps its place inside and those one
/// side before and after it.
fn places_around(at: f32, start: i32, side: u32, wraps: bool) -> [Option<f32>; 3] {
    if !wraps || side == 0 || !at.is_finite() {
        return [Some(at), None, None];
    }
    let (start, side) = (start as f32, side as f32);
    let inside = start + (at - start).rem_euclid(side);
    [Some(inside - side), Some(inside), Some(inside + side)]
}

/// How much a dab covers at this squared distance from its middle.
fn falloff(square: f32, inner: f32, outer: f32) -> u8 {
    if square <= inner * inner {
        255
    } else if square >= outer * outer {
        0
    } else {
        let part = (outer - square.sqrt()) / (outer - inner);
        (part * part * (3.0 - 2.0 * part) * 255.0 + 0.5) as u8
    }
}
