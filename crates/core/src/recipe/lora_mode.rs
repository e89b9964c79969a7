//! When the changes of low-rank adapters are computed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::sampling::{UnknownName, named_by_engine};
use super::{Lora, Recipe};

named_by_engine! {
    /// When the changes of low-rank adapters are computed.
    LoraMode {
        /// At run time for few pictures, merged for many.
        Auto = "auto", "Automatic";
        /// Merged into the weights of the diffusion module before the first step.
        Immediately = "immediately", "Merge into weights";
        /// Beside the weights, in each step.
        AtRuntime = "at_runtime", "At run time";
    }
}

impl LoraMode {
    /// Pictures of a batch from which on merging is quicker: it changes all weights of the diffusion
    /// module once, and has them read again after the batch. With the built-in model that takes as
    /// long as two or three pictures of 64 pixels save, or one of 256; large files are read longer.
    pub const MERGED_FROM: u32 = 4;

    /// Without a choice of its own.
    #[must_use]
    pub const fn of(is_merged: bool) -> Self {
        if is_merged { Self::Immediately } else { Self::AtRuntime }
    }
}

impl Recipe {
    /// True where a LoRA acts: one that is chosen, or that of a `PhotoMaker`.
    #[must_use]
    pub fn has_any_lora(&self) -> bool {
        !self.loras.is_empty() || self.has_photomaker()
    }

    /// True where the changes of LoRAs become a part of the diffusion module's weights. Those of few
    /// bits are left alone: small changes would be rounded away. `has_few_bits`: the weights of the
    /// model's files have.
    #[must_use]
    pub fn merges_loras(&self, has_few_bits: bool) -> bool {
        match self.lora_mode {
            // Files that are mapped into memory cannot be changed there.
            LoraMode::Immediately => self.has_any_lora() && !self.memory_map,
            LoraMode::AtRuntime => false,
            // What merging gains was measured with chosen ones.
            LoraMode::Auto if self.loras.is_empty() => false,
            LoraMode::Auto => {
                let stays = self.placement.max_vram.is_empty() && self.placement.params_backend.is_empty();
                let is_plain = !has_few_bits && self.weight_type.is_none() && self.tensor_type_rules.is_empty();
                // Earlier steps of a branch have other LoRAs, and so have steps in which one of them
                // does not act.
                let has_one_set = self.earlier_steps.is_empty() && !self.loras.iter().any(Lora::has_range);
                self.batch_count >= LoraMode::MERGED_FROM && stays && is_plain && has_one_set && !self.memory_map
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{FileRole, PlacementText, TensorType};

    #[test]
    fn loras_are_merged_for_many_pictures_where_nothing_is_lost() {
        let many = Recipe { loras: vec![Lora::new("a".into(), 1.0)], batch_count: LoraMode::MERGED_FROM, ..Recipe::default() };
        assert!(many.merges_loras(false));
        assert!(!many.merges_loras(true), "few bits");
        let offloaded = PlacementText { params_backend: "diffusion=cpu".into(), ..PlacementText::default() };
        for other in [
            Recipe { batch_count: LoraMode::MERGED_FROM - 1, ..many.clone() },
            Recipe { loras: Vec::new(), ..many.clone() },
            Recipe { lora_mode: LoraMode::AtRuntime, ..many.clone() },
            Recipe { weight_type: Some(TensorType::Q8_0), ..many.clone() },
            Recipe { memory_map: true, ..many.clone() },
            Recipe { placement: offloaded.clone(), ..many.clone() },
            Recipe { earlier_steps: many.steps_until(2, None), ..many.clone() },
            Recipe { loras: vec![Lora { end: 0.5, ..Lora::new("a".into(), 1.0) }], ..many.clone() },
        ] {
            assert!(!other.merges_loras(false), "{other:?}");
        }
        let one = Recipe { lora_mode: LoraMode::Immediately, batch_count: 1, placement: offloaded, ..many.clone() };
        assert!(one.merges_loras(true) && !Recipe { memory_map: true, ..one }.merges_loras(true));
    }

    #[test]
    fn the_lora_of_a_photomaker_is_merged_where_that_is_asked_for() {
        let mut recipe = Recipe { batch_count: LoraMode::MERGED_FROM, lora_mode: LoraMode::Immediately, ..Recipe::default() };
        assert!(!recipe.merges_loras(false), "there is none");
        recipe.files.set(FileRole::Photomaker, "p");
        assert!(recipe.merges_loras(false) && recipe.merges_loras(true));
        for other in [
            Recipe { lora_mode: LoraMode::Auto, ..recipe.clone() },
            Recipe { lora_mode: LoraMode::AtRuntime, ..recipe.clone() },
            Recipe { memory_map: true, ..recipe.clone() },
        ] {
            assert!(!other.merges_loras(false), "{other:?}");
        }
    }
}
