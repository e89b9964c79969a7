//! A recipe as far as memory is concerned, with placeholders for the pictures that it starts from.

use super::error::EstimateError;
use super::key::{all_loras, memory_settings};
use crate::cpu_math::leave_out_flash_attention;
use crate::ffi::{ContextParams, GenerateParams, PERSON_SIDE};
use crate::job::area::{largest_work, plan_areas, start_of};
use crate::job::checks::{check_reference, cpu_threads, hires_size, is_tiled, redraw_tiles, snapped_size};
use crate::job::embeddings::Embeddings;
use crate::job::person::check_person;
use crate::placement::placement_failure;
use crate::protocol::Failure;
use atelier_core::canvas::Mask;
use atelier_core::device::Device;
use atelier_core::placement::Placement;
use atelier_core::recipe::{ImageSource, InitImage, LoraMode, Person, Recipe, Rgb8, Sampler, Scheduler, Seed};
use atelier_language::tr;
use atelier_library::{Adapters, Checked, HeaderCache};
use atelier_media::image_size;

/// Pixels of a picture that is larger than any that could be made: the engine copies pictures in
/// RAM while it estimates.
const MAX_PIXELS: u64 = 8192 * 8192;

/// A recipe without what makes no difference to memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EstimateRequest {
    /// Its placement is empty.
    pub(super) recipe: Recipe,
    pub(super) size_multiple: u32,
    latent_pixels: u32,
    pub(super) tiling: bool,
    /// The model looks at no reference pictures.
    pub(super) ignores_references: bool,
    /// The model is given a control picture without a `ControlNet`.
    pub(super) reads_control: bool,
    /// Size in pixels and number of the tiles of a second pass.
    pub(super) tiles: Option<((u32, u32), usize)>,
    /// Sizes of the reference pictures.
    references: Vec<(u32, u32)>,
    adapters: Adapters,
    embeddings: Embeddings,
}

/// Grey pictures in the sizes of those that a recipe starts from.
pub(super) struct Placeholders {
    picture: Rgb8,
    mask: Mask,
    references: Vec<Rgb8>,
    person: Vec<Rgb8>,
}

impl EstimateRequest {
    /// Checks a recipe as a job would, and resolves its placement.
    pub(super) fn resolve(headers: &mut HeaderCache, recipe: &Recipe, devices: &[Device]) -> Result<(Self, Placement), EstimateError> {
        let request = Self::new(headers, recipe)?;
        let placement = Placement::parse(&recipe.placement, devices).map_err(|error| placement_failure(&error))?;
        Ok((request, placement))
    }

    /// Checks a recipe as a job would.
    pub(super) fn new(headers: &mut HeaderCache, recipe: &Recipe) -> Result<Self, EstimateError> {
        let Checked {
            family, files, size_multiple, looks_at_references, reads_control, needs_id_embedding, has_few_bits, adapters, ..
        } = headers.check(&recipe.files, &all_loras(recipe)).map_err(|problem| Failure::from(problem.advice))?;
        let embeddings = Embeddings::read(headers, recipe, family).map_err(|problem| Failure::from(problem.advice))?;
        let references: &[ImageSource] = if looks_at_references { &recipe.reference_images } else { &[] };
        let references = references.iter().map(image_size).collect::<Result<Vec<_>, _>>();
        let references = references.map_err(|error| Failure::new(error.to_string(), tr!("engine-choose-another-picture")))?;
        let mut recipe = Recipe { files, ..recipe.clone() };
        check_person(&recipe, needs_id_embedding).map_err(Failure::from)?;
        recipe.clamp();
        if recipe.check_person_word().is_err() {
            // Somebody is still writing it; its length counts.
            let rest = recipe.prompt.to_lowercase().replace(Person::TRIGGER_WORD, "");
            recipe.prompt = format!("person {} {rest}", Person::TRIGGER_WORD);
        }
        recipe = Recipe {
            steps: 1,
            seed: Some(Seed::default()),
            // With one step these two always work.
            sampler: Some(Sampler::Euler),
            scheduler: Some(Scheduler::Discrete),
            lora_mode: LoraMode::of(recipe.merges_loras(has_few_bits)),
            ..memory_settings(&recipe)
        };
        if recipe.changes_part() {
            let size = image_size(&start_of(&recipe).map_err(Failure::from)?.image)
                .map_err(|error| Failure::new(error.to_string(), tr!("engine-choose-another-picture")))?;
            let plans = plan_areas(&recipe, size, family.model_sizes()).map_err(Failure::from)?.unwrap_or_default();
            (recipe.width, recipe.height) = largest_work(&plans).unwrap_or((recipe.width, recipe.height));
            // The memory is that of a whole picture of this size with a mask.
            recipe.mask.get_or_insert_with(|| ImageSource::Pixels(grey(1, 1)));
            (recipe.area, recipe.outpaint) = (None, None);
        }
        let upscaled = recipe.init.as_ref().filter(|_| recipe.upscales_init()).map(|init| image_size(&init.image)).transpose();
        let upscaled = upscaled.map_err(|error| Failure::new(error.to_string(), tr!("engine-choose-another-picture")))?;
        if let Some(init) = &mut recipe.init {
            init.strength = 1.0;
        }
        (recipe.width, recipe.height) = snapped_size(&recipe, size_multiple);
        let mut tiles = None;
        if let Some(hires) = recipe.hires.take().filter(|hires| hires.strength > 0.0) {
            // The second pass takes more than the first, and begins with a picture.
            let size = hires_size(&hires, upscaled.unwrap_or((recipe.width, recipe.height)), size_multiple);
            let rects = redraw_tiles(&hires, size, family.model_sizes());
            tiles = rects.as_ref().and_then(|rects| Some(((rects.first()?.width, rects.first()?.height), rects.len())));
            let area = |(width, height): (u32, u32)| u64::from(width) * u64::from(height);
            let first = (recipe.width, recipe.height);
            (recipe.width, recipe.height) = match tiles {
                None => size,
                // Of two passes the larger one counts.
                Some((tile, _)) if upscaled.is_none() && area(first) > area(tile) => first,
                Some((tile, _)) => tile,
            };
            if let (Some(_), Some(settings)) = (tiles, &hires.tiles) {
                recipe.mask.get_or_insert_with(|| ImageSource::Pixels(grey(1, 1)));
                recipe.prompt = longer(recipe.prompt, &settings.words);
            }
            recipe.init.get_or_insert_with(|| InitImage { image: ImageSource::Pixels(grey(1, 1)), strength: 1.0 });
        }
        if u64::from(recipe.width) * u64::from(recipe.height) > MAX_PIXELS {
            return Err(Failure::new(tr!("engine-this-picture-is-larger"), tr!("engine-choose-a-smaller-size")).into());
        }
        for reference in &references {
            check_reference(*reference, (recipe.width, recipe.height), family).map_err(Failure::from)?;
        }
        let latent_pixels = family.latent_pixels();
        let tiling = is_tiled(&recipe, latent_pixels);
        Ok(Self {
            recipe,
            size_multiple,
            latent_pixels,
            ignores_references: !looks_at_references,
            reads_control,
            tiling,
            tiles,
            references,
            adapters,
            embeddings,
        })
    }

    /// The same with another size.
    pub(super) fn with_size(&self, width: u32, height: u32) -> Self {
        let recipe = Recipe { width, height, ..self.recipe.clone() };
        let (width, height) = snapped_size(&recipe, self.size_multiple);
        let recipe = Recipe { width, height, ..recipe };
        Self { tiling: is_tiled(&recipe, self.latent_pixels), recipe, ..self.clone() }
    }

    /// The same, decoded in tiles; `None` where that changes nothing.
    pub(super) fn with_tiling(&self) -> Option<Self> {
        let recipe = Recipe { vae_tiling: true, ..self.recipe.clone() };
        (!self.tiling && is_tiled(&recipe, self.latent_pixels)).then(|| Self { tiling: true, recipe, ..self.clone() })
    }

    /// The same without skip-layer guidance; `None` where there is none.
    pub(super) fn without_skipped_layers(&self) -> Option<Self> {
        let recipe = Recipe { skip_layers: None, ..self.recipe.clone() };
        self.recipe.skip_layers.is_some().then(|| Self { recipe, ..self.clone() })
    }

    /// The same in a step without guidance: where it equals the image guidance, the engine compares
    /// no more than it needs for that one.
    pub(super) fn without_guidance(&self) -> Self {
        let guidance = self.recipe.image_guidance.unwrap_or(1.0);
        Self { recipe: Recipe { guidance, ..self.recipe.clone() }, ..self.clone() }
    }

    /// Parameters of a context with this placement.
    pub(super) fn context_params(&self, placement: &Placement) -> ContextParams {
        let mut recipe = self.recipe.clone();
        let _ = leave_out_flash_attention(&mut recipe, placement);
        ContextParams::new(&recipe, cpu_threads(recipe.threads), placement.clone())
    }

    /// Placeholders in the sizes of its pictures.
    pub(super) fn placeholders(&self) -> Placeholders {
        let (width, height) = (self.recipe.width, self.recipe.height);
        Placeholders {
            picture: grey(width, height),
            mask: Mask::filled(width, height, 255),
            references: self.references.iter().map(|(width, height)| grey(*width, *height)).collect(),
            person: vec![grey(PERSON_SIDE, PERSON_SIDE); self.recipe.person.images.len()],
        }
    }
}

impl Placeholders {
    /// Parameters of the picture that is estimated.
    pub(super) fn generate_params<'a>(&'a self, request: &'a EstimateRequest) -> GenerateParams<'a> {
        let recipe = &request.recipe;
        GenerateParams {
            recipe,
            width: recipe.width,
            height: recipe.height,
            seed: Seed::default(),
            vae_tiling: request.tiling,
            init: recipe.init.as_ref().map(|_| &self.picture),
            mask: recipe.mask.as_ref().filter(|_| recipe.init.is_some()).map(|_| &self.mask),
            references: &self.references,
            control: recipe.control.as_ref().map(|_| &self.picture),
            person: if recipe.check_person_word().is_ok() { &self.person } else { &[] },
            area: None,
            second: None,
            lora_key: "",
            adapters: &request.adapters,
            embeddings: &request.embeddings,
        }
    }
}

/// The longer of two prompts.
fn longer(one: String, other: &str) -> String {
    if other.len() > one.len() { other.to_owned() } else { one }
}

fn grey(width: u32, height: u32) -> Rgb8 {
    let bytes = u64::from(width) * u64::from(height) * 3;
    Rgb8::new(width, height, vec![127; usize::try_from(bytes).unwrap_or(0)]).unwrap_or_else(|| unreachable!("as many bytes as pixels"))
}
