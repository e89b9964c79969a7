//! The planner's answer to a placement: a better one, or changes without which none fits. Pure.

use std::collections::BTreeSet;

use crate::gui::devices::board::card_move::{changes_between, is_same_placement};
use crate::gui::devices::board::remedy::Remedy;
use atelier_core::placement::{
    BudgetOffer, Budgets, DeviceCapacity, Module, ModuleSet, Phase, Pin, Pins, Placement, Plan, PlanError, PlanRequest, Prediction,
    RankedPlacement, Shortage, plan, ranked, streaming_budgets,
};
use atelier_engine::{Estimate, OutOfMemory, PhaseKind};

/// Longest list of remedies; a longer one is no help.
const MAX_REMEDIES: usize = 4;

/// The planner's answer to the placement on the board.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Suggestion {
    /// No answer: a part of the input is not known.
    #[default]
    Unknown,
    /// The placement equals the plan.
    AlreadyBest,
    Plan(Box<Plan>),
    /// No placement fits with these pins.
    NothingFits(Box<Shortage>),
}

/// Inputs of the planner besides the devices.
#[derive(Clone, Copy)]
pub(crate) struct PlanningInputs<'a> {
    pub(crate) placement: &'a Placement,
    pub(crate) estimate: &'a Estimate,
    pub(crate) prediction: &'a Prediction,
    /// Modules that the planner does not move.
    pub(crate) pins: &'a BTreeSet<Module>,
}

impl PlanningInputs<'_> {
    /// Runs the planner with the pins.
    pub(crate) fn suggest(&self, capacities: &[DeviceCapacity]) -> Suggestion {
        let in_use = self.estimate.needs.modules.keys().copied();
        match plan(&self.question(&self.pins(self.pins), capacities)) {
            Ok(plan) if is_same_placement(&plan.placement, self.placement, in_use) => Suggestion::AlreadyBest,
            Ok(plan) => Suggestion::Plan(Box::new(plan)),
            Err(PlanError::Short(shortage)) => Suggestion::NothingFits(shortage),
            Err(PlanError::Device(_)) => Suggestion::Unknown,
        }
    }

    /// Placements that fit round what is pinned, the quickest first; devices have no budgets.
    pub(crate) fn ranked(&self, capacities: &[DeviceCapacity]) -> Vec<RankedPlacement> {
        let (pins, budgets) = (self.pins(self.pins), Budgets::default());
        ranked(&PlanRequest { budgets: &budgets, stream_layers: ModuleSet::NONE, ..self.question(&pins, capacities) }).unwrap_or_default()
    }

    /// Budgets with which streaming costs little time.
    pub(crate) fn budget_offers(&self, capacities: &[DeviceCapacity]) -> Vec<BudgetOffer> {
        streaming_budgets(&self.question(&Pins::new(), capacities), self.placement).unwrap_or_default()
    }

    /// Changes that make the placement fit into these capacities, the smallest loss first.
    pub(crate) fn remedies(&self, capacities: &[DeviceCapacity]) -> Vec<Remedy> {
        let mut remedies: Vec<Remedy> = Vec::new();
        for pins in [self.pins(self.pins), self.pins(self.estimate.needs.modules.keys())] {
            let fixes = match plan(&self.question(&pins, capacities)) {
                Ok(plan) => {
                    let changes = changes_between((self.placement, self.prediction), (&plan.placement, &plan.prediction));
                    if !changes.is_empty() {
                        remedies.push(Remedy::new(changes, &plan.placement));
                    }
                    plan.better
                }
                Err(PlanError::Short(shortage)) => shortage.fixes,
                Err(PlanError::Device(_)) => Vec::new(),
            };
            for fix in fixes {
                let remedy = Remedy::new(fix.changes, &fix.plan.placement);
                if remedies.iter().all(|other| other.label != remedy.label) {
                    remedies.push(remedy);
                }
            }
        }
        remedies.truncate(MAX_REMEDIES);
        remedies
    }

    /// Pins that hold these modules where they are.
    fn pins<'m>(&self, modules: impl IntoIterator<Item = &'m Module>) -> Pins {
        let pin = |module: &Module| {
            let assignment = self.placement.assignment(*module);
            (*module, Pin { runs_on: Some(assignment.runs_on.clone()), weights: Some(assignment.weights.clone()) })
        };
        modules.into_iter().map(pin).collect()
    }

    fn question<'q>(&'q self, pins: &'q Pins, capacities: &'q [DeviceCapacity]) -> PlanRequest<'q> {
        PlanRequest {
            capacities,
            needs: &self.estimate.needs,
            pins,
            budgets: &self.placement.budgets,
            stream_layers: self.placement.stream_layers,
            time: Some(self.estimate.plan_time()),
            alternatives: &self.estimate.alternatives,
        }
    }
}

/// Memory of the devices as a failure has shown it: the device that ran out had the predicted bytes
/// less those that the failed allocation lacked.
pub(crate) fn capacities_after_failure(
    capacities: &[DeviceCapacity],
    prediction: Option<&Prediction>,
    met: &OutOfMemory,
) -> Vec<DeviceCapacity> {
    let mut capacities = capacities.to_vec();
    let phase = match met.phase {
        PhaseKind::Loading => Phase::Load,
        PhaseKind::Encoding => Phase::Encode,
        PhaseKind::Denoising => Phase::Denoise,
        PhaseKind::Decoding | PhaseKind::Upscaling => Phase::Decode,
    };
    let predicted = prediction.and_then(|it| it.device(&met.device)).map(|it| it.in_phase(phase).total_bytes());
    if let Some(capacity) = capacities.iter_mut().find(|capacity| capacity.device.name == met.device) {
        let lacking = met.bytes_wanted.saturating_sub(met.bytes_free);
        let available = predicted.map_or(met.bytes_free, |bytes| bytes.saturating_sub(lacking));
        let reserved =
            if capacity.is_ram() { capacity.device.memory_free_bytes.saturating_sub(capacity.limit_bytes(&Budgets::default())) } else { 0 };
        capacity.device.memory_free_bytes = capacity.device.memory_free_bytes.min(available.saturating_add(reserved));
    }
    capacities
}
