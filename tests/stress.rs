//! A thousand things at random that people and programs do to an engine whose devices have too
//! little memory for all of them.
//!
//! The devices belong to the process: `GPU0` has room for two tiny models, `GPU1` for one, `NANO`
//! for none.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use atelier_core::placement::Reserve;
use atelier_core::recipe::{FileRole, Lora, ModelFiles, PlacementText, Recipe, Seed};
use atelier_engine::{Cause, End, Event, Failure, Handle, JobId, PreviewOptions, Residency, Task, simulate_devices, start};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use support::handle::WatchedHandle;
use support::{folder, recipe, resident_bytes};
use testkit::{broken, tiny};

const OPERATIONS: usize = 1000;
/// From here on memory must not grow.
const SETTLED: usize = 200;
/// Jobs that wait or run at once.
const AT_ONCE: usize = 4;
/// Longer than any job here takes on the slowest machine: reaching it means that the engine stands
/// still.
const LIMIT: Duration = Duration::from_mins(2);
/// By how much memory may differ between two moments at which the engine holds nothing: pieces of
/// the allocators that are not empty. One model in a hundred operations that is not freed is more.
const MAX_GROWTH: u64 = 128 << 20;

/// Prompt, seed, steps, number of pictures, and the LoRA's strength.
const TEXTS: [(&str, u64, u32, u32, f32); 4] =
    [("a lake", 1, 1, 1, 0.0), ("a lake", 2, 2, 1, 0.0), ("a hill", 3, 1, 2, 0.0), ("a wood", 4, 1, 1, 0.5)];
const MODELS: usize = 4;

/// Expected outcome of a job that is not cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// These pictures. Only a kept model may be in the way.
    Pictures,
    /// A file is broken.
    Failure,
    /// A device has no room.
    NoRoom,
}

struct Submitted {
    outcome: Outcome,
    pictures: Vec<Vec<u8>>,
    /// A model was exempt from eviction at any time since then.
    kept: bool,
    cancelled: bool,
    made: usize,
}

#[derive(Default)]
struct News {
    /// Jobs that have not ended.
    open: BTreeMap<JobId, Submitted>,
    /// After so many of its news a job is cancelled.
    cancel_after: BTreeMap<JobId, u32>,
    residency: Residency,
    ends: BTreeMap<&'static str, usize>,
    estimates: usize,
    /// Events that must not happen.
    faults: Vec<String>,
}

struct Engine {
    handle: WatchedHandle,
    news: Arc<(Mutex<News>, Condvar)>,
}

impl Engine {
    fn start() -> Self {
        let news: Arc<(Mutex<News>, Condvar)> = Arc::default();
        let shared = Arc::clone(&news);
        let wake = move |handle: &Handle| {
            let mut news = shared.0.lock().unwrap();
            while let Some(event) = handle.try_next() {
                news.hear(event, handle);
            }
            shared.1.notify_all();
        };
        Self { handle: WatchedHandle::start(start, wake), news }
    }

    fn submit(&self, asked: &Asked, cancel_after: Option<u32>) {
        let task = Task::Generate {
            recipe: Box::new(asked.recipe.clone()),
            preview: PreviewOptions::Projection { every: 1 },
            shares_steps: false,
        };
        // Held, so that no news come before the job is known.
        let mut news = self.news.0.lock().unwrap();
        let job = self.handle.submit(task).unwrap();
        let kept = news.residency.models.iter().any(|model| model.kept);
        let (outcome, pictures) = (asked.outcome, asked.pictures.clone());
        news.open.insert(job, Submitted { outcome, pictures, kept, cancelled: false, made: 0 });
        if let Some(after) = cancel_after {
            news.cancel_after.insert(job, after);
        }
    }

    /// Waits until so few jobs are open.
    fn until_open(&self, jobs: usize) {
        let news = self.news.0.lock().unwrap();
        let (news, timeout) = self.news.1.wait_timeout_while(news, LIMIT, |news| news.open.len() > jobs).unwrap();
        assert!(!timeout.timed_out(), "the engine stands still with {:?}", news.open.keys());
    }

    /// Waits for every job, gives all memory back, and says how much this process has then.
    fn rest(&self) -> u64 {
        self.until_open(0);
        self.handle.preload(None).unwrap();
        let used = |residency: &Residency| residency.models.iter().any(|model| model.in_use);
        self.until(|news| !used(&news.residency));
        self.handle.unload().unwrap();
        self.until(|news| news.residency.models.is_empty());
        resident_bytes()
    }

    fn until(&self, enough: impl Fn(&News) -> bool) {
        let news = self.news.0.lock().unwrap();
        let (news, timeout) = self.news.1.wait_timeout_while(news, LIMIT, |news| !enough(news)).unwrap();
        assert!(!timeout.timed_out(), "the engine stands still with {:?}", news.residency);
    }

    fn any_model(&self, random: &mut StdRng) -> Option<(atelier_engine::ResidentId, bool)> {
        let news = self.news.0.lock().unwrap();
        let models = &news.residency.models;
        (!models.is_empty()).then(|| &models[random.random_range(0..models.len())]).map(|model| (model.id, model.kept))
    }
}

impl News {
    fn hear(&mut self, event: Event, handle: &Handle) {
        match &event {
            Event::Residency(residency) => {
                if residency.models.iter().any(|model| model.kept) {
                    self.open.values_mut().for_each(|job| job.kept = true);
                }
                self.residency = residency.clone();
                return;
            }
            Event::Estimated { .. } => {
                self.estimates += 1;
                return;
            }
            Event::Log { .. } => return,
            _ => {}
        }
        let Some(job) = event.job() else { return };
        let Some(submitted) = self.open.get_mut(&job) else {
            self.faults.push(format!("{job} is over, or never began: {event:?}"));
            return;
        };
        match event {
            Event::Picture { picture, .. } => {
                submitted.made += 1;
                if submitted.pictures.get(picture.info.index as usize).is_none_or(|pixels| pixels != picture.image.pixels()) {
                    self.faults.push(format!("{job} made another picture than an engine that is left in peace"));
                }
            }
            Event::End { end, .. } => {
                let how = submitted.judge(&end);
                *self.ends.entry(how.unwrap_or("wrong")).or_default() += 1;
                if how.is_none() {
                    self.faults.push(format!("{job} should come to {:?}: {end:?}", submitted.outcome));
                }
                self.open.remove(&job);
                self.cancel_after.remove(&job);
            }
            _ => {
                if let Some(left) = self.cancel_after.get_mut(&job) {
                    *left -= 1;
                    if *left == 0 {
                        self.cancel_after.remove(&job);
                        submitted.cancelled = true;
                        handle.cancel(job);
                    }
                }
            }
        }
    }
}

impl Submitted {
    /// Name of an expected end; `None` for one that must not be.
    fn judge(&self, end: &End) -> Option<&'static str> {
        let no_room = |failure: &Failure| matches!(failure.cause, Some(Cause::OutOfMemory(_)));
        let mistake =
            |failure: &Failure| failure.advice.sentence.contains("Internal error") || failure.advice.sentence.contains("engine stopped");
        match (end, self.outcome) {
            (End::Done { pictures, .. }, Outcome::Pictures) if pictures.len() == self.pictures.len() && self.made == pictures.len() => {
                Some("made")
            }
            (End::Cancelled, _) if self.cancelled => Some("cancelled"),
            (End::Failed(failure), _) if mistake(failure) => None,
            (End::Failed(failure), Outcome::NoRoom) if no_room(failure) => Some("no room"),
            (End::Failed(failure), Outcome::Pictures) if no_room(failure) && self.kept => Some("no room beside a kept model"),
            (End::Failed(failure), Outcome::Failure) if !no_room(failure) || self.kept => Some("broken"),
            _ => None,
        }
    }
}

/// A recipe, and what comes of it.
struct Asked {
    recipe: Recipe,
    outcome: Outcome,
    pictures: Vec<Vec<u8>>,
}

fn files_of(tiny: tiny::TinyFiles) -> ModelFiles {
    [(FileRole::Diffusion, tiny.diffusion), (FileRole::Llm, tiny.llm), (FileRole::Taesd, tiny.taesd)].into_iter().collect()
}

/// Two families of two models each; those of a family share text encoder and autoencoder.
fn models() -> [ModelFiles; MODELS] {
    let family = |seed: u64| {
        let make = |seed: u64| {
            let options = tiny::Options { seed, ..tiny::Options::default() };
            files_of(tiny::zimage(&folder(&format!("model{seed}")), &options).unwrap())
        };
        let (first, mut second) = (make(seed), make(seed + 1));
        for role in [FileRole::Llm, FileRole::Taesd] {
            second.set(role, first.get(role).unwrap());
        }
        [first, second]
    };
    let ([a, b], [c, d]) = (family(1), family(11));
    [a, b, c, d]
}

fn placement(backend: &str, params_backend: &str) -> PlacementText {
    PlacementText { backend: backend.into(), params_backend: params_backend.into(), ..PlacementText::default() }
}

/// Placements on which models can run.
fn places() -> Vec<PlacementText> {
    let split = PlacementText { split_batch: "GPU0,GPU1".into(), ..placement("GPU0", "") };
    let whole: Vec<PlacementText> = [
        ("GPU0", ""),
        ("GPU0", ""),
        ("GPU1", ""),
        ("cpu", ""),
        ("te=GPU1,diffusion=GPU0,vae=GPU0", ""),
        ("te=cpu,diffusion=GPU1,vae=cpu", ""),
        ("GPU0", "cpu"),
        ("GPU1", "diffusion=GPU0,te=disk"),
        ("GPU1", "disk"),
    ]
    .map(|(backend, params)| placement(backend, params))
    .into();
    [whole, vec![split]].concat()
}

/// The outcome of a recipe in an idle engine.
fn undisturbed(engine: &support::engine::Engine, recipe: &Recipe) -> Vec<Vec<u8>> {
    let alone = Recipe { placement: placement("cpu", ""), ..recipe.clone() };
    let said = engine.run(&alone);
    assert!(matches!(said.end(), End::Done { .. }), "{:?}", said.end());
    said.all_pixels().into_iter().map(<[u8]>::to_vec).collect()
}

fn good_recipes() -> Vec<Asked> {
    let engine = support::engine::Engine::start();
    let lora: PathBuf = tiny::lora(&folder("lora"), &tiny::Options::default()).unwrap();
    let mut all = Vec::new();
    for files in models() {
        for (prompt, seed, steps, batch_count, strength) in TEXTS {
            let loras = if strength > 0.0 { vec![Lora::new(lora.clone(), strength)] } else { Vec::new() };
            let recipe =
                Recipe { files: files.clone(), prompt: prompt.into(), seed: Some(Seed(seed)), steps, batch_count, loras, ..recipe() };
            let pictures = undisturbed(&engine, &recipe);
            all.push(Asked { recipe, outcome: Outcome::Pictures, pictures });
        }
    }
    all
}

fn bad_recipes(good: &Recipe) -> Vec<Asked> {
    let with_diffusion = |path: PathBuf| {
        let mut files = good.files.clone();
        files.set(FileRole::Diffusion, path);
        files
    };
    let broken_files = [
        with_diffusion(broken::truncated_in_data(&folder("broken")).unwrap()),
        with_diffusion(broken::truncated_in_header(&folder("broken")).unwrap()),
        with_diffusion(folder("broken").join("not there.safetensors")),
        files_of(broken::llm_as_diffusion(&folder("llm")).unwrap()),
        files_of(broken::wrong_width(&folder("width")).unwrap()),
    ];
    let on = |place: &str| placement(place, "");
    let failure = |(n, files): (usize, ModelFiles)| {
        let place = if n % 2 == 0 { "GPU0" } else { "GPU1" };
        Asked { recipe: Recipe { files, placement: on(place), ..good.clone() }, outcome: Outcome::Failure, pictures: Vec::new() }
    };
    let no_room = ["NANO", "te=NANO,diffusion=GPU0,vae=GPU0", "te=GPU1,diffusion=NANO,vae=cpu", "te=cpu,diffusion=GPU0,vae=NANO"]
        .map(|place| Asked { recipe: Recipe { placement: on(place), ..good.clone() }, outcome: Outcome::NoRoom, pictures: Vec::new() });
    broken_files.into_iter().enumerate().map(failure).chain(no_room).collect()
}

#[test]
fn a_thousand_things_at_random_leave_nothing_behind() {
    simulate_devices(&"GPU0:0.052,GPU1:0.036,NANO:0.002".parse().unwrap()).unwrap();
    let seed = std::env::var("STRESS_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(6);
    let mut random = StdRng::seed_from_u64(seed);
    let (mut good, places) = (good_recipes(), places());
    let bad = bad_recipes(&good[0].recipe);
    let engine = Engine::start();
    // As many models as estimates ever keep open.
    for (n, asked) in good.iter().step_by(TEXTS.len()).enumerate() {
        engine.handle.estimate(Recipe { placement: places[0].clone(), ..asked.recipe.clone() }).unwrap();
        engine.until(|news| news.estimates > n);
    }
    let (mut settled, mut model, mut place) = (0, 0, 0);
    for operation in 0..OPERATIONS {
        if operation == SETTLED {
            settled = engine.rest();
        }
        engine.until_open(AT_ONCE - 1);
        // Another picture of the model at hand, more often than another model.
        if random.random_range(0..100) < 40 {
            (model, place) = (random.random_range(0..MODELS), random.random_range(0..places.len()));
        }
        let good = {
            let asked = &mut good[model * TEXTS.len() + random.random_range(0..TEXTS.len())];
            asked.recipe.placement = places[place].clone();
            &*asked
        };
        let chance = random.random_range(0..100);
        match chance {
            0..18 => engine.submit(good, None),
            18..31 => engine.submit(good, Some(random.random_range(1..25))),
            31..35 => engine.submit(&bad[random.random_range(0..bad.len())], None),
            35..37 => engine.submit(&bad[random.random_range(0..bad.len())], Some(random.random_range(1..12))),
            37..41 => engine.handle.preload(Some(good.recipe.clone())).unwrap(),
            41..47 => engine.handle.preload(None).unwrap(),
            47..49 => engine.handle.unload().unwrap(),
            49..78 => {
                if let Some((model, kept)) = engine.any_model(&mut random) {
                    match chance {
                        49..61 => engine.handle.unload_model(model).unwrap(),
                        // Few at once, or nothing else would fit.
                        61..68 => engine.handle.keep_model(model, !kept).unwrap(),
                        _ => engine.handle.keep_model(model, false).unwrap(),
                    }
                }
            }
            78..85 => engine.handle.set_reserve(Reserve { percent: random.random_range(0..20), most_bytes: 1 << 30 }).unwrap(),
            85 => engine.handle.estimate(good.recipe.clone()).unwrap(),
            86..98 => engine.handle.list_devices().unwrap(),
            _ => engine.until_open(0),
        }
        let faults = std::mem::take(&mut engine.news.0.lock().unwrap().faults);
        assert!(faults.is_empty(), "seed {seed}, operation {operation}: {faults:#?}");
    }
    let grown = engine.rest().saturating_sub(settled);
    let news = std::mem::take(&mut *engine.news.0.lock().unwrap());
    assert!(news.faults.is_empty(), "seed {seed}: {:#?}", news.faults);
    println!("{:?}, {grown} bytes more than after {SETTLED} operations", news.ends);
    for how in ["made", "cancelled", "broken", "no room"] {
        assert!(news.ends.get(how).is_some_and(|times| *times > 10), "{how}: {:?}", news.ends);
    }
    assert!(grown < MAX_GROWTH, "{grown} bytes more after {} operations", OPERATIONS - SETTLED);
    drop(engine);
    let engine = support::engine::Engine::start();
    engine.handle().list_devices().unwrap();
    for device in engine.devices().iter().filter(|device| ["GPU0", "GPU1", "NANO"].contains(&device.name.as_str())) {
        assert_eq!(device.memory_free_bytes, device.memory_total_bytes, "{}", device.name);
    }
}
