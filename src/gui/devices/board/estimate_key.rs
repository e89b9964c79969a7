//! Key of an estimate: the fields of a recipe that its memory, and the work of a step, depend on. Pure.
//!
//! A new estimate is requested only when the key changes: seed and steps, for example, have no influence on either.

use std::path::{Path, PathBuf};

use atelier_core::canvas::{AreaSettings, Borders};
use atelier_core::recipe::{Hires, ImageSource, Lora, ModelFiles, Recipe, Sampler};

/// Characters to which the length of a prompt is rounded up: a text encoder's buffer grows with the prompt, but a single word more is not
/// worth a new estimate.
const PROMPT_STEP: usize = 64;

/// Fields of a recipe that its memory, and the work of a step, depend on.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::gui) struct EstimateKey {
    files: ModelFiles,
    loras: Vec<Lora>,
    embeddings: Vec<PathBuf>,
    size_px: (u32, u32),
    vae_tiling: bool,
    flash_attention: bool,
    /// True with guidance: the negative prompt is encoded, and both are denoised.
    guided: bool,
    prompt_steps: (usize, usize),
    start: bool,
    /// True where the start picture is enlarged in place of a first pass.
    enlarges: bool,
    /// Evaluations of the diffusion module in a step.
    evaluations: u32,
    mask: bool,
    area: Option<AreaSettings>,
    outpaint: Option<Borders>,
    hires: Option<Hires>,
    control: bool,
    /// Number of the pictures of a person, and the features of their faces.
    person: (usize, Option<PathBuf>),
    /// Pictures that decide the size of the work: those of a part, one that is enlarged, references.
    sizing_pictures: Vec<ImageSource>,
}

impl EstimateKey {
    pub(in crate::gui) fn of(recipe: &Recipe) -> Self {
        let steps = |prompt: &str| prompt.chars().count().div_ceil(PROMPT_STEP);
        Self {
            files: recipe.files.clone(),
            loras: recipe.loras.clone(),
            embeddings: recipe.used_embeddings().map(Path::to_owned).collect(),
            size_px: (recipe.width, recipe.height),
            vae_tiling: recipe.vae_tiling,
            flash_attention: recipe.flash_attention,
            guided: recipe.uses_guidance(),
            prompt_steps: (steps(&recipe.prompt), steps(&recipe.negative_prompt)),
            start: recipe.init.is_some(),
            enlarges: recipe.enlarges_init(),
            evaluations: recipe.sampler.map_or(1, Sampler::evaluations),
            mask: recipe.mask.is_some(),
            area: recipe.area,
            outpaint: recipe.outpaint,
            hires: recipe.hires.clone(),
            control: recipe.control.is_some(),
            person: (recipe.person.images.len(), recipe.person.id_embedding.clone()),
            sizing_pictures: sizing_pictures(recipe).cloned().collect(),
        }
    }

    pub(crate) fn is_same_model(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

fn sizing_pictures(recipe: &Recipe) -> impl Iterator<Item = &ImageSource> {
    let init = recipe.init.iter().map(|init| &init.image).filter(|_| recipe.changes_part() || recipe.enlarges_init());
    init.chain(recipe.mask.iter().filter(|_| recipe.changes_part())).chain(&recipe.reference_images)
}

/// Key of a model's saved placements: the names of its files, without their folders.
pub(in crate::gui) fn model_key(files: &ModelFiles) -> String {
    let names = files.iter().filter_map(|(_, path)| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    names.collect::<Vec<_>>().join(" + ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::placement::Module;
    use atelier_core::recipe::{FileRole, InitImage, Rgb8};

    #[test]
    fn a_seed_is_no_reason_to_ask_again_and_a_size_is() {
        let recipe = Recipe { prompt: "a lake".into(), ..Recipe::default() };
        let same = Recipe { seed: 7, steps: 4, prompt: "a lake at dawn".into(), ..recipe.clone() };
        assert_eq!(EstimateKey::of(&recipe), EstimateKey::of(&same));
        for other in [
            Recipe { width: 768, ..recipe.clone() },
            Recipe { vae_tiling: true, ..recipe.clone() },
            Recipe { sampler: Some(Sampler::Heun), ..recipe.clone() },
            Recipe { guidance: 1.0, ..recipe.clone() },
            Recipe { prompt: "a lake ".repeat(20), ..recipe.clone() },
        ] {
            assert_ne!(EstimateKey::of(&recipe), EstimateKey::of(&other));
        }
    }

    #[test]
    fn another_mask_or_picture_is_a_reason_where_the_work_has_its_size() {
        let mask = |value| Rgb8::new(2, 1, vec![value; 6]).map(ImageSource::Pixels);
        let init = |name: &str, strength| Some(InitImage { image: ImageSource::File(name.into()), strength });
        let key = |recipe: &Recipe| EstimateKey::of(recipe);
        let part = Recipe { init: init("a.png", 0.5), mask: mask(255), area: Some(AreaSettings::default()), ..Recipe::default() };
        assert_eq!(key(&part), key(&Recipe { mask: mask(255), ..part.clone() }), "the same mask in other memory");
        assert_ne!(key(&part), key(&Recipe { mask: mask(0), ..part.clone() }));
        assert_ne!(key(&part), key(&Recipe { init: init("b.png", 0.5), ..part.clone() }));
        let whole = Recipe { area: None, ..part };
        assert_eq!(key(&whole), key(&Recipe { mask: mask(0), init: init("b.png", 0.5), ..whole.clone() }));
        let larger = Recipe { init: init("a.png", 0.0), hires: Some(Hires::default()), mask: None, ..whole };
        assert_ne!(key(&larger), key(&Recipe { init: init("b.png", 0.0), ..larger.clone() }));
        let reference = |name: &str| Recipe { reference_images: vec![ImageSource::File(name.into())], ..Recipe::default() };
        assert_ne!(key(&reference("a.png")), key(&reference("b.png")));
    }

    #[test]
    fn files_say_which_modules_there_are_and_what_their_model_is_called() {
        let mut files = ModelFiles::default();
        files.set(FileRole::Diffusion, "/m/z.gguf");
        files.set(FileRole::Llm, "/m/q.gguf");
        files.set(FileRole::Taesd, "/m/t.safetensors");
        assert_eq!(files.modules(), [Module::Diffusion, Module::Te, Module::Vae]);
        assert_eq!(model_key(&files), "z.gguf + q.gguf + t.safetensors");
    }
}
