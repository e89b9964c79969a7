//! The Gallery view: grid, keys, marks, large look, comparison, deletion, searches.

use super::*;
use crate::gui::gallery::state::{Dialog, Mode};
use crate::gui::shared::Screen;
use atelier_gallery::queue::Owner;
use atelier_gallery::{Database, FolderKind, NewPicture, PictureFlag, PictureId, PictureKind};
use atelier_studio::results;
use std::time::SystemTime;

/// Keeps pictures of these prompts, each with its own seed, oldest first, a second apart.
pub(super) fn keep_pictures(home: &Path, prompts: &[&str]) -> Vec<PathBuf> {
    let folder = home.join("Pictures");
    let newest = SystemTime::now();
    let kept = prompts.iter().enumerate().map(|(index, prompt)| {
        let recipe = Recipe { prompt: (*prompt).into(), width: 16, height: 8 + index as u32, steps: 4 + index as u32, ..Recipe::default() };
        let info = PictureInfo { index: 0, seed: Some(Seed(100 + index as u64)), cpu_math: None, merged_loras: false };
        let pixels = Rgb8::new(16, 8 + index as u32, vec![40 * index as u8; 16 * (8 + index) * 3]).unwrap();
        let path = results::store_picture(&folder, &recipe, info, &[], &pixels).unwrap();
        let time = newest - Duration::from_secs((prompts.len() - index) as u64);
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        path
    });
    kept.collect()
}

/// The window over a gallery of these prompts, with the Gallery view open and all of its pictures
/// found.
pub(super) fn open_gallery(prompts: &[&str]) -> Studio {
    let home = tempfile::tempdir().unwrap();
    keep_pictures(home.path(), prompts);
    open_home(home, prompts.len())
}

fn open_home(home: tempfile::TempDir, count: usize) -> Studio {
    let mut studio = Studio::at(home, Settings { recipe: ready(), ..Settings::default() }, Err("none".into()), [1440.0, 900.0]);
    studio.press(Modifiers::COMMAND, Key::Num4);
    studio.until("the pictures", |app| app.state.gallery.is_known && app.state.gallery.found.ids.len() == count);
    studio.until("their summaries", |app| app.state.gallery.summaries.len() >= count);
    studio
}

fn prompts_found(studio: &Studio) -> Vec<String> {
    let view = &studio.app().state.gallery;
    view.found.ids.iter().map(|id| view.summaries.get(id).map(|it| it.prompt_start.clone()).unwrap_or_default()).collect()
}

fn search(studio: &mut Studio, text: &str) {
    studio.press(Modifiers::NONE, Key::Slash);
    studio.harness.event(egui::Event::Text(text.into()));
    studio.harness.run_ok();
    studio.until("the search", |app| app.state.gallery.found.search.text == app.state.gallery.search.text);
    studio.until("what it found", |app| app.state.gallery.found.ids.iter().all(|id| app.state.gallery.summaries.contains_key(id)));
}

fn current(studio: &Studio) -> PictureId {
    studio.app().state.gallery.current().unwrap()
}

#[test]
fn an_empty_gallery_says_what_to_do() {
    let mut studio = open_home(tempfile::tempdir().unwrap(), 0);
    assert!(studio.sees("No pictures yet"));
    studio.harness.check_accessibility();
    studio.click("Make the first one");
    assert_eq!(studio.app().state.shared.screen, Screen::Create);
}

#[test]
fn an_empty_gallery_shows_what_the_model_is_good_at() {
    let mut studio = open_home(tempfile::tempdir().unwrap(), 0);
    assert!(!studio.sees("Or begin with one of these"), "nothing is known of this model");
    examples::know_model(&mut studio);
    assert!(studio.sees("Or begin with one of these"));
    let rect = |name: &str| studio.harness.get_by_role_and_label(Role::Button, name).rect();
    let words = studio.harness.get_by_label("Or begin with one of these:").rect();
    let fjord = rect("a fjord at sunrise");
    assert!(rect("Make the first one").bottom() < words.top() && words.bottom() <= fjord.top(), "{words:?} {fjord:?}");
    studio.harness.check_accessibility();
    studio.click("a fjord at sunrise");
    assert_eq!(studio.app().state.shared.screen, Screen::Create);
    let (_, recipe, _) = studio.take();
    assert_eq!((recipe.prompt.as_str(), recipe.width, recipe.height), ("a fjord at sunrise", 96, 64));
}

#[test]
fn pictures_are_found_newest_first_and_searched_as_one_types() {
    let mut studio = open_gallery(&["a lake at dawn", "a red fox", "the lake by night"]);
    assert_eq!(prompts_found(&studio), ["the lake by night", "a red fox", "a lake at dawn"]);
    assert!(studio.sees("3 pictures"));
    search(&mut studio, "lake");
    assert_eq!(prompts_found(&studio), ["the lake by night", "a lake at dawn"]);
    assert!(studio.sees("2 of 3 pictures"));
    studio.harness.event(egui::Event::Text(" -night".into()));
    studio.until("the second condition", |app| app.state.gallery.found.ids.len() == 1);
    studio.harness.check_accessibility();
    let chip = studio.harness.get_all_by_label_contains("Remove this condition").last().unwrap();
    chip.click();
    studio.until("one condition fewer", |app| app.state.gallery.found.ids.len() == 2);
    studio.click("Show all");
    studio.until("everything", |app| app.state.gallery.found.ids.len() == 3);
}

#[test]
fn a_search_that_is_not_understood_says_so() {
    let mut studio = open_gallery(&["a lake"]);
    search(&mut studio, "rating>=lots");
    assert!(studio.app().state.gallery.found.problem.is_some());
    let problem = studio.app().state.gallery.found.problem.clone().unwrap();
    assert!(studio.sees(&problem));
}

#[test]
fn the_keyboard_alone_selects_rates_and_looks_closely() {
    let mut studio = open_gallery(&["one", "two", "three"]);
    studio.press(Modifiers::NONE, Key::ArrowRight);
    let first = current(&studio);
    studio.press(Modifiers::NONE, Key::ArrowRight);
    assert_ne!(current(&studio), first);
    studio.press(Modifiers::NONE, Key::Num4);
    studio.press(Modifiers::NONE, Key::P);
    let second = current(&studio);
    let summary = &studio.app().state.gallery.summaries[&second];
    assert_eq!((summary.rating, summary.flag), (4, Some(PictureFlag::Pick)));
    assert!(studio.sees("4 stars, picked"));
    studio.press(Modifiers::SHIFT, Key::ArrowLeft);
    assert_eq!(studio.app().state.gallery.selection.len(), 2);
    studio.press(Modifiers::COMMAND, Key::A);
    assert_eq!(studio.app().state.gallery.selection.len(), 3);
    studio.press(Modifiers::NONE, Key::Space);
    studio.until("the pixels", |app| app.state.gallery.current().is_some_and(|id| app.state.gallery.pixels.contains_key(&id)));
    assert!(matches!(studio.app().state.gallery.mode, Mode::Look(_)) && studio.sees("Picture, 16 by"));
    studio.harness.check_accessibility();
    studio.press(Modifiers::NONE, Key::ArrowRight);
    assert_eq!(current(&studio), second, "the next one, large");
    studio.press(Modifiers::NONE, Key::Escape);
    assert_eq!(studio.app().state.gallery.mode, Mode::Grid);
}

#[test]
fn a_copied_picture_says_what_the_clipboard_cannot_keep() {
    let home = tempfile::tempdir().unwrap();
    let kept = keep_pictures(home.path(), &["a lake", "a clear lake"]);
    // Over the newest one, as another program saves it.
    image::ImageBuffer::from_pixel(16, 9, image::Rgba([40_u16, 40, 40, 0])).save(&kept[1]).unwrap();
    let mut studio = open_home(home, 2);
    studio.press(Modifiers::NONE, Key::Home);
    studio.harness.event(egui::Event::Copy);
    studio.until_notice("Copied: what was transparent is white; PNG keeps it, 8 bits a colour are left of 16; PNG keeps them");
    studio.press(Modifiers::NONE, Key::End);
    studio.harness.event(egui::Event::Copy);
    studio.until("the other notice", |app| app.state.notices.shown().is_some_and(|it| it.text == "Copied"));
}

#[test]
fn marks_outlive_the_window() {
    let mut studio = open_gallery(&["one", "two"]);
    studio.press(Modifiers::NONE, Key::End);
    studio.press(Modifiers::NONE, Key::Num5);
    let home = studio.folder;
    drop(studio.harness);
    let mut studio = open_home(home, 2);
    search(&mut studio, "rating>=5");
    assert_eq!(prompts_found(&studio), ["one"]);
}

#[test]
fn two_pictures_are_compared_with_the_settings_that_differ() {
    let mut studio = open_gallery(&["a lake", "a lake by night"]);
    studio.press(Modifiers::COMMAND, Key::A);
    studio.press(Modifiers::NONE, Key::C);
    studio.until("both", |app| app.state.gallery.pixels.len() == 2 && app.state.gallery.details.len() == 2);
    for words in ["Setting", "Prompt", "a lake by night", "Seed", "101", "Steps"] {
        assert!(studio.sees(words), "{words}");
    }
    assert!(!studio.sees("Guidance"), "it is the same in both");
    studio.harness.check_accessibility();
    studio.press(Modifiers::NONE, Key::ArrowRight);
    let Mode::Compare(comparison) = studio.app().state.gallery.mode.clone() else { panic!("no comparison") };
    assert!(comparison.divider > 0.5);
    for (name, key) in [("Side by side", Key::Num2), ("Blink", Key::Num3), ("Difference", Key::Num4), ("Slider", Key::Num1)] {
        studio.harness.key_press_modifiers(Modifiers::NONE, key);
        studio.harness.step();
        let Mode::Compare(it) = &studio.app().state.gallery.mode else { panic!("no comparison") };
        assert_eq!(it.mode.label(), name);
    }
    studio.until("the difference", |app| app.state.gallery.difference.is_some());
    studio.press(Modifiers::NONE, Key::X);
    let Mode::Compare(swapped) = studio.app().state.gallery.mode.clone() else { panic!("no comparison") };
    assert_eq!((swapped.first, swapped.second), (comparison.second, comparison.first));
    studio.press(Modifiers::NONE, Key::Escape);
    assert_eq!(studio.app().state.gallery.mode, Mode::Grid);
}

#[test]
fn pictures_of_two_shapes_are_compared_without_a_change_of_shape() {
    let mut studio = open_gallery(&["a wide lake", "a lake that is higher"]);
    studio.press(Modifiers::COMMAND, Key::A);
    studio.press(Modifiers::NONE, Key::C);
    studio.until("both", |app| app.state.gallery.pixels.len() == 2 && app.state.gallery.details.len() == 2);
    for mode in [Key::Num1, Key::Num2] {
        studio.harness.key_press_modifiers(Modifiers::NONE, mode);
        studio.harness.step();
        studio.harness.step();
        let mut shapes = Vec::new();
        for picture in studio.app().state.gallery.pixels.values().flatten() {
            let painted = studio.painted(&picture.texture).unwrap().size();
            let expected = picture.width as f32 / picture.height as f32;
            assert!((painted.x / painted.y - expected).abs() < 0.01, "{painted:?} for {expected}");
            shapes.push(expected);
        }
        assert!((shapes[0] - shapes[1]).abs() > 0.1);
    }
}

#[test]
fn enter_takes_the_settings_and_i_starts_from_the_picture() {
    let mut studio = open_gallery(&["a red fox in snow"]);
    studio.press(Modifiers::NONE, Key::Home);
    studio.press(Modifiers::NONE, Key::Enter);
    studio.until("the settings", |app| app.state.shared.next.recipe.prompt == "a red fox in snow");
    assert_eq!((studio.app().state.shared.screen, studio.app().state.shared.next.recipe.seed), (Screen::Create, Some(Seed(100))));
    studio.press(Modifiers::COMMAND, Key::Num4);
    studio.press(Modifiers::NONE, Key::I);
    assert_eq!(studio.app().state.shared.screen, Screen::Create);
    assert!(
        matches!(&studio.app().state.shared.next.recipe.init, Some(InitImage { image: ImageSource::File(path), .. }) if path.is_file())
    );
}

#[test]
fn l_upscales_the_picture_and_keeps_what_it_says() {
    let mut studio = open_gallery(&["a red fox in snow"]);
    studio.press(Modifiers::NONE, Key::Home);
    let file = studio.app().state.gallery.summaries.get(&current(&studio)).unwrap().path.clone();
    studio.press(Modifiers::NONE, Key::L);
    studio.until_notice("Upscaling this picture.");
    let (_, recipe, _) = studio.take();
    assert!(recipe.only_upscales(), "{recipe:?}");
    assert_eq!((recipe.prompt.as_str(), recipe.seed), ("a red fox in snow", Some(Seed(100))));
    assert_eq!(recipe.init.unwrap().image, ImageSource::File(file));
    assert_eq!(studio.app().state.shared.screen, Screen::Gallery, "one stays where one was");
}

/// What the menu of the picture with this seed offers.
fn menu_has(studio: &mut Studio, place: usize, entry: &str) -> bool {
    studio.harness.get_by_label_contains(&format!("Picture {place}, ")).click_secondary();
    studio.harness.run_ok();
    let found = studio.harness.query_all_by_role_and_label(Role::Button, entry).next().is_some();
    studio.press(Modifiers::NONE, Key::Escape);
    found
}

#[test]
fn only_drafts_are_offered_to_be_finished() {
    let home = tempfile::tempdir().unwrap();
    for (seed, last_step) in [(100, Some(1)), (101, None), (102, Some(4))] {
        let recipe = Recipe { width: 16, height: 16, steps: 4, last_step, ..ready() };
        let info = PictureInfo { index: 0, seed: Some(Seed(seed)), cpu_math: None, merged_loras: false };
        let pixels = Rgb8::new(16, 16, vec![seed as u8; 16 * 16 * 3]).unwrap();
        let path = results::store_picture(&home.path().join("Pictures"), &recipe, info, &[], &pixels).unwrap();
        let time = SystemTime::now() - Duration::from_secs(200 - seed);
        std::fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    }
    let mut studio = open_home(home, 3);
    // The newest first: 102 stopped behind its last step, so it is whole.
    let offered: Vec<bool> = (1..=3).map(|place| menu_has(&mut studio, place, "Finish drafts")).collect();
    assert_eq!(offered, [false, false, true]);
    assert!(menu_has(&mut studio, 1, "Copy picture"), "the menu was open");
    studio.press(Modifiers::COMMAND, Key::A);
    assert!(menu_has(&mut studio, 1, "Finish drafts"), "one of the selected is a draft");
}

#[test]
fn a_star_a_pick_and_a_reject_go_on_to_the_next_picture_where_that_is_wanted() {
    let mut studio = open_gallery(&["one", "two", "three"]);
    studio.press(Modifiers::NONE, Key::Home);
    let first = current(&studio);
    studio.press(Modifiers::NONE, Key::Num3);
    assert_eq!(current(&studio), first, "not unless it is asked for");
    studio.harness.get_by_label_contains("Picture 1, ").click_secondary();
    studio.harness.run_ok();
    studio.click("Auto-advance");
    assert!(studio.app().settings().auto_advance);
    studio.press(Modifiers::NONE, Key::Num4);
    let second = current(&studio);
    studio.press(Modifiers::NONE, Key::X);
    let third = current(&studio);
    studio.press(Modifiers::NONE, Key::P);
    assert_eq!(current(&studio), third, "there is none behind the last");
    let view = &studio.app().state.gallery;
    let marks = [first, second, third].map(|id| (view.summaries[&id].rating, view.summaries[&id].flag));
    assert_eq!(marks, [(4, None), (0, Some(PictureFlag::Reject)), (0, Some(PictureFlag::Pick))]);
    // Several at once are marked together, and stay.
    studio.press(Modifiers::COMMAND, Key::A);
    studio.press(Modifiers::NONE, Key::Num1);
    assert_eq!((studio.app().state.gallery.selection.len(), current(&studio)), (3, third));
    // It is kept, and the palette turns it off.
    let path = studio.folder.path().join("other.json");
    settings::save(&path, &studio.app().settings()).unwrap();
    assert!(settings::load(&path).settings.auto_advance && !Settings::default().auto_advance);
    studio.press(Modifiers::COMMAND, Key::K);
    studio.harness.event(egui::Event::Text("stop auto-advance".into()));
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(!studio.app().settings().auto_advance);
}

#[test]
fn one_chosen_picture_has_its_buttons_over_the_grid() {
    let mut studio = open_gallery(&["a lake", "a castle"]);
    let has = |studio: &Studio, name: &str| studio.harness.query_by_role_and_label(Role::Button, name).is_some();
    studio.press(Modifiers::NONE, Key::End);
    assert!(has(&studio, "Move to the trash") && !has(&studio, "Compare"));
    studio.click("Export…");
    assert!(studio.sees("Export this picture"));
    studio.press(Modifiers::NONE, Key::Escape);
    studio.press(Modifiers::SHIFT, Key::ArrowLeft);
    studio.click("Export…");
    assert!(studio.sees("Export 2 pictures"));
}

#[test]
fn copies_have_the_size_and_name_that_are_asked_for_and_the_next_export_begins_alike() {
    let mut studio = open_gallery(&["one", "two"]);
    studio.press(Modifiers::NONE, Key::Home);
    studio.press(Modifiers::SHIFT, Key::ArrowRight);
    studio.press(Modifiers::NONE, Key::E);
    studio.harness.get_by_label("JPEG").click();
    studio.harness.run_ok();
    studio.check("Reduce larger pictures");
    studio.harness.get_by_role_and_label(Role::SpinButton, "Longest side").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::ArrowDown);
    studio.fill("Name of the copies", "postcard");
    studio.harness.check_accessibility();
    let export = studio.app().state.gallery.export("out".into()).unwrap();
    assert_eq!((export.name.as_str(), export.form.longest_side), ("postcard", Some(2047)));
    // The pictures here are small.
    let Some(Dialog::Export(choice)) = &mut studio.app_mut().state.gallery.dialog else { panic!("the dialog is closed") };
    choice.form.longest_side = Some(8);
    let (ctx, out) = (studio.harness.ctx.clone(), studio.folder.path().join("out"));
    studio.app_mut().with(&ctx, |features, context| crate::gui::gallery::update::export_to(features.gallery, out.clone(), context));
    studio.until_notice("2 pictures were exported");
    for name in ["postcard.jpg", "postcard (2).jpg"] {
        let (width, _) = atelier_media::image_size(&ImageSource::File(out.join(name))).unwrap();
        assert_eq!(width, 8, "{name}");
    }
    studio.press(Modifiers::NONE, Key::E);
    let again = studio.app().state.gallery.export("out".into()).unwrap();
    assert_eq!((again.name.as_str(), again.form), ("", atelier_studio::gallery_service::CopyForm { longest_side: Some(8), ..export.form }));
}

#[test]
fn the_folder_of_copies_is_typed_where_the_system_has_no_dialog() {
    let mut studio = open_gallery(&["one"]);
    studio.press(Modifiers::NONE, Key::Home);
    studio.press(Modifiers::NONE, Key::E);
    let Some(Dialog::Export(choice)) = &mut studio.app_mut().state.gallery.dialog else { panic!("the dialog is closed") };
    choice.folder = Some("copies".into());
    studio.harness.run_ok();
    let export = |studio: &Studio| studio.harness.get_by_role_and_label(Role::Button, "Export").accesskit_node().is_disabled();
    assert!(export(&studio), "nobody knows where that is");
    let out = studio.folder.path().join("copies");
    studio.fill("Folder of the copies", &out.display().to_string());
    studio.harness.check_accessibility();
    assert!(!export(&studio));
    studio.click("Export");
    studio.until_notice("1 picture was exported");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 1);
    studio.press(Modifiers::NONE, Key::E);
    assert_eq!(studio.app().state.gallery.typed_folder(), Some(out), "it is asked for once");
}

#[test]
fn what_comes_back_from_the_trash_is_selected() {
    let mut studio = open_gallery(&["one", "two", "three", "four"]);
    let ids = studio.app().state.gallery.found.ids.clone();
    studio.press(Modifiers::NONE, Key::Home);
    studio.press(Modifiers::NONE, Key::ArrowRight);
    studio.press(Modifiers::SHIFT, Key::ArrowRight);
    studio.press(Modifiers::NONE, Key::Delete);
    studio.until("the trash", |app| app.state.gallery.can_restore && app.state.gallery.found.ids.len() == 2);
    studio.press(Modifiers::NONE, Key::End);
    assert_eq!(current(&studio), ids[3]);
    studio.press(Modifiers::COMMAND, Key::Z);
    studio.until("the pictures", |app| app.state.gallery.found.ids.len() == 4);
    let view = &studio.app().state.gallery;
    assert_eq!((view.selection.iter().copied().collect::<Vec<_>>().len(), view.current()), (2, Some(ids[1])));
    assert!(view.selection.contains(&ids[1]) && view.selection.contains(&ids[2]));
}

#[test]
fn a_picture_made_for_somebody_else_says_so_and_is_found_by_the_name() {
    let home = tempfile::tempdir().unwrap();
    let kept = keep_pictures(home.path(), &["a lake", "a harbour"]);
    let (mut database, _) = Database::open(&Paths::beneath(home.path()).gallery_file()).unwrap();
    database.add_folder(&home.path().join("Pictures"), FolderKind::Own).unwrap();
    let harbour = NewPicture { owner: Owner::named("Anna"), ..NewPicture::read(&kept[1], PictureKind::Kept).unwrap() };
    database.record_picture(&harbour).unwrap();
    drop(database);
    let mut studio = open_home(home, 2);
    for (key, prompt, is_annas) in [(Key::Home, "a harbour", true), (Key::ArrowRight, "a lake", false)] {
        studio.press(Modifiers::NONE, key);
        let of_prompt = |it: &atelier_gallery::PictureDetails| it.settings.prompt.as_deref() == Some(prompt);
        studio.until(prompt, |app| app.state.gallery.current_details().is_some_and(of_prompt));
        assert_eq!(studio.sees("Made for Anna"), is_annas, "{prompt}");
    }
    search(&mut studio, "owner:anna");
    assert_eq!(prompts_found(&studio), ["a harbour"]);
    for (condition, found) in [("has:owner", &["a harbour"][..]), ("-has:owner", &[][..])] {
        studio.click("Add a condition");
        studio.click_first(&format!("{condition}: "));
        studio.until(condition, |app| app.state.gallery.found.search.text.ends_with(&format!(" {condition}")));
        assert_eq!(prompts_found(&studio), found, "{condition}");
    }
}

#[test]
fn pictures_of_a_day_are_found_by_its_name() {
    let home = tempfile::tempdir().unwrap();
    let paths = keep_pictures(home.path(), &["a lake", "a castle"]);
    let yesterday = SystemTime::now() - Duration::from_hours(24);
    std::fs::File::options().append(true).open(&paths[0]).unwrap().set_modified(yesterday).unwrap();
    let mut studio = open_home(home, 2);
    search(&mut studio, "yesterday");
    assert_eq!(prompts_found(&studio), ["a lake"]);
    let mut studio = open_gallery(&["a lake", "a castle"]);
    search(&mut studio, "today");
    assert_eq!(prompts_found(&studio).len(), 2);
}

#[test]
fn every_field_of_the_search_is_listed_with_an_example() {
    let mut studio = open_gallery(&["a lake", "a fox"]);
    studio.click("Add a condition");
    for field in atelier_gallery::FIELDS {
        assert!(studio.sees(&format!("{}: ", field.example)), "{}", field.name);
    }
}

#[test]
fn the_drafts_among_the_selected_pictures_are_finished_one_after_the_other() {
    let home = tempfile::tempdir().unwrap();
    for (seed, last_step) in [(100, Some(1)), (101, None), (102, Some(2))] {
        let recipe = Recipe { prompt: format!("boat {seed}"), width: 16, height: 16, steps: 4, last_step, ..ready() };
        let info = PictureInfo { index: 0, seed: Some(Seed(seed)), cpu_math: None, merged_loras: false };
        let pixels = Rgb8::new(16, 16, vec![seed as u8; 16 * 16 * 3]).unwrap();
        results::store_picture(&home.path().join("Pictures"), &recipe, info, &[], &pixels).unwrap();
    }
    let mut studio = open_home(home, 3);
    let finish = |studio: &mut Studio| {
        studio.press(Modifiers::COMMAND, Key::K);
        studio.harness.event(egui::Event::Text("finish drafts".into()));
        studio.harness.run_ok();
        // As of pictures that were never in sight.
        studio.app_mut().state.gallery.summaries.clear();
        studio.press(Modifiers::NONE, Key::Enter);
    };
    studio.press(Modifiers::COMMAND, Key::A);
    finish(&mut studio);
    studio.until_notice("Finishing 2 drafts, one after another.");
    let mut finished = Vec::new();
    for _ in 0..2 {
        let (job, recipe, _) = studio.take();
        assert!(recipe.draft_step().is_none() && recipe.prompt == format!("boat {}", seed_of(&recipe)), "{recipe:?}");
        finished.push((seed_of(&recipe), recipe.earlier_steps[0].until_step));
        studio.begin(job, vec![seed_of(&recipe)]);
        studio.picture(job, 0, seed_of(&recipe));
        studio.done(job);
    }
    finished.sort_unstable();
    assert_eq!(finished, [(100, 1), (102, 2)]);
}

#[test]
fn tags_and_notes_are_typed_and_found_again() {
    let mut studio = open_gallery(&["one", "two"]);
    studio.press(Modifiers::NONE, Key::Home);
    studio.until("the details", |app| app.state.gallery.current_details().is_some());
    studio.harness.get_by_label("New tag").focus();
    studio.harness.run_ok();
    studio.harness.event(egui::Event::Text("for the cover".into()));
    studio.press(Modifiers::NONE, Key::Enter);
    assert!(studio.sees("Remove tag: for the cover"));
    studio.harness.get_by_label("Note").focus();
    studio.harness.run_ok();
    studio.harness.event(egui::Event::Text("moody".into()));
    studio.harness.run_ok();
    studio.harness.get_by_label("Search pictures").focus();
    studio.harness.run_ok();
    studio.harness.event(egui::Event::Text("moody".into()));
    studio.until("the note", |app| app.state.gallery.found.search.text == "moody");
    assert_eq!(studio.app().state.gallery.found.ids.len(), 1);
    studio.harness.check_accessibility();
}

#[test]
fn a_kept_search_is_found_again_and_forgotten() {
    let mut studio = open_gallery(&["a lake", "a fox"]);
    search(&mut studio, "lake");
    studio.click("Save this search…");
    studio.harness.event(egui::Event::Text("Water".into()));
    studio.press(Modifiers::NONE, Key::Enter);
    studio.until("the kept search", |app| app.state.gallery.overview.saved_searches.len() == 1);
    studio.click("Show all");
    studio.until("everything", |app| app.state.gallery.found.ids.len() == 2);
    studio.click("Water");
    studio.until("the lake", |app| app.state.gallery.found.ids.len() == 1);
    studio.click("Delete this search Water");
    studio.until("no kept search", |app| app.state.gallery.overview.saved_searches.is_empty());
}

#[test]
fn a_finished_picture_appears_by_itself() {
    let mut studio = open_gallery(&["one"]);
    studio.press(Modifiers::COMMAND, Key::Num1);
    studio.make(7);
    studio.press(Modifiers::COMMAND, Key::Num4);
    studio.until("the new picture", |app| app.state.gallery.found.ids.len() == 2);
}

#[test]
fn a_dropped_folder_is_shown_without_being_changed_and_a_dropped_picture_is_copied() {
    let mut studio = open_gallery(&["one"]);
    let other = tempfile::tempdir().unwrap();
    let strangers = keep_pictures(other.path(), &["a stranger's"]);
    let before = std::fs::metadata(&strangers[0]).unwrap().modified().unwrap();
    studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(other.path().to_owned())));
    studio.harness.step();
    studio.until("the folder's picture", |app| app.state.gallery.found.ids.len() == 2);
    assert_eq!(std::fs::metadata(&strangers[0]).unwrap().modified().unwrap(), before);
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1, "nothing was written there");

    let third = tempfile::tempdir().unwrap();
    let dropped = keep_pictures(third.path(), &["a gift"]);
    studio.harness.input_mut().dropped_files.push(Arc::new(Dropping(dropped[0].clone())));
    studio.harness.step();
    studio.until("the dropped picture", |app| app.state.gallery.found.ids.len() == 3);
    let copy = studio.folder.path().join("Pictures").join(dropped[0].file_name().unwrap());
    assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(&dropped[0]).unwrap());
}

#[test]
fn the_pointer_selects_by_clicks_and_by_a_band() {
    let mut studio = open_gallery(&["one", "two", "three"]);
    let cell = |studio: &Studio, at: usize| studio.harness.get_by_label_contains(&format!("Picture {at}, ")).rect();
    let (first, third) = (cell(&studio, 1), cell(&studio, 3));
    let click = |studio: &mut Studio, at: egui::Pos2, modifiers: Modifiers| {
        studio.harness.event(egui::Event::PointerMoved(at));
        for pressed in [true, false] {
            studio.harness.event(egui::Event::PointerButton { pos: at, button: egui::PointerButton::Primary, pressed, modifiers });
        }
        studio.harness.run_ok();
    };
    click(&mut studio, first.center(), Modifiers::NONE);
    assert_eq!(studio.app().state.gallery.selection.len(), 1);
    // Below the pictures, from the right to the left, over the last one.
    let start = egui::pos2(third.right() + 4.0, third.bottom() + 40.0);
    studio.harness.event(egui::Event::PointerMoved(start));
    studio.harness.event(egui::Event::PointerButton {
        pos: start,
        button: egui::PointerButton::Primary,
        pressed: true,
        modifiers: Modifiers::NONE,
    });
    studio.harness.step();
    for step in 1..=4 {
        studio.harness.event(egui::Event::PointerMoved(start + (third.center() - start) * (step as f32 / 4.0)));
        studio.harness.step();
    }
    let end = third.center();
    studio.harness.event(egui::Event::PointerButton {
        pos: end,
        button: egui::PointerButton::Primary,
        pressed: false,
        modifiers: Modifiers::NONE,
    });
    studio.harness.run_ok();
    let view = &studio.app().state.gallery;
    assert_eq!(view.selection.iter().copied().collect::<Vec<_>>(), [view.found.ids[2]]);
}

#[test]
fn a_picture_is_dragged_to_where_it_is_used_or_thrown_away_and_comes_back() {
    let mut studio = open_gallery(&["one", "two"]);
    let drag = |studio: &mut Studio, target: f32| {
        let from = studio.harness.get_by_label_contains("Picture 1, ").rect().center();
        let to = egui::pos2(512.0 + 190.0 * target, 850.0);
        let button =
            |pos, pressed| egui::Event::PointerButton { pos, button: egui::PointerButton::Primary, pressed, modifiers: Modifiers::NONE };
        studio.harness.event(egui::Event::PointerMoved(from));
        studio.harness.event(button(from, true));
        studio.harness.step();
        for step in 1..=4 {
            studio.harness.event(egui::Event::PointerMoved(from + (to - from) * (step as f32 / 4.0)));
            studio.harness.step();
        }
        studio.harness.event(button(to, false));
        studio.harness.run_ok();
    };
    drag(&mut studio, 1.5);
    assert_eq!(studio.app().state.shared.screen, Screen::Create);
    assert!(studio.app().state.shared.next.recipe.init.is_some(), "it starts the next picture");
    studio.press(Modifiers::COMMAND, Key::Num4);
    let path = studio.app().state.gallery.summaries[&current(&studio)].path.clone();
    drag(&mut studio, 3.5);
    studio.until("the trash", |app| app.state.gallery.found.ids.len() == 1);
    assert!(!path.exists());
    studio.press(Modifiers::COMMAND, Key::Z);
    studio.until("the picture", |app| app.state.gallery.found.ids.len() == 2);
    assert!(path.is_file());
}

/// Presses and releases the secondary button in the middle of the search field.
fn right_click_search(studio: &mut Studio) {
    let fields = studio.harness.query_all_by_label("Search pictures");
    let at = fields.map(|it| it.rect()).next().unwrap().center();
    studio.harness.event(egui::Event::PointerMoved(at));
    for pressed in [true, false] {
        let button = egui::PointerButton::Secondary;
        studio.harness.event(egui::Event::PointerButton { pos: at, button, pressed, modifiers: Modifiers::NONE });
    }
    studio.harness.run_ok();
}

/// Chooses an entry of the field's menu, and waits until the window is asked for this.
fn choose(studio: &mut Studio, entry: &str, request: &egui::ViewportCommand) {
    studio.harness.get_by_role_and_label(Role::Button, entry).click();
    let deadline = Instant::now() + LONG;
    while !studio.window_commands().contains(request) {
        assert!(Instant::now() < deadline, "waited in vain for {request:?}");
        studio.harness.step();
    }
}

#[test]
fn a_right_click_on_the_search_pastes_into_it_and_copies_what_is_selected() {
    let mut studio = open_gallery(&["a lake", "a fox"]);
    right_click_search(&mut studio);
    let is_disabled = |studio: &Studio, name: &str| studio.harness.get_by_role_and_label(Role::Button, name).accesskit_node().is_disabled();
    assert!(is_disabled(&studio, "Copy") && is_disabled(&studio, "Cut"), "nothing is selected");
    choose(&mut studio, "Paste", &egui::ViewportCommand::RequestPaste);
    // As the system answers.
    studio.harness.event(egui::Event::Paste("fox".into()));
    studio.until("the search", |app| app.state.gallery.found.search.text == "fox" && app.state.gallery.found.ids.len() == 1);
    // What is selected stays so under a right click, and what is pasted takes its place.
    studio.press(Modifiers::COMMAND, Key::A);
    right_click_search(&mut studio);
    assert!(!is_disabled(&studio, "Copy"));
    studio.harness.check_accessibility();
    choose(&mut studio, "Copy", &egui::ViewportCommand::RequestCopy);
    studio.harness.event(egui::Event::Copy);
    studio.harness.step();
    let copied = |command: &egui::OutputCommand| matches!(command, egui::OutputCommand::CopyText(text) if text == "fox");
    assert!(studio.harness.output().platform_output.commands.iter().any(copied));
    right_click_search(&mut studio);
    choose(&mut studio, "Paste", &egui::ViewportCommand::RequestPaste);
    studio.harness.event(egui::Event::Paste("lake".into()));
    studio.until("the other search", |app| app.state.gallery.found.search.text == "lake");
}

#[test]
fn a_condition_that_is_chosen_by_mouse_is_searched_for_and_can_be_changed() {
    let mut studio = open_gallery(&["a lake", "a fox"]);
    studio.click("Add a condition");
    studio.click_first("rating>=3: ");
    studio.until("the search", |app| app.state.gallery.found.search.text == "rating>=3" && app.state.gallery.found.ids.is_empty());
    assert_eq!(studio.app().state.gallery.search.text, "rating>=3");
    // The caret is behind it.
    for _ in 0.."rating>=3".len() {
        studio.press(Modifiers::NONE, Key::Backspace);
    }
    studio.harness.event(egui::Event::Text("lake".into()));
    studio.until("what was typed", |app| app.state.gallery.found.search.text == "lake" && app.state.gallery.found.ids.len() == 1);
}

#[test]
fn pictures_of_no_folder_in_the_list_are_counted_below_it() {
    let home = tempfile::tempdir().unwrap();
    keep_pictures(home.path(), &["a lake"]);
    std::fs::create_dir(home.path().join("elsewhere")).unwrap();
    let elsewhere = keep_pictures(&home.path().join("elsewhere"), &["a harbour", "a castle"]);
    let (mut database, _) = Database::open(&Paths::beneath(home.path()).gallery_file()).unwrap();
    for path in &elsewhere {
        database.record_picture(&NewPicture::read(path, PictureKind::Kept).unwrap()).unwrap();
    }
    drop(database);
    let mut studio = open_home(home, 3);
    studio.until("the folders", |app| app.state.gallery.overview.folders.iter().any(|folder| folder.pictures == 1));
    assert!(studio.sees("3 pictures") && studio.sees("2 pictures saved in other folders"), "they add up");

    let mut studio = open_gallery(&["a lake"]);
    studio.until("the folders", |app| app.state.gallery.overview.folders.iter().any(|folder| folder.pictures == 1));
    assert!(!studio.sees("saved in other folders"));
}
