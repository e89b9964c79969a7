//! Memory that modules need for one recipe, whatever devices they are on. The engine measures it by
//! a dry run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::phase::Phase;
use crate::module::Module;
use crate::module_set::ModuleSet;

/// Memory that a module needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleNeeds {
    /// Its weights in memory, after the loader's conversions.
    pub weight_bytes: u64,
    /// LoRA weights that are held beside it while it runs.
    pub lora_bytes: u64,
    /// Its compute buffer in each phase in which it runs, its graph in one piece.
    pub compute_bytes: BTreeMap<Phase, u64>,
    /// Weights and compute buffer of the largest piece of its cut graph. `None`: the graph cannot
    /// be cut, or its pieces take no less than the whole (VAE).
    pub least_bytes: Option<u64>,
    /// Packed copies of its weights that the processor would keep from step to step where there is
    /// room. 0 where it keeps none.
    pub packed_bytes: u64,
}

impl ModuleNeeds {
    /// Bytes on the device that it runs on, with its graph in one piece: staged weights where they
    /// live elsewhere, LoRA, compute.
    pub(super) fn whole_bytes(&self, staged: bool, compute_bytes: u64) -> u64 {
        let weights = if staged { self.weight_bytes } else { 0 };
        weights.saturating_add(self.lora_bytes).saturating_add(compute_bytes)
    }

    /// Fewest bytes with which it runs; `None` where its graph cannot be cut.
    pub(super) fn cut_bytes(&self) -> Option<u64> {
        Some(self.least_bytes?.saturating_add(self.lora_bytes))
    }
}

/// Memory that the modules in use need, for one recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// By module; a module that the recipe does not use is not in it.
    pub modules: BTreeMap<Module, ModuleNeeds>,
}

impl Needs {
    /// The VAE, where nothing of it can be streamed: it is a tiny one, the picture is so large that
    /// pieces take more memory than the whole, or no device here cuts graphs.
    #[must_use]
    pub fn whole(&self) -> ModuleSet {
        let runs_whole = self.modules.get(&Module::Vae).is_some_and(|vae| vae.least_bytes.is_none());
        if runs_whole { ModuleSet::VAE } else { ModuleSet::NONE }
    }
}
