//! Tests of the menu, About, sizes, opened files and crash reports through the controls; the test
//! plays the engine.

use crate::gui::tests::*;
use crate::settings::Zoom;
use atelier_downloads::ProxyChoice;
use atelier_studio::crash_report::{self, Watch};
use atelier_studio::results::store_picture;
use atelier_studio::updates::{Feed, UpdateChoice};
use testkit::version_feed::{NEWER, OLDER, SignedFile, TEST_KEY, serve_file};

#[test]
fn zoom_changes_by_keys_and_menu_and_is_stored() {
    let mut studio = Studio::open(ready());
    let factor = |studio: &Studio| studio.harness.ctx.zoom_factor();
    studio.press(Modifiers::COMMAND, Key::Plus);
    studio.press(Modifiers::COMMAND, Key::Equals);
    assert_eq!((factor(&studio), studio.app().settings().zoom.percent()), (1.2, 120));
    studio.press(Modifiers::COMMAND, Key::Minus);
    assert_eq!(factor(&studio), 1.1);
    studio.press(Modifiers::COMMAND, Key::Num0);
    assert_eq!((factor(&studio), studio.app().settings().zoom), (1.0, Zoom::default()));

    studio.click("Menu");
    assert!(studio.sees("100 %") || studio.harness.query_by_role_and_label(Role::Button, "Default text size").is_some());
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Default text size").accesskit_node().is_disabled());
    studio.click("Larger text");
    studio.click("Larger text");
    assert_eq!(studio.app().settings().zoom.percent(), 120);
    studio.click("Default text size");
    assert_eq!(factor(&studio), 1.0);
    studio.harness.check_accessibility();
}

#[test]
fn the_size_of_the_settings_holds_from_the_first_frame() {
    let settings = Settings { zoom: Zoom::from_factor(1.5), ..Settings::default() };
    let studio = Studio::with(settings, Err("None.".into()), [1440.0, 900.0]);
    assert_eq!(studio.harness.ctx.zoom_factor(), 1.5);
}

#[test]
fn about_opens_from_the_menu_and_by_its_key_says_where_files_are_and_closes_by_escape() {
    let mut studio = Studio::open(ready());
    studio.click("Menu");
    studio.click("About Atelier");
    let folder = studio.folder.path().display().to_string();
    assert!(studio.sees(&format!("Version {}", atelier_studio::version::NUMBER)) && studio.sees("stable-diffusion.cpp"));
    assert!(studio.sees("Models") && studio.harness.query_by_role_and_label(Role::Button, "Open the logs folder").is_some());
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Licences").accesskit_node().is_disabled(), "no page was installed");
    studio.harness.check_accessibility();
    studio.click("Copy details");
    let copied =
        studio.harness.output().platform_output.commands.iter().any(
            |command| matches!(command, egui::OutputCommand::CopyText(text) if text.starts_with("Atelier ") && !text.contains(&folder)),
        );
    assert!(copied || studio.sees("Copied"));
    // Keys of the window do nothing meanwhile.
    studio.press(Modifiers::COMMAND, Key::Num2);
    assert_eq!(studio.app().state.shared.screen, crate::gui::screen::Screen::Create);
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(!studio.app().state.program.is_about_open);
    // Also with the caret in the prompt, where it is from the beginning.
    studio.press(Modifiers::COMMAND, Key::L);
    studio.click("Menu");
    studio.click("About Atelier");
    assert!(studio.app().state.program.is_about_open);
    studio.click("Close");
    assert!(!studio.app().state.program.is_about_open);
}

#[test]
fn a_crash_of_the_last_window_is_told_until_it_is_dismissed_and_keeps_nobody_from_painting() {
    let mut studio = Studio::open(ready());
    let paths = studio.app().state.program.paths.clone().unwrap();
    assert_eq!(Watch::new(&paths).begin(), None, "as a window does that is killed afterwards");
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().watch(&ctx, Watch::new(&paths));
    studio.until("the crash", |app| app.state.program.crash.is_some());
    assert!(studio.sees("Atelier crashed last time") && studio.sees("nothing was sent"));
    assert!(studio.harness.query_by_role_and_label(Role::Button, "Show the file").is_some());
    studio.harness.check_accessibility();
    studio.make(7);
    studio.click("Dismiss");
    assert!(!studio.sees("Atelier crashed last time"));
    assert_eq!(std::fs::read_dir(crash_report::folder(&paths)).unwrap().count(), 1, "the file stays");
    // A window that is closed leaves no mark.
    studio.harness.state_mut().take().unwrap().finish();
    assert_eq!(Watch::new(&paths).begin(), None);
}

fn open_files(studio: &mut Studio, files: Vec<PathBuf>) {
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().open(&ctx, files);
    studio.harness.run_ok();
}

#[test]
fn an_opened_picture_of_atelier_is_shown_and_brings_its_settings() {
    let mut studio = Studio::open(ready());
    let folder = studio.folder.path().to_owned();
    let model = folder.join("other.safetensors");
    std::fs::write(&model, "model").unwrap();
    let mut recipe = Recipe { prompt: "a red barn".into(), width: 64, height: 64, steps: 9, ..Recipe::default() };
    recipe.files.set(FileRole::Model, &model);
    let picture = store_picture(
        &folder,
        &recipe,
        PictureInfo { index: 0, seed: Some(Seed(99)), cpu_math: None, merged_loras: false },
        &[],
        &image(64, 3),
    )
    .unwrap();

    studio.press(Modifiers::COMMAND, Key::Num3);
    open_files(&mut studio, vec![picture.clone()]);
    studio.until("the settings", |app| app.state.shared.next.recipe.prompt == "a red barn");
    let now = studio.app().state.shared.next.recipe.clone();
    assert_eq!(
        (now.steps, now.seed, &now.files),
        (9, Some(Seed(99)), &ready().files),
        "the model is not on this machine, as far as is known"
    );
    assert!(studio.sees("is not on this machine.") && studio.sees("other"));
    studio.until("the picture", |app| {
        let session = &app.state.create.session;
        session
            .shown()
            .is_some_and(|it| it.stored == PictureFile::At(picture.clone()) && it.thumbnail.is_some() && session.texture(it.id).is_some())
    });

    // Once the model is known, it is chosen too.
    studio.app_mut().state.shared.next.recipe.files = recipe.files.clone();
    open_files(&mut studio, vec![picture]);
    studio.until("the second", |app| app.state.create.session.len() == 2);
    assert_eq!(studio.app().state.shared.next.recipe.files, recipe.files);
    assert!(studio.sees("Loaded prompt, seed and settings of"));
}

#[test]
fn other_opened_files_are_taken_as_if_they_were_dropped() {
    let mut studio = Studio::open(ready());
    let folder = studio.folder.path().to_owned();
    let vae = folder.join("ae.sft");
    std::fs::write(&vae, "x").unwrap();
    open_files(&mut studio, vec![vae.clone(), folder.join("none.png")]);
    studio.until("the file", |app| app.state.shared.next.recipe.files.get(FileRole::Vae).is_some());
    assert_eq!(studio.app().state.shared.next.recipe.files.get(FileRole::Vae), Some(vae.as_path()));
    assert!(studio.sees("does not exist"));
}

#[test]
fn a_second_start_brings_the_window_forward_with_its_files() {
    use atelier_studio::instance::{Claim, claim};
    let mut studio = Studio::open(ready());
    let data = studio.folder.path().join("data");
    let vae = studio.folder.path().join("ae.sft");
    std::fs::write(&vae, "x").unwrap();
    let Claim::First(instance) = claim(&data, &[]) else { panic!("nobody else is there") };
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().serve(&ctx, instance).unwrap();
    assert!(matches!(claim(&data, std::slice::from_ref(&vae)), Claim::HandedOver));
    studio.harness.step();
    assert!(studio.window_commands().contains(&egui::ViewportCommand::Focus));
    studio.until("the file", |app| app.state.shared.next.recipe.files.get(FileRole::Vae).is_some());
}

/// A window of a build that knows where versions are published: at a server of this file.
fn with_feed(file: SignedFile) -> Studio {
    let mut feed = Feed::new(&serve_file(file).unwrap(), TEST_KEY).unwrap();
    feed.proxy = ProxyChoice::None;
    let mut studio = Studio::open(ready());
    studio.app_mut().state.program.updates.feed = Some(feed);
    studio.harness.run_ok();
    studio
}

#[test]
fn a_build_without_a_publisher_s_key_says_nothing_of_updates() {
    let mut studio = Studio::open(ready());
    assert!(!studio.sees("check for updates?"));
    studio.click("Menu");
    assert!(!studio.sees("updates"));
}

#[test]
fn who_agrees_is_told_of_a_new_version_and_its_page() {
    let mut studio = with_feed(NEWER);
    assert!(studio.sees("May Atelier check for updates?") && !studio.app().state.program.updates.is_checking, "nothing is asked before");
    studio.harness.check_accessibility();
    studio.click("Once a week");
    studio.until("the release", |app| app.state.program.updates.release.is_some());
    assert!(studio.sees("Version 999.0.0 of Atelier is available.") && !studio.sees("May Atelier"));
    let kept = studio.app().settings().updates;
    assert!(kept.choice == UpdateChoice::Weekly && kept.checked_secs > 0 && kept.seen.is_some());
    studio.make(7);
    studio.click("Later");
    assert!(!studio.sees("999.0.0") && !studio.app().state.program.updates.is_checking, "not before a week is over");
}

#[test]
fn who_declines_is_not_asked_again_and_may_look_by_hand() {
    let mut studio = with_feed(OLDER);
    studio.click("No");
    assert!(!studio.sees("check for updates?") && !studio.app().state.program.updates.is_checking);
    assert_eq!(studio.app().settings().updates.choice, UpdateChoice::Off);
    studio.click("Menu");
    studio.click("Check for updates");
    studio.until("the answer", |app| app.state.program.updates.settings.checked_secs > 0);
    assert!(studio.sees("Atelier is up to date."));
    studio.click("Menu");
    studio.harness.get_by_role_and_label(Role::CheckBox, "Check for updates once a week").click();
    studio.harness.run_ok();
    assert_eq!(studio.app().settings().updates.choice, UpdateChoice::Weekly);
}

#[test]
fn languages_whose_texts_nobody_has_checked_say_so() {
    let mut studio = Studio::open(ready());
    // A machine without a Japanese font shows boxes for a name, and this is about the words beside it.
    studio.harness.ctx.set_missing_glyph_policy(egui::MissingGlyphPolicy::Tofu);
    studio.click("Menu");
    studio.harness.get_by_label("Language · English").click_accesskit();
    studio.harness.run_ok();
    studio.harness.run_ok();
    for (own_name, is_machine_made) in [("English", false), ("Deutsch", true), ("日本語", true)] {
        assert_eq!(studio.paints(&format!("{own_name} (machine-translated)")), is_machine_made, "{own_name}");
    }
    studio.harness.check_accessibility();
}
