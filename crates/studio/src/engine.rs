//! Starts the engine, with what earlier pictures took.

use atelier_core::paths::Paths;
use atelier_engine::Handle;

/// Called, from any thread, when the engine has sent an event.
pub type EngineWake = Box<dyn Fn() + Send + Sync>;

/// Starts the engine of this process. Without a home folder it has no history and learns anew each
/// time.
#[must_use]
pub fn start_engine(wake: EngineWake) -> Handle {
    match Paths::find() {
        Ok(paths) => atelier_engine::start_remembering(wake, &paths.data.join("measured.json")),
        Err(_) => atelier_engine::start(wake),
    }
}
