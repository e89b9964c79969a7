//! Devices of servers as they are listed: as the server described them, with their memory as of the
//! last answer.
//!
//! Listing waits for no server. While weights are there, their connection knows the memory;
//! otherwise a server whose description is old is asked in the background, and the next list has
//! its answer.

use std::thread;

use super::{dial, known};
use crate::ffi::RemotePosition;
use atelier_core::device::Device;

/// A remote device with what its server says of it; [`Device::described`] reads its description.
pub(crate) fn describe(device: Device, RemotePosition { server, index }: &RemotePosition) -> Device {
    let known = known::device(server, *index);
    let maker = known.as_ref().map_or("", |known| known.description.as_str());
    let description = if maker.is_empty() { format!("At {server}") } else { format!("{maker} at {server}") };
    let gpu = known.as_ref().and_then(|known| known.gpu.as_ref()).map(|gpu| format!("{gpu} at {server}"));
    if device.memory_total_bytes > 0 {
        return Device { description, gpu, ..device };
    }
    refresh(server);
    let (memory_total_bytes, memory_free_bytes) = known.map_or((0, 0), |known| (known.memory_total_bytes, known.memory_free_bytes));
    Device { description, gpu, memory_total_bytes, memory_free_bytes, ..device }
}

/// Asks a server for its devices on a thread of its own, unless that was done a moment ago.
fn refresh(server: &str) {
    if known::begin_refresh(server) {
        let address = server.to_owned();
        let ask = move || {
            if dial::look(&address).is_err() {
                known::forget_memory(&address);
            }
        };
        // Without a thread, the old description stands.
        let _ = thread::Builder::new().name("remote memory".into()).spawn(ask);
    }
}
