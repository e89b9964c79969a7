//! A recipe after every check, with its pictures read.
//!
//! Here is checked everything that the engine would answer with an assert.

use std::cell::Cell;

use super::area::{AreaJob, largest_work, start_of};
use super::checks::{check_reference, hires_size, is_tiled, redraw_tiles, snapped, snapped_size, vae_tile};
use super::embeddings::Embeddings;
use super::error::JobError;
use super::person::{check_person, read_person};
use super::shard::{BatchShard, shards};
use super::upscale::{check_upscaler, fewer_bits_note};
use super::usable::{drop_unusable, looks_back};
use crate::cpu_math::leave_out_flash_attention;
use crate::devices;
use crate::placement::ResolvedPlacement;
use crate::preprocess::read_control;
use crate::protocol::{Begin, Failure};
use crate::state::EngineState;
use atelier_core::canvas::{Mask, PixelRect, StartFit};
use atelier_core::device::Device;
use atelier_core::picture_note::PictureNote;
use atelier_core::placement::{Change, Module, ModuleSet, PlacementError};
use atelier_core::recipe::{FineColours, Hires, ImageSource, LoraMode, Recipe, Rgb8, Scheduler, Seed};
use atelier_core::sentences;
use atelier_core::words::{Group, GroupKind, Prompt, SpanKind};
use atelier_language::tr;
use atelier_library::{Adapters, Checked, Family};
use atelier_media::{fit_image, image_size, read_fine_image, read_image, read_mask};

/// Input of a job that generates pictures.
pub(super) struct GenerationPlan {
    /// With files, sizes and numbers as they are used.
    pub(super) recipe: Recipe,
    pub(super) family: Family,
    pub(super) begin: Begin,
    /// Notes that every picture of the job has, those of `begin` among them.
    pub(super) notes: Vec<PictureNote>,
    pub(super) placement: ResolvedPlacement,
    /// Each has a context of its own; more than one where several devices generate the pictures of
    /// a batch.
    pub(super) shards: Vec<BatchShard>,
    /// As they were before this job.
    pub(super) devices: Vec<Device>,
    pub(super) vae_tiling: bool,
    pub(super) init: Option<Rgb8>,
    pub(super) mask: Option<Mask>,
    /// A second pass at a larger size.
    pub(super) hires: Option<HiresPlan>,
    /// The parts that are generated of the start picture, in place of `init` and `mask`.
    pub(super) area: Option<AreaJob>,
    pub(super) references: Vec<Rgb8>,
    pub(super) control: Option<Rgb8>,
    /// Squares with the person.
    pub(super) person: Vec<Rgb8>,
    pub(super) embeddings: Embeddings,
    pub(super) adapters: Adapters,
}

impl GenerationPlan {
    /// Squares with the person, for an image whose words say where the person is: those of a tile
    /// may not.
    pub(super) fn person_of(&self, recipe: &Recipe) -> &[Rgb8] {
        if recipe.check_person_word().is_ok() { &self.person } else { &[] }
    }
}

/// A second pass at a larger size.
pub(super) struct HiresPlan {
    /// Width and height in pixels.
    pub(super) size: (u32, u32),
    pub(super) settings: Hires,
    /// The start picture is what is upscaled: there is no first pass.
    pub(super) upscales_init: bool,
    /// The tiles in which it is made; empty where it is made at once.
    pub(super) tiles: Vec<PixelRect>,
}

/// Checks a recipe and reads its pictures.
pub(super) fn prepare(
    engine: &EngineState,
    recipe: &Recipe,
    placement: Result<ResolvedPlacement, PlacementError>,
) -> Result<GenerationPlan, JobError> {
    let Checked {
        family,
        files,
        size_multiple,
        looks_at_references,
        sees_start_picture,
        reads_control,
        encodes_pictures,
        has_few_bits,
        needs_id_embedding,
        mut adapters,
        notes,
    } = engine.with_headers(|headers| headers.check(&recipe.files, &recipe.loras)).map_err(|problem| Failure::from(problem.advice))?;
    let mut notes: Vec<PictureNote> = notes.into_iter().map(PictureNote::changed).collect();
    for steps in &recipe.earlier_steps {
        let checked = engine.with_headers(|headers| headers.check(&recipe.files, &steps.loras));
        adapters.merge(checked.map_err(|problem| Failure::from(problem.advice))?.adapters);
    }
    for lora in recipe.loras.iter().chain(recipe.earlier_steps.iter().flat_map(|steps| &steps.loras)) {
        engine.with_headers(|headers| engine.adapters.check(headers, &lora.path)).map_err(|problem| Failure::from(problem.advice))?;
    }
    // The engine encodes every control picture.
    let guides = recipe.init.is_some() || recipe.control.is_some() || !recipe.reference_images.is_empty();
    let encodes_upscaled = recipe.hires.as_ref().is_some_and(|hires| hires.latent_upscaler().is_none());
    if !encodes_pictures && (guides || encodes_upscaled) {
        return Err(JobError::new(tr!("engine-this-vae-has-no"), tr!("engine-choose-a-whole-vae")));
    }
    let embeddings =
        engine.with_headers(|headers| Embeddings::read(headers, recipe, family)).map_err(|problem| Failure::from(problem.advice))?;
    let mut recipe = Recipe { files, ..recipe.clone() };
    check_person(&recipe, needs_id_embedding).map_err(Failure::from)?;
    notes.extend(recipe.clamp().into_iter().map(PictureNote::changed));
    notes.extend(drop_foreign_schedule(&mut recipe, family));
    let sees_pictures = sees_start_picture || (looks_at_references && !recipe.reference_images.is_empty());
    notes.extend(drop_unusable(&mut recipe, family, sees_pictures));
    notes.extend(words_notes(&recipe, family).into_iter().map(PictureNote::changed));
    recipe.check_person_word().map_err(Failure::from)?;
    let read =
        |source: &ImageSource| read_image(source).map_err(|error| JobError::new(error.to_string(), tr!("engine-choose-another-picture")));
    // Whichever way reads the start picture.
    let colour_note = Cell::new(None);
    let read_fine = |source: &ImageSource| {
        let read = read_fine_image(source).map_err(|error| JobError::new(error.to_string(), tr!("engine-choose-another-picture")))?;
        colour_note.set(read.fine().and_then(FineColours::colour_note));
        Ok::<_, JobError>(read)
    };
    let area = part_of(&recipe, family, read_fine)?;
    if let Some(work) = area.as_ref().and_then(|area| largest_work(&area.plans)) {
        (recipe.width, recipe.height) = work;
    }
    let has_upscaler = recipe.changes_part() && recipe.upscale.take().is_some();
    if (recipe.changes_part() && recipe.hires.take().is_some()) || has_upscaler {
        notes.push(PictureNote::changed(tr!("engine-the-picture-is-not")));
    }
    if recipe.draft_step().is_none() {
        recipe.last_step = None;
    } else {
        let has_second_pass = !recipe.upscales_init() && recipe.hires.take().is_some();
        if recipe.upscale.take().is_some() || has_second_pass {
            notes.push(PictureNote::changed(tr!("engine-the-draft-is-not")));
        }
    }
    let upscaled = recipe.init.as_ref().filter(|_| recipe.upscales_init()).map(|init| read_fine(&init.image)).transpose()?;
    if let Some(image) = &upscaled {
        notes.extend(fewer_bits_note(image).map(PictureNote::changed));
        (recipe.width, recipe.height) = snapped((image.width(), image.height()), size_multiple);
    }
    notes.extend(drop_latent_upscaler(&mut recipe, sees_start_picture || reads_control).map(PictureNote::changed));
    let vae_tiling = snap_size(&mut recipe, (size_multiple, family.latent_pixels()), &mut notes);
    if recipe.upscales_init() && recipe.hires.as_ref().is_some_and(|hires| hires.tiles.is_some()) {
        // Each tile has steps of its own.
        (recipe.last_step, recipe.earlier_steps) = (None, Vec::new());
    }
    limit_earlier_steps(&mut recipe, &mut notes);
    if recipe.changes_over_steps() {
        spread_over_steps(&mut recipe, &mut notes)?;
    }
    let (width, height) = (recipe.width, recipe.height);
    let hires = recipe.hires.clone().map(|settings| {
        let first = upscaled.as_ref().map_or((width, height), |image| (image.width(), image.height()));
        let size = hires_size(&settings, first, size_multiple);
        let asked = settings.size(first);
        if asked != size {
            let (own, wanted) = (format!("{} x {}", size.0, size.1), format!("{} x {}", asked.0, asked.1));
            let sentence = tr!("engine-the-upscaled-size-is", own, wanted, size_multiple);
            notes.push(PictureNote::changed(sentence));
        }
        let tiles = redraw_tiles(&settings, size, family.model_sizes()).unwrap_or_default();
        HiresPlan { size, settings, upscales_init: upscaled.is_some(), tiles }
    });
    if let Some(HiresPlan { settings: Hires { upscaler: Some(upscaler), allow_pickle, .. }, .. }) = &hires {
        check_upscaler(engine, upscaler, *allow_pickle)?;
    }
    if let Some(upscale) = &recipe.upscale {
        check_upscaler(engine, &upscale.model, upscale.allow_pickle)?;
    }
    // Of a picture that is changed in parts, what comes back has its own size.
    let base = area.as_ref().map_or((width, height), |area| (area.picture.width(), area.picture.height()));

    let fit = |image: &Rgb8, fit: StartFit| {
        fit_image(image, base.0, base.1, fit).map_err(|error| JobError::new(error.to_string(), tr!("engine-choose-another-picture")))
    };
    if recipe.mask.is_some() && recipe.init.is_none() {
        return Err(JobError::new(tr!("engine-a-mask-needs-a"), tr!("engine-choose-an-init-image")));
    }
    if let Some(Ok(own)) = recipe.mask.as_ref().map(image_size) {
        let fit = if area.is_some() { StartFit::Crop } else { recipe.start_fit };
        notes.extend(cut_note("mask", own, base, fit).map(PictureNote::changed));
    }
    let (mut init, mut mask) = (None, None);
    if area.is_none() {
        init = if upscaled.is_some() {
            upscaled
        } else {
            let start = recipe.init.as_ref().map(|init| read_fine(&init.image)).transpose()?;
            let keeps = |start: &Rgb8| recipe.mask.is_some() && hires.is_none() && (start.width(), start.height()) == base;
            let lost = start.as_ref().filter(|start| !keeps(start)).and_then(|start| lost_note(start.fine()?));
            notes.extend(lost.map(PictureNote::changed));
            let redraws_all = |hires: &HiresPlan| hires.settings.strength > 0.0 && hires.settings.latent_upscaler().is_none();
            if recipe.mask.is_some() && hires.as_ref().is_some_and(redraws_all) {
                notes.push(PictureNote::changed(tr!("engine-the-second-pass-generates")));
            }
            let cut = start
                .as_ref()
                .and_then(|start| cut_note(tr!("engine-start-picture"), (start.width(), start.height()), base, recipe.start_fit));
            notes.extend(cut.map(PictureNote::changed));
            start.map(|start| if keeps(&start) { Ok(start) } else { fit(&start, recipe.start_fit) }).transpose()?
        };
        let read = recipe.mask.as_ref().map(|mask| read_mask(mask, width, height, recipe.start_fit)).transpose();
        mask = read.map_err(|error| JobError::new(error.to_string(), tr!("engine-choose-another-mask")))?;
    }
    notes.extend(colour_note.get().map(PictureNote::changed));
    let control = recipe.control.as_ref().map(|control| read_control(control, base)).transpose().map_err(Failure::from)?;
    if control.is_some() && !reads_control && !recipe.has_control_net() {
        return Err(JobError::new(tr!("engine-a-control-picture-needs"), tr!("engine-choose-a-controlnet-file")));
    }
    if !looks_at_references && !recipe.reference_images.is_empty() {
        notes.push(PictureNote::changed(tr!("engine-models-look-at-no", family = family.label())));
        recipe.reference_images.clear();
    }
    let references = recipe.reference_images.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    for reference in &references {
        check_reference((reference.width(), reference.height()), (width, height), family).map_err(Failure::from)?;
    }

    let person = read_person(&recipe, read)?;

    let devices = devices::list();
    let placement = placement?;
    let run_whole = whole_modules(engine, &recipe, family, &placement, &devices);
    notes.extend(placement.notes(&recipe.files, &devices, run_whole).into_iter().map(PictureNote::changed));
    if leave_out_flash_attention(&mut recipe, &placement.placement) {
        let why = tr!("engine-flash-attention-is-off");
        notes.push(PictureNote::of_change(Change::FlashAttentionOff, why));
    }
    notes.extend(engine.history.avoid_faults(&mut recipe, family, &placement.placement, &devices));
    let merges_loras = recipe.merges_loras(has_few_bits);
    if recipe.lora_mode == LoraMode::Immediately && !merges_loras && recipe.has_any_lora() {
        notes.push(PictureNote::changed(tr!("engine-loras-are-applied-at")));
    }
    let stays = || placement.placement.assignment(Module::Diffusion).is_in_place();
    recipe.lora_mode = LoraMode::of(merges_loras && (recipe.lora_mode == LoraMode::Immediately || stays()));
    let mut shards = shards(&recipe, &placement, &devices);

    let first = recipe.seed.unwrap_or_else(|| Seed(u64::from(rand::random::<u32>())));
    let count = recipe.batch_count;
    let seeds = (0..u64::from(count)).map(|n| first.after(n)).collect();
    // The placement's is of the job, and of no picture.
    let sentences = notes.iter().map(|note| note.sentence.clone()).chain(placement.note.clone()).collect();
    let steps = match (&area, &hires) {
        (Some(area), _) => recipe.draft_step().unwrap_or(recipe.steps).saturating_mul(area.plans.len() as u32),
        (None, Some(hires)) => {
            let first = if hires.upscales_init { 0 } else { recipe.steps_to_run() };
            let second = if hires.settings.strength > 0.0 { recipe.draft_step().unwrap_or_else(|| recipe.steps_in_pass(1)) } else { 0 };
            let second = second.saturating_mul(hires.tiles.len().max(1) as u32);
            first.saturating_add(second)
        }
        (None, None) => recipe.draft_step().unwrap_or_else(|| recipe.steps_to_run()),
    };
    let whole = hires.as_ref().map_or(base, |hires| hires.size);
    let begin = Begin { width: whole.0, height: whole.1, steps, seeds, notes: sentences };
    shards.truncate(count as usize);
    Ok(GenerationPlan {
        recipe,
        family,
        begin,
        notes,
        placement,
        shards,
        devices,
        vae_tiling,
        init,
        mask,
        hires,
        area,
        references,
        control,
        person,
        embeddings,
        adapters,
    })
}

/// Modules of a checked recipe that run as a whole although others of their kind have layers: by the
/// files, and by the estimate, which knows the picture's size, where there is one.
fn whole_modules(engine: &EngineState, recipe: &Recipe, family: Family, placement: &ResolvedPlacement, devices: &[Device]) -> ModuleSet {
    if !placement.placement.stream_layers.contains(Module::Vae) {
        return ModuleSet::NONE;
    }
    if !family.streams_vae(&recipe.files) {
        return ModuleSet::VAE;
    }
    let known = engine.with_headers(|headers| engine.estimates.get(headers, recipe, &placement.estimated_as, devices));
    known.map_or(ModuleSet::NONE, |needs| needs.whole())
}

/// What the new picture lacks of a start picture that is generated anew as a whole, in a sentence.
fn lost_note(fine: &FineColours) -> Option<String> {
    let parts = fine.parts();
    (!parts.is_empty()).then(|| tr!("engine-the-new-picture-is", list = sentences::list(&parts)))
}

/// What is cut from a picture that is brought to another shape, in a sentence; `None` where less
/// than a pixel is.
fn cut_note(name: &str, own: (u32, u32), (width, height): (u32, u32), fit: StartFit) -> Option<String> {
    let (own_width, own_height) = (f64::from(own.0), f64::from(own.1));
    let scale = (f64::from(width) / own_width).max(f64::from(height) / own_height);
    let cut = (own_width - f64::from(width) / scale).max(own_height - f64::from(height) / scale);
    let is_cut = fit == StartFit::Crop && cut >= 1.0;
    is_cut.then(|| tr!("engine-the-of-x-is", name, own = own.0, own_2 = own.1, width, height))
}

/// The parts of its start picture that a recipe generates; `None` where it generates the whole
/// picture.
fn part_of(recipe: &Recipe, family: Family, read: impl Fn(&ImageSource) -> Result<Rgb8, JobError>) -> Result<Option<AreaJob>, JobError> {
    if !recipe.changes_part() {
        return Ok(None);
    }
    let start = read(&start_of(recipe).map_err(Failure::from)?.image)?;
    Ok(AreaJob::new(recipe, &start, family.model_sizes()).map_err(Failure::from)?)
}

/// Snaps the size to what the model can make, with a note where that changed it. Returns whether
/// the picture is decoded in tiles.
fn snap_size(recipe: &mut Recipe, (size_multiple, latent_pixels): (u32, u32), notes: &mut Vec<PictureNote>) -> bool {
    let (width, height) = snapped_size(recipe, size_multiple);
    if (width, height) != (recipe.width, recipe.height) {
        let sentence = tr!("engine-the-size-is-now", width, height, size_multiple);
        notes.push(PictureNote::changed(sentence));
    }
    (recipe.width, recipe.height) = (width, height);
    let vae_tiling = is_tiled(recipe, latent_pixels);
    if recipe.vae_tiling && !vae_tiling {
        let side = vae_tile(recipe, latent_pixels);
        notes.push(PictureNote::changed(tr!("engine-vae-tiling-is-off", side)));
    }
    vae_tiling
}

/// Leaves out a noise schedule that was made for other models: the engine has no noise levels for
/// this one.
fn drop_foreign_schedule(recipe: &mut Recipe, family: Family) -> Option<PictureNote> {
    if recipe.scheduler != Some(Scheduler::Ays) || matches!(family, Family::Sd1 | Family::Sdxl | Family::Svd) {
        return None;
    }
    recipe.scheduler = None;
    let (schedule, family) = (Scheduler::Ays.label(), family.label());
    let sentence = tr!("engine-the-noise-schedule-is", family, schedule);
    Some(PictureNote::of_change(Change::OwnSchedule, sentence))
}

/// Has the picture itself upscaled where its latents cannot be. `has_pictures`: the model is given
/// pictures of the first pass's size beside the noise.
fn drop_latent_upscaler(recipe: &mut Recipe, has_pictures: bool) -> Option<String> {
    let is_upscaled_as_it_is = recipe.upscales_init();
    let hires = recipe.hires.as_mut().filter(|_| has_pictures || is_upscaled_as_it_is)?;
    let upscaler = hires.latent_upscaler()?;
    hires.latent = None;
    let reason = if is_upscaled_as_it_is { tr!("engine-a-start-picture-has") } else { tr!("engine-this-model-is-given") };
    Some(tr!("engine-upscaled-by-lanczos-in", upscaler = upscaler.label(), reason))
}

/// What is said of words that have a meaning to other models alone.
fn words_notes(recipe: &Recipe, family: Family) -> Vec<&'static str> {
    /// As many phrases as the shim weighs (`emphasis.h`).
    const MAX_PHRASES: usize = 32;
    /// As many prompts as the shim joins (`prompt_words.cpp`).
    const MAX_JOINED: usize = 16;
    let prompts = [&recipe.prompt, &recipe.negative_prompt].map(|prompt| Prompt::parse_chosen(prompt));
    let is_weight = |group: &&Group| matches!(group.kind, GroupKind::Weight(_));
    let weights = prompts.iter().map(|prompt| prompt.groups.iter().filter(is_weight).count()).max().unwrap_or_default();
    let has = |kind| prompts.iter().any(|prompt| prompt.spans.iter().any(|span| span.kind == kind));
    let reads_chunks = family.joins_prompts();
    let [joined, in_negative] = prompts.each_ref().map(Prompt::joined);
    // The pictures of a person follow a word of one prompt.
    let joins = reads_chunks && recipe.person.images.is_empty();
    let all = [
        (weights > 0 && family == Family::Ideogram4, tr!("engine-this-models-text-encoder")),
        (weights > MAX_PHRASES && family.reads_with_language_model(), tr!("engine-the-first-32-weights")),
        (has(SpanKind::Break) && !reads_chunks, tr!("engine-break-means-nothing-to")),
        ((joined > 0 && !joins) || in_negative > 0, tr!("engine-and-does-not-join")),
        (joined >= MAX_JOINED && joins, tr!("engine-only-the-first-15")),
        (has(SpanKind::Lora), tr!("engine-a-loras-tag-is")),
    ];
    all.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect()
}

/// Gives each range of steps the words that the prompt says of it, and its LoRAs.
fn spread_over_steps(recipe: &mut Recipe, notes: &mut Vec<PictureNote>) -> Result<(), JobError> {
    let failed = |sentence| JobError::new(sentence, tr!("engine-write-fewer-changes-in"));
    recipe.spread_over_steps(recipe.steps_in_pass(0)).map_err(failed)?;
    let Some(looks_back) = looks_back(recipe).filter(|_| !recipe.earlier_steps.is_empty()) else { return Ok(()) };
    recipe.earlier_steps.clear();
    let sentence = tr!("engine-words-and-loras-do-not", looks_back);
    notes.push(PictureNote::changed(sentence));
    Ok(())
}

/// Leaves out earlier steps that the picture cannot have, with a note.
fn limit_earlier_steps(recipe: &mut Recipe, notes: &mut Vec<PictureNote>) {
    if recipe.earlier_steps.is_empty() {
        return;
    }
    let steps = recipe.draft_step().unwrap_or_else(|| recipe.steps_in_pass(0));
    if recipe.limit_earlier_steps(steps) {
        let sentence = match recipe.earlier_steps.last() {
            Some(last) => tr!("engine-it-goes-on-after", until_step = last.until_step, steps),
            None => tr!("engine-the-steps-of-the").to_owned(),
        };
        notes.push(PictureNote::changed(sentence));
    }
}
