//! Measurements of devices.

use serde::{Deserialize, Serialize};

use super::failure::Failure;
use atelier_core::recipe::PlacementText;
use atelier_core::time::DeviceRates;

/// Devices to measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureDevices {
    /// Whole names; empty: every device that answers.
    pub names: Vec<String>,
    /// True measures those that have rates again.
    pub again: bool,
    /// Threads of the processor; `None`: as many as pictures take.
    pub threads: Option<u32>,
}

/// Rates of a device, as they were measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredRates {
    /// The rates.
    pub rates: DeviceRates,
    /// Number of operations that were timed.
    pub samples: u32,
    /// Of these, those whose times differed widely: the machine was busy.
    pub unsteady_samples: u32,
    /// Seconds that the measurement took.
    pub secs: f64,
}

impl MeasuredRates {
    /// Part of unsteady samples from which on the machine was too busy for the rates to be
    /// believed.
    const MAX_UNSTEADY: f64 = 0.25;

    /// True where the machine was busy with other work.
    #[must_use]
    pub fn is_unsteady(&self) -> bool {
        f64::from(self.unsteady_samples) > Self::MAX_UNSTEADY * f64::from(self.samples)
    }
}

/// A placement with which pictures were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPlacement {
    /// Its canonical text.
    pub placement: PlacementText,
    /// Steps of the pictures.
    pub steps: u32,
    /// Seconds of a picture, the model being in memory.
    pub secs: f64,
}

/// Measurement of a device, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDevice {
    /// Its whole name.
    pub device: String,
    /// The measurement.
    pub measured: Result<MeasuredRates, Failure>,
}
