//! Loading the model of a recipe before a job needs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::shard::shards;
use crate::devices;
use crate::ffi::{JobCallbacks, Status};
use crate::placement::ResolvedPlacement;
use crate::protocol::{LogLevel, PhaseKind};
use crate::state::EngineState;
use atelier_core::placement::{Module, PlacementError};
use atelier_core::recipe::{Recipe, Rgb8};

/// Loads the model of a recipe. A job of the recipe reports its errors; here they are only logged.
pub(crate) fn preload(
    engine: &EngineState,
    recipe: &Recipe,
    placement: Result<ResolvedPlacement, PlacementError>,
    cancel: Arc<AtomicBool>,
) {
    let Ok(checked) = engine.with_headers(|headers| headers.check(&recipe.files, &recipe.loras)) else { return };
    let recipe = Recipe { files: checked.files, ..recipe.clone() };
    let Ok(placement) = placement else { return };
    let callbacks = PreloadCallbacks { cancel };
    for mut shard in shards(&recipe, &placement, &devices::list()) {
        shard.recall(engine, &recipe);
        let loaded = engine.cache.lease(&shard.lease_request(), &callbacks, &|_| {}).and_then(|lease| {
            let loaded = lease.preload(&callbacks);
            if loaded.as_ref().is_err_and(|error| error.status != Status::Cancelled) {
                lease.discard();
            }
            loaded
        });
        if let Err(error) = loaded {
            tracing::debug!("a model was not loaded beforehand: {error}");
        }
    }
}

/// Callbacks of a preload, which sends no events.
struct PreloadCallbacks {
    cancel: Arc<AtomicBool>,
}

impl JobCallbacks for PreloadCallbacks {
    fn log(&self, _: LogLevel, text: &str) {
        tracing::debug!(target: "engine", "{text}");
    }
    fn phase(&self, _: PhaseKind) {}
    fn load(&self, _: Option<Module>, _: u64, _: u64) {}
    fn step(&self, _: u32, _: u32, _: f32, _: f32) {}
    fn preview(&self, _: u32, _: Rgb8) {}
    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}
