//! One job from its request to its end.
//!
//! `plan` checks a recipe, with what `area`, `checks`, `embeddings` and `person` make of it;
//! estimates ask these too. `shard` names the contexts that it needs, `generate` runs one of them
//! and `batch` several. Invariant: [`run`] returns one `End`, also after a panic.

pub(crate) mod alternative_files;
pub(crate) mod area;
pub(crate) mod automatic;
mod batch;
pub(crate) mod checks;
mod correct;
pub(crate) mod embeddings;
mod error;
mod generate;
mod int8;
mod monitor;
pub(crate) mod person;
mod plan;
mod predict;
mod preload;
mod shard;
mod upscale;
mod usable;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::engine_end::EventSender;
use crate::placement::ResolvedPlacement;
use crate::protocol::{End, Event, Failure, JobId, PreviewOptions, Task};
use crate::state::EngineState;
use atelier_core::placement::PlacementError;
use atelier_core::recipe::{FileRole, Recipe, Seed};
use atelier_language::tr;
use correct::correct_times;
use error::JobError;
use generate::{Generator, JobOutput};
use monitor::JobMonitor;
use plan::{GenerationPlan, prepare};
use predict::predict_shards;
pub(crate) use preload::preload;
use upscale::{UpscaleParams, upscale};

/// Runs a job and returns its end.
pub(crate) fn run(
    engine: &EngineState,
    job: JobId,
    task: &Task,
    placement: Result<ResolvedPlacement, PlacementError>,
    sender: EventSender,
    cancel: Arc<AtomicBool>,
) -> End {
    let monitor = JobMonitor::new(job, sender, cancel);
    let outcome = catch_unwind(AssertUnwindSafe(|| match task {
        Task::Generate { recipe, .. } if recipe.only_upscales() => {
            let mut recipe = recipe.clone();
            let notes = recipe.clamp();
            let (Some(init), Some(hires)) = (&recipe.init, &recipe.hires) else { unreachable!("it upscales its picture") };
            let params = UpscaleParams {
                image: &init.image,
                model: hires.upscaler.as_deref(),
                allow_pickle: hires.allow_pickle,
                threads: recipe.threads,
                scale: Some(hires),
                seed: recipe.seed.unwrap_or_default(),
                notes,
            };
            upscale(engine, job, &params, placement, &monitor)
        }
        Task::Generate { recipe, preview, shares_steps } => generate(engine, job, recipe, placement, (*preview, *shares_steps), &monitor),
        Task::Upscale { image, model, allow_pickle, placement: _, threads } => {
            let (model, allow_pickle, threads) = (Some(model.as_path()), *allow_pickle, *threads);
            let params = UpscaleParams { image, model, allow_pickle, threads, scale: None, seed: Seed::default(), notes: Vec::new() };
            upscale(engine, job, &params, placement, &monitor)
        }
    }));
    let end = if let Ok(end) = outcome {
        end.unwrap_or_else(End::from)
    } else {
        engine.cache.clear();
        let failure = Failure::new(tr!("engine-internal-error-while-generating"), tr!("engine-the-model-was-unloaded-generate-again"));
        End::Failed(Failure { log: monitor.log_lines(), ..failure })
    };
    let peaks = monitor.peaks();
    // Measurements of a batch that is split say nothing of one device.
    if let (Task::Generate { recipe, .. }, End::Done { .. }) = (task, &end)
        && recipe.placement.split_batch.is_empty()
        && !recipe.only_upscales()
        // Of a part, the recipe's size says nothing of the memory.
        && !recipe.changes_part()
    {
        let (devices, overhead) = engine.cache.overhead();
        engine.history.record(recipe, &peaks, &devices, &overhead);
    }
    if !peaks.is_empty() {
        monitor.send(Event::Measured { job, peaks, copies: monitor.copies(), evaluations: monitor.evaluations() });
    }
    end
}

/// Generates the pictures of a recipe.
fn generate(
    engine: &EngineState,
    job: JobId,
    recipe: &Recipe,
    placement: Result<ResolvedPlacement, PlacementError>,
    (preview, shares_steps): (PreviewOptions, bool),
    monitor: &JobMonitor,
) -> Result<End, JobError> {
    let mut plan = prepare(engine, recipe, placement)?;
    predict_shards(engine, recipe, &mut plan, monitor.cancel());
    if let [shard] = &plan.shards[..]
        && let Some(prediction) = &shard.prediction
    {
        monitor.set_prediction(prediction.clone());
    }
    monitor.send(Event::Begin { job, begin: plan.begin.clone() });
    monitor.send(Event::Devices(plan.devices.clone()));
    let JobOutput { pictures, notes } = pictures(engine, job, &plan, (preview, shares_steps), monitor)?;
    let timings = monitor.timings();
    correct_times(engine, recipe, &plan, &timings, monitor.cancel());
    Ok(End::Done { pictures, timings, notes })
}

fn pictures(
    engine: &EngineState,
    job: JobId,
    plan: &GenerationPlan,
    (preview, shares_steps): (PreviewOptions, bool),
    monitor: &JobMonitor,
) -> Result<JobOutput, JobError> {
    let Some(shard) = plan.shards.first() else { unreachable!("there is one context at least") };
    let preview = preview.supported(plan.recipe.files.get(FileRole::Taesd).is_some());
    let generator = Generator { engine, job, plan, preview, shard, shares_steps, monitor, callbacks: monitor };
    if plan.shards.len() > 1 {
        return batch::generate(&generator);
    }
    let (mut output, mut indices) = (JobOutput::default(), 0..u32::try_from(plan.begin.seeds.len()).unwrap_or(u32::MAX));
    generator.run(&mut || indices.next(), &mut |info| output.add(info))?;
    Ok(output)
}
