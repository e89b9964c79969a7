//! Tests of the Devices view through its controls; the test plays the engine.

use eframe::egui::{Pos2, pos2, vec2};

use crate::gui::devices::board::{CardMove, CardPart, MoveOutcome, Suggestion};
use crate::gui::shared::Screen;
use crate::gui::tests::*;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::format::GIB;
use atelier_core::placement::{self, Alternative, Assignment, Change, ModuleNeeds, ModuleSet, Needs, WeightLocation};
use atelier_core::recipe::TileSize;
use atelier_engine::{
    Cause, Control, Copies, Estimate, OutOfMemory, Peak, PhaseKind, Query, RemoteError, Residency, Resident, ResidentId, ResidentPart,
};
use atelier_library::{ModelCard, ModelKind};
use atelier_studio::library_service::LibrarySnapshot;

fn device(name: &str, kind: DeviceKind, total_gib: u64, free_gib: u64) -> Device {
    let description = format!("Some {}", kind.label());
    Device {
        name: name.into(),
        description,
        kind,
        gpu: None,
        memory_total_bytes: total_gib * GIB,
        memory_free_bytes: free_gib * GIB,
        memory_allocated_bytes: 0,
    }
}

pub(crate) fn machine() -> Vec<Device> {
    vec![device("CPU", DeviceKind::Cpu, 32, 24), device("GPU0", DeviceKind::Gpu, 12, 11), device("GPU1", DeviceKind::Gpu, 6, 6)]
}

/// Needs of a module with weights and compute in tenths of a GiB.
fn module_needs(weights: u64, phase: placement::Phase, compute: u64, can_be_cut: bool) -> ModuleNeeds {
    let tenths = |tenths: u64| tenths * GIB / 10;
    ModuleNeeds {
        weight_bytes: tenths(weights),
        lora_bytes: 0,
        compute_bytes: [(phase, tenths(compute))].into(),
        least_bytes: can_be_cut.then(|| tenths(weights) / 10),
        packed_bytes: 0,
    }
}

/// Estimate in GiB: 6.0 of diffusion, 4.0 of text encoder, 0.2 of VAE. Decoding needs `decode`
/// tenths, or half a GiB in tiles.
pub(crate) fn estimate(decode: u64) -> Estimate {
    let needs = |decode| Needs {
        modules: [
            (Module::Diffusion, module_needs(60, placement::Phase::Denoise, 7, true)),
            (Module::Llm, module_needs(40, placement::Phase::Encode, 2, true)),
            (Module::Vae, module_needs(2, placement::Phase::Decode, decode, false)),
        ]
        .into(),
    };
    let tiled = Alternative { changes: vec![Change::VaeTiling], needs: needs(5) };
    Estimate { needs: needs(decode), alternatives: vec![tiled], ..Estimate::default() }
}

pub(crate) fn recipe() -> Recipe {
    let mut recipe = Recipe { prompt: "a lake".into(), guidance: 1.0, ..Recipe::default() };
    recipe.files.set(FileRole::Diffusion, "/models/z-Q8_0.gguf");
    recipe.files.set(FileRole::Llm, "/models/q-Q8_0.gguf");
    recipe.files.set(FileRole::Vae, "/models/ae.safetensors");
    recipe
}

/// Opens the Devices view with these devices and the estimate of [`estimate`].
pub(crate) fn open_board_with(settings: Settings, devices: Vec<Device>, decode: u64) -> Studio {
    let mut studio = Studio::with(settings, Err("The built-in model is not there.".into()), [1440.0, 900.0]);
    studio.press(Modifiers::COMMAND, Key::Num2);
    assert_eq!(studio.app().state.shared.screen, Screen::Devices);
    studio.port.send(Event::Devices(devices));
    studio.answer_estimate(decode);
    studio
}

pub(crate) fn open_board(decode: u64) -> Studio {
    open_board_with(Settings { recipe: recipe(), places_automatically: false, ..Settings::default() }, machine(), decode)
}

impl Studio {
    /// Answers the request for an estimate of the present recipe.
    pub(crate) fn answer_estimate(&mut self, decode: u64) {
        self.settle();
        let recipe = Box::new(self.app().state.shared.next.recipe.clone());
        self.port.send(Event::Estimated { recipe, estimate: Ok(estimate(decode)) });
        self.settle();
        assert!(!self.app().state.devices.board.estimate_pending && self.app().state.devices.board.prediction.is_some());
    }

    /// Runs frames until requests are sent and plans made.
    pub(crate) fn settle(&mut self) {
        self.harness.run_steps(3);
        self.harness.run_ok();
    }

    pub(crate) fn assignment(&self, module: Module) -> Assignment {
        self.app().state.devices.board.placement.as_ref().unwrap().assignment(module).clone()
    }

    pub(crate) fn text(&self) -> (&str, &str, &str) {
        let text = &self.app().state.shared.next.recipe.placement;
        (&text.backend, &text.params_backend, &text.max_vram)
    }

    /// Center of the control whose name contains this.
    pub(crate) fn center_of(&self, name: &str) -> Pos2 {
        let found = self.harness.query_all_by_label_contains(name).find(|node| node.accesskit_node().role() != Role::Label);
        found.unwrap_or_else(|| panic!("there is no {name}")).rect().center()
    }

    /// Horizontal position inside the column with this title.
    pub(crate) fn column_x(&self, title: &str) -> f32 {
        self.harness.get_by_label(title).rect().left() + 60.0
    }

    /// Drags from one point to another in several steps, as a hand does.
    pub(crate) fn drag(&mut self, from: Pos2, to: Pos2) {
        self.harness.drag_at(from);
        self.harness.step();
        for part in [0.1_f32, 0.5, 0.9, 1.0] {
            self.harness.hover_at(from + (to - from) * part);
            self.harness.step();
        }
        self.harness.drop_at(to);
        self.settle();
    }

    pub(crate) fn focus(&mut self, name: &str) {
        self.harness.query_all_by_label_contains(name).find(|node| node.accesskit_node().role() == Role::Button).unwrap().focus();
        self.harness.run_ok();
    }
}

#[test]
fn a_batch_is_split_over_the_devices_that_are_ticked() {
    let mut studio = open_board(10);
    for (tick, split) in
        [("Batch on GPU1", "GPU1"), ("Batch on GPU0", "GPU0,GPU1"), ("Batch on CPU", "GPU0,CPU,GPU1"), ("Batch on GPU1", "GPU0,CPU")]
    {
        let at = studio.harness.get_by_label(tick);
        at.click();
        studio.settle();
        let mut devices: Vec<&str> = studio.app().state.shared.next.recipe.placement.split_batch.split(',').collect();
        let mut expected: Vec<&str> = split.split(',').collect();
        assert_eq!(devices.first(), expected.first(), "what runs there goes to the others");
        devices.sort_unstable();
        expected.sort_unstable();
        assert_eq!(devices, expected, "{tick}");
    }
}

#[test]
fn streaming_that_lacks_something_gets_it_with_one_click() {
    let mut studio = open_board(5);
    assert!(!studio.sees("Set up streaming") && !studio.sees("VAE layers"), "it has none");
    studio.harness.get_by_label("Diffusion layers").click();
    studio.settle();
    assert!(studio.sees("Streaming layers has no effect"));
    studio.harness.get_by_label("Set up streaming").click();
    studio.settle();
    assert_eq!(studio.text(), ("all=GPU0", "diffusion=CPU", "GPU0=-1"));
    assert_eq!(studio.app().state.shared.next.recipe.placement.stream_layers, ModuleSet::DIFFUSION);
    assert!(!studio.sees("Set up streaming") && !studio.sees("Streaming layers has no effect"));
    studio.harness.check_accessibility();
}

#[test]
fn the_layers_of_a_vae_are_streamed_where_it_has_some() {
    let mut studio = open_board(5);
    let recipe = Box::new(studio.app().state.shared.next.recipe.clone());
    let mut with_layers = estimate(5);
    with_layers.needs.modules.insert(Module::Vae, module_needs(2, placement::Phase::Decode, 5, true));
    studio.port.send(Event::Estimated { recipe, estimate: Ok(with_layers) });
    studio.settle();
    assert!(!studio.sees("Set up streaming"));
    studio.harness.get_by_label("VAE layers").click();
    studio.settle();
    studio.harness.get_by_label("Set up streaming").click();
    studio.settle();
    assert_eq!(studio.text(), ("all=GPU0", "vae=CPU", "GPU0=-1"));
    assert_eq!(studio.app().state.shared.next.recipe.placement.stream_layers, ModuleSet::VAE);
    assert!(!studio.sees("Set up streaming") && !studio.sees("Streaming layers has no effect"));
}

#[test]
fn streaming_of_what_has_no_layers_is_told_and_can_be_switched_off() {
    let mut placement = placement_text("all=GPU0");
    placement.stream_layers = "vae".parse().unwrap();
    let settings = Settings { recipe: Recipe { placement, ..recipe() }, ..Settings::default() };
    let mut studio = open_board_with(settings, machine(), 5);
    assert!(studio.sees("Streaming layers has no effect: the VAE runs as a whole.") && !studio.sees("Set up streaming"));
    studio.harness.get_by_label("VAE layers").click();
    studio.settle();
    assert_eq!(studio.app().state.shared.next.recipe.placement.stream_layers, ModuleSet::NONE);
    assert!(!studio.sees("VAE layers") && !studio.sees("Streaming layers has no effect"));
}

#[test]
fn the_board_shows_every_part_with_what_it_takes_and_stays_quiet_where_all_is_well() {
    let studio = open_board(10);
    for name in [
        "Diffusion runs on GPU0, 717 MiB of compute",
        "Weights of the diffusion are in GPU0, 6.0 GiB",
        "Text encoder runs on GPU0",
        "VAE runs on GPU0",
        "GPU0 decode: 11.2 GiB",
    ] {
        // 10.2 of weights and 1.0 of compute are more than the 11 that are free.
        assert!(studio.sees(name), "{name}");
    }
    assert!(studio.sees("GPU0 lacks 205 MiB in the decode phase."));
    let studio = open_board(5);
    assert!(studio.sees("Everything fits.") && studio.app().state.devices.board.visible_plan().is_none());
    studio.harness.check_accessibility();
}

#[test]
fn a_card_dragged_to_a_device_runs_there_and_takes_its_weights_along() {
    let mut studio = open_board(5);
    let from = studio.center_of("Text encoder runs on");
    let to = pos2(studio.column_x("GPU1"), from.y);
    studio.drag(from, to);
    assert_eq!(studio.assignment(Module::Llm), Assignment::at("GPU1"));
    assert_eq!(studio.text(), ("all=GPU0,te=GPU1", "", ""));
    assert!(studio.app().state.devices.board.pins.contains(&Module::Llm), "what was put there by hand stays there");
    assert!(studio.sees("Text encoder runs on GPU1"));
}

#[test]
fn the_whole_of_a_column_takes_a_card() {
    for below in [-40.0, 120.0, 300.0] {
        let mut studio = open_board(5);
        let from = studio.center_of("Text encoder runs on");
        studio.drag(from, pos2(studio.column_x("GPU1"), from.y + below));
        assert_eq!(studio.assignment(Module::Llm), Assignment::at("GPU1"), "dropped {below} points below its row");
    }
}

#[test]
fn one_gesture_lets_a_module_run_on_a_gpu_with_its_weights_in_ram() {
    let mut studio = open_board(5);
    let from = studio.center_of("Diffusion runs on");
    let to = pos2(studio.column_x("CPU · RAM"), studio.center_of("Weights of the diffusion").y);
    studio.drag(from, to);
    assert_eq!(studio.assignment(Module::Diffusion), Assignment { runs_on: "GPU0".into(), weights: WeightLocation::Device("CPU".into()) });
    assert_eq!(studio.text().1, "diffusion=CPU");
    // The weights can be dragged on by themselves, also to the disk.
    let from = studio.center_of("Weights of the diffusion");
    studio.drag(from, pos2(studio.column_x("Disk"), from.y));
    assert_eq!(studio.text().1, "diffusion=disk");
}

#[test]
fn what_cannot_be_is_refused_and_letting_go_elsewhere_changes_nothing() {
    let mut studio = open_board(5);
    let from = studio.center_of("Diffusion runs on");
    for to in [pos2(studio.column_x("Disk"), from.y), from + vec2(0.0, 420.0)] {
        studio.drag(from, to);
        assert_eq!(studio.text(), ("", "", ""));
    }
    // Escape takes the card back while it is in the air.
    studio.harness.drag_at(from);
    studio.harness.step();
    studio.harness.hover_at(pos2(studio.column_x("GPU1"), from.y));
    studio.harness.run_steps(2);
    studio.press(Modifiers::NONE, Key::Escape);
    studio.harness.drop_at(pos2(studio.column_x("GPU1"), from.y));
    studio.settle();
    assert_eq!(studio.text(), ("", "", ""));
}

#[test]
fn arrow_keys_move_the_card_and_with_shift_its_weights_and_p_pins_it() {
    let mut studio = open_board(5);
    studio.focus("Text encoder runs on");
    studio.press(Modifiers::NONE, Key::ArrowRight);
    assert_eq!(studio.assignment(Module::Llm), Assignment::at("GPU1"));
    studio.press(Modifiers::SHIFT, Key::ArrowRight);
    assert_eq!(studio.assignment(Module::Llm), Assignment { runs_on: "GPU1".into(), weights: WeightLocation::Device("CPU".into()) });
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(studio.assignment(Module::Llm).runs_on, "GPU0");
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(studio.assignment(Module::Llm).runs_on, "GPU0", "there is nothing further on the left");
    assert!(studio.app().state.devices.board.pins.contains(&Module::Llm));
    studio.press(Modifiers::NONE, Key::P);
    assert!(!studio.app().state.devices.board.pins.contains(&Module::Llm));
    // The weights by themselves.
    studio.focus("Weights of the VAE are in GPU0");
    studio.press(Modifiers::NONE, Key::ArrowRight);
    assert_eq!(studio.assignment(Module::Vae), Assignment { runs_on: "GPU0".into(), weights: WeightLocation::Device("GPU1".into()) });
}

#[test]
fn enter_opens_a_menu_with_every_place() {
    let mut studio = open_board(5);
    studio.focus("VAE runs on");
    studio.press(Modifiers::NONE, Key::Enter);
    studio.click("Runs on GPU1");
    assert_eq!(studio.assignment(Module::Vae), Assignment::at("GPU1"));
    studio.click("Placement of the VAE");
    studio.click("Weights in Disk");
    assert_eq!(studio.assignment(Module::Vae).weights, WeightLocation::Disk);
}

#[test]
fn the_text_and_the_board_are_in_step_and_a_wrong_text_leaves_the_board_as_it_is() {
    let mut studio = open_board(5);
    let field = studio.harness.get_by_role_and_label(Role::TextInput, "Runs on");
    field.focus();
    studio.harness.run_ok();
    studio.harness.get_by_role_and_label(Role::TextInput, "Runs on").type_text("te=gpu1");
    studio.settle();
    assert_eq!(studio.assignment(Module::Llm), Assignment::at("GPU1"));
    assert_eq!(studio.app().state.devices.board.pins.iter().copied().collect::<Vec<_>>(), Module::ENCODERS, "what is said is pinned");
    studio.harness.get_by_role_and_label(Role::TextInput, "Runs on").type_text("9");
    studio.settle();
    assert_eq!(studio.text().0, "te=gpu19");
    assert!(studio.sees("there is no device \"gpu19\""));
    assert_eq!(studio.assignment(Module::Llm), Assignment::at("GPU1"));
    // The next gesture writes a whole text.
    studio.focus("VAE runs on");
    studio.press(Modifiers::NONE, Key::ArrowRight);
    assert_eq!(studio.text().0, "all=GPU0,te=GPU1,vae=GPU1");
    assert!(!studio.sees("there is no device"));
}

#[test]
fn each_encoder_of_a_model_has_a_card_of_its_own() {
    let mut studio = open_board(5);
    let recipe = Box::new(studio.app().state.shared.next.recipe.clone());
    let mut with_two = estimate(5);
    let needs = |tenths| module_needs(tenths, placement::Phase::Encode, 1, true);
    with_two.needs.modules.remove(&Module::Llm);
    with_two.needs.modules.extend([(Module::ClipL, needs(3)), (Module::T5, needs(40))]);
    studio.port.send(Event::Estimated { recipe, estimate: Ok(with_two) });
    studio.settle();
    studio.focus("T5 encoder runs on");
    studio.press(Modifiers::NONE, Key::ArrowRight);
    studio.settle();
    assert_eq!(studio.text().0, "all=GPU0,te.t5=GPU1", "the other one stays");
    studio.focus("CLIP-L encoder runs on");
    studio.press(Modifiers::NONE, Key::ArrowRight);
    studio.settle();
    assert_eq!(studio.text().0, "all=GPU0,te=GPU1", "where both are, other models' go too");
    studio.harness.check_accessibility();
}

#[test]
fn what_a_model_takes_is_asked_without_a_wrong_placement_and_again_after_a_failure() {
    let settings = Settings { recipe: Recipe { placement: placement_text("te=GPU9"), ..recipe() }, ..Settings::default() };
    let mut studio = Studio::with(settings, Err("None.".into()), [1440.0, 900.0]);
    let queries = studio.port.queries();
    let asked = || loop {
        match queries.next() {
            Some((Query::Estimate(recipe), _)) => return recipe,
            Some(_) => {}
            None => panic!("nobody was asked"),
        }
    };
    studio.settle();
    let asked_recipe = asked();
    assert_eq!(asked_recipe.placement.backend, "");
    let failure = Failure::new("The file z-Q8_0.gguf does not exist.", "");
    studio.port.send(Event::Devices(machine()));
    studio.port.send(Event::Estimated { recipe: asked_recipe, estimate: Err(failure) });
    studio.settle();
    assert!(studio.sees("The file z-Q8_0.gguf does not exist."), "in Create, before anything is generated");
    studio.press(Modifiers::COMMAND, Key::Num2);
    studio.settle();
    assert!(studio.sees("the board ignores it") || studio.sees("The file z-Q8_0.gguf does not exist."));
    let asked_recipe = asked();
    studio.port.send(Event::Estimated { recipe: asked_recipe, estimate: Ok(estimate(5)) });
    studio.settle();
    assert!(studio.sees("the board ignores it") && studio.sees("Everything fits."));
}

#[test]
fn a_pasted_command_brings_its_model_and_placement_and_lists_what_it_could_not_say() {
    let mut studio = open_board(5);
    studio.harness.get_by_role_and_label(Role::TextInput, "Runs on").focus();
    studio.harness.run_ok();
    let before = studio.app().state.shared.next.recipe.clone();
    let line = "sd-cli --diffusion-model /m/other.gguf --llm /m/l.gguf -p 'a fox' -W 768 --backend te=cpu --color-purple 3";
    studio.harness.event(egui::Event::Paste(line.into()));
    studio.settle();
    let recipe = &studio.app().state.shared.next.recipe;
    assert_eq!((recipe.prompt.as_str(), recipe.width, recipe.placement.backend.as_str()), ("a fox", 768, "te=cpu"));
    assert_eq!(recipe.files.get(FileRole::Diffusion), Some(Path::new("/m/other.gguf")));
    assert_eq!((recipe.seed, recipe.steps, recipe.flash_attention), (before.seed, before.steps, before.flash_attention), "not named");
    assert!(studio.sees("--color-purple 3"));
    assert!(studio.sees("Loaded from the command: model, prompt, size, placement."));
    studio.click("Hide this list");
    assert!(!studio.sees("--color-purple"));
}

#[test]
fn words_of_a_pasted_command_are_no_comments_and_no_choices() {
    let mut studio = open_board(5);
    studio.app_mut().state.shared.next.recipe.prompt = "a {red|blue} lake".into();
    let paste = |studio: &mut Studio, line: &str| {
        studio.harness.get_by_role_and_label(Role::TextInput, "Runs on").focus();
        studio.harness.run_ok();
        studio.harness.event(egui::Event::Paste(line.into()));
        studio.settle();
        studio.app().state.shared.next.recipe.prompt.clone()
    };
    assert_eq!(paste(&mut studio, "sd-cli -p 'a {red|blue} lake' --steps 3"), "a {red|blue} lake", "what was copied here");
    assert_eq!(paste(&mut studio, "sd-cli -p 'a {cat|dog} // on https://x.y' --steps 4"), r"a \{cat\|dog\} \// on https://x.y");
}

#[test]
fn relative_tiles_of_a_pasted_command_count_the_latents_of_its_model() {
    let mut studio = open_board(5);
    let (family, main_file) = (Some("Flux.2 klein".into()), Some("/m/klein.gguf".into()));
    let card = ModelCard { kind: ModelKind::Model, family, main_file, ..ModelCard::default() };
    studio.app_mut().state.shared.library = Arc::new(LibrarySnapshot { cards: vec![card], ..LibrarySnapshot::default() });
    studio.harness.get_by_role_and_label(Role::TextInput, "Runs on").focus();
    studio.harness.run_ok();
    let line = "sd-cli --diffusion-model /m/klein.gguf -W 1024 -H 512 --backend cpu --vae-relative-tile-size 0.5";
    studio.harness.event(egui::Event::Paste(line.into()));
    studio.settle();
    let size = studio.app().state.shared.next.recipe.vae_tile_size;
    assert_eq!(size, Some(TileSize { width: 32, height: 16 }));
}

#[test]
fn copied_flags_that_are_pasted_back_change_nothing_but_the_placement() {
    let mut studio = open_board(5);
    let recipe = Recipe {
        negative_prompt: "fog".into(),
        width: 768,
        seed: Some(Seed(7)),
        loras: vec![Lora::new("/l/ink.safetensors".into(), 1.0)],
        ..studio.app().state.shared.next.recipe.clone()
    };
    studio.app_mut().state.shared.next.recipe = recipe.clone();
    studio.settle();
    studio.harness.get_by_role_and_label(Role::TextInput, "Runs on").focus();
    studio.harness.run_ok();
    studio.harness.event(egui::Event::Paste("--backend all=CPU --params-backend disk".into()));
    studio.settle();
    let now = studio.app().state.shared.next.recipe.clone();
    assert_eq!((now.placement.backend.as_str(), now.placement.params_backend.as_str()), ("all=CPU", "disk"));
    assert_eq!(Recipe { placement: recipe.placement.clone(), ..now }, recipe);
}

#[test]
fn too_much_is_said_with_bytes_and_phase_and_the_suggestion_mends_it() {
    let mut studio = open_board(65);
    assert!(studio.sees("Memory of GPU0, 5.7 GiB too much"));
    assert!(studio.sees("GPU0 lacks 5.7 GiB in the decode phase."));
    let plan = studio.app().state.devices.board.visible_plan().expect("the plan is shown unasked").placement.text();
    studio.click("Not now");
    assert!(studio.app().state.devices.board.visible_plan().is_none());
    studio.click("Suggest a placement");
    studio.click("Apply fit");
    studio.settle();
    assert_eq!(studio.app().state.shared.next.recipe.placement, plan);
    assert!(studio.sees("Everything fits.") && matches!(studio.app().state.devices.board.suggestion, Suggestion::AlreadyBest));
    // In Create, too, it is a hint and no wall.
    let mut studio = open_board(65);
    studio.press(Modifiers::COMMAND, Key::Num1);
    assert!(studio.sees("This picture needs 16.7 GiB, and there are 12.0 GiB of GPU0.") && !studio.sees("phase"));
    let (_, recipe, _) = studio.generate();
    assert_eq!(recipe.placement.backend, "");
}

#[test]
fn who_has_a_small_model_and_no_memory_learns_who_uses_it() {
    let mut devices = vec![device("CPU", DeviceKind::Cpu, 16, 3)];
    // The picture takes 10.7 GiB: with 13 in use by others these are to blame, with none it fits.
    for (free, told) in [(3, Some("Other programs use 13.0 GiB of the 16.0 GiB of RAM")), (16, None)] {
        devices[0].memory_free_bytes = free * GIB;
        let settings = Settings { recipe: recipe(), places_automatically: false, ..Settings::default() };
        let mut studio = open_board_with(settings, devices.clone(), 5);
        studio.press(Modifiers::COMMAND, Key::Num1);
        assert_eq!(studio.sees("Other programs use"), told.is_some());
        assert!(told.is_none_or(|words| studio.sees(words) && studio.sees("Close some")));
        assert!(!studio.sees("lacks") && !studio.sees("phase"), "these are words of the board");
    }
}

#[test]
fn a_suggestion_leaves_a_pinned_module_where_it_is() {
    let mut studio = open_board(10);
    let free = studio.app().state.devices.board.visible_plan().unwrap().placement.clone();
    assert_ne!(free.assignment(Module::Vae), &Assignment::at("GPU0"), "unpinned, the VAE makes room");
    studio.click("Pin the VAE");
    studio.settle();
    let plan = studio.app().state.devices.board.visible_plan().unwrap();
    assert_eq!(plan.placement.assignment(Module::Vae), &Assignment::at("GPU0"));
    assert!(plan.reasons.iter().any(|reason| reason.contains("(pinned)")), "{:?}", plan.reasons);
    studio.click("Unpin the VAE");
    studio.settle();
    assert_eq!(studio.app().state.devices.board.visible_plan().unwrap().placement, free);
}

#[test]
fn where_nothing_fits_the_changes_that_help_are_buttons() {
    let mut devices = machine();
    devices.truncate(2);
    devices[0].memory_free_bytes = 9 * GIB;
    let mut studio = open_board_with(Settings { recipe: recipe(), places_automatically: false, ..Settings::default() }, devices, 120);
    assert!(studio.sees("No placement fits"), "{:?}", studio.app().state.devices.board.suggestion);
    studio.click("Decode in tiles (VAE tiling)");
    assert!(studio.app().state.shared.next.recipe.vae_tiling);
    studio.answer_estimate(5);
    assert!(!studio.sees("No placement fits"));
}

#[test]
fn a_budget_is_set_moved_typed_and_taken_away() {
    let mut studio = open_board(5);
    studio.click("Set a budget for GPU0");
    assert_eq!(studio.text().2, "GPU0=11");
    studio.settle();
    let slider = studio.harness.get_by_role_and_label(Role::Slider, "Budget of GPU0");
    let at = slider.rect().center();
    slider.focus();
    studio.harness.run_ok();
    studio.press(Modifiers::SHIFT, Key::ArrowLeft);
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(studio.text().2, "GPU0=9.9");
    assert!(studio.sees("GPU0 lacks"), "a budget is a limit");
    let moved = studio.harness.get_by_role_and_label(Role::Slider, "Budget of GPU0").rect().center();
    assert!(moved.x < at.x);
    studio.drag(moved, moved - vec2(60.0, 0.0));
    let gib: f64 = studio.text().2.trim_start_matches("GPU0=").parse().unwrap();
    assert!(gib > 1.0 && gib < 9.0, "{gib}");
    studio.harness.get_by_role_and_label(Role::Slider, "Budget of GPU0").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Delete);
    assert_eq!(studio.text().2, "");
}

#[test]
fn a_module_whose_weights_wait_in_ram_has_a_budget_of_its_own_in_its_menu() {
    let mut studio = open_board(5);
    studio.click("Placement of the text encoder");
    assert!(!studio.sees("Set a budget for the text encoder"), "its weights live where it runs");
    studio.click("Weights in CPU · RAM");
    studio.settle();
    studio.click("Placement of the text encoder");
    studio.click("Set a budget for the text encoder");
    studio.settle();
    assert_eq!(studio.text().2, "te.llm=4.2", "all that it takes");
    studio.harness.get_by_role_and_label(Role::SpinButton, "Budget of the text encoder").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::COMMAND, Key::A);
    studio.harness.event(egui::Event::Text("1.5".into()));
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    studio.settle();
    assert_eq!(studio.text().2, "te.llm=1.5");
    let predicted = studio.app().state.devices.board.prediction.clone().unwrap();
    assert!(predicted.modules[&Module::Llm].in_pieces && !predicted.modules[&Module::Diffusion].in_pieces);
    studio.harness.check_accessibility();
    studio.click("Remove the budget of the text encoder");
    studio.settle();
    assert_eq!(studio.text().2, "");
    // The text names all encoders at once, and what is neither a module nor a device is told.
    studio.harness.get_by_role_and_label(Role::TextInput, "Budgets").focus();
    studio.harness.run_ok();
    studio.harness.get_by_role_and_label(Role::TextInput, "Budgets").type_text("te=2,dif=3");
    studio.settle();
    assert!(studio.sees("there is no device or module \"dif\""));
}

#[test]
fn a_module_budget_without_effect_can_be_removed() {
    let mut placement = placement_text("all=GPU0");
    placement.max_vram = "vae=1".into();
    let settings = Settings { recipe: Recipe { placement, ..recipe() }, ..Settings::default() };
    let mut studio = open_board_with(settings, machine(), 5);
    assert!(studio.sees("The budget of the VAE has no effect: it runs as a whole."));
    studio.click("Placement of the VAE");
    studio.click("Remove the budget of the VAE");
    studio.settle();
    assert_eq!(studio.text().2, "");
}

#[test]
fn running_out_of_memory_becomes_a_card_whose_button_makes_the_same_picture_again() {
    let mut studio = open_board(5);
    let (job, ..) = studio.generate();
    studio.begin(job, vec![4711]);
    let met = OutOfMemory { device: "GPU0".into(), phase: PhaseKind::Decoding, bytes_wanted: 6 * GIB, bytes_free: GIB };
    let failure =
        Failure { cause: Some(Cause::OutOfMemory(met)), ..Failure::new("GPU0 has no room for 6.0 GiB while decoding.", "Let it fit.") };
    studio.port.send(Event::End { job, end: End::Failed(failure) });
    studio.settle();
    assert!(studio.sees("GPU0 has no room for 6.0 GiB while decoding.") && studio.sees("Apply and run the same seed"));
    let remedies = studio.app().state.shared.error.as_ref().unwrap().remedies.len();
    assert!((1..=3).contains(&remedies), "{remedies}");
    let label = studio.app().state.shared.error.as_ref().unwrap().remedies[0].label.clone();
    let before = studio.app().state.shared.next.recipe.clone();
    studio.click(&label);
    assert!(studio.app().state.shared.error.is_none());
    let (_, again, _) = studio.take();
    assert_eq!(
        (again.seed, studio.app().state.shared.next.recipe.seed),
        (Some(Seed(4711)), None),
        "the next picture has a seed of its own again"
    );
    assert!(again.placement != before.placement || again.vae_tiling, "{label}");
}

#[test]
fn placements_are_kept_by_name_and_by_model_and_across_a_restart() {
    let mut studio = open_board(5);
    studio.focus("Text encoder runs on");
    studio.press(Modifiers::NONE, Key::ArrowRight);
    studio.click("Save this placement");
    studio.harness.get_by_role_and_label(Role::TextInput, "Name of this placement").type_text("two cards");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    studio.focus("Text encoder runs on");
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(studio.assignment(Module::Llm), Assignment::at("GPU0"));
    let path = studio.folder.path().join("settings.json");
    studio.harness.state_mut().take().unwrap().finish();

    let settings = settings::load(&path).settings;
    let mut studio = open_board_with(settings.clone(), machine(), 5);
    studio.click("Use this placement: two cards");
    assert_eq!(studio.assignment(Module::Llm), Assignment::at("GPU1"));
    assert!(studio.app().state.devices.board.pins.contains(&Module::Llm));
    studio.click("Delete two cards");
    assert!(!studio.sees("two cards"));
    // Another model has placements of its own.
    let mut other = settings;
    other.recipe.files.set(FileRole::Diffusion, "/models/other.gguf");
    assert!(!open_board_with(other, machine(), 5).sees("two cards"));
}

#[test]
fn a_server_that_does_not_answer_is_grey_and_can_be_asked_again() {
    let mut studio = open_board(5);
    studio.click("Add a remote device");
    assert!(studio.sees("No encryption and no login"));
    studio.harness.get_by_role_and_label(Role::TextInput, "Address, such as 192.168.1.20:50052").type_text("studio.local");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    let asked = |studio: &Studio| loop {
        match studio.port.next() {
            Some(Request::Control(Control::AddServer(server))) => return server,
            Some(_) => {}
            None => panic!("nobody was asked"),
        }
    };
    let server = asked(&studio);
    assert_eq!(server.as_str(), "studio.local:50052");
    let problem = RemoteError::Unreachable(server.to_string());
    studio.port.send(Event::Server { server: server.clone(), added: Err(problem) });
    studio.settle();
    assert!(studio.sees("Nothing responds at studio.local:50052"));
    studio.click("Try again");
    assert_eq!(asked(&studio), server);
    let lent = device("RPC0", DeviceKind::Remote, 24, 23);
    studio.port.send(Event::Server { server: server.clone(), added: Ok(vec![lent.clone()]) });
    studio.port.send(Event::Devices([machine(), vec![lent.clone()]].concat()));
    studio.settle();
    assert!(studio.sees("Lends RPC0."));
    // It goes away: its column stays, grey, and takes nothing.
    let silent = Device { memory_total_bytes: 0, memory_free_bytes: 0, ..lent };
    studio.port.send(Event::Devices([machine(), vec![silent]].concat()));
    studio.settle();
    assert!(studio.sees("Not responding."));
    let from = studio.center_of("Text encoder runs on");
    studio.drag(from, pos2(studio.column_x("RPC0"), from.y));
    assert_eq!(studio.text(), ("", "", ""));
    studio.click("Remove studio.local:50052");
    assert!(studio.app().state.devices.servers.is_empty());
    // The engine knows its devices until the program ends; a person does not see them any more.
    let lent = device("RPC0", DeviceKind::Remote, 24, 23);
    studio.port.send(Event::Devices([machine(), vec![lent.clone()]].concat()));
    studio.settle();
    assert!(studio.harness.query_by_label("RPC0").is_none());
    // Borrowed again, they are there again.
    studio.click("Add a remote device");
    studio.harness.get_by_role_and_label(Role::TextInput, "Address, such as 192.168.1.20:50052").type_text("studio.local");
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    studio.port.send(Event::Server { server, added: Ok(vec![lent.clone()]) });
    studio.port.send(Event::Devices([machine(), vec![lent]].concat()));
    studio.settle();
    assert!(studio.harness.query_by_label("RPC0").is_some());
}

#[test]
fn what_was_measured_stands_beside_what_was_predicted_and_what_stays_is_not_counted_twice() {
    let mut studio = open_board(5);
    let (job, ..) = studio.generate();
    studio.begin(job, vec![1]);
    // 10.2 of weights stay; decoding took 0.5 more, and 0.1 more than predicted.
    // Another model held something too.
    let others = GIB / 2;
    let peak = |phase, tenths: u64| Peak {
        device: "GPU0".into(),
        phase,
        bytes: tenths * GIB / 10 + others,
        others_bytes: others,
        predicted_bytes: None,
    };
    let peaks = vec![peak(placement::Phase::Load, 102), peak(placement::Phase::Denoise, 109), peak(placement::Phase::Decode, 108)];
    let copies = vec![Copies { module: Module::Diffusion, bytes: 3 * GIB, count: 24, waited_secs: 0.4, hidden_secs: 2.0 }];
    studio.port.send(Event::Measured { job, peaks, copies, evaluations: 0 });
    studio.done(job);
    assert!(studio.sees("Weights of the diffusion module: 3.0 GiB in 24 copies, 0.4 s waited, 2 s copied beside computing."));
    assert!(studio.sees("GPU0 denoise: 10.9 GiB, measured 10.9 GiB"));
    assert!(studio.sees("GPU0 decode: 10.7 GiB, measured 10.8 GiB (0.9 % more)"));
    // Of another size or another place it says nothing.
    studio.app_mut().state.shared.next.recipe.width = 768;
    studio.answer_estimate(5);
    assert!(!studio.sees(", measured "));
    studio.app_mut().state.shared.next.recipe.width = recipe().width;
    studio.answer_estimate(5);
    assert!(studio.sees(", measured "));
    let mut devices = machine();
    devices[1].memory_free_bytes = 11 * GIB - 102 * GIB / 10;
    devices[1].memory_allocated_bytes = 102 * GIB / 10;
    studio.port.send(Event::Devices(devices));
    let part =
        ResidentPart { module: Module::Diffusion, device: "GPU0".into(), bytes: 102 * GIB / 10, owner: ResidentId(1), shared: false };
    let model = Resident { parts: vec![part], ..memory::resident(1, recipe().files) };
    studio.port.send(Event::Residency(Residency { models: vec![model], ..Residency::default() }));
    studio.settle();
    assert!(studio.sees("Everything fits."), "its own weights are in nobody's way");
}

#[test]
fn a_card_that_two_backends_offer_is_one_column_with_a_choice() {
    let mut devices = machine();
    devices.insert(1, device("Vulkan0", DeviceKind::Gpu, 12, 11));
    for device in &mut devices[1..3] {
        device.gpu = Some("0000:01:00.0".into());
    }
    let settings = Settings { recipe: Recipe { placement: placement_text("all=GPU0"), ..recipe() }, ..Settings::default() };
    let mut studio = open_board_with(settings, devices, 5);
    assert!(studio.harness.query_by_label("GPU0").is_some() && studio.harness.query_by_label("Vulkan0").is_none());
    studio.harness.get_by_role_and_label(Role::ComboBox, "Backend of Some GPU").click();
    studio.harness.run_ok();
    studio.click("Vulkan0");
    studio.settle();
    assert_eq!(studio.text().0, "all=Vulkan0");
    assert!(studio.harness.query_by_label("GPU0").is_none());
}

fn placement_text(backend: &str) -> atelier_core::recipe::PlacementText {
    atelier_core::recipe::PlacementText { backend: backend.into(), ..Default::default() }
}

#[test]
fn every_move_has_an_outcome_before_it_is_made() {
    let studio = open_board(65);
    let board = &studio.app().state.devices.board;
    let to = |part, to| board.outcome(&CardMove { module: Module::Vae, part, to }).clone();
    assert_eq!(to(CardPart::Runtime, WeightLocation::Device("GPU0".into())), MoveOutcome::Unchanged);
    assert_eq!(to(CardPart::Runtime, WeightLocation::Device("CPU".into())), MoveOutcome::Fits);
    assert!(matches!(to(CardPart::Runtime, WeightLocation::Device("GPU1".into())), MoveOutcome::Exceeds(_)), "6.7 are more than its 6");
    assert!(matches!(to(CardPart::Runtime, WeightLocation::Disk), MoveOutcome::Impossible(_)));
    assert!(matches!(to(CardPart::Weights, WeightLocation::Disk), MoveOutcome::Exceeds(_)));
}

#[test]
fn a_small_window_has_room_for_the_board() {
    let settings = Settings { recipe: recipe(), ..Settings::default() };
    let mut studio = Studio::with(settings, Err("None.".into()), [1024.0, 700.0]);
    studio.port.send(Event::Devices(machine()));
    studio.answer_estimate(5);
    studio.harness.get_by_role_and_label(Role::Button, "GPU0: diffusion, text encoder, VAE").click();
    studio.harness.run_ok();
    assert_eq!(studio.app().state.shared.screen, Screen::Devices);
    for title in ["GPU0", "GPU1", "CPU · RAM", "Disk"] {
        let rect = studio.harness.get_by_label(title).rect();
        assert!(rect.right() <= 1024.0 && rect.left() >= 344.0, "{title}: {rect:?}");
    }
}
