//! Contexts that generate the pictures of one job.

use std::collections::{BTreeMap, BTreeSet};

use super::checks::cpu_threads;
use crate::cache::{ContextBudgets, LeaseRequest};
use crate::cpu_math::{asked_cpu_math, cpu_math};
use crate::ffi::{Context, ContextParams};
use crate::placement::ResolvedPlacement;
use crate::state::EngineState;
use atelier_core::cpu_math::CpuMath;
use atelier_core::device::Device;
use atelier_core::placement::{Module, Placement, Prediction};
use atelier_core::recipe::{FileRole, PlacementText, Recipe};
use atelier_language::tr;

/// Parameters, budgets and predicted bytes of one context.
pub(super) struct BatchShard {
    pub(super) params: ContextParams,
    budgets: ContextBudgets,
    pub(super) placement: Placement,
    /// As it was written; for one device of several, the canonical text. The key of measurements on
    /// disk.
    text: PlacementText,
    /// Memory of this job, where an estimate is known.
    pub(super) prediction: Option<Prediction>,
    /// Bytes of each device that a job like this one took, where no estimate is known.
    pub(super) measured: Option<BTreeMap<String, u64>>,
}

impl BatchShard {
    fn new(recipe: &Recipe, placement: &ResolvedPlacement, text: PlacementText) -> Self {
        let params = ContextParams::new(recipe, cpu_threads(recipe.threads), placement.assignments());
        // A LoRA changes weights as they are used, and shards of a batch use the same memory.
        let has_loras = recipe.has_any_lora() || recipe.earlier_steps.iter().any(|steps| !steps.loras.is_empty());
        let prefetch = !has_loras && recipe.placement.split_batch.is_empty();
        let budgets = ContextBudgets { budgets: placement.budgets.clone(), stream_layers: recipe.placement.stream_layers, prefetch };
        Self { params, budgets, placement: placement.placement.clone(), text, prediction: None, measured: None }
    }

    /// The request for a context of these parameters.
    pub(super) fn lease_request(&self) -> LeaseRequest<'_> {
        let Self { params, budgets, placement, text: _, prediction, measured } = self;
        LeaseRequest { params, budgets, placement, prediction: prediction.as_ref(), measured: measured.as_ref() }
    }

    /// Devices that compute a module of it.
    pub(super) fn runs_on(&self) -> BTreeSet<&str> {
        let files = &self.params.files;
        // Which encoders a whole model has, its estimate says.
        let whole = if files.get(FileRole::Model).is_some() { &Module::ENCODERS[..] } else { &[] };
        let known: Option<Vec<Module>> = self.prediction.as_ref().map(|it| it.modules.keys().copied().collect());
        let modules = known.unwrap_or_else(|| files.modules().into_iter().chain(whole.iter().copied()).collect());
        modules
            .into_iter()
            .chain([Module::Diffusion, Module::Vae])
            .map(|module| self.placement.assignment(module).runs_on.as_str())
            .collect()
    }

    /// How the processor may compute, if it is part of this context and that changes the bytes.
    fn chosen_math(&self) -> Option<CpuMath> {
        Some(cpu_math()).filter(|&math| self.runs_on().contains("CPU") && math != CpuMath::Exact)
    }

    /// How the processor computes with this context, which is the shard's, if it is part of it and
    /// that changes the bytes; and a sentence where that is not what was asked for.
    /// `has_int8_products`: weights of a type that is multiplied in eight bits are among those that
    /// can be.
    pub(super) fn cpu_math(&self, context: &Context, has_int8_products: impl FnOnce() -> bool) -> (Option<CpuMath>, Option<String>) {
        let chosen = self.chosen_math();
        let is_in_int8 = chosen == Some(CpuMath::Int8) && context.has_int8_weights() && has_int8_products();
        let used = chosen.map(|math| if is_in_int8 { math } else { math.without_int8_weights() });
        let is_said = used != chosen && asked_cpu_math() == chosen;
        (used, is_said.then(|| tr!("engine-the-cpu-computed-with").to_owned()))
    }

    /// Devices and arithmetic of its modules, as a text: equal ones make equal bytes.
    pub(super) fn computes_by(&self) -> String {
        let modules = Module::ALL.map(|module| format!("{module:?} {}", self.placement.assignment(module).runs_on));
        format!("{} {:?}", modules.join(", "), self.chosen_math())
    }

    /// Looks up the bytes that a job like this one took.
    pub(super) fn recall(&mut self, engine: &EngineState, recipe: &Recipe) {
        self.measured = engine.history.measured_bytes(&Recipe { placement: self.text.clone(), ..recipe.clone() });
    }
}

/// The contexts that generate the pictures of a checked recipe together.
pub(super) fn shards(recipe: &Recipe, placement: &ResolvedPlacement, devices: &[Device]) -> Vec<BatchShard> {
    match &placement.shards(devices)[..] {
        [one] => vec![BatchShard::new(recipe, one, PlacementText { split_batch: String::new(), ..recipe.placement.clone() })],
        several => several.iter().map(|shard| BatchShard::new(recipe, shard, shard.placement.text())).collect(),
    }
}
