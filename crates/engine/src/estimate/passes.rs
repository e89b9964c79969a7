//! The images that the engine makes on the way to a picture: one, or one for each pass or part.

use super::error::EstimateError;
use super::request::EstimateRequest;
use crate::area::{plan_areas, start_of};
use crate::protocol::{Failure, PhaseKind};
use atelier_core::placement::Module;
use atelier_core::recipe::{Recipe, Sampler};
use atelier_core::time::ModuleWork;
use atelier_library::HeaderCache;
use atelier_media::image_size;

/// An image that the engine makes.
pub(super) struct ImagePass {
    pub(super) request: EstimateRequest,
    /// Denoising steps.
    steps: u32,
    /// Evaluations of the diffusion module in a step.
    evaluations: u32,
}

/// The images of a recipe, in the order in which they are made; none where a picture is only enlarged.
pub(super) fn image_passes(headers: &mut HeaderCache, recipe: &Recipe) -> Result<Vec<ImagePass>, EstimateError> {
    let evaluations = recipe.sampler.map_or(1, Sampler::evaluations);
    let pass = |request, number| ImagePass { request, steps: recipe.steps_until_end_of_pass(number), evaluations };
    let request = EstimateRequest::new(headers, recipe)?;
    if recipe.changes_part() {
        let size = image_size(&start_of(recipe).map_err(Failure::from)?.image)
            .map_err(|error| Failure::new(error.to_string(), "Choose another picture."))?;
        let checked = headers.check(&recipe.files, &recipe.loras).map_err(|problem| Failure::from(problem.advice))?;
        let plans = plan_areas(recipe, size, checked.family.model_sizes()).map_err(Failure::from)?.unwrap_or_default();
        let parts = plans.iter().zip(0..).map(|(plan, number)| pass(request.with_size(plan.work.0, plan.work.1), number));
        return Ok(parts.collect());
    }
    let mut passes = Vec::new();
    if !recipe.enlarges_init() {
        let first = EstimateRequest::new(headers, &Recipe { hires: None, ..recipe.clone() })?;
        passes.push(pass(first, 0));
    }
    if recipe.hires.as_ref().is_some_and(|hires| hires.strength > 0.0) {
        match request.tiles {
            Some(((width, height), count)) => passes.extend((0..count).map(|_| pass(request.with_size(width, height), 1))),
            None => passes.push(pass(request, 1)),
        }
    }
    Ok(passes)
}

impl ImagePass {
    /// Work of a module in this pass, from that of an image of one step with one evaluation. `None`: it has none, as the text encoder after the
    /// first pass.
    pub(super) fn work(&self, image: &ModuleWork, number: u32) -> Option<ModuleWork> {
        let is_preview = image.module == Module::Vae && image.phase == PhaseKind::Denoising;
        let is_known = image.module == Module::Te && number > 0;
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
