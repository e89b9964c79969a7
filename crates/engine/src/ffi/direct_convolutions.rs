//! Devices that compute convolutions without unfolding the image, so that graphs made for them may
//! ask for it.

use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::Mutex;

use super::cpu_kernels::has_cpu_kernels;
use super::{devices, is_simulated};
use atelier_core::device::DeviceKind;

/// The answers of servers for their devices, in their order.
static SERVERS: LazyLock<Mutex<HashMap<String, Vec<bool>>>> = LazyLock::new(Mutex::default);

/// Remembers which of its devices a server says this of.
pub(crate) fn set_direct_convolutions(server: &str, direct: Vec<bool>) {
    SERVERS.lock().insert(server.to_owned(), direct);
}

/// True for a device whose convolutions are computed by kernels of ours, here or at its server.
pub(crate) fn convolves_directly(name: &str) -> bool {
    let Some((device, position)) = devices().into_iter().find(|(device, _)| device.name == name) else { return false };
    match position {
        Some(position) => SERVERS.lock().get(&position.server).and_then(|direct| direct.get(position.index)).is_some_and(|direct| *direct),
        None => has_cpu_kernels() && (device.kind == DeviceKind::Cpu || is_simulated(&device)),
    }
}
