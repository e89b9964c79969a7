//! A part of a recipe: settings that a preset has or that a picture tells, without the others.

use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};

use super::{
    ControlImage, EarlierSteps, Hires, ImageSource, InitImage, Lora, ModelFiles, Person, Recipe, Rng, Sampler, Scheduler, SeedBlend,
};
use crate::canvas::{AreaSettings, Borders, StartFit};

macro_rules! partial_recipe {
    ($($field:ident: $type:ty;)*) => {
        /// Some of the settings of a recipe. Where modules run and with how many threads is about a machine and never among them.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        #[allow(missing_docs, reason = "the fields of `Recipe`")]
        pub struct PartialRecipe {
            $(#[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")] pub $field: Option<$type>,)*
        }

        impl PartialRecipe {
            /// All settings of a recipe.
            #[must_use]
            pub fn of(recipe: &Recipe) -> Self {
                Self { $($field: Some(recipe.$field.clone()),)* }
            }

            /// Sets the settings that are here.
            pub fn apply(&self, recipe: &mut Recipe) {
                $(if let Some(value) = &self.$field {
                    recipe.$field.clone_from(value);
                })*
            }

            /// True without a setting.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                $(self.$field.is_none())&&*
            }
        }
    };
}

partial_recipe! {
    files: ModelFiles;
    prompt: String;
    negative_prompt: String;
    negative_in_prompt: bool;
    width: u32;
    height: u32;
    steps: u32;
    guidance: f32;
    distilled_guidance: f32;
    sampler: Option<Sampler>;
    scheduler: Option<Scheduler>;
    eta: Option<f32>;
    flow_shift: Option<f32>;
    clip_skip: Option<u32>;
    seed: i64;
    seed_blend: Option<SeedBlend>;
    rng: Rng;
    batch_count: u32;
    vae_tiling: bool;
    flash_attention: bool;
    vae_conv_scale: bool;
    init: Option<InitImage>;
    mask: Option<ImageSource>;
    start_fit: StartFit;
    area: Option<AreaSettings>;
    outpaint: Option<Borders>;
    hires: Option<Hires>;
    earlier_steps: Vec<EarlierSteps>;
    last_step: Option<u32>;
    reference_images: Vec<ImageSource>;
    control: Option<ControlImage>;
    person: Person;
    loras: Vec<Lora>;
    embeddings: Vec<PathBuf>;
}

/// A field that is there; null is a value of those that may be empty.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::changed_settings;

    #[test]
    fn only_what_is_there_is_set() {
        let mut recipe = Recipe { sampler: Some(Sampler::Euler), steps: 9, ..Recipe::default() };
        let before = recipe.clone();
        let part = PartialRecipe { prompt: Some("a lake".into()), sampler: Some(None), ..PartialRecipe::default() };
        part.apply(&mut recipe);
        assert_eq!(changed_settings(&before, &recipe), ["prompt", "sampler"]);
        assert_eq!(recipe.sampler, None);
        assert!(PartialRecipe::default().is_empty() && !part.is_empty());
    }

    #[test]
    fn a_part_survives_json_and_an_empty_setting_is_told_from_none() {
        let part = PartialRecipe { sampler: Some(None), scheduler: Some(Some(Scheduler::Karras)), ..PartialRecipe::default() };
        let text = serde_json::to_string(&part).unwrap();
        assert_eq!(text, r#"{"sampler":null,"scheduler":"karras"}"#);
        assert_eq!(serde_json::from_str::<PartialRecipe>(&text).unwrap(), part);
        let all = PartialRecipe::of(&Recipe { seed: 7, ..Recipe::default() });
        assert_eq!(serde_json::from_str::<PartialRecipe>(&serde_json::to_string(&all).unwrap()).unwrap(), all);
    }

    #[test]
    fn all_settings_of_a_recipe_leave_the_machine_alone() {
        let from = Recipe { seed: 7, threads: Some(3), ..Recipe::default() };
        let mut to = Recipe { steps: 3, threads: Some(8), ..Recipe::default() };
        PartialRecipe::of(&from).apply(&mut to);
        assert_eq!(to, Recipe { threads: Some(8), ..from });
    }
}
