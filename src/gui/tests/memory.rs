//! Tests of resident models and preloading through the controls; the test plays the engine.

use crate::gui::tests::board::{machine, recipe};
use crate::gui::tests::*;
use atelier_core::format::GIB;
use atelier_core::placement::Reserve;
use atelier_core::recipe::{ModelFiles, PlacementText};
use atelier_engine::{Residency, Resident, ResidentId, ResidentPart};

fn files(name: &str) -> ModelFiles {
    let mut files = ModelFiles::default();
    files.set(FileRole::Model, format!("/models/{name}.safetensors"));
    files
}

pub(crate) fn resident(id: u64, files: ModelFiles) -> Resident {
    let part = |module, device: &str, bytes| ResidentPart { module, device: device.into(), bytes, owner: ResidentId(id), shared: false };
    let parts = vec![part(Module::Diffusion, "GPU0", 2 * GIB), part(Module::Llm, "CPU", GIB / 2)];
    let placement = PlacementText::default();
    Resident {
        id: ResidentId(id),
        files,
        placement,
        parts,
        used_at_secs: 0,
        in_use: false,
        kept: false,
        encodings_found: 3,
        encodings_made: 1,
    }
}

fn residency(models: &[Resident]) -> Event {
    Event::Residency(Residency { models: models.to_vec(), ..Residency::default() })
}

/// Opens a window whose engine has listed its devices and estimated the recipe.
fn open_with_estimate(settings: Settings) -> Studio {
    let mut studio = Studio::with(settings, Err("None.".into()), [1440.0, 900.0]);
    studio.port.send(Event::Devices(machine()));
    studio.answer_estimate(5);
    studio
}

impl Studio {
    /// Lets a second pass, then takes all requests.
    pub(crate) fn requests(&mut self) -> Vec<Request> {
        self.until("the start", |app| app.state.memory.preloading.has_checked_marker());
        self.harness.run_steps(90);
        self.until("the note", |app| !app.state.memory.preloading.is_awaiting_marker());
        let mut asked = Vec::new();
        // The marker comes out last, so that nobody waits for what was never asked.
        self.app().engine.unload().unwrap();
        loop {
            match self.port.next() {
                Some(Request::Control(Control::UnloadAll)) => return asked,
                Some(request) => asked.push(request),
                None => panic!("the window is gone"),
            }
        }
    }

    /// Requests to preload, in order.
    fn preload_requests(&mut self) -> Vec<Option<ModelFiles>> {
        let preload = |request| match request {
            Request::Control(Control::Preload(recipe)) => Some(recipe.map(|recipe| recipe.files)),
            _ => None,
        };
        self.requests().into_iter().filter_map(preload).collect()
    }
}

#[test]
fn the_chosen_model_is_loaded_once_it_is_known_to_fit_and_not_again() {
    let mut studio = open_with_estimate(Settings { recipe: recipe(), ..Settings::default() });
    assert_eq!(studio.preload_requests(), [Some(recipe().files)]);
    assert!(studio.sees("Loading…"));
    studio.port.send(residency(&[resident(1, recipe().files)]));
    studio.harness.run_ok();
    assert!(!studio.sees("Loading") && studio.sees("In memory · RAM 512 MiB · GPU0 2.0 GiB"));
    // Words, seeds and sizes load nothing; nor does a model that a person has unloaded come back by
    // itself.
    let recipe = &mut studio.app_mut().state.shared.next.recipe;
    recipe.seed = Some(Seed(7));
    recipe.prompt = "a long prompt ".repeat(20);
    studio.answer_estimate(5);
    studio.port.send(residency(&[]));
    assert_eq!(studio.preload_requests(), []);
    // Not even where that was before it could be loaded.
    studio.port.send(residency(&[resident(2, files("sd15"))]));
    studio.app_mut().state.shared.next.recipe.files = files("sd15");
    studio.harness.run_ok();
    studio.click("Unload sd15");
    studio.answer_estimate(5);
    assert_eq!(studio.preload_requests(), []);
    // Another place is another loading.
    studio.app_mut().state.shared.next.recipe.placement.backend = "te=cpu".into();
    studio.answer_estimate(5);
    assert_eq!(studio.preload_requests().len(), 1);
}

#[test]
fn nothing_is_loaded_that_does_not_fit_is_unknown_or_was_not_wanted() {
    let unknown = Settings { recipe: recipe(), places_automatically: false, ..Settings::default() };
    let mut studio = Studio::with(unknown.clone(), Err("None.".into()), [1440.0, 900.0]);
    assert_eq!(studio.preload_requests(), [], "what it takes is not known yet");
    studio.port.send(Event::Devices(machine()));
    studio.answer_estimate(30);
    assert!(studio.app().state.devices.board.exceeds_memory());
    assert_eq!(studio.preload_requests(), []);
    let mut off = open_with_estimate(Settings { preload: false, ..unknown });
    assert_eq!(off.preload_requests(), []);
}

#[test]
fn a_model_whose_loading_ended_the_program_is_not_loaded_by_itself_at_the_next_start() {
    let mut studio = open_with_estimate(Settings { recipe: recipe(), ..Settings::default() });
    assert_eq!(studio.preload_requests().len(), 1);
    let mark = studio.folder.path().join("loading-ahead");
    assert!(mark.exists(), "noted before it begins");
    studio.port.send(residency(&[resident(1, recipe().files)]));
    studio.until("the mark to be gone", |_| !mark.exists());

    std::fs::write(&mark, "").unwrap();
    let folder = studio.folder;
    let mut again = Studio::at(folder, Settings { recipe: recipe(), ..Settings::default() }, Err("None.".into()), [1440.0, 900.0]);
    again.until("the start", |app| app.state.memory.preloading.has_checked_marker());
    assert!(again.sees("Atelier crashed while loading z-Q8_0.") && !mark.exists());
    again.port.send(Event::Devices(machine()));
    again.answer_estimate(5);
    assert_eq!(again.preload_requests(), []);
    // Another choice is loaded as ever.
    again.harness.state_mut().as_mut().unwrap().state.shared.next.recipe.placement.backend = "te=cpu".into();
    again.answer_estimate(5);
    assert_eq!(again.preload_requests().len(), 1);
}

#[test]
fn switching_it_off_stops_the_loading_and_the_switch_is_kept() {
    let mut studio = open_with_estimate(Settings { recipe: recipe(), ..Settings::default() });
    assert_eq!(studio.preload_requests().len(), 1);
    studio.press(Modifiers::COMMAND, Key::Num2);
    studio.harness.get_by_role_and_label(Role::CheckBox, "The chosen model").click();
    studio.harness.run_ok();
    assert_eq!(studio.preload_requests(), [None]);
    assert!(!studio.app().settings().preload);
}

#[test]
fn the_list_says_what_is_where_and_its_buttons_reach_the_engine() {
    let mut studio = open_with_estimate(Settings { recipe: recipe(), preload: false, ..Settings::default() });
    studio.press(Modifiers::COMMAND, Key::Num2);
    assert!(studio.sees("No model yet."));
    let (one, mut two) = (resident(1, files("sd15")), resident(2, recipe().files));
    (two.in_use, two.kept) = (true, true);
    studio.port.send(residency(&[two.clone(), one.clone()]));
    studio.harness.run_ok();
    assert!(studio.sees("RAM 512 MiB · GPU0 2.0 GiB · in use") && studio.sees("days ago"));
    assert_eq!(studio.app().state.devices.board.resident_bytes, [("CPU".to_owned(), GIB), ("GPU0".to_owned(), 4 * GIB)].into());
    assert_eq!(studio.app().state.devices.bytes_of_other_models(&studio.app().state.shared, "GPU0"), 2 * GIB);
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Unload z-Q8_0").accesskit_node().is_disabled());
    studio.click("Unload sd15");
    studio.click("Keep sd15 in memory");
    studio.click("No longer keep z-Q8_0 in memory");
    let expected = [
        Control::Unload(ResidentId(1)),
        Control::Keep { model: ResidentId(1), keep: true },
        Control::Keep { model: ResidentId(2), keep: false },
    ]
    .map(Request::Control);
    let asked: Vec<_> =
        studio.requests().into_iter().filter(|it| matches!(it, Request::Control(Control::Unload(_) | Control::Keep { .. }))).collect();
    assert_eq!(asked, expected);
    studio.harness.check_accessibility();
}

#[test]
fn weights_that_two_models_share_count_once() {
    let (one, mut two) = (resident(1, files("a")), resident(2, files("b")));
    for part in two.parts.iter_mut().filter(|part| part.module == Module::Llm) {
        (part.owner, part.shared) = (ResidentId(1), true);
    }
    let held = Residency { models: vec![one, two], ..Residency::default() }.held_bytes();
    assert_eq!(held, [("CPU".to_owned(), GIB / 2), ("GPU0".to_owned(), 4 * GIB)].into());
}

#[test]
fn going_back_to_a_model_brings_its_settings_and_keeps_the_words() {
    let mut studio = open_with_estimate(Settings { recipe: Recipe { steps: 9, ..recipe() }, preload: false, ..Settings::default() });
    let (job, ..) = studio.generate();
    studio.done(job);
    let state = &mut studio.app_mut().state;
    (state.shared.next.recipe.files, state.shared.next.recipe.steps, state.shared.next.recipe.prompt) =
        (files("sd15"), 30, "a castle".into());
    studio.port.send(residency(&[resident(1, recipe().files), resident(2, files("sd15"))]));
    // What is said of missing files moves the buttons.
    let use_model = |studio: &mut Studio, name: &str| {
        let is_checked =
            |app: &App| app.state.shared.next.recipe.files.iter().all(|(_, path)| app.state.shared.missing_files.contains(path));
        studio.until("what is missing", is_checked);
        studio.settle();
        studio.click(name);
    };
    studio.settle();
    assert!(studio.sees("Also in memory"));
    use_model(&mut studio, "Use z-Q8_0");
    let now = &studio.app().state.shared.next.recipe;
    assert_eq!((&now.files, now.steps, now.prompt.as_str()), (&recipe().files, 9, "a castle"));
    use_model(&mut studio, "Use sd15");
    assert_eq!(studio.app().state.shared.next.recipe.steps, 30);
}

#[test]
fn a_model_of_an_earlier_session_is_one_menu_away_with_its_settings() {
    let mut studio = open_with_estimate(Settings { recipe: Recipe { steps: 9, ..recipe() }, preload: false, ..Settings::default() });
    assert!(!studio.sees("Recent models"));
    let (job, ..) = studio.generate();
    studio.done(job);
    let state = &mut studio.app_mut().state;
    (state.shared.next.recipe.files, state.shared.next.recipe.steps, state.shared.next.recipe.prompt) =
        (files("sd15"), 30, "a castle".into());
    let kept = studio.app().settings();
    assert_eq!(kept.recent_models.iter().map(|it| (it.steps, it.prompt.as_str())).collect::<Vec<_>>(), [(9, "")]);
    let file = studio.folder.path().join("kept.json");
    settings::save(&file, &kept).unwrap();
    let Studio { mut harness, folder, port } = studio;
    harness.state_mut().take().unwrap().finish();
    drop((harness, port));

    let mut studio = Studio::at(folder, settings::load(&file).settings, Err("None.".into()), [1440.0, 900.0]);
    let has_looked = |app: &App| app.state.shared.next.recipe.files.iter().all(|(_, path)| app.state.shared.missing_files.contains(path));
    studio.until("what is missing", has_looked);
    studio.settle();
    studio.click("Recent models");
    studio.click("Use z-Q8_0");
    let now = &studio.app().state.shared.next.recipe;
    assert_eq!((&now.files, now.steps, now.prompt.as_str()), (&recipe().files, 9, "a castle"));
    studio.harness.check_accessibility();
}

#[test]
fn what_is_left_to_other_programs_is_told_at_once_kept_and_told_again_at_the_next_start() {
    let reserve = Reserve { percent: 25, most_bytes: 4 * GIB };
    let mut studio = Studio::with(Settings { recipe: recipe(), reserve, ..Settings::default() }, Err("None.".into()), [1440.0, 900.0]);
    assert!(studio.requests().contains(&Request::Control(Control::SetReserve(reserve))));
    studio.press(Modifiers::COMMAND, Key::Num2);
    studio.harness.get_by_role_and_label(Role::Slider, "Leave free %").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::ArrowRight);
    let wanted = Reserve { percent: 26, ..reserve };
    assert!(studio.requests().contains(&Request::Control(Control::SetReserve(wanted))));
    assert_eq!(studio.app().settings().reserve, wanted);
}

#[test]
fn every_model_that_no_picture_uses_is_unloaded_with_one_button() {
    let mut studio = open_with_estimate(Settings { recipe: recipe(), preload: false, ..Settings::default() });
    studio.port.send(residency(&[resident(1, recipe().files), resident(2, files("sd15"))]));
    studio.press(Modifiers::COMMAND, Key::Num2);
    studio.click("Unload all");
    let asked = std::iter::from_fn(|| studio.port.next()).find(|request| !matches!(request, Request::Query(_)));
    assert_eq!(asked, Some(Request::Control(Control::UnloadAll)));
    let in_use = |id, files| Resident { in_use: true, ..resident(id, files) };
    studio.port.send(residency(&[in_use(1, recipe().files), in_use(2, files("sd15"))]));
    studio.harness.run_ok();
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Unload all").accesskit_node().is_disabled());
}
