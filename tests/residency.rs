//! Residency: models that stay in memory between jobs, parts that they share, and eviction where
//! there is no room.
//!
//! The devices belong to the process: `GPU0` and `GPU1` of 1 GiB, `SMALL` with room for one tiny
//! model, `MEDIUM` for one that makes a picture while another's weights stay, or so it seems by the
//! sizes of their files, `NANO` and `PICO` with room for nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use atelier_core::placement::Module;
use atelier_core::recipe::{FileRole, Lora, ModelFiles, PlacementText, Recipe, Seed};
use atelier_engine::{Cause, End, Event, Handle, JobId, JobPhase, PreviewOptions, Residency, Resident, Task, start};
use support::alone::Alone;
use support::engine::{Engine, Said};
use support::handle::WatchedHandle;
use support::{files, folder, recipe};
use testkit::tiny;

const DEVICES: &str = "GPU0:1,GPU1:1,SMALL:0.026,MEDIUM:0.0327,NANO:0.002,PICO:0.001";

fn lock() -> MutexGuard<'static, ()> {
    support::alone::lock(DEVICES)
}

fn alone() -> Alone {
    support::alone::alone(DEVICES)
}

/// The tiny model with another diffusion module, its text encoder and autoencoder left as they are.
fn cousin() -> ModelFiles {
    static DIFFUSION: OnceLock<PathBuf> = OnceLock::new();
    let diffusion = DIFFUSION.get_or_init(|| {
        let options = tiny::Options { seed: 77, ..tiny::Options::default() };
        tiny::zimage(&folder("cousin"), &options).unwrap().diffusion
    });
    let mut files = files();
    files.set(FileRole::Diffusion, diffusion.clone());
    files
}

/// A model that has nothing in common with the others.
fn stranger() -> ModelFiles {
    static FILES: OnceLock<ModelFiles> = OnceLock::new();
    let make = || {
        let options = tiny::Options { seed: 78, ..tiny::Options::default() };
        let files = tiny::zimage(&folder("stranger"), &options).unwrap();
        // Measurements of a model are stored by the names of its files.
        let diffusion = files.diffusion.with_file_name("stranger.safetensors");
        std::fs::rename(&files.diffusion, &diffusion).unwrap();
        [(FileRole::Diffusion, diffusion), (FileRole::Llm, files.llm), (FileRole::Taesd, files.taesd)].into_iter().collect()
    };
    FILES.get_or_init(make).clone()
}

fn on(device: &str, files: ModelFiles) -> Recipe {
    let placement = PlacementText { backend: device.into(), ..PlacementText::default() };
    Recipe { files, placement, ..recipe() }
}

/// The modules whose weights were read.
fn loaded(said: &Said) -> BTreeSet<Module> {
    let module = |phase: &JobPhase| if let JobPhase::Loading { module, .. } = phase { *module } else { None };
    said.phases().iter().filter_map(module).collect()
}

fn holds(residency: &Residency, models: usize) -> bool {
    residency.models.len() == models && residency.models.iter().all(|model| !model.in_use)
}

fn uses(model: &Resident, device: &str) -> u64 {
    model.parts.iter().filter(|part| part.device == device).map(|part| part.bytes).sum()
}

#[test]
fn models_that_fit_side_by_side_are_loaded_once() {
    let it = alone();
    let (a, b) = (on("GPU0", files()), on("GPU0", stranger()));
    let first = (it.engine.run(&a), it.engine.run(&b));
    assert_eq!(loaded(&first.0), BTreeSet::from([Module::Diffusion, Module::Llm, Module::Vae]));
    assert_eq!(loaded(&first.1), loaded(&first.0));
    let again = (it.engine.run(&a), it.engine.run(&b), it.engine.run(&a));
    for (first, again) in [(&first.0, &again.0), (&first.1, &again.1), (&first.0, &again.2)] {
        assert_eq!(loaded(again), BTreeSet::new());
        assert_eq!(first.pixels(), again.pixels());
    }
    assert_ne!(first.0.pixels(), first.1.pixels());
    let residency = it.engine.residency(|it| holds(it, 2) && it.models[0].encodings_found == 2);
    assert_eq!(residency.models[0].files, a.files, "the latest used comes first");
    assert!(residency.models.iter().all(|model| uses(model, "GPU0") == model.bytes() && model.bytes() > 2 << 20));
    assert_eq!(residency.models[0].encodings_made, 1);
}

#[test]
fn a_model_borrows_what_another_one_of_its_family_has_loaded() {
    let it = alone();
    let (a, b) = (on("GPU0", files()), on("GPU0", cousin()));
    let separate = it.engine.run(&b).pixels().to_vec();
    it.engine.handle().unload().unwrap();
    let first = it.engine.run(&a);
    let other = it.engine.run(&b);
    assert_eq!(loaded(&other), BTreeSet::from([Module::Diffusion]));
    assert_eq!(other.pixels(), separate);
    let residency = it.engine.residency(|it| holds(it, 2));
    let shared: BTreeSet<Module> = residency.models[0].parts.iter().filter(|part| part.shared).map(|part| part.module).collect();
    assert_eq!(shared, BTreeSet::from([Module::Llm, Module::Vae]));
    // The one that lent goes; what it lent stays for the other.
    let lender = residency.models.iter().find(|model| model.files == a.files).unwrap().id;
    it.engine.handle().unload_model(lender).unwrap();
    it.engine.residency(|it| holds(it, 1) && it.models[0].files == b.files);
    let unused = it.engine.run(&b);
    assert_eq!((loaded(&unused), unused.pixels()), (BTreeSet::new(), separate.as_slice()));
    // And it borrows it back.
    let back = it.engine.run(&a);
    assert_eq!((loaded(&back), back.pixels()), (BTreeSet::from([Module::Diffusion]), first.pixels()));
    it.engine.handle().unload().unwrap();
    it.engine.residency(|it| it.models.is_empty());
    it.engine.handle().list_devices().unwrap();
    let gpu = it.engine.devices().into_iter().find(|device| device.name == "GPU0").unwrap();
    assert_eq!(gpu.memory_free_bytes, gpu.memory_total_bytes, "everything was given back");
}

#[test]
fn where_there_is_room_for_one_the_least_recently_used_goes() {
    let it = alone();
    let (a, b) = (on("SMALL", files()), on("SMALL", stranger()));
    let first = it.engine.run(&a).pixels().to_vec();
    let other = it.engine.run(&b);
    assert_eq!(loaded(&other).len(), 3);
    let residency = it.engine.residency(|it| holds(it, 1) && it.models[0].files == b.files);
    assert_eq!(residency.unreturned_bytes, BTreeMap::new());
    let again = it.engine.run(&a);
    assert_eq!((loaded(&again), again.pixels() == first), (BTreeSet::from([Module::Diffusion, Module::Vae]), true));
}

#[test]
fn what_a_model_took_is_known_the_next_time() {
    let lock = lock();
    let file = tempfile::tempdir().unwrap();
    let file = file.path().join("measured.json");
    let large = |files| Recipe { width: 96, height: 96, ..on("MEDIUM", files) };
    let (a, b) = (large(files()), large(stranger()));
    let opened = |said: &Said| {
        assert!(matches!(said.end(), End::Done { .. }), "{:?}", said.end());
        said.phases().iter().filter(|phase| matches!(phase, JobPhase::Loading { module: None, .. })).count()
    };
    let once = {
        let engine = Engine::start_remembering(&file);
        let once = opened(&engine.run(&a));
        engine.handle().unload().unwrap();
        opened(&engine.run(&b));
        once
    };
    let beside = |engine: &Engine| {
        opened(&engine.run(&a));
        let opened = opened(&engine.run(&b));
        engine.residency(|it| holds(it, 1));
        opened
    };
    assert!(beside(&Engine::start()) > once, "by the sizes of the files it seems to fit, and is begun anew when it does not");
    assert_eq!(beside(&Engine::start_remembering(&file)), once);
    drop(lock);
}

#[test]
fn a_kept_model_stays_until_it_is_let_go() {
    let it = alone();
    let (a, b) = (on("SMALL", files()), on("SMALL", stranger()));
    it.engine.run(&a);
    let kept = it.engine.residency(|it| holds(it, 1)).models[0].id;
    it.engine.handle().keep_model(kept, true).unwrap();
    let said = it.engine.run(&b);
    assert!(matches!(said.end(), End::Failed(_)), "{:?}", said.end());
    it.engine.residency(|it| holds(it, 1) && it.models[0].kept && it.models[0].id == kept);
    assert_eq!(loaded(&it.engine.run(&a)), BTreeSet::new());
    it.engine.handle().keep_model(kept, false).unwrap();
    assert!(matches!(it.engine.run(&b).end(), End::Done { .. }));
}

#[test]
fn a_model_that_is_warm_needs_no_loading() {
    let it = alone();
    let a = on("GPU0", files());
    it.engine.handle().preload(Some(a.clone())).unwrap();
    let warm = it.engine.residency(|it| holds(it, 1) && it.models[0].bytes() > 0);
    let said = it.engine.run(&a);
    assert_eq!(loaded(&said), BTreeSet::new());
    let used = it.engine.residency(|it| holds(it, 1) && it.models[0].encodings_made == 1);
    assert_eq!((used.models[0].id, used.models[0].bytes()), (warm.models[0].id, warm.models[0].bytes()), "nothing was missing");
}

#[test]
fn a_text_that_was_read_is_not_read_again_when_its_model_comes_back() {
    let it = alone();
    let a = on("SMALL", files());
    let on_disk = Recipe { placement: PlacementText { params_backend: "te=disk".into(), ..a.placement.clone() }, ..a.clone() };
    let first = it.engine.run(&a).pixels().to_vec();
    it.engine.run(&on("SMALL", stranger()));
    let gone = it.engine.residency(|it| holds(it, 1) && it.models[0].files == stranger());
    assert_eq!((gone.encodings.made, gone.encodings.found), (2, 0));
    let back = it.engine.run(&a);
    assert_eq!(loaded(&back), BTreeSet::from([Module::Diffusion, Module::Vae]));
    assert!(back.pixels() == first);
    // The location of the encoder's weights does not change its output. The decoder is borrowed;
    // its lender makes room.
    let moved = it.engine.run(&on_disk);
    assert_eq!(loaded(&moved), BTreeSet::from([Module::Diffusion]));
    assert!(moved.pixels() == first);
    let other_seed = it.engine.run(&Recipe { seed: Some(Seed(7)), ..on_disk.clone() });
    assert_eq!(loaded(&other_seed), BTreeSet::new(), "a re-roll reads nothing");
    let other_text = it.engine.run(&Recipe { prompt: "a hill".into(), ..on_disk.clone() });
    assert_eq!(loaded(&other_text), BTreeSet::from([Module::Llm]));
    let now = it.engine.residency(|it| holds(it, 1) && it.encodings.made == 3).encodings;
    assert!(now.found == 3 && now.bytes > gone.encodings.bytes, "{now:?}");
    it.engine.handle().unload().unwrap();
    it.engine.residency(|it| it.models.is_empty() && it.encodings.bytes == 0);
    assert!(loaded(&it.engine.run(&on_disk)).contains(&Module::Llm), "all was given back");
}

#[test]
fn a_lora_for_which_there_is_no_room_is_no_picture_and_leaves_no_encoding_behind() {
    let it = alone();
    // MEDIUM holds the model and little more; the LoRA is larger than what is left.
    let plain = on("MEDIUM", files());
    let path = tiny::lora_of_rank(&folder("heavy-lora"), &tiny::Options::default(), 4096).unwrap();
    let heavy = |device: &str| Recipe { loras: vec![Lora::new(path.clone(), 1.0)], ..on(device, files()) };
    let before = it.engine.run(&plain).pixels().to_vec();
    let said = it.engine.run(&heavy("MEDIUM"));
    assert!(said.pictures().is_empty(), "none without the LoRA is shown as one with it");
    assert!(matches!(said.failure().cause, Some(Cause::OutOfMemory(_))), "{:?}", said.failure());
    assert_eq!(it.engine.run(&plain).pixels(), before);
    let with = it.engine.run(&heavy("GPU0")).pixels().to_vec();
    it.engine.handle().unload().unwrap();
    assert_eq!(Engine::start().run(&heavy("GPU0")).pixels(), with, "no encoding of the failed try is found");
}

#[test]
fn a_lora_comes_and_goes_and_changes_without_a_reload() {
    let it = alone();
    let a = on("GPU0", files());
    let plain = it.engine.run(&a).pixels().to_vec();
    let path = tiny::lora(&folder("lora"), &tiny::Options::default()).unwrap();
    let with = |strength| Recipe { loras: vec![Lora::new(path.clone(), strength)], ..a.clone() };
    let strong = it.engine.run(&with(1.0));
    let weak = it.engine.run(&with(0.25));
    let none = it.engine.run(&a);
    let modules = |said: &Said| loaded(said).len();
    assert_eq!((modules(&none), none.pixels()), (0, plain.as_slice()));
    assert_ne!(strong.pixels(), weak.pixels());
    assert_ne!(strong.pixels(), plain);
    // The LoRA's own file is read each time, and nothing of the model.
    let model = it.engine.residency(|it| holds(it, 1));
    assert_eq!(model.models.len(), 1);
}

/// An engine whose job threads can be held at an event until another one has come.
struct Held {
    handle: WatchedHandle,
    state: Arc<(Mutex<Vec<Event>>, Condvar)>,
}

const LIMIT: Duration = Duration::from_mins(10);

impl Held {
    /// A job that says an event for which `holds` is true goes on only once one has come for which
    /// `frees` is true.
    fn start(holds: fn(&Event) -> bool, frees: fn(&[Event]) -> bool) -> Self {
        let state: Arc<(Mutex<Vec<Event>>, Condvar)> = Arc::default();
        let shared = Arc::clone(&state);
        let wake = move |handle: &Handle| {
            let mut hold = false;
            let mut events = shared.0.lock().unwrap();
            while let Some(event) = handle.try_next() {
                hold |= holds(&event);
                events.push(event);
            }
            shared.1.notify_all();
            if hold {
                drop(shared.1.wait_timeout_while(events, LIMIT, |events| !frees(events)).unwrap());
            }
        };
        Self { handle: WatchedHandle::start(start, wake), state }
    }

    fn submit(&self, recipe: &Recipe) -> JobId {
        self.handle
            .submit(Task::Generate {
                recipe: Box::new(recipe.clone()),
                preview: PreviewOptions::Projection { every: 1 },
                shares_steps: false,
            })
            .unwrap()
    }

    fn until_ends(&self, ends: usize) -> Vec<Event> {
        let count = |events: &[Event]| events.iter().filter(|event| matches!(event, Event::End { .. })).count();
        let (events, timeout) =
            self.state.1.wait_timeout_while(self.state.0.lock().unwrap(), LIMIT, |events| count(events) < ends).unwrap();
        assert!(!timeout.timed_out(), "only {events:?}");
        events.clone()
    }
}

fn pixels(events: &[Event], job: JobId) -> Vec<u8> {
    let picture = |event: &Event| match event {
        Event::Picture { job: it, picture } if *it == job => Some(picture.image.pixels().to_vec()),
        _ => None,
    };
    events.iter().find_map(picture).unwrap()
}

#[test]
fn two_devices_compute_at_once_and_each_job_gets_its_own_news() {
    let _lock = lock();
    let (a, b) = (on("GPU0", files()), Recipe { prompt: "a hill".into(), steps: 2, ..on("GPU1", stranger()) });
    let separate: Vec<Vec<u8>> = {
        let engine = Engine::start();
        [&a, &b].map(|recipe| engine.run(recipe).pixels().to_vec()).into()
    };
    // The first job stands in its first step until the second one has a picture.
    let engine = Held::start(
        |event| matches!(event, Event::Step { job: JobId(1), .. }),
        |events| events.iter().any(|event| matches!(event, Event::Picture { job: JobId(2), .. })),
    );
    let jobs = [engine.submit(&a), engine.submit(&b)];
    assert_eq!(jobs, [JobId(1), JobId(2)]);
    let events = engine.until_ends(2);
    let ends: Vec<JobId> = events.iter().filter_map(|event| if let Event::End { job, .. } = event { Some(*job) } else { None }).collect();
    assert_eq!(ends, [JobId(2), JobId(1)]);
    assert_eq!(jobs.map(|job| pixels(&events, job)).to_vec(), separate);
    let steps = |of: JobId| {
        let step = |event: &Event| match event {
            Event::Step { job, step } if *job == of => Some(step.total),
            _ => None,
        };
        events.iter().filter_map(step).collect::<BTreeSet<u32>>()
    };
    assert_eq!((steps(jobs[0]), steps(jobs[1])), (BTreeSet::from([3]), BTreeSet::from([2])));
    let previewed = |of: JobId| events.iter().any(|event| matches!(event, Event::Preview { job, .. } if *job == of));
    assert!(previewed(jobs[0]) && previewed(jobs[1]));
}

fn split(devices: &str, recipe: &Recipe) -> Recipe {
    let placement = PlacementText { split_batch: devices.into(), ..recipe.placement.clone() };
    Recipe { placement, batch_count: 4, ..recipe.clone() }
}

/// Pixels by index and seed.
fn batch(events: &[Event]) -> BTreeMap<(u32, Option<Seed>), Vec<u8>> {
    let picture = |event: &Event| match event {
        Event::Picture { picture, .. } => Some(((picture.info.index, picture.info.seed), picture.image.pixels().to_vec())),
        _ => None,
    };
    let pictures: Vec<_> = events.iter().filter_map(picture).collect();
    let by_index: BTreeMap<_, _> = pictures.iter().cloned().collect();
    assert_eq!(by_index.len(), pictures.len(), "each once");
    by_index
}

/// No step was sent yet.
static FIRST: AtomicBool = AtomicBool::new(true);

#[test]
fn a_batch_is_shared_by_devices_and_its_pictures_are_the_same() {
    let _lock = lock();
    let alone = Recipe { batch_count: 4, ..on("te=cpu,diffusion=GPU0,vae=GPU0", files()) };
    let expected = {
        let engine = Engine::start();
        batch(&engine.run(&alone).events)
    };
    assert_eq!(expected.len(), 4);
    // Whichever device is the first to denoise stands in its first step until the other has made a
    // picture: they work at once.
    let engine = Held::start(
        |event| matches!(event, Event::Step { .. }) && FIRST.swap(false, Ordering::Relaxed),
        |events| events.iter().any(|event| matches!(event, Event::Picture { .. })),
    );
    engine.submit(&split("gpu0,GPU1", &alone));
    let events = engine.until_ends(1);
    assert_eq!(batch(&events), expected);
    let Some(Event::End { end: End::Done { pictures, notes, .. }, .. }) = events.iter().find(|event| matches!(event, Event::End { .. }))
    else {
        panic!("{events:?}")
    };
    let seeds = pictures.iter().map(|it| (it.index, it.seed)).collect::<BTreeSet<_>>();
    assert_eq!((seeds, notes.len()), (expected.keys().copied().collect(), 0));
    let far = |event: &Event| match event {
        Event::Step { step, .. } => Some(step.picture as f32 + (step.done as f32 + step.fraction) / step.total as f32),
        _ => None,
    };
    let far: Vec<f32> = events.iter().filter_map(far).collect();
    assert!(far.windows(2).all(|two| two[0] <= two[1] + 1e-3) && far.last().is_some_and(|last| *last <= 4.0), "{far:?}");
}

#[test]
fn the_prompt_of_a_shared_batch_is_read_once_where_one_device_reads_it() {
    let it = alone();
    let said = it.engine.run(&split("GPU0,GPU1", &on("te=cpu,diffusion=GPU0,vae=GPU0", files())));
    assert!(matches!(said.end(), End::Done { .. }), "{:?}", said.end());
    // One of the two, where it made all pictures before the other was open.
    let now = it.engine.residency(|it| holds(it, 2) || holds(it, 1));
    assert_eq!((now.encodings.made, now.encodings.found), (1, 3));
    assert_eq!(now.models.iter().filter(|model| uses(model, "CPU") > 0).count(), 1, "one text encoder: {now:?}");
}

#[test]
fn what_one_device_cannot_make_the_others_do() {
    let it = alone();
    let whole = on("GPU0", files());
    // Enough that NANO fails before the other has made all of them.
    let many = |recipe: &Recipe| Recipe { batch_count: 16, ..recipe.clone() };
    let expected = batch(&it.engine.run(&many(&whole)).events);
    let said = it.engine.run(&many(&split("GPU0,NANO", &whole)));
    assert_eq!(batch(&said.events), expected);
    let End::Done { notes, .. } = said.end() else { panic!("{:?}", said.end()) };
    assert!(
        notes.len() == 1 && notes[0].starts_with("NANO stopped, and the other devices generated its pictures. NANO has too little memory"),
        "{notes:?}"
    );
    let none = it.engine.run(&split("NANO,PICO", &on("NANO", files())));
    assert!(none.failure().advice.sentence.contains("too little memory"), "{:?}", none.failure());
}

#[test]
fn a_shared_batch_can_be_cancelled() {
    let it = alone();
    let recipe = split("GPU0,GPU1", &on("GPU0", files()));
    let said = it.engine.run_until(&recipe, |event| matches!(event, Event::Picture { .. }));
    assert!(matches!(said.end(), End::Cancelled), "{:?}", said.end());
    assert!(said.pictures().len() < 4);
    it.engine.residency(|it| it.models.iter().all(|model| !model.in_use));
    assert!(matches!(it.engine.run(&recipe).end(), End::Done { .. }));
}

#[test]
fn jobs_on_one_device_keep_their_order() {
    let _lock = lock();
    let engine = Held::start(|_| false, |_| true);
    let recipes = [on("GPU0", files()), on("GPU0", stranger()), on("GPU0", files())];
    let jobs = recipes.map(|recipe| engine.submit(&recipe));
    let events = engine.until_ends(3);
    let begun = |of: JobId| events.iter().position(|event| matches!(event, Event::Begin { job, .. } if *job == of)).unwrap();
    let ended = |of: JobId| events.iter().position(|event| matches!(event, Event::End { job, .. } if *job == of)).unwrap();
    assert!(ended(jobs[0]) < begun(jobs[1]) && ended(jobs[1]) < begun(jobs[2]));
}
