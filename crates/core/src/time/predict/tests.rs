use proptest::prelude::*;

use super::super::corrections::TimeCorrection;
use super::super::rates::ClassRate;
use super::super::work::{NodeSize, WeightType, Work, WorkAmount, WorkClass, WorkKind};
use super::*;

fn class(kind: WorkKind, size: NodeSize) -> WorkClass {
    WorkClass { kind, weights: WeightType::F16, size }
}

fn work(operations: u64, bytes: u64) -> Work {
    let mut work = Work::of_graphs(1, 0, 0);
    work.add_nodes(class(WorkKind::Product, NodeSize::Large), WorkAmount { nodes: 1, operations, bytes: 0 });
    work.add_nodes(class(WorkKind::Copy, NodeSize::Large), WorkAmount { nodes: 1, operations: 0, bytes });
    work
}

fn phase(module: Module, phase: PhaseKind, device: &str, work: Work, repetitions: u32) -> PhaseWork {
    PhaseWork {
        module,
        phase,
        pass: 0,
        device: device.into(),
        work,
        repetitions,
        file_bytes: 0,
        staged_bytes: 0,
        allocated_bytes: 0,
        streamed_bytes: 0,
        each_picture: !matches!(phase, PhaseKind::Loading | PhaseKind::Encoding),
    }
}

/// Each class at a hundred a second, copies at ten, loading at fifty.
fn rates() -> DeviceRates {
    let sizes = [NodeSize::Small, NodeSize::Large];
    let classes = WorkKind::ALL.into_iter().flat_map(|kind| sizes.map(|size| class(kind, size)));
    DeviceRates {
        classes: classes.map(|class| ClassRate { class, per_sec: 100.0 }).collect(),
        copy_to_per_sec: 10.0,
        copy_from_per_sec: 10.0,
        load_per_sec: 50.0,
        allocate_per_sec: 20.0,
        node_secs: 0.0,
        graph_secs: 0.0,
    }
}

fn machine(devices: &[(&str, DeviceRates)]) -> MachineRates {
    MachineRates { devices: devices.iter().map(|(name, rates)| ((*name).into(), rates.clone())).collect(), open_secs: 0.5 }
}

/// Load 3 + 0.5, encode 1, five steps of 2, decode 4.
fn picture() -> Vec<PhaseWork> {
    let mut load = phase(Module::Diffusion, PhaseKind::Loading, "CUDA0", Work::default(), 1);
    load.file_bytes = 150;
    vec![
        load,
        phase(Module::Llm, PhaseKind::Encoding, "CPU", work(100, 0), 1),
        phase(Module::Diffusion, PhaseKind::Denoising, "CUDA0", work(100, 100), 5),
        phase(Module::Vae, PhaseKind::Decoding, "CUDA0", work(400, 0), 1),
    ]
}

#[test]
fn phases_add_up_to_the_picture() {
    let machine = machine(&[("CPU", rates()), ("CUDA0", rates())]);
    let it = predict_time(&picture(), &machine, &TimeCorrections::default()).unwrap();
    assert_eq!((it.load_secs, it.encode_secs, it.step_secs, it.denoise_secs, it.decode_secs), (3.5, 1.0, 2.0, 10.0, 4.0));
    assert_eq!((it.first_preview_secs, it.total_secs, it.next_picture_secs, it.loaded_secs()), (6.5, 18.5, 14.0, 15.0));
    assert_eq!((it.batch_secs(0), it.batch_secs(1), it.batch_secs(3)), (18.5, 18.5, 46.5));
    assert_eq!((it.phase_secs(PhaseKind::Denoising), it.phases.len()), (10.0, 4));
}

#[test]
fn encoders_of_different_devices_run_beside_each_other() {
    let machine = machine(&[("CPU", rates()), ("CUDA0", rates())]);
    let mut phases = picture();
    // A second and a half on the CPU, where the other takes one; three on the card.
    phases.insert(2, phase(Module::ClipL, PhaseKind::Encoding, "CPU", work(150, 0), 1));
    phases.insert(3, phase(Module::T5, PhaseKind::Encoding, "CUDA0", work(300, 0), 1));
    let it = predict_time(&phases, &machine, &TimeCorrections::default()).unwrap();
    assert_eq!((it.encode_secs, it.first_preview_secs, it.total_secs), (3.0, 8.5, 20.5));
    // The VAE reads the start picture before them.
    phases.insert(1, phase(Module::Vae, PhaseKind::Encoding, "CUDA0", work(100, 0), 1));
    let it = predict_time(&phases, &machine, &TimeCorrections::default()).unwrap();
    assert_eq!((it.encode_secs, it.total_secs), (4.0, 21.5));
}

#[test]
fn weights_that_are_copied_or_read_again_count_where_that_happens() {
    let machine = machine(&[("CPU", rates()), ("CUDA0", rates())]);
    let secs = |change: fn(&mut PhaseWork)| {
        let mut phases = picture();
        phases.iter_mut().filter(|it| it.module == Module::Diffusion).for_each(change);
        let it = predict_time(&phases, &machine, &TimeCorrections::default()).unwrap();
        (it.step_secs, it.denoise_secs, it.next_picture_secs)
    };
    assert_eq!(secs(|it| it.staged_bytes = if it.phase == PhaseKind::Denoising { 30 } else { 0 }), (2.0, 13.0, 17.0));
    assert_eq!(secs(|it| it.streamed_bytes = if it.phase == PhaseKind::Denoising { 30 } else { 0 }), (5.0, 25.0, 29.0));
    assert_eq!(secs(|it| it.allocated_bytes = if it.phase == PhaseKind::Denoising { 20 } else { 0 }), (2.0, 11.0, 15.0));
    assert_eq!(secs(|it| it.each_picture = true), (2.0, 10.0, 17.0), "its weights are read for each picture");
}

#[test]
fn a_second_pass_is_part_of_the_picture_but_not_of_its_first_preview() {
    let machine = machine(&[("CPU", rates()), ("CUDA0", rates())]);
    let mut phases = picture();
    phases.push(PhaseWork { pass: 1, ..phase(Module::Diffusion, PhaseKind::Denoising, "CUDA0", work(400, 0), 3) });
    let it = predict_time(&phases, &machine, &TimeCorrections::default()).unwrap();
    assert_eq!((it.step_secs, it.denoise_secs, it.first_preview_secs, it.total_secs), (2.0, 22.0, 6.5, 30.5));
    assert_eq!(it.phases.len(), 4, "passes of a module and phase are one");
}

#[test]
fn corrections_are_those_of_the_device_and_the_phase() {
    let machine = machine(&[("CPU", rates()), ("CUDA0", rates())]);
    let correction = |device: &str, phase, factor| TimeCorrection { device: device.into(), phase, factor };
    let corrections = TimeCorrections(vec![
        correction("CUDA0", PhaseKind::Denoising, 1.5),
        correction("CPU", PhaseKind::Denoising, 9.0),
        correction("CUDA0", PhaseKind::Decoding, f64::NAN),
    ]);
    let it = predict_time(&picture(), &machine, &corrections).unwrap();
    assert_eq!((it.encode_secs, it.step_secs, it.denoise_secs, it.decode_secs), (1.0, 3.0, 15.0, 4.0));
}

#[test]
fn devices_that_were_not_measured_are_named() {
    let incomplete = DeviceRates { classes: vec![], ..rates() };
    let error = predict_time(&picture(), &machine(&[("CUDA0", incomplete)]), &TimeCorrections::default()).unwrap_err();
    assert_eq!(error.to_string(), "not measured yet: CPU, CUDA0");
}

fn any_work() -> impl Strategy<Value = Work> {
    let part = (0..WorkKind::ALL.len(), 0..NodeSize::ALL.len(), 0..1_000_u64, 0..1_000_000_000_u64);
    (proptest::collection::vec(part, 0..6), 0..50_u64, 0..10_000_u64).prop_map(|(parts, graphs, bytes)| {
        let mut work = Work::of_graphs(graphs, bytes, bytes / 2);
        for (kind, size, nodes, amount) in parts {
            work.add_nodes(class(WorkKind::ALL[kind], NodeSize::ALL[size]), WorkAmount { nodes, operations: amount, bytes: amount });
        }
        work
    })
}

fn any_phases() -> impl Strategy<Value = Vec<PhaseWork>> {
    let kinds = [PhaseKind::Loading, PhaseKind::Encoding, PhaseKind::Denoising, PhaseKind::Decoding, PhaseKind::Upscaling];
    let one = (0..kinds.len(), any_work(), 1..30_u32, 0..1_000_000_u64).prop_map(move |(kind, work, repetitions, bytes)| {
        let it = phase(Module::Diffusion, kinds[kind], "CUDA0", work, repetitions);
        PhaseWork { file_bytes: bytes, staged_bytes: bytes / 3, allocated_bytes: bytes / 5, streamed_bytes: bytes / 7, ..it }
    });
    proptest::collection::vec(one, 1..5)
}

fn any_rates() -> impl Strategy<Value = DeviceRates> {
    (1.0..1e6_f64, 1.0..1e6_f64, 1.0..1e6_f64, 0.0..1e-2_f64).prop_map(|(compute, copy, load, secs)| DeviceRates {
        classes: rates().classes.into_iter().map(|it| ClassRate { per_sec: it.per_sec * compute, ..it }).collect(),
        copy_to_per_sec: copy,
        copy_from_per_sec: copy,
        load_per_sec: load,
        allocate_per_sec: load,
        node_secs: secs,
        graph_secs: secs,
    })
}

proptest! {
    #[test]
    fn a_faster_device_never_makes_a_prediction_longer(phases in any_phases(), slow in any_rates(), faster in 1.0..50.0_f64, which in 0..64_u32) {
        let by = |bit: u32| if which & (1 << bit) == 0 { 1.0 } else { faster };
        let quick = DeviceRates {
            classes: slow.classes.iter().map(|it| ClassRate { per_sec: it.per_sec * by(u32::from(it.class.kind.is_limited_by_memory())), ..*it }).collect(),
            copy_to_per_sec: slow.copy_to_per_sec * by(2),
            copy_from_per_sec: slow.copy_from_per_sec * by(2),
            load_per_sec: slow.load_per_sec * by(3),
            allocate_per_sec: slow.allocate_per_sec * by(3),
            node_secs: slow.node_secs / by(4),
            graph_secs: slow.graph_secs / by(5),
        };
        let secs = |rates: DeviceRates| predict_time(&phases, &machine(&[("CUDA0", rates)]), &TimeCorrections::default()).unwrap();
        let (slow, quick) = (secs(slow), secs(quick));
        prop_assert!(quick.total_secs <= slow.total_secs);
        prop_assert!(quick.first_preview_secs <= slow.first_preview_secs);
        prop_assert!(quick.next_picture_secs <= slow.next_picture_secs);
    }

    #[test]
    fn more_work_never_makes_a_prediction_shorter(phases in any_phases(), more in any_work(), rates in any_rates(), at in 0..5_usize) {
        let secs = |phases: &[PhaseWork]| predict_time(phases, &machine(&[("CUDA0", rates.clone())]), &TimeCorrections::default()).unwrap();
        let before = secs(&phases);
        let mut larger = phases.clone();
        let index = at % larger.len();
        larger[index].work.add(&more);
        larger[index].repetitions += 1;
        larger[index].staged_bytes += 1;
        let after = secs(&larger);
        prop_assert!(after.total_secs >= before.total_secs);
        prop_assert!(after.first_preview_secs >= before.first_preview_secs);
        larger.push(phases[0].clone());
        prop_assert!(secs(&larger).total_secs >= after.total_secs);
    }
}
