//! Corrections of predictions by pictures that were made.

use serde::{Deserialize, Serialize};

use crate::placement::PhaseKind;

/// Factor of a phase on a device: measured seconds by predicted ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimeCorrection {
    /// Whole name of the device.
    pub device: String,
    /// The phase.
    pub phase: PhaseKind,
    /// Above 0; anything else counts as 1.
    pub factor: f64,
}

/// Corrections for one model; a phase without one is not corrected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeCorrections(pub Vec<TimeCorrection>);

impl TimeCorrections {
    /// Factor of a phase on a device.
    #[must_use]
    pub fn factor(&self, device: &str, phase: PhaseKind) -> f64 {
        let own = self.0.iter().find(|it| it.device == device && it.phase == phase);
        own.map(|it| it.factor).filter(|factor| *factor > 0.0 && factor.is_finite()).unwrap_or(1.0)
    }
}
