//! Whether the processor multiplies weights of a picture in eight bits.

use std::sync::atomic::AtomicBool;

use super::plan::GenerationPlan;
use super::shard::BatchShard;
use crate::estimate;
use crate::ffi;
use crate::state::EngineState;
use atelier_core::recipe::Recipe;
use atelier_core::time::{ModuleWork, WorkKind};

/// True where products of the picture are in eight bits, its context having weights for it. Where
/// some types of these are left in f32, its graphs say which types are multiplied; they are counted
/// where nobody asked for an estimate before. True where they cannot be counted: such a picture is
/// hardly ever made.
pub(super) fn has_int8_products(engine: &EngineState, plan: &GenerationPlan, shard: &BatchShard, cancel: &AtomicBool) -> bool {
    if ffi::is_every_type_in_int8() {
        return true;
    }
    let recipe = Recipe { placement: plan.placement.estimated_as.text(), ..plan.recipe.clone() };
    let counted = estimate::needs_and_work(&engine.estimates, &recipe, &plan.devices, cancel);
    let is_in_int8 = |module: &ModuleWork| {
        let mut products = module.work.parts().iter().filter(|part| part.class.kind == WorkKind::Product);
        shard.placement.assignment(module.module).runs_on == "CPU" && products.any(|part| ffi::is_type_in_int8(part.class.weights))
    };
    counted.is_none_or(|(_, work)| work.modules.iter().any(is_in_int8))
}
