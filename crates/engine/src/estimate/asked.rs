//! A recipe as far as memory is concerned: what the engine would be asked to make, with blank pictures for those to start from.

use super::super::ffi::{ContextParams, GenerateParams, Mask};
use super::super::run::{cpu_threads, sized, tiled};
use super::EstimateError;
use crate::protocol::Failure;
use atelier_core::recipe::{PlacementText, Recipe, Rgb8, Sampler, Scheduler};
use atelier_library::{Checked, HeaderCache};
use atelier_media::image_size;

/// Pixels of a picture that is larger than any that could be made: the engine copies pictures in RAM while it is asked.
const MOST_PIXELS: u64 = 8192 * 8192;

/// What is asked, without what makes no difference to memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) recipe: Recipe,
    pub(super) size_multiple: u32,
    pub(super) tiling: bool,
    /// Sizes of the reference pictures.
    pub(super) references: Vec<(u32, u32)>,
}

/// Blank pictures.
pub(super) struct Blank {
    picture: Rgb8,
    mask: Mask,
    references: Vec<Rgb8>,
}

impl Asked {
    /// The recipe, checked as a job would check it.
    pub(super) fn new(headers: &mut HeaderCache, recipe: &Recipe) -> Result<Self, EstimateError> {
        let Checked { files, size_multiple, .. } =
            headers.check(&recipe.files, &recipe.loras).map_err(|problem| Failure::new(problem.advice.sentence, problem.advice.hint))?;
        let references = recipe
            .reference_images
            .iter()
            .map(image_size)
            .collect::<Result<_, _>>()
            .map_err(|error| Failure::new(error.to_string(), "Choose another picture."))?;
        let mut recipe = Recipe {
            files,
            steps: 1,
            seed: 0,
            batch_count: 1,
            // Buffers depend on none of these; with one step these two always work.
            sampler: Some(Sampler::Euler),
            scheduler: Some(Scheduler::Discrete),
            eta: None,
            flow_shift: None,
            distilled_guidance: 3.5,
            // Two halves take more than one, whatever their weights.
            guidance: if recipe.uses_guidance() { 2.0 } else { 1.0 },
            ..recipe.clone()
        };
        if let Some(init) = &mut recipe.init {
            init.strength = 1.0;
        }
        (recipe.width, recipe.height) = sized(&recipe, size_multiple);
        if u64::from(recipe.width) * u64::from(recipe.height) > MOST_PIXELS {
            return Err(Failure::new("This picture is larger than Atelier can estimate.", "Choose a smaller size.").into());
        }
        let tiling = tiled(&recipe);
        Ok(Self { recipe, size_multiple, tiling, references })
    }

    /// The same with another size.
    pub(super) fn with_size(&self, width: u32, height: u32) -> Self {
        let recipe = Recipe { width, height, ..self.recipe.clone() };
        let (width, height) = sized(&recipe, self.size_multiple);
        let recipe = Recipe { width, height, ..recipe };
        Self { tiling: tiled(&recipe), recipe, ..self.clone() }
    }

    /// The same, decoded in tiles; `None` where that changes nothing.
    pub(super) fn with_tiling(&self) -> Option<Self> {
        let recipe = Recipe { vae_tiling: true, ..self.recipe.clone() };
        (!self.tiling && tiled(&recipe)).then(|| Self { tiling: true, recipe, ..self.clone() })
    }

    pub(super) fn load(&self, placement: &PlacementText) -> ContextParams {
        ContextParams {
            files: self.recipe.files.clone(),
            threads: cpu_threads(self.recipe.threads),
            flash_attention: self.recipe.flash_attention,
            backend: placement.backend.clone(),
            params_backend: placement.params_backend.clone(),
        }
    }

    pub(super) fn shot(&self) -> Blank {
        let (width, height) = (self.recipe.width, self.recipe.height);
        let pixels = u64::from(width) * u64::from(height);
        Blank {
            picture: blank(width, height),
            mask: Mask { width, height, pixels: vec![255; usize::try_from(pixels).unwrap_or(0)] },
            references: self.references.iter().map(|(width, height)| blank(*width, *height)).collect(),
        }
    }
}

impl Blank {
    pub(super) fn generate_params<'a>(&'a self, asked: &'a Asked) -> GenerateParams<'a> {
        let recipe = &asked.recipe;
        GenerateParams {
            recipe,
            width: recipe.width,
            height: recipe.height,
            seed: 0,
            vae_tiling: asked.tiling,
            init: recipe.init.as_ref().map(|_| &self.picture),
            mask: recipe.mask.as_ref().filter(|_| recipe.init.is_some()).map(|_| &self.mask),
            references: &self.references,
            control: recipe.control.as_ref().map(|_| &self.picture),
            lora_key: "",
        }
    }
}

fn blank(width: u32, height: u32) -> Rgb8 {
    let bytes = u64::from(width) * u64::from(height) * 3;
    Rgb8::new(width, height, vec![127; usize::try_from(bytes).unwrap_or(0)]).unwrap_or_else(|| unreachable!("as many bytes as pixels"))
}
