//! Parts of a picture that a job generates: their plans, what the model is given for each, and its
//! results pasted into the picture.

use atelier_core::advice::Advice;
use atelier_core::canvas::{
    AreaFill, AreaPlan, AreaSettings, Borders, Mask, ModelSizes, PixelRect, StartFit, crop_picture, extend_picture, fill_area, paste_area,
    plan_area, plan_outpaint, rolled_mask, rolled_picture, rolled_rect, wrap_shift,
};
use atelier_core::recipe::{InitImage, Recipe, Rgb8, Seed};
use atelier_language::tr;
use atelier_media::{PictureError, fit_image, fit_mask, keep_outside, read_mask};

/// The parts of a picture that a job generates, one after the other.
pub(crate) struct AreaJob {
    /// The start picture, extended where the recipe says so. Where its borders continue each other,
    /// it is shifted round so that what is selected lies in its middle.
    pub(crate) picture: Rgb8,
    /// In pixels of the picture; at least one.
    pub(crate) plans: Vec<AreaPlan>,
    /// How far it is shifted, to the right and downwards.
    shift: (i32, i32),
    pub(crate) strength: f32,
    fill: AreaFill,
    seam_correction: bool,
    /// The start picture with the colours of its file, and where its left upper pixel is in the
    /// extended one.
    start: Rgb8,
    offset: (u32, u32),
}

/// What the model is given for one part, at its work size.
pub(crate) struct AreaInput {
    pub(crate) init: Rgb8,
    /// 255 where anything is denoised.
    pub(crate) mask: Mask,
    pub(crate) soft_mask: Mask,
    pub(crate) control: Option<Rgb8>,
}

/// The parts that a recipe generates of a start picture of this size. `None` where it generates the
/// whole picture. Reads its mask.
///
/// # Errors
/// Without a start picture or mask, or with both a mask and borders.
pub(crate) fn plan_areas(recipe: &Recipe, size: (u32, u32), sizes: ModelSizes) -> Result<Option<Vec<AreaPlan>>, Advice> {
    plan_shifted(recipe, size, sizes).map(|plans| plans.map(|(plans, _)| plans))
}

/// Parts, and how far the picture is shifted round before, to the right and downwards.
type ShiftedPlans = (Vec<AreaPlan>, (i32, i32));

/// As [`plan_areas`], with the shift.
fn plan_shifted(recipe: &Recipe, size: (u32, u32), sizes: ModelSizes) -> Result<Option<ShiftedPlans>, Advice> {
    if !recipe.changes_part() {
        return Ok(None);
    }
    let strength = recipe.init.as_ref().map_or(1.0, |init| init.strength);
    let sizes = sizes.with_size(recipe.width, recipe.height);
    let settings = recipe.area.unwrap_or_default();
    if let Some(borders) = recipe.outpaint.filter(|it| !it.is_empty()) {
        if recipe.mask.is_some() {
            return Err(Advice::new(tr!("engine-outpainting-and-a-mask"), tr!("engine-remove-the-mask-or")));
        }
        let (width, height) = borders.extended_size(size);
        if width.max(height) > Borders::MAX_SIDE {
            return Err(Advice::new(tr!("engine-the-extended-picture-would"), tr!("engine-each-side-can-have", value = Borders::MAX_SIDE)));
        }
        return Ok(Some((plan_outpaint(size, &borders, &sizes, strength, &settings), (0, 0))));
    }
    let Some(mask) = &recipe.mask else {
        return Err(Advice::new(tr!("engine-inpainting-only-a-part"), tr!("engine-choose-or-paint-a")));
    };
    let mask = read_mask(mask, size.0, size.1, StartFit::Crop)
        .map_err(|error| Advice::new(error.to_string(), tr!("engine-choose-another-mask")))?;
    let shift = wrap_shift(&mask, [recipe.seamless_x, recipe.seamless_y]);
    let crop = settings.crop.map(|crop| if shift == (0, 0) { crop } else { rolled_rect(&crop, size, shift) });
    let plan = plan_area(&rolled_mask(&mask, shift), &sizes, strength, &AreaSettings { crop, ..settings });
    let plan = plan.ok_or_else(|| Advice::new(tr!("engine-the-mask-is-empty"), tr!("engine-paint-white-where-the")))?;
    Ok(Some((vec![plan], shift)))
}

/// The start picture of a recipe that generates a part of it.
///
/// # Errors
/// If there is none.
pub(crate) fn start_of(recipe: &Recipe) -> Result<&InitImage, Advice> {
    recipe.init.as_ref().ok_or_else(|| Advice::new(tr!("engine-there-is-no-start"), tr!("engine-choose-a-start-picture")))
}

/// Width and height of the largest work.
pub(crate) fn largest_work(plans: &[AreaPlan]) -> Option<(u32, u32)> {
    plans.iter().map(|plan| plan.work).max_by_key(|(width, height)| u64::from(*width) * u64::from(*height))
}

impl AreaJob {
    /// The parts of this start picture that a recipe generates; `None` where it generates the whole
    /// picture.
    ///
    /// # Errors
    /// As [`plan_areas`].
    pub(crate) fn new(recipe: &Recipe, start: &Rgb8, sizes: ModelSizes) -> Result<Option<Self>, Advice> {
        let Some((plans, shift)) = plan_shifted(recipe, (start.width(), start.height()), sizes)? else { return Ok(None) };
        let settings = recipe.area.unwrap_or_default();
        let borders = recipe.outpaint.filter(|it| !it.is_empty());
        let picture = match &borders {
            Some(borders) => extend_picture(start, borders)
                .ok_or_else(|| Advice::new(tr!("engine-the-extended-picture-would"), tr!("engine-choose-narrower-borders")))?,
            None if shift == (0, 0) => start.clone(),
            None => rolled_picture(start, shift),
        };
        let strength = recipe.init.as_ref().map_or(1.0, |init| init.strength);
        let usual = match borders {
            Some(_) => AreaFill::Border,
            None if strength < 1.0 => AreaFill::Original,
            None => AreaFill::Blur,
        };
        let fill = settings.fill.unwrap_or(usual);
        let offset = borders.map_or((0, 0), |borders| (borders.left, borders.top));
        let (start, seam_correction) = (start.clone(), settings.seam_correction);
        Ok(Some(Self { picture: picture.without_fine(), plans, shift, strength, fill, seam_correction, start, offset }))
    }

    /// What the model is given for one part of the picture as it is now. `control`: of the
    /// picture's size.
    pub(crate) fn input(&self, plan: &AreaPlan, picture: &Rgb8, control: Option<&Rgb8>, seed: Seed) -> Result<AreaInput, Advice> {
        let (width, height) = plan.work;
        let cut = |picture: &Rgb8| crop_picture(picture, &plan.crop).ok_or_else(|| advice(&PictureError::Empty));
        let scaled = |picture: &Rgb8| fit_image(picture, width, height, StartFit::Stretch).map_err(|error| advice(&error));
        let filled = fill_area(&cut(picture)?, &plan.paste, self.fill, seed.0).ok_or_else(|| advice(&PictureError::Empty))?;
        let soft_mask = fit_mask(&plan.denoise, width, height, StartFit::Stretch).map_err(|error| advice(&error))?;
        let mut mask = soft_mask.clone();
        for value in mask.pixels_mut() {
            *value = if *value > 0 { 255 } else { 0 };
        }
        let control = control.map(|control| scaled(&cut(&rolled_picture(control, self.shift))?)).transpose()?;
        Ok(AreaInput { init: scaled(&filled)?, mask, soft_mask, control })
    }

    /// Where a part lies in the start picture; a part over a border that another continues reaches
    /// beyond it.
    pub(crate) fn place(&self, plan: &AreaPlan) -> PixelRect {
        if self.shift == (0, 0) { plan.crop } else { rolled_rect(&plan.crop, (self.picture.width(), self.picture.height()), self.back()) }
    }

    const fn back(&self) -> (i32, i32) {
        (-self.shift.0, -self.shift.1)
    }

    /// The picture with all results in it, where it was before it was shifted, and with the start
    /// picture's own colours where none of them is.
    pub(crate) fn with_own_colours(&self, picture: Rgb8) -> Rgb8 {
        let picture = if self.shift == (0, 0) { picture } else { rolled_picture(&picture, self.back()) };
        if self.start.fine().is_none() {
            return picture;
        }
        let mut shares = Mask::filled(picture.width(), picture.height(), 0);
        let width = picture.width() as usize;
        for plan in &self.plans {
            let (left, top) = (plan.crop.left.unsigned_abs() as usize, plan.crop.top.unsigned_abs() as usize);
            for (row, y) in shares.pixels_mut().chunks_exact_mut(width.max(1)).skip(top).zip(0..plan.crop.height) {
                for (share, new) in row.iter_mut().skip(left).zip(plan.paste.row(y)) {
                    // What is left of the picture is what each result has left of it.
                    let left_over = (255 - u32::from(*share)) * (255 - u32::from(*new));
                    *share = (255 - left_over / 255) as u8;
                }
            }
        }
        keep_outside(&self.start, self.offset, picture, &rolled_mask(&shares, self.back()))
    }

    /// The picture with the result of one part in it.
    pub(crate) fn paste(&self, plan: &AreaPlan, picture: &Rgb8, result: &Rgb8) -> Result<Rgb8, Advice> {
        let result = fit_image(result, plan.crop.width, plan.crop.height, StartFit::Stretch).map_err(|error| advice(&error))?;
        paste_area(picture, &result, plan, self.seam_correction).ok_or_else(|| advice(&PictureError::Empty))
    }
}

/// The start picture with a result of its size where the mask selects, and every sample of its own
/// elsewhere. A model decodes a whole picture, which is never quite the one that it was given.
pub(crate) fn composite_masked(start: &Rgb8, result: &Rgb8, mask: &Mask) -> Result<Rgb8, Advice> {
    let crop = PixelRect::of_size(start.width(), start.height());
    let plan = AreaPlan { crop, work: (crop.width, crop.height), denoise: mask.clone(), paste: mask.clone() };
    let pasted = paste_area(start, result, &plan, false).ok_or_else(|| advice(&PictureError::Empty))?;
    Ok(keep_outside(start, (0, 0), pasted, mask))
}

fn advice(error: &PictureError) -> Advice {
    Advice::new(error.to_string(), tr!("engine-choose-another-picture"))
}
