//! Moves of a card: to another runtime device or another place for its weights, with the predicted
//! outcome. Pure.

use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Assignment, Change, DeviceCapacity, Module, Needs, Placement, Prediction, WeightLocation};
use atelier_language::tr;

/// Half of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CardPart {
    /// The device that the module runs on. Weights in the memory of this device move along.
    Runtime,
    /// The place where its weights live.
    Weights,
}

/// Move of one half of a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardMove {
    /// Module of the card.
    pub module: Module,
    /// Half of the card.
    pub part: CardPart,
    pub to: WeightLocation,
}

/// Predicted outcome of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MoveOutcome {
    /// The card is there already.
    Unchanged,
    /// Possible; memory suffices, or is not known.
    Fits,
    /// Possible, but this many bytes are missing, summed over all devices.
    Exceeds(u64),
    /// Not possible, with the reason as a sentence.
    Impossible(&'static str),
}

impl MoveOutcome {
    /// True when the move can be made.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Fits | Self::Exceeds(_))
    }
}

impl CardMove {
    pub fn apply(&self, placement: &mut Placement) {
        let assignment = placement.assignment(self.module).clone();
        let moved = match (self.part, &self.to) {
            (CardPart::Weights, location) => Assignment { weights: location.clone(), ..assignment },
            (CardPart::Runtime, WeightLocation::Device(device)) if assignment.weights.is(&assignment.runs_on) => Assignment::at(device),
            (CardPart::Runtime, WeightLocation::Device(device)) => Assignment { runs_on: device.clone(), ..assignment },
            (CardPart::Runtime, WeightLocation::Disk) => assignment,
        };
        placement.set(self.module, moved);
    }

    /// Predicted outcome; without `needs` memory is taken to suffice.
    pub(crate) fn outcome(
        &self,
        placement: &Placement,
        devices: &[Device],
        needs: Option<&Needs>,
        capacities: &[DeviceCapacity],
    ) -> MoveOutcome {
        let assignment = placement.assignment(self.module);
        match (self.part, &self.to) {
            (CardPart::Runtime, WeightLocation::Disk) => {
                return MoveOutcome::Impossible(tr!("devices-a-disk-only-stores"));
            }
            (CardPart::Runtime, WeightLocation::Device(device)) if assignment.runs_on == *device => return MoveOutcome::Unchanged,
            (CardPart::Weights, location) if assignment.weights == *location => return MoveOutcome::Unchanged,
            (_, WeightLocation::Device(name)) if devices.iter().any(|device| device.name == *name && is_unreachable(device)) => {
                return MoveOutcome::Impossible(tr!("devices-this-device-does-not"));
            }
            _ => {}
        }
        let mut moved = placement.clone();
        self.apply(&mut moved);
        let prediction = needs.map(|needs| Prediction::of(&moved, needs, capacities));
        match prediction {
            Some(Ok(it)) if it.missing_bytes > 0 => MoveOutcome::Exceeds(it.missing_bytes),
            Some(Ok(_)) | None => MoveOutcome::Fits,
            Some(Err(_)) => MoveOutcome::Impossible(tr!("devices-this-device-no-longer")),
        }
    }
}

/// True for a remote device whose server does not answer: the engine then lists it without memory.
#[must_use]
pub fn is_unreachable(device: &Device) -> bool {
    device.kind == DeviceKind::Remote && device.memory_total_bytes == 0
}

/// Changes that lead from one placement to another; modules are those of the second prediction.
pub(crate) fn changes_between(from: (&Placement, &Prediction), to: (&Placement, &Prediction)) -> Vec<Change> {
    let mut changes = Vec::new();
    for (module, after) in &to.1.modules {
        let (old, new) = (from.0.assignment(*module), to.0.assignment(*module));
        if old.runs_on != new.runs_on {
            changes.push(Change::RunsOn { module: *module, device: new.runs_on.clone() });
        }
        let go_along = old.weights.is(&old.runs_on) && new.weights.is(&new.runs_on);
        let was_in_pieces = from.1.modules.get(module).is_some_and(|before| before.in_pieces);
        if after.in_pieces && !was_in_pieces {
            changes.push(Change::Pieces { module: *module });
        } else if old.weights != new.weights && !go_along {
            changes.push(Change::Weights { module: *module, location: new.weights.clone() });
        }
    }
    changes
}

/// True when both placements agree on these modules, on budgets and on streaming.
pub(crate) fn is_same_placement(one: &Placement, other: &Placement, modules: impl IntoIterator<Item = Module>) -> bool {
    let assignments = modules.into_iter().all(|module| one.assignment(module) == other.assignment(module));
    assignments && one.budgets == other.budgets && one.stream_layers == other.stream_layers
}
