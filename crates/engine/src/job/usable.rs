//! Settings that the model of a recipe does not use: they go, with a note, so that the picture's
//! settings say what was used.

use atelier_core::picture_note::PictureNote;
use atelier_core::placement::Change;
use atelier_core::recipe::{FamilySetting, Recipe};
use atelier_core::sentences::capitalized;
use atelier_language::tr;
use atelier_library::Family;

/// Takes the settings out of a recipe that have no effect on a model of this family. `sees_pictures`:
/// as [`Family::uses`] has it.
pub(super) fn drop_unusable(recipe: &mut Recipe, family: Family, sees_pictures: bool) -> Vec<PictureNote> {
    let mut notes = Vec::new();
    for setting in FamilySetting::ALL {
        let is_of_other_models =
            setting == FamilySetting::StepCache && recipe.step_cache.as_ref().is_some_and(|cache| !family.uses_cache(cache.mode));
        if (is_of_other_models || !family.uses(setting, sees_pictures)) && setting.unset(recipe) {
            let sentence = tr!("engine-models-have-no-use", capitalized = capitalized(setting.name()), family = family.label());
            notes.push(PictureNote::of_change(Change::Unset { setting }, sentence));
        }
    }
    // A step that looks at more of those before it than what they left is none that another picture
    // could begin with.
    if let (Some(looks_back), false) = (looks_back(recipe), recipe.earlier_steps.is_empty()) {
        recipe.earlier_steps.clear();
        let sentence = tr!("engine-the-steps-of-the-earlier-picture", looks_back);
        notes.push(PictureNote::changed(sentence));
    }
    notes
}

/// What makes steps depend on more than the latents that the step before left.
pub(super) fn looks_back(recipe: &Recipe) -> Option<&'static str> {
    match recipe.step_cache {
        Some(_) => Some(tr!("engine-a-step-cache")),
        None if recipe.has_momentum() => Some(tr!("engine-apgs-momentum")),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::picture_note::used_recipe;
    use atelier_core::recipe::{CacheMode, SkipLayers, StepCache};

    #[test]
    fn what_a_model_does_not_use_is_told_and_not_said_of_its_picture() {
        let asked = Recipe {
            image_guidance: Some(2.0),
            skip_layers: Some(SkipLayers::default()),
            timestep_shift: Some(250),
            step_cache: Some(StepCache::of(CacheMode::EasyCache)),
            zero_cond_t: true,
            chroma_dit_mask: false,
            clip_skip: Some(2),
            flow_shift: Some(3.0),
            distilled_guidance: 4.0,
            vae_conv_scale: true,
            ..Recipe::default()
        };
        let used = |family, sees_pictures| {
            let mut recipe = asked.clone();
            let notes = drop_unusable(&mut recipe, family, sees_pictures);
            assert_eq!(used_recipe(asked.clone(), &notes), recipe, "{family:?}");
            (recipe, notes.len())
        };
        let (sdxl, notes) = used(Family::Sdxl, false);
        assert_eq!((sdxl.timestep_shift, sdxl.skip_layers, sdxl.step_cache, notes), (Some(250), None, None, 7));
        assert_eq!((sdxl.clip_skip, sdxl.flow_shift, sdxl.distilled_guidance, sdxl.vae_conv_scale), (Some(2), None, 3.5, true));
        let (qwen, notes) = used(Family::QwenImage, true);
        assert!(qwen.zero_cond_t && qwen.skip_layers.is_none() && qwen.step_cache.is_some());
        assert_eq!((qwen.image_guidance, qwen.chroma_dit_mask, notes), (Some(2.0), true, 6));
        assert_eq!((qwen.clip_skip, qwen.flow_shift), (None, Some(3.0)));
        assert_eq!(used(Family::Flux, false).0.distilled_guidance, 4.0);
        assert!(used(Family::Sd3, false).0.skip_layers.is_some());
        assert_eq!(used(Family::QwenImage, false).0.image_guidance, None, "without pictures to guide by");
    }
}
