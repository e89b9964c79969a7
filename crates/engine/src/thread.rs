//! The engine's thread: takes requests, and gives each job a thread of its own as soon as the devices that it needs are free.
//!
//! Invariants: each job that starts ends with exactly one `End`, whatever happens inside; jobs that need the same device run one after the
//! other, in the order in which they came; a panic drops every model that nobody uses and the engine goes on.

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SendError, Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread;
use std::time::Duration;

use super::cache::Cache;
use super::channel::{EngineEnd, EventSender, Handle, Message, channel, work_for_engine};
use super::estimate::{self, Answers};
use super::event::{End, Event, Failure};
use super::ffi;
use super::measured::Measured;
use super::remote::{self, ServerAddress};
use super::request::{JobId, Request, Task};
use super::run;
use super::sink::{JobSink, WarmSink};
use atelier_core::device::SimulatedDevices;
use atelier_core::placement::{Module, Placement};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_library::HeaderCache;

/// Deep graphs are built by recursion in the engine.
pub(crate) const STACK_BYTES: usize = 16 << 20;
/// How often an engine with nothing to do looks whether other programs need the memory of its models.
const RELIEVE_EVERY: Duration = Duration::from_secs(5);

/// The C++ engine reads its list of devices while a job runs: jobs of all engines in this process read, who adds a device writes.
static DEVICES: RwLock<()> = RwLock::new(());

/// For as long as this is held, no device is added.
pub(crate) fn devices_stay() -> RwLockReadGuard<'static, ()> {
    DEVICES.read().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the engine. `wake` is called, from any thread, whenever a new event can be read. Dropping the handle stops the engine.
///
/// Where the system gives no thread, the handle refuses every job.
#[must_use]
pub fn start(wake: impl Fn() + Send + Sync + 'static) -> Handle {
    start_with(wake, None)
}

/// Starts the engine as [`start`] does, and keeps what it learns of devices in this file, which need not be there yet.
#[must_use]
pub fn start_remembering(wake: impl Fn() + Send + Sync + 'static, file: &Path) -> Handle {
    start_with(wake, Some(file.to_owned()))
}

fn start_with(wake: impl Fn() + Send + Sync + 'static, file: Option<PathBuf>) -> Handle {
    let (handle, port) = channel(wake);
    match thread::Builder::new().name("engine".into()).spawn(move || serve_all(port, file.as_deref())) {
        Ok(thread) => handle.joining(thread),
        // The port went down with the closure, so the handle knows.
        Err(error) => {
            tracing::error!("the engine's thread could not be started: {error}");
            handle
        }
    }
}

/// A simulated device could not be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device {name} cannot be simulated: {why}")]
pub struct NotAdded {
    /// The device.
    pub name: String,
    /// The engine's words.
    pub why: String,
}

/// Adds devices that the processor plays, of type GPU and with memory of their own, for tests and demonstrations. To be called before
/// an engine is started; they stay as long as the process.
///
/// # Errors
/// Where a device has one of the names.
pub fn simulate_devices(devices: &SimulatedDevices) -> Result<(), NotAdded> {
    let _alone = DEVICES.write().unwrap_or_else(PoisonError::into_inner);
    devices
        .0
        .iter()
        .try_for_each(|device| ffi::simulate_device(device).map_err(|error| NotAdded { name: device.name.clone(), why: error.message }))
}

/// What stays between jobs.
#[derive(Default)]
pub(crate) struct Engine {
    pub(crate) cache: Cache,
    headers: Mutex<HeaderCache>,
    pub(crate) answers: Answers,
    pub(crate) measured: Measured,
}

impl Engine {
    pub(crate) fn headers(&self) -> MutexGuard<'_, HeaderCache> {
        self.headers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The devices that a job keeps others from.
enum Needed {
    /// All: it changes them, or nobody knows what it needs.
    All,
    /// These, by name.
    Devices(BTreeSet<String>),
}

impl Needed {
    /// What computes for a recipe. The processor is shared, unless denoising is its work: what it does beside that is short.
    fn by(text: &PlacementText, main: Module) -> Self {
        let Ok(placement) = Placement::parse(text, &ffi::devices()) else { return Self::All };
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

/// What waits for its turn.
enum Work {
    Job(JobId, Task),
    AddServer(ServerAddress),
}

/// A model that is loaded before a job asks for it.
struct Warming {
    recipe: Box<Recipe>,
    needed: Needed,
    cancel: Arc<AtomicBool>,
    worker: Worker,
    /// Everything was to be given back while it was loaded.
    goes: bool,
}

/// A job at work.
struct Running {
    job: JobId,
    needed: Needed,
    worker: Worker,
}

struct Scheduler {
    engine: Arc<Engine>,
    port: EngineEnd,
    waiting: VecDeque<(Work, Needed)>,
    running: Vec<Running>,
    workers: Workers,
    /// What is to be loaded once nothing else needs the devices.
    to_warm: Option<Box<Recipe>>,
    warming: Option<Warming>,
}

/// QueryReceiver have a thread of their own, which ends with this one: none may be in the engine when the process exits.
fn serve_all(port: EngineEnd, file: Option<&Path>) {
    let engine = Engine { measured: file.map(Measured::open).unwrap_or_default(), ..Engine::default() };
    let (questions, sender) = (port.queries(), port.sender());
    let (answers, learned) = (engine.answers.clone(), engine.measured.clone());
    let answering = move || {
        work_for_engine();
        estimate::serve(&questions, &sender, &answers, &learned);
    };
    let thread = thread::Builder::new().name("estimates".into()).stack_size(STACK_BYTES).spawn(answering);
    serve(port, engine);
    match thread {
        Ok(thread) => drop(thread.join()),
        Err(error) => tracing::error!("the thread for estimates could not be started: {error}"),
    }
}

fn serve(port: EngineEnd, engine: Engine) {
    work_for_engine();
    let mut scheduler = Scheduler {
        engine: Arc::new(engine),
        port,
        waiting: VecDeque::new(),
        running: Vec::new(),
        workers: Workers::default(),
        to_warm: None,
        warming: None,
    };
    let mut open = true;
    while open || !scheduler.running.is_empty() || scheduler.warming.is_some() {
        match scheduler.port.next_within(RELIEVE_EVERY) {
            Some(Message::Request(request)) => scheduler.take(request),
            Some(Message::Done(Some(job))) => {
                if let Some(at) = scheduler.running.iter().position(|running| running.job == job) {
                    scheduler.workers.idle.push(scheduler.running.remove(at).worker);
                }
            }
            Some(Message::Done(None)) => {
                if let Some(warming) = scheduler.warming.take() {
                    scheduler.workers.idle.push(warming.worker);
                    // What was being loaded when all was to be given back could not go then.
                    if warming.goes {
                        scheduler.engine.cache.clear();
                        scheduler.tell_residency();
                    }
                }
            }
            Some(Message::Closed) => {
                open = false;
                scheduler.waiting.clear();
                scheduler.stop_warming();
            }
            None => {}
        }
        scheduler.begin();
        if scheduler.running.is_empty() && scheduler.warming.is_none() && scheduler.engine.cache.relieve() {
            scheduler.tell_residency();
        }
    }
}

impl Scheduler {
    fn take(&mut self, request: Request) {
        match request {
            Request::Run { job, task } => {
                let needed = Needed::of(&task);
                self.waiting.push_back((Work::Job(job, task), needed));
            }
            Request::AddServer(server) => self.waiting.push_back((Work::AddServer(server), Needed::All)),
            // They are asked of the other thread.
            Request::Estimate(_) | Request::ListDevices => {}
            Request::Unload => {
                self.stop_warming();
                if let Some(warming) = &mut self.warming {
                    warming.goes = true;
                }
                self.engine.cache.clear();
                self.port.unloaded();
                self.tell_residency();
            }
            Request::UnloadModel(model) => {
                self.engine.cache.unload(model);
                self.port.unloaded();
                self.tell_residency();
            }
            Request::KeepModel(model, kept) => {
                self.engine.cache.keep(model, kept);
                self.tell_residency();
            }
            Request::SetReserve(reserve) => self.engine.cache.set_reserve(reserve),
            Request::Preload(recipe) => {
                let same = |warming: &Warming| recipe.as_ref().is_some_and(|recipe| recipe.opens_like(&warming.recipe));
                if !self.warming.as_ref().is_some_and(same) {
                    self.stop_warming();
                    self.to_warm = recipe;
                }
            }
        }
    }

    /// Begins what can begin: what came first goes first on each device.
    fn begin(&mut self) {
        let mut at = 0;
        while let Some((work, needed)) = self.waiting.get(at) {
            let before = self.waiting.iter().take(at).map(|(_, needed)| needed);
            let mut others = before.chain(self.running.iter().map(|running| &running.needed));
            let is_free = others.all(|other| !needed.collides(other));
            // What is being loaded is either what this job wants, and nearly there, or in its way.
            let in_the_way = self.warming.as_ref().filter(|warming| warming.needed.collides(needed));
            if let Some(warming) = in_the_way
                && !matches!(work, Work::Job(_, Task::Generate { recipe, .. }) if recipe.opens_like(&warming.recipe))
            {
                warming.cancel.store(true, Ordering::Relaxed);
            }
            if !is_free || in_the_way.is_some() {
                at += 1;
                continue;
            }
            match self.waiting.remove(at) {
                Some((Work::Job(job, task), needed)) => self.run(job, task, needed),
                Some((Work::AddServer(server), _)) => {
                    let _alone = DEVICES.write().unwrap_or_else(PoisonError::into_inner);
                    let added = remote::add(&server);
                    self.port.send(Event::Server { server, added });
                }
                None => return,
            }
        }
        self.begin_to_warm();
    }

    fn begin_to_warm(&mut self) {
        let Some(recipe) = self.to_warm.take() else { return };
        let needed = Needed::by(&recipe.placement, Module::Diffusion);
        let others = self.waiting.iter().map(|(_, needed)| needed).chain(self.running.iter().map(|running| &running.needed));
        if self.warming.is_some() || others.into_iter().any(|other| needed.collides(other)) {
            self.to_warm = Some(recipe);
            return;
        }
        let (engine, sender, back) = (Arc::clone(&self.engine), self.port.sender(), self.port.back());
        let (cancel, wanted) = (Arc::new(AtomicBool::new(false)), recipe.clone());
        let sink = WarmSink::new(Arc::clone(&cancel));
        let work = move || {
            let _devices = devices_stay();
            if catch_unwind(AssertUnwindSafe(|| run::warm(&engine, &wanted, &sink))).is_err() {
                engine.cache.clear();
            }
            sender.send(Event::Residency(engine.cache.residency()));
        };
        if let Some(worker) = self.workers.give(back, None, work) {
            self.warming = Some(Warming { recipe, needed, cancel, worker, goes: false });
        }
    }

    fn stop_warming(&mut self) {
        self.to_warm = None;
        if let Some(warming) = &self.warming {
            warming.cancel.store(true, Ordering::Relaxed);
        }
    }

    fn run(&mut self, job: JobId, task: Task, needed: Needed) {
        let Some(cancel) = self.port.start(job) else { return };
        let (engine, sender, back) = (Arc::clone(&self.engine), self.port.sender(), self.port.back());
        let work = move || {
            let _devices = devices_stay();
            let end = one_job(&engine, job, &task, sender.clone(), cancel);
            sender.send(Event::End { job, end });
            sender.send(Event::Residency(engine.cache.residency()));
        };
        if let Some(worker) = self.workers.give(back, Some(job), work) {
            self.running.push(Running { job, needed, worker });
        } else {
            self.port.send(Event::End { job, end: End::Failed(no_thread()) });
        }
    }

    fn tell_residency(&self) {
        self.port.send(Event::Residency(self.engine.cache.residency()));
    }
}

/// The system gives no thread.
pub(crate) fn no_thread() -> Failure {
    Failure {
        sentence: "The computer has no thread left for this picture.".into(),
        hint: "Close other programs, then generate again.".into(),
        ..Failure::default()
    }
}

type Chore = Box<dyn FnOnce() + Send>;

/// Threads that work for the engine, kept for the next job: the allocator gives each new thread memory of its own.
#[derive(Default)]
struct Workers {
    idle: Vec<Worker>,
}

struct Worker(Sender<Chore>);

impl Workers {
    /// Does work on a thread that has nothing to do and says when it is done, also after a panic. `None` where the system gives no thread.
    fn give(&mut self, back: SyncSender<Message>, job: Option<JobId>, work: impl FnOnce() + Send + 'static) -> Option<Worker> {
        /// Says so when it is dropped.
        struct Done(SyncSender<Message>, Option<JobId>);
        impl Drop for Done {
            fn drop(&mut self) {
                // Where nobody listens any more, nobody waits either.
                self.0.send(Message::Done(self.1)).ok();
            }
        }
        let done = Done(back, job);
        let mut work: Chore = Box::new(move || {
            let _done = done;
            work();
        });
        while let Some(worker) = self.idle.pop() {
            match worker.0.send(work) {
                Ok(()) => return Some(worker),
                // That thread did not survive its last job.
                Err(SendError(refused)) => work = refused,
            }
        }
        let (sender, tasks) = mpsc::channel::<Chore>();
        let serve = move || {
            work_for_engine();
            for work in tasks {
                work();
            }
        };
        thread::Builder::new().name("engine job".into()).stack_size(STACK_BYTES).spawn(serve).ok()?;
        sender.send(work).ok()?;
        Some(Worker(sender))
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
            sentence: "Atelier made a mistake while it worked on this picture.".into(),
            hint: "The model was unloaded; generate again. If it happens again, please report it with the details.".into(),
            log: sink.log_lines(),
            cause: None,
        })
    });
    let peaks = sink.peaks();
    // What several devices took together says nothing of one.
    if let (Task::Generate { recipe, .. }, End::Done { .. }) = (task, &end)
        && recipe.placement.split_batch.is_empty()
    {
        let (devices, slack) = engine.cache.slack();
        engine.measured.learn(recipe, &peaks, &devices, &slack);
    }
    if !peaks.is_empty() {
        sink.send(Event::Measured { job, peaks });
    }
    end
}
