//! Generating the pictures of a plan with one context.

use std::path::Path;
use std::sync::Arc;

use super::alternative_files::other_files;
use super::area::{AreaInput, AreaJob, composite_masked};
use super::checks::{can_be_tiled, is_larger_than_a_tile, lora_key};
use super::error::JobError;
use super::int8::has_int8_products;
use super::monitor::{JobMonitor, PicturePart};
use super::plan::{GenerationPlan, HiresPlan};
use super::shard::BatchShard;
use super::upscale::{UpscalerUse, run_upscaler};
use crate::cache::Lease;
use crate::ffi::{self, AreaParams, CallError, GenerateParams, JobCallbacks, LoraUse, SecondPass, Status, StepRecords, StepsParams};
use crate::protocol::{Event, Failure, JobId, OutOfMemory, PhaseKind, Picture, PreviewOptions};
use crate::state::EngineState;
use crate::stores::faults::{FaultySetting, remedies};
use crate::stores::steps::{MAX_BYTES_OF_PICTURE, StepsInput, StepsKey};
use atelier_core::canvas::{Mask, StartFit, crop_picture, paste_area, plan_tile, with_low_frequencies};
use atelier_core::format::file_size;
use atelier_core::picture_note::PictureNote;
use atelier_core::placement::Change;
use atelier_core::recipe::{Hires, LoraMode, PictureInfo, Recipe, Rgb8, Seed, Upscale};
use atelier_language::tr;
use atelier_library::{file_name, left_out_note};
use atelier_media::{PictureError, fit_image, keep_upscaled, own_colours};

/// Cells across a tile in which it has the colours of the picture that it is made from: what is
/// larger than one of them is shared by all.
const CELLS_OF_A_TILE: u32 = 8;

/// Pictures of a job, and notes on them.
#[derive(Default)]
pub(super) struct JobOutput {
    pub(super) pictures: Vec<PictureInfo>,
    pub(super) notes: Vec<String>,
}

impl JobOutput {
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
    /// Steps that are kept of a picture that began in the same way are not computed again.
    pub(super) shares_steps: bool,
    pub(super) monitor: &'a JobMonitor,
    /// The monitor's, or those that decorate it.
    pub(super) callbacks: &'a dyn JobCallbacks,
}

/// A leased context, and what was learned of its device.
struct Session<'a> {
    /// `None` after it was discarded.
    leased: Option<Lease<'a>>,
    /// A device that had no room to decode the whole picture has none for the next one either.
    vae_tiling: bool,
    tiling_note: Option<PictureNote>,
}

/// Input of one call of the context.
#[derive(Clone, Copy)]
struct ImageInput<'a> {
    /// It has the image's seed.
    recipe: &'a Recipe,
    /// Pixels.
    size: (u32, u32),
    init: Option<&'a Rgb8>,
    mask: Option<&'a Mask>,
    control: Option<&'a Rgb8>,
    area: Option<AreaParams<'a>>,
    second: Option<SecondPass<'a>>,
}

/// Steps of earlier images with which an image begins, each with their number.
#[derive(Default)]
struct FirstSteps {
    /// Those whose last estimate gets this image's noise.
    restart: Option<(Arc<StepRecords>, u32)>,
    /// Those that it has in common, after the restart.
    replay: Option<(Arc<StepRecords>, u32)>,
}

impl FirstSteps {
    fn params(&self, stop_after: Option<u32>, max_bytes: u64) -> StepsParams<'_> {
        fn borrowed(steps: Option<&(Arc<StepRecords>, u32)>) -> Option<(&StepRecords, u32)> {
            steps.map(|(records, steps)| (&**records, *steps))
        }
        let (replay, restart) = (borrowed(self.replay.as_ref()), borrowed(self.restart.as_ref()));
        StepsParams { replay, restart, stop_after, shows_last_step: false, max_bytes }
    }
}

/// An image of the context, and signs that numbers overflowed in it.
struct Image {
    pixels: Rgb8,
    is_flat: bool,
    has_missing_numbers: bool,
}

impl<'a> Generator<'a> {
    /// Generates until `take` returns `None`; calls `done` after each picture.
    pub(super) fn run(&self, take: &mut dyn FnMut() -> Option<u32>, done: &mut dyn FnMut(PictureInfo)) -> Result<(), JobError> {
        let Self { job, plan, shard, monitor, callbacks, .. } = *self;
        let leased = self.lease()?;
        monitor.set_others(leased.others());
        let left_out = left_out_note(plan.family, leased.context().unused_tensors()).map(PictureNote::changed);
        let in_int8 = || has_int8_products(self.engine, plan, shard, monitor.cancel());
        let (cpu_math, other_math) = shard.cpu_math(leased.context(), in_int8);
        let other_math = other_math.map(PictureNote::changed);
        let mut session = Session { leased: Some(leased), vae_tiling: plan.vae_tiling, tiling_note: None };
        while let Some(index) = take() {
            let Some(seed) = plan.begin.seeds.get(index as usize) else { break };
            if callbacks.cancelled() {
                return Err(JobError::Cancelled);
            }
            monitor.set_picture(index);
            let Image { pixels, is_flat, has_missing_numbers } = match (&plan.area, &plan.hires) {
                (Some(area), _) => self.parts(&mut session, area, *seed)?,
                (None, Some(hires)) => {
                    let image = self.hires_image(&mut session, hires, *seed)?;
                    match plan.init.as_ref().filter(|_| hires.upscales_init) {
                        Some(init) => Image { pixels: keep_upscaled(init, image.pixels), ..image },
                        None => image,
                    }
                }
                (None, None) => {
                    let image = self.whole(&mut session, *seed)?;
                    match (&plan.init, &plan.mask) {
                        (Some(start), Some(mask)) => {
                            Image { pixels: composite_masked(start, &image.pixels, mask).map_err(Failure::from)?, ..image }
                        }
                        _ => image,
                    }
                }
            };
            let loras = ffi::last_loras();
            let mut notes = plan.notes.clone();
            notes.extend(left_out.clone().into_iter().chain(other_math.clone()));
            notes.extend(session.tiling_note.clone());
            notes.extend(loras.iter().filter_map(lora_note));
            let pixels = self.finished(&mut session, pixels, &mut notes)?;
            self.judge_faults(is_flat || has_missing_numbers);
            if is_flat {
                notes.push(self.overflow_note(tr!("engine-this-picture-has-only")));
            } else if has_missing_numbers {
                notes.push(self.overflow_note(tr!("engine-parts-of-this-picture")));
            }
            let info = PictureInfo { index, seed: Some(*seed), cpu_math, merged_loras: plan.recipe.lora_mode == LoraMode::Immediately };
            monitor.send(Event::Picture { job, picture: Picture { info, notes, image: Arc::new(pixels) } });
            done(info);
            if let Some(lora) = loras.iter().find(|lora| lora.applied == 0) {
                return Err(JobError::new(
                    tr!("engine-the-lora-does-not", path = file_name(Path::new(&lora.path))),
                    tr!("engine-remove-the-lora-or"),
                ));
            }
        }
        if callbacks.cancelled() { Err(JobError::Cancelled) } else { Ok(()) }
    }

    /// A picture, or the start picture, upscaled, and its details generated anew.
    fn hires_image(&self, session: &mut Session<'a>, hires: &HiresPlan, seed: Seed) -> Result<Image, JobError> {
        let HiresPlan { size, settings, upscales_init, tiles } = hires;
        let GenerationPlan { init, mask, control, .. } = self.plan;
        if let Some(upscaler) = settings.latent_upscaler() {
            self.monitor.set_part(PicturePart { index: 0, count: 2, place: None });
            let recipe = self.recipe_of(seed);
            let first = (recipe.width, recipe.height);
            let second = Some(SecondPass { upscaler, size: *size, settings });
            let (init, mask, control) = (init.as_ref(), mask.as_ref(), control.as_ref());
            return self.image_of_steps(session, &ImageInput { recipe: &recipe, size: first, init, mask, control, area: None, second });
        }
        let redraws = settings.strength > 0.0;
        let passes = if redraws { tiles.len().max(1) as u32 } else { 0 };
        let count = u32::from(!upscales_init) + passes;
        let first = if let Some(init) = init.as_ref().filter(|_| *upscales_init) {
            Image { pixels: own_colours(init), is_flat: false, has_missing_numbers: false }
        } else {
            self.monitor.set_part(PicturePart { index: 0, count, place: None });
            self.whole(session, seed)?
        };
        let large = self.upscaled(session, &first.pixels, hires)?;
        if !redraws || first.is_flat {
            return Ok(Image { pixels: large, ..first });
        }
        if !tiles.is_empty() {
            let second = self.tiled(session, hires, &large, seed)?;
            return Ok(Image { has_missing_numbers: first.has_missing_numbers || second.has_missing_numbers, ..second });
        }
        self.monitor.set_part(PicturePart { index: count - 1, count, place: None });
        let resize = |image: &Rgb8| fit_image(image, size.0, size.1, StartFit::Stretch);
        let control = control
            .as_ref()
            .map(resize)
            .transpose()
            .map_err(|error| JobError::new(error.to_string(), tr!("engine-choose-another-picture")))?;
        let area = Some(AreaParams { strength: settings.strength, soft_mask: None });
        let recipe = self.second_recipe(seed, settings);
        let input =
            ImageInput { recipe: &recipe, size: *size, init: Some(&large), mask: None, control: control.as_ref(), area, second: None };
        // Of two passes, the first one has the steps that branches begin with.
        let second = if *upscales_init { self.image_of_steps(session, &input)? } else { self.image(session, &input)? };
        Ok(Image { has_missing_numbers: first.has_missing_numbers || second.has_missing_numbers, ..second })
    }

    /// An upscaled image with its details generated anew, tile by tile. Tiles that were made before
    /// this job was interrupted are not made again.
    fn tiled(&self, session: &mut Session<'a>, hires: &HiresPlan, large: &Rgb8, seed: Seed) -> Result<Image, JobError> {
        let HiresPlan { size, settings, upscales_init, tiles } = hires;
        let unusable = |error: PictureError| JobError::new(error.to_string(), tr!("engine-choose-another-picture"));
        let resize = |image: &Rgb8| fit_image(image, size.0, size.1, StartFit::Stretch);
        let control = self.plan.control.as_ref().map(resize).transpose().map_err(unusable)?;
        let first = u32::from(!upscales_init);
        let count = first + tiles.len() as u32;
        let words = settings.tiles.as_ref().map(|tiles| tiles.words.clone()).unwrap_or_default();
        let mut all = Image { pixels: large.clone(), is_flat: false, has_missing_numbers: false };
        let mut keys = Vec::new();
        for (index, rect) in (0..).zip(tiles) {
            if self.callbacks.cancelled() {
                return Err(JobError::Cancelled);
            }
            let plan = plan_tile(tiles, index as usize).ok_or_else(|| unusable(PictureError::Empty))?;
            let cut = |image: &Rgb8| crop_picture(image, rect).ok_or_else(|| unusable(PictureError::Empty));
            self.monitor.set_part(PicturePart { index: first + index, count, place: Some(*rect) });
            let (init, control) = (cut(&all.pixels)?, control.as_ref().map(cut).transpose()?);
            let mut mask = plan.denoise.clone();
            mask.pixels_mut().iter_mut().filter(|value| **value > 0).for_each(|value| *value = 255);
            // Neighbours of the same noise would look alike.
            let own = self.second_recipe(seed.after(u64::from(index)), settings);
            let recipe = Recipe { prompt: words.clone(), earlier_steps: Vec::new(), last_step: None, ..own };
            let area = Some(AreaParams { strength: settings.strength, soft_mask: Some(&plan.denoise) });
            let (size, init, mask, control) = (plan.work, Some(&init), Some(&mask), control.as_ref());
            let input = ImageInput { recipe: &recipe, size, init, mask, control, area, second: None };
            let key = self.steps_key(&input);
            let tile = if let Some(tile) = self.engine.tiles.get(&key) {
                tile
            } else {
                let image = self.image(session, &input)?;
                all.is_flat |= image.is_flat;
                all.has_missing_numbers |= image.has_missing_numbers;
                self.engine.tiles.insert(&key, &image.pixels);
                image.pixels
            };
            keys.push(key);
            let cell = (rect.width / CELLS_OF_A_TILE).max(1);
            let tile = with_low_frequencies(&tile, &cut(large)?, cell).ok_or_else(|| unusable(PictureError::Empty))?;
            all.pixels = paste_area(&all.pixels, &tile, &plan, false).ok_or_else(|| unusable(PictureError::Empty))?;
        }
        self.engine.tiles.remove(&keys);
        Ok(all)
    }

    /// An image upscaled by a model's own factor.
    fn upscaled_by(&self, session: &mut Session<'a>, image: &Rgb8, model: &Path, tile_size: Option<u32>) -> Result<Rgb8, JobError> {
        let GenerationPlan { recipe, placement, devices, .. } = self.plan;
        let upscaler = UpscalerUse { model, tile_size, threads: recipe.threads, placement, devices };
        // The model's memory may be what the upscaler lacks.
        let upscaled = run_upscaler(self.engine, image, &upscaler, self.monitor).or_else(|error| {
            let has_given_up = error.out_of_memory.is_some() && session.leased.take().is_some();
            if has_given_up { run_upscaler(self.engine, image, &upscaler, self.monitor) } else { Err(error) }
        });
        upscaled.map_err(|error| self.job_error(&error))
    }

    /// A finished picture upscaled as often as the recipe says, or until it is large.
    fn finished(&self, session: &mut Session<'a>, picture: Rgb8, notes: &mut Vec<PictureNote>) -> Result<Rgb8, JobError> {
        let Some(upscale) = &self.plan.recipe.upscale else { return Ok(picture) };
        let mut large = picture;
        for time in 1..=upscale.repeats {
            let before = large.width().max(large.height());
            large = self.upscaled_by(session, &large, &upscale.model, upscale.tile_size)?;
            if time < upscale.repeats && !Upscale::has_room(before, large.width().max(large.height())) {
                let sentence = tr!("engine-upscaled-of-times-it", time, repeats = upscale.repeats, value = Upscale::MAX_SIDE);
                notes.push(PictureNote::changed(sentence));
                break;
            }
        }
        Ok(large)
    }

    /// An image upscaled to the size of the second pass.
    fn upscaled(&self, session: &mut Session<'a>, image: &Rgb8, hires: &HiresPlan) -> Result<Rgb8, JobError> {
        let HiresPlan { size, settings, .. } = hires;
        let large = match &settings.upscaler {
            None => image.clone(),
            Some(model) => self.upscaled_by(session, image, model, settings.tile_size)?,
        };
        let resized = fit_image(&large, size.0, size.1, StartFit::Stretch);
        resized.map_err(|error| JobError::new(error.to_string(), tr!("engine-choose-another-picture")))
    }

    /// The recipe of one picture of the job.
    fn recipe_of(&self, seed: Seed) -> Recipe {
        Recipe { seed: Some(seed), ..self.plan.recipe.clone() }
    }

    /// The recipe of a picture's second pass. The sigmas of the first are not its own.
    fn second_recipe(&self, seed: Seed, settings: &Hires) -> Recipe {
        let recipe = self.recipe_of(seed);
        Recipe { steps: settings.own_steps().unwrap_or(recipe.steps), sigmas: settings.sigmas.clone(), ..recipe }
    }

    /// A picture of the recipe's own size.
    fn whole(&self, session: &mut Session<'a>, seed: Seed) -> Result<Image, JobError> {
        let GenerationPlan { init, mask, control, .. } = self.plan;
        let recipe = self.recipe_of(seed);
        let size = (recipe.width, recipe.height);
        let (init, mask, control) = (init.as_ref(), mask.as_ref(), control.as_ref());
        let input = ImageInput { recipe: &recipe, size, init, mask, control, area: None, second: None };
        self.image_of_steps(session, &input)
    }

    /// An image that may begin with steps of an earlier one, or be a draft. Its steps are kept for
    /// branches of it.
    fn image_of_steps(&self, session: &mut Session<'a>, input: &ImageInput<'_>) -> Result<Image, JobError> {
        let mut first = self.first_steps(session, input)?;
        // A step cache goes by the steps before; a draft shows the estimate that it computes.
        let Recipe { earlier_steps, step_cache, last_step, .. } = input.recipe;
        if self.shares_steps && earlier_steps.is_empty() && step_cache.is_none() && last_step.is_none() {
            first.replay = self.engine.cache.steps().get_same(&self.steps_key(input), &self.shard.computes_by());
        }
        let steps = StepsParams { shows_last_step: true, ..first.params(input.recipe.last_step, MAX_BYTES_OF_PICTURE) };
        let (image, records) = self.call(session, input, &steps)?;
        self.engine.cache.steps().insert(self.steps_key(input), self.shard.computes_by(), &Arc::new(records));
        image.ok_or_else(|| JobError::new(tr!("engine-the-engine-generated-no"), tr!("engine-generate-again")))
    }

    /// The steps with which a branch begins.
    fn first_steps(&self, session: &mut Session<'a>, input: &ImageInput<'_>) -> Result<FirstSteps, JobError> {
        let (Some(parent), Some(last)) = (input.recipe.parent(), input.recipe.earlier_steps.last()) else {
            return Ok(FirstSteps::default());
        };
        let parent = ImageInput { recipe: &parent, ..*input };
        let records = Some((self.records(session, &parent, last.until_step)?, last.until_step));
        if input.recipe.has_new_noise() {
            return Ok(FirstSteps { restart: records, replay: None });
        }
        Ok(FirstSteps { restart: self.restart(session, &parent)?, replay: records })
    }

    /// The steps that end where the last noise of an image begins; `None` where that is the start
    /// noise.
    fn restart(&self, session: &mut Session<'a>, input: &ImageInput<'_>) -> Result<Option<(Arc<StepRecords>, u32)>, JobError> {
        let (Some(parent), Some(last)) = (input.recipe.parent(), input.recipe.earlier_steps.last()) else { return Ok(None) };
        let parent = ImageInput { recipe: &parent, ..*input };
        if input.recipe.has_new_noise() {
            return Ok(Some((self.records(session, &parent, last.until_step)?, last.until_step)));
        }
        self.restart(session, &parent)
    }

    /// The first steps of an image until this one: kept, or computed now without decoding.
    fn records(&self, session: &mut Session<'a>, input: &ImageInput<'_>, until: u32) -> Result<Arc<StepRecords>, JobError> {
        let key = self.steps_key(input);
        if let Some(records) = self.engine.cache.steps().get(&key, until) {
            return Ok(records);
        }
        let mut first = self.first_steps(session, input)?;
        // Where fewer steps are kept than are wanted, only the others are computed.
        if first.restart.is_none()
            && let Some((kept, steps)) = self.engine.cache.steps().get_same(&key, &self.shard.computes_by())
            && first.replay.as_ref().is_none_or(|(_, own)| *own < steps)
        {
            first.replay = Some((kept, steps));
        }
        // However large: without them there is no branch.
        let steps = first.params(Some(until), u64::MAX);
        let (_, records) = self.call(session, input, &steps)?;
        let records = Arc::new(records);
        self.engine.cache.steps().insert(key, self.shard.computes_by(), &records);
        Ok(records)
    }

    fn steps_key(&self, input: &ImageInput<'_>) -> StepsKey {
        // Of a second pass no steps are kept.
        let ImageInput { recipe, size, init, mask, control, area, second: _ } = *input;
        StepsKey::new(
            recipe,
            &StepsInput { size, init, mask, area, references: &self.plan.references, control, person: self.plan.person_of(recipe) },
        )
    }

    /// The start picture with its parts generated, one after the other.
    fn parts(&self, session: &mut Session<'a>, area: &AreaJob, seed: Seed) -> Result<Image, JobError> {
        let mut all = Image { pixels: area.picture.clone(), is_flat: false, has_missing_numbers: false };
        let count = area.plans.len() as u32;
        for (index, plan) in (0..).zip(&area.plans) {
            if self.callbacks.cancelled() {
                return Err(JobError::Cancelled);
            }
            self.monitor.set_part(PicturePart { index, count, place: Some(area.place(plan)) });
            // Neighbours of the same noise would look alike.
            let seed = seed.after(u64::from(index));
            let mut recipe = self.recipe_of(seed);
            recipe.move_earlier_seeds(u64::from(index));
            let AreaInput { init, mask, soft_mask, control } =
                area.input(plan, &all.pixels, self.plan.control.as_ref(), seed).map_err(Failure::from)?;
            let params = AreaParams { strength: area.strength, soft_mask: Some(&soft_mask) };
            let input = ImageInput {
                recipe: &recipe,
                size: plan.work,
                init: Some(&init),
                mask: Some(&mask),
                control: control.as_ref(),
                area: Some(params),
                second: None,
            };
            let image = self.image_of_steps(session, &input)?;
            all.pixels = area.paste(plan, &all.pixels, &image.pixels).map_err(Failure::from)?;
            all.is_flat |= image.is_flat;
            all.has_missing_numbers |= image.has_missing_numbers;
        }
        Ok(Image { pixels: area.with_own_colours(all.pixels), ..all })
    }

    /// An image of the context.
    fn image(&self, session: &mut Session<'a>, input: &ImageInput<'_>) -> Result<Image, JobError> {
        let first = FirstSteps::default();
        let (image, _) = self.call(session, input, &first.params(None, 0))?;
        image.ok_or_else(|| JobError::new(tr!("engine-the-engine-generated-no"), tr!("engine-generate-again")))
    }

    /// An image of the context, where it does not stop early, and the steps that it keeps. Where
    /// its device has too little memory, other models leave it and the image is tried once more,
    /// then in tiles.
    fn call(
        &self,
        session: &mut Session<'a>,
        input: &ImageInput<'_>,
        steps: &StepsParams<'_>,
    ) -> Result<(Option<Image>, StepRecords), JobError> {
        let Self { plan, preview, monitor, callbacks, .. } = *self;
        let lora_key = lora_key(&input.recipe.loras);
        let latent_pixels = plan.family.latent_pixels();
        loop {
            let leased = session.leased.take().map_or_else(|| self.lease(), Ok)?;
            let params = GenerateParams {
                recipe: input.recipe,
                width: input.size.0,
                height: input.size.1,
                // The recipe of an image has the image's own.
                seed: input.recipe.seed.unwrap_or_default(),
                vae_tiling: session.vae_tiling && can_be_tiled_whole(input, latent_pixels),
                init: input.init,
                mask: input.mask,
                references: &plan.references,
                control: input.control,
                person: plan.person_of(input.recipe),
                area: input.area,
                second: input.second,
                lora_key: &lora_key,
                adapters: &plan.adapters,
                embeddings: &plan.embeddings,
            };
            let result = leased.context().generate_with_steps(&params, steps, preview, callbacks);
            monitor.add_peaks(ffi::last_peaks());
            monitor.add_copies(&ffi::last_copies());
            let error = match result {
                Ok((pixels, records)) => {
                    monitor.add_evaluations(records.computed());
                    session.leased = Some(leased);
                    let has_missing_numbers = ffi::last_missing_numbers() > 0;
                    let image = pixels.map(|pixels| Image { is_flat: is_flat(&pixels), pixels, has_missing_numbers });
                    return Ok((image, records));
                }
                // A context whose run was cancelled is whole.
                Err(error) if error.status == Status::Cancelled => return Err(self.job_error(&error)),
                Err(error) => error,
            };
            // The prediction was wrong. Other models leave the device, which happens once at most:
            // then there are none.
            if callbacks.cancelled() {
                leased.discard_later();
                return Err(self.job_error(&error));
            }
            let Some(missing) = &error.out_of_memory else {
                leased.discard();
                return Err(self.job_error(&error));
            };
            let has_room = leased.discard_for_room(&missing.device);
            if callbacks.cancelled() {
                return Err(self.job_error(&error));
            }
            if !has_room {
                // No room, or a tensor larger than any buffer of the device.
                let shortage = error.out_of_memory.as_ref().filter(|missing| missing.phase == PhaseKind::Decoding);
                let Some(shortage) = shortage.filter(|_| !session.vae_tiling && can_be_tiled_whole(input, latent_pixels)) else {
                    return Err(self.job_error(&error));
                };
                session.vae_tiling = true;
                session.tiling_note = Some(tiles_after(shortage));
            }
        }
    }

    fn lease(&self) -> Result<Lease<'a>, JobError> {
        let Self { engine, job, shard, monitor, callbacks, .. } = *self;
        let waits = |behind: &[String]| monitor.send(Event::Waiting { job, behind: behind.to_vec() });
        engine.cache.lease(&shard.lease_request(), callbacks, &waits).map_err(|error| self.job_error(&error))
    }

    fn job_error(&self, error: &CallError) -> JobError {
        JobError::of_call(error, self.callbacks.cancelled(), self.monitor.log_lines())
    }
}

/// True where both passes of an image are larger than a tile: the engine has one setting for them.
fn can_be_tiled_whole(input: &ImageInput<'_>, latent_pixels: u32) -> bool {
    let is_larger = |size| is_larger_than_a_tile(input.recipe, size, latent_pixels);
    input.second.is_none_or(|second| is_larger(second.size)) && is_larger(input.size)
}

impl Generator<'_> {
    /// A setting that was under suspicion, and that this picture was made without, is guilty where
    /// there is a picture, and innocent where there is none either.
    fn judge_faults(&self, is_broken: bool) {
        let Self { engine, plan, shard, .. } = *self;
        engine.history.judge_faults(&plan.recipe, plan.family, &shard.placement, &plan.devices, is_broken);
    }

    /// The note on a picture that shows an overflow. The next one is made without the setting that
    /// may have caused it.
    fn overflow_note(&self, what: &str) -> PictureNote {
        let Self { engine, plan, shard, .. } = *self;
        let recipe = &plan.recipe;
        let suspect = FaultySetting::of(recipe, plan.family);
        let suspect = suspect.filter(|setting| engine.history.suspect(*setting, recipe, &shard.placement, &plan.devices));
        let other_files = engine.with_headers(|headers| other_files(headers, recipe));
        let in_tiles = plan.vae_tiling || !can_be_tiled(recipe, plan.family.latent_pixels());
        let remedies = remedies(recipe, plan.family, in_tiles, other_files);
        let mut sentence = tr!("engine-numbers-overflowed-during-generation", what);
        match suspect {
            Some(FaultySetting::FlashAttention) => {
                sentence.push_str(tr!("engine-the-next-picture-of-this-model"));
            }
            Some(FaultySetting::VaeRange) => {
                sentence.push_str(tr!("engine-the-next-picture-of"));
            }
            None => {}
        }
        if !recipe.loras.is_empty() {
            sentence.push_str(tr!("engine-a-lora-may-be"));
        } else if remedies.is_empty() {
            sentence.push_str(tr!("engine-another-quantisation-of-the"));
        }
        PictureNote::wrong(sentence, remedies)
    }
}

/// The note on a picture whose decoding had too little memory as a whole.
pub(super) fn decoded_in_tiles(device: &str) -> PictureNote {
    let sentence = tr!("engine-decoded-in-tiles-vae-tiling-has", device);
    PictureNote::of_change(Change::VaeTiling, sentence)
}

/// The note on a picture that was decoded in tiles after this allocation was refused.
fn tiles_after(shortage: &OutOfMemory) -> PictureNote {
    let OutOfMemory { device, bytes_wanted, .. } = shortage;
    if !shortage.is_allocation_limit() {
        return decoded_in_tiles(device);
    }
    let wanted = file_size(*bytes_wanted);
    let sentence = tr!("engine-decoded-in-tiles-vae", device, wanted);
    PictureNote::of_change(Change::VaeTiling, sentence)
}

/// The note on a LoRA that was not wholly used.
fn lora_note(lora: &LoraUse) -> Option<PictureNote> {
    let name = file_name(Path::new(&lora.path));
    let without = vec![Change::WithoutLora { name: name.clone() }];
    match (lora.applied, lora.total) {
        (0, _) => Some(PictureNote::wrong(tr!("engine-the-lora-was-not", name), without)),
        (applied, total) if applied < total => Some(PictureNote::wrong(tr!("engine-only-of-parts-of", applied, total, name), without)),
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
