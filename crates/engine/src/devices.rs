//! The devices of this process: the machine's own, simulated ones, and those of servers.
//!
//! Invariant: no device is added while a job runs, in any engine of this process: the C++ engine reads its list of devices without a lock.

use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::ffi::{self, RemotePosition};
use atelier_core::device::{Device, SimulatedDevices};

static LIST: RwLock<()> = RwLock::new(());

/// Devices of each server as it described them in its last handshake.
static SERVERS: LazyLock<Mutex<HashMap<String, Vec<Device>>>> = LazyLock::new(Mutex::default);

/// While this is held, no device is added.
pub(crate) fn lock_list() -> RwLockReadGuard<'static, ()> {
    LIST.read()
}

/// While this is held, no job runs. Waits for those that do.
pub(crate) fn lock_list_to_add() -> RwLockWriteGuard<'static, ()> {
    LIST.write()
}

/// All devices, with their free memory as of now.
pub(crate) fn list() -> Vec<Device> {
    ffi::devices().into_iter().map(|(device, position)| described(device, position.as_ref())).collect()
}

/// The devices of one server, in its order.
pub(crate) fn of_server(server: &str) -> Vec<Device> {
    let of_server = |position: &RemotePosition| position.server == server;
    let listed = ffi::devices().into_iter().filter(|(_, position)| position.as_ref().is_some_and(of_server));
    listed.map(|(device, position)| described(device, position.as_ref())).collect()
}

/// Remembers how a server describes its devices, and which of them compute convolutions directly.
pub(crate) fn describe_server(server: &str, devices: Vec<Device>, direct: Vec<bool>) {
    SERVERS.lock().insert(server.to_owned(), devices);
    ffi::set_direct_convolutions(server, direct);
}

/// A remote device gets its description and its card from its server.
fn described(device: Device, position: Option<&RemotePosition>) -> Device {
    let Some(RemotePosition { server, index }) = position else { return device };
    let servers = SERVERS.lock();
    let (maker, card) =
        servers.get(server).and_then(|its| its.get(*index)).map_or(("", None), |it| (it.description.as_str(), it.card.as_ref()));
    let description = if maker.is_empty() { format!("At {server}") } else { format!("{maker} at {server}") };
    Device { description, card: card.map(|card| format!("{card} at {server}")), ..device }
}

/// A simulated device could not be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device {name} cannot be simulated: {why}")]
pub struct NotAdded {
    /// The device's name.
    pub name: String,
    /// The engine's message.
    pub why: String,
}

/// Adds GPUs that the CPU simulates, with memory of their own, for tests and demonstrations. To be called before an engine is started; they
/// stay as long as the process.
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
