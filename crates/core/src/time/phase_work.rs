//! Work of a phase on a device.

use super::picture_work::{ModuleWork, PictureWork};
use super::work::Work;
use crate::module::Module;
use crate::placement::{ModulePrediction, ModuleSet, Needs, Phase, PhaseKind, Placement, Prediction, WeightLocation};

/// Bytes of a budget that the engine leaves free while it streams (`annotate_residency` of
/// `ggml_graph_cut.cpp`).
const STREAMING_MARGIN: u64 = 512 << 20;
/// Part of a budget that the piece may take which runs while others stay (`resolve_graph_cut_plan`
/// of `ggml_extend.hpp`).
const STREAMING_PIECE: u64 = 4;

/// Work of a module in a phase on the device where it runs, with what is copied to it.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseWork {
    /// The module.
    pub module: Module,
    /// The phase. Loading has no work of graphs.
    pub phase: PhaseKind,
    /// The pass of the picture, from 0.
    pub pass: u32,
    /// Whole name of the device; for loading, that on which the weights live.
    pub device: String,
    /// Work of one repetition.
    pub work: Work,
    /// Number of repetitions.
    pub repetitions: u32,
    /// Bytes of weights that are read from files, once.
    pub file_bytes: u64,
    /// Bytes of weights that are copied from RAM to the device, once.
    pub staged_bytes: u64,
    /// Bytes of the compute buffer, which is allocated once and freed at the end.
    pub allocated_bytes: u64,
    /// Bytes of weights that are copied from RAM to the device in each repetition.
    pub streamed_bytes: u64,
    /// True where it is done for each picture; false for what is kept: weights that stay loaded,
    /// the encoding of a prompt.
    pub each_picture: bool,
}

/// The work of a picture where a placement puts it: loading first, then each module by pass and
/// phase.
///
/// `prediction` is that of the placement with the same needs. Weights are read once, those on the
/// disk each time that their module runs. What waits in RAM is copied once a phase; of a module
/// that runs in pieces, in each evaluation, but for what streaming keeps on the device.
#[must_use]
pub fn phase_works(work: &PictureWork, needs: &Needs, placement: &Placement, prediction: &Prediction) -> Vec<PhaseWork> {
    let mut works = Vec::new();
    for (module, its) in &prediction.modules {
        let device = match &its.weights {
            WeightLocation::Device(device) => device,
            WeightLocation::Disk => continue,
        };
        let lora_bytes = needs.modules.get(module).map_or(0, |needs| needs.lora_bytes);
        works.push(loading(*module, device, its.weight_bytes.saturating_add(lora_bytes), false));
    }
    for (it, is_added) in work.done() {
        // A prompt's encoding is kept.
        let each_picture = !(it.module.is_encoder() && it.phase == PhaseKind::Encoding);
        let assignment = placement.assignment(it.module);
        let its = prediction.modules.get(&it.module);
        if let Some(its) = its.filter(|its| its.weights == WeightLocation::Disk && !is_added) {
            works.push(PhaseWork { pass: it.pass, ..loading(it.module, &assignment.runs_on, its.weight_bytes, each_picture) });
        }
        let buffers = needs.modules.get(&it.module).map(|needs| &needs.compute_bytes);
        let (staged_bytes, streamed_bytes) = its.map_or((0, 0), |its| copied_bytes(it, its, placement.stream_layers));
        works.push(PhaseWork {
            module: it.module,
            phase: it.phase,
            pass: it.pass,
            device: assignment.runs_on.clone(),
            work: it.work.clone(),
            repetitions: it.repetitions,
            file_bytes: 0,
            staged_bytes: if is_added { 0 } else { staged_bytes },
            allocated_bytes: buffers.and_then(|of| of.get(&Phase::from(it.phase))).copied().filter(|_| !is_added).unwrap_or(0),
            streamed_bytes,
            each_picture,
        });
    }
    works
}

fn loading(module: Module, device: &str, bytes: u64, each_picture: bool) -> PhaseWork {
    PhaseWork {
        module,
        phase: PhaseKind::Loading,
        pass: 0,
        device: device.to_owned(),
        work: Work::default(),
        repetitions: 1,
        file_bytes: bytes,
        staged_bytes: 0,
        allocated_bytes: 0,
        streamed_bytes: 0,
        each_picture,
    }
}

/// Bytes of weights that are copied from RAM once, and in each repetition.
fn copied_bytes(work: &ModuleWork, its: &ModulePrediction, streams: ModuleSet) -> (u64, u64) {
    let is_beside = matches!(&its.weights, WeightLocation::Device(device) if *device != its.runs_on);
    match its.graph_budget_bytes {
        _ if !is_beside => (0, 0),
        Some(budget) if its.in_pieces => {
            // What stays on the device stays between steps; an encoder runs once.
            let is_kept = streams.contains(work.module) && work.module == Module::Diffusion;
            let kept = if is_kept { kept_bytes(its.weight_bytes, budget) } else { 0 };
            (kept, (its.weight_bytes - kept).saturating_mul(work.work.graphs()))
        }
        _ => (its.weight_bytes, 0),
    }
}

/// Bytes of the weights that streaming keeps on the device.
const fn kept_bytes(weight_bytes: u64, budget_bytes: u64) -> u64 {
    let left = (budget_bytes - budget_bytes / STREAMING_PIECE).saturating_sub(STREAMING_MARGIN);
    if left < weight_bytes { left } else { weight_bytes }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::device::{Device, DeviceKind};
    use crate::format::GIB;
    use crate::placement::{DeviceCapacity, ModuleNeeds};
    use crate::recipe::{PlacementText, StepShare};

    fn device(name: &str, kind: DeviceKind, gib: u64) -> Device {
        Device {
            name: name.into(),
            description: String::new(),
            kind,
            gpu: None,
            memory_total_bytes: gib * GIB,
            memory_free_bytes: gib * GIB,
            memory_allocated_bytes: 0,
        }
    }

    /// Eight GiB of diffusion module, two of text encoder; two evaluations a step.
    fn works(params_backend: &str, max_vram: &str, stream_layers: &str) -> Vec<PhaseWork> {
        works_guided_in(0, params_backend, max_vram, stream_layers)
    }

    /// The same, with a third evaluation in so many of the steps.
    fn works_guided_in(steps: u32, params_backend: &str, max_vram: &str, stream_layers: &str) -> Vec<PhaseWork> {
        let devices = [device("CPU", DeviceKind::Cpu, 64), device("CUDA0", DeviceKind::Gpu, 24)];
        let needs = |gib: u64, phase| ModuleNeeds {
            weight_bytes: gib * GIB,
            compute_bytes: BTreeMap::from([(phase, GIB)]),
            least_bytes: Some(GIB / 2),
            ..ModuleNeeds::default()
        };
        let modules = [(Module::Diffusion, needs(8, Phase::Denoise)), (Module::Llm, needs(2, Phase::Encode))];
        let needs = Needs { modules: modules.into() };
        let module = |module, phase, graphs, repetitions| {
            let work = Work::of_graphs(graphs, 0, 0);
            ModuleWork { module, phase, pass: 0, work, repetitions, share: StepShare::All }
        };
        let added = module(Module::Diffusion, PhaseKind::Denoising, 1, steps);
        let work = PictureWork {
            modules: vec![
                module(Module::Llm, PhaseKind::Encoding, 1, 1),
                module(Module::Diffusion, PhaseKind::Denoising, 2, 20),
                ModuleWork { share: StepShare::Guided, ..added },
            ],
        };
        let text = PlacementText {
            params_backend: params_backend.into(),
            max_vram: max_vram.into(),
            stream_layers: stream_layers.parse().unwrap(),
            ..PlacementText::default()
        };
        let placement = Placement::parse(&text, &devices).unwrap();
        let capacities = devices.map(|device| DeviceCapacity::new(device, 0));
        let prediction = Prediction::of(&placement, &needs, &capacities).unwrap();
        phase_works(&work, &needs, &placement, &prediction)
    }

    /// Device, GiB read, copied once, and copied in each repetition.
    fn of(works: &[PhaseWork], module: Module, phase: PhaseKind) -> (&str, [f64; 3]) {
        let it = works.iter().find(|it| it.module == module && it.phase == phase).unwrap();
        (&it.device, [it.file_bytes, it.staged_bytes, it.streamed_bytes].map(|bytes| bytes as f64 / GIB as f64))
    }

    #[test]
    fn weights_are_read_to_where_they_live_and_copied_to_where_their_module_runs() {
        let resident = works("", "", "");
        assert_eq!(resident.len(), 4);
        assert_eq!(of(&resident, Module::Diffusion, PhaseKind::Loading), ("CUDA0", [8.0, 0.0, 0.0]));
        assert_eq!(of(&resident, Module::Diffusion, PhaseKind::Denoising), ("CUDA0", [0.0; 3]));
        let allocated: Vec<u64> = resident.iter().map(|it| it.allocated_bytes).collect();
        assert_eq!(allocated, [0, 0, GIB, GIB], "each phase has its compute buffer");
        let staged = works("cpu", "", "");
        assert_eq!(of(&staged, Module::Diffusion, PhaseKind::Loading), ("CPU", [8.0, 0.0, 0.0]));
        assert_eq!(of(&staged, Module::Diffusion, PhaseKind::Denoising), ("CUDA0", [0.0, 8.0, 0.0]));
        assert_eq!(of(&staged, Module::Llm, PhaseKind::Encoding), ("CUDA0", [0.0, 2.0, 0.0]));
    }

    #[test]
    fn weights_on_the_disk_are_read_each_time_but_for_a_prompt_that_is_known() {
        let disk = works("disk", "", "");
        let loading: Vec<_> = disk.iter().filter(|it| it.phase == PhaseKind::Loading).map(|it| (it.module, it.each_picture)).collect();
        assert_eq!(loading, [(Module::Llm, false), (Module::Diffusion, true)]);
        assert_eq!(of(&disk, Module::Diffusion, PhaseKind::Loading), ("CUDA0", [8.0, 0.0, 0.0]));
    }

    #[test]
    fn pieces_are_copied_in_each_evaluation_and_streaming_keeps_what_fits() {
        let pieces = works("diffusion=cpu", "6", "");
        assert_eq!(of(&pieces, Module::Diffusion, PhaseKind::Denoising), ("CUDA0", [0.0, 0.0, 16.0]));
        // Of six, two are the text encoder's weights: three quarters of four, less half a GiB,
        // stay.
        let streamed = works("diffusion=cpu", "6", "diffusion");
        assert_eq!(of(&streamed, Module::Diffusion, PhaseKind::Denoising), ("CUDA0", [0.0, 2.5, 11.0]));
    }

    #[test]
    fn what_some_steps_add_finds_the_weights_of_the_others() {
        let added = |params, max_vram, stream| -> Vec<PhaseWork> {
            let all = works_guided_in(5, params, max_vram, stream);
            assert_eq!(all[..all.len() - 1], works(params, max_vram, stream));
            all.into_iter().skip_while(|it| it.phase != PhaseKind::Denoising).skip(1).collect()
        };
        for weights in ["", "cpu", "disk"] {
            let works = added(weights, "", "");
            let [it] = &works[..] else { panic!("{weights}: weights are read once, {works:?}") };
            assert_eq!((it.repetitions, it.work.graphs()), (5, 1));
            assert_eq!((it.file_bytes, it.staged_bytes, it.streamed_bytes, it.allocated_bytes), (0, 0, 0, 0), "{weights}");
        }
        let in_pieces = added("diffusion=cpu", "6", "");
        let copied: Vec<_> = in_pieces.iter().map(|it| (it.staged_bytes, it.streamed_bytes)).collect();
        assert_eq!(copied, [(0, 8 * GIB)], "pieces are copied in its evaluations too");
    }

    #[test]
    fn a_larger_budget_never_streams_more() {
        let streamed = |budget: u64| kept_bytes(8 * GIB, budget * GIB);
        let kept: Vec<u64> = (0..32).map(streamed).collect();
        assert!(kept.is_sorted(), "{kept:?}");
        assert_eq!((kept[0], kept[31]), (0, 8 * GIB));
    }
}
