//! Links and folders that are added, and the settings of the library.

use super::*;

#[test]
fn a_link_that_is_dropped_or_typed_is_downloaded_and_a_folder_is_used_where_it_is() {
    let (server, home) = (Server::start(), home());
    let made = tempfile::tempdir().unwrap();
    let lora = tiny::lora(made.path(), &tiny::Options::default()).unwrap();
    server.file("/x/ink.safetensors", &fs::read(lora).unwrap(), []);
    server.file("/x/said.safetensors", br#"{"error":"log in"}"#, []);
    let mut studio = open_view(home, &server.url);
    // Two slashes may have become one on the way.
    let dropped = server.at("/x/ink.safetensors").replace("//", "/");
    studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(dropped.into())));
    studio.harness.step();
    studio.until("the file", |app| app.state.notices.shown().is_some_and(|it| it.text == "ink.safetensors is downloaded."));

    studio.fill("Add a model", &format!("\"{}\"", server.at("/x/said.safetensors")));
    studio.click("Add a model: Add");
    studio.until_notice("said.safetensors is a text, not a model");

    let loose = studio.folder.path().join("loose");
    fs::create_dir_all(&loose).unwrap();
    tiny::zimage(&loose, &tiny::Options::default()).unwrap();
    studio.fill("Add a model", loose.to_str().unwrap());
    studio.click("Add a model: Add");
    studio.until("the model", |app| app.state.models.card("tiny-zimage").is_some_and(|it| it.availability == Availability::InPlace));
    assert_eq!(LibraryConfig::read(&Paths::beneath(studio.folder.path()).library_file()).unwrap().folders, std::slice::from_ref(&loose));
    assert!(studio.sees("only read"));
    studio.click(&format!("Stop using this folder {}", loose.display()));
    studio.until("the model to go", |app| app.state.models.card("tiny-zimage").is_none());
    assert!(loose.join("tiny-zimage.safetensors").exists());
}

#[test]
fn a_file_that_is_no_model_adds_nothing() {
    let home = home();
    let mut studio = open_view(home, "http://127.0.0.1:9");
    let folder = studio.folder.path().join("papers");
    fs::create_dir_all(&folder).unwrap();
    for name in ["notes.txt", "photo.jpg", "no ending"] {
        fs::write(folder.join(name), "words").unwrap();
        studio.fill("Add a model", folder.join(name).to_str().unwrap());
        studio.click("Add a model: Add");
        studio.until("the sentence", |app| app.state.notices.shown().is_some_and(|it| it.text.contains(name)));
        assert!(studio.sees("is not a model file"));
    }
    assert!(LibraryConfig::read(&Paths::beneath(studio.folder.path()).library_file()).unwrap_or_default().folders.is_empty());
}

#[test]
fn random_bytes_are_no_part_of_a_model() {
    let mut studio = open_view(home(), "http://127.0.0.1:9");
    let folder = studio.folder.path().join("first").join("bad");
    fs::create_dir_all(&folder).unwrap();
    let noise: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for (name, words) in [("bad.safetensors", "neither a safetensors nor a GGUF file"), ("bad.ckpt", "can execute code")] {
        fs::write(folder.join(name), &noise).unwrap();
        studio.fill("Add a model", folder.join(name).to_str().unwrap());
        studio.click("Add a model: Add");
        let is_told =
            |app: &App| app.state.notices.shown().is_some_and(|it| it.text.starts_with("Nothing was added.") && it.text.contains(name));
        studio.until("the sentence", is_told);
        assert!(studio.sees(words));
    }
    assert!(studio.app().state.models.library.folders.iter().all(|it| it.is_own));
    assert!(studio.app().state.models.library.cards.iter().all(|it| it.name != "bad"));
    // In a folder that is used there may be some, and each says which it is.
    let twin = studio.folder.path().join("second").join("bad");
    fs::create_dir_all(&twin).unwrap();
    fs::write(folder.join("bad.gguf"), &noise).unwrap();
    fs::remove_file(folder.join("bad.ckpt")).unwrap();
    fs::write(twin.join("bad.safetensors"), &noise).unwrap();
    for folder in [&folder, &twin] {
        studio.fill("Add a model", folder.parent().unwrap().to_str().unwrap());
        studio.click("Add a model: Add");
        let root = folder.parent().unwrap().to_owned();
        studio.until("the folder", move |app| app.state.models.library.folders.iter().any(|it| it.path == root));
    }
    studio.until("all three", |app| app.state.models.library.cards.iter().filter(|it| it.name == "bad").count() == 3);
    let view = &studio.app().state.models;
    let named = view.library.cards.iter().filter(|it| it.name == "bad").map(|it| view.telling_name(it));
    let names: std::collections::BTreeSet<String> = named.collect();
    assert_eq!(names.len(), 3, "{names:?}");
    studio.fill("Search models", "bad");
    for name in &names {
        assert!(studio.sees(&format!("{name}, listed")), "{name}");
    }
    assert!(studio.sees("Unknown file") && !studio.sees("Part ·"));
}

#[test]
fn models_of_one_name_are_told_apart_by_their_folders() {
    let home = home();
    let mut studio = open_view(home, "http://127.0.0.1:9");
    for folder in ["first", "second"] {
        let loose = studio.folder.path().join("both").join(folder);
        fs::create_dir_all(&loose).unwrap();
        tiny::lora(&loose, &tiny::Options::default()).unwrap();
        studio.fill("Add a model", loose.to_str().unwrap());
        studio.click("Add a model: Add");
        studio.until("the folder", |app| app.state.models.library.folders.iter().any(|it| !it.is_own && it.path.ends_with(folder)));
    }
    studio.until("both", |app| app.state.models.library.cards.iter().filter(|it| it.kind == ModelKind::Lora).count() == 2);
    let view = &studio.app().state.models;
    let mut names: Vec<String> =
        view.library.cards.iter().filter(|it| it.kind == ModelKind::Lora).map(|it| view.telling_name(it)).collect();
    names.sort();
    assert!(names[0].ends_with(" (first)") && names[1].ends_with(" (second)"), "{names:?}");
    assert!(studio.sees(&names[0]) && studio.sees(&names[1]));
}

#[test]
fn what_came_by_a_link_is_checked_and_deleted_like_every_download() {
    let (server, home) = (Server::start(), home());
    let (made, models) = (tempfile::tempdir().unwrap(), Paths::beneath(home.path()).models);
    tiny::lora(made.path(), &tiny::Options::default()).unwrap();
    let lora = fs::read_dir(made.path()).unwrap().next().unwrap().unwrap().path();
    // The URL does not name the file, as on some sites.
    let headers = vec![("Content-Disposition".into(), "attachment; filename=\"water colour.safetensors\"".into())];
    server.put("/api/download/7", Served { body: fs::read(&lora).unwrap().into(), headers, ..Served::default() });
    let mut studio = open_view(home, &server.url);
    studio.fill("Add a model", &server.at("/api/download/7"));
    studio.click("Add a model: Add");
    let of_kind = |app: &App| app.state.models.library.cards.iter().find(|it| it.kind == ModelKind::Lora && it.downloaded).cloned();
    studio.until("the card", |app| of_kind(app).is_some());
    let card = of_kind(studio.app()).unwrap();
    assert_eq!((card.name.as_str(), card.availability), ("water colour", Availability::OnDisk));
    let file = card.files[0].path.clone().unwrap();
    assert!(file.starts_with(&models));
    studio.click_first("water colour, on disk");
    studio.click("Verify checksums of water colour");
    studio.until("the check", |app| matches!(app.state.models.checks.get(&card.id), Some(FileCheck::Done(_))));
    assert!(studio.sees("water colour.safetensors: right"));
    let mut damaged = fs::read(&file).unwrap();
    *damaged.last_mut().unwrap() ^= 1;
    let whole = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, &damaged).unwrap();
    fs::File::options().append(true).open(&file).unwrap().set_modified(whole).unwrap();
    studio.click("Verify checksums of water colour");
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
fn settings_are_kept_where_the_command_line_has_them_and_a_token_is_never_shown() {
    let mut studio = open_view(home(), "http://127.0.0.1:9");
    let paths = Paths::beneath(studio.folder.path());
    studio.harness.get_by_role_and_label(Role::SpinButton, "At once").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::ArrowUp);
    studio.until("the number", |app| app.state.models.library.settings.parallel_files == 4);
    assert_eq!(LibraryConfig::read(&paths.library_file()).unwrap().at_once(), 4);

    studio.fill("Token", "hf_secret");
    assert!(!studio.sees("hf_secret"));
    studio.click("Token: Save");
    studio.until("the token", |app| app.state.models.library.settings.token != TokenState::None);
    assert!(studio.app().state.models.token_text.is_empty());
    if studio.app().state.models.library.settings.token == TokenState::Saved {
        studio.click("Forget the token");
        studio.until("the token to go", |app| app.state.models.library.settings.token != TokenState::Saved);
    }
    assert!(!fs::read_to_string(paths.library_file()).unwrap().contains("secret"));
}

#[test]
fn what_the_command_line_chose_meanwhile_is_seen_when_the_view_opens_again() {
    let mut studio = open_view(home(), "http://127.0.0.1:9");
    let loose = studio.folder.path().join("loose");
    fs::create_dir_all(&loose).unwrap();
    tiny::zimage(&loose, &tiny::Options::default()).unwrap();
    let file = Paths::beneath(studio.folder.path()).library_file();
    LibraryConfig::change(&file, |places| places.add_folder(&loose)).unwrap();
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.press(Modifiers::COMMAND, Key::Num3);
    studio.until("the model", |app| app.state.models.card("tiny-zimage").is_some());
}
