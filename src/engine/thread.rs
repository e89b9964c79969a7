//! The engine's thread: takes requests one by one and owns every context.
//!
//! Invariants: each job that starts ends with exactly one `End`, whatever happens inside; a panic drops every context and the thread
//! goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::cache::Cache;
use super::channel::{Handle, Port, channel};
use super::estimate::{self, Answers};
use super::event::{End, Event, Failure};
use super::ffi;
use super::measured::Measured;
use super::remote;
use super::request::{Request, Task};
use super::run;
use super::sink::JobSink;
use crate::devices::SimulatedDevices;
use crate::library::HeaderCache;

/// Deep graphs are built by recursion in the engine.
const STACK_BYTES: usize = 16 << 20;

/// The C++ engine has one preview callback and one log for the whole process: one job at a time, however many engines were started.
static RUNNING: Mutex<()> = Mutex::new(());

/// Starts the engine. `wake` is called, from any thread, whenever a new event can be read. Dropping the handle stops the engine.
///
/// Where the system gives no thread, the handle refuses every job.
#[must_use]
pub fn start(wake: impl Fn() + Send + Sync + 'static) -> Handle {
    start_with(wake, Measured::default())
}

/// Starts the engine as [`start`] does, and keeps what it learns of devices in this file, which need not be there yet.
#[must_use]
pub fn start_remembering(wake: impl Fn() + Send + Sync + 'static, file: &Path) -> Handle {
    start_with(wake, Measured::open(file))
}

fn start_with(wake: impl Fn() + Send + Sync + 'static, measured: Measured) -> Handle {
    let (handle, port) = channel(wake);
    match thread::Builder::new().name("engine".into()).stack_size(STACK_BYTES).spawn(move || serve_all(&port, measured)) {
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
    let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    devices
        .0
        .iter()
        .try_for_each(|device| ffi::simulate(device).map_err(|error| NotAdded { name: device.name.clone(), why: error.message }))
}

/// What stays between jobs.
#[derive(Default)]
pub(super) struct Engine {
    pub(super) cache: Cache,
    pub(super) headers: HeaderCache,
    pub(super) answers: Answers,
    pub(super) measured: Measured,
}

/// Questions have a thread of their own, which ends with this one: none may be in the engine when the process exits.
fn serve_all(port: &Port, measured: Measured) {
    let engine = Engine { measured, ..Engine::default() };
    let (questions, sender) = (port.questions(), port.sender());
    let (answers, learned) = (engine.answers.clone(), engine.measured.clone());
    let answering = move || estimate::serve(&questions, &sender, &answers, &learned);
    let thread = thread::Builder::new().name("estimates".into()).stack_size(STACK_BYTES).spawn(answering);
    serve(port, engine);
    match thread {
        Ok(thread) => drop(thread.join()),
        Err(error) => tracing::error!("the thread for estimates could not be started: {error}"),
    }
}

fn serve(port: &Port, mut engine: Engine) {
    while let Some(request) = port.next() {
        match request {
            Request::Run { job, task } => {
                let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(cancel) = port.start(job) else { continue };
                let sink = JobSink::new(job, port.sender(), cancel);
                let outcome = catch_unwind(AssertUnwindSafe(|| match &task {
                    Task::Generate { recipe, preview } => run::generate(&mut engine, job, recipe, *preview, &sink),
                    Task::Upscale { image, model, allow_pickle, placement, threads } => {
                        run::upscale(&mut engine, job, image, (model, *allow_pickle), placement, *threads, &sink)
                    }
                }));
                let end = outcome.unwrap_or_else(|_| {
                    engine = Engine { answers: engine.answers.clone(), measured: engine.measured.clone(), ..Engine::default() };
                    End::Failed(Failure {
                        sentence: "Atelier made a mistake while it worked on this picture.".into(),
                        hint: "The model was unloaded; generate again. If it happens again, please report it with the details.".into(),
                        log: sink.log_lines(),
                        cause: None,
                    })
                });
                let peaks = sink.peaks();
                if let (Task::Generate { recipe, .. }, End::Done { .. }) = (&task, &end) {
                    let (devices, slack) = engine.cache.slack();
                    engine.measured.learn(recipe, &peaks, &devices, &slack);
                }
                if !peaks.is_empty() {
                    port.send(Event::Measured { job, peaks });
                }
                port.send(Event::End { job, end });
            }
            Request::AddServer(server) => {
                // The engine reads its list of devices while a job runs.
                let _running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
                let added = remote::add(&server);
                port.send(Event::Server { server, added });
            }
            Request::Unload => {
                engine.cache.clear();
                port.unloaded();
            }
            // They are asked of the other thread.
            Request::Estimate(_) | Request::ListDevices => {}
        }
    }
}
