//! The devices of this process: the machine's own, simulated ones, and those of servers.
//!
//! Invariant: no device is added while a job runs, in any engine of this process: the C++ engine
//! reads its list of devices without a lock.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::ffi::{self, RemotePosition};
use crate::remote::describe;
use atelier_core::device::{Device, SimulatedDevices};
use atelier_language::tr;

static LIST: RwLock<()> = RwLock::new(());

/// While this is held, no device is added.
pub(crate) fn lock_list() -> RwLockReadGuard<'static, ()> {
    LIST.read()
}

/// The same on a thread that works for a job, which holds the lock too: does not wait for one who
/// waits for that job.
pub(crate) fn lock_list_of_job() -> RwLockReadGuard<'static, ()> {
    LIST.read_recursive()
}

/// While this is held, no job runs. Waits for those that do.
pub(crate) fn lock_list_to_add() -> RwLockWriteGuard<'static, ()> {
    LIST.write()
}

/// All devices, with their free memory as of now; of a remote one as of its server's last answer.
/// Waits for no server.
pub(crate) fn list() -> Vec<Device> {
    ffi::devices().into_iter().map(|(device, position)| described(device, position.as_ref())).collect()
}

/// The devices of one server, in its order.
pub(crate) fn of_server(server: &str) -> Vec<Device> {
    let of_server = |position: &RemotePosition| position.server == server;
    let listed = ffi::devices().into_iter().filter(|(_, position)| position.as_ref().is_some_and(of_server));
    listed.map(|(device, position)| described(device, position.as_ref())).collect()
}

fn described(device: Device, position: Option<&RemotePosition>) -> Device {
    match position {
        Some(position) => describe(device, position),
        None => device,
    }
}

/// A simulated device could not be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", tr!("engine-the-device-cannot-be", name, why))]
pub struct NotAdded {
    pub name: String,
    pub why: String,
}

/// Adds GPUs that the CPU simulates, with memory of their own, for tests and demonstrations. To be
/// called before an engine is started; they stay as long as the process.
///
/// # Errors
/// If a device has one of the names.
pub fn simulate_devices(devices: &SimulatedDevices) -> Result<(), NotAdded> {
    let _adding = lock_list_to_add();
    devices
        .0
        .iter()
        .try_for_each(|device| ffi::simulate_device(device).map_err(|error| NotAdded { name: device.name.clone(), why: error.message }))
}
