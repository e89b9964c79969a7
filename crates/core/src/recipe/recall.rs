//! Taking over a part of another picture's settings.

use super::{Part, PartialRecipe};
use atelier_language::tr;

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
    pub fn label(self) -> &'static str {
        match self {
            Self::All => tr!("core-use-these-settings"),
            Self::Prompt => tr!("core-use-its-prompt"),
            Self::Seed => tr!("core-use-its-seed"),
            Self::AllButSeed => tr!("core-use-all-but-the"),
            Self::Size => tr!("core-use-its-size"),
            Self::Model => tr!("core-use-its-model"),
        }
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub fn tooltip(self) -> &'static str {
        match self {
            Self::All => tr!("core-load-prompt-seed-and"),
            Self::Prompt => tr!("core-load-the-prompt-and"),
            Self::Seed => tr!("core-load-the-seed-of"),
            Self::AllButSeed => tr!("core-load-all-settings-of"),
            Self::Size => tr!("core-load-width-and-height"),
            Self::Model => tr!("core-load-the-model-of"),
        }
    }

    /// The sentence that says that it was taken over.
    #[must_use]
    pub fn notice(self) -> &'static str {
        match self {
            Self::All => tr!("core-prompt-seed-and-settings"),
            Self::Prompt => tr!("core-the-prompt-of-this"),
            Self::Seed => tr!("core-the-seed-of-this"),
            Self::AllButSeed => tr!("core-the-settings-of-this"),
            Self::Size => tr!("core-the-size-of-this"),
            Self::Model => tr!("core-the-model-of-this"),
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
    use crate::recipe::{FileRole, Lora, Recipe, Rng, Seed, changed_settings};

    #[test]
    fn each_part_changes_what_its_name_says() {
        let mut from = Recipe { prompt: "a".into(), width: 64, seed: Some(Seed(7)), steps: 4, rng: Rng::Cpu, ..Recipe::default() };
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
