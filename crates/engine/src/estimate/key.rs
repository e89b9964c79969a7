//! Which settings an estimate depends on.

use std::path::{Path, PathBuf};

use atelier_core::recipe::{Affects, ControlImage, ImageSource, Lora, LoraMode, Person, Recipe, Sampler, StepShare};

/// Characters to which the length of a prompt is rounded up: a text encoder's buffer grows with the
/// prompt, but a single word more is not worth a new estimate.
const PROMPT_STEP: usize = 64;

/// What an estimate of a recipe depends on, as far as it is known without reading a file: recipes
/// with the same key have the same estimate. Seed and steps, for example, have no influence.
#[derive(Clone, Debug, PartialEq)]
pub struct EstimateKey {
    /// Without prompts, and with an empty path for each picture whose size makes no difference.
    settings: Recipe,
    prompt_steps: [usize; 2],
    /// Each prompt that `AND` joins to the first is another evaluation. Words that merely contain it
    /// are counted too: at worst the same is asked once more.
    joined_prompts: usize,
    /// Evaluations of the diffusion module in a step.
    evaluations: u32,
    /// What guidance adds to a step is counted apart.
    mixes_guidance: bool,
}

impl EstimateKey {
    /// The key of a recipe, whatever its placement.
    #[must_use]
    pub fn of(recipe: &Recipe) -> Self {
        let prompt_steps = [&recipe.prompt, &recipe.negative_prompt].map(|prompt| prompt.chars().count().div_ceil(PROMPT_STEP));
        let mut settings = memory_settings(recipe);
        settings.embeddings = recipe.used_embeddings().map(Path::to_owned).collect();
        settings.prompt.clear();
        settings.negative_prompt.clear();
        let no_picture = || ImageSource::File(PathBuf::new());
        if let Some(init) = &mut settings.init {
            let upscales = recipe.upscales_init();
            init.strength = if upscales { 0.0 } else { 1.0 };
            if !upscales && !recipe.changes_part() {
                init.image = no_picture();
            }
        }
        if !recipe.changes_part() {
            settings.mask = settings.mask.map(|_| no_picture());
        }
        settings.control = settings.control.map(|_| ControlImage::new(no_picture()));
        let evaluations = recipe.sampler.map_or(1, Sampler::evaluations);
        let joined_prompts = recipe.prompt.matches("AND").count();
        Self { settings, prompt_steps, joined_prompts, evaluations, mixes_guidance: recipe.mixes_guidance() }
    }

    /// True where both are of the same model's files.
    #[must_use]
    pub fn is_same_model(&self, other: &Self) -> bool {
        self.settings.files == other.settings.files
    }
}

/// The settings that affect memory. Guidance is 2 or 1: buffers depend on the number of halves, not
/// on their weights. The low-rank adapters of a branch's earlier steps are among the others.
pub(super) fn memory_settings(recipe: &Recipe) -> Recipe {
    let mut settings = recipe.only(Affects::Memory);
    let is_guided = recipe.uses_guidance() || recipe.earlier_steps.iter().any(|steps| steps.guidance != 1.0);
    // Of three guidances the engine compares two.
    settings.image_guidance = settings.image_guidance.map(|image| match image {
        1.0 => 1.0,
        image if image == recipe.guidance && !recipe.mixes_guidance() => 2.0,
        _ => 3.0,
    });
    settings.guidance = if is_guided { 2.0 } else { 1.0 };
    // In which steps they act changes the time alone; a ControlNet that acts in none is never loaded.
    settings.control = settings.control.filter(|_| {
        let acts = |pass| recipe.steps_with(StepShare::Control, pass) > 0;
        !recipe.has_control_net() || [0, 1].into_iter().any(acts)
    });
    if let Some(control) = &mut settings.control {
        *control = ControlImage::new(control.image.clone());
    }
    if let Some(skip) = &mut settings.skip_layers {
        (skip.start, skip.end) = (0.0, 1.0);
    }
    settings.loras = all_loras(recipe);
    settings.lora_mode = LoraMode::of(recipe.merges_loras(false));
    settings.person.style_strength = Person::USUAL_STYLE_STRENGTH;
    settings.person.images.fill(ImageSource::File(PathBuf::new()));
    settings
}

/// The low-rank adapters of a recipe and of its branch's earlier steps.
pub(super) fn all_loras(recipe: &Recipe) -> Vec<Lora> {
    let mut all = recipe.loras.clone();
    for lora in recipe.earlier_steps.iter().flat_map(|steps| &steps.loras) {
        if !all.iter().any(|known| known.path == lora.path) {
            all.push(lora.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::canvas::AreaSettings;
    use atelier_core::recipe::{EarlierSteps, GuidanceRange, Hires, InitImage, Rgb8, Seed};

    #[test]
    fn a_seed_is_no_reason_to_ask_again_and_a_size_is() {
        let recipe = Recipe { prompt: "a lake".into(), ..Recipe::default() };
        let same = Recipe { seed: Some(Seed(7)), steps: 4, guidance: 3.0, prompt: "a lake at dawn".into(), ..recipe.clone() };
        assert_eq!(EstimateKey::of(&recipe), EstimateKey::of(&same));
        let earlier = EarlierSteps { loras: vec![Lora::new("a.safetensors".into(), 1.0)], ..EarlierSteps::default() };
        for other in [
            Recipe { width: 768, ..recipe.clone() },
            Recipe { vae_tiling: true, ..recipe.clone() },
            Recipe { sampler: Some(Sampler::Heun), ..recipe.clone() },
            Recipe { guidance: 1.0, ..recipe.clone() },
            Recipe { threads: Some(3), ..recipe.clone() },
            Recipe { prompt: "a lake ".repeat(20), ..recipe.clone() },
            Recipe { prompt: "a lake AND fog".into(), ..recipe.clone() },
            Recipe { earlier_steps: vec![earlier], ..recipe.clone() },
        ] {
            assert_ne!(EstimateKey::of(&recipe), EstimateKey::of(&other));
        }
    }

    #[test]
    fn what_guides_is_a_reason_where_the_engine_evaluates_more_or_less() {
        let guided = |guidance, image_guidance| EstimateKey::of(&Recipe { guidance, image_guidance, ..Recipe::default() });
        assert_eq!(guided(7.0, Some(7.0)), guided(3.0, Some(3.0)));
        assert_eq!(guided(7.0, Some(1.5)), guided(3.0, Some(9.0)));
        let keys = [guided(7.0, None), guided(7.0, Some(1.0)), guided(7.0, Some(7.0)), guided(7.0, Some(1.5)), guided(1.0, Some(1.5))];
        for (n, key) in keys.iter().enumerate() {
            assert!(!keys[n + 1..].contains(key), "{key:?}");
        }
    }

    #[test]
    fn a_range_of_guidance_is_a_reason_where_it_saves_evaluations() {
        let ranged = |guidance, start| {
            let guidance_ranges = vec![GuidanceRange { guidance, start, end: 0.5 }];
            EstimateKey::of(&Recipe { guidance: 7.0, guidance_ranges, ..Recipe::default() })
        };
        let plain = EstimateKey::of(&Recipe { guidance: 7.0, ..Recipe::default() });
        assert_eq!(ranged(3.0, 0.0), plain);
        assert_ne!(ranged(1.0, 0.0), plain);
        assert_eq!(ranged(1.0, 0.0), ranged(1.0, 0.2), "how many steps it has is no matter of memory");
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
}
