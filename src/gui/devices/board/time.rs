//! Time of the next picture: predicted from the estimate, and measured by the last run. Pure.

use atelier_core::format::seconds;
use atelier_core::placement::{Phase, Placement, Prediction};
use atelier_core::recipe::{PlacementText, Recipe, StepCounts};
use atelier_core::time::{MissingRates, PhaseTime, TimePrediction};
use atelier_engine::{Estimate, EstimateKey, Timings};
use atelier_gallery::queue::Pace;
use atelier_language::tr;

/// Part of a predicted time below which a measured one is of something that was skipped: the prompt
/// was known.
const SKIPPED: f64 = 0.05;
/// Seconds of a picture from which on a model is too slow to be worked with.
const TOO_SLOW_SECS: f64 = 600.0;

/// Steps of the first and second pass.
type Steps = [StepCounts; 2];

/// Inputs of a prediction beside the devices: placement, estimate key, steps.
type TimeKey = (PlacementText, EstimateKey, Steps);

fn steps_of(recipe: &Recipe) -> Steps {
    [0, 1].map(|pass| recipe.step_counts(pass))
}

fn time_key(recipe: &Recipe) -> TimeKey {
    (recipe.placement.clone(), EstimateKey::of(recipe), steps_of(recipe))
}

/// Times of pictures of the recipe, predicted and measured.
#[derive(Clone, Debug, Default)]
pub struct PictureTimes {
    /// Prediction for the inputs below; `None` until there is an estimate.
    predicted: Option<Result<TimePrediction, MissingRates>>,
    predicted_for: Option<TimeKey>,
    version: u64,
    /// Measured seconds of the last run.
    measured: Option<(TimeKey, Timings)>,
}

impl PictureTimes {
    /// Predicted time of the next picture; `None` while it is not known.
    #[must_use]
    pub fn predicted(&self) -> Option<&TimePrediction> {
        // Where a picture is only upscaled, nothing of what takes time was counted.
        self.predicted.as_ref()?.as_ref().ok().filter(|it| it.denoise_secs > 0.0)
    }

    /// Devices whose rates the prediction lacks.
    #[must_use]
    pub fn unmeasured_devices(&self) -> Option<&MissingRates> {
        self.predicted.as_ref()?.as_ref().err()
    }

    /// Predicted seconds that a device takes in a phase of a picture; `None` where it is not known,
    /// or the device has nothing to do.
    #[must_use]
    pub fn phase_secs(&self, device: &str, phase: Phase) -> Option<f64> {
        let own: Vec<f64> = self.of_phase(phase).filter(|it| it.device == device).map(|it| it.secs).collect();
        (!own.is_empty()).then(|| own.iter().sum())
    }

    /// Measured seconds of a phase in the last run with these settings, where this device alone
    /// worked in it.
    #[must_use]
    pub fn measured_phase_secs(&self, device: &str, phase: Phase) -> Option<f64> {
        let (_, timings) = self.measured.as_ref().filter(|(of, _)| Some(of) == self.predicted_for.as_ref())?;
        if self.of_phase(phase).any(|it| it.device != device) {
            return None;
        }
        let secs = match phase {
            Phase::Load => timings.load_secs,
            Phase::Encode => timings.encode_secs,
            Phase::Denoise => timings.denoise_secs,
            Phase::Decode => timings.decode_secs,
        };
        self.phase_secs(device, phase).filter(|predicted| secs > predicted * SKIPPED).map(|_| secs)
    }

    /// Parts of a picture's time in which a device works, each from 0 to 1 of the whole, with their
    /// phases.
    #[must_use]
    pub fn timeline(&self, device: &str) -> Vec<(Phase, f64, f64)> {
        let Some(time) = self.predicted() else { return Vec::new() };
        let all: f64 = time.phases.iter().map(|it| it.secs).sum::<f64>().max(f64::MIN_POSITIVE);
        let mut end = 0.0;
        let parts = time.phases.iter().map(|it| {
            let start = end;
            end += it.secs / all;
            (it, start, end)
        });
        parts.filter(|(it, ..)| it.device == device).map(|(it, start, end)| (Phase::from(it.phase), start, end)).collect()
    }

    fn of_phase(&self, phase: Phase) -> impl Iterator<Item = &PhaseTime> {
        self.predicted().into_iter().flat_map(|it| &it.phases).filter(move |it| Phase::from(it.phase) == phase)
    }

    /// True where a time was measured with these settings.
    #[must_use]
    pub fn has_measured(&self) -> bool {
        self.measured.as_ref().is_some_and(|(of, _)| Some(of) == self.predicted_for.as_ref())
    }

    /// Stores the measured seconds of a run of this recipe with so many pictures.
    pub fn set_measured(&mut self, recipe: &Recipe, timings: &Timings, pictures: usize) {
        let each = |secs: f64| secs / pictures.max(1) as f64;
        let timings = Timings { denoise_secs: each(timings.denoise_secs), decode_secs: each(timings.decode_secs), ..*timings };
        self.measured = Some((time_key(recipe), timings));
    }

    /// Pace of pictures of this recipe, for the queue; `None` while it is not known.
    #[must_use]
    pub fn pace(&self, recipe: &Recipe) -> Option<Pace> {
        let time = self.predicted()?;
        let megapixels = f64::from(recipe.width) * f64::from(recipe.height) / 1e6;
        // A second pass counts with the first.
        let steps = f64::from(recipe.steps.max(1));
        (megapixels > 0.0).then(|| Pace {
            step_secs_per_megapixel: time.denoise_secs / (megapixels * steps),
            decode_secs_per_megapixel: (time.decode_secs + time.upscale_secs) / megapixels,
            start_secs: time.load_secs + time.encode_secs,
        })
    }

    /// Number that changes with the prediction.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Predicts the time where the steps of the recipe have changed, or anything else, which
    /// `is_recomputed` tells.
    pub(super) fn refresh(&mut self, recipe: &Recipe, is_recomputed: bool, inputs: Option<(&Estimate, &Placement, &Prediction)>) {
        let steps = steps_of(recipe);
        let has_other_steps = self.predicted_for.as_ref().is_none_or(|(_, _, before)| *before != steps);
        if is_recomputed || has_other_steps {
            self.predicted = inputs.map(|(estimate, placement, prediction)| estimate.time(recipe, placement, prediction));
            self.predicted_for = Some(time_key(recipe));
            self.version += 1;
        }
    }
}

/// Sentence for a person who is about to generate: "About 13 s, first preview after 4 s".
///
/// `is_loaded`: the model is in memory. `without_upscaling`: an upscaler works too, whose time is
/// not predicted.
#[must_use]
pub fn time_sentence(time: &TimePrediction, pictures: u32, is_loaded: bool, without_upscaling: bool) -> String {
    let loading = time.saved_secs(is_loaded);
    let all = seconds(time.batch_secs(pictures) - loading);
    let preview = seconds(time.first_preview_secs - loading);
    let what = if pictures > 1 { tr!("devices-pictures-in-about", pictures, all) } else { tr!("devices-about", all) };
    let upscaling = if without_upscaling { tr!("devices-and-upscaling") } else { "" };
    tr!("devices-first-preview-after", what, upscaling, preview)
}

/// True where a picture takes too long to work with.
#[must_use]
pub fn is_too_slow(secs: f64) -> bool {
    secs >= TOO_SLOW_SECS
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::placement::{Module, PhaseKind};

    fn time() -> TimePrediction {
        let phase = |phase, secs, each_picture| PhaseTime { module: Module::Diffusion, phase, device: "GPU0".into(), secs, each_picture };
        TimePrediction {
            phases: vec![phase(PhaseKind::Loading, 3.0, false), phase(PhaseKind::Denoising, 8.0, true)],
            load_secs: 3.0,
            step_secs: 0.4,
            denoise_secs: 8.0,
            first_preview_secs: 3.4,
            total_secs: 11.0,
            next_picture_secs: 8.0,
            ..TimePrediction::default()
        }
    }

    #[test]
    fn a_sentence_counts_what_is_still_to_be_done() {
        let time = time();
        assert_eq!(time_sentence(&time, 1, false, false), "About 11 s, first preview after 3.4 s");
        assert_eq!(time_sentence(&time, 1, true, false), "About 8 s, first preview after 0.4 s");
        assert_eq!(time_sentence(&time, 4, false, false), "4 pictures in about 35 s, first preview after 3.4 s");
        assert_eq!(time_sentence(&time, 1, true, true), "About 8 s and upscaling, first preview after 0.4 s");
    }

    #[test]
    fn devices_work_one_after_the_other() {
        let mut time = time();
        time.phases[0].device = "CPU".into();
        let times = PictureTimes { predicted: Some(Ok(time)), ..PictureTimes::default() };
        let [(phase, start, end)] = times.timeline("GPU0")[..] else { panic!() };
        assert_eq!((phase, end), (Phase::Denoise, 1.0));
        assert!((start - 3.0 / 11.0).abs() < 1e-9, "behind what the processor does");
        assert_eq!(times.timeline("CPU"), [(Phase::Load, 0.0, start)]);
        assert_eq!(times.timeline("GPU1"), []);
    }

    #[test]
    fn the_queue_goes_by_the_same_seconds() {
        let recipe = Recipe { width: 1000, height: 500, steps: 20, ..Recipe::default() };
        let mut times = PictureTimes::default();
        assert_eq!(times.pace(&recipe), None);
        times.predicted = Some(Ok(time()));
        let secs = times.pace(&recipe).unwrap().secs(1, recipe.steps, recipe.width, recipe.height);
        assert!((secs - 11.0).abs() < 1e-9, "{secs}");
    }

    #[test]
    fn what_was_measured_is_of_one_picture_and_of_the_same_settings() {
        let recipe = Recipe::default();
        let predicted_for = Some(time_key(&recipe));
        let mut times = PictureTimes { predicted: Some(Ok(time())), predicted_for, ..PictureTimes::default() };
        let timings = Timings { load_secs: 0.01, denoise_secs: 18.0, ..Timings::default() };
        times.set_measured(&recipe, &timings, 2);
        assert_eq!(times.measured_phase_secs("GPU0", Phase::Denoise), Some(9.0));
        assert_eq!(times.measured_phase_secs("GPU0", Phase::Load), None, "it was in memory");
        assert_eq!(times.measured_phase_secs("GPU0", Phase::Decode), None, "nothing to do there");
        assert_eq!(times.measured_phase_secs("CPU", Phase::Denoise), None, "another device did it");
        times.set_measured(&Recipe { steps: 5, ..recipe }, &timings, 2);
        assert_eq!(times.measured_phase_secs("GPU0", Phase::Denoise), None);
        assert!(!times.has_measured());
    }
}
