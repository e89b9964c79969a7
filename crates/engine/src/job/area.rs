//! Parts of a picture that a job generates: their plans, what the model is given for each, and its results pasted into the picture.

use atelier_core::advice::Advice;
use atelier_core::canvas::{
    AreaFill, AreaPlan, Borders, Mask, ModelSizes, StartFit, crop_picture, extend_picture, fill_area, paste_area, plan_area, plan_outpaint,
};
use atelier_core::recipe::{InitImage, Recipe, Rgb8};
use atelier_media::{PictureError, fit_image, fit_mask, read_mask};

/// Pictures may not become larger than their readers take.
const TOO_LARGE: &str = "The extended picture would be too large.";

/// The parts of a picture that a job generates, one after the other.
pub(crate) struct AreaJob {
    /// The start picture, extended where the recipe says so.
    pub(crate) picture: Rgb8,
    /// In pixels of the picture; at least one.
    pub(crate) plans: Vec<AreaPlan>,
    pub(crate) strength: f32,
    fill: AreaFill,
    seam_correction: bool,
}

/// What the model is given for one part, at its work size.
pub(crate) struct AreaInput {
    pub(crate) init: Rgb8,
    /// 255 where anything is denoised.
    pub(crate) mask: Mask,
    pub(crate) soft_mask: Mask,
    pub(crate) control: Option<Rgb8>,
}

/// The parts that a recipe generates of a start picture of this size. `None` where it generates the whole picture. Reads its mask.
///
/// # Errors
/// Without a start picture or mask, or with both a mask and borders.
pub(crate) fn plan_areas(recipe: &Recipe, size: (u32, u32), sizes: ModelSizes) -> Result<Option<Vec<AreaPlan>>, Advice> {
    if !recipe.changes_part() {
        return Ok(None);
    }
    let strength = recipe.init.as_ref().map_or(1.0, |init| init.strength);
    let sizes = sizes.with_size(recipe.width, recipe.height);
    let settings = recipe.area.unwrap_or_default();
    if let Some(borders) = recipe.outpaint.filter(|it| !it.is_empty()) {
        if recipe.mask.is_some() {
            return Err(Advice::new("Outpainting and a mask cannot be combined.", "Remove the mask or the borders, and generate twice."));
        }
        let (width, height) = borders.extended_size(size);
        if width.max(height) > Borders::MAX_SIDE {
            return Err(Advice::new(TOO_LARGE, format!("Each side can have at most {} pixels.", Borders::MAX_SIDE)));
        }
        return Ok(Some(plan_outpaint(size, &borders, &sizes, strength, &settings)));
    }
    let Some(mask) = &recipe.mask else {
        return Err(Advice::new("Inpainting only a part needs a mask.", "Choose or paint a mask."));
    };
    let mask = read_mask(mask, size.0, size.1, StartFit::Crop).map_err(|error| Advice::new(error.to_string(), "Choose another mask."))?;
    let plan = plan_area(&mask, &sizes, strength, &settings);
    let plan = plan.ok_or_else(|| Advice::new("The mask is empty.", "Paint white where the picture should change."))?;
    Ok(Some(vec![plan]))
}

/// The start picture of a recipe that generates a part of it.
///
/// # Errors
/// If there is none.
pub(crate) fn start_of(recipe: &Recipe) -> Result<&InitImage, Advice> {
    recipe.init.as_ref().ok_or_else(|| Advice::new("There is no start picture.", "Choose a start picture."))
}

/// Width and height of the largest work.
pub(crate) fn largest_work(plans: &[AreaPlan]) -> Option<(u32, u32)> {
    plans.iter().map(|plan| plan.work).max_by_key(|(width, height)| u64::from(*width) * u64::from(*height))
}

impl AreaJob {
    /// The parts of this start picture that a recipe generates; `None` where it generates the whole picture.
    ///
    /// # Errors
    /// As [`plan_areas`].
    pub(crate) fn new(recipe: &Recipe, start: &Rgb8, sizes: ModelSizes) -> Result<Option<Self>, Advice> {
        let Some(plans) = plan_areas(recipe, (start.width(), start.height()), sizes)? else { return Ok(None) };
        let settings = recipe.area.unwrap_or_default();
        let borders = recipe.outpaint.filter(|it| !it.is_empty());
        let picture = match &borders {
            Some(borders) => extend_picture(start, borders).ok_or_else(|| Advice::new(TOO_LARGE, "Choose narrower borders."))?,
            None => start.clone(),
        };
        let strength = recipe.init.as_ref().map_or(1.0, |init| init.strength);
        let usual = match borders {
            Some(_) => AreaFill::Border,
            None if strength < 1.0 => AreaFill::Original,
            None => AreaFill::Blur,
        };
        let fill = settings.fill.unwrap_or(usual);
        Ok(Some(Self { picture, plans, strength, fill, seam_correction: settings.seam_correction }))
    }

    /// What the model is given for one part of the picture as it is now. `control`: of the picture's size.
    pub(crate) fn input(&self, plan: &AreaPlan, picture: &Rgb8, control: Option<&Rgb8>, seed: i64) -> Result<AreaInput, Advice> {
        let (width, height) = plan.work;
        let cut = |picture: &Rgb8| crop_picture(picture, &plan.crop).ok_or_else(|| advice(&PictureError::Empty));
        let scaled = |picture: &Rgb8| fit_image(picture, width, height, StartFit::Stretch).map_err(|error| advice(&error));
        let filled = fill_area(&cut(picture)?, &plan.paste, self.fill, seed.cast_unsigned()).ok_or_else(|| advice(&PictureError::Empty))?;
        let soft_mask = fit_mask(&plan.denoise, width, height, StartFit::Stretch).map_err(|error| advice(&error))?;
        let mut mask = soft_mask.clone();
        for value in mask.pixels_mut() {
            *value = if *value > 0 { 255 } else { 0 };
        }
        let control = control.map(|control| scaled(&cut(control)?)).transpose()?;
        Ok(AreaInput { init: scaled(&filled)?, mask, soft_mask, control })
    }

    /// The picture with the result of one part in it.
    pub(crate) fn paste(&self, plan: &AreaPlan, picture: &Rgb8, result: &Rgb8) -> Result<Rgb8, Advice> {
        let result = fit_image(result, plan.crop.width, plan.crop.height, StartFit::Stretch).map_err(|error| advice(&error))?;
        paste_area(picture, &result, plan, self.seam_correction).ok_or_else(|| advice(&PictureError::Empty))
    }
}

fn advice(error: &PictureError) -> Advice {
    Advice::new(error.to_string(), "Choose another picture.")
}
