//! Packed weights that the processor keeps from step to step: whether, and of which memory.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use atelier_kernels::packed_weights;

/// Packed weights are kept where a job has memory for them.
static KEEPS_PACKED: AtomicBool = AtomicBool::new(false);

/// Packed weights are kept from now on where a job has memory for them, or not. Not while a job
/// runs.
pub(crate) fn set_keeps_packed(keeps: bool) {
    KEEPS_PACKED.store(keeps, Ordering::Release);
}

/// Packed weights are kept where a job has memory for them.
pub(crate) fn keeps_packed() -> bool {
    KEEPS_PACKED.load(Ordering::Acquire)
}

// SAFETY of all functions below: the shim passes memory of weights that it holds until it is
// forgotten.

pub(super) unsafe extern "C" fn keep_packed(start: *const c_void, size: usize, owner: usize, limit: usize) {
    if keeps_packed() {
        packed_weights::keep(start.cast(), size, owner, limit);
    }
}

pub(super) unsafe extern "C" fn forget_packed(start: *const c_void, size: usize) {
    packed_weights::forget(start.cast(), size);
}

pub(super) unsafe extern "C" fn packed_total() -> usize {
    packed_weights::total_bytes()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use testkit::adapters::{AdapterKind, zimage};
    use testkit::tiny;

    use super::*;
    use crate::ffi::tests::{Recorder, context_params, from_noise, lock_engine, open};
    use crate::ffi::{Context, Estimator, GenerateParams, Limits, last_peaks, set_cpu_math};
    use crate::processor::processor;
    use crate::protocol::{PhaseKind, PreviewOptions};
    use atelier_core::cpu_math::CpuMath;
    use atelier_core::placement::Module;
    use atelier_core::recipe::{Lora, LoraMode, Recipe, Rgb8};
    use atelier_library::check_files;

    /// Chooses an arithmetic of ours that keeps packed weights, whatever it gains here; false where
    /// this processor has none.
    fn choose(math: CpuMath) -> bool {
        let is_chosen = set_cpu_math(Some(math), processor()) == math;
        set_keeps_packed(is_chosen);
        is_chosen
    }

    fn recipe() -> Recipe {
        Recipe { prompt: "a lake".into(), steps: 3, guidance: 1.0, ..Recipe::default() }
    }

    fn deep_model(dir: &Path, format: tiny::Format) -> tiny::TinyFiles {
        tiny::zimage(dir, &tiny::Options { format, layers: 3, ..tiny::Options::default() }).unwrap()
    }

    fn limit(context: &Context, packed_bytes: u64) {
        context.set_limits(&Limits { packed_bytes, ..Limits::default() }, &Recorder::default()).unwrap();
    }

    fn made(context: &mut Context, params: &GenerateParams<'_>) -> Rgb8 {
        let picture = context.generate(params, PreviewOptions::Off, &Recorder::default()).unwrap();
        assert_eq!(packed_weights::total_bytes(), 0, "nothing is kept for longer than a picture");
        picture
    }

    /// Most bytes of the processor's memory in the steps of the last picture.
    fn denoising_peak() -> u64 {
        let peaks = last_peaks().into_iter().filter(|(device, phase, _)| device == "CPU" && *phase == PhaseKind::Denoising);
        peaks.map(|(.., bytes)| bytes).max().unwrap()
    }

    #[test]
    fn packed_weights_change_no_byte_and_take_what_the_estimate_says_or_the_limit() {
        let _lock = lock_engine();
        for (math, format) in [
            (CpuMath::F32, tiny::Format::Safetensors),
            (CpuMath::F32, tiny::Format::GgufQ8),
            (CpuMath::Bf16, tiny::Format::Safetensors),
            (CpuMath::Int8, tiny::Format::GgufQ8),
        ] {
            if !choose(math) {
                continue;
            }
            let dir = tempfile::tempdir().unwrap();
            let params = context_params(&deep_model(dir.path(), format));
            let recipe = recipe();
            let picture = from_noise(&recipe);
            let mut estimator = Estimator::new(&params, &Recorder::default()).unwrap();
            let predicted = estimator.run(&picture, &Limits::default(), &Recorder::default()).unwrap().memory;
            let (steps, others): (Vec<_>, Vec<_>) =
                predicted.into_iter().partition(|it| (it.module, it.phase) == (Module::Diffusion, PhaseKind::Denoising));
            assert!(others.iter().all(|it| it.packed_bytes == 0), "{math} {format:?}");
            let packed = steps[0].packed_bytes;
            // What is multiplied in eight bits is packed in another way, and not kept.
            let is_kept = math != CpuMath::Int8;
            assert_eq!(packed > steps[0].weight_bytes / 2, is_kept, "{math} {format:?}: {packed}");
            let mut context = open(&params).unwrap();
            let wanted = made(&mut context, &picture);
            // The decoder's weights stay from here on.
            assert_eq!(made(&mut context, &picture), wanted);
            let before = denoising_peak();
            limit(&context, u64::MAX);
            assert_eq!(made(&mut context, &picture), wanted, "{math} {format:?}");
            assert_eq!(denoising_peak() - before, packed, "{math} {format:?}");
            limit(&context, packed / 2);
            assert_eq!(made(&mut context, &picture), wanted, "{math} {format:?}");
            let kept = denoising_peak() - before;
            assert!((kept > 0 || !is_kept) && kept <= packed / 2, "{math} {format:?}: {kept} of {packed}");
            limit(&context, 0);
            assert_eq!(made(&mut context, &picture), wanted, "{math} {format:?}");
            assert_eq!(denoising_peak(), before, "{math} {format:?}");
        }
        set_cpu_math(Some(CpuMath::Exact), processor());
    }

    /// A merged LoRA changes weights in memory, and so does the next one, or none.
    #[test]
    fn merged_loras_are_in_the_packed_weights_of_their_picture_alone() {
        let _lock = lock_engine();
        if !choose(CpuMath::F32) {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let files = deep_model(dir.path(), tiny::Format::Safetensors);
        let adapter = zimage(dir.path(), &files.diffusion, AdapterKind::Lora, |layer| format!("diffusion_model.{layer}")).unwrap().adapter;
        let params = context_params(&files);
        let pictures = |packed_bytes: u64| {
            let mut context = open(&params).unwrap();
            limit(&context, packed_bytes);
            [Some(1.0), Some(0.25), None, Some(1.0), Some(1.0)].map(|strength| {
                let loras: Vec<Lora> = strength.map(|strength| Lora::new(PathBuf::from(&adapter), strength)).into_iter().collect();
                let adapters = check_files(&params.files, &loras).unwrap().adapters;
                let key = format!("{strength:?}");
                let recipe = Recipe { loras, lora_mode: LoraMode::Immediately, ..recipe() };
                made(&mut context, &GenerateParams { adapters: &adapters, lora_key: &key, ..from_noise(&recipe) })
            })
        };
        let wanted = pictures(0);
        assert!(wanted[0] != wanted[1] && wanted[1] != wanted[2] && wanted[0] == wanted[3], "the LoRA changes pictures");
        assert!(pictures(u64::MAX) == wanted);
        set_cpu_math(Some(CpuMath::Exact), processor());
    }
}
