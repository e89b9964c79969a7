//! State that the jobs of an engine share.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::cache::Cache;
use crate::estimate::EstimateCache;
use crate::rates::RateStore;
use crate::stores::finite_adapters::FiniteAdapters;
use crate::stores::history::History;
use crate::stores::tile_store::TileStore;
use atelier_library::HeaderCache;

/// State that the jobs of an engine share.
#[derive(Default)]
pub(crate) struct EngineState {
    pub(crate) cache: Cache,
    headers: Mutex<HeaderCache>,
    pub(crate) estimates: EstimateCache,
    pub(crate) history: History,
    pub(crate) rates: RateStore,
    /// Recipes without a placement keep the engine's default device.
    keeps_default_device: AtomicBool,
    pub(crate) tiles: TileStore,
    pub(crate) adapters: FiniteAdapters,
}

impl EngineState {
    /// State without models, with the measurements and tiles of earlier processes.
    pub(crate) fn new(history: History, rates: RateStore, tiles: TileStore) -> Self {
        Self { history, rates, tiles, ..Self::default() }
    }

    /// True where recipes without a placement get the quickest that fits, as at first.
    pub(crate) fn places_automatically(&self) -> bool {
        !self.keeps_default_device.load(Ordering::Relaxed)
    }

    /// Sets whether recipes without a placement get the quickest that fits.
    pub(crate) fn set_places_automatically(&self, places: bool) {
        self.keeps_default_device.store(!places, Ordering::Relaxed);
    }

    /// Reads headers of model files, known ones from memory. Holds no lock meanwhile.
    pub(crate) fn with_headers<R>(&self, read: impl FnOnce(&mut HeaderCache) -> R) -> R {
        let mut headers = self.headers.lock().clone();
        let result = read(&mut headers);
        self.headers.lock().merge(headers);
        result
    }
}
