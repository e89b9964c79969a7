//! Request for a plan: devices, memory needs, pins and budgets.

use std::collections::BTreeMap;

use super::budgets::Budgets;
use super::capacity::DeviceCapacity;
use super::change::Alternative;
use super::error::PlacementError;
use super::needs::Needs;
use super::text::{is_disk, parse_backend, parse_params_backend};
use super::value::{Assignment, Placement, WeightLocation};
use crate::device::Device;
use crate::module::Module;
use crate::recipe::PlacementText;

/// What the planner must leave as it is for a module. Devices by their whole names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// Where it runs; `None`: the planner's candidate.
    pub runs_on: Option<String>,
    /// Where its weights live; `None`: the planner's candidate.
    pub weights: Option<WeightLocation>,
}

impl Pin {
    /// Whether it has something to do with this device.
    pub(super) fn names(&self, device: &str) -> bool {
        self.runs_on.as_deref() == Some(device) || matches!(&self.weights, Some(WeightLocation::Device(location)) if location == device)
    }
}

/// The pinned modules.
pub type Pins = BTreeMap<Module, Pin>;

/// The pins that a placement text sets: what it says is kept, what it does not say is free.
pub fn pins(text: &PlacementText, devices: &[Device]) -> Result<Pins, PlacementError> {
    let placement = Placement::parse(text, devices)?;
    let (backend, params) = (parse_backend(&text.backend)?, parse_params_backend(&text.params_backend)?);
    let is_said = |place: &str| is_disk(place) || !matches!(place.to_ascii_lowercase().as_str(), "" | "auto" | "default");
    let pin = |module| {
        let Assignment { runs_on, weights } = placement.assignment(module).clone();
        let runs_on = is_said(backend.place_of(module)).then_some(runs_on);
        let weights = is_said(params.place_of(module)).then_some(weights);
        (runs_on.is_some() || weights.is_some()).then_some((module, Pin { runs_on, weights }))
    };
    Ok(Module::ALL.into_iter().filter_map(pin).collect())
}

/// What is to be placed, where, and round what.
#[derive(Clone, Copy, Debug)]
pub struct PlanRequest<'a> {
    /// The devices, RAM (the CPU) among them.
    pub capacities: &'a [DeviceCapacity],
    /// What the modules in use take for this recipe.
    pub needs: &'a Needs,
    /// What must stay as it is.
    pub pins: &'a Pins,
    /// The most that devices may be used to. A plan may lower a budget, to what is free; it never raises one.
    pub budgets: &'a Budgets,
    /// Whether layers are to be streamed in any case.
    pub stream_layers: bool,
    /// What else the recipe could be, for when it does not fit.
    pub alternatives: &'a [Alternative],
}
