//! Safe wrappers of the engine's C interface (`vendor/ggml-sys/shim/shim.h`). The only module
//! outside of it that contains `unsafe`.
//!
//! Invariants: every C handle is one private pointer with a `Drop`; strings and pixels live as long
//! as C reads them; no panic enters C++ (callbacks catch them); no exception leaves it (the shim
//! catches them). No policy: what is loaded, validated or cached is decided above.
#![allow(unsafe_code, reason = "interface to the C++ engine")]

mod arithmetic;
mod callbacks;
mod conditioning_cache;
mod context;
mod convert;
mod cpu_kernels;
mod devices;
mod direct_convolutions;
mod error;
mod estimate;
mod measure;
mod outlines;
mod packed_weights;
mod params;
mod ram;
mod remote;
mod step_records;
mod text;
mod tokens;
mod upscaler;

#[cfg(test)]
mod tests;

pub(super) use arithmetic::has_faster_math;
pub(super) use callbacks::JobCallbacks;
pub(super) use conditioning_cache::{ConditioningCache, ConditioningCacheStats};
pub(super) use context::{Context, ModuleMemory};
pub(super) use convert::{ConversionParams, convert};
pub(super) use cpu_kernels::{is_every_type_in_int8, is_type_in_int8, kernels_names, set_cpu_math};
#[cfg(test)]
pub(super) use devices::lose_simulated_device;
pub(super) use devices::{RemotePosition, allocated_bytes, devices, driver_version, is_simulated, simulate_device};
pub(super) use direct_convolutions::{DirectConvolutions, direct_convolutions, set_direct_convolutions};
pub(super) use error::{CallError, Status};
pub(super) use estimate::{
    Estimator, ImageEstimate, LoraUse, ModuleEstimate, last_copies, last_loras, last_missing_numbers, last_peaks, upscaler_estimate,
};
pub(super) use measure::{DeviceMeasurement, Operation, OperationKind};
pub(super) use outlines::outlines;
pub(super) use packed_weights::{keeps_packed, set_keeps_packed};
pub(super) use params::{AreaParams, ContextParams, GenerateParams, Limits, PERSON_SIDE, SecondPass};
pub(super) use ram::{kept_bytes, release_kept_buffers};
#[cfg(test)]
pub(super) use remote::set_response_timeout;
pub(super) use remote::{
    SHA256_BYTES, WeightsStore, add_server, connect_server, is_cancelled, rpc_tensor_bytes, serve, warm_up, wire_versions,
};
pub(super) use step_records::{StepRecords, StepsParams};
pub(super) use tokens::{Reading, TokenCounts, Tokenizer, TokenizerKind};
pub(super) use upscaler::Upscaler;

/// Processor features that the engine was compiled for, as [`atelier_core::processor::is_detected`]
/// names them.
pub(super) const COMPILED_FOR: &[&str] = ggml_sys::PROCESSOR_FEATURES;

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

/// With `force`, computes graphs of the CPU too in chunks of `nodes` nodes, as those of other
/// devices.
#[cfg(test)]
pub(super) fn force_hook(nodes: i32, force: bool) {
    // SAFETY: sets two atomics.
    unsafe { ggml_sys::atelier_set_compute_hook(nodes, force) };
}
