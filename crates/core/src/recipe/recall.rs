//! Taking over a part of another picture's settings.

use super::{Part, PartialRecipe};

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

    /// This part of a picture's settings. Where modules run is about the machine and never among
    /// them.
    #[must_use]
    pub fn select(self, from: &PartialRecipe) -> PartialRecipe {
        match self {
            Self::All => from.clone(),
            Self::AllButSeed => {
                // The generator of the noise belongs to the kind of picture.
                PartialRecipe { rng: from.rng, ..from.filter_parts(|part| !matches!(part, Part::Seed | Part::Count)) }
            }
            Self::Prompt => from.filter_parts(|part| matches!(part, Part::Prompt | Part::NegativePrompt)),
            Self::Seed => from.filter_parts(|part| part == Part::Seed),
            Self::Size => from.filter_parts(|part| part == Part::Size),
            Self::Model => from.filter_parts(|part| part == Part::Model),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{FileRole, Lora, Recipe, Rng, changed_settings};

    #[test]
    fn each_part_changes_what_its_name_says() {
        let mut from = Recipe { prompt: "a".into(), width: 64, seed: 7, steps: 4, rng: Rng::Cpu, ..Recipe::default() };
        from.files.set(FileRole::Model, "a.safetensors");
        from.loras = vec![Lora::new("l.safetensors".into(), 0.5)];
        from.placement.backend = "all=cpu".into();
        let now = Recipe { batch_count: 4, ..Recipe::default() };
        let changed = |part: RecallPart| {
            let mut to = now.clone();
            part.select(&PartialRecipe::of(&from)).apply(&mut to);
            changed_settings(&now, &to)
        };
        assert_eq!(changed(RecallPart::Prompt), ["prompt"]);
        assert_eq!(changed(RecallPart::Seed), ["seed", "noise"]);
        assert_eq!(changed(RecallPart::Size), ["size"]);
        assert_eq!(changed(RecallPart::Model), ["model"]);
        assert_eq!(changed(RecallPart::AllButSeed), ["model", "prompt", "size", "steps", "noise", "LoRAs"]);
        assert_eq!(changed(RecallPart::All), ["model", "prompt", "size", "steps", "seed", "noise", "number of pictures", "LoRAs"]);
    }
}
