//! Generating the pictures of a plan with one context.

use std::path::Path;
use std::sync::Arc;

use super::error::JobError;
use super::monitor::JobMonitor;
use super::plan::GenerationPlan;
use super::shard::BatchShard;
use crate::checks::lora_key;
use crate::ffi::{self, GenerateParams, JobCallbacks, Status};
use crate::protocol::{Event, JobId, Picture, PreviewOptions};
use crate::state::EngineState;
use atelier_core::recipe::{PictureInfo, Rgb8};

/// Pictures of a job, and notes on them.
#[derive(Default)]
pub(super) struct JobOutput {
    pub(super) pictures: Vec<PictureInfo>,
    pub(super) notes: Vec<String>,
}

impl JobOutput {
    /// Adds a picture, with its note if there is one.
    pub(super) fn add(&mut self, info: PictureInfo, note: Option<String>) {
        self.pictures.push(info);
        self.notes.extend(note);
    }
}

/// Generates pictures of a job with the context of one shard.
#[derive(Clone, Copy)]
pub(super) struct Generator<'a> {
    pub(super) engine: &'a EngineState,
    pub(super) job: JobId,
    pub(super) plan: &'a GenerationPlan,
    pub(super) preview: PreviewOptions,
    pub(super) shard: &'a BatchShard,
    pub(super) monitor: &'a JobMonitor,
    /// The monitor's, or those that decorate it.
    pub(super) callbacks: &'a dyn JobCallbacks,
}

impl Generator<'_> {
    /// Generates until `take` returns `None`; calls `done` after each picture, with its note if there is one.
    pub(super) fn run(
        &self,
        take: &mut dyn FnMut() -> Option<u32>,
        done: &mut dyn FnMut(PictureInfo, Option<String>),
    ) -> Result<(), JobError> {
        let Self { engine, job, plan, preview, shard, monitor, callbacks } = *self;
        let job_error = |error: &_| JobError::of_call(error, callbacks.cancelled(), monitor.log_lines());
        let lora_key = lora_key(&plan.recipe.loras);
        let waits = |behind: &[String]| monitor.send(Event::Waiting { job, behind: behind.to_vec() });
        let lease = || engine.cache.lease(&shard.lease_request(), callbacks, &waits).map_err(|error| job_error(&error));
        let mut leased = lease()?;
        monitor.set_others(leased.others());
        while let Some(index) = take() {
            let Some(seed) = plan.begin.seeds.get(index as usize) else { break };
            if callbacks.cancelled() {
                return Err(JobError::Cancelled);
            }
            monitor.set_picture(index);
            let params = GenerateParams {
                recipe: &plan.recipe,
                width: plan.begin.width,
                height: plan.begin.height,
                seed: *seed,
                vae_tiling: plan.vae_tiling,
                init: plan.init.as_ref(),
                mask: plan.mask.as_ref(),
                references: &plan.references,
                control: plan.control.as_ref(),
                lora_key: &lora_key,
            };
            let image = loop {
                let result = leased.context().generate(&params, preview, callbacks);
                monitor.add_peaks(ffi::last_peaks());
                match result {
                    Ok(image) => break image,
                    // A context whose run was cancelled is whole.
                    Err(error) if error.status == Status::Cancelled => return Err(job_error(&error)),
                    Err(error) => {
                        // The prediction was wrong. Other models leave the device, which happens once at most: then there are none.
                        if callbacks.cancelled() {
                            leased.discard_later();
                            return Err(job_error(&error));
                        }
                        let Some(missing) = &error.out_of_memory else {
                            leased.discard();
                            return Err(job_error(&error));
                        };
                        if !leased.discard_for_room(&missing.device) || callbacks.cancelled() {
                            return Err(job_error(&error));
                        }
                        leased = lease()?;
                    }
                }
            };
            let note = is_flat(&image).then(|| {
                format!(
                    "The picture of seed {seed} has one colour only. Another quantisation of the model, another device, or flash attention off may help."
                )
            });
            let info = PictureInfo { index, seed: *seed, cpu_math: shard.cpu_math() };
            monitor.send(Event::Picture { job, picture: Picture { info, image: Arc::new(image) } });
            done(info, note);
            if let Some(file) = monitor.unused_loras().first() {
                let name = Path::new(file).file_name().map_or_else(|| file.clone(), |name| name.to_string_lossy().into_owned());
                return Err(JobError::new(
                    format!("The LoRA {name} does not fit this model: nothing of it was used."),
                    "Remove it, or choose one that was made for this model.",
                ));
            }
        }
        if callbacks.cancelled() { Err(JobError::Cancelled) } else { Ok(()) }
    }
}

/// A picture of one colour is what overflowing numbers leave behind, never what was asked for.
fn is_flat(image: &Rgb8) -> bool {
    let mut pixels = image.pixels().chunks_exact(3);
    pixels.next().is_some_and(|first| pixels.all(|pixel| pixel == first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_colour_is_flat_and_one_other_pixel_is_not() {
        assert!(is_flat(&Rgb8::new(2, 1, vec![1, 2, 3, 1, 2, 3]).unwrap()));
        assert!(!is_flat(&Rgb8::new(2, 1, vec![1, 2, 3, 1, 2, 4]).unwrap()));
    }
}
