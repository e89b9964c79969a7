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
    /// Factor of a phase on a device. What was learned of the model on other devices counts for one
    /// on which nothing was: else it would look quicker than those that are known. Of loading it
    /// says nothing, which is the way of each device.
    #[must_use]
    pub fn factor(&self, device: &str, phase: PhaseKind) -> f64 {
        let of_phase = || self.0.iter().filter(|it| it.phase == phase && it.factor > 0.0 && it.factor.is_finite());
        let least = || of_phase().filter(|_| phase != PhaseKind::Loading).map(|it| it.factor).min_by(f64::total_cmp);
        of_phase().find(|it| it.device == device).map(|it| it.factor).or_else(least).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_on_one_device_counts_for_those_that_are_not_known() {
        let learned = |device: &str, phase, factor| TimeCorrection { device: device.into(), phase, factor };
        let corrections = TimeCorrections(vec![
            learned("CPU", PhaseKind::Denoising, 3.0),
            learned("GPU1", PhaseKind::Denoising, 2.0),
            learned("CPU", PhaseKind::Loading, 5.0),
            learned("CPU", PhaseKind::Decoding, f64::NAN),
        ]);
        let of = |device, phase| corrections.factor(device, phase);
        assert_eq!((of("CPU", PhaseKind::Denoising), of("GPU0", PhaseKind::Denoising)), (3.0, 2.0));
        assert_eq!((of("CPU", PhaseKind::Loading), of("GPU0", PhaseKind::Loading)), (5.0, 1.0));
        assert_eq!((of("CPU", PhaseKind::Decoding), of("CPU", PhaseKind::Encoding)), (1.0, 1.0));
    }
}
