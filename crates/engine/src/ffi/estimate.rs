//! Memory and work of images: predicted by estimators, which allocate nothing, and recorded by
//! contexts.

use std::ffi::c_int;
use std::path::Path;
use std::ptr::{NonNull, null_mut};

use super::callbacks::{JobCallbacks, RawCallbacks, module_of, phase_kind};
use super::direct_convolutions::direct_convolutions;
use super::error::CallError;
use super::params::{ContextParams, GenerateParams, Limits, RawContextParams, RawGenerateParams, Strings};
use super::text::text;
use super::upscaler::tile_side;
use crate::protocol::{Copies, PhaseKind};
use atelier_core::placement::{Module, Placement};
use atelier_core::recipe::StepShare;
use atelier_core::time::{ModuleWork, NodeSize, WeightType, Work, WorkAmount, WorkClass, WorkKind};

/// Capacity of the array for C, far more than modules x phases.
const MAX_ESTIMATES: usize = 64;
/// Capacity of the array for C, more than modules x phases x classes of nodes in use.
const MAX_WORK: usize = 1024;
/// Capacity of the array for C, far more than devices x phases.
const MAX_PEAKS: usize = 256;

/// A model opened for a dry run: no weights are read, no device allocates or computes. May run
/// beside a job of another thread.
pub(crate) struct Estimator(NonNull<ggml_sys::atelier_context>);

/// Predicted memory of a module in a phase, in bytes, on the device where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ModuleEstimate {
    pub(crate) module: Module,
    pub(crate) phase: PhaseKind,
    pub(crate) weight_bytes: u64,
    pub(crate) lora_bytes: u64,
    /// Peak of all other buffers.
    pub(crate) compute_bytes: u64,
    /// Peak of the sum of both, without LoRAs.
    pub(crate) peak_bytes: u64,
    /// Of packed weights that the processor may keep from step to step, beside the others.
    pub(crate) packed_bytes: u64,
    /// Number of graphs that it computes.
    pub(crate) graphs: u32,
}

/// Predicted memory and work of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImageEstimate {
    pub(crate) memory: Vec<ModuleEstimate>,
    /// Of the whole image, each module and phase once.
    pub(crate) work: Vec<ModuleWork>,
}

impl Estimator {
    /// Opens a model: reads the headers of its files and builds its modules.
    pub(crate) fn new(params: &ContextParams, callbacks: &dyn JobCallbacks) -> Result<Self, CallError> {
        let raw = RawContextParams::new(params)?;
        let raw_callbacks = RawCallbacks::new(&callbacks);
        let mut context = null_mut();
        // SAFETY: `raw` owns its strings and outlives the call; `raw_callbacks` borrows
        // `callbacks`; `context` is a local to be written.
        let status = unsafe { ggml_sys::atelier_estimator_new(&raw const raw.raw, raw_callbacks.as_ptr(), &raw mut context) };
        CallError::check(status)?;
        NonNull::new(context).map(Self).ok_or_else(|| CallError::new("the engine returned no estimator"))
    }

    /// Predicts memory and work of one image.
    pub(crate) fn run(
        &mut self,
        params: &GenerateParams<'_>,
        limits: &Limits,
        callbacks: &dyn JobCallbacks,
    ) -> Result<ImageEstimate, CallError> {
        let raw = RawGenerateParams::new(params)?;
        let raw_callbacks = RawCallbacks::new(&callbacks);
        let limits = limits.raw();
        let mut estimates = [ggml_sys::atelier_module_estimate::default(); MAX_ESTIMATES];
        let mut count = 0;
        // SAFETY: a live estimator, exclusive by `&mut self`; `raw` owns what it points to, except
        // pixels and vectors, which `params` borrows for longer than this call; `raw_callbacks`
        // borrows `callbacks`; `estimates` has the length that is passed.
        let status = unsafe {
            ggml_sys::atelier_estimator_run(
                self.0.as_ptr(),
                &raw const raw.raw,
                raw.adapters.as_ptr(),
                raw.adapters.len(),
                raw.embeddings.as_ptr(),
                raw.embeddings.len(),
                &raw const limits,
                raw_callbacks.as_ptr(),
                estimates.as_mut_ptr(),
                estimates.len(),
                &raw mut count,
            )
        };
        CallError::check(status)?;
        let estimates: Vec<_> = estimates.into_iter().take(count).collect();
        Ok(ImageEstimate { memory: estimates.iter().filter_map(module_estimate).collect(), work: self.work(&estimates) })
    }

    /// Work of the last image, whose estimates these are.
    fn work(&self, estimates: &[ggml_sys::atelier_module_estimate]) -> Vec<ModuleWork> {
        let mut classes = no_work();
        // SAFETY: a live estimator; `classes` has the length that is passed.
        let count = unsafe { ggml_sys::atelier_estimator_work(self.0.as_ptr(), classes.as_mut_ptr(), classes.len()) };
        classes.truncate(count);
        estimates.iter().filter_map(|of| module_work(of, &classes)).collect()
    }
}

/// Memory of an upscaler, and its work on a picture of this size, tile by tile: no weights are
/// read, no device allocates or computes.
pub(crate) fn upscaler_estimate(
    path: &Path,
    runs_on: &str,
    (width, height): (u32, u32),
    tile_size: Option<u32>,
    callbacks: &dyn JobCallbacks,
) -> Result<(ModuleEstimate, ModuleWork), CallError> {
    let mut strings = Strings::default();
    let path = strings.path(Some(path))?;
    let backend = strings.text(&Placement::all_on(runs_on).text().backend)?;
    let raw_callbacks = RawCallbacks::new(&callbacks);
    let mut estimate = ggml_sys::atelier_module_estimate::default();
    let (mut tiles, mut classes, mut count) = (0, no_work(), 0);
    // SAFETY: `strings` outlives the call; `raw_callbacks` borrows `callbacks`; all else are locals
    // to be written, `classes` with the length that is passed.
    let status = unsafe {
        ggml_sys::atelier_upscaler_estimate(
            path,
            direct_convolutions(runs_on).include(Module::Upscaler),
            tile_side(tile_size),
            backend,
            width,
            height,
            raw_callbacks.as_ptr(),
            &raw mut estimate,
            &raw mut tiles,
            classes.as_mut_ptr(),
            classes.len(),
            &raw mut count,
        )
    };
    CallError::check(status)?;
    classes.truncate(count);
    let known = module_estimate(&estimate).zip(module_work(&estimate, &classes));
    let (memory, of_tile) = known.ok_or_else(|| CallError::new("the engine counted no work"))?;
    Ok((memory, ModuleWork { repetitions: u32::try_from(tiles).unwrap_or(1), ..of_tile }))
}

/// An array for C to write to.
fn no_work() -> Vec<ggml_sys::atelier_work> {
    let empty =
        ggml_sys::atelier_work { module: 0, phase: 0, kind: 0, size: 0, type_: std::ptr::null(), nodes: 0, operations: 0, bytes: 0 };
    vec![empty; MAX_WORK]
}

/// Work of a module in a phase, of which these are the classes of nodes beside those of others.
fn module_work(of: &ggml_sys::atelier_module_estimate, classes: &[ggml_sys::atelier_work]) -> Option<ModuleWork> {
    let mut work = Work::of_graphs(u64::try_from(of.graphs).unwrap_or(0), of.input_bytes, of.output_bytes);
    for it in classes.iter().filter(|it| it.module == of.module && it.phase == of.phase) {
        let amount = WorkAmount { nodes: it.nodes, operations: it.operations, bytes: it.bytes };
        work.add_nodes(work_class(it)?, amount);
    }
    let module = module_of(of.module)?;
    let share = if module == Module::Controlnet { StepShare::Control } else { StepShare::All };
    Some(ModuleWork { module, phase: phase_kind(of.phase)?, pass: 0, work, repetitions: 1, share })
}

fn work_class(raw: &ggml_sys::atelier_work) -> Option<WorkClass> {
    // SAFETY: null or a name of ggml, which lives as long as the process.
    let weights = WeightType::from_ggml(&unsafe { text(raw.type_) });
    Some(WorkClass { kind: work_kind(raw.kind)?, weights, size: node_size(raw.size)? })
}

const fn work_kind(kind: c_int) -> Option<WorkKind> {
    match kind {
        ggml_sys::ATELIER_WORK_PRODUCT => Some(WorkKind::Product),
        ggml_sys::ATELIER_WORK_CONVOLUTION => Some(WorkKind::Convolution),
        ggml_sys::ATELIER_WORK_ATTENTION => Some(WorkKind::Attention),
        ggml_sys::ATELIER_WORK_ELEMENTWISE => Some(WorkKind::Elementwise),
        ggml_sys::ATELIER_WORK_TRANSCENDENTAL => Some(WorkKind::Transcendental),
        ggml_sys::ATELIER_WORK_NORMALIZATION => Some(WorkKind::Normalization),
        ggml_sys::ATELIER_WORK_COPY => Some(WorkKind::Copy),
        _ => None,
    }
}

const fn node_size(size: c_int) -> Option<NodeSize> {
    match size {
        ggml_sys::ATELIER_NODE_NARROW => Some(NodeSize::Narrow),
        ggml_sys::ATELIER_NODE_SMALL => Some(NodeSize::Small),
        ggml_sys::ATELIER_NODE_MEDIUM => Some(NodeSize::Medium),
        ggml_sys::ATELIER_NODE_LARGE => Some(NodeSize::Large),
        _ => None,
    }
}

fn module_estimate(raw: &ggml_sys::atelier_module_estimate) -> Option<ModuleEstimate> {
    Some(ModuleEstimate {
        module: module_of(raw.module)?,
        phase: phase_kind(raw.phase)?,
        weight_bytes: raw.weight_bytes,
        lora_bytes: raw.lora_bytes,
        compute_bytes: raw.compute_bytes,
        peak_bytes: raw.peak_bytes,
        packed_bytes: raw.packed_bytes,
        graphs: u32::try_from(raw.graphs).unwrap_or(0),
    })
}

impl Drop for Estimator {
    fn drop(&mut self) {
        // SAFETY: the pointer came from `atelier_estimator_new` and is freed once.
        unsafe { ggml_sys::atelier_context_free(self.0.as_ptr()) };
    }
}

/// Peaks of allocated bytes by device name and phase during this thread's last generation or
/// upscaling.
pub(crate) fn last_peaks() -> Vec<(String, PhaseKind, u64)> {
    let mut peaks = [ggml_sys::atelier_device_peak { device: std::ptr::null(), phase: 0, bytes: 0 }; MAX_PEAKS];
    // SAFETY: `peaks` has the length that is passed.
    let count = unsafe { ggml_sys::atelier_last_peaks(peaks.as_mut_ptr(), peaks.len()) };
    let peak = |raw: &ggml_sys::atelier_device_peak| {
        // SAFETY: null or a device's name, which lives as long as the process.
        let device = unsafe { text(raw.device) };
        Some((device, phase_kind(raw.phase)?, raw.bytes))
    };
    peaks.iter().take(count).filter_map(peak).collect()
}

/// What this thread's last image copied to the devices of its modules.
pub(crate) fn last_copies() -> Vec<Copies> {
    let mut copies = [ggml_sys::atelier_copies { module: 0, bytes: 0, count: 0, waited_us: 0, hidden_us: 0 }; Module::ALL.len()];
    // SAFETY: `copies` has the length that is passed.
    let count = unsafe { ggml_sys::atelier_last_copies(copies.as_mut_ptr(), copies.len()) };
    let secs = |us: u64| us as f64 / 1e6;
    let of = |raw: &ggml_sys::atelier_copies| {
        let (waited_secs, hidden_secs) = (secs(raw.waited_us), secs(raw.hidden_us));
        Some(Copies { module: module_of(raw.module)?, bytes: raw.bytes, count: raw.count, waited_secs, hidden_secs })
    };
    copies.iter().take(count).filter_map(of).collect()
}

/// Use of a LoRA in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoraUse {
    pub(crate) path: String,
    /// Tensors that were used.
    pub(crate) applied: u64,
    /// Tensors of the file; 0: none is of a module of this model.
    pub(crate) total: u64,
}

/// The LoRAs of this thread's last image; those of no strength are left out.
pub(crate) fn last_loras() -> Vec<LoraUse> {
    // SAFETY: nothing is written to an array of no length.
    let count = unsafe { ggml_sys::atelier_last_loras(null_mut(), 0) };
    let mut raw = vec![ggml_sys::atelier_lora_use { path: std::ptr::null(), applied: 0, total: 0 }; count];
    // SAFETY: `raw` has the length that is passed.
    unsafe { ggml_sys::atelier_last_loras(raw.as_mut_ptr(), raw.len()) };
    // SAFETY: strings that live until this thread's next call.
    raw.iter().map(|it| LoraUse { path: unsafe { text(it.path) }, applied: it.applied, total: it.total }).collect()
}

/// Values of this thread's last picture that are no numbers.
pub(crate) fn last_missing_numbers() -> u64 {
    // SAFETY: it takes nothing and reads a number of this thread.
    unsafe { ggml_sys::atelier_last_missing_numbers() }
}
