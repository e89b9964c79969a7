//! Seconds of a module where a plan could put it.

use super::needs::ModuleNeeds;
use super::phase::PhaseKind;
use crate::module::Module;
use crate::time::{MachineRates, ModuleWork, PictureWork, TimeCorrections};

/// Everything by which plans are ranked by time.
#[derive(Clone, Copy, Debug)]
pub struct PlanTime<'a> {
    /// Work of the picture.
    pub work: &'a PictureWork,
    /// Rates of the devices.
    pub rates: &'a MachineRates,
    /// Corrections for the model.
    pub corrections: &'a TimeCorrections,
}

/// Location of weights, as far as time is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WeightSource {
    /// The device that the module runs on.
    Resident,
    /// Another device: copied once for each phase.
    Staged,
    /// Another device: copied in pieces for each graph. Nothing is believed to stay, because that
    /// depends on memory.
    Pieces,
    /// The disk: read for each phase.
    Disk,
}

impl PlanTime<'_> {
    /// Seconds of a module in one picture on a device; `None` where the device was not measured.
    pub(super) fn secs(&self, module: Module, needs: &ModuleNeeds, device: &str, source: WeightSource) -> Option<f64> {
        let rates = self.rates.devices.get(device)?;
        let copy_secs = rates.copy_to_secs(needs.weight_bytes);
        let of_phase = |(it, is_added): (&ModuleWork, bool)| {
            let (once, repeated) = match source {
                WeightSource::Resident => (0.0, 0.0),
                WeightSource::Staged => (copy_secs, 0.0),
                WeightSource::Pieces => (0.0, copy_secs * it.work.graphs() as f64),
                WeightSource::Disk => (self.corrections.factor(device, PhaseKind::Loading) * rates.load_secs(needs.weight_bytes), 0.0),
            };
            let once = if is_added { 0.0 } else { once };
            let secs = once + f64::from(it.repetitions) * (repeated + rates.secs(&it.work)?);
            Some(self.corrections.factor(device, it.phase) * secs)
        };
        self.work.done().filter(|(it, _)| it.module == module).map(of_phase).sum()
    }
}
