//! Generating the pictures of a plan with one context.

use std::path::Path;
use std::sync::Arc;

use super::error::JobError;
use super::monitor::JobMonitor;
use super::plan::GenerationPlan;
use super::shard::BatchShard;
use crate::alternative_files::other_files;
use crate::checks::{can_be_tiled, lora_key};
use crate::faults::{FaultySetting, remedies};
use crate::ffi::{self, GenerateParams, JobCallbacks, LoraUse, Status};
use crate::protocol::{Event, JobId, PhaseKind, Picture, PreviewOptions};
use crate::state::EngineState;
use atelier_core::picture_note::PictureNote;
use atelier_core::placement::Change;
use atelier_core::recipe::{PictureInfo, Rgb8};
use atelier_library::file_name;

/// Pictures of a job, and notes on them.
#[derive(Default)]
pub(super) struct JobOutput {
    pub(super) pictures: Vec<PictureInfo>,
    pub(super) notes: Vec<String>,
}

impl JobOutput {
    /// Adds a picture.
    pub(super) fn add(&mut self, info: PictureInfo) {
        self.pictures.push(info);
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
    /// Generates until `take` returns `None`; calls `done` after each picture.
    pub(super) fn run(&self, take: &mut dyn FnMut() -> Option<u32>, done: &mut dyn FnMut(PictureInfo)) -> Result<(), JobError> {
        let Self { engine, job, plan, preview, shard, monitor, callbacks } = *self;
        let job_error = |error: &_| JobError::of_call(error, callbacks.cancelled(), monitor.log_lines());
        let lora_key = lora_key(&plan.recipe.loras);
        let waits = |behind: &[String]| monitor.send(Event::Waiting { job, behind: behind.to_vec() });
        let lease = || engine.cache.lease(&shard.lease_request(), callbacks, &waits).map_err(|error| job_error(&error));
        let mut leased = lease()?;
        monitor.set_others(leased.others());
        // A device that had no room to decode the whole picture has none for the next one either.
        let (mut vae_tiling, mut tiling_note) = (plan.vae_tiling, None);
        while let Some(index) = take() {
            let Some(seed) = plan.begin.seeds.get(index as usize) else { break };
            if callbacks.cancelled() {
                return Err(JobError::Cancelled);
            }
            monitor.set_picture(index);
            let image = loop {
                let params = GenerateParams {
                    recipe: &plan.recipe,
                    width: plan.begin.width,
                    height: plan.begin.height,
                    seed: *seed,
                    vae_tiling,
                    init: plan.init.as_ref(),
                    mask: plan.mask.as_ref(),
                    references: &plan.references,
                    control: plan.control.as_ref(),
                    lora_key: &lora_key,
                };
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
                        let has_room = leased.discard_for_room(&missing.device);
                        if callbacks.cancelled() {
                            return Err(job_error(&error));
                        }
                        if !has_room {
                            // No room, or a tensor larger than any buffer of the device.
                            let shortage = error.out_of_memory.as_ref().filter(|missing| missing.phase == PhaseKind::Decoding);
                            let Some(shortage) = shortage.filter(|_| !vae_tiling && can_be_tiled(&plan.recipe)) else {
                                return Err(job_error(&error));
                            };
                            vae_tiling = true;
                            tiling_note = Some(decoded_in_tiles(&shortage.device));
                        }
                        leased = lease()?;
                    }
                }
            };
            let loras = ffi::last_loras();
            let mut notes = plan.notes.clone();
            notes.extend(tiling_note.clone());
            notes.extend(loras.iter().filter_map(lora_note));
            if is_flat(&image) {
                notes.push(self.overflow_note("This picture has one colour only"));
            } else if ffi::last_missing_numbers() > 0 {
                notes.push(self.overflow_note("Parts of this picture are missing"));
            }
            let info = PictureInfo { index, seed: *seed, cpu_math: shard.cpu_math() };
            monitor.send(Event::Picture { job, picture: Picture { info, notes, image: Arc::new(image) } });
            done(info);
            if let Some(lora) = loras.iter().find(|lora| lora.applied == 0) {
                return Err(JobError::new(
                    format!("The LoRA {} does not fit this model: nothing of it was used.", file_name(Path::new(&lora.path))),
                    "Remove it, or choose one that was made for this model.",
                ));
            }
        }
        if callbacks.cancelled() { Err(JobError::Cancelled) } else { Ok(()) }
    }
}

impl Generator<'_> {
    /// The note on a picture that shows an overflow. The setting that probably caused it is avoided from now on.
    fn overflow_note(&self, what: &str) -> PictureNote {
        let Self { engine, plan, shard, .. } = *self;
        let recipe = &plan.recipe;
        let avoided = FaultySetting::of(recipe, plan.family);
        if let Some(setting) = avoided {
            engine.history.record_fault(setting, recipe, &shard.placement, &plan.devices);
        }
        let other_files = engine.with_headers(|headers| other_files(headers, recipe));
        let in_tiles = plan.vae_tiling || !can_be_tiled(recipe);
        let remedies = remedies(recipe, plan.family, in_tiles, other_files);
        let mut sentence = format!("{what}: numbers overflowed while it was made.");
        if avoided == Some(FaultySetting::FlashAttention) {
            sentence.push_str(" The next one with this model on this device is made without flash attention.");
        }
        if remedies.is_empty() {
            sentence.push_str(" Another quantisation of the model or another device may help.");
        }
        PictureNote::wrong(sentence, remedies)
    }
}

/// The note on a picture whose decoding had too little memory as a whole.
pub(super) fn decoded_in_tiles(device: &str) -> PictureNote {
    PictureNote::changed(format!("Decoded in tiles: {device} has too little memory to decode the whole picture at once."))
}

/// The note on a LoRA that was not wholly used.
fn lora_note(lora: &LoraUse) -> Option<PictureNote> {
    let name = file_name(Path::new(&lora.path));
    let without = vec![Change::WithoutLora { name: name.clone() }];
    match (lora.applied, lora.total) {
        (0, _) => Some(PictureNote::wrong(format!("The LoRA {name} was not used: nothing of it fits this model."), without)),
        (applied, total) if applied < total => {
            Some(PictureNote::wrong(format!("Of the LoRA {name} only {applied} of {total} parts fit this model and were used."), without))
        }
        _ => None,
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
