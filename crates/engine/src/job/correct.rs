//! Corrects the prediction of times by what a job took.

use std::sync::atomic::AtomicBool;

use super::plan::GenerationPlan;
use super::predict::predict;
use crate::estimate;
use crate::protocol::{PhaseKind, Timings};
use crate::rates::PhaseRatio;
use crate::state::EngineState;
use atelier_core::recipe::Recipe;
use atelier_core::time::{TimeCorrections, TimePrediction, phase_works, predict_time};

/// Learns from the times of a job that is done, where devices were measured and its work is that of
/// whole pictures of one context. Work that is not known, as nobody asked for an estimate, is
/// counted now. `recipe` is the one before checks.
pub(super) fn correct_times(engine: &EngineState, recipe: &Recipe, plan: &GenerationPlan, timings: &Timings, cancel: &AtomicBool) {
    let [shard] = &plan.shards[..] else { return };
    // Parts, second passes, drafts and replayed steps take less than their work.
    if plan.area.is_some() || plan.hires.is_some() || plan.recipe.last_step.is_some() || !plan.recipe.earlier_steps.is_empty() {
        return;
    }
    let rates = engine.rates.machine_rates(&plan.devices, recipe.threads);
    if rates.devices.is_empty() {
        return;
    }
    let placement = &plan.placement.estimated_as;
    let known = || {
        engine.with_headers(|headers| {
            let needs = engine.estimates.get(headers, &plan.recipe, placement, &plan.devices)?;
            Some((needs, engine.estimates.work(headers, &plan.recipe, placement, &plan.devices)?))
        })
    };
    let as_estimated = Recipe { placement: placement.text(), ..plan.recipe.clone() };
    let count = || estimate::needs_and_work(&engine.estimates, &as_estimated, &plan.devices, cancel);
    let Some((needs, work)) = known().or_else(count) else { return };
    let known_prediction = || predict(engine, &plan.recipe, placement, &shard.placement, &plan.devices);
    let Some(prediction) = &shard.prediction.clone().or_else(known_prediction) else { return };
    // A step cache that the model has no use for is gone from it.
    let sampled = Recipe { threads: recipe.threads, ..plan.recipe.clone() };
    let phases = phase_works(&work, &needs, &shard.placement, prediction);
    let corrections = engine.rates.corrections(&plan.recipe.files, &sampled, &plan.devices);
    let secs = loaded_secs(predict_time(&phases, &rates, &corrections).ok().as_ref(), timings, plan.begin.seeds.len());
    engine.rates.record_trial(&plan.recipe.files, recipe, &shard.placement, &plan.devices, secs);
    if let Ok(predicted) = predict_time(&phases, &rates, &TimeCorrections::default()) {
        let ratios = ratios(&predicted, timings, plan.begin.seeds.len());
        engine.rates.correct(&plan.recipe.files, &sampled, &plan.devices, &ratios);
    }
}

/// Part of its prediction below which encoding was not run: the prompt's encoding was known.
const SKIPPED: f64 = 0.05;

/// Seconds of one picture, the model being in memory and the prompt new: a known one's encoding
/// counts as predicted.
fn loaded_secs(predicted: Option<&TimePrediction>, timings: &Timings, pictures: usize) -> f64 {
    let skipped = predicted.filter(|predicted| timings.encode_secs < SKIPPED * predicted.encode_secs);
    let encode_secs = skipped.map_or(timings.encode_secs, |predicted| predicted.encode_secs);
    encode_secs + (timings.denoise_secs + timings.decode_secs) / pictures.max(1) as f64
}

/// Seconds of each phase beside their prediction. The model is loaded and the prompt encoded once
/// for all pictures.
fn ratios(predicted: &TimePrediction, timings: &Timings, pictures: usize) -> Vec<PhaseRatio> {
    let pictures = pictures.max(1) as f64;
    let phases = [
        (PhaseKind::Loading, predicted.load_secs, timings.load_secs),
        (PhaseKind::Encoding, predicted.encode_secs, timings.encode_secs),
        (PhaseKind::Denoising, predicted.denoise_secs, timings.denoise_secs / pictures),
        (PhaseKind::Decoding, predicted.decode_secs, timings.decode_secs / pictures),
    ];
    let ratio = |(phase, predicted_secs, measured_secs)| {
        let on_devices = predicted.phases.iter().filter(|it| it.phase == phase);
        let most = on_devices.max_by(|a, b| a.secs.total_cmp(&b.secs))?;
        Some(PhaseRatio { device: most.device.clone(), phase, predicted_secs, measured_secs })
    };
    phases.into_iter().filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::placement::Module;
    use atelier_core::time::PhaseTime;

    #[test]
    fn a_picture_counts_as_if_its_prompt_was_new() {
        let predicted = TimePrediction { encode_secs: 2.0, ..TimePrediction::default() };
        let timings = |encode_secs| Timings { encode_secs, denoise_secs: 6.0, decode_secs: 2.0, load_secs: 9.0, total_secs: 17.0 };
        assert_eq!(loaded_secs(Some(&predicted), &timings(1.0), 2), 5.0);
        assert_eq!(loaded_secs(Some(&predicted), &timings(0.0), 2), 6.0);
        assert_eq!(loaded_secs(None, &timings(0.0), 1), 8.0);
    }

    #[test]
    fn a_phase_is_that_of_the_device_with_most_of_it_and_of_one_picture() {
        let phase =
            |phase, device: &str, secs| PhaseTime { module: Module::Diffusion, phase, device: device.into(), secs, each_picture: true };
        let predicted = TimePrediction {
            phases: vec![
                phase(PhaseKind::Denoising, "CPU", 1.0),
                phase(PhaseKind::Denoising, "GPU0", 3.0),
                phase(PhaseKind::Loading, "CPU", 2.0),
            ],
            denoise_secs: 4.0,
            load_secs: 2.5,
            ..TimePrediction::default()
        };
        let timings = Timings { load_secs: 5.0, encode_secs: 1.0, denoise_secs: 20.0, ..Timings::default() };
        let found = ratios(&predicted, &timings, 2);
        let of = |n: usize| (found[n].device.as_str(), found[n].phase, found[n].predicted_secs, found[n].measured_secs);
        assert_eq!(found.len(), 2, "what was not predicted is not corrected");
        assert_eq!(of(0), ("CPU", PhaseKind::Loading, 2.5, 5.0));
        assert_eq!(of(1), ("GPU0", PhaseKind::Denoising, 4.0, 10.0));
    }
}
