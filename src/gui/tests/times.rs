//! Tests of predicted and measured times, as they are told; the test plays the engine.

use crate::gui::tests::board::{estimate, open_board, recipe};
use crate::gui::tests::*;
use atelier_core::format::GIB;
use atelier_core::recipe::{PictureInfo, StepShare};
use atelier_core::time::{
    ClassRate, DeviceRates, MachineRates, ModuleWork, NodeSize, PictureWork, WeightType, Work, WorkAmount, WorkClass, WorkKind,
};
use atelier_engine::{Estimate, PhaseKind, Residency, Resident, ResidentId, ResidentPart};

/// The estimate of [`estimate`] with work and rates: load 3 s, encode 1 s, 0.5 s a step, decode 2
/// s, on each of these devices.
pub(crate) fn timed_estimate(devices: &[&str]) -> Estimate {
    let class = WorkClass { kind: WorkKind::Product, weights: WeightType::F16, size: NodeSize::Large };
    let module = |module, phase, operations, repetitions| {
        let mut work = Work::of_graphs(1, 0, 0);
        work.add_nodes(class, WorkAmount { nodes: 1, operations, bytes: 0 });
        ModuleWork { module, phase, pass: 0, work, repetitions, share: StepShare::All }
    };
    let modules = vec![
        module(Module::Llm, PhaseKind::Encoding, 100, 1),
        module(Module::Diffusion, PhaseKind::Denoising, 50, 20),
        module(Module::Vae, PhaseKind::Decoding, 200, 1),
    ];
    let classes = vec![ClassRate { class, per_sec: 100.0 }];
    let rates = DeviceRates { classes, load_per_sec: 3.4 * GIB as f64, ..DeviceRates::default() };
    let devices = devices.iter().map(|name| ((*name).to_owned(), rates.clone())).collect();
    Estimate { work: PictureWork { modules }, rates: MachineRates { devices, open_secs: 0.0 }, ..estimate(5) }
}

impl Studio {
    /// Answers the request for an estimate by [`timed_estimate`] on every device of the machine.
    pub(crate) fn answer_timed_estimate(&mut self) {
        self.settle();
        let recipe = Box::new(self.app().state.shared.next.recipe.clone());
        self.port.send(Event::Estimated { recipe, estimate: Ok(timed_estimate(&["CPU", "GPU0", "GPU1"])) });
        self.settle();
    }
}

#[test]
fn times_are_told_by_phase_and_beside_the_button_and_what_was_measured_beside_them() {
    let mut studio = open_board(5);
    assert!(studio.sees("Time per picture is not known yet."));
    assert!(!studio.sees("a picture, "));
    studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
    studio.answer_timed_estimate();
    assert!(studio.sees("About 13 s a picture, 0.5 s a step."));
    assert!(studio.sees("GPU0 load: 10.2 GiB; 3 s") && studio.sees("GPU0 encode: 10.4 GiB; 1 s"));
    assert!(studio.sees("GPU0 denoise: 10.9 GiB; 10 s") && studio.sees("GPU0 decode: 10.7 GiB; 2 s"));
    assert!(!studio.sees("GPU1 denoise: 0 MiB;"), "it has nothing to do");

    // Steps change the time at once, without an estimate.
    studio.harness.state_mut().as_mut().unwrap().state.shared.next.recipe.steps = 4;
    studio.settle();
    assert!(studio.sees("GPU0 denoise: 10.9 GiB; 2 s") && studio.sees("About 5 s a picture, 0.5 s a step."));
    studio.harness.state_mut().as_mut().unwrap().state.shared.next.recipe.steps = 20;

    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.settle();
    assert!(studio.sees("About 16 s, first preview after 4.5 s"));
    studio.harness.state_mut().as_mut().unwrap().state.shared.next.recipe.batch_count = 3;
    studio.settle();
    assert!(studio.sees("3 pictures in about 40 s, first preview after 4.5 s"));
    studio.harness.state_mut().as_mut().unwrap().state.shared.next.recipe.batch_count = 1;
    // What is in memory is not read again.
    let part = ResidentPart { module: Module::Diffusion, device: "GPU0".into(), bytes: GIB, owner: ResidentId(1), shared: false };
    let model = Resident { parts: vec![part], ..memory::resident(1, recipe().files) };
    studio.port.send(Event::Residency(Residency { models: vec![model], ..Residency::default() }));
    studio.settle();
    assert!(studio.sees("About 13 s, first preview after 1.5 s"));

    let (job, ..) = studio.generate();
    studio.begin(job, vec![1]);
    let timings = Timings { load_secs: 0.01, encode_secs: 0.01, denoise_secs: 11.0, decode_secs: 2.0, total_secs: 13.1 };
    let pictures = vec![PictureInfo { index: 0, seed: Some(Seed(1)), cpu_math: None, merged_loras: false }];
    studio.port.send(Event::End { job, end: End::Done { pictures, timings, notes: Vec::new() } });
    studio.press(Modifiers::COMMAND, Key::Num2);
    studio.settle();
    assert!(studio.sees("; 10 s, measured 11 s (10.0 % more)"));
    assert!(studio.sees("; 2 s, measured 2 s") && studio.sees("; 3 s") && !studio.sees("; 3 s, measured"), "it was in memory");
}

#[test]
fn the_queue_goes_by_the_prediction_until_a_picture_has_shown_more() {
    let mut studio = open_board(5);
    studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
    studio.answer_timed_estimate();
    let (job, ..) = studio.generate();
    let recipe = recipe();
    let begin = Begin { width: recipe.width, height: recipe.height, steps: recipe.steps, seeds: vec![Seed(1)], notes: Vec::new() };
    studio.port.send(Event::Begin { job, begin });
    studio.harness.run_ok();
    let ends = |app: &App| app.state.shared.queue.ends_in_secs();
    studio.until("the time of its end", |app| ends(app).is_some());
    // Load 3, encode 1, twenty steps of 0.5, decode 2.
    assert!((ends(studio.app()).unwrap() - 16.0).abs() < 1e-6, "{:?}", ends(studio.app()));
    studio.port.send(Event::Step { job, step: Step { picture: 0, done: 10, total: 20, fraction: 0.0, step_secs: 1.0 } });
    studio.until("what its steps show", |app| ends(app).is_some_and(|secs| secs < 15.0));
    // Half of twenty steps of 1, and of decoding.
    assert!((ends(studio.app()).unwrap() - 11.0).abs() < 1e-6, "{:?}", ends(studio.app()));
}
