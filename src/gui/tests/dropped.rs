//! Pictures of any program that are dropped or pasted: the card that asks what they are for.

use crate::gui::tests::*;
use atelier_core::recipe::{Sampler, Scheduler, changed_settings};
use testkit::pictures::{png, tool_pictures};

/// Writes the picture of this name and drops it; the card is there then.
fn drop_picture(studio: &mut Studio, name: &str) -> PathBuf {
    let picture = tool_pictures().into_iter().find(|picture| picture.name == name).unwrap();
    let path = picture.write(studio.folder.path()).unwrap();
    drop_paths(studio, std::slice::from_ref(&path));
    // It moves what is below it: a click would miss.
    studio.until("its small look", |app| app.state.create.thumbnail(&path).is_some());
    path
}

fn drop_paths(studio: &mut Studio, paths: &[PathBuf]) {
    for path in paths {
        studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(path.clone())));
    }
    studio.harness.step();
    studio.until("the card", |app| app.state.create.dropped.is_some());
}

fn recipe(studio: &Studio) -> &Recipe {
    &studio.app().state.shared.next.recipe
}

#[test]
fn the_settings_of_another_program_are_listed_used_and_undone() {
    let mut studio = Studio::open(ready());
    drop_picture(&mut studio, "a1111.png");
    for words in [
        "How should this picture be used?",
        "Made by A1111 or Forge, 32 × 16 pixels.",
        "Model sd_xl_base_1.0 is not on this machine.",
        "LoRA ink is not on this machine.",
        "a lake, größer",
        "768 × 512",
        "Not understood (1)",
        "2 times, strength 0.4, 12 steps",
    ] {
        assert!(studio.sees(words), "{words}");
    }
    studio.harness.check_accessibility();
    studio.click("Use its settings");
    let after = recipe(&studio).clone();
    let expected = ["prompt", "negative prompt", "size", "steps", "guidance", "sampler", "scheduler", "CLIP skip", "seed", "upscaling"];
    assert_eq!(changed_settings(&ready(), &after), expected);
    assert_eq!((after.sampler, after.scheduler, after.steps), (Some(Sampler::Dpmpp2m), Some(Scheduler::Karras), 28));
    assert!(studio.app().state.create.dropped.is_none() && studio.sees("recognised settings of"));
    assert_eq!(studio.app().state.shared.history.next_undo(), Some("Use its settings"));
    studio.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(*recipe(&studio), ready());
}

#[test]
fn a_start_picture_gives_its_shape_unless_a_size_was_chosen() {
    let usual = Recipe::default();
    let mut studio = Studio::open(Recipe { width: usual.width, height: usual.height, ..ready() });
    let drop_plain = |studio: &mut Studio, name: &str, width: u32, height: u32| {
        let path = studio.folder.path().join(name);
        let image = Rgb8::new(width, height, vec![9; (width * height * 3) as usize]).unwrap();
        atelier_media::write_picture(&path, &image, &atelier_media::Metadata::default()).unwrap();
        drop_paths(studio, std::slice::from_ref(&path));
        // The thread that reads it has done all that was asked of it before.
        studio.until("its small look", |app| app.state.create.thumbnail(&path).is_some());
    };
    let size = |studio: &Studio| (recipe(studio).width, recipe(studio).height);
    for (name, own, shape) in [("wide.png", (1200, 800), (640, 448)), ("high.png", (800, 1200), (448, 640))] {
        drop_plain(&mut studio, name, own.0, own.1);
        studio.click("Start from it");
        studio.until("its shape", |app| (app.state.shared.next.recipe.width, app.state.shared.next.recipe.height) == shape);
    }
    studio.app_mut().state.shared.next.recipe.width = 320;
    drop_plain(&mut studio, "wide again.png", 1200, 800);
    studio.click("Start from it");
    drop_plain(&mut studio, "another.png", 64, 64);
    assert_eq!(size(&studio), (320, 640));
    let start = recipe(&studio).init.as_ref().map(|init| init.image.clone());
    assert!(matches!(start, Some(ImageSource::File(path)) if path.ends_with("wide again.png")));
}

#[test]
fn the_card_is_used_and_closed_with_the_keyboard() {
    let mut studio = Studio::open(ready());
    drop_picture(&mut studio, "comfyui both graphs.png");
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(studio.app().state.create.dropped.is_none() && *recipe(&studio) == ready());
    drop_picture(&mut studio, "comfyui both graphs.png");
    assert!(studio.harness.get_by_role_and_label(Role::Button, "Use its settings").is_focused());
    // Keys of the view behind it do nothing.
    studio.press(Modifiers::COMMAND, Key::I);
    studio.press(Modifiers::NONE, Key::Enter);
    assert_eq!((recipe(&studio).seed, recipe(&studio).rng), (Some(Seed(3_305_821_237)), atelier_core::recipe::Rng::Cpu));
}

#[test]
fn guides_are_one_list_and_what_the_model_cannot_use_is_not_offered() {
    let mut studio = Studio::sized(ready(), [1440.0, 1600.0]);
    let path = studio.folder.path().join("pose.png");
    std::fs::write(&path, png(&[])).unwrap();
    studio.click("Add a guide");
    assert!(studio.sees("Choose a picture") && studio.sees("Add a reference picture") && !studio.sees("Choose a control picture"));
    studio.press(Modifiers::NONE, Key::Escape);
    drop_paths(&mut studio, std::slice::from_ref(&path));
    assert!(!studio.sees("Use it for control"), "there is no ControlNet");
    studio.click("Start from it");

    studio.app_mut().state.shared.next.recipe.files.set(FileRole::Controlnet, "/models/canny.safetensors");
    studio.harness.run_ok();
    studio.click("Add a guide");
    assert!(!studio.sees("Choose a start picture") && studio.sees("Choose a control picture"));
    studio.press(Modifiers::NONE, Key::Escape);
    drop_paths(&mut studio, std::slice::from_ref(&path));
    studio.click("Use it for control");
    let control = recipe(&studio).control.clone().unwrap();
    assert_eq!((control.image, control.strength), (ImageSource::File(path), 0.9));
    assert!(studio.sees("Start picture") && studio.sees("Control picture"));
    studio.harness.check_accessibility();
}

#[test]
fn a_picture_that_tells_nothing_can_be_started_from_or_looked_at() {
    let mut studio = Studio::open(ready());
    let paths: Vec<PathBuf> = ["a.png", "b.png"].iter().map(|name| studio.folder.path().join(name)).collect();
    for path in &paths {
        std::fs::write(path, png(&[])).unwrap();
    }
    drop_paths(&mut studio, &paths);
    assert!(studio.sees("This picture contains no settings.") && studio.sees("And one more picture."));
    assert!(studio.harness.query_by_role_and_label(Role::Button, "Use its settings").is_none());
    studio.harness.check_accessibility();
    studio.until("its small look", |app| app.state.create.thumbnail(&paths[0]).is_some());
    studio.click("Use it as reference");
    let files: Vec<ImageSource> = paths.iter().map(|path| ImageSource::File(path.clone())).collect();
    assert_eq!(recipe(&studio).reference_images, files);
    drop_paths(&mut studio, &paths[1..]);
    studio.click("Start from it");
    assert_eq!(recipe(&studio).init.as_ref().unwrap().image, files[1]);
    assert_eq!(studio.app().state.shared.history.next_undo(), Some("Start from it"));
}

#[test]
fn a_picture_of_ours_is_shown_when_its_settings_are_used() {
    let mut studio = Studio::open(ready());
    let from = Recipe { prompt: "# a {red|blue} barn".into(), steps: 9, ..Recipe::default() };
    let info = PictureInfo { index: 0, seed: Some(Seed(99)), cpu_math: None, merged_loras: false };
    let path = atelier_studio::results::store_picture(studio.folder.path(), &from, info, &[], &image(64, 3)).unwrap();
    drop_paths(&mut studio, std::slice::from_ref(&path));
    studio.until("its small look", |app| app.state.create.thumbnail(&path).is_some());
    assert!(studio.sees("Made by Atelier") && studio.app().state.create.session.is_empty());
    studio.click("Use its settings");
    assert_eq!((recipe(&studio).seed, recipe(&studio).steps, &recipe(&studio).files), (Some(Seed(99)), 9, &ready().files));
    assert_eq!(recipe(&studio).prompt, r"\# a \{red\|blue\} barn", "nothing is chosen or left out again");
    assert!(studio.app().state.create.session.shown().is_some_and(|it| it.stored == PictureFile::At(path)));
}

#[test]
fn paths_and_pictures_of_the_clipboard_are_taken() {
    let mut studio = Studio::open(ready());
    let path = studio.folder.path().join("a lake.png");
    std::fs::write(&path, png(&[])).unwrap();
    let paste = |studio: &mut Studio, text: String| {
        studio.harness.input_mut().events.push(egui::Event::Paste(text));
        studio.harness.step();
    };
    let address = format!("file://{}", path.display()).replace(' ', "%20");
    paste(&mut studio, address.clone());
    studio.harness.run_ok();
    assert!(studio.app().state.create.dropped.is_none(), "the prompt has the keyboard: it is text");
    let focused = studio.harness.ctx.memory(egui::Memory::focused).unwrap();
    studio.harness.ctx.memory_mut(|memory| memory.surrender_focus(focused));
    studio.harness.run_ok();
    paste(&mut studio, "a lake".into());
    paste(&mut studio, address);
    studio.until("the card", |app| app.state.create.dropped.is_some());
    assert!(studio.sees("a lake.png"));
    studio.click("Close");
    let pasted = egui::ColorImage::filled([4, 2], egui::Color32::WHITE);
    studio.harness.input_mut().events.push(egui::Event::PasteImage(Arc::new(pasted)));
    studio.harness.step();
    studio.until("the picture", |app| app.state.create.dropped.is_some());
    assert!(studio.sees("Picture of 4 × 2 pixels"));
    studio.click("Start from it");
    assert!(matches!(&recipe(&studio).init.as_ref().unwrap().image, ImageSource::Pixels(pixels) if pixels.width() == 4));
}

#[test]
fn a_picture_of_another_program_that_is_opened_is_asked_about_too() {
    let mut studio = Studio::open(ready());
    let picture = tool_pictures().into_iter().find(|picture| picture.name == "swarmui.jpg").unwrap();
    let path = picture.write(studio.folder.path()).unwrap();
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().open(&ctx, vec![path]);
    studio.until("the card", |app| app.state.create.dropped.is_some());
    assert!(studio.sees("Made by SwarmUI"));
}
