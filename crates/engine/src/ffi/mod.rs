//! Safe wrappers round the engine's C interface. The only module of Atelier that may be `unsafe`.
//!
//! Invariants: every C handle is one private pointer with a `Drop`; strings and pixels live as long as C reads them; no panic enters C++
//! (callbacks catch them); no exception leaves it (the shim catches them). No policy here: what to load, check or keep is decided above.
#![allow(unsafe_code, reason = "the seam to the C++ engine; each block says who guarantees what it needs")]

mod callbacks;
mod context;
mod encodings;
mod error;
mod estimate;
mod params;
mod remote;
mod upscaler;

#[cfg(test)]
mod tests;

use std::ffi::{CStr, CString};

use atelier_core::device::{Device, DeviceKind, SimulatedDevice};

pub(super) use callbacks::Sink;
pub(super) use context::{Context, Holding};
pub(super) use encodings::{EncodingCounts, Encodings};
pub(super) use error::{CallError, Status};
pub(super) use estimate::{Estimator, Need, held_bytes, last_peaks};
pub(super) use params::{Limits, Load, Mask, PreviewMode, Shot};
#[cfg(test)]
pub(super) use remote::set_patience;
pub(super) use remote::{add_server, devices_of, serve, wire_parts};
pub(super) use upscaler::Upscaler;

/// The devices that ggml knows, with their memory as it is now.
pub(super) fn devices() -> Vec<Device> {
    // SAFETY: takes nothing; the shim initialises itself.
    let count = unsafe { ggml_sys::atelier_device_count() };
    (0..count).filter_map(device).map(|(device, _)| device).collect()
}

/// A device; where it is another machine's, with its server's address and its number there.
fn device(index: usize) -> Option<(Device, Option<(String, usize)>)> {
    let mut raw = ggml_sys::atelier_device {
        name: std::ptr::null(),
        description: std::ptr::null(),
        type_: 0,
        memory_free: 0,
        memory_total: 0,
        remote: false,
        card: std::ptr::null(),
    };
    // SAFETY: `raw` is a whole struct of ours; the shim checks the index and fills it.
    let status = unsafe { ggml_sys::atelier_device_get(index, &raw mut raw) };
    if status != ggml_sys::ATELIER_OK {
        return None;
    }
    let kind = match raw.type_ {
        _ if raw.remote => DeviceKind::Remote,
        0 => DeviceKind::Cpu,
        1 => DeviceKind::Gpu,
        2 => DeviceKind::IntegratedGpu,
        // A device made of others is no place to put a module on.
        4 => return None,
        _ => DeviceKind::Accelerator,
    };
    let (memory_total_bytes, free) = if kind == DeviceKind::Cpu { ram() } else { (raw.memory_total, raw.memory_free) };
    let mut description = text(raw.description);
    let place = description.rsplit_once('#').filter(|_| raw.remote).map(|(server, index)| (server.to_owned(), index.parse().unwrap_or(0)));
    let mut card = Some(text(raw.card)).filter(|card| !card.is_empty());
    if let Some((server, index)) = &place {
        (description, card) = super::remote::identity(server, *index);
    }
    let memory_free_bytes = free.min(memory_total_bytes);
    Some((Device { name: text(raw.name), description, kind, card, memory_total_bytes, memory_free_bytes }, place))
}

/// How a device that the processor plays describes itself; see shim/simulate.cpp.
pub(super) const SIMULATED: &str = "Simulated with the processor";

/// Adds a device that the processor plays.
pub(super) fn simulate(device: &SimulatedDevice) -> Result<(), CallError> {
    let nul = |_| CallError::new("a device's name holds a NUL character");
    let name = CString::new(device.name.as_str()).map_err(nul)?;
    let card = CString::new(device.card.as_deref().unwrap_or_default()).map_err(nul)?;
    // SAFETY: the shim copies both texts.
    CallError::check(unsafe { ggml_sys::atelier_simulate_device(name.as_ptr(), device.memory_bytes, card.as_ptr()) })
}

/// Whether this build has Vulkan and the system lacks the library through which programs find its devices.
pub(super) fn lacks_vulkan() -> bool {
    #[cfg(feature = "vulkan")]
    // SAFETY: takes nothing; the shim looks for the library once.
    let is_there = unsafe { ggml_sys::atelier_vulkan_loader() };
    #[cfg(not(feature = "vulkan"))]
    let is_there = true;
    !is_there
}

/// RAM in bytes, whole and available: ggml calls all of it free.
fn ram() -> (u64, u64) {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    (system.total_memory(), system.available_memory())
}

/// Sends every device's graphs through the hook that other devices than the CPU need, `nodes` at a time.
#[cfg(test)]
pub(super) fn force_hook(nodes: i32, force: bool) {
    // SAFETY: sets two atomics.
    unsafe { ggml_sys::atelier_set_hook(nodes, force) };
}

/// A copy of a C string; empty for null.
fn text(pointer: *const std::ffi::c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: every caller passes a NUL-ended string that C keeps alive during this call.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
