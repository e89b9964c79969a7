//! The Models view, used as a person uses it, with a folder of its own and a server of these tests.

#[path = "../../../tests/downloads/server.rs"]
#[allow(dead_code, reason = "the tests of the downloads need more of it")]
mod server;

use std::fs;

use testkit::tiny;

use crate::gui::models::{Availability, DownloadsState, FileCheck, Fits, ModelKind, Shown, TokenState};
use crate::gui::shared::Screen;
use crate::gui::tests::*;
use atelier_core::device::{Device, DeviceKind};
use atelier_core::format::GIB;
use atelier_core::paths::Paths;
use atelier_library::downloads::{Downloads, ProxyChoice, RetryPolicy, Status, TokenStore};
use atelier_library::{LibraryConfig, Sha256};
use server::{Fault, Served, Server};

/// Takes files away for good, in the trash's place.
fn no_trash(path: &Path) -> Result<(), String> {
    let gone = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    gone.map_err(|error| error.to_string())
}

fn library(home: &Path, endpoint: &str) -> LibraryOptions {
    let endpoint = endpoint.to_owned();
    let downloads = move |options: &mut atelier_library::downloads::Options| {
        (options.token, options.proxy, options.endpoint) = (None, ProxyChoice::None, endpoint.clone());
        let usual = RetryPolicy::default();
        options.retry_policy = RetryPolicy { first_wait: Duration::ZERO, longest_wait: Duration::ZERO, tries: 1, ..usual };
    };
    LibraryOptions {
        paths: Paths::beneath(home),
        watch: false,
        downloads: Arc::new(downloads),
        tokens: TokenStore::in_folder,
        trash: no_trash,
    }
}

/// The Models view of a person who has this at home.
fn view_of(folder: tempfile::TempDir, endpoint: &str) -> Studio {
    let library = library(folder.path(), endpoint);
    let builtin = Err("The built-in model is not there.".to_owned());
    let settings = Settings { recipe: Recipe { prompt: "a lake".into(), ..Recipe::default() }, ..Settings::default() };
    let mut studio = Studio::with_library(settings, builtin, [1440.0, 1400.0], folder, Some(library));
    studio.press(Modifiers::COMMAND, Key::Num3);
    assert_eq!(studio.app().state.shared.screen, Screen::Models);
    studio.until("the library", |app| app.state.models.library.complete && app.state.models.downloads != DownloadsState::Starting);
    studio
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// A catalogue of one's own with these entries.
fn offer(home: &Path, entries: &serde_json::Value) {
    let paths = Paths::beneath(home);
    fs::create_dir_all(paths.catalogues()).unwrap();
    fs::write(paths.catalogues().join("mine.json"), entries.to_string()).unwrap();
}

/// An entry with one file, which the server has.
fn entry(server: &Server, id: &str, name: &str) -> serde_json::Value {
    let file = serde_json::json!({ "role": "diffusion", "filename": format!("{id}.gguf"), "url": server.at(&format!("/{id}")) });
    serde_json::json!({ "id": id, "name": name, "family": "Z-Image", "files": [file], "checked": true })
}

/// A model in Atelier's own folder, with a manifest that wants 5 steps.
fn install(home: &Path, id: &str) -> tiny::TinyFiles {
    let folder = Paths::beneath(home).models.join(id);
    fs::create_dir_all(&folder).unwrap();
    let files = tiny::zimage(&folder, &tiny::Options::default()).unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let manifest = serde_json::json!({ "id": id, "name": "Mine", "family": "Z-Image", "defaults": { "steps": 5 }, "files": [
        { "role": "diffusion", "filename": name(&files.diffusion) },
        { "role": "llm", "filename": name(&files.llm) },
        { "role": "tae", "filename": name(&files.taesd) },
    ]});
    fs::write(folder.join(MANIFEST), manifest.to_string()).unwrap();
    files
}

/// A device of this machine with nothing in its memory.
fn device(kind: DeviceKind, gib: u64) -> Device {
    Device {
        name: format!("{kind:?}"),
        description: String::new(),
        kind,
        card: None,
        memory_total_bytes: gib * GIB,
        memory_free_bytes: gib * GIB,
    }
}

impl Studio {
    /// Names of the cards that are shown, in their order.
    fn cards(&self) -> Vec<&str> {
        let view = &self.app().state.models;
        view.shown.iter().map(|at| view.library.cards[*at].name.as_str()).collect()
    }

    fn place(&self, id: &str) -> Option<Availability> {
        self.app().state.models.card(id).map(|it| it.availability)
    }

    /// Types into the field of this name.
    fn write(&mut self, field: &str, text: &str) {
        let is_field = |role| matches!(role, Role::TextInput | Role::PasswordInput);
        self.harness.query_all_by_label(field).find(|it| is_field(it.accesskit_node().role())).unwrap().focus();
        self.harness.run_ok();
        self.press(Modifiers::COMMAND, Key::A);
        self.harness.event(egui::Event::Text(text.into()));
        self.harness.run_ok();
    }

    /// The control whose name begins so.
    fn begins(&mut self, name: &str) {
        let found = self.harness.query_all_by_label_contains(name).find(|it| it.accesskit_node().role() == Role::Button);
        found.unwrap_or_else(|| panic!("there is no {name}")).click();
        self.harness.run_ok();
    }
}

#[test]
fn a_search_and_filters_leave_what_they_ask_for() {
    let mut studio = view_of(home(), "http://127.0.0.1:9");
    assert_eq!(studio.cards().len(), 26, "the whole catalogue");
    studio.press(Modifiers::NONE, Key::Slash);
    studio.harness.event(egui::Event::Text("klein apache".into()));
    studio.harness.run_ok();
    assert_eq!((studio.app().state.models.search.as_str(), studio.cards()), ("klein apache", vec!["Flux.2 klein 4B"]));
    studio.click("Show all");
    studio.harness.get_by_role_and_label(Role::ComboBox, "Kind").click();
    studio.harness.run_ok();
    studio.click("Upscalers");
    assert_eq!(studio.cards(), ["Real-ESRGAN x4plus anime 6B"]);
    studio.click("Show all");
    // What fits is known once the devices are.
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 16), device(DeviceKind::Gpu, 8)]));
    studio.until("the memory", |app| app.state.models.memory.is_some());
    assert!(studio.sees("Flux.2 klein 4B, catalogue, 5.3 GB, fits") && studio.sees("tight, weights in RAM"));
    studio.harness.check_accessibility();
}

#[test]
fn using_a_model_fills_the_recipe_and_keeps_what_was_written() {
    let home = home();
    let files = install(home.path(), "mine");
    let mut studio = view_of(home, "http://127.0.0.1:9");
    studio.begins("Mine, on disk, ");
    assert!(studio.app().state.models.opened().is_some_and(|it| it.id == "mine" && it.downloaded));
    assert!(studio.sees("tiny-zimage.safetensors") && studio.sees("Z-Image diffusion module"));
    studio.harness.check_accessibility();
    studio.click("Use Mine now");
    studio.until("the recipe", |app| app.state.shared.recipe.steps == 5);
    let state = &studio.app().state;
    assert_eq!((state.shared.screen, state.shared.recipe.prompt.as_str()), (Screen::Create, "a lake"));
    assert_eq!(state.shared.recipe.files.get(FileRole::Diffusion), Some(files.diffusion.as_path()));
    assert!(studio.sees("Mine is set"));
}

#[test]
fn the_keyboard_alone_finds_opens_and_closes() {
    let mut studio = view_of(home(), "http://127.0.0.1:9");
    studio.press(Modifiers::NONE, Key::ArrowDown);
    let first = studio.app().state.models.selected.clone().unwrap();
    studio.press(Modifiers::NONE, Key::ArrowRight);
    studio.press(Modifiers::NONE, Key::ArrowDown);
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    studio.press(Modifiers::NONE, Key::ArrowUp);
    assert_eq!(studio.app().state.models.selected.as_ref(), Some(&first), "there and back");
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(studio.app().state.models.open && studio.sees("Settings that suit it"));
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(!studio.app().state.models.open);
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.press(Modifiers::COMMAND, Key::F);
    assert_eq!(studio.app().state.shared.screen, Screen::Models);
    studio.harness.event(egui::Event::Text("esrgan".into()));
    studio.harness.run_ok();
    assert_eq!(studio.cards().len(), 1, "the cursor is in the search");
}

#[test]
fn a_download_is_seen_from_its_first_byte_to_its_last_and_can_be_taken_away_again() {
    let (server, home) = (Server::start(), home());
    let body = vec![7u8; 400_000];
    server.file("/aurora", &body, [Fault::Hold(100_000)]);
    offer(home.path(), &serde_json::json!([entry(&server, "aurora", "Aurora")]));
    let mut studio = view_of(home, &server.url);
    studio.click("Download Aurora");
    studio.until("bytes", |app| app.state.models.queue.first().is_some_and(|it| it.progress.bytes >= 100_000));
    studio.begins("Aurora, downloading, ");
    assert!(studio.sees("100.0 kB of 400.0 kB") && studio.sees("Progress of Aurora"));
    studio.click("Pause Aurora now");
    studio.until("the pause", |app| matches!(app.state.models.queue[0].status, Status::Paused(_)));
    assert!(studio.sees("Paused at 100.0 kB of 400.0 kB") && studio.sees("Aurora, paused"));
    server.release();
    studio.click("Resume Aurora now");
    studio.until("the word", |app| app.state.notices.shown().is_some_and(|it| it.text == "Aurora is downloaded."));
    studio.until("the end", |app| app.state.models.card("aurora").is_some_and(|it| it.availability == Availability::OnDisk));
    let file = Paths::beneath(studio.folder.path()).models.join("aurora/aurora.gguf");
    assert_eq!(fs::read(&file).unwrap(), body);
    assert!(studio.app().state.models.queue.is_empty());

    studio.click("Check files of Aurora");
    studio.until("the check", |app| matches!(app.state.models.checks.get("aurora"), Some(FileCheck::Done(_))));
    assert!(studio.sees("aurora.gguf: right"));
    studio.click("Delete Aurora");
    studio.until("the question", |app| app.state.models.removal.is_some());
    assert!(studio.sees("Move Aurora to the trash?") && studio.sees("aurora.gguf"));
    studio.click("Keep it");
    assert!(file.exists());
    studio.click("Delete Aurora");
    studio.until("the question", |app| app.state.models.removal.is_some());
    studio.click("Move to trash");
    studio
        .until("the catalogue's card", |app| app.state.models.card("aurora").is_some_and(|it| it.availability == Availability::Catalogue));
    assert!(!file.exists());
}

#[test]
fn a_failed_download_says_why_and_can_be_tried_again() {
    let (server, home) = (Server::start(), home());
    server.file("/aurora", b"whole", [Fault::Status(404, Vec::new())]);
    offer(home.path(), &serde_json::json!([entry(&server, "aurora", "Aurora")]));
    let mut studio = view_of(home, &server.url);
    studio.click("Download Aurora");
    studio.until("the failure", |app| matches!(app.state.models.queue.first().map(|it| &it.status), Some(Status::Failed(_))));
    assert!(studio.sees("moved or removed it") && studio.sees("Aurora, failed"));
    studio.begins("Try again Aurora");
    studio.until("the end", |app| app.state.models.card("aurora").is_some_and(|it| it.availability == Availability::OnDisk));
}

#[test]
fn models_on_this_machine_say_whether_they_fit_as_the_engine_predicts() {
    let home = home();
    let mine = install(home.path(), "aurora");
    let mut studio = view_of(home, "http://127.0.0.1:9");
    let queries = studio.port.queries();
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 16), device(DeviceKind::Gpu, 4)]));
    studio.until("the cards", |app| app.state.models.memory.is_some() && app.state.models.seen.1 > 0);
    assert!(studio.sees(", fits"), "by its size it does");
    let asked = loop {
        match queries.next() {
            Some((Request::Estimate(recipe), _)) => break recipe,
            Some(_) => {}
            None => panic!("nobody was asked"),
        }
    };
    assert_eq!((asked.files.get(FileRole::Diffusion), asked.steps), (Some(mine.diffusion.as_path()), 5));
    // 6 GiB of diffusion do not fit into a card of 4.
    studio.port.send(Event::Estimated { recipe: asked, estimate: Ok(board::estimate(5)) });
    studio.until("the answer", |app| app.state.models.predicted.contains_key("aurora"));
    studio.begins("Mine, on disk, ");
    assert!(studio.sees("tight, weights in RAM") && studio.sees("At 512 × 512 it takes ") && studio.sees(" of RAM"));
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 16), device(DeviceKind::Gpu, 16)]));
    studio.until("the other card", |app| app.state.models.predicted["aurora"].fits == Fits::Fits);
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 4)]));
    studio.until("the small machine", |app| app.state.models.predicted["aurora"].fits == Fits::TooBig);
    assert!(studio.sees("At 512 × 512 it lacks "));
    studio.harness.check_accessibility();
}

#[test]
fn who_has_nothing_sees_the_built_in_model_and_three_first_choices() {
    let (folder, model) = (home(), home());
    let library = library(folder.path(), "http://127.0.0.1:9");
    let builtin = Ok(small_builtin(model.path()));
    let mut studio = Studio::with_library(Settings::default(), builtin, [1440.0, 900.0], folder, Some(library));
    studio.press(Modifiers::COMMAND, Key::Num3);
    studio.port.send(Event::Devices(vec![device(DeviceKind::Cpu, 16)]));
    studio.until("the first choices", |app| app.state.models.welcome == 4);
    assert_eq!(studio.cards()[0], "Small");
    assert!(studio.sees("Good first models for this machine") && studio.sees("Small, built-in"));
    studio.click("Use Small");
    assert!(studio.app().state.shared.screen == Screen::Create && studio.app().state.shared.uses_builtin());
}

#[test]
fn a_link_that_is_dropped_or_typed_is_downloaded_and_a_folder_is_used_where_it_is() {
    let (server, home) = (Server::start(), home());
    server.file("/x/ink.safetensors", b"no header", []);
    let mut studio = view_of(home, &server.url);
    // Two slashes may have become one on the way.
    let dropped = server.at("/x/ink.safetensors").replace("//", "/");
    studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(dropped.into())));
    studio.harness.step();
    studio.until("the file", |app| app.state.notices.shown().is_some_and(|it| it.text == "ink.safetensors is downloaded."));

    let loose = studio.folder.path().join("loose");
    fs::create_dir_all(&loose).unwrap();
    tiny::zimage(&loose, &tiny::Options::default()).unwrap();
    studio.write("Add a model", loose.to_str().unwrap());
    studio.click("Add a model: Add");
    studio.until("the model", |app| app.state.models.card("tiny-zimage").is_some_and(|it| it.availability == Availability::InPlace));
    assert_eq!(LibraryConfig::read(&Paths::beneath(studio.folder.path()).library_file()).unwrap().folders, std::slice::from_ref(&loose));
    assert!(studio.sees("only read"));
    studio.click(&format!("Stop using this folder {}", loose.display()));
    studio.until("the model to go", |app| app.state.models.card("tiny-zimage").is_none());
    assert!(loose.join("tiny-zimage.safetensors").exists());
}

#[test]
fn what_came_by_a_link_is_checked_and_deleted_like_every_download() {
    let (server, home) = (Server::start(), home());
    let (made, models) = (tempfile::tempdir().unwrap(), Paths::beneath(home.path()).models);
    tiny::lora(made.path(), &tiny::Options::default()).unwrap();
    let lora = fs::read_dir(made.path()).unwrap().next().unwrap().unwrap().path();
    // The address does not say what it is called, as those of some sites.
    let headers = vec![("Content-Disposition".into(), "attachment; filename=\"water colour.safetensors\"".into())];
    server.put("/api/download/7", Served { body: fs::read(&lora).unwrap().into(), headers, ..Served::default() });
    let mut studio = view_of(home, &server.url);
    studio.write("Add a model", &server.at("/api/download/7"));
    studio.click("Add a model: Add");
    let of_kind = |app: &App| app.state.models.library.cards.iter().find(|it| it.kind == ModelKind::Lora && it.downloaded).cloned();
    studio.until("the card", |app| of_kind(app).is_some());
    let card = of_kind(studio.app()).unwrap();
    assert_eq!((card.name.as_str(), card.availability), ("water colour", Availability::OnDisk));
    let file = card.files[0].path.clone().unwrap();
    assert!(file.starts_with(&models));
    studio.begins("water colour, on disk");
    studio.click("Check files of water colour");
    studio.until("the check", |app| matches!(app.state.models.checks.get(&card.id), Some(FileCheck::Done(_))));
    assert!(studio.sees("water colour.safetensors: right"));
    let mut damaged = fs::read(&file).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    let whole = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, &damaged).unwrap();
    fs::File::options().append(true).open(&file).unwrap().set_modified(whole).unwrap();
    studio.click("Check files of water colour");
    studio.until(
        "the other answer",
        |app| matches!(app.state.models.checks.get(&card.id), Some(FileCheck::Done(lines)) if !lines[0].is_right),
    );
    studio.click("Delete water colour");
    studio.until("the question", |app| app.state.models.removal.is_some());
    studio.click("Move to trash");
    studio.until("the card to go", |app| of_kind(app).is_none());
    assert!(!file.exists() && !file.parent().unwrap().exists() && models.exists());
}

#[test]
fn a_licence_of_its_own_is_shown_once() {
    let (server, home) = (Server::start(), home());
    server.file("/aurora", b"whole", [Fault::Status(404, Vec::new())]);
    let mut entry = entry(&server, "aurora", "Aurora");
    entry["licence"] = serde_json::json!({ "name": "Art Only", "url": "https://example.org/licence", "non_commercial": true });
    offer(home.path(), &serde_json::json!([entry]));
    let mut studio = view_of(home, &server.url);
    studio.click("Download Aurora");
    assert!(studio.sees("Aurora has a licence of its own") && studio.sees("Art Only") && studio.sees("earning money"));
    studio.click("Not now");
    assert!(studio.app().state.models.question.is_none() && studio.app().state.models.queue.is_empty());
    studio.click("Download Aurora");
    studio.click("Accept");
    studio.until("the failure", |app| matches!(app.state.models.queue.first().map(|it| &it.status), Some(Status::Failed(_))));
    let places = LibraryConfig::read(&Paths::beneath(studio.folder.path()).library_file()).unwrap();
    assert!(places.accepted.contains("aurora"));
    studio.begins("Cancel download Aurora");
    studio.until("the end", |app| app.state.models.queue.is_empty());
    studio.click("Download Aurora");
    assert!(studio.app().state.models.question.is_none(), "it is not asked again");
    studio.until("the model", |app| app.state.models.card("aurora").is_some_and(|it| it.availability == Availability::OnDisk));
    studio.begins("Aurora, on disk");
    assert!(!studio.app().state.models.asks(studio.app().state.models.card("aurora").unwrap()));
}

#[test]
fn a_model_that_needs_an_account_says_where_a_token_goes() {
    let (server, home) = (Server::start(), home());
    server.file("/ann/gated/resolve/main/g.gguf", b"whole", [Fault::Status(401, Vec::new())]);
    let licence = serde_json::json!({ "name": "Ask First", "url": "https://example.org/ask", "gated": true });
    let file = serde_json::json!({ "role": "diffusion", "filename": "g.gguf", "hf": { "repo": "ann/gated", "path": "g.gguf" } });
    offer(home.path(), &serde_json::json!([{ "id": "gated", "name": "Gated", "licence": licence, "files": [file] }]));
    let mut studio = view_of(home, &server.url);
    studio.click("Download Gated");
    assert!(studio.sees("given only to an account") && studio.sees("Accept it there, then paste an access token"));
    studio.click("Accept");
    studio.until("the refusal", |app| matches!(app.state.models.queue.first().map(|it| &it.status), Some(Status::Failed(_))));
    // Wherever one is, what comes in is not far.
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.click("Go to the downloads");
    assert_eq!(studio.app().state.shared.screen, Screen::Models);
    studio.click("Paste a token");
    studio.harness.event(egui::Event::Text("hf_mine".into()));
    studio.harness.run_ok();
    assert_eq!(studio.app().state.models.typed_token, "hf_mine");
    studio.click("Token: Keep");
    studio.until("the token", |app| app.state.models.library.settings.token != TokenState::None);
    studio.begins("Try again Gated");
    studio.until("the model", |app| app.state.models.card("gated").is_some_and(|it| it.availability == Availability::OnDisk));
    assert_eq!(server.seen("/ann").last().unwrap().header("authorization"), Some("Bearer hf_mine"));
}

#[test]
fn what_a_loose_model_lacks_comes_with_one_click() {
    let (server, home) = (Server::start(), home());
    let loose = home.path().join("loose");
    fs::create_dir_all(&loose).unwrap();
    let files = tiny::zimage(&loose, &tiny::Options::default()).unwrap();
    let body = fs::read(&files.llm).unwrap();
    fs::remove_file(&files.llm).unwrap();
    server.file("/encoder", &body, []);
    let sum = Sha256::of(body.as_slice()).unwrap().to_string();
    let listed = [
        serde_json::json!({ "role": "diffusion", "filename": "other.gguf", "url": server.at("/other") }),
        serde_json::json!({ "role": "llm", "filename": "tiny-qwen3.safetensors", "url": server.at("/encoder"), "size": body.len(), "sha256": sum }),
    ];
    // One that is called like the shipped one stands in its place.
    let licence = serde_json::json!({ "name": "Art Only", "non_commercial": true });
    let entry = serde_json::json!({ "id": "z-image-turbo", "name": "Z", "family": "Z-Image", "licence": licence, "files": listed });
    offer(home.path(), &serde_json::json!([entry]));
    fs::write(Paths::beneath(home.path()).library_file(), serde_json::json!({ "folders": [loose] }).to_string()).unwrap();
    let mut studio = view_of(home, &server.url);
    assert_eq!(studio.place("tiny-zimage"), Some(Availability::Incomplete));
    studio.begins("tiny-zimage, incomplete");
    assert!(studio.sees("Still missing") && studio.sees("tiny-qwen3.safetensors, about "));
    studio.click("Get what is missing tiny-zimage");
    assert!(studio.sees("Z has a licence of its own"), "the part is under the terms of its model");
    studio.click("Accept");
    studio.until("the whole model", |app| app.state.models.card("tiny-zimage").is_some_and(|it| it.availability == Availability::InPlace));
    studio.click("Use tiny-zimage");
    studio.until("the recipe", |app| {
        app.state.shared.recipe.files.get(FileRole::Llm).is_some_and(|it| it.ends_with("tiny-qwen3.safetensors"))
    });
}

#[test]
fn another_atelier_that_downloads_is_told_and_waited_for() {
    let home = home();
    let options = atelier_library::downloads::Options::new(Paths::beneath(home.path()).downloads(), Paths::beneath(home.path()).models);
    let other = Downloads::start(options, || ()).unwrap();
    let mut studio = view_of(home, "http://127.0.0.1:9");
    assert!(matches!(studio.app().state.models.downloads, DownloadsState::Refused(_)));
    assert!(studio.sees("Another Atelier is downloading.") && studio.sees("Everything else works here."));
    assert_eq!(studio.cards().len(), 26);
    let download = studio.harness.query_all_by_label_contains("Download Flux.1 schnell").next().unwrap();
    assert!(download.accesskit_node().is_disabled());
    drop(other);
    studio.click("Try again");
    studio.until("the downloads", |app| app.state.models.downloads == DownloadsState::Ready);
}

#[test]
fn the_order_of_the_queue_is_changed_by_the_keyboard_and_by_dragging() {
    let (server, home) = (Server::start(), home());
    let ids = ["aurora", "borea", "cirrus"];
    for id in ids {
        server.file(&format!("/{id}"), &[1; 5000], [Fault::Hold(10), Fault::Hold(10)]);
    }
    offer(home.path(), &serde_json::json!(ids.map(|id| entry(&server, id, id))));
    let mut studio = view_of(home, &server.url);
    for (at, id) in ids.into_iter().enumerate() {
        studio.click(&format!("Download {id}"));
        studio.until("the download", |app| app.state.models.queue.len() == at + 1);
    }
    studio.click("Pause all");
    studio.until("the pause", |app| app.state.models.queue.iter().all(|it| matches!(it.status, Status::Paused(_))));
    let order = |app: &App| app.state.models.queue.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
    studio.harness.get_by_role_and_label(Role::Button, "Place of cirrus in the queue: 3").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::ArrowUp);
    studio.until("the new order", |app| order(app) == ["aurora", "cirrus", "borea"]);
    let middle =
        |studio: &Studio, name: &str| studio.harness.get_by_role_and_label(Role::Button, name).rect().left_center() + egui::vec2(60.0, 8.0);
    let (from, to) = (middle(&studio, "Place of borea in the queue: 3"), middle(&studio, "Place of aurora in the queue: 1"));
    studio.drag_between(from, to);
    studio.until("the other order", |app| order(app) == ["borea", "aurora", "cirrus"]);
    server.release();
    studio.click("Resume all");
    studio.until("the end of all", |app| app.state.models.queue.is_empty());
}

impl Studio {
    fn drag_between(&mut self, from: egui::Pos2, to: egui::Pos2) {
        self.harness.drag_at(from);
        self.harness.step();
        for part in [0.2_f32, 0.6, 1.0] {
            self.harness.hover_at(from + (to - from) * part);
            self.harness.step();
        }
        self.harness.drop_at(to);
        self.harness.run_ok();
    }
}

#[test]
fn hugging_face_is_searched_looked_into_and_calm_where_it_cannot_be_reached() {
    let server = Server::start();
    let found = r#"[{"id":"ann/landscapes","downloads":4200,"likes":7,"tags":["license:mit"],"pipeline_tag":"text-to-image"}]"#;
    let files = r#"[{"type":"file","path":"land.gguf","size":5},{"type":"file","path":"README.md","size":9}]"#;
    let served = |body: &str| Served { body: Arc::new(body.into()), ..Served::default() };
    server.put("/api/models", served(found));
    server.put("/api/models/ann/landscapes/tree/main", served(files));
    server.file("/ann/landscapes/resolve/main/land.gguf", b"whole", []);
    let mut studio = view_of(home(), &server.url);
    studio.write("Search models", "landscapes");
    studio.click("Search Hugging Face");
    studio.until("the answer", |app| app.state.models.hub.found.is_some());
    assert!(studio.sees("4 k downloads · 7 likes · text-to-image · mit"));
    studio.click("Show files ann/landscapes");
    studio.until("the files", |app| app.state.models.hub.files.is_some());
    assert!(!studio.sees("README.md"), "only models are shown");
    studio.click("Download land.gguf");
    let file = Paths::beneath(studio.folder.path()).models.join("ann--landscapes/land.gguf");
    studio.until("the file", |_| file.exists());
    studio.click("Back to the search");
    studio.click("Back to the library");

    let mut studio = view_of(home(), "http://127.0.0.1:9");
    studio.write("Search models", "landscapes");
    studio.click("Search Hugging Face");
    studio.until("the answer", |app| app.state.models.hub.found.is_some());
    assert!(studio.sees("cannot be reached just now. Everything on this machine works without it."));
}

#[test]
fn settings_are_kept_where_the_command_line_has_them_and_a_token_is_never_shown() {
    let mut studio = view_of(home(), "http://127.0.0.1:9");
    let paths = Paths::beneath(studio.folder.path());
    studio.harness.get_by_role_and_label(Role::SpinButton, "At once").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::ArrowUp);
    studio.until("the number", |app| app.state.models.library.settings.parallel_files == 4);
    assert_eq!(LibraryConfig::read(&paths.library_file()).unwrap().at_once(), 4);

    studio.write("Token", "hf_secret");
    assert!(!studio.sees("hf_secret"));
    studio.click("Token: Keep");
    studio.until("the token", |app| app.state.models.library.settings.token != TokenState::None);
    assert!(studio.app().state.models.typed_token.is_empty());
    if studio.app().state.models.library.settings.token == TokenState::Saved {
        studio.click("Forget the token");
        studio.until("the token to go", |app| app.state.models.library.settings.token != TokenState::Saved);
    }
    assert!(!fs::read_to_string(paths.library_file()).unwrap().contains("secret"));
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
    let mut studio = view_of(home, "http://127.0.0.1:9");
    assert_eq!(studio.cards().len(), 1026);
    let drawn = |studio: &Studio| studio.harness.query_all_by_label_contains(", in place, ").count();
    assert!((3..80).contains(&drawn(&studio)), "{} cards are drawn", drawn(&studio));
    // The cursor reaches what was not drawn, and it comes into view.
    studio.press(Modifiers::NONE, Key::Slash);
    studio.harness.event(egui::Event::Text("style 99".into()));
    studio.harness.run_ok();
    assert_eq!(studio.cards().len(), 19, "every word is looked for");
    studio.press(Modifiers::NONE, Key::Enter);
    for _ in 0..3 {
        studio.press(Modifiers::NONE, Key::ArrowDown);
    }
    assert!(studio.app().state.models.selected.as_ref().is_some_and(|it| it.contains("99")));
}

#[test]
fn what_the_command_line_chose_meanwhile_is_seen_when_the_view_opens_again() {
    let mut studio = view_of(home(), "http://127.0.0.1:9");
    let loose = studio.folder.path().join("loose");
    fs::create_dir_all(&loose).unwrap();
    tiny::zimage(&loose, &tiny::Options::default()).unwrap();
    let file = Paths::beneath(studio.folder.path()).library_file();
    LibraryConfig::change(&file, |places| places.add_folder(&loose)).unwrap();
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.press(Modifiers::COMMAND, Key::Num3);
    studio.until("the model", |app| app.state.models.card("tiny-zimage").is_some());
}

#[test]
fn models_in_memory_are_marked() {
    let home = home();
    let files = install(home.path(), "mine");
    let mut studio = view_of(home, "http://127.0.0.1:9");
    let mut parts = atelier_core::recipe::ModelFiles::default();
    parts.set(FileRole::Diffusion, files.diffusion);
    let resident = serde_json::from_value(serde_json::json!({ "models": [{ "id": 1, "files": parts, "parts": [], "used_at_secs": 0,
        "in_use": false, "kept": false, "encodings_found": 0, "encodings_made": 0 }], "unreturned_bytes": {} }));
    studio.port.send(Event::Residency(resident.unwrap()));
    studio.until("the mark", |app| app.state.models.around("mine").in_memory);
    assert!(studio.sees("Mine, on disk, in memory"));
    studio.harness.get_by_role_and_label(Role::ComboBox, "State").click();
    studio.harness.run_ok();
    studio.click(Shown::InMemory.label());
    assert_eq!(studio.cards(), ["Mine"]);
}
