//! The engine's thread: gives each job a thread of its own as soon as the devices that it needs are free.
//!
//! Invariants: each job that starts ends with exactly one `End`, whatever happens inside; jobs that need the same device run one after the
//! other, in the order in which they came; a panic drops every model that nobody uses and the engine goes on.

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::cache::Cache;
use crate::devices;
use crate::engine_end::{EngineEnd, EventSender, Input};
use crate::estimate::EstimateCache;
use crate::history::History;
use crate::protocol::{Control, End, Event, Failure, JobId, ServerAddress, Task};
use crate::remote;
use crate::run;
use crate::sink::{JobSink, WarmSink};
use crate::threads::{Worker, Workers, mark_engine_thread, no_thread};
use atelier_core::placement::{Module, Placement};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_library::HeaderCache;

/// Interval at which an idle engine looks whether other programs need the memory of its models.
const EVICTION_INTERVAL: Duration = Duration::from_secs(5);

/// State that jobs share.
#[derive(Default)]
pub(crate) struct Engine {
    pub(crate) cache: Cache,
    headers: Mutex<HeaderCache>,
    pub(crate) estimates: EstimateCache,
    pub(crate) history: History,
}

impl Engine {
    /// State without models, with the measurements of before.
    pub(crate) fn new(history: History) -> Self {
        Self { history, ..Self::default() }
    }

    pub(crate) fn headers(&self) -> MutexGuard<'_, HeaderCache> {
        self.headers.lock()
    }
}

/// Devices that a job keeps others from.
enum Needed {
    /// All: it changes them, or its placement is not known.
    All,
    /// These, by name.
    Devices(BTreeSet<String>),
}

impl Needed {
    /// The devices that compute for a recipe. The processor is shared, unless it runs `main`: its other work is short.
    fn by(text: &PlacementText, main: Module) -> Self {
        let Ok(placement) = Placement::parse(text, &devices::list()) else { return Self::All };
        let devices = placement.shares().into_iter().flat_map(|share| {
            let on = |module| share.assignment(module).runs_on.clone();
            let main = on(main);
            Module::ALL.map(on).into_iter().filter(move |name| *name == main || !name.eq_ignore_ascii_case("cpu"))
        });
        Self::Devices(devices.collect())
    }

    fn of(task: &Task) -> Self {
        match task {
            Task::Generate { recipe, .. } => Self::by(&recipe.placement, Module::Diffusion),
            Task::Upscale { placement, .. } => Self::by(placement, Module::Upscaler),
        }
    }

    fn collides(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Devices(mine), Self::Devices(other)) => !mine.is_disjoint(other),
            (Self::All, _) | (_, Self::All) => true,
        }
    }
}

/// Work that waits for its devices.
enum Work {
    Job(JobId, Task),
    AddServer(ServerAddress),
}

/// A model that is loaded before a job needs it.
struct Preload {
    recipe: Box<Recipe>,
    needed: Needed,
    cancel: Arc<AtomicBool>,
    worker: Worker,
    /// All models were unloaded meanwhile.
    discard_after_load: bool,
}

/// A job at work.
struct Running {
    job: JobId,
    needed: Needed,
    worker: Worker,
}

struct Scheduler {
    engine: Arc<Engine>,
    end: EngineEnd,
    waiting: VecDeque<(Work, Needed)>,
    running: Vec<Running>,
    workers: Workers,
    /// The model to load once nothing else needs its devices.
    next_preload: Option<Box<Recipe>>,
    preload: Option<Preload>,
}

/// Serves requests until the handle is gone and every job has ended.
pub(crate) fn run(end: EngineEnd, engine: Engine) {
    mark_engine_thread();
    let mut scheduler = Scheduler {
        engine: Arc::new(engine),
        end,
        waiting: VecDeque::new(),
        running: Vec::new(),
        workers: Workers::default(),
        next_preload: None,
        preload: None,
    };
    let mut is_open = true;
    while is_open || !scheduler.running.is_empty() || scheduler.preload.is_some() {
        match scheduler.end.next_within(EVICTION_INTERVAL) {
            Some(Input::Job(job, task)) => {
                let needed = Needed::of(&task);
                scheduler.waiting.push_back((Work::Job(job, task), needed));
            }
            Some(Input::Control(control)) => scheduler.control(control),
            Some(Input::JobEnded(job)) => {
                if let Some(at) = scheduler.running.iter().position(|running| running.job == job) {
                    scheduler.workers.release(scheduler.running.remove(at).worker);
                }
            }
            Some(Input::PreloadEnded) => scheduler.end_preload(),
            Some(Input::Closed) => {
                is_open = false;
                scheduler.waiting.clear();
                scheduler.stop_preload();
            }
            None => {}
        }
        scheduler.begin();
        if scheduler.running.is_empty() && scheduler.preload.is_none() && scheduler.engine.cache.evict_for_others() {
            scheduler.send_residency();
        }
    }
}

impl Scheduler {
    fn control(&mut self, control: Control) {
        match control {
            // The dispatcher carries it out.
            Control::Cancel(_) => {}
            Control::AddServer(server) => self.waiting.push_back((Work::AddServer(server), Needed::All)),
            Control::UnloadAll => {
                self.stop_preload();
                if let Some(preload) = &mut self.preload {
                    preload.discard_after_load = true;
                }
                self.engine.cache.clear();
                self.end.finish_unload();
                self.send_residency();
            }
            Control::Unload(model) => {
                self.engine.cache.unload(model);
                self.end.finish_unload();
                self.send_residency();
            }
            Control::Keep { model, keep } => {
                self.engine.cache.keep(model, keep);
                self.send_residency();
            }
            Control::SetReserve(reserve) => self.engine.cache.set_reserve(reserve),
            Control::Preload(recipe) => {
                let same = |preload: &Preload| recipe.as_ref().is_some_and(|recipe| recipe.opens_like(&preload.recipe));
                if !self.preload.as_ref().is_some_and(same) {
                    self.stop_preload();
                    self.next_preload = recipe;
                }
            }
        }
    }

    /// Begins all work whose devices are free; each device serves in the order of arrival.
    fn begin(&mut self) {
        let mut at = 0;
        while let Some((work, needed)) = self.waiting.get(at) {
            let before = self.waiting.iter().take(at).map(|(_, needed)| needed);
            let mut others = before.chain(self.running.iter().map(|running| &running.needed));
            let is_free = others.all(|other| !needed.collides(other));
            // A preload is either of the model of this job, and nearly there, or in its way.
            let in_the_way = self.preload.as_ref().filter(|preload| preload.needed.collides(needed));
            if let Some(preload) = in_the_way
                && !matches!(work, Work::Job(_, Task::Generate { recipe, .. }) if recipe.opens_like(&preload.recipe))
            {
                preload.cancel.store(true, Ordering::Relaxed);
            }
            if !is_free || in_the_way.is_some() {
                at += 1;
                continue;
            }
            match self.waiting.remove(at) {
                Some((Work::Job(job, task), needed)) => self.begin_job(job, task, needed),
                Some((Work::AddServer(server), _)) => {
                    let _adding = devices::lock_list_to_add();
                    let added = remote::add(&server);
                    self.end.send(Event::Server { server, added });
                }
                None => return,
            }
        }
        self.begin_preload();
    }

    fn begin_job(&mut self, job: JobId, task: Task, needed: Needed) {
        let Some(cancel) = self.end.start(job) else { return };
        let (engine, sender, dispatcher) = (Arc::clone(&self.engine), self.end.sender(), Arc::clone(self.end.dispatcher()));
        let work = move || {
            let _devices = devices::lock_list();
            let end = one_job(&engine, job, &task, sender.clone(), cancel);
            sender.send(Event::End { job, end });
            sender.send(Event::Residency(engine.cache.residency()));
        };
        if let Some(worker) = self.workers.run(work, move || dispatcher.push(Input::JobEnded(job))) {
            self.running.push(Running { job, needed, worker });
        } else {
            self.end.send(Event::End { job, end: End::Failed(no_thread()) });
        }
    }

    fn begin_preload(&mut self) {
        let Some(recipe) = self.next_preload.take() else { return };
        let needed = Needed::by(&recipe.placement, Module::Diffusion);
        let others = self.waiting.iter().map(|(_, needed)| needed).chain(self.running.iter().map(|running| &running.needed));
        if self.preload.is_some() || others.into_iter().any(|other| needed.collides(other)) {
            self.next_preload = Some(recipe);
            return;
        }
        let (engine, sender, dispatcher) = (Arc::clone(&self.engine), self.end.sender(), Arc::clone(self.end.dispatcher()));
        let (cancel, wanted) = (Arc::new(AtomicBool::new(false)), recipe.clone());
        let sink = WarmSink::new(Arc::clone(&cancel));
        let work = move || {
            let _devices = devices::lock_list();
            if catch_unwind(AssertUnwindSafe(|| run::preload(&engine, &wanted, &sink))).is_err() {
                engine.cache.clear();
            }
            sender.send(Event::Residency(engine.cache.residency()));
        };
        if let Some(worker) = self.workers.run(work, move || dispatcher.push(Input::PreloadEnded)) {
            self.preload = Some(Preload { recipe, needed, cancel, worker, discard_after_load: false });
        }
    }

    fn stop_preload(&mut self) {
        self.next_preload = None;
        if let Some(preload) = &self.preload {
            preload.cancel.store(true, Ordering::Relaxed);
        }
    }

    fn end_preload(&mut self) {
        let Some(preload) = self.preload.take() else { return };
        self.workers.release(preload.worker);
        if preload.discard_after_load {
            self.engine.cache.clear();
            self.send_residency();
        }
    }

    fn send_residency(&self) {
        self.end.send(Event::Residency(self.engine.cache.residency()));
    }
}

fn one_job(engine: &Engine, job: JobId, task: &Task, sender: EventSender, cancel: Arc<AtomicBool>) -> End {
    let sink = JobSink::new(job, sender, cancel);
    let outcome = catch_unwind(AssertUnwindSafe(|| match task {
        Task::Generate { recipe, preview } => run::generate(engine, job, recipe, *preview, &sink),
        Task::Upscale { image, model, allow_pickle, placement, threads } => {
            run::upscale(engine, job, image, (model, *allow_pickle), placement, *threads, &sink)
        }
    }));
    let end = outcome.unwrap_or_else(|_| {
        engine.cache.clear();
        End::Failed(Failure {
            log: sink.log_lines(),
            ..Failure::new(
                "Atelier made a mistake while it worked on this picture.",
                "The model was unloaded; generate again. If it happens again, please report it with the details.",
            )
        })
    });
    let peaks = sink.peaks();
    // What several devices took together says nothing of one.
    if let (Task::Generate { recipe, .. }, End::Done { .. }) = (task, &end)
        && recipe.placement.split_batch.is_empty()
    {
        let (devices, overhead) = engine.cache.overhead();
        engine.history.learn(recipe, &peaks, &devices, &overhead);
    }
    if !peaks.is_empty() {
        sink.send(Event::Measured { job, peaks });
    }
    end
}
