//! An engine that has the simulated devices of its process to itself.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use atelier_core::device::Device;
use atelier_core::recipe::{FileRole, ModelFiles, Recipe};
use atelier_engine::simulate_devices;
use testkit::tiny;

use super::engine::{Engine, Said};
use super::folder;

pub(crate) struct Alone {
    pub(crate) engine: Engine,
    _lock: MutexGuard<'static, ()>,
}

/// Keeps other tests of this process from the devices, which are added the first time: always the
/// same ones.
pub(crate) fn lock(devices: &str) -> MutexGuard<'static, ()> {
    static DEVICES: OnceLock<()> = OnceLock::new();
    static LOCK: Mutex<()> = Mutex::new(());
    let lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    DEVICES.get_or_init(|| simulate_devices(&devices.parse().unwrap()).unwrap());
    lock
}

pub(crate) fn alone(devices: &str) -> Alone {
    let lock = lock(devices);
    Alone { engine: Engine::start(), _lock: lock }
}

impl Drop for Alone {
    /// Waits until the engine's memory is returned, before the next test counts: the engine's own
    /// thread may be the last to drop it.
    fn drop(&mut self) {
        if !std::thread::panicking() && self.engine.handle().unload().is_ok() {
            self.engine.handle().list_devices().unwrap();
            self.engine.devices();
        }
    }
}

impl Alone {
    pub(crate) fn run(&self, recipe: &Recipe) -> Said {
        self.engine.run(recipe)
    }

    pub(crate) fn device(&self, name: &str) -> Device {
        self.engine.handle().list_devices().unwrap();
        self.engine.devices().into_iter().find(|device| device.name == name).unwrap()
    }
}

pub(crate) fn deep_options() -> tiny::Options {
    tiny::Options { layers: 6, encoder_layers: 4, encoder_width: 64, ..tiny::Options::default() }
}

/// A model with enough layers to be cut into segments, in the diffusion module and in the text
/// encoder.
pub(crate) fn deep() -> &'static ModelFiles {
    static DEEP: OnceLock<ModelFiles> = OnceLock::new();
    DEEP.get_or_init(|| {
        let files = tiny::zimage(&folder("deep"), &deep_options()).unwrap();
        [(FileRole::Diffusion, files.diffusion), (FileRole::Llm, files.llm), (FileRole::Taesd, files.taesd)].into_iter().collect()
    })
}
