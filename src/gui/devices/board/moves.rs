//! What a card can do: run somewhere else, or let its weights live somewhere else; and what would come of it. Pure.

use atelier_core::device::{Device, DeviceKind};
use atelier_core::placement::{Change, Home, Module, Needs, Placement, Prediction, Room, Seat};

/// Which half of a card is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Where the module runs. Weights that live there go along.
    Runs,
    /// Where its weights live.
    Weights,
}

/// A card, or its weights, taken to another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Whose card.
    pub module: Module,
    /// Which half of it.
    pub part: Part,
    /// Where it goes.
    pub to: Home,
}

/// What would come of a move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is there already.
    Here,
    /// It works, and memory suffices as far as it is known.
    Works,
    /// It works, but this many bytes are missing, all devices together.
    Short(u64),
    /// It cannot be; a sentence says why.
    Never(&'static str),
}

impl Outcome {
    /// Whether the move can be made.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Works | Self::Short(_))
    }
}

impl Move {
    /// Makes the move.
    pub fn make(&self, placement: &mut Placement) {
        let seat = placement.seat(self.module).clone();
        let moved = match (self.part, &self.to) {
            (Part::Weights, home) => Seat { weights: home.clone(), ..seat },
            (Part::Runs, Home::Device(device)) if seat.weights.is(&seat.runs_on) => Seat::at(device),
            (Part::Runs, Home::Device(device)) => Seat { runs_on: device.clone(), ..seat },
            (Part::Runs, Home::Disk) => seat,
        };
        placement.set(self.module, moved);
    }

    /// What would come of it.
    pub(crate) fn outcome(&self, placement: &Placement, devices: &[Device], needs: Option<&Needs>, rooms: &[Room]) -> Outcome {
        let seat = placement.seat(self.module);
        match (self.part, &self.to) {
            (Part::Runs, Home::Disk) => return Outcome::Never("Nothing runs on a disk; it only keeps weights."),
            (Part::Runs, Home::Device(device)) if seat.runs_on == *device => return Outcome::Here,
            (Part::Weights, home) if seat.weights == *home => return Outcome::Here,
            (_, Home::Device(name)) if devices.iter().any(|device| device.name == *name && is_silent(device)) => {
                return Outcome::Never("This device does not answer now.");
            }
            _ => {}
        }
        let mut moved = placement.clone();
        self.make(&mut moved);
        let prediction = needs.map(|needs| Prediction::of(&moved, needs, rooms));
        match prediction {
            Some(Ok(it)) if it.missing_bytes > 0 => Outcome::Short(it.missing_bytes),
            Some(Ok(_)) | None => Outcome::Works,
            Some(Err(_)) => Outcome::Never("This device is gone."),
        }
    }
}

/// Whether it is a borrowed device whose server does not answer.
#[must_use]
pub fn is_silent(device: &Device) -> bool {
    device.kind == DeviceKind::Remote && device.memory_total_bytes == 0
}

/// What is to be done to get from one placement of these modules to another, by what both take.
pub(crate) fn differences(from: (&Placement, &Prediction), to: (&Placement, &Prediction)) -> Vec<Change> {
    let mut changes = Vec::new();
    for (module, after) in &to.1.modules {
        let (old, new) = (from.0.seat(*module), to.0.seat(*module));
        if old.runs_on != new.runs_on {
            changes.push(Change::RunsOn { module: *module, device: new.runs_on.clone() });
        }
        let go_along = old.weights.is(&old.runs_on) && new.weights.is(&new.runs_on);
        let was_in_pieces = from.1.modules.get(module).is_some_and(|before| before.in_pieces);
        if after.in_pieces && !was_in_pieces {
            changes.push(Change::Pieces { module: *module });
        } else if old.weights != new.weights && !go_along {
            changes.push(Change::Weights { module: *module, home: new.weights.clone() });
        }
    }
    changes
}

/// Whether two placements say the same of these modules.
pub(crate) fn agree(one: &Placement, other: &Placement, modules: impl IntoIterator<Item = Module>) -> bool {
    let seats = modules.into_iter().all(|module| one.seat(module) == other.seat(module));
    seats && one.budgets == other.budgets && one.stream_layers == other.stream_layers
}
