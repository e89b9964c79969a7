//! The engine's thread: gives each job a thread of its own as soon as the devices that it needs are
//! free.
//!
//! Invariants: each job that starts ends with exactly one `End`, whatever happens inside; jobs that
//! need the same device run one after the other, in the order in which they came; a panic drops
//! every model that nobody uses and the engine goes on.

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::cache::Cache;
use crate::engine_end::{EngineEnd, Input, WorkId};
use crate::job::{self, automatic};
use crate::placement::ResolvedPlacement;
use crate::protocol::{Control, End, Event, JobId, RemoteError, ServerAddress, Task};
use crate::rates::Measurement;
use crate::state::EngineState;
use crate::threads::{Worker, Workers, mark_engine_thread, no_thread};
use crate::{devices, remote};
use atelier_core::placement::{Module, PlacementError};
use atelier_core::recipe::{PlacementText, Recipe};

/// Interval at which an idle engine looks whether other programs need the memory of its models, and
/// whether it still needs what it keeps for compute buffers.
const EVICTION_INTERVAL: Duration = Duration::from_secs(5);

/// Devices that a job keeps others from.
enum Needed {
    /// All: it changes them, or its placement is not known.
    All,
    Devices(BTreeSet<String>),
}

impl Needed {
    /// The devices that compute for a recipe. The processor is shared, unless it runs `main`: its
    /// other work is short.
    fn by(placement: Option<&ResolvedPlacement>, main: Module) -> Self {
        let Some(placement) = placement else { return Self::All };
        let devices = placement.placement.shares().into_iter().flat_map(|shard| {
            let on = |module| shard.assignment(module).runs_on.clone();
            let main = on(main);
            Module::ALL.map(on).into_iter().filter(move |name| *name == main || !name.eq_ignore_ascii_case("cpu"))
        });
        Self::Devices(devices.collect())
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
    Job {
        job: JobId,
        task: Task,
        /// `None` where it names a device that is not known yet, since a server before it in the
        /// queue may add one; and where it is left to the engine, and the model was not looked at
        /// yet.
        placement: Option<Box<ResolvedPlacement>>,
    },
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

/// Work on a thread of its own.
struct Running {
    work: WorkId,
    needed: Needed,
    worker: Worker,
}

struct Scheduler {
    engine: Arc<EngineState>,
    end: EngineEnd,
    waiting: VecDeque<(Work, Needed)>,
    running: Vec<Running>,
    workers: Workers,
    /// The model to load once nothing else needs its devices.
    next_preload: Option<(Box<Recipe>, Option<ResolvedPlacement>)>,
    preload: Option<Preload>,
    /// The measurement to run once nothing else is to be done.
    next_measurement: Option<Measurement>,
    measurement: Option<(Measurement, Worker)>,
}

/// Serves requests until the handle is gone and every job has ended.
pub(crate) fn run(end: EngineEnd, engine: EngineState) {
    mark_engine_thread();
    let mut scheduler = Scheduler {
        engine: Arc::new(engine),
        end,
        waiting: VecDeque::new(),
        running: Vec::new(),
        workers: Workers::default(),
        next_preload: None,
        preload: None,
        next_measurement: None,
        measurement: None,
    };
    let mut is_open = true;
    while is_open || !scheduler.is_idle() {
        match scheduler.end.next_within(EVICTION_INTERVAL) {
            Some(Input::Job(job, mut task)) => {
                let placement = match &mut task {
                    Task::Generate { recipe, .. } => scheduler.resolve_recipe(recipe),
                    Task::Upscale { placement, .. } => scheduler.resolve(placement),
                };
                let needed = Needed::by(placement.as_ref(), main_module(&task));
                scheduler.waiting.push_back((Work::Job { job, task, placement: placement.map(Box::new) }, needed));
            }
            Some(Input::Control(control)) => scheduler.control(control),
            Some(Input::WorkEnded(work)) => {
                if let Some(at) = scheduler.running.iter().position(|running| running.work == work) {
                    scheduler.workers.release(scheduler.running.remove(at).worker);
                }
            }
            Some(Input::PreloadEnded) => scheduler.end_preload(),
            Some(Input::MeasurementEnded) => scheduler.end_measurement(),
            Some(Input::Closed) => {
                is_open = false;
                scheduler.waiting.clear();
                scheduler.stop_preload();
                scheduler.stop_measurement();
            }
            None => {}
        }
        scheduler.begin();
        if scheduler.is_idle() {
            Cache::release_unused_buffers();
            if scheduler.engine.cache.evict_for_others() {
                scheduler.send_residency();
            }
        }
    }
}

impl Scheduler {
    /// Nothing runs on a thread of its own.
    const fn is_idle(&self) -> bool {
        self.running.is_empty() && self.preload.is_none() && self.measurement.is_none()
    }

    fn control(&mut self, control: Control) {
        match control {
            // The dispatcher carries it out.
            Control::Cancel(_) | Control::WatchDevices(_) => {}
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
            Control::PlaceAutomatically(places) => self.engine.set_places_automatically(places),
            Control::Preload(mut recipe) => {
                let placement = recipe.as_mut().and_then(|recipe| self.resolve_recipe(recipe));
                let same = |preload: &Preload| recipe.as_ref().is_some_and(|recipe| recipe.opens_like(&preload.recipe));
                if !self.preload.as_ref().is_some_and(same) {
                    self.stop_preload();
                    self.next_preload = recipe.map(|recipe| (recipe, placement));
                }
            }
            Control::Measure(request) => {
                self.stop_measurement();
                self.next_measurement = request.as_ref().map(Measurement::new);
            }
        }
    }

    /// Begins all work whose devices are free; each device serves in the order of arrival.
    fn begin(&mut self) {
        if let Some((measurement, _)) = &self.measurement {
            if !self.waiting.is_empty() || self.next_preload.is_some() || self.next_measurement.is_some() {
                measurement.give_way();
            }
            return;
        }
        let mut at = 0;
        while let Some((work, needed)) = self.waiting.get(at) {
            let before = self.waiting.iter().take(at).map(|(_, needed)| needed);
            let mut others = before.chain(self.running.iter().map(|running| &running.needed));
            let is_free = others.all(|other| !needed.collides(other));
            // A preload is either of the model of this job, and nearly there, or in its way.
            let in_the_way = self.preload.as_ref().filter(|preload| preload.needed.collides(needed));
            if let Some(preload) = in_the_way
                && !matches!(work, Work::Job { task: Task::Generate { recipe, .. }, .. } if recipe.opens_like(&preload.recipe))
            {
                preload.cancel.store(true, Ordering::Relaxed);
            }
            if !is_free || in_the_way.is_some() {
                at += 1;
                continue;
            }
            match self.waiting.remove(at) {
                Some((Work::Job { job, task, placement }, needed)) => self.begin_job(job, task, placement.map(|it| *it), needed),
                Some((Work::AddServer(server), needed)) => self.begin_adding(server, needed),
                None => return,
            }
        }
        self.begin_preload();
        self.begin_measurement();
    }

    fn begin_job(&mut self, job: JobId, mut task: Task, placement: Option<ResolvedPlacement>, needed: Needed) {
        let Some(cancel) = self.end.start(job) else { return };
        let placement = match &task {
            Task::Generate { recipe, .. } if placement.is_none() && self.is_left_to_engine(recipe) => None,
            Task::Generate { .. } | Task::Upscale { .. } => Some(resolved_by_now(placement, text_of(&task))),
        };
        let needed = match &placement {
            Some(Ok(placement)) => Needed::by(Some(placement), main_module(&task)),
            Some(Err(_)) | None => needed,
        };
        let (engine, sender, dispatcher) = (Arc::clone(&self.engine), self.end.sender(), Arc::clone(self.end.dispatcher()));
        let work = move || {
            let _devices = devices::lock_list();
            let placement = placement.unwrap_or_else(|| place(&engine, &mut task, &cancel));
            let end = job::run(&engine, job, &task, placement, sender.clone(), cancel);
            sender.send(Event::End { job, end });
            sender.send(Event::Residency(engine.cache.residency()));
        };
        let work_id = WorkId::Job(job);
        if let Some(worker) = self.workers.run(work, move || dispatcher.push(Input::WorkEnded(work_id))) {
            self.running.push(Running { work: work_id, needed, worker });
        } else {
            self.end.send(Event::End { job, end: End::Failed(no_thread()) });
        }
    }

    /// On a thread of its own: a server may keep its answer to itself for a while.
    fn begin_adding(&mut self, server: ServerAddress, needed: Needed) {
        let (sender, dispatcher, address) = (self.end.sender(), Arc::clone(self.end.dispatcher()), server.clone());
        let work = move || {
            let added = catch_unwind(|| remote::add(&address)).unwrap_or_else(|_| Err(RemoteError::Lost(address.to_string())));
            sender.send(Event::Server { server: address, added });
        };
        if let Some(worker) = self.workers.run(work, move || dispatcher.push(Input::WorkEnded(WorkId::AddServer))) {
            self.running.push(Running { work: WorkId::AddServer, needed, worker });
        } else {
            let lost = RemoteError::Lost(server.to_string());
            self.end.send(Event::Server { server, added: Err(lost) });
        }
    }

    fn begin_preload(&mut self) {
        let Some((recipe, placement)) = self.next_preload.take() else { return };
        let needed = Needed::by(placement.as_ref(), Module::Diffusion);
        let others = self.waiting.iter().map(|(_, needed)| needed).chain(self.running.iter().map(|running| &running.needed));
        if self.preload.is_some() || others.into_iter().any(|other| needed.collides(other)) {
            self.next_preload = Some((recipe, placement));
            return;
        }
        let (engine, sender, dispatcher) = (Arc::clone(&self.engine), self.end.sender(), Arc::clone(self.end.dispatcher()));
        let placement =
            if placement.is_none() && self.is_left_to_engine(&recipe) { None } else { Some(resolved_by_now(placement, &recipe.placement)) };
        let (cancel, mut wanted) = (Arc::new(AtomicBool::new(false)), recipe.clone());
        let cancelled = Arc::clone(&cancel);
        let work = move || {
            let _devices = devices::lock_list();
            let placement = placement.unwrap_or_else(|| place_recipe(&engine, &mut wanted, &cancelled));
            if catch_unwind(AssertUnwindSafe(|| job::preload(&engine, &wanted, placement, cancelled))).is_err() {
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

    fn begin_measurement(&mut self) {
        if !self.is_idle() || !self.waiting.is_empty() || self.next_preload.is_some() {
            return;
        }
        let Some(measurement) = self.next_measurement.take() else { return };
        let (engine, sender, dispatcher) = (Arc::clone(&self.engine), self.end.sender(), Arc::clone(self.end.dispatcher()));
        let running = measurement.clone();
        if let Some(worker) =
            self.workers.run(move || running.run(&engine.rates, &sender), move || dispatcher.push(Input::MeasurementEnded))
        {
            self.measurement = Some((measurement, worker));
        } else {
            self.end.send(measurement.event(false));
        }
    }

    fn stop_measurement(&mut self) {
        if let Some(waiting) = self.next_measurement.take() {
            self.end.send(waiting.event(false));
        }
        if let Some((running, _)) = &self.measurement {
            running.abandon();
        }
    }

    fn end_measurement(&mut self) {
        let Some((measurement, worker)) = self.measurement.take() else { return };
        self.workers.release(worker);
        if measurement.is_unfinished() && self.next_measurement.is_none() {
            self.next_measurement = Some(measurement);
        } else {
            self.end.send(measurement.event(false));
        }
    }

    /// Resolves a placement at the engine's door, unless devices are still to be added.
    fn resolve(&self, text: &PlacementText) -> Option<ResolvedPlacement> {
        self.knows_devices().then(|| ResolvedPlacement::resolve(text, &devices::list()).ok()).flatten()
    }

    /// The same for a recipe, which may leave its placement to the engine; then it gets the text of
    /// what was chosen.
    fn resolve_recipe(&self, recipe: &mut Recipe) -> Option<ResolvedPlacement> {
        if !self.is_left_to_engine(recipe) {
            return self.resolve(&recipe.placement);
        }
        let chosen = self.knows_devices().then(|| automatic::of_known(&self.engine, recipe, &devices::list())).flatten()?;
        recipe.placement = chosen.placement.text();
        Some(chosen)
    }

    /// No device is still to be added.
    fn knows_devices(&self) -> bool {
        !self.waiting.iter().any(|(work, _)| matches!(work, Work::AddServer(_)))
            && !self.running.iter().any(|running| running.work == WorkId::AddServer)
    }

    fn is_left_to_engine(&self, recipe: &Recipe) -> bool {
        automatic::is_wanted(&self.engine, recipe, &devices::list())
    }

    fn send_residency(&self) {
        self.end.send(Event::Residency(self.engine.cache.residency()));
    }
}

/// The placement of work that begins; resolved now where it could not be before.
fn resolved_by_now(placement: Option<ResolvedPlacement>, text: &PlacementText) -> Result<ResolvedPlacement, PlacementError> {
    placement.map_or_else(|| ResolvedPlacement::resolve(text, &devices::list()), Ok)
}

/// The placement of a job that leaves it to the engine, written into its recipe.
fn place(engine: &EngineState, task: &mut Task, cancel: &AtomicBool) -> Result<ResolvedPlacement, PlacementError> {
    match task {
        Task::Generate { recipe, .. } => place_recipe(engine, recipe, cancel),
        Task::Upscale { placement, .. } => ResolvedPlacement::resolve(placement, &devices::list()),
    }
}

fn place_recipe(engine: &EngineState, recipe: &mut Recipe, cancel: &AtomicBool) -> Result<ResolvedPlacement, PlacementError> {
    let chosen = automatic::of_any(engine, recipe, cancel)?;
    recipe.placement = chosen.placement.text();
    Ok(chosen)
}

const fn text_of(task: &Task) -> &PlacementText {
    match task {
        Task::Generate { recipe, .. } => &recipe.placement,
        Task::Upscale { placement, .. } => placement,
    }
}

/// The module that does most of the work.
const fn main_module(task: &Task) -> Module {
    match task {
        Task::Generate { .. } => Module::Diffusion,
        Task::Upscale { .. } => Module::Upscaler,
    }
}
