//! Changes to a recipe or a placement, as the planner proposes them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::needs::Needs;
use super::value::WeightLocation;
use crate::module::Module;

/// A change to a recipe or a placement. Shown, it asks for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Decode in tiles.
    VaeTiling,
    /// Let pinned weights live somewhere else.
    Weights {
        /// Whose.
        module: Module,
        /// Where they go.
        location: WeightLocation,
    },
    /// Let pinned weights wait in RAM and be copied piece by piece.
    Pieces {
        /// Whose.
        module: Module,
    },
    /// Raise a budget.
    Budget {
        /// Of this device.
        device: String,
        /// To this many GiB.
        gib: f64,
    },
    /// Let a pinned module run on another device.
    RunsOn {
        /// Which.
        module: Module,
        /// Where.
        device: String,
    },
    /// Another file for a module, with smaller weights.
    Quantisation {
        /// For which module.
        module: Module,
        /// What the file is called.
        name: String,
    },
    /// A smaller picture.
    Size {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
}

impl Change {
    /// How much is lost by it: nothing to see, then time, then what was wanted.
    pub(super) const fn loss(&self) -> u32 {
        match self {
            Self::VaeTiling => 1,
            Self::Weights { location: WeightLocation::Device(_), .. } => 2,
            Self::Budget { .. } => 3,
            Self::Pieces { .. } => 4,
            Self::RunsOn { .. } => 5,
            Self::Weights { location: WeightLocation::Disk, .. } => 6,
            Self::Quantisation { .. } => 7,
            Self::Size { .. } => 8,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::VaeTiling => f.write_str("Decode in tiles"),
            Self::Weights { module, location: WeightLocation::Disk } => {
                write!(f, "Read the weights of the {} from the disk each time", module.noun())
            }
            Self::Weights { module, location: WeightLocation::Device(name) } => {
                write!(f, "Let the weights of the {} live on {name}", module.noun())
            }
            Self::Pieces { module } => write!(f, "Copy the weights of the {} from RAM piece by piece", module.noun()),
            Self::Budget { device, gib } => write!(f, "Raise the budget of {device} to {gib} GiB"),
            Self::RunsOn { module, device } => write!(f, "Run the {} on {device}", module.noun()),
            Self::Quantisation { module, name } => write!(f, "Use {name} for the {}", module.noun()),
            Self::Size { width, height } => write!(f, "Make the picture {width} × {height}"),
        }
    }
}

/// What else the recipe could be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// How it differs.
    pub changes: Vec<Change>,
    /// What it takes.
    pub needs: Needs,
}
