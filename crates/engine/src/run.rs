//! One job from its request to its end.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::batch;
use super::cache::{ContextBudgets, LeaseRequest, fingerprints};
use super::failure;
use super::ffi::{self, CallError, ContextParams, GenerateParams, JobCallbacks, Mask, PreviewMode, Status, Upscaler};
use super::sink::{JobSink, WarmSink};
use crate::devices;
use crate::placement::ResolvedPlacement;
use crate::protocol::{Begin, End, Event, Failure, Picture};
use crate::protocol::{JobId, PreviewOptions};
use crate::scheduler::Engine;
use atelier_core::device::Device;
use atelier_core::format::memory_size;
use atelier_core::placement::{DeviceCapacity, DevicePrediction, Placement, Prediction};
use atelier_core::recipe::{FileRole, ImageSource, Lora, ModelFiles, PictureInfo, PlacementText, Recipe, Rgb8};
use atelier_core::sentences::sentence;
use atelier_library::{Checked, Fault, snap};
use atelier_media::{fit_image, read_image, read_mask};

/// Pixels of a side; the engine has no limit of its own, memory sets one long before.
const SIDES: (u32, u32) = (64, 16_384);
/// Pixels up to which a picture is one tile for the VAE.
const VAE_TILE: u32 = 256;
const STEPS: (u32, u32) = (1, 1000);
/// Pictures of one job; more than anyone looks through.
const MOST_PICTURES: u32 = 1000;
/// Cores up to which all of them compute.
const FEW_CORES: u32 = 4;

/// Makes the pictures of a recipe.
pub(crate) fn generate(engine: &Engine, job: JobId, recipe: &Recipe, preview: PreviewOptions, sink: &JobSink) -> End {
    match prepare(engine, recipe).and_then(|mut plan| {
        foresee(engine, recipe, &mut plan);
        if let [Share { prediction: Some(prediction), .. }] = &plan.shares[..] {
            sink.predict(prediction.clone());
        }
        sink.send(Event::Begin { job, begin: plan.begin.clone() });
        sink.send(Event::Devices(plan.devices.clone()));
        pictures(engine, job, &plan, preview, sink)
    }) {
        Ok(Made { pictures, notes }) => End::Done { pictures, timings: sink.timings(), notes },
        Err(stop) => stop.into(),
    }
}

/// Enlarges a picture.
pub(crate) fn upscale(
    engine: &Engine,
    job: JobId,
    image: &ImageSource,
    (model, allow_pickle): (&Path, bool),
    placement: &PlacementText,
    threads: Option<u32>,
    sink: &JobSink,
) -> End {
    let run = || -> Result<End, Stop> {
        match engine.headers().get(model) {
            Ok(known) if known.kind.role != Some(FileRole::Upscaler) => {
                let name = model.file_name().unwrap_or_default().to_string_lossy();
                return Err(failed(
                    format!("{name} is {}, not an upscaler.", known.kind.described()),
                    "Choose an ESRGAN file, for example RealESRGAN x4.",
                ));
            }
            Ok(_) => {}
            Err(error) if allow_pickle && error.fault == Fault::Pickle => {}
            Err(error) => return Err(failed(error.advice.sentence, error.advice.hint)),
        }
        let devices = devices::list();
        let places = placed(placement, &devices)?;
        let image = read_image(image).map_err(|error| failed(error.to_string(), "Choose another picture."))?;
        let begin = Begin { width: image.width(), height: image.height(), steps: 0, seeds: Vec::new(), notes: Vec::new() };
        sink.send(Event::Begin { job, begin });
        sink.send(Event::Devices(devices));
        let mut upscaler = Upscaler::new(model, cpu_threads(threads), &places.backend, &places.params_backend, sink)
            .map_err(|error| stop(&error, sink))?;
        let large = upscaler.run(&image, sink).map_err(|error| stop(&error, sink))?;
        let info = PictureInfo { index: 0, seed: 0 };
        sink.send(Event::Picture { job, picture: Picture { info, image: Arc::new(large) } });
        Ok(End::Done { pictures: vec![info], timings: sink.timings(), notes: Vec::new() })
    };
    run().unwrap_or_else(End::from)
}

/// Finds out what each share will take, and says where that is too much.
fn foresee(engine: &Engine, recipe: &Recipe, plan: &mut Plan) {
    let Plan { shares, begin, devices, recipe: checked, .. } = plan;
    for share in shares {
        if let Some(prediction) = predicted(engine, checked, &share.placement, devices) {
            begin.notes.extend(prediction.devices.iter().filter_map(shortage));
            share.prediction = Some(prediction);
        } else if let Some(taken) = engine.history.taken(&Recipe { placement: share.text.clone(), ..recipe.clone() }) {
            begin.notes.extend(devices.iter().filter_map(|device| remembered_shortage(engine, device, &taken)));
            share.taken = Some(taken);
        }
    }
}

/// Why a job ends early.
pub(crate) enum Stop {
    Cancelled,
    Failed(Box<Failure>),
}

impl From<Stop> for End {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cancelled => Self::Cancelled,
            Stop::Failed(failure) => Self::Failed(*failure),
        }
    }
}

fn failed(sentence: impl Into<String>, hint: impl Into<String>) -> Stop {
    Stop::Failed(Box::new(Failure::new(sentence, hint)))
}

fn placed(text: &PlacementText, devices: &[Device]) -> Result<ResolvedPlacement, Stop> {
    ResolvedPlacement::resolve(text, devices)
        .map_err(|error| failed(sentence(&error.to_string()), "Change the placement, or leave it empty."))
}

fn stop(error: &CallError, sink: &JobSink) -> Stop {
    match error.status {
        Status::Cancelled => Stop::Cancelled,
        // The connection may have been given up because of the cancel.
        Status::Lost if sink.cancelled() => Stop::Cancelled,
        Status::Failed | Status::Aborted | Status::NoMemory | Status::Lost => {
            Stop::Failed(Box::new(failure::of_call(error, sink.log_lines())))
        }
    }
}

/// A recipe after every check, with its pictures read.
pub(crate) struct Plan {
    recipe: Recipe,
    pub(crate) begin: Begin,
    /// Each with a context of its own; more than one where several devices make the pictures of a batch.
    pub(crate) shares: Vec<Share>,
    /// The devices whose shares they are; empty where there is one share.
    pub(crate) split_batch: Vec<String>,
    /// As they were found before this job.
    devices: Vec<Device>,
    vae_tiling: bool,
    init: Option<Rgb8>,
    mask: Option<Mask>,
    references: Vec<Rgb8>,
    control: Option<Rgb8>,
}

/// What a context is made of, and what it may use.
pub(crate) struct Share {
    load: ContextParams,
    budgeted: ContextBudgets,
    pub(crate) placement: Placement,
    /// As it was asked for, or what it comes to for one device of several.
    text: PlacementText,
    /// What it will take, where that is known.
    prediction: Option<Prediction>,
    /// What one like it took of each device, where no prediction is known.
    taken: Option<BTreeMap<String, u64>>,
}

impl Share {
    fn want(&self) -> LeaseRequest<'_> {
        let Self { load, budgeted, placement, prediction, taken, .. } = self;
        LeaseRequest { load, budgeted, placement, prediction: prediction.as_ref(), taken: taken.as_ref() }
    }
}

/// Checks everything that the engine would answer with an assert, and reads the pictures.
fn prepare(engine: &Engine, recipe: &Recipe) -> Result<Plan, Stop> {
    let Checked { files, size_multiple, mut notes, .. } =
        engine.headers().check(&recipe.files, &recipe.loras).map_err(|problem| failed(problem.advice.sentence, problem.advice.hint))?;
    let mut recipe = Recipe { files, ..recipe.clone() };

    let (width, height) = sized(&recipe, size_multiple);
    if (width, height) != (recipe.width, recipe.height) {
        notes.push(format!("The size is now {width} x {height}: this model makes multiples of {size_multiple} pixels."));
    }
    let steps = recipe.steps.clamp(STEPS.0, STEPS.1);
    if steps != recipe.steps {
        notes.push(format!("{steps} steps instead of {}.", recipe.steps));
    }
    recipe.steps = steps;
    for (name, value, least, most) in
        [("guidance", &mut recipe.guidance, 0.0, 100.0), ("distilled guidance", &mut recipe.distilled_guidance, 0.0, 100.0)]
    {
        let clamped = if value.is_finite() { value.clamp(least, most) } else { 1.0 };
        if clamped.to_bits() != value.to_bits() {
            notes.push(format!("{name} {clamped} instead of {value}."));
            *value = clamped;
        }
    }
    recipe.eta = recipe.eta.filter(|eta| eta.is_finite());
    recipe.flow_shift = recipe.flow_shift.filter(|shift| shift.is_finite());
    (recipe.width, recipe.height) = (width, height);
    let vae_tiling = tiled(&recipe);
    if recipe.vae_tiling && !vae_tiling {
        notes.push(format!("VAE tiling is off: the picture is no larger than one tile of {VAE_TILE} pixels."));
    }

    let picture = |source: &ImageSource| {
        read_image(source)
            .and_then(|image| fit_image(&image, width, height))
            .map_err(|error| failed(error.to_string(), "Choose another picture."))
    };
    if let Some(init) = &mut recipe.init {
        init.strength = if init.strength.is_finite() { init.strength.clamp(0.0, 1.0) } else { 0.75 };
    }
    let init = recipe.init.as_ref().map(|init| picture(&init.image)).transpose()?;
    if recipe.mask.is_some() && init.is_none() {
        return Err(failed("A mask needs a picture to lie over.", "Choose an init image, or remove the mask."));
    }
    let mask = recipe
        .mask
        .as_ref()
        .map(|mask| read_mask(mask, width, height).map(|pixels| Mask { width, height, pixels }))
        .transpose()
        .map_err(|error| failed(error.to_string(), "Choose another mask."))?;
    let control = recipe.control.as_ref().map(|control| picture(&control.image)).transpose()?;
    if control.is_some() && recipe.files.get(FileRole::Controlnet).is_none() {
        return Err(failed("A control picture needs a ControlNet.", "Choose a ControlNet file, or remove the control picture."));
    }
    let references = recipe
        .reference_images
        .iter()
        .map(|source| read_image(source).map_err(|error| failed(error.to_string(), "Choose another picture.")))
        .collect::<Result<Vec<_>, _>>()?;

    let devices = devices::list();
    let places = placed(&recipe.placement, &devices)?;
    notes.extend(places.notes(&recipe.files, &devices));
    let (mut shares, mut split_batch) = (shares(&recipe, places, &devices)?, Vec::new());

    let first = if recipe.seed < 0 { i64::from(rand::random::<u32>()) } else { recipe.seed };
    let count = recipe.batch_count.clamp(1, MOST_PICTURES);
    if count != recipe.batch_count {
        notes.push(format!("{count} pictures instead of {}.", recipe.batch_count));
    }
    let seeds = (0..i64::from(count)).map(|n| first.saturating_add(n)).collect();
    let begin = Begin { width, height, steps: steps_to_run(&recipe), seeds, notes };
    shares.truncate(count as usize);
    if shares.len() > 1 {
        split_batch = Placement::parse(&recipe.placement, &devices).map(|it| it.split_batch).unwrap_or_default();
    }
    Ok(Plan { recipe, begin, shares, split_batch, devices, vae_tiling, init, mask, references, control })
}

/// The contexts that make the pictures of a checked recipe together.
fn shares(recipe: &Recipe, places: ResolvedPlacement, devices: &[Device]) -> Result<Vec<Share>, Stop> {
    let shares = places.placement.shares();
    if shares.len() == 1 {
        let text = PlacementText { split_batch: String::new(), ..recipe.placement.clone() };
        return Ok(vec![share(recipe, places, text)]);
    }
    shares.iter().map(|placement| placed(&placement.text(), devices).map(|places| share(recipe, places, placement.text()))).collect()
}

fn share(recipe: &Recipe, places: ResolvedPlacement, text: PlacementText) -> Share {
    let load = ContextParams {
        files: recipe.files.clone(),
        threads: cpu_threads(recipe.threads),
        flash_attention: recipe.flash_attention,
        backend: places.backend,
        params_backend: places.params_backend,
    };
    let budgeted = ContextBudgets { budgets: places.budgets, stream_layers: recipe.placement.stream_layers };
    Share { load, budgeted, placement: places.placement, text, prediction: None, taken: None }
}

/// Loads the model of a recipe and makes nothing with it. What is wrong with it is told when a picture is asked for.
pub(crate) fn preload(engine: &Engine, recipe: &Recipe, sink: &WarmSink) {
    let Ok(checked) = engine.headers().check(&recipe.files, &recipe.loras) else { return };
    let recipe = Recipe { files: checked.files, ..recipe.clone() };
    let devices = devices::list();
    let Ok(places) = ResolvedPlacement::resolve(&recipe.placement, &devices) else { return };
    for mut share in shares(&recipe, places, &devices).unwrap_or_default() {
        share.taken = engine.history.taken(&Recipe { placement: share.text.clone(), ..recipe.clone() });
        let warmed = engine.cache.lease(&share.want(), sink, &|_| {}).and_then(|lease| {
            let warmed = lease.preload(sink);
            if warmed.as_ref().is_err_and(|error| error.status != Status::Cancelled) {
                lease.discard();
            }
            warmed
        });
        if let Err(error) = warmed {
            tracing::debug!("a model was not loaded beforehand: {error}");
        }
    }
}

/// The size that will be made, in pixels.
pub(crate) fn sized(recipe: &Recipe, size_multiple: u32) -> (u32, u32) {
    let side = |asked| snap(asked, size_multiple, SIDES.0, SIDES.1);
    (side(recipe.width), side(recipe.height))
}

/// Whether a picture of this size is decoded in tiles: with one tile or less there is nothing to cut, and the engine does not survive
/// trying.
pub(crate) fn tiled(recipe: &Recipe) -> bool {
    recipe.vae_tiling && recipe.width.min(recipe.height) > VAE_TILE
}

/// What the job will take, where somebody asked that before, on devices as they are now.
fn predicted(engine: &Engine, recipe: &Recipe, placement: &Placement, devices: &[Device]) -> Option<Prediction> {
    let needs = engine.estimates.of(&mut engine.headers(), recipe, devices)?;
    let slack = engine.history.slack(devices);
    let rooms: Vec<DeviceCapacity> = devices.iter().map(|device| room(device, &slack)).collect();
    Prediction::of(placement, &needs, &rooms).ok()
}

fn room(device: &Device, slack: &BTreeMap<String, u64>) -> DeviceCapacity {
    DeviceCapacity::for_planning(device, slack.get(&device.name).copied().unwrap_or(0))
}

/// A sentence where a device is expected to have too little.
fn shortage(device: &DevicePrediction) -> Option<String> {
    let (phase, used) = device.peak();
    (device.missing_bytes() > 0).then(|| {
        format!(
            "This may not fit: in the {} phase {} would hold {}, and {} are to be had.",
            phase.label(),
            device.name,
            memory_size(used.total_bytes()),
            memory_size(device.limit_bytes)
        )
    })
}

/// A sentence where a device has less than a picture like this one took.
fn remembered_shortage(engine: &Engine, device: &Device, taken: &BTreeMap<String, u64>) -> Option<String> {
    let (taken, room) = (taken.get(&device.name)?, room(device, &engine.history.slack(std::slice::from_ref(device))));
    let limit = room.device.memory_free_bytes.saturating_sub(room.overhead_bytes);
    (device.memory_total_bytes > 0 && *taken > limit).then(|| {
        format!(
            "This may not fit: a picture like it took {} of {}, and {} are to be had.",
            memory_size(*taken),
            device.name,
            memory_size(limit)
        )
    })
}

/// Tells LoRAs apart: a file that was replaced is another.
fn lora_key(loras: &[Lora]) -> String {
    let strengths: Vec<f32> = loras.iter().map(|lora| lora.strength).collect();
    if loras.is_empty() { String::new() } else { format!("{:?} {strengths:?}", fingerprints(&ModelFiles::default(), loras)) }
}

/// Steps that the engine will run: from an init image only the last ones.
fn steps_to_run(recipe: &Recipe) -> u32 {
    match &recipe.init {
        Some(init) if init.strength < 1.0 => {
            // As the engine counts them: the product cut to a whole number, one more step, never more than all.
            let begun = (recipe.steps as f32 * init.strength) as u32;
            (begun + 1).min(recipe.steps)
        }
        _ => recipe.steps,
    }
}

fn pictures(engine: &Engine, job: JobId, plan: &Plan, preview: PreviewOptions, sink: &JobSink) -> Result<Made, Stop> {
    let Some(share) = plan.shares.first() else { unreachable!("there is one way at least") };
    let maker = Maker { engine, job, plan, share, preview: preview_mode(preview, &share.load), sink };
    if plan.shares.len() > 1 {
        return batch::pictures(&maker);
    }
    let (mut made, mut indices) = (Made::default(), 0..u32::try_from(plan.begin.seeds.len()).unwrap_or(u32::MAX));
    maker.make(&mut || indices.next(), &mut |info, note| {
        made.pictures.push(info);
        made.notes.extend(note);
    })?;
    Ok(made)
}

/// What came of a job.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) pictures: Vec<PictureInfo>,
    pub(crate) notes: Vec<String>,
}

/// Makes pictures of a job with one context.
#[derive(Clone, Copy)]
pub(crate) struct Maker<'a> {
    engine: &'a Engine,
    job: JobId,
    pub(crate) plan: &'a Plan,
    pub(crate) share: &'a Share,
    preview: Option<(PreviewMode, u32)>,
    pub(crate) sink: &'a JobSink,
}

impl<'a> Maker<'a> {
    /// The same for another share.
    pub(crate) const fn of_share(&self, share: &'a Share, sink: &'a JobSink) -> Self {
        Self { share, sink, ..*self }
    }

    /// Makes one picture after the other, as long as `take` says which. `done` gets each, with a note for the person if there is one.
    pub(crate) fn make(
        &self,
        take: &mut dyn FnMut() -> Option<u32>,
        done: &mut dyn FnMut(PictureInfo, Option<String>),
    ) -> Result<(), Stop> {
        let Self { engine, job, plan, share, preview, sink } = *self;
        let lora_key = lora_key(&plan.recipe.loras);
        let waits = |behind: &[String]| sink.send(Event::Waiting { job, behind: behind.to_vec() });
        let lease = || engine.cache.lease(&share.want(), sink, &waits).map_err(|error| stop(&error, sink));
        let mut leased = lease()?;
        sink.beside(leased.others());
        while let Some(index) = take() {
            let Some(seed) = plan.begin.seeds.get(index as usize) else { break };
            if sink.cancelled() {
                return Err(Stop::Cancelled);
            }
            sink.set_picture(index);
            let shot = GenerateParams {
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
                let ran = leased.context().generate(&shot, preview, sink);
                sink.measured(ffi::last_peaks());
                match ran {
                    Ok(image) => break image,
                    // One that was cancelled is whole.
                    Err(error) if error.status == Status::Cancelled => return Err(stop(&error, sink)),
                    Err(error) => {
                        // What was predicted was wrong. Other models leave the device, which happens once at most: then there are none.
                        let made_room = if let Some(missing) = &error.out_of_memory {
                            leased.discard_for_room(&missing.device)
                        } else {
                            leased.discard();
                            false
                        };
                        if sink.cancelled() || !made_room {
                            return Err(stop(&error, sink));
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
            let info = PictureInfo { index, seed: *seed };
            sink.send(Event::Picture { job, picture: Picture { info, image: Arc::new(image) } });
            done(info, note);
            if let Some(file) = sink.unused_loras().first() {
                let name = Path::new(file).file_name().map_or_else(|| file.clone(), |name| name.to_string_lossy().into_owned());
                return Err(failed(
                    format!("The LoRA {name} does not fit this model: nothing of it was used."),
                    "Remove it, or choose one that was made for this model.",
                ));
            }
        }
        if sink.cancelled() { Err(Stop::Cancelled) } else { Ok(()) }
    }
}

fn preview_mode(preview: PreviewOptions, load: &ContextParams) -> Option<(PreviewMode, u32)> {
    let has_tiny = load.files.get(FileRole::Taesd).is_some();
    match preview {
        PreviewOptions::Off => None,
        PreviewOptions::TinyAutoencoder { every } if has_tiny => Some((PreviewMode::TinyAutoencoder, every)),
        PreviewOptions::Adaptive if has_tiny => Some((PreviewMode::Adaptive, 1)),
        PreviewOptions::Projection { every } | PreviewOptions::TinyAutoencoder { every } => Some((PreviewMode::Projection, every)),
        PreviewOptions::Adaptive => Some((PreviewMode::Projection, 1)),
    }
}

/// A picture of one colour is what overflowing numbers leave behind, never what was asked for.
fn is_flat(image: &Rgb8) -> bool {
    let mut pixels = image.pixels().chunks_exact(3);
    pixels.next().is_some_and(|first| pixels.all(|pixel| pixel == first))
}

/// Threads for the CPU: as asked, else all cores but one, which the interface needs.
pub(crate) fn cpu_threads(asked: Option<u32>) -> u32 {
    let cores = thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
    asked.unwrap_or_else(|| usual_threads(cores)).clamp(1, cores.max(1) * 4)
}

/// Where there are few cores each of them counts, and threads that wait step aside for the interface (`vendor/ggml-sys/spin_wait.cmake`).
const fn usual_threads(cores: u32) -> u32 {
    if cores <= FEW_CORES { cores } else { cores - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::InitImage;

    #[test]
    fn one_core_is_left_to_others_where_there_are_many() {
        assert_eq!([1, 2, 4, 5, 16].map(usual_threads), [1, 2, 4, 4, 15]);
        assert_eq!(cpu_threads(Some(0)), 1);
    }

    #[test]
    fn from_an_init_image_only_the_last_steps_run() {
        let steps = |strength| {
            let image = ImageSource::File("x.png".into());
            steps_to_run(&Recipe { steps: 20, init: Some(InitImage { image, strength }), ..Recipe::default() })
        };
        assert_eq!((steps(0.75), steps(0.0), steps(0.999), steps(1.0)), (16, 1, 20, 20));
    }

    #[test]
    fn one_colour_is_flat_and_one_other_pixel_is_not() {
        assert!(is_flat(&Rgb8::new(2, 1, vec![1, 2, 3, 1, 2, 3]).unwrap()));
        assert!(!is_flat(&Rgb8::new(2, 1, vec![1, 2, 3, 1, 2, 4]).unwrap()));
    }
}
