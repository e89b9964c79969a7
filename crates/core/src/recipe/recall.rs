//! Taking over a part of another picture's settings.

use super::Recipe;

/// A part of a picture's settings that the next picture can take over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RecallPart {
    /// Everything that makes the same picture again.
    All,
    /// The prompt and the negative prompt.
    Prompt,
    /// The seed, and the generator that draws the noise from it.
    Seed,
    /// Everything but the seed and the number of pictures.
    AllButSeed,
    /// Width and height.
    Size,
    /// The model.
    Model,
}

impl RecallPart {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::All, Self::Prompt, Self::Seed, Self::AllButSeed, Self::Size, Self::Model];

    /// The words on its button or menu entry.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::All => "Use these settings",
            Self::Prompt => "Use its prompt",
            Self::Seed => "Use its seed",
            Self::AllButSeed => "Use all but the seed",
            Self::Size => "Use its size",
            Self::Model => "Use its model",
        }
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub const fn tooltip(self) -> &'static str {
        match self {
            Self::All => "Take over prompt, seed and all settings of this picture.",
            Self::Prompt => "Take over the prompt and the negative prompt of this picture.",
            Self::Seed => "Take over the seed of this picture, so that only what you change changes.",
            Self::AllButSeed => "Take over all settings of this picture, and keep your seed: another picture of the same kind.",
            Self::Size => "Take over width and height of this picture.",
            Self::Model => "Take over the model of this picture.",
        }
    }

    /// The sentence that says that it was taken over.
    #[must_use]
    pub const fn notice(self) -> &'static str {
        match self {
            Self::All => "Prompt, seed and settings of this picture are set.",
            Self::Prompt => "The prompt of this picture is set.",
            Self::Seed => "The seed of this picture is set.",
            Self::AllButSeed => "The settings of this picture are set; the seed stays yours.",
            Self::Size => "The size of this picture is set.",
            Self::Model => "The model of this picture is set.",
        }
    }

    /// True for the parts that include the model.
    #[must_use]
    pub const fn has_model(self) -> bool {
        matches!(self, Self::All | Self::AllButSeed | Self::Model)
    }

    /// Takes this part of `from` over. Where modules run is about the machine and stays; so does the model where `from` has none.
    pub fn apply(self, from: &Recipe, to: &mut Recipe) {
        match self {
            Self::All => *to = Recipe { batch_count: from.batch_count, seed: from.seed, ..with_settings(from, to) },
            Self::AllButSeed => *to = with_settings(from, to),
            Self::Prompt => {
                to.prompt.clone_from(&from.prompt);
                to.negative_prompt.clone_from(&from.negative_prompt);
            }
            Self::Seed => (to.seed, to.rng) = (from.seed, from.rng),
            Self::Size => (to.width, to.height) = (from.width, from.height),
            Self::Model => {
                if from.files.is_empty() {
                    return;
                }
                if from.files.main() != to.files.main() {
                    // They were made for another model.
                    to.loras.clear();
                }
                to.files.clone_from(&from.files);
                to.vae_conv_scale = from.vae_conv_scale;
                to.drop_unusable_control();
            }
        }
    }
}

/// The settings of `from` with the seed and the machine of `to`.
fn with_settings(from: &Recipe, to: &Recipe) -> Recipe {
    let files = if from.files.is_empty() { to.files.clone() } else { from.files.clone() };
    Recipe { files, seed: to.seed, batch_count: to.batch_count, placement: to.placement.clone(), threads: to.threads, ..from.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{FileRole, Lora, Rng, changed_settings};

    fn recipe(seed: i64, name: &str) -> Recipe {
        let mut recipe = Recipe { prompt: name.into(), width: 64, seed, steps: 4, rng: Rng::Cpu, ..Recipe::default() };
        recipe.files.set(FileRole::Model, format!("{name}.safetensors"));
        recipe.loras = vec![Lora { path: format!("{name}-lora.safetensors").into(), strength: 0.5 }];
        recipe.placement.backend = format!("all={name}");
        recipe
    }

    #[test]
    fn each_part_changes_what_its_name_says() {
        let (from, now) = (recipe(7, "a"), Recipe { batch_count: 4, ..Recipe::default() });
        let changed = |part: RecallPart| {
            let mut to = now.clone();
            part.apply(&from, &mut to);
            changed_settings(&now, &to)
        };
        assert_eq!(changed(RecallPart::Prompt), ["prompt"]);
        assert_eq!(changed(RecallPart::Seed), ["seed", "noise"]);
        assert_eq!(changed(RecallPart::Size), ["size"]);
        assert_eq!(changed(RecallPart::Model), ["model"]);
        assert_eq!(changed(RecallPart::AllButSeed), ["prompt", "model", "size", "steps", "LoRAs", "noise"]);
        assert_eq!(changed(RecallPart::All), ["prompt", "model", "size", "steps", "seed", "number of pictures", "LoRAs", "noise"]);
    }

    #[test]
    fn the_model_stays_where_there_is_no_other_and_takes_its_loras_along_when_it_goes() {
        let (mut to, from) = (recipe(1, "mine"), Recipe { seed: 7, ..Recipe::default() });
        for part in [RecallPart::All, RecallPart::Model] {
            part.apply(&from, &mut to);
            assert_eq!(to.files, recipe(1, "mine").files);
            assert_eq!(to.placement.backend, "all=mine");
        }
        let mut to = recipe(1, "mine");
        RecallPart::Model.apply(&recipe(7, "other"), &mut to);
        assert!(to.loras.is_empty() && to.seed == 1);
    }
}
