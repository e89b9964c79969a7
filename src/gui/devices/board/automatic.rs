//! The placement of a recipe that names no device, as the engine will choose it. Pure.

use atelier_core::device::Device;
use atelier_core::placement::{AutomaticPlacement, DeviceCapacity, Placement, PlanRequest, automatic};
use atelier_core::recipe::PlacementText;
use atelier_engine::Estimate;

/// Placement that Atelier chooses where the recipe names none.
#[derive(Clone, Debug, PartialEq)]
pub struct Automatic {
    /// True where Atelier chooses.
    pub is_on: bool,
    /// A sentence on the placement that was chosen; `None` where none was, or everything is on the
    /// first device.
    pub note: Option<String>,
    /// The placement with which the chosen model is in memory.
    pub(super) in_use: Option<PlacementText>,
}

impl Default for Automatic {
    fn default() -> Self {
        Self { is_on: true, note: None, in_use: None }
    }
}

impl Automatic {
    /// True where the placement of a recipe with this text is Atelier's choice.
    #[must_use]
    pub fn places(&self, text: &PlacementText) -> bool {
        self.is_on && *text == PlacementText::default()
    }

    /// The placement for these devices.
    pub(super) fn choose(&self, estimate: &Estimate, devices: &[Device], capacities: &[DeviceCapacity]) -> Option<AutomaticPlacement> {
        let request = PlanRequest::unconstrained(capacities, &estimate.needs, estimate.plan_time());
        let in_use = self.in_use.as_ref().and_then(|text| Placement::parse(text, devices).ok());
        automatic(&request, in_use.as_ref()).ok().flatten()
    }
}
