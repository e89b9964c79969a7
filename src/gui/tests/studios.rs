//! Other studios through the controls, with a real server and a real announcement on this computer.

use std::net::{Ipv4Addr, SocketAddr};

use atelier_gallery::queue::{JobState, QueuedJob};
use atelier_peers::{Announcement, Browser, KeptStudios, Network, StudioAddress, StudioId};

use crate::gui::sharing::state::Phase;
use crate::gui::studios::state::Answer;
use crate::gui::tests::board::machine;
use crate::gui::tests::*;

/// Where windows of other tests look: a port that nobody announces anything at, below those that
/// systems give to whoever asks for any.
pub(super) const NETWORK: Network = Network::ThisComputer { port: 30_363 };

/// A port that nobody has: another run of these tests may be under way.
fn free_port() -> u16 {
    std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap().local_addr().unwrap().port()
}

/// A window that shares its models with Anna, and the link that it has for her.
fn sharing() -> (Studio, String) {
    let folder = tempfile::tempdir().unwrap();
    let builtin = small_builtin(&folder.path().join("small"));
    let mut studio = Studio::at(folder, Settings { recipe: ready(), ..Settings::default() }, Ok(builtin), [1440.0, 900.0]);
    studio.click("Menu");
    studio.click("Share models");
    studio.check("Programs on this computer need a token too");
    studio.click("Start sharing");
    studio.until("the server", |app| app.state.sharing.address().is_some());
    studio.fill("Name of the person", "Anna");
    studio.click("Add person");
    studio.until("Anna's token", |app| app.state.sharing.running().is_some_and(|it| it.link("Anna").is_some()));
    let link = studio.app().state.sharing.running().unwrap().link("Anna").unwrap();
    (studio, link)
}

/// A window with the dialog open, which looks at this port.
fn open(port: u16) -> Studio {
    let mut studio = Studio::open(ready());
    studio.app_mut().state.studios.network = Network::ThisComputer { port };
    studio.click("Menu");
    studio.click("Other studios");
    studio
}

/// A window that uses a model of another one, which it is connected to.
fn connected(port: u16) -> (Studio, Studio) {
    let (there, link) = sharing();
    let mut studio = open(port);
    studio.fill("Link or token", &link);
    studio.click("Add studio");
    studio.until("the studio", |app| app.state.studios.kept.iter().next().is_some());
    studio.press(Modifiers::NONE, Key::Escape);
    let address = studio.app().state.studios.kept.iter().next().unwrap().address.clone();
    let model = studio.app().state.studios.models_of(&address).unwrap().offered.as_ref().unwrap()[0].name.clone();
    studio.click("Models of other studios");
    studio.harness.get_by_label(&format!("{model} on Studio at 127.0.0.1")).click();
    studio.harness.run_ok();
    let chosen = studio.app().state.shared.next.studio.clone().unwrap();
    assert_eq!((chosen.studio.as_str(), chosen.model), ("Studio at 127.0.0.1", model));
    studio.harness.check_accessibility();
    (there, studio)
}

/// What a studio of a link is called where nothing else is known.
const THERE: &str = "Studio at 127.0.0.1";

/// The Devices view of a window with this model, which keeps the studio of another window.
fn on_board(model: &str) -> (Studio, Studio) {
    let (there, link) = sharing();
    let mut recipe = ready();
    recipe.files.set(FileRole::Model, model);
    let settings = Settings { recipe, places_automatically: false, ..Settings::default() };
    let mut studio = Studio::with(settings, Err("The built-in model is not there.".into()), [1440.0, 900.0]);
    studio.press(Modifiers::COMMAND, Key::Num2);
    studio.port.send(Event::Devices(machine()));
    studio.settle();
    // The panel may be longer than the window is high.
    studio.harness.get_by_role_and_label(Role::Button, "Another studio…").click_accesskit();
    studio.harness.run_ok();
    assert!(studio.app().state.studios.is_open);
    studio.fill("Link or token", &link);
    studio.click("Add studio");
    studio.until("the studio", |app| app.state.studios.kept.iter().next().is_some());
    studio.press(Modifiers::NONE, Key::Escape);
    studio.until("its models", |app| app.state.studios.models.values().all(|it| it.answer == Answer::Given));
    studio.settle();
    (there, studio)
}

/// The studio and the model that the next pictures are made with.
fn chosen(studio: &Studio) -> Option<(&str, &str)> {
    studio.app().state.shared.next.studio.as_ref().map(|it| (it.studio.as_str(), it.model.as_str()))
}

/// The job that the last row of the queue has.
fn newest(app: &App) -> Option<&QueuedJob> {
    app.state.shared.queue.rows.iter().map(|row| &row.job).max_by_key(|job| job.id)
}

fn kept(studio: &Studio) -> KeptStudios {
    KeptStudios::read(&Paths::beneath(studio.folder.path()).studios_file()).unwrap()
}

#[test]
fn a_studio_is_added_by_its_link_kept_with_its_models_and_forgotten() {
    let (_there, link) = sharing();
    let mut studio = open(free_port());
    assert!(studio.sees("None yet.") && studio.sees("No other studio is found."), "it says what to do");
    studio.harness.check_accessibility();
    studio.fill("Link or token", &link);
    studio.click("Add studio");
    studio.until("the studio", |app| app.state.studios.kept.iter().next().is_some());
    assert!(studio.sees("Studio at 127.0.0.1") && studio.app().state.studios.link.is_empty());
    studio.harness.check_accessibility();
    let file = kept(&studio);
    let one = file.iter().next().unwrap();
    assert!(link.starts_with(&one.address.to_string()) && one.token.is_some());
    let told = studio.app().state.studios.models_of(&one.address).unwrap();
    assert!(told.offered.is_some() && told.answer == Answer::Given, "{told:?}");

    studio.press(Modifiers::NONE, Key::Escape);
    assert!(!studio.app().state.studios.is_open && studio.app().state.studios.search.is_none(), "nobody is looked for unseen");
    studio.click("Menu");
    studio.click("Other studios");
    studio.click("Forget");
    studio.until("the empty list", |app| app.state.studios.kept.iter().next().is_none());
    assert_eq!(kept(&studio), KeptStudios::default());
}

#[test]
fn a_link_that_does_not_lead_to_a_studio_is_said_and_not_kept() {
    let (_there, link) = sharing();
    let mut studio = open(free_port());
    let without_token = link.split('#').next().unwrap().to_owned();
    for (text, words) in
        [(without_token.as_str(), "needs a token"), ("http://127.0.0.1:1", "cannot be reached"), ("http://x/api", "is not the address")]
    {
        studio.fill("Link or token", text);
        studio.click("Add studio");
        studio.until("the reason", |app| app.state.studios.connecting.is_none() && app.state.studios.trouble.is_some());
        assert!(studio.sees(words), "{words}");
    }
    studio.harness.check_accessibility();
    assert_eq!(kept(&studio), KeptStudios::default());
    assert_eq!(studio.app().state.studios.link, "http://x/api", "what was typed stays");
}

#[test]
fn a_studio_of_the_network_is_listed_while_the_dialog_is_open_and_connected_to_with_a_token() {
    let (there, link) = sharing();
    let port = there.app().state.sharing.address().unwrap().port();
    let listener = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mdns = free_port();
    let network = Network::ThisComputer { port: mdns };
    let announcement = Announcement::start("Studio of Anna", &[listener], true, &StudioId::draw(), network).unwrap();
    let mut studio = open(mdns);
    studio.until("the studio", |app| app.state.studios.found.iter().any(|it| it.name == "Studio of Anna"));
    assert!(studio.sees("needs a token") && !studio.sees("No other studio is found."));
    studio.harness.check_accessibility();
    let token = link.split_once("#t=").unwrap().1;
    studio.fill("Link or token", token);
    studio.click("Connect");
    studio.until("the connection", |app| app.state.studios.kept.named("Studio of Anna").is_some());
    assert_eq!(studio.app().state.studios.strangers().count(), 0, "it has one line");
    drop(announcement);
    studio.until("its end", |app| app.state.studios.found.is_empty());
    assert!(studio.sees("Studio of Anna"), "what is kept stays listed");
}

#[test]
fn a_picture_is_made_by_another_studio_and_kept_here_with_its_name() {
    let (mut there, mut studio) = connected(free_port());
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (job, asked, _) = there.take();
    assert_eq!((asked.prompt.as_str(), asked.steps, asked.width, asked.height), ("a lake", 6, 128, 96), "the settings that suit its model");
    assert!(asked.seed.is_some(), "drawn here, so that a job that goes on later keeps it");
    there.begin(job, vec![seed_of(&asked)]);
    studio.until("the beginning", |app| app.state.shared.jobs.running().is_some());
    there.port.send(Event::Step { job, step: Step { picture: 0, done: 2, total: 4, fraction: 0.0, step_secs: 0.5 } });
    let info = PictureInfo { index: 0, seed: asked.seed, cpu_math: None, merged_loras: false };
    there.port.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: image(64, 9) } });
    there.done(job);
    studio.until("the picture", |app| app.state.create.session.len() == 1 && app.state.create.session.writing() == 0);
    studio.until("the end", |app| newest(app).is_some_and(|job| job.state == JobState::Done));
    let picture = newest(studio.app()).unwrap().pictures[0].path.clone();
    assert!(picture.starts_with(studio.folder.path()));
    assert_eq!(atelier_media::read_metadata(&picture).unwrap().recipe.unwrap().studio(), Some("Studio at 127.0.0.1"));

    studio.click("Use this computer");
    let (_, recipe, _) = studio.generate();
    assert_eq!((&recipe.files, recipe.steps, recipe.width), (&ready().files, 4, 64), "the model of before, with its settings");
}

#[test]
fn a_job_of_another_studio_is_cancelled_there_and_local_ones_do_not_wait_for_it() {
    let (mut there, mut studio) = connected(free_port());
    studio.press(Modifiers::COMMAND, Key::Enter);
    let (job, asked, cancel) = there.take();
    there.begin(job, vec![seed_of(&asked)]);
    let remote_of = |app: &App| app.state.shared.queue.rows.iter().find(|row| row.job.device.is_some())?.engine_job;
    studio.until("the job", |app| remote_of(app).is_some());
    let remote = remote_of(studio.app()).unwrap();
    studio.click("Use this computer");
    let (local, ..) = studio.generate();
    studio.begin(local, vec![5]);
    studio.app_mut().engine.cancel(remote);
    let deadline = Instant::now() + LONG;
    while !cancel.load(Ordering::Relaxed) {
        assert!(Instant::now() < deadline, "it was not cancelled there");
        std::thread::yield_now();
    }
    there.port.send(Event::End { job, end: End::Cancelled });
    let is_cancelled = |job: &QueuedJob| job.device.is_some() && job.state == JobState::Cancelled;
    studio.until("its end", |app| app.state.shared.queue.rows.iter().any(|row| is_cancelled(&row.job)));
    studio.done(local);
}

#[test]
fn what_another_studio_cannot_take_is_named_and_one_that_is_gone_fails_its_job() {
    let (_there, mut studio) = connected(free_port());
    studio.app_mut().state.shared.next.recipe.seamless_x = true;
    studio.press(Modifiers::COMMAND, Key::Enter);
    let sentence = studio.app().state.shared.error.as_ref().unwrap().advice.sentence.clone();
    assert!(sentence.contains("seamless tiling"), "{sentence}");
    assert!(newest(studio.app()).is_none(), "nothing is sent");

    studio.app_mut().state.shared.next.recipe.seamless_x = false;
    std::fs::remove_file(Paths::beneath(studio.folder.path()).studios_file()).unwrap();
    studio.press(Modifiers::COMMAND, Key::Enter);
    studio.until("the end", |app| newest(app).is_some_and(|job| job.state == JobState::Failed));
    assert!(newest(studio.app()).unwrap().reason.as_ref().unwrap().contains("no longer among your studios"));
}

#[test]
fn a_model_of_this_computer_takes_the_place_of_another_studios() {
    let (_there, mut studio) = connected(free_port());
    studio.app_mut().state.shared.next.recipe.files.set(FileRole::Model, "/models/other.safetensors");
    studio.harness.run_ok();
    assert_eq!(studio.app().state.shared.next.studio, None);
}

/// Ends the window, and opens one anew with the same home and the settings of its end.
fn restarted(studio: Studio) -> Studio {
    let settings = studio.app().settings();
    let Studio { mut harness, folder, port } = studio;
    harness.state_mut().take().unwrap().finish();
    drop((harness, port));
    let path = folder.path().join("again.json");
    settings::save(&path, &settings).unwrap();
    Studio::at(folder, settings::load(&path).settings, Err(String::new()), [1440.0, 900.0])
}

#[test]
fn a_chosen_model_of_another_studio_is_there_after_a_restart_and_said_to_be_out_of_reach() {
    let (there, studio) = connected(free_port());
    let chosen = studio.app().state.shared.next.studio.clone();
    let mut studio = restarted(studio);
    let next = &studio.app().state.shared.next;
    assert_eq!((&next.studio, next.recipe.steps, next.own_recipe.as_ref().unwrap().steps), (&chosen, 6, 4));
    studio.until("its settings", |app| app.state.shared.knows_usual_recipe());
    assert_eq!(studio.app().state.shared.usual_size(), (128, 96), "it was asked by itself");
    assert!(!studio.sees("Try again"));

    let Studio { mut harness, folder, port } = there;
    harness.state_mut().take().unwrap().finish();
    drop((harness, port, folder));
    let mut studio = restarted(studio);
    studio.until("the answer", |app| app.state.studios.models.values().any(|it| matches!(it.answer, Answer::Missing(_))));
    studio.harness.run_ok();
    assert!(studio.sees("cannot be reached") && studio.sees("Try again"));
    studio.harness.check_accessibility();
    assert_eq!(studio.app().state.shared.next.studio, chosen, "it may come back");
    studio.click("Use this computer");
    let next = &studio.app().state.shared.next;
    assert_eq!((&next.studio, &next.recipe.files, next.recipe.steps, next.recipe.width), (&None, &ready().files, 4, 64));
}

#[test]
fn the_usual_settings_of_a_chosen_model_of_another_studio_are_its_own() {
    let (_there, mut studio) = connected(free_port());
    studio.app_mut().state.shared.next.recipe.steps = 40;
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.event(egui::Event::Text("reset the settings".into()));
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    let recipe = &studio.app().state.shared.next.recipe;
    assert_eq!((recipe.steps, recipe.guidance, recipe.flow_shift), (6, 1.0, Some(3.0)));
    assert!(studio.app().state.shared.next.studio.is_some());
}

#[test]
fn a_studio_that_has_another_address_is_found_again_and_that_is_said() {
    let mdns = free_port();
    let (mut there, mut studio) = connected(mdns);
    let before = kept(&studio).iter().next().unwrap().clone();
    there.click("Stop sharing");
    there.until("the end", |app| matches!(app.state.sharing.phase, Phase::Off));
    there.click("Start sharing");
    there.until("the server", |app| app.state.sharing.address().is_some());
    let running = there.app().state.sharing.running().unwrap();
    let (now, id) = (SocketAddr::from((Ipv4Addr::LOCALHOST, running.server.address().port())), running.server.id().clone());
    assert_eq!(before.id.as_ref(), Some(&id), "it was kept with its identity, which stays");
    assert_ne!(StudioAddress::of(now).unwrap(), before.address);
    let network = Network::ThisComputer { port: mdns };
    let _announcement = Announcement::start("Another name", &[now], true, &id, network).unwrap();
    assert!(Browser::start(network).unwrap().find("Another name", LONG).is_some());
    studio.click("Models of other studios");
    studio.until_notice("Studio at 127.0.0.1 has another address now");
    let moved = kept(&studio).iter().next().unwrap().clone();
    assert_eq!((moved.address, moved.token, moved.name), (StudioAddress::of(now).unwrap(), before.token, before.name));
    studio.until("its models", |app| app.state.studios.models.values().all(|it| it.answer == Answer::Given));
    assert!(studio.app().state.shared.next.studio.is_some(), "the chosen model stays chosen");
}

#[test]
fn a_model_dragged_to_a_studio_on_the_board_is_used_there_and_dragged_back_here() {
    let (_there, mut studio) = on_board("/models/small.safetensors");
    assert!(studio.sees("Reachable") && studio.sees("Takes whole models and uses its own devices."));
    studio.harness.check_accessibility();
    let from = studio.center_of("Diffusion runs on GPU0");
    studio.drag(from, egui::pos2(studio.column_x(THERE), from.y));
    assert_eq!(chosen(&studio), Some((THERE, "Small")), "its model of the same name");
    assert!(studio.sees("Small runs on Studio at 127.0.0.1") && !studio.sees("Diffusion runs on"), "all of it stands there");
    studio.harness.check_accessibility();

    assert_eq!(studio.app().state.shared.next.recipe.steps, 6, "with the settings that suit it, as where it is chosen in Create");
    assert!(!studio.sees("Everything fits.") && !studio.sees("Suggest a placement"), "nothing is said of memory here");

    let from = studio.center_of("Small runs on");
    studio.drag(from, egui::pos2(studio.column_x("Disk"), from.y));
    assert!(chosen(&studio).is_some(), "a disk runs no model");
    studio.drag(from, egui::pos2(studio.column_x("GPU1"), from.y));
    assert_eq!((chosen(&studio), studio.app().state.shared.next.recipe.steps), (None, 4));
    assert!(studio.sees("Diffusion runs on GPU0"), "where it was before");
}

#[test]
fn keys_and_menus_move_a_model_to_a_studio_which_offers_its_own_where_it_has_not_this_one() {
    let (_there, mut studio) = on_board("/models/sd15.safetensors");
    studio.focus("VAE runs on GPU0");
    for place in ["GPU1", "CPU"] {
        studio.press(Modifiers::NONE, Key::ArrowRight);
        studio.settle();
        assert_eq!(studio.assignment(Module::Vae).runs_on, place);
    }
    studio.press(Modifiers::NONE, Key::ArrowRight);
    studio.settle();
    assert_eq!(chosen(&studio), None, "it has another model");
    assert!(studio.sees("It has no model named sd15. Choose one of its models."));
    studio.harness.check_accessibility();
    studio.click("Not now");
    assert!(!studio.sees("It has no model named"));

    studio.focus("VAE runs on CPU");
    studio.press(Modifiers::NONE, Key::Enter);
    studio.click(&format!("Whole model on {THERE}"));
    studio.settle();
    assert!(studio.sees("It has no model named sd15."));
    studio.click(&format!("Small on {THERE}"));
    studio.settle();
    assert_eq!(chosen(&studio), Some((THERE, "Small")));
    assert!(!studio.sees("It has no model named"));
    studio.focus("Small runs on");
    studio.press(Modifiers::NONE, Key::ArrowRight);
    assert!(chosen(&studio).is_some(), "there is nothing further on the right");
    studio.press(Modifiers::NONE, Key::ArrowLeft);
    studio.settle();
    assert_eq!(chosen(&studio), None);
    assert_eq!(studio.assignment(Module::Vae).runs_on, "CPU", "the placement here stays");
}

#[test]
fn a_studio_that_cannot_be_reached_takes_no_model_and_says_why() {
    let (there, mut studio) = on_board("/models/small.safetensors");
    let Studio { mut harness, folder, port } = there;
    harness.state_mut().take().unwrap().finish();
    drop((harness, port, folder));
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.press(Modifiers::COMMAND, Key::Num2);
    studio.until("the answer", |app| app.state.studios.models.values().any(|it| matches!(it.answer, Answer::Missing(_))));
    studio.settle();
    assert!(studio.sees("cannot be reached") && studio.sees("Try again") && !studio.sees("Reachable"));
    studio.harness.check_accessibility();
    let from = studio.center_of("Diffusion runs on GPU0");
    studio.drag(from, egui::pos2(studio.column_x(THERE), from.y));
    assert_eq!((chosen(&studio), &studio.app().state.studios.placing), (None, &None));
    assert_eq!(studio.text(), ("", "", ""), "it stays where it is");
}
