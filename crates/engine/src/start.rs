//! Starting the engine's threads.

use std::path::{Path, PathBuf};
use std::thread;

use crate::cpu_math::{arithmetic_name, choose_cpu_math};
use crate::engine_end::EngineEnd;
use crate::estimate;
use crate::handle::{Connection, Handle};
use crate::rates::RateStore;
use crate::scheduler;
use crate::state::EngineState;
use crate::stores::history::History;
use crate::stores::tile_store::TileStore;
use crate::threads::{STACK_BYTES, mark_engine_thread};

/// Starts the engine. `wake` is called, from any thread, whenever a new event can be read. Dropping
/// the handle stops the engine.
///
/// The handle refuses every job if the system gives no thread.
#[must_use]
pub fn start(wake: impl Fn() + Send + Sync + 'static) -> Handle {
    start_with(wake, None)
}

/// File of the rates of devices, beside the one of what jobs took.
const RATES_FILE: &str = "device-rates.json";
/// Folder of tiles of pictures that are not finished, beside it too.
const TILES_FOLDER: &str = "tiles";

/// Starts the engine as [`start`] does, and stores what jobs took in this file, which need not be
/// there yet, and rates of devices and unfinished pictures beside it.
#[must_use]
pub fn start_remembering(wake: impl Fn() + Send + Sync + 'static, file: &Path) -> Handle {
    start_with(wake, Some(file.to_owned()))
}

fn start_with(wake: impl Fn() + Send + Sync + 'static, file: Option<PathBuf>) -> Handle {
    // Exactly, where the program has not chosen.
    choose_cpu_math(None);
    let (connection, end) = Connection::new(wake);
    match thread::Builder::new().name("engine".into()).spawn(move || run(end, file.as_deref())) {
        Ok(thread) => connection.handle(Some(thread)),
        // The engine's end went down with the closure, so the handle knows.
        Err(error) => {
            tracing::error!("the engine's thread could not be started: {error}");
            connection.handle(None)
        }
    }
}

/// Queries have a thread of their own, which ends with this one: none may be in the engine when the
/// process exits.
fn run(end: EngineEnd, file: Option<&Path>) {
    let rates = file.map(|file| RateStore::open(&file.with_file_name(RATES_FILE))).unwrap_or_default();
    let tiles = file.map(|file| TileStore::new(file.with_file_name(TILES_FOLDER), arithmetic_name())).unwrap_or_default();
    let engine = EngineState::new(file.map(History::open).unwrap_or_default(), rates, tiles);
    let (queries, sender) = (end.queries(), end.sender());
    let (cache, history, rates) = (engine.estimates.clone(), engine.history.clone(), engine.rates.clone());
    let answering = move || {
        mark_engine_thread();
        estimate::answer_queries(&queries, &sender, &cache, &history, &rates);
    };
    let thread = thread::Builder::new().name("estimates".into()).stack_size(STACK_BYTES).spawn(answering);
    scheduler::run(end, engine);
    match thread {
        Ok(thread) => drop(thread.join()),
        Err(error) => tracing::error!("the thread for estimates could not be started: {error}"),
    }
}
