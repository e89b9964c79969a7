//! What is known of servers whose devices were added: their descriptions, and their memory while
//! nothing is borrowed.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use atelier_core::device::Device;

/// Time after which a description is asked for again.
const FRESH: Duration = Duration::from_secs(3);

/// A server as it described itself last.
struct Known {
    devices: Vec<Device>,
    asked_at: Instant,
}

static SERVERS: LazyLock<Mutex<HashMap<String, Known>>> = LazyLock::new(Mutex::default);

/// Remembers how a server describes its devices.
pub(super) fn describe(server: &str, devices: Vec<Device>) {
    SERVERS.lock().insert(server.to_owned(), Known { devices, asked_at: Instant::now() });
}

/// Notes that a server does not answer: its devices have no memory now.
pub(super) fn forget_memory(server: &str) {
    for device in SERVERS.lock().get_mut(server).into_iter().flat_map(|known| &mut known.devices) {
        (device.memory_total_bytes, device.memory_free_bytes) = (0, 0);
    }
}

/// A server's device as it was last described.
pub(super) fn device(server: &str, index: usize) -> Option<Device> {
    SERVERS.lock().get(server).and_then(|known| known.devices.get(index)).cloned()
}

/// True where the server should be asked again; then it counts as asked.
pub(super) fn begin_refresh(server: &str) -> bool {
    let mut servers = SERVERS.lock();
    let Some(known) = servers.get_mut(server).filter(|known| known.asked_at.elapsed() > FRESH) else { return false };
    known.asked_at = Instant::now();
    true
}
