//! Request for a plan: devices, memory needs, pins and budgets.

use std::collections::BTreeMap;

use super::budgets::{Budgets, NO_BUDGETS};
use super::capacity::DeviceCapacity;
use super::change::Alternative;
use super::error::PlacementError;
use super::needs::Needs;
use super::plan_time::PlanTime;
use super::text::{is_disk, parse_backend, parse_params_backend};
use super::value::{Assignment, Placement, WeightLocation};
use crate::device::Device;
use crate::module::Module;
use crate::module_set::ModuleSet;
use crate::recipe::PlacementText;

/// Pin of a module: the parts of its assignment that the planner keeps. Devices by their whole
/// names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pin {
    /// Device that it runs on; `None`: the planner's choice.
    pub runs_on: Option<String>,
    /// Location of its weights; `None`: the planner's choice.
    pub weights: Option<WeightLocation>,
}

impl Pin {
    /// True where it names this device.
    pub(super) fn names(&self, device: &str) -> bool {
        self.runs_on.as_deref() == Some(device) || matches!(&self.weights, Some(WeightLocation::Device(location)) if location == device)
    }
}

/// The pinned modules.
pub type Pins = BTreeMap<Module, Pin>;

/// Pins for the entries of a placement text; modules without an entry are free.
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

/// Request for a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanRequest<'a> {
    /// The devices, RAM (the CPU) among them.
    pub capacities: &'a [DeviceCapacity],
    /// Memory needs of the modules in use for this recipe.
    pub needs: &'a Needs,
    /// Assignments that the plan keeps.
    pub pins: &'a Pins,
    /// Most memory that may be used of devices and by modules. A plan may lower a device's budget to
    /// the free memory; it never raises one.
    pub budgets: &'a Budgets,
    /// Modules whose layers are streamed in any case.
    pub stream_layers: ModuleSet,
    /// Times of the modules; `None`, or a device that was not measured: plans are ranked by an
    /// order of places instead.
    pub time: Option<PlanTime<'a>>,
    /// Variants of the recipe, tried where it does not fit.
    pub alternatives: &'a [Alternative],
}

static NO_PINS: Pins = Pins::new();

impl<'a> PlanRequest<'a> {
    /// A request that leaves everything to the planner.
    #[must_use]
    pub const fn unconstrained(capacities: &'a [DeviceCapacity], needs: &'a Needs, time: PlanTime<'a>) -> Self {
        Self {
            capacities,
            needs,
            pins: &NO_PINS,
            budgets: &NO_BUDGETS,
            stream_layers: ModuleSet::NONE,
            time: Some(time),
            alternatives: &[],
        }
    }
}
