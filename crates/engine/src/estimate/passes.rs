//! The images that the engine makes on the way to a picture: one, or one for each pass or part; and
//! what is upscaled between them.

use std::path::PathBuf;

use super::error::EstimateError;
use super::request::EstimateRequest;
use crate::job::area::{plan_areas, start_of};
use crate::protocol::{Failure, PhaseKind};
use atelier_core::placement::Module;
use atelier_core::recipe::{Recipe, Sampler, StepCounts, StepShare, Upscale};
use atelier_core::time::ModuleWork;
use atelier_language::tr;
use atelier_library::HeaderCache;
use atelier_media::image_size;

/// What is made on the way to a picture.
#[derive(Default)]
pub(super) struct PicturePasses {
    /// The images, in the order in which they are made; none where a picture is only upscaled.
    pub(super) images: Vec<ImagePass>,
    /// Models that upscale the first of them or the init image, and the finished picture.
    pub(super) upscalers: Vec<UpscalerPass>,
}

/// A picture that an upscaler upscales.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UpscalerPass {
    pub(super) model: PathBuf,
    pub(super) tile_size: Option<u32>,
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
    /// Steps with this part of the work.
    steps: StepCounts,
    /// Evaluations of the diffusion module in a step.
    evaluations: u32,
    /// What guidance adds to a step is counted apart.
    mixes_guidance: bool,
}

/// What is made on the way to the picture of a recipe.
pub(super) fn picture_passes(headers: &mut HeaderCache, recipe: &Recipe) -> Result<PicturePasses, EstimateError> {
    let pass = |request, number| ImagePass {
        request,
        encodes_words: number == 0,
        steps: recipe.step_counts(number),
        evaluations: recipe.sampler.map_or(1, Sampler::evaluations),
        mixes_guidance: recipe.mixes_guidance(),
    };
    let request = EstimateRequest::new(headers, recipe)?;
    if recipe.changes_part() {
        let size = image_size(&start_of(recipe).map_err(Failure::from)?.image)
            .map_err(|error| Failure::new(error.to_string(), tr!("engine-choose-another-picture")))?;
        let checked = headers.check(&recipe.files, &recipe.loras).map_err(|problem| Failure::from(problem.advice))?;
        let plans = plan_areas(recipe, size, checked.family.model_sizes()).map_err(Failure::from)?.unwrap_or_default();
        let parts = plans.iter().zip(0..).map(|(plan, number)| pass(request.with_size(plan.work.0, plan.work.1), number));
        return Ok(PicturePasses { images: parts.collect(), upscalers: Vec::new() });
    }
    let mut passes = Vec::new();
    let size = if recipe.upscales_init() {
        let init = recipe.init.as_ref().map(|init| image_size(&init.image)).transpose();
        init.map_err(|error| Failure::new(error.to_string(), tr!("engine-choose-another-picture")))?
    } else {
        let first = EstimateRequest::new(headers, &Recipe { hires: None, ..recipe.clone() })?;
        let size = (first.recipe.width, first.recipe.height);
        passes.push(pass(first, 0));
        Some(size)
    };
    let number = u32::from(!passes.is_empty());
    let mut upscalers = Vec::new();
    if let (Some(size), Some((Some(model), tile_size))) =
        (size, recipe.hires.as_ref().map(|hires| (hires.upscaler.clone(), hires.tile_size)))
    {
        upscalers.push(UpscalerPass { model, tile_size, size, number });
    }
    if let (Some(size), Some(Upscale { model, tile_size, .. })) = (size, &recipe.upscale) {
        let size = recipe.hires.as_ref().map_or(size, |hires| hires.size(size));
        // A greater factor than the first is not known by headers alone.
        upscalers.push(UpscalerPass { model: model.clone(), tile_size: *tile_size, size, number: number + 1 });
    }
    if recipe.hires.as_ref().is_some_and(|hires| hires.strength > 0.0) {
        match request.tiles {
            Some(((width, height), count)) => passes.extend((0..count).map(|tile| {
                let of_second_pass = pass(request.with_size(width, height), number);
                ImagePass { encodes_words: tile == 0, ..of_second_pass }
            })),
            None => passes.push(pass(request, number)),
        }
    }
    Ok(PicturePasses { images: passes, upscalers })
}

impl ImagePass {
    /// Work of this pass, from that of its image of one step with one evaluation.
    pub(super) fn works<E>(
        &self,
        number: u32,
        mut image_work: impl FnMut(&EstimateRequest) -> Result<Vec<ModuleWork>, E>,
    ) -> Result<Vec<ModuleWork>, E> {
        let whole = image_work(&self.request)?;
        let plain = self.request.without_skipped_layers();
        let (guided, skipping) = match &plain {
            Some(plain) => (image_work(plain)?, Some(whole)),
            None => (whole, None),
        };
        let skipped = skipping.and_then(|skipping| skipped_layers(&guided, &skipping));
        let mut image = guided;
        if self.mixes_guidance {
            image = with_guidance(&image, &image_work(&plain.as_ref().unwrap_or(&self.request).without_guidance())?);
        }
        image.extend(skipped);
        Ok(image.iter().filter_map(|it| self.work(it, number)).collect())
    }

    /// Work of a module in this pass; `None`: it has none, as the text encoder for words that are
    /// known.
    fn work(&self, image: &ModuleWork, number: u32) -> Option<ModuleWork> {
        let is_preview = image.module == Module::Vae && image.phase == PhaseKind::Denoising;
        let is_known = image.module.is_encoder() && !self.encodes_words;
        if is_preview || is_known {
            return None;
        }
        let (work, repetitions) = match image.phase {
            PhaseKind::Denoising => {
                // Layers are skipped in the first evaluation of a step alone.
                let evaluations = if image.share == StepShare::SkipLayers { 1 } else { self.evaluations };
                let steps = self.steps.iter().find(|(share, _)| *share == image.share).map_or(0, |(_, steps)| *steps);
                (image.work.times(u64::from(evaluations)), steps)
            }
            _ => (image.work.clone(), 1),
        };
        Some(ModuleWork { pass: number, work, repetitions, ..image.clone() })
    }
}

/// What skip-layer guidance adds to the work of an image in some of its steps.
fn skipped_layers(plain: &[ModuleWork], skipping: &[ModuleWork]) -> Option<ModuleWork> {
    let of_step = |works: &[ModuleWork]| step_of(works, Module::Diffusion).cloned();
    let (plain, skipping) = of_step(plain).zip(of_step(skipping))?;
    Some(ModuleWork { work: skipping.work.without(&plain.work), share: StepShare::SkipLayers, ..skipping })
}

/// The work of a guided image, with what guidance adds to its steps beside the rest of them.
fn with_guidance(guided: &[ModuleWork], unguided: &[ModuleWork]) -> Vec<ModuleWork> {
    let mut all = Vec::new();
    for it in guided {
        let of_step = step_of(unguided, it.module).filter(|_| it.phase == PhaseKind::Denoising);
        match of_step.zip(it.share.guided()) {
            Some((plain, share)) => {
                let added = it.work.without(&plain.work);
                all.extend([plain.clone(), ModuleWork { work: added, share, ..it.clone() }]);
            }
            None => all.push(it.clone()),
        }
    }
    all
}

/// Work of a module in a step.
fn step_of(works: &[ModuleWork], module: Module) -> Option<&ModuleWork> {
    works.iter().find(|it| it.module == module && it.phase == PhaseKind::Denoising)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::time::Work;

    #[test]
    fn what_guidance_adds_is_work_of_its_steps() {
        let work = |module, phase, share, graphs| {
            let work = Work::of_graphs(graphs, 10 * graphs, graphs);
            ModuleWork { module, phase, pass: 0, work, repetitions: 1, share }
        };
        let image = |graphs| {
            vec![
                work(Module::Llm, PhaseKind::Encoding, StepShare::All, graphs),
                work(Module::Diffusion, PhaseKind::Denoising, StepShare::All, graphs),
                work(Module::Controlnet, PhaseKind::Denoising, StepShare::Control, graphs),
                work(Module::Vae, PhaseKind::Decoding, StepShare::All, 1),
            ]
        };
        let expected = [
            work(Module::Llm, PhaseKind::Encoding, StepShare::All, 2),
            work(Module::Diffusion, PhaseKind::Denoising, StepShare::All, 1),
            work(Module::Diffusion, PhaseKind::Denoising, StepShare::Guided, 1),
            work(Module::Controlnet, PhaseKind::Denoising, StepShare::Control, 1),
            work(Module::Controlnet, PhaseKind::Denoising, StepShare::GuidedControl, 1),
            work(Module::Vae, PhaseKind::Decoding, StepShare::All, 1),
        ];
        assert_eq!(with_guidance(&image(2), &image(1)), expected, "both prompts are encoded");
    }
}
