//! The download queue, licences and tokens, Hugging Face.

use super::*;

#[test]
fn a_download_is_seen_from_its_first_byte_to_its_last_and_can_be_taken_away_again() {
    let (server, home) = (Server::start(), home());
    let body = vec![7u8; 400_000];
    server.file("/aurora", &body, [Fault::Hold(100_000)]);
    write_catalogue(home.path(), &serde_json::json!([entry(&server, "aurora", "Aurora")]));
    let mut studio = open_view(home, &server.url);
    studio.click("Download Aurora");
    studio.until("bytes", |app| app.state.models.queue.first().is_some_and(|it| it.progress.bytes >= 100_000));
    studio.click_first("Aurora, downloading, ");
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

    studio.click("Verify checksums of Aurora");
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
fn cards_stay_where_they_are_while_one_is_downloaded() {
    let (server, home) = (Server::start(), home());
    for id in ["aurora", "zephyr"] {
        server.file(&format!("/{id}"), &[1; 5000], [Fault::Hold(10)]);
    }
    write_catalogue(home.path(), &serde_json::json!([entry(&server, "aurora", "Aurora"), entry(&server, "zephyr", "Zephyr")]));
    let mut studio = open_view(home, &server.url);
    let names = |studio: &Studio| studio.card_names().into_iter().map(str::to_owned).collect::<Vec<_>>();
    let before = names(&studio);
    assert!(before.iter().position(|it| it == "Zephyr") > Some(1));
    studio.click("Download Zephyr");
    studio.until("the download", |app| app.state.models.queue.len() == 1);
    assert_eq!(names(&studio), before, "the pointer is still where it was pressed");
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.press(Modifiers::COMMAND, Key::Num3);
    assert_eq!(names(&studio)[0], "Zephyr", "who comes back finds what comes in first");
    server.release();
    studio.until("the end", |app| app.state.models.card("zephyr").is_some_and(|it| it.availability == Availability::OnDisk));
}

#[test]
fn a_large_download_asks_once_with_time_and_space() {
    let (server, home) = (Server::start(), home());
    let mut large = entry(&server, "aurora", "Aurora");
    large["files"][0]["size"] = 3_000_000_000_u64.into();
    write_catalogue(home.path(), &serde_json::json!([large]));
    let mut studio = open_view(home, &server.url);
    studio.click("Download Aurora");
    assert!(studio.app().state.models.queue.is_empty() && studio.sees("Download 3.0 GB for Aurora?"));
    assert!(studio.sees("About 4 min at 100 Mbit/s, 20 min at 20 Mbit/s."));
    studio.until("the disk", |app| app.state.models.size_prompt.as_ref().is_some_and(|it| it.free_bytes.is_some()));
    assert!(studio.sees("of disk space"));
    studio.harness.check_accessibility();
    studio.click("Not now");
    assert!(studio.app().state.models.size_prompt.is_none() && studio.app().state.models.queue.is_empty());
    // No picture waits for a download that was not wanted.
    studio.click_first("Aurora, catalogue, ");
    studio.click("Download and generate with Aurora");
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(studio.app().state.models.size_prompt.is_none() && studio.app().state.shared.queue.rows.is_empty());
    studio.click("Download and generate with Aurora");
    studio.click("Start the download");
    studio.until("the download", |app| app.state.models.queue.len() == 1 && app.state.shared.queue.rows.len() == 1);
    assert!(studio.app().state.models.size_prompt.is_none(), "it is asked once");
}

#[test]
fn the_question_about_a_large_download_is_answered_by_keys() {
    let (server, home) = (Server::start(), home());
    let mut large = entry(&server, "aurora", "Aurora");
    large["files"][0]["size"] = 3_000_000_000_u64.into();
    write_catalogue(home.path(), &serde_json::json!([large]));
    let mut studio = open_view(home, &server.url);
    studio.click("Download Aurora");
    assert_eq!(questions::tab_names(&mut studio, Modifiers::NONE, 3), ["Not now", "Start the download", "Not now"]);
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(studio.app().state.models.size_prompt.is_none() && studio.app().state.models.queue.is_empty());
    studio.click("Download Aurora");
    studio.press(Modifiers::NONE, Key::Enter);
    studio.until("the download", |app| app.state.models.queue.len() == 1);
}

#[test]
fn a_failed_download_says_why_and_can_be_tried_again() {
    let (server, home) = (Server::start(), home());
    server.file("/aurora", b"whole", [Fault::Status(404, Vec::new())]);
    let mut known = entry(&server, "aurora", "Aurora");
    known["files"][0]["size"] = 5.into();
    write_catalogue(home.path(), &serde_json::json!([known]));
    let mut studio = open_view(home, &server.url);
    studio.click("Download Aurora");
    studio.until("the failure", |app| matches!(app.state.models.queue.first().map(|it| &it.status), Some(Status::Failed(_))));
    assert!(studio.sees("its repository moved or removed it") && studio.sees("Aurora, failed"));
    studio.click_first("Try again Aurora");
    studio.until("the end", |app| app.state.models.card("aurora").is_some_and(|it| it.availability == Availability::OnDisk));
}

#[test]
fn a_link_that_never_led_anywhere_is_not_blamed_on_others() {
    let server = Server::start();
    let mut studio = open_view(home(), &server.url);
    studio.fill("Add a model", &server.at("/x/inkk.safetensors"));
    studio.click("Add a model: Add");
    studio.until_notice("inkk.safetensors was not found: the link is mistyped");
    assert!(!studio.sees("was added to the downloads") && !studio.sees("no longer exists"), "what was said first is over");
    studio.until("the failure", |app| matches!(app.state.models.queue.first().map(|it| &it.status), Some(Status::Failed(_))));
}

#[test]
fn a_licence_of_its_own_is_shown_once() {
    let (server, home) = (Server::start(), home());
    server.file("/aurora", b"whole", [Fault::Status(404, Vec::new())]);
    let mut entry = entry(&server, "aurora", "Aurora");
    entry["licence"] = serde_json::json!({ "name": "Art Only", "url": "https://example.org/licence", "non_commercial": true });
    write_catalogue(home.path(), &serde_json::json!([entry]));
    let mut studio = open_view(home, &server.url);
    studio.click("Download Aurora");
    assert!(studio.sees("Aurora has a licence of its own") && studio.sees("Art Only") && studio.sees("forbids commercial use"));
    studio.click("Not now");
    assert!(studio.app().state.models.licence_prompt.is_none() && studio.app().state.models.queue.is_empty());
    studio.click("Download Aurora");
    studio.click("Accept");
    studio.until("the failure", |app| matches!(app.state.models.queue.first().map(|it| &it.status), Some(Status::Failed(_))));
    let places = LibraryConfig::read(&Paths::beneath(studio.folder.path()).library_file()).unwrap();
    assert!(places.accepted.contains("aurora"));
    studio.click_first("Cancel download Aurora");
    studio.until("the end", |app| app.state.models.queue.is_empty());
    studio.click("Download Aurora");
    assert!(studio.app().state.models.licence_prompt.is_none(), "it is not asked again");
    studio.until("the model", |app| app.state.models.card("aurora").is_some_and(|it| it.availability == Availability::OnDisk));
    studio.click_first("Aurora, on disk");
    assert!(!studio.app().state.models.needs_licence_prompt(studio.app().state.models.card("aurora").unwrap()));
}

#[test]
fn a_model_that_needs_an_account_says_where_a_token_goes() {
    let (server, home) = (Server::start(), home());
    server.file("/ann/gated/resolve/main/g.gguf", b"whole", [Fault::Status(401, Vec::new())]);
    let licence = serde_json::json!({ "name": "Ask First", "url": "https://example.org/ask", "gated": true });
    let file = serde_json::json!({ "role": "diffusion", "filename": "g.gguf", "hf": { "repo": "ann/gated", "path": "g.gguf" } });
    write_catalogue(home.path(), &serde_json::json!([{ "id": "gated", "name": "Gated", "licence": licence, "files": [file] }]));
    let mut studio = open_view(home, &server.url);
    studio.click("Download Gated");
    assert!(studio.sees("requires an account") && studio.sees("Accept the licence there, then paste an access token"));
    studio.click("Accept");
    studio.until("the refusal", |app| matches!(app.state.models.queue.first().map(|it| &it.status), Some(Status::Failed(_))));
    // The toolbar leads to the downloads from every view.
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.click("Go to the downloads");
    assert_eq!(studio.app().state.shared.screen, Screen::Models);
    studio.click("Paste a token");
    studio.harness.event(egui::Event::Text("hf_mine".into()));
    studio.harness.run_ok();
    assert_eq!(studio.app().state.models.token_text, "hf_mine");
    studio.click("Token: Save");
    studio.until("the token", |app| app.state.models.library.settings.token != TokenState::None);
    studio.click_first("Try again Gated");
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
    write_catalogue(home.path(), &serde_json::json!([entry]));
    fs::write(Paths::beneath(home.path()).library_file(), serde_json::json!({ "folders": [loose] }).to_string()).unwrap();
    let mut studio = open_view(home, &server.url);
    assert_eq!(studio.availability("tiny-zimage"), Some(Availability::Incomplete));
    studio.click_first("tiny-zimage, incomplete");
    assert!(studio.sees("Still missing") && studio.sees("tiny-qwen3.safetensors, about "));
    studio.click("Get what is missing tiny-zimage");
    assert!(studio.sees("Z has a licence of its own"), "the part is under the terms of its model");
    studio.click("Accept");
    studio.until("the whole model", |app| app.state.models.card("tiny-zimage").is_some_and(|it| it.availability == Availability::InPlace));
    studio.click("Use tiny-zimage");
    studio.until("the recipe", |app| {
        app.state.shared.next.recipe.files.get(FileRole::Llm).is_some_and(|it| it.ends_with("tiny-qwen3.safetensors"))
    });
}

#[test]
fn another_atelier_that_downloads_is_told_and_waited_for() {
    let home = home();
    let options = atelier_downloads::Options::new(Paths::beneath(home.path()).downloads(), Paths::beneath(home.path()).models);
    let other = Downloads::start(options, || ()).unwrap();
    let mut studio = open_view(home, "http://127.0.0.1:9");
    assert!(matches!(studio.app().state.models.downloads, DownloadsState::Refused(_)));
    assert!(studio.sees("Another Atelier is downloading.") && studio.sees("Everything else works."));
    assert_eq!(studio.card_names().len(), Catalogue::shipped().entries().len());
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
    write_catalogue(home.path(), &serde_json::json!(ids.map(|id| entry(&server, id, id))));
    let mut studio = open_view(home, &server.url);
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

#[test]
fn hugging_face_is_searched_looked_into_and_calm_where_it_cannot_be_reached() {
    let server = Server::start();
    let found = r#"[{"id":"ann/landscapes","downloads":4200,"likes":7,"tags":["license:mit"],"pipeline_tag":"text-to-image"}]"#;
    let files = r#"[{"type":"file","path":"land.gguf","size":5},{"type":"file","path":"README.md","size":9}]"#;
    let served = |body: &str| Served { body: Arc::new(body.into()), ..Served::default() };
    server.put("/api/models", served(found));
    server.put("/api/models/ann/landscapes/tree/main", served(files));
    server.file("/ann/landscapes/resolve/main/land.gguf", b"whole", []);
    let mut studio = open_view(home(), &server.url);
    studio.fill("Search models", "landscapes");
    studio.click("Search Hugging Face");
    studio.until("the answer", |app| app.state.models.hub.results.is_some());
    assert!(studio.sees("4 k downloads · 7 likes · text-to-image · mit"));
    studio.click("Show files ann/landscapes");
    studio.until("the files", |app| app.state.models.hub.files.is_some());
    assert!(!studio.sees("README.md"), "only models are shown");
    studio.click("Download land.gguf");
    let file = Paths::beneath(studio.folder.path()).models.join("ann--landscapes/land.gguf");
    studio.until("the file", |_| file.exists());
    studio.click("Back to the search");
    studio.click("Back to the library");

    let mut studio = open_view(home(), "http://127.0.0.1:9");
    studio.fill("Search models", "landscapes");
    studio.click("Search Hugging Face");
    studio.until("the answer", |app| app.state.models.hub.results.is_some());
    assert!(studio.sees("cannot be reached. Models on this machine work without it."));
}
