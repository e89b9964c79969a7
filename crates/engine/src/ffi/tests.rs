//! Tests that need the C interface itself: the compute hook of devices other than the CPU, and
//! engine faults that the layers above prevent.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use testkit::{broken, tiny};

use super::{
    AreaParams, CallError, ConditioningCache, Context, ContextParams, Estimator, GenerateParams, JobCallbacks, Limits, Status, StepRecords,
    StepsParams, force_hook, lose_simulated_device, simulate_device,
};
use crate::job::embeddings::Embeddings;
use crate::protocol::{LogLevel, PhaseKind, PreviewOptions};
use atelier_core::canvas::Mask;
use atelier_core::device::SimulatedDevice;
use atelier_core::placement::{Assignment, Module, Placement};
use atelier_core::recipe::{FileRole, ImageSource, InitImage, Recipe, Rgb8, Sampler, Seed};
use atelier_library::Adapters;

/// Serialises the tests: the engine's callbacks and the hook's settings are global.
pub(super) fn lock_engine() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock()
}

#[derive(Debug, Default)]
pub(super) struct Recorder {
    denoising: AtomicBool,
    /// Calls of `cancelled` while denoising.
    cancel_checks: AtomicU32,
    /// Number of calls after which `cancelled` returns true; 0: never.
    cancel_after: u32,
    finished_steps: AtomicU32,
    errors: Mutex<Vec<String>>,
}

impl JobCallbacks for Recorder {
    fn log(&self, level: LogLevel, text: &str) {
        if level == LogLevel::Error {
            self.errors.lock().push(text.to_owned());
        }
    }

    fn phase(&self, phase: PhaseKind) {
        self.denoising.store(phase == PhaseKind::Denoising, Ordering::Relaxed);
    }
    fn load(&self, _: Option<Module>, _: u64, _: u64) {}
    fn step(&self, done: u32, _: u32, _: f32, _: f32) {
        self.finished_steps.fetch_max(done, Ordering::Relaxed);
    }
    fn preview(&self, _: u32, _: Rgb8) {}
    fn cancelled(&self) -> bool {
        let checks = self.cancel_checks.fetch_add(u32::from(self.denoising.load(Ordering::Relaxed)), Ordering::Relaxed);
        self.cancel_after > 0 && checks >= self.cancel_after
    }
}

/// Holds each encoder that computes until as many threads are there as are expected: all have begun
/// before one can end.
#[derive(Debug, Default)]
struct Meeting {
    expected: usize,
    encoding: AtomicBool,
    /// Weights that are read come by way of other threads.
    has_loaded: AtomicBool,
    threads: Mutex<HashSet<ThreadId>>,
    arrived: Condvar,
}

/// Longer than anything here takes on the slowest machine: reaching it is a failure.
const WAITED_IN_VAIN: Duration = Duration::from_mins(2);

impl JobCallbacks for Meeting {
    fn log(&self, _: LogLevel, _: &str) {}
    fn phase(&self, phase: PhaseKind) {
        self.encoding.store(phase == PhaseKind::Encoding, Ordering::Relaxed);
    }
    fn load(&self, _: Option<Module>, _: u64, _: u64) {
        let is_encoding = self.encoding.load(Ordering::Relaxed);
        self.has_loaded.fetch_or(is_encoding, Ordering::Relaxed);
    }
    fn step(&self, _: u32, _: u32, _: f32, _: f32) {}
    fn preview(&self, _: u32, _: Rgb8) {}
    /// Simulated devices ask before the first nodes of a graph, on the thread that computes it.
    fn cancelled(&self) -> bool {
        if !self.encoding.load(Ordering::Relaxed) {
            return false;
        }
        let mut threads = self.threads.lock();
        threads.insert(thread::current().id());
        self.arrived.notify_all();
        self.arrived.wait_while_for(&mut threads, |threads| threads.len() < self.expected, WAITED_IN_VAIN).timed_out()
    }
}

pub(super) fn context_params(files: &tiny::TinyFiles) -> ContextParams {
    let files =
        [(FileRole::Diffusion, files.diffusion.clone()), (FileRole::Llm, files.llm.clone()), (FileRole::Taesd, files.taesd.clone())];
    ContextParams::new(&Recipe { files: files.into_iter().collect(), ..Recipe::default() }, 1, Placement::all_on("CPU"))
}

pub(super) fn write_model(dir: &Path) -> tiny::TinyFiles {
    tiny::zimage(dir, &tiny::Options::default()).unwrap()
}

pub(super) fn open(params: &ContextParams) -> Result<Context, CallError> {
    Context::new(params, &ConditioningCache::default(), "", &Recorder::default())
}

/// Parameters of a small picture of this recipe, without pictures to start from.
pub(super) fn from_noise(recipe: &Recipe) -> GenerateParams<'_> {
    GenerateParams {
        recipe,
        width: 64,
        height: 64,
        seed: Seed(1),
        vae_tiling: false,
        init: None,
        mask: None,
        references: &[],
        control: None,
        person: &[],
        area: None,
        second: None,
        lora_key: "",
        adapters: Adapters::NONE,
        embeddings: Embeddings::NONE,
    }
}

pub(super) fn picture(context: &mut Context, callbacks: &Recorder) -> Result<Rgb8, CallError> {
    let recipe = Recipe { prompt: "a lake".into(), steps: 2, guidance: 1.0, ..Recipe::default() };
    context.generate(&from_noise(&recipe), PreviewOptions::Projection { every: 1 }, callbacks)
}

/// A part of a picture of one colour, wholly masked, with a soft mask of this value at the left and
/// 255 at the right.
fn part(context: &mut Context, strength: f32, left: u8) -> Rgb8 {
    let start = Rgb8::new(64, 64, vec![90; 64 * 64 * 3]).unwrap();
    let (mask, mut soft_mask) = (Mask::filled(64, 64, 255), Mask::filled(64, 64, 255));
    for row in soft_mask.pixels_mut().chunks_exact_mut(64) {
        row[..32].fill(left);
    }
    let init = InitImage { image: ImageSource::Pixels(start.clone()), strength };
    let recipe = Recipe { prompt: "a lake".into(), steps: 4, guidance: 1.0, init: Some(init), ..Recipe::default() };
    let area = Some(AreaParams { strength, soft_mask: Some(&soft_mask) });
    let params = GenerateParams { init: Some(&start), mask: Some(&mask), area, ..from_noise(&recipe) };
    let callbacks = Recorder::default();
    let image = context.generate(&params, PreviewOptions::Off, &callbacks).unwrap();
    assert_eq!(callbacks.finished_steps.load(Ordering::Relaxed), 4, "every step, whatever the strength");
    image
}

#[test]
fn a_controlnet_of_sdxl_is_opened_and_computed_in_both_names_of_its_tensors() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("sdxl.safetensors");
    testkit::headers::sdxl(&model).unwrap();
    let recipe = Recipe { prompt: "a lake".into(), steps: 1, ..Recipe::default() };
    let picture = Rgb8::new(64, 64, vec![90; 64 * 64 * 3]).unwrap();
    for controlnet in testkit::families::sdxl_controlnets() {
        let path = dir.path().join("controlnet.safetensors");
        controlnet.write(&path).unwrap();
        let files = [(FileRole::Model, model.clone()), (FileRole::Controlnet, path)].into_iter().collect();
        let params = ContextParams { files, ..context_params(&write_model(dir.path())) };
        // Without weights: those would take 9 GB.
        let mut estimator = Estimator::new(&params, &Recorder::default()).unwrap();
        let params = GenerateParams { control: Some(&picture), ..from_noise(&recipe) };
        let said = Recorder::default();
        estimator.run(&params, &Limits::default(), &said).unwrap();
        // A ControlNet that fails is left out by the engine, with a word.
        assert_eq!(*said.errors.lock(), Vec::<String>::new());
    }
}

#[test]
fn a_flux_for_control_pictures_follows_them_without_a_controlnet() {
    let _lock = lock_engine();
    for inputs in [128, 196] {
        let dir = tempfile::tempdir().unwrap();
        let parts = testkit::families::flux(inputs, dir.path()).unwrap();
        let role = |name: &str| FileRole::from_key(name).unwrap();
        let files = parts.into_iter().map(|(name, part)| (role(name), part.write(dir.path(), name).unwrap())).collect();
        let context = open(&ContextParams { files, ..context_params(&write_model(dir.path())) }).unwrap();
        let recipe = Recipe { prompt: "a lake".into(), steps: 1, guidance: 1.0, ..Recipe::default() };
        let with = |shade: Option<u8>| {
            let control = shade.map(|shade| Rgb8::new(64, 64, (0..64 * 64 * 3).map(|n| (n / 90) as u8 ^ shade).collect()).unwrap());
            let params = GenerateParams { control: control.as_ref(), ..from_noise(&recipe) };
            context.generate(&params, PreviewOptions::Off, &Recorder::default()).unwrap()
        };
        let [none, one, other] = [None, Some(0), Some(200)].map(with);
        assert!(none != one && none != other && one != other, "{inputs}");
        assert_eq!(with(Some(200)), other);
    }
}

#[test]
fn encoders_of_two_devices_compute_at_the_same_time_and_those_of_one_after_each_other() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let role = |name: &str| FileRole::from_key(name).unwrap();
    let parts = testkit::families::reading("flux");
    let files = parts.into_iter().map(|(name, part)| (role(name), part.write(dir.path(), name).unwrap())).collect();
    let recipe = Recipe { files, steps: 1, guidance: 1.0, ..Recipe::default() };
    for name in ["MEET0", "MEET1"] {
        let device =
            SimulatedDevice { name: name.into(), memory_bytes: 1 << 30, gpu: None, largest_buffer_bytes: None, without: None, speed: 1.0 };
        simulate_device(&device).unwrap();
    }
    let pictures = [("MEET0", 1), ("MEET1", 2)].map(|(t5, expected)| {
        let mut placement = Placement::all_on("MEET0");
        placement.set(Module::T5, Assignment::at(t5));
        let context = open(&ContextParams::new(&recipe, 1, placement)).unwrap();
        // Both are in memory before they meet.
        let first = Recipe { prompt: "a lake".into(), ..recipe.clone() };
        context.generate(&from_noise(&first), PreviewOptions::Off, &Recorder::default()).unwrap();
        let meeting = Meeting { expected, ..Meeting::default() };
        let second = Recipe { prompt: "a house".into(), ..recipe.clone() };
        let picture = context.generate(&from_noise(&second), PreviewOptions::Off, &meeting).unwrap();
        assert_eq!((meeting.threads.lock().len(), meeting.has_loaded.load(Ordering::Relaxed)), (expected, false), "T5 on {t5}");
        picture
    });
    assert!(pictures[0] == pictures[1]);
}

#[test]
fn a_soft_mask_lets_each_point_take_part_in_as_many_steps_as_it_says() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let mut context = open(&context_params(&write_model(dir.path()))).unwrap();
    let kept = part(&mut context, 0.9, 0);
    let half = |image: &Rgb8, left: usize| -> Vec<u8> {
        image.pixels().chunks_exact(64 * 3).flat_map(|row| row[left * 3..(left + 24) * 3].to_vec()).collect()
    };
    let change = |image: &Rgb8, left| -> u64 {
        half(image, left).iter().zip(half(&kept, left)).map(|(new, old)| u64::from(new.abs_diff(old))).sum()
    };
    // With four steps, a quarter of 255 is the last of them.
    let [none, one, two, all] = [10, 64, 128, 255].map(|left| part(&mut context, 0.9, left));
    assert_eq!(half(&none, 0), half(&kept, 0), "less than one step");
    assert!(0 < change(&one, 0) && change(&one, 0) < change(&two, 0) && change(&two, 0) < change(&all, 0));
    assert_eq!(part(&mut context, 0.9, 128), two, "the same again");
}

#[test]
fn a_part_at_full_strength_is_the_engines_own_inpainting() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let mut context = open(&context_params(&write_model(dir.path()))).unwrap();
    let whole = part(&mut context, 1.0, 255);
    let recipe = Recipe { prompt: "a lake".into(), steps: 4, guidance: 1.0, ..Recipe::default() };
    let noise = context.generate(&from_noise(&recipe), PreviewOptions::Off, &Recorder::default()).unwrap();
    assert_eq!(noise, whole, "noise alone, and all of it");
    let weaker: Vec<Rgb8> = [0.8, 0.5, 0.2].map(|strength| part(&mut context, strength, 255)).into();
    let distance = |image: &Rgb8| image.pixels().iter().zip(whole.pixels()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum::<u64>();
    assert!(weaker.windows(2).all(|pair| distance(&pair[0]) < distance(&pair[1])), "{:?}", weaker.iter().map(distance).collect::<Vec<_>>());
}

/// A picture that replays, and how.
fn with_steps(context: &Context, recipe: &Recipe, steps: &StepsParams<'_>) -> (Option<Rgb8>, StepRecords) {
    context.generate_with_steps(&from_noise(recipe), steps, PreviewOptions::Off, &Recorder::default()).unwrap()
}

const KEPT: StepsParams<'static> =
    StepsParams { replay: None, restart: None, stop_after: None, shows_last_step: false, max_bytes: u64::MAX };

#[test]
fn a_picture_that_begins_with_kept_steps_has_the_same_bytes_with_every_sampler_and_computes_only_the_others() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let context = open(&context_params(&write_model(dir.path()))).unwrap();
    for sampler in Sampler::ALL {
        let recipe = Recipe { prompt: "a lake".into(), steps: 4, guidance: 2.0, sampler: Some(*sampler), ..Recipe::default() };
        let plain = context.generate(&from_noise(&recipe), PreviewOptions::Off, &Recorder::default()).unwrap();
        let (whole, kept) = with_steps(&context, &recipe, &KEPT);
        assert_eq!(whole.as_ref(), Some(&plain), "{sampler:?}: keeping steps changes nothing");
        assert_eq!(kept.steps(), 4, "{sampler:?}");
        for step in 1..4 {
            let (again, records) = with_steps(&context, &recipe, &StepsParams { replay: Some((&kept, step)), ..KEPT });
            assert_eq!(again.as_ref(), Some(&plain), "{sampler:?} from step {step}");
            let replayed = kept.computed() - records.computed();
            assert!(replayed >= u64::from(step) && records.computed() >= u64::from(4 - step), "{sampler:?}: {replayed} from step {step}");
            assert_eq!((records.steps(), records.bytes()), (4, kept.bytes()), "a branch can be branched");
        }
        let (none, first) = with_steps(&context, &recipe, &StepsParams { stop_after: Some(2), ..KEPT });
        assert!(none.is_none() && first.steps() == 2 && first.computed() < kept.computed(), "{sampler:?}");
        let (again, records) = with_steps(&context, &recipe, &StepsParams { replay: Some((&first, 2)), ..KEPT });
        assert_eq!(again, whole, "{sampler:?} from a run that stopped");
        assert_eq!(records.computed(), kept.computed() - first.computed(), "{sampler:?}");
        let other = Recipe { prompt: "a red fox".into(), guidance: 4.0, ..recipe.clone() };
        let (branch, _) = with_steps(&context, &other, &StepsParams { replay: Some((&kept, 2)), ..KEPT });
        let (unrelated, _) = with_steps(&context, &other, &KEPT);
        assert!(branch != whole && branch != unrelated, "{sampler:?}: other words go on from step 2");
    }
}

#[test]
fn kept_steps_are_bounded_and_those_of_another_schedule_or_size_are_not_used() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let context = open(&context_params(&write_model(dir.path()))).unwrap();
    let recipe = Recipe { prompt: "a lake".into(), steps: 4, guidance: 1.0, sampler: Some(Sampler::Heun), ..Recipe::default() };
    let (whole, kept) = with_steps(&context, &recipe, &KEPT);
    let step_bytes = kept.bytes() / kept.computed();
    // Heun evaluates each step but the last one twice.
    for (evaluations, steps) in [(0, 0), (1, 0), (3, 1), (5, 2), (7, 4)] {
        let (image, few) = with_steps(&context, &recipe, &StepsParams { max_bytes: step_bytes * evaluations, ..KEPT });
        assert_eq!((few.steps(), image.as_ref()), (steps, whole.as_ref()), "{evaluations}");
        assert!(few.bytes() <= step_bytes * evaluations);
        let (again, _) = with_steps(&context, &recipe, &StepsParams { replay: Some((&few, 4)), ..KEPT });
        assert_eq!(again, whole, "what is not kept is computed");
    }
    let longer = Recipe { steps: 5, ..recipe.clone() };
    let (plain, all) = with_steps(&context, &longer, &KEPT);
    let (image, records) = with_steps(&context, &longer, &StepsParams { replay: Some((&kept, 3)), ..KEPT });
    assert_eq!(image, plain, "only the first evaluation is the same in both schedules");
    assert_eq!(records.computed(), all.computed() - 1);
    let wide = GenerateParams { width: 128, ..from_noise(&recipe) };
    let plain = context.generate(&wide, PreviewOptions::Off, &Recorder::default()).unwrap();
    let steps = StepsParams { replay: Some((&kept, 3)), ..KEPT };
    let (image, _) = context.generate_with_steps(&wide, &steps, PreviewOptions::Off, &Recorder::default()).unwrap();
    assert_eq!(image, Some(plain), "another size");
}

#[test]
fn a_cancel_stops_a_picture_that_replays_and_the_context_is_whole() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let context = open(&context_params(&write_model(dir.path()))).unwrap();
    let recipe = Recipe { prompt: "a lake".into(), steps: 4, guidance: 1.0, ..Recipe::default() };
    let (whole, kept) = with_steps(&context, &recipe, &KEPT);
    for stop_after in [None, Some(3)] {
        let steps = StepsParams { replay: Some((&kept, 2)), stop_after, ..KEPT };
        let cancelling = Recorder { cancel_after: 1, ..Recorder::default() };
        let cancelled = context.generate_with_steps(&from_noise(&recipe), &steps, PreviewOptions::Off, &cancelling);
        assert_eq!(cancelled.err().map(|error| error.status), Some(Status::Cancelled));
    }
    assert_eq!(with_steps(&context, &recipe, &StepsParams { replay: Some((&kept, 2)), ..KEPT }).0, whole);
}

#[test]
fn the_hook_of_other_devices_gives_the_same_picture_and_stops_inside_a_step() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let params = context_params(&write_model(dir.path()));
    let plain = picture(&mut open(&params).unwrap(), &Recorder::default()).unwrap();

    // Backends are hooked when they are made, so the context comes after.
    force_hook(8, true);
    let mut hooked = open(&params).unwrap();
    force_hook(8, false);

    assert_eq!(picture(&mut hooked, &Recorder::default()).unwrap(), plain);
    let checked = Recorder::default();
    assert_eq!(picture(&mut hooked, &checked).unwrap(), plain);
    assert!(checked.cancel_checks.load(Ordering::Relaxed) > 20, "checks between chunks: {checked:?}");
    let stopping = Recorder { cancel_after: 5, ..Recorder::default() };
    let error = picture(&mut hooked, &stopping).unwrap_err();
    assert_eq!((error.status, stopping.finished_steps.load(Ordering::Relaxed)), (Status::Cancelled, 0));
    assert_eq!(picture(&mut hooked, &Recorder::default()).unwrap(), plain);
    force_hook(0, false);
}

#[test]
fn an_assert_in_the_engine_is_an_error_and_other_contexts_live_on() {
    let _lock = lock_engine();
    let (good, bad) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut good = open(&context_params(&write_model(good.path()))).unwrap();
    let before = picture(&mut good, &Recorder::default()).unwrap();
    let bad = context_params(&broken::wrong_width(bad.path()).unwrap());
    let error = open(&bad).and_then(|mut context| picture(&mut context, &Recorder::default())).unwrap_err();
    assert_eq!(error.status, Status::Aborted);
    assert!(error.message.contains("GGML_ASSERT"), "{error}");
    assert_eq!(picture(&mut good, &Recorder::default()).unwrap(), before);
}

#[test]
fn an_assert_on_any_thread_of_a_graph_is_an_error_and_other_contexts_live_on() {
    let _lock = lock_engine();
    let (good, bad) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut good = open(&context_params(&write_model(good.path()))).unwrap();
    let before = picture(&mut good, &Recorder::default()).unwrap();
    // The prompt's template has tokens that this table lacks; each thread looks up some.
    let files = tiny::zimage(bad.path(), &tiny::Options { vocabulary: 100, ..tiny::Options::default() }).unwrap();
    for threads in 1..=4 {
        let bad = ContextParams { threads, ..context_params(&files) };
        let error = open(&bad).and_then(|mut context| picture(&mut context, &Recorder::default())).unwrap_err();
        assert_eq!(error.status, Status::Aborted, "{threads}");
        assert!(error.message.contains("GGML_ASSERT"), "{threads}: {error}");
    }
    assert_eq!(picture(&mut good, &Recorder::default()).unwrap(), before);
}

#[test]
fn what_is_thrown_on_a_loading_thread_is_an_error() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let params = ContextParams { threads: 4, ..context_params(&broken::integer_vector(dir.path()).unwrap()) };
    let error = open(&params).and_then(|mut context| picture(&mut context, &Recorder::default())).unwrap_err();
    assert_eq!(error.status, Status::Aborted);
    assert!(error.message.contains("no dequantization available"), "{error}");
}

/// The text encoder's dictionary alone takes tens of megabytes.
#[cfg(target_os = "linux")]
#[test]
fn a_model_that_fails_while_it_is_opened_is_freed() {
    const MAX_GROWTH: u64 = 256 << 20;
    fn resident_bytes() -> u64 {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let params = context_params(&broken::asserting_on_opening(dir.path()).unwrap());
    let mut before = 0;
    for round in 0..25 {
        assert_eq!(open(&params).err().map(|error| error.status), Some(Status::Aborted));
        if round == 4 {
            before = resident_bytes();
        }
    }
    let after = resident_bytes();
    assert!(after < before + MAX_GROWTH, "from {before} to {after} bytes");
}

#[test]
fn a_lost_device_is_an_error_and_the_process_and_other_devices_live_on() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let on_cpu = context_params(&write_model(dir.path()));
    let device =
        SimulatedDevice { name: "LOST0".into(), memory_bytes: 1 << 30, gpu: None, largest_buffer_bytes: None, without: None, speed: 1.0 };
    simulate_device(&device).unwrap();
    let on_device = ContextParams { placement: Placement::all_on("LOST0"), ..on_cpu.clone() };
    let mut context = open(&on_device).unwrap();
    let whole = picture(&mut context, &Recorder::default()).unwrap();
    lose_simulated_device("LOST0");
    let error = picture(&mut context, &Recorder::default()).unwrap_err();
    assert_eq!((error.status, error.lost.as_deref()), (Status::DeviceLost, Some("LOST0")));
    // Its driver refuses to free anything, in the middle of destructors.
    drop(context);
    let again = open(&on_device).map(|_| ()).unwrap_err();
    assert_eq!((again.status, again.lost.as_deref()), (Status::DeviceLost, Some("LOST0")));
    assert_eq!(picture(&mut open(&on_cpu).unwrap(), &Recorder::default()).unwrap(), whole);
}

#[test]
fn a_second_roll_of_a_prompt_runs_no_text_encoder() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let mut context = open(&context_params(&write_model(dir.path()))).unwrap();
    let first = picture(&mut context, &Recorder::default()).unwrap();
    assert_eq!(context.conditioning_counts(), Some((0, 1)));
    assert_eq!(picture(&mut context, &Recorder::default()).unwrap(), first);
    assert_eq!(context.conditioning_counts(), Some((1, 1)));
}

#[test]
fn a_text_with_a_nul_is_refused() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let mut params = context_params(&write_model(dir.path()));
    params.placement = Placement::all_on("CPU\0");
    assert_eq!(open(&params).err().map(|error| error.status), Some(Status::Failed));
}

#[cfg(unix)]
#[test]
fn a_path_that_is_not_utf_8_reaches_the_engine_as_it_is() {
    let _lock = lock_engine();
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"mod\xe8les"));
    // Not every file system takes such a name.
    if std::fs::create_dir(&folder).is_err() {
        return;
    }
    let mut context = open(&context_params(&write_model(&folder))).unwrap();
    picture(&mut context, &Recorder::default()).unwrap();
}
