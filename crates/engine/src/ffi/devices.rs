//! The engine's list of devices, and simulated ones.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};

use parking_lot::Mutex;

use super::error::CallError;
use super::ram::ram;
use super::text::text;
use atelier_core::device::{Device, DeviceKind, SIMULATED_DESCRIPTION, SimulatedDevice};

/// Position of a remote device: its server's address, and its index on that server.
pub(crate) struct RemotePosition {
    pub(crate) server: String,
    pub(crate) index: usize,
}

/// ggml's devices, with their free memory as of now. A remote one has neither a description nor a
/// card of its own, but its position.
pub(crate) fn devices() -> Vec<(Device, Option<RemotePosition>)> {
    // SAFETY: takes no argument; the shim initialises itself.
    let count = unsafe { ggml_sys::atelier_device_count() };
    (0..count).filter_map(device).collect()
}

/// The device at `index` of ggml's list.
fn device(index: usize) -> Option<(Device, Option<RemotePosition>)> {
    let mut raw = ggml_sys::atelier_device {
        name: std::ptr::null(),
        description: std::ptr::null(),
        type_: 0,
        memory_free: 0,
        memory_total: 0,
        remote: false,
        card: std::ptr::null(),
    };
    // SAFETY: `raw` is a local to be written; the shim checks the index and fills it.
    let status = unsafe { ggml_sys::atelier_device_get(index, &raw mut raw) };
    if status != ggml_sys::ATELIER_OK {
        return None;
    }
    let kind = match raw.type_ {
        _ if raw.remote => DeviceKind::Remote,
        ggml_sys::GGML_BACKEND_DEVICE_TYPE_CPU => DeviceKind::Cpu,
        ggml_sys::GGML_BACKEND_DEVICE_TYPE_GPU => DeviceKind::Gpu,
        ggml_sys::GGML_BACKEND_DEVICE_TYPE_IGPU => DeviceKind::IntegratedGpu,
        // ggml's meta device, which spreads over others, cannot be assigned a module.
        ggml_sys::GGML_BACKEND_DEVICE_TYPE_META => return None,
        _ => DeviceKind::Accelerator,
    };
    let (memory_total_bytes, free) = if kind == DeviceKind::Cpu { ram() } else { (raw.memory_total, raw.memory_free) };
    // SAFETY: null or strings that live as long as the process.
    let (name, description, gpu) = unsafe { (text(raw.name), text(raw.description), text(raw.card)) };
    let position = description.rsplit_once('#').filter(|_| raw.remote);
    let position = position.map(|(server, index)| RemotePosition { server: server.to_owned(), index: index.parse().unwrap_or(0) });
    let gpu = Some(gpu).filter(|gpu| !gpu.is_empty());
    let memory_free_bytes = free.min(memory_total_bytes);
    let memory_allocated_bytes = allocated_bytes(&name);
    Some((Device { name, description, kind, gpu, memory_total_bytes, memory_free_bytes, memory_allocated_bytes }, position))
}

/// Bytes that this process has allocated on a device now; 0 for an unknown one.
pub(crate) fn allocated_bytes(device: &str) -> u64 {
    let Ok(device) = CString::new(device) else { return 0 };
    // SAFETY: a string that outlives the call.
    unsafe { ggml_sys::atelier_allocated_bytes(device.as_ptr()) }
}

/// True for a device that the processor simulates.
pub(crate) fn is_simulated(device: &Device) -> bool {
    device.kind.is_graphics() && device.description.starts_with(SIMULATED_DESCRIPTION)
}

/// Version of the driver of a graphics card of this machine; `None` where it is not known. Asked
/// once a process: the answer may take a tenth of a second.
pub(crate) fn driver_version(device: &Device) -> Option<String> {
    static VERSIONS: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());
    if !device.kind.is_graphics() || is_simulated(device) {
        return None;
    }
    VERSIONS.lock().entry(device.name.clone()).or_insert_with(|| read_driver_version(&device.name)).clone()
}

fn read_driver_version(device: &str) -> Option<String> {
    let name = CString::new(device).ok()?;
    let mut version: [c_char; 128] = [0; 128];
    // SAFETY: the shim compares the name, and writes no more than the bytes there are, the last of
    // them 0.
    let status = unsafe { ggml_sys::atelier_driver_version(name.as_ptr(), version.as_mut_ptr(), version.len()) };
    // SAFETY: it ends with 0, in either case.
    let version = unsafe { text(version.as_ptr()) };
    (status == ggml_sys::ATELIER_OK && !version.is_empty()).then_some(version)
}

/// Adds a GPU that the CPU simulates.
pub(crate) fn simulate_device(device: &SimulatedDevice) -> Result<(), CallError> {
    let nul = |_| CallError::new("a device's name holds a NUL character");
    let name = CString::new(device.name.as_str()).map_err(nul)?;
    let gpu = CString::new(device.gpu.as_deref().unwrap_or_default()).map_err(nul)?;
    let without = CString::new(device.without.as_deref().unwrap_or_default()).map_err(nul)?;
    let largest = device.largest_buffer_bytes.unwrap_or(0);
    // SAFETY: the shim copies the strings.
    CallError::check(unsafe {
        ggml_sys::atelier_simulate_device(name.as_ptr(), device.memory_bytes, gpu.as_ptr(), largest, without.as_ptr(), device.speed)
    })
}

/// Lets a simulated device fail from now on as a lost one.
#[cfg(test)]
pub(crate) fn lose_simulated_device(name: &str) {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: compares the name.
    unsafe { ggml_sys::atelier_lose_simulated_device(name.as_ptr()) };
}
