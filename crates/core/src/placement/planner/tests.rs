use proptest::prelude::*;

use super::super::budgets::Budgets;
use super::super::capacity::DeviceCapacity;
use super::super::change::Alternative;
use super::super::search::{Candidates, cheapest, visits, with};
use super::super::testing::{capacity, needs, workstation};
use super::super::{
    Assignment, Change, Module, ModuleNeeds, Needs, Phase, PhaseKind, Pin, Pins, Placement, PlanTime, Prediction, WeightLocation, pins,
};
use super::*;
use crate::device::{Device, DeviceKind};
use crate::format::{GIB, memory_size};
use crate::module_set::ModuleSet;
use crate::recipe::{PlacementText, Recipe, StepShare, TensorType};
use crate::time::{
    ClassRate, DeviceRates, MachineRates, ModuleWork, NodeSize, PictureWork, TimeCorrections, WeightType, Work, WorkAmount, WorkClass,
    WorkKind,
};

static NO_CORRECTIONS: TimeCorrections = TimeCorrections(Vec::new());

/// A plan request that owns its parts.
#[derive(Clone, Debug, Default)]
pub(in crate::placement) struct Scenario {
    pub(in crate::placement) capacities: Vec<DeviceCapacity>,
    pub(in crate::placement) needs: Needs,
    pins: Pins,
    budgets: Budgets,
    alternatives: Vec<Alternative>,
    /// Work and rates; plans are ranked by them.
    pub(in crate::placement) time: Option<(PictureWork, MachineRates)>,
}

impl Scenario {
    pub(in crate::placement) fn request(&self) -> PlanRequest<'_> {
        PlanRequest {
            capacities: &self.capacities,
            needs: &self.needs,
            pins: &self.pins,
            budgets: &self.budgets,
            stream_layers: ModuleSet::NONE,
            time: self.time.as_ref().map(|(work, rates)| PlanTime { work, rates, corrections: &NO_CORRECTIONS }),
            alternatives: &self.alternatives,
        }
    }

    /// The same where the devices have these parts of a speed, in turn: of it, a module takes as
    /// many seconds as its position among all, text encoders counting as one.
    pub(in crate::placement) fn timed(mut self, speeds: &[f64]) -> Self {
        let class = WorkClass { kind: WorkKind::Product, weights: WeightType::F16, size: NodeSize::Large };
        let position = |module: Module| {
            let before = Module::ALL.into_iter().filter(|other| *other < module && (!other.is_encoder() || *other == Module::Llm));
            1 + before.count() as u64
        };
        let work = |module: Module| {
            let mut work = Work::of_graphs(2, 0, 0);
            work.add_nodes(class, WorkAmount { nodes: 1, operations: 1_000_000 * position(module), bytes: 0 });
            ModuleWork { module, phase: PhaseKind::Denoising, pass: 0, work, repetitions: 1, share: StepShare::All }
        };
        let rates = |speed: &f64| DeviceRates {
            classes: vec![ClassRate { class, per_sec: 1e6 * speed }],
            copy_to_per_sec: 5.0 * GIB as f64,
            load_per_sec: GIB as f64,
            ..DeviceRates::default()
        };
        let names = self.capacities.iter().map(|capacity| capacity.device.name.clone());
        let devices = names.zip(speeds.iter().cycle().map(rates)).collect();
        let modules = self.needs.modules.keys().copied().map(work).collect();
        self.time = Some((PictureWork { modules }, MachineRates { devices, open_secs: 0.0 }));
        self
    }

    fn plan(&self) -> Result<Plan, PlanError> {
        plan(&self.request())
    }

    fn short(&self) -> Shortage {
        match self.plan() {
            Err(PlanError::Short(shortage)) => *shortage,
            other => panic!("{other:?}"),
        }
    }

    fn pin(mut self, module: Module, runs_on: Option<&str>, weights: Option<WeightLocation>) -> Self {
        self.pins.insert(module, Pin { runs_on: runs_on.map(str::to_owned), weights });
        self
    }

    fn with_budgets(mut self, text: &str) -> Self {
        let devices: Vec<Device> = self.capacities.iter().map(|capacity| capacity.device.clone()).collect();
        self.budgets = Budgets::parse(text, &devices).unwrap();
        self
    }
}

/// A model (diffusion 6.0 and 1.0 of compute, text encoder 7.5, VAE 0.3 and 6.5 of compute) on a
/// machine with RAM and these GPUs, all in tenths of a GiB.
pub(in crate::placement) fn scenario(ram: u64, gpus: &[u64]) -> Scenario {
    let gpus = gpus.iter().enumerate().map(|(n, tenths)| capacity(&format!("CUDA{n}"), DeviceKind::Gpu, *tenths));
    let modules = [
        (Module::Diffusion, needs(60, &[(Phase::Denoise, 10)], true)),
        (Module::Llm, needs(75, &[(Phase::Encode, 2)], true)),
        (Module::Vae, needs(3, &[(Phase::Decode, 65)], false)),
    ];
    let capacities = std::iter::once(capacity("CPU", DeviceKind::Cpu, ram)).chain(gpus).collect();
    Scenario { capacities, needs: Needs { modules: modules.into() }, ..Scenario::default() }
}

/// A placement as its texts.
fn texts(plan: &Plan) -> (String, String, String) {
    let text = plan.placement.text();
    (text.backend, text.params_backend, text.max_vram)
}

fn expect(scenario: &Scenario, backend: &str, params: &str, max_vram: &str) {
    let plan = scenario.plan().unwrap();
    assert_eq!(texts(&plan), (backend.to_owned(), params.to_owned(), max_vram.to_owned()), "{:#?}", plan.reasons);
}

#[test]
fn where_there_is_room_everything_stays_on_the_first_gpu() {
    expect(&scenario(320, &[240, 240]), "all=CUDA0", "", "");
    expect(&scenario(640, &[]), "all=CPU", "", "");
}

#[test]
fn what_is_worth_least_leaves_the_device_first() {
    // Decoding wants 6.5 beside what is resident: the text encoder's weights go, the diffusion
    // weights stay.
    expect(&scenario(320, &[150]), "all=CUDA0", "te=CPU", "");
    // Then the diffusion weights go, rather than that the processor decodes.
    expect(&scenario(320, &[120]), "all=CUDA0", "diffusion=CPU,te=CPU", "");
}

#[test]
fn without_ram_to_wait_in_weights_go_to_another_device_and_then_to_the_disk() {
    expect(&scenario(60, &[140, 100]), "all=CUDA0,te=CUDA1", "", "");
    expect(&scenario(60, &[150]), "all=CUDA0", "te=disk", "");
}

#[test]
fn a_graph_is_cut_where_the_whole_does_not_fit() {
    let mut scenario = scenario(320, &[60]);
    scenario.needs.modules.remove(&Module::Vae);
    expect(&scenario, "all=CUDA0", "diffusion=CPU,te=CPU", "CUDA0=6");
    assert!(scenario.plan().unwrap().placement.stream_layers.contains(Module::Diffusion));
    let diffusion = scenario.plan().unwrap().prediction.modules.remove(&Module::Diffusion).unwrap();
    assert!(diffusion.in_pieces && diffusion.graph_budget_bytes == Some(6 * GIB - GIB / 2));
    // A budget that there is serves as well, and is not touched.
    expect(&scenario.clone().with_budgets("cuda0=-1"), "all=CUDA0", "diffusion=CPU,te=CPU", "CUDA0=-1");
    expect(&scenario.with_budgets("99"), "all=CUDA0", "diffusion=CPU,te=CPU", "all=99,CUDA0=6");
}

#[test]
fn a_module_keeps_to_its_own_budget_where_its_graph_can_be_cut() {
    let budget = |scenario: &Scenario, module: Module| scenario.plan().unwrap().prediction.modules[&module].graph_budget_bytes;
    let roomy = |budgets: &str| scenario(320, &[240]).with_budgets(budgets);
    expect(&roomy("te=2"), "all=CUDA0", "te=CPU", "te=2");
    assert_eq!(budget(&roomy("te=2"), Module::Llm), Some(2 * GIB));
    expect(&roomy("te=8,vae=1"), "all=CUDA0", "", "te=8,vae=1");
    expect(&roomy("te=2").pin(Module::Llm, None, Some(WeightLocation::Device("CUDA0".into()))), "all=CUDA0", "", "te=2");
    // Where the card has less left than that, its budget says so.
    let mut tight = scenario(320, &[60]);
    tight.needs.modules.retain(|module, _| *module == Module::Diffusion);
    expect(&tight.clone().with_budgets("unet=3"), "all=CUDA0", "diffusion=CPU", "diffusion=3");
    let large = tight.with_budgets("unet=5.8");
    expect(&large, "all=CUDA0", "diffusion=CPU", "CUDA0=6,diffusion=5.8");
    assert_eq!(budget(&large, Module::Diffusion), Some(6 * GIB - GIB / 2));
}

#[test]
fn a_pin_is_kept_and_the_rest_is_planned_round_it() {
    let location = |name: &str| Some(WeightLocation::Device(name.to_owned()));
    expect(&scenario(320, &[240]).pin(Module::Llm, Some("CPU"), None), "all=CUDA0,te=CPU", "", "");
    expect(&scenario(320, &[120]).pin(Module::Diffusion, None, location("CUDA0")), "all=CUDA0,vae=CPU", "te=CPU", "CUDA0=12");
    expect(&scenario(320, &[240]).pin(Module::Vae, None, Some(WeightLocation::Disk)), "all=CUDA0", "vae=disk", "");
    expect(&scenario(320, &[240]).pin(Module::Upscaler, Some("CPU"), None), "all=CUDA0,upscaler=CPU", "", "");
    let plan = scenario(320, &[240]).pin(Module::Llm, Some("CPU"), None).plan().unwrap();
    assert_eq!(plan.reasons[1], "The text encoder runs on CPU and its weights (7.5 GiB) stay there (pinned).");
}

#[test]
fn the_reasons_say_what_is_missing_for_better() {
    let plan = scenario(320, &[150]).plan().unwrap();
    let expected = [
        "The diffusion module runs on CUDA0 and its weights (6.0 GiB) stay there.",
        "The text encoder runs on CUDA0; its weights (7.5 GiB) wait in RAM and are copied while it runs: to stay on CUDA0, 5.8 GiB are \
         missing beside the rest.",
        "The VAE runs on CUDA0 and its weights (308 MiB) stay there.",
    ];
    assert_eq!(plan.reasons, expected);
}

#[test]
fn what_does_not_fit_is_told_with_what_would_make_it_fit() {
    let mut scenario = scenario(70, &[60]);
    scenario.needs.modules.remove(&Module::Llm);
    scenario.needs.modules.insert(Module::Diffusion, needs(40, &[(Phase::Denoise, 20)], true));
    let mut tiled = scenario.clone();
    tiled.needs.modules.insert(Module::Vae, needs(3, &[(Phase::Decode, 4)], false));
    let tiled = Alternative { changes: vec![Change::VaeTiling], needs: tiled.needs };
    let mut small = tiled.clone();
    small.changes = vec![Change::Size { width: 512, height: 512 }];
    scenario.alternatives = vec![small, tiled];
    let short = scenario.short();
    assert_eq!(
        short.fixes.iter().map(|fix| fix.changes.clone()).collect::<Vec<_>>(),
        [vec![Change::VaeTiling], vec![Change::Size { width: 512, height: 512 }]]
    );
    // 6.8 to decode, 0.5 of slack.
    assert_eq!(memory_size(short.missing_bytes), "1.3 GiB");
    let shortfall = &short.shortfalls[0];
    assert_eq!((shortfall.device.as_str(), shortfall.phase, shortfall.available_bytes), ("CUDA0", Phase::Decode, 6 * GIB));
    let sentence = "this does not fit, 1.3 GiB are missing: CUDA0 would have to hold 7.3 GiB in the decode phase and has 6.0 GiB. \
                    Decode in tiles (VAE tiling)";
    assert_eq!(short.to_string(), sentence);
}

#[test]
fn a_processor_that_must_do_what_a_gpu_could_comes_with_what_would_spare_it() {
    let mut scenario = scenario(320, &[60]);
    let mut tiled = scenario.needs.clone();
    tiled.modules.insert(Module::Vae, needs(3, &[(Phase::Decode, 4)], false));
    scenario.alternatives = vec![Alternative { changes: vec![Change::VaeTiling], needs: tiled }];
    let plan = scenario.plan().unwrap();
    assert_eq!(texts(&plan).0, "all=CUDA0,vae=CPU");
    let changes: Vec<&[Change]> = plan.better.iter().map(|fix| fix.changes.as_slice()).collect();
    assert_eq!(changes, [[Change::VaeTiling]]);
    assert!(plan.better[0].plan.score < plan.score);
    // A pin to the processor is respected without fixes.
    assert!(scenario.pin(Module::Vae, Some("CPU"), None).plan().unwrap().better.is_empty());
}

/// A file of 12 GiB on a card of 8.
#[test]
fn smaller_weights_are_among_the_fixes_however_many_there_are() {
    let mut scenario = scenario(320, &[80]);
    scenario.needs.modules = [(Module::Diffusion, needs(120, &[(Phase::Denoise, 7)], true))].into();
    let mut smaller = scenario.needs.clone();
    smaller.modules.insert(Module::Diffusion, needs(64, &[(Phase::Denoise, 7)], true));
    let change = Change::WeightType { module: Module::Diffusion, weight_type: TensorType::Q8_0, bytes: 64 * GIB / 10 };
    scenario.alternatives = vec![Alternative { changes: vec![change.clone()], needs: smaller }];
    let on_gpu = || Some(WeightLocation::Device("CUDA0".to_owned()));
    let fixes = scenario.pin(Module::Diffusion, Some("CUDA0"), on_gpu()).short().fixes;
    assert!(fixes.len() > 1 && fixes.len() <= 3, "{fixes:?}");
    let fix = fixes.iter().find(|fix| fix.changes == [change.clone()]).unwrap();
    assert_eq!(fix.plan.placement.assignment(Module::Diffusion), &Assignment::at("CUDA0"));
    assert_eq!(change.to_string(), "Load the diffusion module as q8_0: 6.4 GiB, a little less exact");
    let mut recipe = Recipe::default();
    change.apply(&mut recipe);
    assert_eq!(recipe.tensor_type_rules.to_string(), "^model\\.diffusion_model\\.=q8_0");
}

#[test]
fn pins_and_budgets_that_stand_in_the_way_are_named() {
    let on_gpu = WeightLocation::Device("CUDA0".to_owned());
    let short =
        scenario(320, &[148]).pin(Module::Llm, Some("CUDA0"), Some(on_gpu.clone())).pin(Module::Diffusion, Some("CUDA0"), Some(on_gpu));
    let fixes: Vec<Vec<Change>> = short.short().fixes.into_iter().map(|fix| fix.changes).collect();
    let te_in_ram = Change::Weights { module: Module::Llm, location: WeightLocation::Device("CPU".to_owned()) };
    assert_eq!(fixes, [vec![te_in_ram], vec![Change::Pieces { module: Module::Diffusion }]]);
    let mut scenario = scenario(320, &[240]).pin(Module::Vae, Some("CUDA0"), None).with_budgets("cuda0=7");
    assert_eq!(scenario.short().fixes[0].changes, [Change::Budget { device: "CUDA0".into(), gib: 7.3 }]);
    scenario.budgets = scenario.budgets.with("CUDA0", 7.3);
    assert!(scenario.plan().is_ok());
}

/// The machine of [`scenario`] with a card of this size that two backends offer, the general one
/// first.
fn scenario_of_one_card(ram: u64, tenths: u64) -> Scenario {
    let mut scenario = scenario(ram, &[tenths]);
    scenario.capacities.insert(1, capacity("Vulkan0", DeviceKind::Gpu, tenths));
    for capacity in &mut scenario.capacities[1..] {
        capacity.device.gpu = Some("0000:01:00.0".to_owned());
    }
    scenario
}

#[test]
fn of_a_card_the_makers_own_backend_is_used_unless_a_pin_names_another() {
    expect(&scenario_of_one_card(320, 240), "all=CUDA0", "", "");
    expect(&scenario_of_one_card(320, 240).pin(Module::Vae, Some("Vulkan0"), None), "all=Vulkan0", "", "");
    let both = scenario_of_one_card(320, 240).pin(Module::Vae, Some("Vulkan0"), None).pin(Module::Diffusion, Some("CUDA0"), None);
    expect(&both, "all=CUDA0,vae=Vulkan0", "", "");
}

#[test]
fn the_memory_of_a_card_is_there_once() {
    let both =
        |tenths| scenario_of_one_card(320, tenths).pin(Module::Vae, Some("Vulkan0"), None).pin(Module::Diffusion, Some("CUDA0"), None);
    // 6.0 and 1.0 on one backend, 0.3 and 6.5 on the other, 7.5 of the text encoder, and each
    // backend's 0.5: decoding holds most.
    expect(&both(213), "all=CUDA0,vae=Vulkan0", "", "");
    expect(&both(212), "all=CUDA0,vae=Vulkan0", "te=CPU", "");
    let plan = both(213).plan().unwrap();
    let decoding = |name: &str| plan.prediction.device(name).unwrap().in_phase(Phase::Decode);
    assert_eq!(decoding("CUDA0").total_bytes(), decoding("Vulkan0").total_bytes());
    assert_eq!(decoding("Vulkan0").shared_bytes, decoding("CUDA0").total_bytes() - decoding("CUDA0").shared_bytes);
    // Memory that two backends share is missing once.
    let on_card = |name: &str| Some(WeightLocation::Device(name.to_owned()));
    let short = both(100).pin(Module::Llm, Some("CUDA0"), on_card("CUDA0")).pin(Module::Diffusion, Some("CUDA0"), on_card("CUDA0"));
    let short = short.pin(Module::Vae, Some("Vulkan0"), on_card("Vulkan0")).short();
    assert_eq!(memory_size(short.missing_bytes), "11.3 GiB");
}

#[test]
fn a_vae_is_cut_only_where_its_layers_are_streamed() {
    let mut scenario = scenario(320, &[60]).pin(Module::Vae, Some("CUDA0"), None);
    scenario.needs.modules = [(Module::Vae, needs(30, &[(Phase::Decode, 35)], true))].into();
    let whole = scenario.short();
    assert!(!whole.nearest.prediction.modules[&Module::Vae].in_pieces, "{:?}", whole.nearest);
    let streamed = plan(&PlanRequest { stream_layers: ModuleSet::VAE, ..scenario.request() }).unwrap();
    assert!(streamed.prediction.modules[&Module::Vae].in_pieces, "{streamed:?}");
    assert!(streamed.placement.assignment(Module::Vae).weights.is("CPU"), "{streamed:?}");
    assert_eq!(streamed.placement.stream_layers, ModuleSet::VAE);
}

#[test]
fn a_pin_on_a_device_that_is_gone_is_an_error() {
    assert!(matches!(scenario(320, &[240]).pin(Module::Llm, Some("CUDA7"), None).plan(), Err(PlanError::Device(_))));
    assert!(matches!(Scenario::default().plan(), Err(PlanError::Device(_))));
}

#[test]
fn a_text_pins_what_it_says_and_nothing_else() {
    let text =
        |backend: &str, params: &str| PlacementText { backend: backend.into(), params_backend: params.into(), ..PlacementText::default() };
    let read = |backend, params| pins(&text(backend, params), &workstation()).unwrap();
    assert_eq!(read("", "auto"), Pins::new());
    let pin = |runs_on: Option<&str>, weights| Pin { runs_on: runs_on.map(str::to_owned), weights };
    let expected = [(Module::T5, pin(Some("CPU"), None)), (Module::Vae, pin(None, Some(WeightLocation::Disk)))];
    assert_eq!(read("te.t5=cpu", "vae=disk"), expected.into());
    assert_eq!(read("te=cpu", ""), Module::ENCODERS.map(|module| (module, pin(Some("CPU"), None))).into());
    assert_eq!(read("cuda1", "").len(), Module::ALL.len());
}

#[test]
fn a_plan_takes_the_quickest_devices_and_says_what_they_save() {
    let slower_first = scenario(320, &[240, 240]).timed(&[0.1, 0.5, 1.0]);
    expect(&slower_first, "all=CUDA0,diffusion=CUDA1,te=CUDA1,vae=CUDA1", "", "");
    let reasons = slower_first.plan().unwrap().reasons;
    let expected = "The diffusion module runs on CUDA1 and its weights (6.0 GiB) stay there: that saves 1 s a picture over CUDA0.";
    assert_eq!(reasons[0], expected);
    // The quicker card has room for one of them: it takes the one that gains most.
    expect(&scenario(320, &[240, 80]).timed(&[0.1, 0.5, 1.0]), "all=CUDA0,vae=CUDA1", "", "");
    // A slow second card is left alone, also where it has more room.
    expect(&scenario(320, &[240, 640]).timed(&[0.01, 1.0, 0.2]), "all=CUDA0", "", "");
}

#[test]
fn without_the_rates_of_a_device_the_order_of_places_decides() {
    let mut scenario = scenario(320, &[240, 240]).timed(&[0.1, 0.5, 1.0]);
    scenario.time.as_mut().unwrap().1.devices.remove("CUDA1");
    expect(&scenario, "all=CUDA0", "", "");
}

#[test]
fn a_crowded_machine_is_searched_in_few_steps() {
    // Seven modules, five devices, and each a little too small for what is worth most.
    let mut most = 0;
    for size in 1..=60 {
        let mut scenario = scenario(40 + size * 5, &[size * 2, size * 2 + 3, size + 7, size]);
        for (n, module) in [Module::Controlnet, Module::ClipVision, Module::Photomaker, Module::Upscaler].into_iter().enumerate() {
            let phase = [Phase::Denoise, Phase::Encode][n % 2];
            scenario.needs.modules.insert(module, needs(11 + 3 * n as u64, &[(phase, 5 + n as u64)], n % 2 == 0));
        }
        let request = scenario.request();
        most = most.max(visits(&candidates(&request).unwrap(), &Ledger::new(&scenario.capacities, &scenario.budgets)));
    }
    assert!(most < 1000, "{most} visits");
}

proptest! {
    #[test]
    fn a_plan_stays_within_free_memory_and_budgets(scenario in any_scenario()) {
        if let Ok(plan) = scenario.plan() {
            prop_assert!(plan.prediction.fits());
            for (capacity, device) in scenario.capacities.iter().zip(&plan.prediction.devices) {
                let peak = device.peak().1.total_bytes();
                prop_assert!(peak <= capacity.limit_bytes(&scenario.budgets), "{}: {} of {}", device.name, peak, device.limit_bytes);
                prop_assert!(peak <= capacity.device.memory_free_bytes);
            }
        }
    }

    #[test]
    fn a_plan_stays_within_budgets_of_modules(
        scenario in any_scenario(),
        module in proptest::sample::select(Module::ALL.to_vec()),
        gib in -3.0..12.0,
    ) {
        let scenario = Scenario { budgets: scenario.budgets.clone().with_module(module, gib), ..scenario };
        let Ok(plan) = scenario.plan() else { return Ok(()) };
        prop_assert!(plan.prediction.fits());
        let (Some(needs), Some(it)) = (scenario.needs.modules.get(&module), plan.prediction.modules.get(&module)) else { return Ok(()) };
        let run = scenario.capacities.iter().find(|capacity| capacity.device.name == it.runs_on).unwrap();
        let is_cut = ModuleSet::NONE.cuts(module) && !scenario.pins.contains_key(&module);
        let least = needs.cut_bytes().filter(|least| *least > 0 && is_cut);
        if let (Some(least), Some(own)) = (least, plan.placement.budgets.module_bytes(module, &run.device)) {
            let whole = needs.compute_bytes.values().map(|compute| needs.whole_bytes(true, *compute)).max().unwrap_or(0);
            let held = it.graph_budget_bytes.unwrap_or(whole);
            prop_assert!(held <= own.max(least), "{} of {}", held, own);
        }
    }

    #[test]
    fn a_card_with_two_backends_is_one_card(scenario in any_scenario()) {
        let plan = match scenario.plan() {
            Ok(plan) => plan,
            Err(PlanError::Short(short)) => short.nearest,
            Err(other) => panic!("{other}"),
        };
        let devices: Vec<Device> = scenario.capacities.iter().map(|capacity| capacity.device.clone()).collect();
        for gpu in crate::device::gpus(&devices) {
            let chosen = || scenario.needs.modules.keys().map(|module| plan.placement.assignment(*module));
            let is_used = |name: &str| chosen().any(|assignment| assignment.runs_on == name || assignment.weights == WeightLocation::Device(name.to_owned()));
            let (named, free): (Vec<&Device>, Vec<&Device>) =
                gpu.iter().filter(|it| is_used(&it.name)).partition(|it| scenario.pins.values().any(|pin| pin.names(&it.name)));
            prop_assert!(free.len() <= usize::from(named.is_empty()), "{:?} beside {:?}", free, named);
            // Whatever its backends hold together is on the card once.
            let own = |name: &str, phase| {
                let it = plan.prediction.device(name).unwrap().in_phase(phase);
                it.resident_bytes + it.staged_bytes + it.compute_bytes + it.overhead_bytes
            };
            for device in gpu.iter().filter(|it| plan.prediction.fits() && is_used(&it.name)) {
                for phase in Phase::ALL {
                    prop_assert!(gpu.iter().map(|it| own(&it.name, phase)).sum::<u64>() <= device.memory_free_bytes);
                }
            }
        }
    }

    #[test]
    fn a_second_backend_changes_no_plan(scenario in any_scenario()) {
        let mut one = Scenario { pins: Pins::new(), ..scenario };
        let two = one.clone();
        let devices: Vec<Device> = one.capacities.iter().map(|capacity| capacity.device.clone()).collect();
        let chosen: Vec<String> = crate::device::gpus(&devices).iter().map(|gpu| gpu[0].name.clone()).collect();
        one.capacities.retain(|capacity| chosen.contains(&capacity.device.name));
        match (one.plan(), two.plan()) {
            (Ok(one), Ok(two)) => prop_assert_eq!((one.placement, one.score), (two.placement, two.score)),
            (Err(PlanError::Short(one)), Err(PlanError::Short(two))) => prop_assert_eq!(one.missing_bytes, two.missing_bytes),
            (one, two) => prop_assert!(false, "{:?} {:?}", one, two),
        }
    }

    #[test]
    fn what_is_short_is_short_by_what_its_prediction_says_and_every_fix_fits(scenario in any_scenario()) {
        if let Err(PlanError::Short(short)) = scenario.plan() {
            prop_assert!(short.missing_bytes > 0 && !short.shortfalls.is_empty());
            prop_assert_eq!(short.missing_bytes, short.nearest.prediction.missing_bytes);
            for fix in &short.fixes {
                prop_assert!(fix.plan.prediction.fits() && !fix.changes.is_empty());
            }
            prop_assert!(short.fixes.len() <= 3);
        }
    }

    #[test]
    fn a_pin_never_moves(scenario in any_scenario()) {
        let plan = match scenario.plan() {
            Ok(plan) => plan,
            Err(PlanError::Short(short)) => short.nearest,
            Err(other) => panic!("{other}"),
        };
        for (module, pin) in &scenario.pins {
            let assignment = plan.placement.assignment(*module);
            prop_assert!(pin.runs_on.as_ref().is_none_or(|device| *device == assignment.runs_on));
            prop_assert!(pin.weights.as_ref().is_none_or(|location| *location == assignment.weights));
        }
    }

    #[test]
    fn more_memory_never_makes_a_plan_worse(scenario in any_scenario(), which in any::<prop::sample::Index>(), more in 1..20u64) {
        let mut richer = scenario.clone();
        let device = &mut richer.capacities[which.index(scenario.capacities.len())].device;
        device.memory_total_bytes += more * GIB / 3;
        device.memory_free_bytes += more * GIB / 3;
        match (scenario.plan(), richer.plan()) {
            (Ok(before), Ok(after)) => prop_assert!(after.score <= before.score),
            (Ok(_), Err(error)) => prop_assert!(false, "{error}"),
            (Err(_), Ok(_)) => {}
            (Err(PlanError::Short(before)), Err(PlanError::Short(after))) => prop_assert!(after.missing_bytes <= before.missing_bytes),
            (Err(before), Err(after)) => prop_assert!(false, "{before} {after}"),
        }
    }

    #[test]
    fn more_memory_or_a_faster_device_never_makes_a_plan_slower(
        scenario in any_scenario(),
        speeds in proptest::collection::vec(0.01..4.0, 4),
        which in any::<prop::sample::Index>(),
        more in 1..20u64,
        faster in 1.0..10.0,
    ) {
        let at = which.index(scenario.capacities.len());
        let slow = scenario.timed(&speeds);
        let mut richer = slow.clone();
        let device = &mut richer.capacities[at].device;
        device.memory_total_bytes += more * GIB / 3;
        device.memory_free_bytes += more * GIB / 3;
        let mut quicker = slow.clone();
        let name = slow.capacities[at].device.name.clone();
        for rate in &mut quicker.time.as_mut().unwrap().1.devices.get_mut(&name).unwrap().classes {
            rate.per_sec *= faster;
        }
        if let Ok(before) = slow.plan() {
            for after in [richer.plan(), quicker.plan()] {
                prop_assert!(after.is_ok_and(|after| after.score <= before.score));
            }
        }
    }

    #[test]
    fn no_cheaper_candidates_fit_than_those_chosen(scenario in any_scenario()) {
        let request = scenario.request();
        let (candidates, empty) = (candidates(&request).unwrap(), Ledger::new(&scenario.capacities, &scenario.budgets));
        let found = cheapest(&candidates, &empty).map(|chosen| chosen.iter().map(|it| it.cost).sum::<u64>());
        prop_assume!(candidates.iter().map(|it| it.by_cost.len()).product::<usize>() < 5000);
        prop_assert_eq!(found, by_trying_all(&candidates, &empty));
    }

    #[test]
    fn the_same_request_has_the_same_plan(scenario in any_scenario()) {
        prop_assert_eq!(scenario.plan(), scenario.plan());
    }

    #[test]
    fn a_plan_says_the_same_as_the_prediction_of_its_text(scenario in any_scenario()) {
        if let Ok(plan) = scenario.plan() {
            let devices: Vec<Device> = scenario.capacities.iter().map(|capacity| capacity.device.clone()).collect();
            let placement = Placement::parse(&plan.placement.text(), &devices).unwrap();
            prop_assert_eq!(&placement, &plan.placement);
            prop_assert_eq!(Prediction::of(&placement, &scenario.needs, &scenario.capacities), Ok(plan.prediction));
        }
    }
}

/// Cost of the cheapest candidates that fit, by trying all.
fn by_trying_all(candidates: &[Candidates<'_>], ledger: &Ledger) -> Option<u64> {
    let Some((candidate_set, later)) = candidates.split_first() else { return (ledger.missing_bytes() == 0).then_some(0) };
    let totals = candidate_set
        .by_cost
        .iter()
        .filter_map(|candidate| Some(candidate.cost + by_trying_all(later, &with(ledger, candidate_set, candidate))?));
    totals.min()
}

const NAMES: [&str; 4] = ["CPU", "CUDA0", "CUDA1", "Vulkan0"];

pub(in crate::placement) fn any_scenario() -> impl Strategy<Value = Scenario> {
    // Vulkan0 is a unit of its own, or sees the first of the cards a second time.
    let vulkan = proptest::option::of((10..200u64, any::<bool>()));
    let capacities = (20..600u64, proptest::collection::vec(5..260u64, 0..3), vulkan).prop_map(|(ram, gpus, vulkan)| {
        let mut cards: Vec<DeviceCapacity> =
            gpus.iter().zip(&NAMES[1..]).map(|(tenths, name)| capacity(name, DeviceKind::Gpu, *tenths)).collect();
        if let Some((tenths, again)) = vulkan {
            let kind = if again { DeviceKind::Gpu } else { DeviceKind::IntegratedGpu };
            cards.push(capacity("Vulkan0", kind, tenths));
            let last = cards.len() - 1;
            for n in [0, last] {
                cards[n].device.gpu = again.then(|| "0000:01:00.0".to_owned());
            }
        }
        std::iter::once(capacity("CPU", DeviceKind::Cpu, ram)).chain(cards).collect::<Vec<_>>()
    });
    let module = proptest::sample::select(Module::ALL.to_vec());
    let compute = proptest::collection::btree_map(proptest::sample::select(Phase::ALL.to_vec()), 0..70u64, 0..3);
    let one = (0..130u64, compute, any::<bool>(), 0..1000u64).prop_map(|(weights, compute, can_be_cut, odd)| {
        let compute: Vec<(Phase, u64)> = compute.into_iter().collect();
        let needs = needs(weights, &compute, can_be_cut);
        ModuleNeeds { weight_bytes: needs.weight_bytes + odd, lora_bytes: odd, ..needs }
    });
    let modules = proptest::collection::btree_map(module.clone(), one, 0..5);
    let pins = proptest::collection::btree_map(module, (0..6usize, 0..7usize), 0..3);
    let budgets = (prop_oneof![3 => Just(0.0), 1 => -3.0..12.0], proptest::option::of((0..4usize, -3.0..12.0)));
    (capacities, modules, pins, budgets).prop_map(|(capacities, modules, pins, (all, own))| {
        let name = |n: usize| capacities.get(n).map(|capacity| capacity.device.name.clone());
        let pin = |(runs_on, weights): (usize, usize)| Pin {
            runs_on: name(runs_on),
            weights: if weights == 6 { Some(WeightLocation::Disk) } else { name(weights).map(WeightLocation::Device) },
        };
        let own = own.and_then(|(n, gib)| Some((name(n)?, gib)));
        Scenario {
            needs: Needs { modules },
            pins: pins.into_iter().map(|(module, it)| (module, pin(it))).collect(),
            budgets: Budgets::new(all, own.into_iter().collect()),
            capacities,
            alternatives: Vec::new(),
            time: None,
        }
    })
}
