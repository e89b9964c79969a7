//! The images that the engine makes on the way to a picture: one, or one for each pass or part; and
//! what is upscaled between them.

use std::path::PathBuf;

use super::error::EstimateError;
use super::request::EstimateRequest;
use crate::job::area::{plan_areas, start_of};
use crate::protocol::{Failure, PhaseKind};
use atelier_core::placement::Module;
use atelier_core::recipe::{Recipe, Sampler};
use atelier_core::time::ModuleWork;
use atelier_library::HeaderCache;
use atelier_media::image_size;

/// What is made on the way to a picture.
#[derive(Default)]
pub(super) struct PicturePasses {
    /// The images, in the order in which they are made; none where a picture is only upscaled.
    pub(super) images: Vec<ImagePass>,
    /// A model that upscales the first of them, or the init image.
    pub(super) upscaler: Option<UpscalerPass>,
}

/// A picture that an upscaler upscales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UpscalerPass {
    pub(super) model: PathBuf,
    /// Size before.
    pub(super) size: (u32, u32),
    /// The pass that comes next.
    pub(super) number: u32,
}

/// An image that the engine makes.
pub(super) struct ImagePass {
    pub(super) request: EstimateRequest,
    /// Words are encoded for it: for the first pass, and for the first tile, whose words are its
    /// own. Others have the same words.
    encodes_words: bool,
    steps: u32,
    /// Evaluations of the diffusion module in a step.
    evaluations: u32,
}

/// What is made on the way to the picture of a recipe.
pub(super) fn picture_passes(headers: &mut HeaderCache, recipe: &Recipe) -> Result<PicturePasses, EstimateError> {
    let evaluations = recipe.sampler.map_or(1, Sampler::evaluations);
    let pass =
        |request, number| ImagePass { request, encodes_words: number == 0, steps: recipe.steps_until_end_of_pass(number), evaluations };
    let request = EstimateRequest::new(headers, recipe)?;
    if recipe.changes_part() {
        let size = image_size(&start_of(recipe).map_err(Failure::from)?.image)
            .map_err(|error| Failure::new(error.to_string(), "Choose another picture."))?;
        let checked = headers.check(&recipe.files, &recipe.loras).map_err(|problem| Failure::from(problem.advice))?;
        let plans = plan_areas(recipe, size, checked.family.model_sizes()).map_err(Failure::from)?.unwrap_or_default();
        let parts = plans.iter().zip(0..).map(|(plan, number)| pass(request.with_size(plan.work.0, plan.work.1), number));
        return Ok(PicturePasses { images: parts.collect(), upscaler: None });
    }
    let mut passes = Vec::new();
    let size = if recipe.upscales_init() {
        let init = recipe.init.as_ref().map(|init| image_size(&init.image)).transpose();
        init.map_err(|error| Failure::new(error.to_string(), "Choose another picture."))?
    } else {
        let first = EstimateRequest::new(headers, &Recipe { hires: None, ..recipe.clone() })?;
        let size = (first.recipe.width, first.recipe.height);
        passes.push(pass(first, 0));
        Some(size)
    };
    let model = recipe.hires.as_ref().and_then(|hires| hires.upscaler.clone());
    let upscaler = model.zip(size).map(|(model, size)| UpscalerPass { model, size, number: u32::from(!passes.is_empty()) });
    if recipe.hires.as_ref().is_some_and(|hires| hires.strength > 0.0) {
        match request.tiles {
            Some(((width, height), count)) => passes.extend((0..count).map(|tile| {
                let of_second_pass = pass(request.with_size(width, height), 1);
                ImagePass { encodes_words: tile == 0, ..of_second_pass }
            })),
            None => passes.push(ImagePass { encodes_words: passes.is_empty(), ..pass(request, 1) }),
        }
    }
    Ok(PicturePasses { images: passes, upscaler })
}

impl ImagePass {
    /// Work of a module in this pass, from that of an image of one step with one evaluation.
    /// `None`: it has none, as the text encoder for words that are known.
    pub(super) fn work(&self, image: &ModuleWork, number: u32) -> Option<ModuleWork> {
        let is_preview = image.module == Module::Vae && image.phase == PhaseKind::Denoising;
        let is_known = image.module.is_encoder() && !self.encodes_words;
        if is_preview || is_known {
            return None;
        }
        let (work, repetitions) = match image.phase {
            PhaseKind::Denoising => (image.work.times(u64::from(self.evaluations)), self.steps),
            _ => (image.work.clone(), 1),
        };
        Some(ModuleWork { module: image.module, phase: image.phase, pass: number, work, repetitions })
    }
}
