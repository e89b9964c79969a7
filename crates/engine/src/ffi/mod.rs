//! Safe wrappers of the engine's C interface (`vendor/ggml-sys/shim/shim.h`). The only module outside of it that contains `unsafe`.
//!
//! Invariants: every C handle is one private pointer with a `Drop`; strings and pixels live as long as C reads them; no panic enters C++
//! (callbacks catch them); no exception leaves it (the shim catches them). No policy: what is loaded, validated or cached is decided above.
#![allow(unsafe_code, reason = "interface to the C++ engine")]

mod callbacks;
mod conditioning_cache;
mod context;
mod cpu_kernels;
mod direct_convolutions;
mod error;
mod estimate;
mod measure;
mod params;
mod remote;
mod step_records;
mod upscaler;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char};

use parking_lot::Mutex;

use atelier_core::device::{Device, DeviceKind, SimulatedDevice};

pub(super) use callbacks::JobCallbacks;
pub(super) use conditioning_cache::{ConditioningCache, ConditioningCacheStats};
pub(super) use context::{Context, ModuleMemory};
pub(super) use cpu_kernels::set_cpu_math;
pub(super) use direct_convolutions::{convolves_directly, set_direct_convolutions};
pub(super) use error::{CallError, Status};
pub(super) use estimate::{
    Estimator, ImageEstimate, LoraUse, ModuleEstimate, allocated_bytes, last_loras, last_missing_numbers, last_peaks, upscaler_estimate,
};
pub(super) use measure::{DeviceMeasurement, Operation, OperationKind};
pub(super) use params::{AreaParams, ContextParams, GenerateParams, Limits, PERSON_SIDE};
#[cfg(test)]
pub(super) use remote::set_response_timeout;
pub(super) use remote::{
    SHA256_BYTES, WeightsStore, add_server, connect_server, is_cancelled, rpc_tensor_bytes, serve, warm_up, wire_versions,
};
pub(super) use step_records::{StepRecords, StepsParams};
pub(super) use upscaler::Upscaler;

/// Processor features that the engine was compiled for, as [`atelier_core::processor::is_detected`] names them.
pub(super) const COMPILED_FOR: &[&str] = ggml_sys::PROCESSOR_FEATURES;

/// Position of a remote device: its server's address, and its index on that server.
pub(super) struct RemotePosition {
    pub(super) server: String,
    pub(super) index: usize,
}

/// ggml's devices, with their free memory as of now. A remote one has neither a description nor a card of its own, but its position.
pub(super) fn devices() -> Vec<(Device, Option<RemotePosition>)> {
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

/// The beginning of a simulated device's description; mirrors `shim/simulated_device.cpp`.
pub(super) const SIMULATED_DESCRIPTION: &str = "Simulated with the processor";

/// True for a device that the processor simulates.
pub(super) fn is_simulated(device: &Device) -> bool {
    device.kind.is_graphics() && device.description.starts_with(SIMULATED_DESCRIPTION)
}

/// Version of the driver of a graphics card of this machine; `None` where it is not known. Asked once a process: the answer may take a tenth of a second.
pub(super) fn driver_version(device: &Device) -> Option<String> {
    static VERSIONS: Mutex<BTreeMap<String, Option<String>>> = Mutex::new(BTreeMap::new());
    if !device.kind.is_graphics() || is_simulated(device) {
        return None;
    }
    VERSIONS.lock().entry(device.name.clone()).or_insert_with(|| read_driver_version(&device.name)).clone()
}

fn read_driver_version(device: &str) -> Option<String> {
    let name = CString::new(device).ok()?;
    let mut version: [c_char; 128] = [0; 128];
    // SAFETY: the shim compares the name, and writes no more than the bytes there are, the last of them 0.
    let status = unsafe { ggml_sys::atelier_driver_version(name.as_ptr(), version.as_mut_ptr(), version.len()) };
    // SAFETY: it ends with 0, in either case.
    let version = unsafe { text(version.as_ptr()) };
    (status == ggml_sys::ATELIER_OK && !version.is_empty()).then_some(version)
}

/// Adds a GPU that the CPU simulates.
pub(super) fn simulate_device(device: &SimulatedDevice) -> Result<(), CallError> {
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
pub(super) fn lose_simulated_device(name: &str) {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: compares the name.
    unsafe { ggml_sys::atelier_lose_simulated_device(name.as_ptr()) };
}

/// True in a build with Vulkan on a machine without the Vulkan loader.
pub(super) fn is_vulkan_loader_missing() -> bool {
    #[cfg(feature = "vulkan")]
    // SAFETY: takes no argument; the shim looks for the library once.
    let is_there = unsafe { ggml_sys::atelier_has_vulkan_loader() };
    #[cfg(not(feature = "vulkan"))]
    let is_there = true;
    !is_there
}

/// Name and version of the engine that is linked.
pub(super) fn version() -> &'static str {
    ggml_sys::ENGINE
}

/// RAM in bytes, total and available. ggml reports all of it as free.
fn ram() -> (u64, u64) {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    (system.total_memory(), system.available_memory())
}

/// With `force`, computes graphs of the CPU too in chunks of `nodes` nodes, as those of other devices.
#[cfg(test)]
pub(super) fn force_hook(nodes: i32, force: bool) {
    // SAFETY: sets two atomics.
    unsafe { ggml_sys::atelier_set_compute_hook(nodes, force) };
}

/// Copy of a C string; empty for null. Bytes that are not UTF-8 are replaced.
///
/// # Safety
/// `pointer` is null or a NUL-terminated string that lives during the call.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}
