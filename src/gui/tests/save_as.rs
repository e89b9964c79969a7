//! Saving the picture shown somewhere else, where the system has no file dialog.

use crate::gui::create::save_dialog::SaveDialog;
use crate::gui::tests::*;
use atelier_core::recipe::{FineColours, Samples};

impl Studio {
    /// Opens the dialog as it is where the system has none.
    fn ask_where_to_save(&mut self) {
        let create = &mut self.app_mut().state.create;
        let id = create.session.shown().unwrap().id;
        let path = create.pictures_folder.join("a lake 7.png").display().to_string();
        create.save_dialog = Some(Box::new(SaveDialog { id, path, is_typed: true, quality: 90, replaced: None }));
        create.focus_dialog = true;
        self.harness.run_ok();
    }

    fn is_saving(&self) -> bool {
        self.app().state.create.save_dialog.is_some()
    }
}

#[test]
fn a_picture_is_saved_where_it_is_typed_and_as_its_ending_says() {
    let mut studio = Studio::open(ready());
    studio.make(7);
    let folder = tempfile::tempdir().unwrap();
    for (name, begins) in [("out.jpg", &b"\xff\xd8\xff"[..]), ("out.webp", b"RIFF"), ("out.PNG", b"\x89PNG"), ("a.b", b"\x89PNG")] {
        studio.ask_where_to_save();
        assert!(studio.sees("Save a copy of this picture"));
        let path = folder.path().join(name);
        studio.fill("Path of the copy", &path.display().to_string());
        assert_eq!(studio.sees("Quality"), name == "out.jpg");
        studio.harness.check_accessibility();
        studio.press(Modifiers::NONE, Key::Enter);
        studio.until_notice("Saved as");
        assert!(!studio.is_saving());
        let path = if name == "a.b" { folder.path().join("a.b.png") } else { path };
        assert!(std::fs::read(&path).unwrap().starts_with(begins), "{name}");
    }
}

#[test]
fn a_picture_that_is_copied_from_memory_says_what_the_clipboard_cannot_keep() {
    let mut studio = Studio::open(ready());
    let (job, ..) = studio.generate();
    studio.begin(job, vec![7]);
    let samples = Samples::Eight([9, 9, 9, 0].repeat(64 * 64));
    let fine = FineColours { samples, has_alpha: true, profile: None, is_beyond_srgb: true, from_print: None };
    let image = Arc::new(image(64, 255).as_ref().clone().with_fine(Some(fine)).unwrap());
    let info = PictureInfo { index: 0, seed: Some(Seed(7)), cpu_math: None, merged_loras: false };
    studio.port.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image } });
    studio.until("the picture", |app| app.state.create.session.len() == 1 && app.state.create.converting_picture.is_none());
    studio.done(job);
    studio.click("Copy picture");
    studio.until_notice("Copied: what was transparent is white; PNG keeps it, colours beyond sRGB became its nearest");
}

#[test]
fn enter_on_another_button_than_save_saves_nothing() {
    let mut studio = Studio::open(ready());
    studio.make(7);
    studio.ask_where_to_save();
    let path = studio.folder.path().join("out.webp");
    studio.fill("Path of the copy", &path.display().to_string());
    let names = questions::tab_names(&mut studio, Modifiers::NONE, 6);
    assert_eq!(names, ["PNG", "JPEG", "WebP", "Cancel", "Save", "Path of the copy"]);
    studio.harness.get_by_role_and_label(Role::Button, "Cancel").focus();
    studio.harness.run_ok();
    studio.press(Modifiers::NONE, Key::Enter);
    studio.until_files_are_read();
    assert!(!studio.is_saving() && !path.exists());
}

#[test]
fn the_formats_are_a_click_away_and_a_file_that_is_there_is_asked_about() {
    let mut studio = Studio::open(ready());
    studio.make(7);
    studio.ask_where_to_save();
    studio.click("JPEG");
    let target = studio.app().state.create.pictures_folder.join("a lake 7.jpg");
    std::fs::write(&target, "mine").unwrap();
    studio.click("Save");
    studio.until("the question", |app| app.state.create.save_dialog.as_ref().is_some_and(|it| it.is_replacing()));
    assert!(studio.sees("There is a file with this name.") && std::fs::read(&target).unwrap() == b"mine");
    studio.click("Cancel");
    assert!(!studio.is_saving() && std::fs::read(&target).unwrap() == b"mine");

    studio.ask_where_to_save();
    studio.fill("Path of the copy", "a lake 7.jpg");
    studio.click("Save");
    studio.until("the question", |app| app.state.create.save_dialog.as_ref().is_some_and(|it| it.is_replacing()));
    // Another name is another file.
    studio.click("WebP");
    assert!(!studio.sees("There is a file with this name."));
    studio.click("JPEG");
    studio.click("Save");
    studio.until("the question again", |app| app.state.create.save_dialog.as_ref().is_some_and(|it| it.is_replacing()));
    studio.click("Save");
    studio.until_notice("Saved as");
    assert!(std::fs::read(&target).unwrap().starts_with(b"\xff\xd8\xff"), "it is in the folder of pictures");
    // Keys are the dialog's while it is open.
    studio.ask_where_to_save();
    studio.press(Modifiers::NONE, Key::Escape);
    assert!(!studio.is_saving());
}
