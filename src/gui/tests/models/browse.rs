//! Search, filters, cards, details, and use of a model.

use super::*;
use crate::gui::models::ModelCard;
use atelier_core::time::{ClassRate, DeviceRates, NodeSize, WeightType, WorkClass, WorkKind};
use atelier_engine::{MeasuredDevice, MeasuredRates, NextQuery, Query};

#[test]
fn a_search_and_filters_leave_what_they_ask_for() {
    let mut studio = open_view(home(), "http://127.0.0.1:9");
    assert_eq!(studio.card_names().len(), Catalogue::shipped().entries().len(), "the whole catalogue");
    studio.press(Modifiers::NONE, Key::Slash);
    studio.harness.event(egui::Event::Text("klein apache".into()));
    studio.harness.run_ok();
    assert_eq!((studio.app().state.models.search.as_str(), studio.card_names()), ("klein apache", vec!["Flux.2 klein 4B"]));
    studio.click("Show all");
    studio.harness.get_by_role_and_label(Role::ComboBox, "Kind").click();
    studio.harness.run_ok();
    studio.click("Upscalers");
    assert_eq!(studio.card_names(), ["Real-ESRGAN x4plus", "Real-ESRGAN x4plus anime 6B"]);
    studio.click("Show all");
    // The fit is known once the devices are.
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 16), device(DeviceKind::Gpu, 8)]));
    studio.until("the memory", |app| app.state.models.memory.is_some());
    assert!(studio.sees("Flux.2 klein 4B, catalogue, 5.3 GB, fits") && studio.sees("tight, weights in RAM"));
    studio.harness.check_accessibility();
}

#[test]
fn using_a_model_fills_the_recipe_and_keeps_what_was_written() {
    let home = home();
    let files = install(home.path(), "mine");
    let mut studio = open_view(home, "http://127.0.0.1:9");
    studio.click_first("Mine, on disk, ");
    assert!(studio.app().state.models.open_card().is_some_and(|it| it.id == "mine" && it.downloaded));
    assert!(studio.sees("tiny-zimage.safetensors") && studio.sees("Z-Image diffusion module"));
    studio.harness.check_accessibility();
    studio.click("Use Mine now");
    studio.until("the recipe", |app| app.state.shared.next.recipe.steps == 5);
    let state = &studio.app().state;
    assert_eq!((state.shared.screen, state.shared.next.recipe.prompt.as_str()), (Screen::Create, "a lake"));
    assert_eq!(state.shared.next.recipe.files.get(FileRole::Diffusion), Some(files.diffusion.as_path()));
    assert!(studio.sees("Using Mine"));
}

#[test]
fn a_model_that_is_not_here_shows_prompts_that_it_does_well_and_a_click_takes_one() {
    let (server, home, prompt) = (Server::start(), home(), "a woodcut of two herons");
    let mut entry = entry(&server, "aurora", "Aurora");
    entry["examples"] = serde_json::json!([{ "prompt": "fog over a harbour" }, { "prompt": prompt, "width": 512, "height": 768 }]);
    write_catalogue(home.path(), &serde_json::json!([entry]));
    let mut studio = open_view(home, &server.url);
    assert!(!studio.sees(prompt));
    studio.click_first("Aurora, catalogue, ");
    assert!(studio.sees("Good at") && studio.sees("fog over a harbour"));
    studio.harness.check_accessibility();
    studio.click(prompt);
    let recipe = &studio.app().state.shared.next.recipe;
    assert_eq!((recipe.prompt.as_str(), recipe.width, recipe.height), (prompt, 512, 768));
    assert!(studio.sees("This prompt is in Create now.") && studio.app().state.models.queue.is_empty());
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.app().state.shared.next.recipe.prompt, "a lake");
}

#[test]
fn a_dropped_model_file_becomes_the_model_with_its_parts_and_the_settings_that_suit_it() {
    let home = home();
    let folder = home.path().join("downloads");
    fs::create_dir_all(&folder).unwrap();
    let files = tiny::zimage(&folder, &tiny::Options { vocabulary: 151_936, ..tiny::Options::default() }).unwrap();
    let mut studio = open_view(home, "http://127.0.0.1:9");
    studio.press(Modifiers::COMMAND, Key::Num1);
    let mut own = ready();
    own.steps = 33;
    studio.app_mut().state.shared.next.recipe = own.clone();
    studio.harness.run_ok();
    studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(files.diffusion.clone())));
    studio.harness.step();
    studio.until("the model", |app| app.state.shared.next.recipe.files.get(FileRole::Diffusion).is_some());
    let recipe = &studio.app().state.shared.next.recipe;
    let expected = [(FileRole::Diffusion, files.diffusion), (FileRole::Llm, files.llm), (FileRole::Taesd, files.taesd)];
    assert_eq!(recipe.files.iter().map(|(role, path)| (role, path.to_owned())).collect::<Vec<_>>(), expected);
    assert_eq!((recipe.guidance, recipe.prompt.as_str()), (1.0, "a lake"), "as the catalogue has it for its family");
    assert_ne!(recipe.steps, 33);
    assert!(studio.sees(", with its recommended settings."));
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(studio.app().state.shared.next.recipe, own);
}

#[test]
fn the_keyboard_alone_finds_opens_and_closes() {
    let mut studio = open_view(home(), "http://127.0.0.1:9");
    studio.press(Modifiers::NONE, Key::ArrowDown);
    let first = studio.app().state.models.selected.clone().unwrap();
    studio.press(Modifiers::NONE, Key::ArrowRight);
    studio.press(Modifiers::NONE, Key::ArrowDown);
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    studio.press(Modifiers::NONE, Key::ArrowUp);
    assert_eq!(studio.app().state.models.selected.as_ref(), Some(&first), "there and back");
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(studio.app().state.models.is_open && studio.sees("Recommended settings"));
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(!studio.app().state.models.is_open);
    studio.press(Modifiers::COMMAND, Key::F);
    assert_eq!(studio.app().state.shared.screen, Screen::Models);
    studio.harness.event(egui::Event::Text("esrgan".into()));
    studio.harness.run_ok();
    assert_eq!(studio.card_names().len(), 2, "the cursor is in the search");
}

#[test]
fn models_on_this_machine_say_whether_they_fit_as_the_engine_predicts() {
    let home = home();
    let mine = install(home.path(), "aurora");
    let mut studio = open_view(home, "http://127.0.0.1:9");
    let queries = studio.port.queries();
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 16), device(DeviceKind::Gpu, 4)]));
    studio.until("the cards", |app| app.state.models.memory.is_some() && app.state.models.visible.1 > 0);
    assert!(studio.sees(", fits"), "by its size it does");
    // The cards have to stand.
    studio.settle();
    let next_estimate = || loop {
        match queries.next() {
            Some((Query::Estimate(recipe), _)) => break recipe,
            Some(_) => {}
            None => panic!("nobody was asked"),
        }
    };
    let asked = next_estimate();
    assert_eq!((asked.files.get(FileRole::Diffusion), asked.steps), (Some(mine.diffusion.as_path()), 5));
    // 6 GiB of diffusion do not fit into a card of 4.
    studio.port.send(Event::Estimated { recipe: asked, estimate: Ok(board::estimate(5)) });
    studio.until("the answer", |app| app.state.models.predictions.contains_key("aurora"));
    studio.click_first("Mine, on disk, ");
    assert!(studio.sees("tight, weights in RAM") && studio.sees("At 512 × 512 it needs ") && studio.sees(" of RAM"));
    // Once devices are measured, times are asked for.
    studio.port.send(Event::Rates { devices: Vec::new(), is_measuring: false });
    studio.settle();
    let asked = next_estimate();
    let [cpu, gpu] = [DeviceKind::Cpu, DeviceKind::Gpu].map(|kind| device(kind, 1).name);
    studio.port.send(Event::Estimated { recipe: asked, estimate: Ok(times::timed_estimate(&[&cpu, &gpu])) });
    studio.until("the time", |app| app.state.models.predictions["aurora"].time.is_some());
    // Encode 1, five steps of 0.5, decode 2.
    assert!(
        studio.sees("tight, weights in RAM, about 5.5 s a picture here") && studio.sees("A picture of 512 × 512 takes about 5.5 s here.")
    );
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 16), device(DeviceKind::Gpu, 16)]));
    studio.until("the other card", |app| app.state.models.predictions["aurora"].level == FitLevel::Fits);
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 4)]));
    studio.until("the small machine", |app| app.state.models.predictions["aurora"].level == FitLevel::TooBig);
    assert!(studio.sees(" of memory are missing."));
    studio.harness.check_accessibility();
}

/// Scrolling past cards asks nothing.
#[test]
fn a_card_is_asked_about_once_it_has_stood_for_a_fifth_of_a_second() {
    let home = home();
    install(home.path(), "aurora");
    let mut studio = open_view(home, "http://127.0.0.1:9");
    let queries = studio.port.queries();
    let next_asked = || loop {
        match queries.next_within(Some(Duration::ZERO)) {
            NextQuery::Query(Query::Estimate(recipe), _) => break Some(recipe),
            NextQuery::Query(..) | NextQuery::Look => {}
            NextQuery::Timeout | NextQuery::Closed => break None,
        }
    };
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 16)]));
    studio.until("the cards", |app| app.state.models.memory.is_some() && app.state.models.visible.1 > 0);
    studio.settle();
    let recipe = next_asked().unwrap();
    studio.port.send(Event::Estimated { recipe, estimate: Ok(board::estimate(5)) });
    studio.until("the answer", |app| app.state.models.predictions.contains_key("aurora"));
    assert!(next_asked().is_none());
    // As for a card that has just come.
    let asked = &mut studio.app_mut().state.models.fit_queries;
    asked.forget_answers();
    asked.standing.reset();
    let begin_secs = studio.harness.ctx.input(|input| input.time) + 1.0;
    for (secs, is_asked) in [(0.0, false), (0.1, false), (0.19, false), (0.21, true)] {
        studio.harness.input_mut().time = Some(begin_secs + secs);
        studio.harness.step();
        assert_eq!(next_asked().is_some(), is_asked, "after {secs} s");
    }
}

/// A processor of a tenth of a million million operations a second.
fn slow_processor() -> MeasuredDevice {
    let class = |kind| WorkClass { kind, weights: WeightType::F16, size: NodeSize::Large };
    let classes = [WorkKind::Product, WorkKind::Convolution].map(|kind| ClassRate { class: class(kind), per_sec: 1e11 });
    let rates = DeviceRates { classes: classes.into(), ..DeviceRates::default() };
    let name = device(DeviceKind::Cpu, 16).name;
    MeasuredDevice { device: name, measured: Ok(MeasuredRates { rates, samples: 2, unsteady_samples: 0, secs: 1.0 }) }
}

#[test]
fn the_last_picture_of_a_model_lies_beside_the_words_of_its_card() {
    let home = home();
    let files = install(home.path(), "mine");
    let mut recipe = ready();
    recipe.files = atelier_core::recipe::ModelFiles::default();
    recipe.files.set(FileRole::Diffusion, files.diffusion.clone());
    let info = PictureInfo { index: 0, seed: Some(Seed(1)), cpu_math: None, merged_loras: false };
    atelier_studio::results::store_picture(&home.path().join("Pictures"), &recipe, info, &[], &image(64, 90)).unwrap();
    let mut studio = open_view(home, "http://127.0.0.1:9");
    studio.until("the picture", |app| {
        let gallery = &app.state.gallery;
        let latest = app.state.models.card("mine").and_then(|card| gallery.latest_of_card(card));
        latest.is_some_and(|id| gallery.thumbnails.get(id).is_some())
    });
    let picture = studio.harness.get_by_role_and_label(Role::Image, "Last picture of Mine").rect();
    let card = studio.harness.query_all_by_label_contains("Mine, ").find(|it| it.accesskit_node().role() == Role::Button).unwrap().rect();
    assert!(card.contains_rect(picture));
    let words = studio.harness.query_all_by_role(Role::Label).filter(|it| card.contains(it.rect().center()));
    let mut count = 0;
    for label in words {
        let common = label.rect().intersect(picture);
        assert!(!common.is_positive(), "{:?} lies under the picture", label.accesskit_node().label());
        count += 1;
    }
    assert!(count >= 3, "{count}");
}

#[test]
fn who_has_nothing_sees_the_built_in_model_and_three_first_choices() {
    let (folder, model) = (home(), home());
    let library = library(folder.path(), "http://127.0.0.1:9");
    let builtin = Ok(small_builtin(model.path()));
    let mut studio = Studio::with_library(Settings::default(), builtin, [1440.0, 900.0], folder, Some(library));
    studio.press(Modifiers::COMMAND, Key::Num3);
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 16)]));
    studio.until("the first choices", |app| app.state.models.starter_count == 4);
    assert_eq!(studio.card_names()[0], "Small");
    studio.until("its example", |app| !app.state.create.examples.looks.is_empty());
    assert!(studio.harness.query_by_role_and_label(Role::Image, "An example of Small").is_some());
    assert!(studio.sees("Good first models for this machine") && studio.sees("Small, built-in"));
    let first = |app: &App| app.state.models.library.starter_ids.first().cloned();
    assert_eq!(first(studio.app()).as_deref(), Some("flux.1-schnell"), "the largest that fits");
    // Measured, and slow: the quickest go first.
    studio.port.send(Event::Rates { devices: vec![slow_processor()], is_measuring: false });
    studio.until("other first choices", |app| first(app).as_deref() == Some("sd1.5"));
    // Also what is not on this disk says how long it takes, and the quickest stand first.
    let view = &studio.app().state.models;
    let of_starter = |at: &usize| view.picture_time(&view.library.cards[*at]).map(|it| it.millis);
    let times: Vec<u64> = view.shown.iter().take(view.starter_count).filter_map(of_starter).collect();
    assert!(times.is_sorted() && times.len() == 3, "{times:?}");
    assert!(studio.sees("without a graphics card, the quickest first") && studio.sees("a picture here: too slow"));
    let untimed = |card: &&ModelCard| card.kind == ModelKind::Model && studio.app().state.models.picture_time(card).is_none();
    let without: Vec<_> = view.library.cards.iter().filter(untimed).map(|card| (&card.name, view.status(&card.id).fit)).collect();
    assert!(without.iter().all(|(name, fit)| *name == "Small" || *fit >= FitLevel::Tight), "{without:?}");
    studio.click("Use Small");
    assert!(studio.app().state.shared.screen == Screen::Create && studio.app().state.shared.next.uses_builtin());
}

#[test]
fn of_a_thousand_models_only_those_that_are_seen_are_drawn() {
    let home = home();
    let folder = Paths::beneath(home.path()).models;
    fs::create_dir_all(&folder).unwrap();
    let down = "lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q.lora_down.weight";
    let header = serde_json::json!({ down: { "dtype": "F16", "shape": [1, 4], "data_offsets": [0, 8] } }).to_string();
    let file = [(header.len() as u64).to_le_bytes().as_slice(), header.as_bytes(), &[0; 8]].concat();
    for at in 0..1000 {
        fs::write(folder.join(format!("style {at:03}.safetensors")), &file).unwrap();
    }
    let mut studio = open_view(home, "http://127.0.0.1:9");
    assert_eq!(studio.card_names().len(), 1000 + Catalogue::shipped().entries().len());
    let drawn = |studio: &Studio| studio.harness.query_all_by_label_contains(", in place, ").count();
    assert!((3..80).contains(&drawn(&studio)), "{} cards are drawn", drawn(&studio));
    // The cursor reaches cards that were not drawn, and they scroll into view.
    studio.press(Modifiers::NONE, Key::Slash);
    studio.harness.event(egui::Event::Text("style 99".into()));
    studio.until("the typed words", |app| app.state.models.search == "style 99");
    assert_eq!(studio.card_names().len(), 19, "every word is looked for");
    studio.press(Modifiers::NONE, Key::Enter);
    for _ in 0..3 {
        studio.press(Modifiers::NONE, Key::ArrowDown);
    }
    assert!(studio.app().state.models.selected.as_ref().is_some_and(|it| it.contains("99")));
}

#[test]
fn models_in_memory_are_marked() {
    let home = home();
    let files = install(home.path(), "mine");
    let mut studio = open_view(home, "http://127.0.0.1:9");
    let mut parts = atelier_core::recipe::ModelFiles::default();
    parts.set(FileRole::Diffusion, files.diffusion);
    let resident = serde_json::from_value(serde_json::json!({ "models": [{ "id": 1, "files": parts, "parts": [], "used_at_secs": 0,
        "in_use": false, "kept": false, "encodings_found": 0, "encodings_made": 0 }], "unreturned_bytes": {} }));
    studio.port.send(Event::Residency(resident.unwrap()));
    studio.until("the mark", |app| app.state.models.status("mine").in_memory);
    assert!(studio.sees("Mine, on disk, in memory"));
    studio.harness.get_by_role_and_label(Role::ComboBox, "State").click();
    studio.harness.run_ok();
    studio.click(StateFilter::InMemory.label());
    assert_eq!(studio.card_names(), ["Mine"]);
}

#[test]
fn a_smaller_copy_is_made_beside_its_model_and_can_be_used() {
    let home = home();
    let paths = Paths::beneath(home.path());
    install(home.path(), "mine");
    let mut studio = open_view(home, "http://127.0.0.1:9");
    studio.click_first("Mine, on disk, ");
    studio.click("Make a smaller copy of Mine");
    studio.until("the sizes", |app| app.state.models.copy_dialog.as_ref().is_some_and(|dialog| dialog.sizes.is_some()));
    let dialog = studio.app().state.models.copy_dialog.clone().unwrap();
    let sizes = dialog.sizes.unwrap().unwrap();
    let (_, smallest) = *sizes.copies.last().unwrap();
    assert!(smallest < sizes.original_bytes / 2 && sizes.copies.len() > 2, "{sizes:?}");
    studio.harness.check_accessibility();
    let q4 = format!("Q4_0 · {}", atelier_core::format::file_size(smallest));
    studio.harness.get_by_role_and_label(Role::RadioButton, &q4).click();
    studio.harness.run_ok();
    studio.click("Make the copy");
    studio.until_notice(&format!("A copy of Mine is made: {}.", atelier_core::format::file_size(smallest)));
    let copy = paths.models.join("tiny-zimage-Q4_0.gguf");
    assert_eq!(fs::metadata(&copy).unwrap().len(), smallest);
    studio.until("its card", |app| app.state.models.library.cards.iter().any(|card| card.main_file.as_deref() == Some(copy.as_path())));
    let card = studio.app().state.models.library.cards.iter().find(|card| card.main_file.as_deref() == Some(copy.as_path())).unwrap();
    assert!(card.runnable.is_some() && card.problems.is_empty(), "{card:?}");
}
