//! The plan of a part of a picture that is generated anew: what the model sees, at which size, and
//! what of its result is kept.
//!
//! Invariants: the crop lies in the picture and holds all that is selected; the work size is one
//! that the model makes; both masks are opaque where the selection is; what is kept lies within
//! what is denoised. The same input gives the same plan.

use super::distance::Distances;
use super::{AreaSettings, Mask, PixelRect};

/// Pixels of a mask from this value on are selected.
const SELECTED: u8 = 128;
/// Least feather in pixels at full strength.
const MIN_FEATHER: f32 = 32.0;
/// The longest side of a picture, in least feathers: smaller pictures have less.
const MIN_FEATHERS_OF_A_PICTURE: f32 = 16.0;
/// The widest blend between picture and result, in pixels.
const MAX_BLEND: f32 = 25.0;
/// Pixels around the selection that are always denoised wholly.
const GROWTH: f32 = 4.0;
/// The longer side of a crop is at most so many times the shorter one, where the picture allows it.
const MAX_ASPECT: u32 = 2;
/// A crop that lacks less than this factor to the model's best size is widened instead of upscaled.
const WIDENED_UP_TO: f64 = 1.3;
/// Least and greatest side of a picture that the engine makes.
const SIDES: (u32, u32) = (64, 16_384);

/// The sizes at which a model works, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSizes {
    /// Sides are multiples of this.
    pub multiple: u32,
    /// Side of the least crop: below it a model sees too little of the picture.
    pub least: u32,
    /// Side of the square that it makes best: smaller crops are upscaled to as many pixels.
    pub best: u32,
    /// Side of the largest square that it makes well: larger crops are reduced to as many pixels.
    pub most: u32,
}

impl ModelSizes {
    /// The sizes of a model for a recipe: its width and height are what a person takes to be best,
    /// and the others follow.
    #[must_use]
    pub fn with_size(self, width: u32, height: u32) -> Self {
        let best = (f64::from(width) * f64::from(height)).sqrt().round() as u32;
        let best = best.clamp(SIDES.0, SIDES.1);
        let scaled = |side: u32| (u64::from(side) * u64::from(best) / u64::from(self.best.max(1))) as u32;
        Self { least: scaled(self.least).min(best), best, most: scaled(self.most).max(best), ..self }
    }
}

/// A part of a picture that is generated anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AreaPlan {
    /// What the model sees, in pixels of the picture.
    pub crop: PixelRect,
    /// Width and height at which the model works.
    pub work: (u32, u32),
    /// What is denoised, of the crop's size: 255 wholly, 0 not at all, between them for a part of
    /// the steps.
    pub denoise: Mask,
    /// What is kept of the result, of the crop's size: 255 the result, 0 the picture.
    pub paste: Mask,
}

/// Plans the part of a picture that lies under a mask of its size. `strength`: denoising strength,
/// 0 to 1. `None` where nothing is selected: no pixel of the mask is 128 or more.
#[must_use]
pub fn plan_area(mask: &Mask, sizes: &ModelSizes, strength: f32, settings: &AreaSettings) -> Option<AreaPlan> {
    let selection = selection_bounds(mask)?;
    let is_selected = |x: u32, y: u32| mask.row(y).get(x as usize).is_some_and(|value| *value >= SELECTED);
    let picture = PixelRect::of_size(mask.width(), mask.height());
    Some(plan_selection(&picture, &selection, is_selected, sizes, strength, settings))
}

/// The crop and the work size that [`plan_area`] gives, without its masks: in no time, whatever the
/// size. `selection`: the smallest rectangle that holds every pixel of the mask of 128 or more; not
/// empty.
#[must_use]
pub fn plan_crop(
    (width, height): (u32, u32),
    selection: &PixelRect,
    sizes: &ModelSizes,
    strength: f32,
    settings: &AreaSettings,
) -> (PixelRect, (u32, u32)) {
    let (picture, settings) = (PixelRect::of_size(width, height), settings.clamped());
    let edges = Edges::new(&picture, selection, strength_in_range(strength), settings.feather);
    let crop = crop(&picture, selection, &edges, sizes, &settings);
    (crop, work_size(&crop, sizes))
}

/// Plans the selected part of a picture. `limits`: what the model may see of it. `selection` holds
/// every selected pixel and is not empty.
pub(super) fn plan_selection(
    limits: &PixelRect,
    selection: &PixelRect,
    is_selected: impl Fn(u32, u32) -> bool,
    sizes: &ModelSizes,
    strength: f32,
    settings: &AreaSettings,
) -> AreaPlan {
    let settings = settings.clamped();
    let strength = strength_in_range(strength);
    let edges = Edges::new(limits, selection, strength, settings.feather);
    let crop = crop(limits, selection, &edges, sizes, &settings);
    let (width, height) = (crop.width as usize, crop.height as usize);
    let distances = Distances::to(width, height, |at| {
        is_selected((at % width) as u32 + crop.left.unsigned_abs(), (at / width) as u32 + crop.top.unsigned_abs())
    });
    let is_soft = strength < 1.0 && settings.soft_mask;
    let mask = |value: &dyn Fn(f32) -> f32| {
        let mut mask = Mask::filled(crop.width, crop.height, 0);
        for (at, pixel) in mask.pixels_mut().iter_mut().enumerate() {
            *pixel = (value(distances.distance(at)) * 255.0).round() as u8;
        }
        mask
    };
    let denoise = mask(&|distance| {
        let soft = edges.denoise(distance);
        if is_soft { soft } else { soft.ceil() }
    });
    AreaPlan { crop, work: work_size(&crop, sizes), denoise, paste: mask(&|distance| edges.paste(distance)) }
}

const fn strength_in_range(strength: f32) -> f32 {
    if strength.is_finite() { strength.clamp(0.0, 1.0) } else { 1.0 }
}

/// The smallest rectangle that holds every selected pixel: of 128 or more. `None` where none is.
#[must_use]
pub fn selection_bounds(mask: &Mask) -> Option<PixelRect> {
    let mut bounds = PixelRect::default();
    for y in 0..mask.height() {
        let row = mask.row(y);
        let Some(first) = row.iter().position(|value| *value >= SELECTED) else { continue };
        let last = row.iter().rposition(|value| *value >= SELECTED).unwrap_or(first);
        let line = PixelRect { left: first as i32, top: y as i32, width: (last - first + 1) as u32, height: 1 };
        bounds = bounds.union(&line);
    }
    (!bounds.is_empty()).then_some(bounds)
}

/// The soft edges around a selection: distances from it, in pixels.
struct Edges {
    /// Width of the soft edge of what is denoised.
    feather: f32,
    /// Where what is kept ends; half of the feather lies beyond it.
    growth: f32,
    /// Width of the transition between picture and result.
    blend: f32,
}

impl Edges {
    /// `feather`: its width, where a person chose one.
    fn new(picture: &PixelRect, selection: &PixelRect, strength: f32, feather: Option<u32>) -> Self {
        let least = MIN_FEATHER.min(picture.width.max(picture.height) as f32 / MIN_FEATHERS_OF_A_PICTURE);
        let diagonal = (selection.width as f32).hypot(selection.height as f32);
        let most = AreaSettings::MAX_FEATHER as f32;
        let feather = feather.map_or_else(|| ((diagonal / 10.0).max(least) * strength).min(most), |it| it as f32);
        let growth = GROWTH + feather / 2.0;
        Self { feather, growth, blend: MAX_BLEND.min(growth + feather / 2.0) }
    }

    /// The share of the steps that a pixel takes part in.
    fn denoise(&self, distance: f32) -> f32 {
        if distance <= GROWTH { 1.0 } else { (1.0 - (distance - GROWTH) / (self.feather + 1.0)).max(0.0) }
    }

    /// The share of the result in what is kept.
    fn paste(&self, distance: f32) -> f32 {
        let opaque = (self.growth - self.blend).max(0.0);
        let share = (1.0 - (distance - opaque) / (self.growth - opaque)).clamp(0.0, 1.0);
        // Without a kink at either end.
        share * share * (3.0 - 2.0 * share)
    }

    /// Pixels around the selection that the crop holds: all that is denoised, and a cell of the
    /// latents.
    fn reach(&self, multiple: u32) -> u32 {
        (self.growth + self.feather / 2.0).ceil() as u32 + multiple
    }
}

fn crop(limits: &PixelRect, selection: &PixelRect, edges: &Edges, sizes: &ModelSizes, settings: &AreaSettings) -> PixelRect {
    let needed = selection.expanded(edges.reach(sizes.multiple));
    if let Some(chosen) = settings.crop.map(|it| it.intersection(limits)).filter(|it| !it.is_empty()) {
        return chosen.union(&needed.intersection(limits));
    }
    let side = |selected: u32, needed: u32| (selected as f32 * settings.context).ceil().max(needed.max(sizes.least) as f32) as u32;
    let (wide, high) = (side(selection.width, needed.width), side(selection.height, needed.height));
    let (mut wide, mut high) = (wide.max(high / MAX_ASPECT), high.max(wide / MAX_ASPECT));
    let lacks = f64::from(sizes.best) / (f64::from(wide) * f64::from(high)).sqrt();
    if lacks > 1.0 && lacks <= WIDENED_UP_TO {
        (wide, high) = ((f64::from(wide) * lacks).ceil() as u32, (f64::from(high) * lacks).ceil() as u32);
    }
    // Whole multiples need no scaling.
    let rounded = |side: u32| side.next_multiple_of(sizes.multiple.max(1));
    let (left, wide) = span((selection.left, selection.width), rounded(wide), (limits.left, limits.width));
    let (top, high) = span((selection.top, selection.height), rounded(high), (limits.top, limits.height));
    PixelRect { left, top, width: wide, height: high }
}

/// Start and length of a span around the middle of another, within a third.
fn span((start, length): (i32, u32), wanted: u32, (least, most): (i32, u32)) -> (i32, u32) {
    let length_in = wanted.min(most);
    let middle = i64::from(start) + i64::from(length) / 2;
    let least = i64::from(least);
    let start = (middle - i64::from(length_in) / 2).clamp(least, least + i64::from(most - length_in));
    (start as i32, length_in)
}

/// The size at which the model works on a crop: its shape, with no fewer pixels than are best and
/// no more than the model makes well.
fn work_size(crop: &PixelRect, sizes: &ModelSizes) -> (u32, u32) {
    let pixels = crop.area() as f64;
    let square = |side: u32| f64::from(side) * f64::from(side);
    let scale = (pixels.clamp(square(sizes.best), square(sizes.most.max(sizes.best))) / pixels).sqrt();
    let multiple = sizes.multiple.max(1);
    let longest = (sizes.most.max(sizes.best) * MAX_ASPECT).min(SIDES.1);
    let side = |length: u32| {
        let multiples = (f64::from(length) * scale / f64::from(multiple)).round() as u32;
        let least = SIDES.0.next_multiple_of(multiple);
        (multiples * multiple).clamp(least, (longest / multiple * multiple).max(least))
    };
    (side(crop.width), side(crop.height))
}

#[cfg(test)]
mod tests;
