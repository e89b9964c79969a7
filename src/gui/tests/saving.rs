//! What is written by itself: while nobody touches anything, again where it failed, and before the
//! window closes.

use crate::gui::tests::*;

use crate::gui::tests::canvas::studio;
use atelier_core::canvas::{DocumentContent, TileImage};
use atelier_media::canvas_file::{read_canvas, write_canvas};

impl Studio {
    fn repaint_delay_secs(&self) -> f64 {
        self.harness.output().viewport_output[&ViewportId::ROOT].repaint_delay.as_secs_f64()
    }

    fn step_after(&mut self, secs: f64) {
        self.harness.input_mut().time = Some(self.harness.ctx.input(|input| input.time) + secs);
        self.harness.step();
    }

    /// Nobody touches anything for so long: a frame is drawn only where one was asked for.
    fn rest(&mut self, secs: f64) {
        let until = self.harness.ctx.input(|input| input.time) + secs;
        loop {
            let delay = self.repaint_delay_secs().max(1.0 / 60.0);
            if self.harness.ctx.input(|input| input.time) + delay > until {
                return;
            }
            self.step_after(delay);
        }
    }

    /// Waits for another thread while the window's clock all but stands still.
    fn until_told(&mut self, what: &str, holds: impl Fn(&App) -> bool) {
        let deadline = Instant::now() + LONG;
        while !holds(self.app()) {
            assert!(Instant::now() < deadline, "waited in vain for {what}");
            self.step_after(1e-6);
            std::thread::yield_now();
        }
    }

    fn canvases(&self) -> PathBuf {
        Paths::beneath(self.folder.path()).canvases()
    }

    /// The only backup, read as the next start reads it.
    fn backup(&self) -> DocumentContent {
        let files: Vec<_> = std::fs::read_dir(self.canvases()).unwrap().map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        read_canvas(&files[0]).unwrap()
    }

    /// A stroke, which is not in any file yet.
    fn paint(&mut self, y: f32) {
        self.take_tool(Key::B);
        self.draw((20.0, y), (40.0, y));
        assert!(self.canvas().is_unsaved());
    }
}

fn is_saved(app: &App) -> bool {
    app.state.canvas.open_documents().all(|document| !document.is_unsaved())
}

#[test]
fn a_canvas_is_kept_though_nobody_touches_anything_after_the_stroke() {
    let mut studio = studio();
    studio.paint(30.0);
    // Frames of something else must not take the wake-up away.
    for _ in 0..2 {
        studio.step_after(0.1);
        assert!(studio.repaint_delay_secs() < 20.1, "{}", studio.repaint_delay_secs());
    }
    studio.rest(21.0);
    studio.until_told("the backup", is_saved);
    assert_eq!(studio.backup().picture(), studio.content().picture());
}

#[test]
fn settings_are_kept_though_nobody_touches_anything_after_the_click() {
    let mut studio = Studio::open(ready());
    studio.rest(60.0);
    studio.click("Light theme");
    for _ in 0..2 {
        studio.step_after(0.1);
        assert!(studio.repaint_delay_secs() < 1.1, "{}", studio.repaint_delay_secs());
    }
    studio.rest(2.0);
    let path = studio.folder.path().join("settings.json");
    studio.until_told("the settings", |_| path.exists());
    assert_eq!(settings::load(&path).settings.theme, ThemeChoice::Light);
}

#[test]
fn files_to_open_wait_for_the_library_only_so_long_though_nobody_touches_anything() {
    let mut studio = Studio::open(ready());
    let vae = studio.folder.path().join("ae.sft");
    std::fs::write(&vae, "x").unwrap();
    studio.rest(60.0);
    studio.app_mut().state.models.is_known = false;
    let ctx = studio.harness.ctx.clone();
    studio.app_mut().open(&ctx, vec![vae]);
    for _ in 0..2 {
        studio.step_after(0.1);
        assert!(studio.repaint_delay_secs() < 5.1, "{}", studio.repaint_delay_secs());
    }
    studio.rest(6.0);
    studio.until_told("the file", |app| app.state.shared.next.recipe.files.get(FileRole::Vae).is_some());
}

/// Breaks the folder of backups, is told so, and is asked at the close; then the folder is mended,
/// and all is as it should be.
fn survives(mut studio: Studio, fault: impl FnOnce(&Studio), repair: impl FnOnce(&Studio), words: &str) {
    fault(&studio);
    studio.paint(30.0);
    studio.rest(21.0);
    studio.until_told("the message", |app| app.state.shared.error.is_some());
    let advice = studio.app().state.shared.error.clone().unwrap().advice;
    assert!(advice.sentence.starts_with("The backup of your canvas could not be written") && advice.sentence.contains(words), "{advice:?}");
    assert!(studio.canvas().is_unsaved(), "it counts as written only where it is");
    studio.press(Modifiers::NONE, Key::Escape);

    studio.ask_to_close();
    assert!(studio.window_commands().contains(&egui::ViewportCommand::CancelClose));
    studio.until_told("the question", |app| matches!(app.state.closing, Closing::Unsaved { until_secs: None }));
    studio.harness.run_ok();
    assert!(studio.sees("Not everything is saved. Close anyway?") && studio.sees("The canvas of 64 x 64 pixels: "));
    studio.harness.check_accessibility();
    studio.click("Try again");
    studio.until_told("the question again", |app| matches!(app.state.closing, Closing::Unsaved { .. }));
    studio.harness.run_ok();
    studio.click("Stay open");
    assert_eq!(studio.app().state.closing, Closing::No);

    repair(&studio);
    studio.rest(21.0);
    studio.until_told("the backup", is_saved);
    assert_eq!(studio.backup().picture(), studio.content().picture());
    assert!(studio.app().state.notices.shown().is_some_and(|it| it.text.contains("saved again")));
}

#[test]
fn a_backup_that_failed_is_tried_again_until_it_is_written_and_closing_says_so() {
    let fault = |studio: &Studio| std::fs::write(studio.canvases(), "in the way").unwrap();
    let repair = |studio: &Studio| std::fs::remove_file(studio.canvases()).unwrap();
    survives(studio(), fault, repair, "exists");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_that_gets_room_again_takes_the_backup_by_itself() {
    /// A disk of its own, which is taken away again.
    struct Disk(PathBuf);
    impl Drop for Disk {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg(&self.0).status();
        }
    }
    let studio = studio();
    let folder = studio.canvases();
    std::fs::create_dir_all(&folder).unwrap();
    let mounted = std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&folder).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("left out: only root can mount a small disk");
        return;
    }
    let _disk = Disk(folder.clone());
    let filler = folder.join("filler");
    let fault = |_: &Studio| {
        let mut file = std::fs::File::create(&filler).unwrap();
        while std::io::Write::write_all(&mut file, &[7; 4096]).is_ok() {}
    };
    survives(studio, fault, |_| std::fs::remove_file(&filler).unwrap(), "No space left");
}

#[test]
fn settings_that_could_not_be_written_are_tried_again_and_closing_says_so() {
    let mut studio = Studio::open(ready());
    let path = studio.folder.path().join("settings.json");
    std::fs::create_dir(&path).unwrap();
    studio.click("Light theme");
    studio.rest(2.0);
    studio.until_told("the words", |app| {
        app.state.notices.shown().is_some_and(|it| it.text.starts_with("Your settings could not be written"))
    });
    studio.ask_to_close();
    studio.until_told("the question", |app| matches!(app.state.closing, Closing::Unsaved { .. }));
    studio.harness.run_ok();
    assert!(studio.sees("Your settings could not be written to"));
    studio.click("Stay open");
    std::fs::remove_dir(&path).unwrap();
    studio.rest(21.0);
    studio.until_told("the settings", |_| path.is_file());
    assert_eq!(settings::load(&path).settings.theme, ThemeChoice::Light);
}

#[test]
fn a_frame_without_a_change_clones_no_settings() {
    let mut recipe = ready();
    recipe.loras.push(Lora::new("/loras/ink.safetensors".into(), 1.0));
    let mut studio = Studio::open(recipe);
    studio.make(7);
    let places = |studio: &Studio| {
        let seen = studio.app().seen_settings();
        (seen.recipe.prompt.as_ptr(), seen.recipe.loras.as_ptr(), seen.prompts.as_ptr(), seen.recent_models.as_ptr())
    };
    let before = places(&studio);
    for _ in 0..3 {
        studio.harness.step();
    }
    assert_eq!(places(&studio), before);
    studio.app_mut().state.shared.next.recipe.loras[0].strength = 0.5;
    studio.app_mut().state.create.prompts.remember("a castle");
    studio.harness.step();
    let (seen, now) = (studio.app().seen_settings().clone(), studio.app().settings());
    assert!(seen == now && seen.recipe.loras[0].strength == 0.5 && seen.prompts[0] == "a castle");
}

#[test]
fn who_closes_anyway_may_and_the_system_is_not_held_up_for_long() {
    let mut studio = studio();
    std::fs::write(studio.canvases(), "in the way").unwrap();
    studio.paint(30.0);
    studio.ask_to_close();
    studio.until_told("the question", |app| matches!(app.state.closing, Closing::Unsaved { .. }));
    studio.harness.run_ok();
    studio.harness.get_by_role_and_label(Role::Button, "Close anyway").click();
    studio.until_told("the end", |app| app.state.closing == Closing::Now);

    let mut studio = self::studio();
    std::fs::write(studio.canvases(), "in the way").unwrap();
    studio.paint(30.0);
    studio.app().terminated().store(true, Ordering::Release);
    studio.until_told("the question", |app| matches!(app.state.closing, Closing::Unsaved { until_secs: Some(_) }));
    studio.rest(11.0);
    let is_asking = matches!(studio.app().state.closing, Closing::Unsaved { .. });
    assert!(!is_asking, "who asks for the end does not wait for an answer");
    studio.until_told("the end", |app| app.state.closing == Closing::Now);
}

#[test]
fn a_stroke_of_this_moment_is_kept_where_the_window_closes() {
    let mut studio = studio();
    studio.paint(30.0);
    studio.ask_to_close();
    studio.until_told("the end", |app| app.state.closing == Closing::Now);
    assert_eq!(studio.backup().picture(), studio.content().picture());
}

/// Leaves a canvas of this many pixels a side, as an earlier session does.
fn leave_canvas(folder: &Path, name: &str, side: u32, secs: u64) -> PathBuf {
    let path = folder.join(name);
    write_canvas(&path, &DocumentContent::new("Picture", TileImage::of_picture(&image(side, 90))).unwrap()).unwrap();
    let modified = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(secs);
    std::fs::File::open(&path).unwrap().set_modified(modified).unwrap();
    path
}

#[test]
fn all_canvases_of_earlier_sessions_are_offered_one_by_one_and_those_that_cannot_be_opened_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let canvases = Paths::beneath(folder.path()).canvases();
    for n in 0..12 {
        leave_canvas(&canvases, &format!("{n}.atelier"), 64 + n, 1000 + u64::from(n));
    }
    let damaged = canvases.join("newest.atelier");
    std::fs::write(&damaged, "PK no more").unwrap();
    let mut studio = Studio::at(folder, Settings { recipe: ready(), ..Settings::default() }, Err(String::new()), [1440.0, 900.0]);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    assert_eq!((studio.content().width(), studio.app().state.canvas.parked.len()), (75, 0), "the newest that can be read, and no other");
    assert!(studio.sees("Some canvases could not be reopened") && studio.sees("newest.atelier ("));
    studio.harness.check_accessibility();
    studio.click("Leave it there");
    assert!(damaged.exists());
    for n in (0..11).rev() {
        assert!(studio.sees("of earlier sessions can be opened again") || studio.sees("of an earlier session can be opened again"));
        studio.click("Open the next canvas");
        studio.until("the next", |app| app.state.canvas.edited().is_some_and(|it| it.document.content().width() == 64 + n));
    }
    assert!(!studio.sees("can be opened again"));
}

/// Leaves the mark of a process that ended while it read the file.
fn mark_as_ending(paths: &Paths, file: &Path) {
    let metadata = std::fs::metadata(file).unwrap();
    let modified_ns = metadata.modified().unwrap().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let mark = serde_json::json!({"path": file, "bytes": metadata.len(), "modified_ns": modified_ns});
    std::fs::create_dir_all(paths.reading_marks()).unwrap();
    std::fs::write(paths.reading_marks().join("1-0.reading"), mark.to_string()).unwrap();
}

#[test]
fn a_start_picture_that_ended_the_program_is_not_read_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let start = folder.path().join("start.png");
    std::fs::write(&start, "whatever ended it").unwrap();
    mark_as_ending(&Paths::beneath(folder.path()), &start);
    let init = Some(InitImage { image: ImageSource::File(start), strength: 0.5 });
    let recipe = Recipe { init, ..ready() };
    let mut studio = Studio::at(folder, Settings { recipe, ..Settings::default() }, Err(String::new()), [1440.0, 900.0]);
    studio.until_told("why it is not shown", |app| {
        app.state.notices.shown().is_some_and(|it| it.text.contains("Atelier crashed while reading"))
    });
}

#[test]
fn a_canvas_that_ended_the_program_is_left_out_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = Paths::beneath(folder.path());
    leave_canvas(&paths.canvases(), "good.atelier", 64, 1000);
    let bad = leave_canvas(&paths.canvases(), "bad.atelier", 70, 2000);
    mark_as_ending(&paths, &bad);
    let mut studio = Studio::at(folder, Settings { recipe: ready(), ..Settings::default() }, Err(String::new()), [1440.0, 900.0]);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    assert_eq!(studio.content().width(), 64);
    assert!(studio.sees("bad.atelier (Atelier crashed while reading this file)"));
}

#[test]
fn a_window_beside_another_one_asks_and_leaves_its_files_alone() {
    let folder = tempfile::tempdir().unwrap();
    let paths = Paths::beneath(folder.path());
    let theirs = leave_canvas(&paths.canvases(), "theirs.atelier", 64, 1000);
    let before = std::fs::read(&theirs).unwrap();
    std::fs::write(&paths.settings_file, "theirs").unwrap();
    let options = Studio::options(&folder, Err(String::new()), None).beside();
    let mut studio = Studio::of(options, Settings { recipe: ready(), ..Settings::default() }, [1440.0, 900.0], folder);
    assert!(studio.sees("Atelier is already open but not responding."));
    studio.harness.check_accessibility();
    studio.click("Use a second window");
    assert!(!studio.sees("does not answer") && studio.app().state.canvas.document.is_none());
    studio.make(1);
    studio.until("the picture", |app| app.state.canvas.shown.is_some());
    let focused = studio.harness.ctx.memory(egui::Memory::focused);
    studio.harness.ctx.memory_mut(|memory| focused.into_iter().for_each(|id| memory.surrender_focus(id)));
    studio.paint(30.0);
    studio.click("Light theme");
    studio.rest(30.0);
    studio.until_told("the backup", is_saved);
    let Studio { mut harness, folder, port } = studio;
    harness.state_mut().take().unwrap().finish();
    drop((harness, port));
    assert_eq!((std::fs::read(&theirs).unwrap(), std::fs::read(&paths.settings_file).unwrap()), (before, b"theirs".to_vec()));

    // Once both are closed, what was painted beside waits too.
    let mut studio = Studio::at(folder, Settings { recipe: ready(), ..Settings::default() }, Err(String::new()), [1440.0, 900.0]);
    studio.until("the canvas", |app| app.state.canvas.edited().is_some());
    assert_eq!(studio.app().state.canvas.recovery.waiting, [theirs]);
}
