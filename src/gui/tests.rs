//! The window, used as a person uses it: by names, keys and clicks, with the test in the engine's
//! place. No graphics needed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use eframe::egui::accesskit::Role;
use eframe::egui::{self, Key, Modifiers, ViewportEvent, ViewportId};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::gui::create::session::PictureFile;
use crate::gui::engine_waker::EngineWaker;
use crate::gui::shared::Closing;
use crate::gui::workers::Worker;
use crate::gui::{App, LibraryOptions, Options};
use crate::settings::{self, Settings, ThemeChoice};
use atelier_core::paths::Paths;
use atelier_core::placement::Module;
use atelier_core::recipe::{FileRole, ImageSource, InitImage, Lora, PictureInfo, Recipe, Rgb8, Seed};
use atelier_engine::{
    Begin, Control, End, EngineEnd, Event, Failure, JobId, JobPhase, LogLevel, Picture, Preview, PreviewOptions, Request, Step, Task,
    Timings, channel,
};
use atelier_library::{Builtin, MANIFEST};

mod automatic;
mod background;
mod board;
mod canvas;
mod create;
mod dropped;
mod examples;
mod frames;
mod gallery;
mod grid;
mod history;
mod input_queue;
mod inputs;
mod layers;
mod live;
mod looks;
mod memory;
mod models;
mod notes;
mod open_canvases;
mod overlaps;
mod phrases;
mod program;
mod prompt;
mod questions;
mod queue;
mod rates;
mod recall;
mod room;
mod ruler;
mod save_as;
mod saving;
mod sharing;
mod sheet;
mod starts;
mod steps;
mod studios;
mod styles;
mod times;
mod trials;
mod typing;
mod vision;

/// Longest wait for a thread to answer; a machine that is busy may need it: another test program runs
/// beside this one.
const LONG: Duration = Duration::from_mins(5);

/// The window in a test, with the engine's end of the channel.
struct Studio {
    harness: Harness<'static, Option<App>>,
    port: EngineEnd,
    folder: tempfile::TempDir,
}

impl Studio {
    fn open(recipe: Recipe) -> Self {
        Self::sized(recipe, [1440.0, 900.0])
    }

    fn sized(recipe: Recipe, size: [f32; 2]) -> Self {
        Self::with(Settings { recipe, ..Settings::default() }, Err("The built-in model is not there.".into()), size)
    }

    fn with(settings: Settings, builtin: Result<Arc<Builtin>, String>, size: [f32; 2]) -> Self {
        Self::at(tempfile::tempdir().unwrap(), settings, builtin, size)
    }

    fn at(folder: tempfile::TempDir, settings: Settings, builtin: Result<Arc<Builtin>, String>, size: [f32; 2]) -> Self {
        Self::with_library(settings, builtin, size, folder, None)
    }

    fn with_library(
        settings: Settings,
        builtin: Result<Arc<Builtin>, String>,
        size: [f32; 2],
        folder: tempfile::TempDir,
        library: Option<LibraryOptions>,
    ) -> Self {
        Self::of(Self::options(&folder, builtin, library), settings, size, folder)
    }

    fn options(folder: &tempfile::TempDir, builtin: Result<Arc<Builtin>, String>, library: Option<LibraryOptions>) -> Options {
        Options {
            settings_path: Some(folder.path().join("settings.json")),
            paths: Some(Paths::beneath(folder.path())),
            pictures_folder: folder.path().join("Pictures"),
            wgpu: false,
            builtin,
            updates: None,
            library,
            system_language: None,
            sharing_port: 0,
            studios_network: studios::NETWORK,
            beside: None,
        }
    }

    fn of(options: Options, settings: Settings, size: [f32; 2], folder: tempfile::TempDir) -> Self {
        let waker = EngineWaker::default();
        let engine_waker = waker.clone();
        let (handle, port) = channel(move || engine_waker.wake());
        let mut parts = Some((handle, settings));
        let harness = Harness::builder().with_size(size).with_max_steps(12).build_ui_state(
            move |ui, slot: &mut Option<App>| {
                if let Some((handle, settings)) = parts.take() {
                    waker.connect(ui.ctx(), handle.unread());
                    *slot = Some(App::new(ui.ctx(), handle, &options, settings).unwrap());
                }
                if let Some(app) = slot {
                    app.logic(ui.ctx());
                    app.ui(ui);
                }
            },
            None,
        );
        let mut studio = Self { harness, port, folder };
        studio.harness.run_ok();
        studio.until_files_are_read();
        studio
    }

    /// Waits for all that was asked of files so far: a late answer would move what a click aims at,
    /// or take the place of what a test puts there.
    fn until_files_are_read(&mut self) {
        let is_read = Arc::new(AtomicBool::new(false));
        let tell = Arc::clone(&is_read);
        self.app().background.run(Worker::Files, || (), move |(), _, _| tell.store(true, Ordering::Release));
        self.until("the files", |_| is_read.load(Ordering::Acquire));
        self.harness.run_ok();
    }

    fn app(&self) -> &App {
        self.harness.state().as_ref().unwrap()
    }

    fn app_mut(&mut self) -> &mut App {
        self.harness.state_mut().as_mut().unwrap()
    }

    /// Runs frames until this holds.
    fn until(&mut self, what: &str, holds: impl Fn(&App) -> bool) {
        let deadline = Instant::now() + LONG;
        while !holds(self.app()) {
            assert!(Instant::now() < deadline, "waited in vain for {what}");
            self.harness.step();
            std::thread::yield_now();
        }
        self.harness.run_ok();
    }

    /// Runs frames until a notice begins so. It goes away after some frames.
    fn until_notice(&mut self, words: &str) {
        self.until(words, |app| app.state.notices.shown().is_some_and(|it| it.text.starts_with(words)));
        assert!(self.sees(words));
    }

    fn press(&mut self, modifiers: Modifiers, key: Key) {
        self.harness.key_press_modifiers(modifiers, key);
        self.harness.run_ok();
    }

    fn click(&mut self, label: &str) {
        self.harness.get_by_role_and_label(Role::Button, label).click();
        self.harness.run_ok();
    }

    /// Replaces the text of the field of this name.
    fn fill(&mut self, field: &str, text: &str) {
        let is_field = |role| matches!(role, Role::TextInput | Role::PasswordInput);
        self.harness.query_all_by_label(field).find(|it| is_field(it.accesskit_node().role())).unwrap().focus();
        self.harness.run_ok();
        self.press(Modifiers::COMMAND, Key::A);
        self.harness.event(egui::Event::Text(text.into()));
        self.harness.run_ok();
    }

    /// Clicks the first button whose name contains this.
    fn click_first(&mut self, name: &str) {
        let found = self.harness.query_all_by_label_contains(name).find(|it| it.accesskit_node().role() == Role::Button);
        found.unwrap_or_else(|| panic!("there is no {name}")).click();
        self.harness.run_ok();
    }

    fn check(&mut self, label: &str) {
        self.harness.get_by_role_and_label(Role::CheckBox, label).click();
        self.harness.run_ok();
    }

    fn sees(&self, text: &str) -> bool {
        self.harness.query_all_by_label_contains(text).next().is_some()
    }

    /// Asks for a picture and takes the request, as the engine does.
    fn generate(&mut self) -> (JobId, Recipe, Arc<AtomicBool>) {
        self.press(Modifiers::COMMAND, Key::Enter);
        self.take()
    }

    /// The next job that was asked for; what else was asked meanwhile is passed over.
    fn next_run(&mut self) -> Option<Request> {
        loop {
            match self.port.next() {
                Some(Request::Control(
                    Control::AddServer(_) | Control::Preload(_) | Control::Measure(_) | Control::PlaceAutomatically(_),
                )) => {}
                other => return other,
            }
        }
    }

    fn take(&mut self) -> (JobId, Recipe, Arc<AtomicBool>) {
        let Some(Request::Job { job, task: Task::Generate { recipe, .. } }) = self.next_run() else { panic!("another request") };
        let cancel = self.port.start(job).unwrap();
        (job, *recipe, cancel)
    }

    fn begin(&mut self, job: JobId, seeds: Vec<u64>) {
        let seeds = seeds.into_iter().map(Seed).collect();
        let begin = Begin { width: 64, height: 64, steps: 4, seeds, notes: Vec::new() };
        self.port.send(Event::Begin { job, begin });
        self.harness.run_ok();
    }

    fn picture(&mut self, job: JobId, index: u32, seed: u64) {
        let before = self.app().state.create.session.len();
        let info = PictureInfo { index, seed: Some(Seed(seed)), cpu_math: None, merged_loras: false };
        self.port.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image: image(64, seed as u8) } });
        self.until("the picture", |app| {
            app.state.create.session.len() > before
                && app.state.create.session.writing() == 0
                && app.state.create.converting_picture.is_none()
        });
    }

    fn done(&mut self, job: JobId) {
        self.port.send(Event::End { job, end: End::Done { pictures: Vec::new(), timings: Timings::default(), notes: Vec::new() } });
        self.harness.run_ok();
    }

    /// Asks, makes and keeps a picture of this seed.
    fn make(&mut self, seed: u64) {
        let (job, ..) = self.generate();
        self.begin(job, vec![seed]);
        self.picture(job, 0, seed);
        self.done(job);
    }

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

    fn ask_to_close(&mut self) {
        let viewport = self.harness.input_mut().viewports.entry(ViewportId::ROOT).or_default();
        viewport.events.push(ViewportEvent::Close);
        self.harness.step();
    }

    /// Where the last frame has drawn a texture, the last of such places.
    fn painted(&self, texture: &egui::TextureHandle) -> Option<egui::Rect> {
        let is_it = |shape: &&egui::epaint::ClippedShape| shape.shape.texture_id() == texture.id();
        let shapes = &self.harness.output().shapes;
        shapes.iter().rev().find(is_it).map(|it| it.shape.visual_bounding_rect())
    }

    /// The next job of the engine, whatever it is to do; it is begun.
    fn next_job(&mut self) -> (JobId, Task) {
        let Some(Request::Job { job, task }) = self.next_run() else { panic!("another request") };
        self.port.start(job).unwrap();
        (job, task)
    }

    /// True where the last frame has drawn this text, as a whole or as a line's end.
    fn paints(&self, text: &str) -> bool {
        let is_it = |shape: &egui::epaint::ClippedShape| match &shape.shape {
            egui::Shape::Text(it) => it.galley.text().contains(text),
            _ => false,
        };
        self.harness.output().shapes.iter().any(is_it)
    }

    fn window_commands(&self) -> Vec<egui::ViewportCommand> {
        self.harness.output().viewport_output.values().flat_map(|it| it.commands.clone()).collect()
    }
}

fn image(side: u32, shade: u8) -> Arc<Rgb8> {
    Arc::new(Rgb8::new(side, side, vec![shade; (side * side * 3) as usize]).unwrap())
}

/// The seed of a recipe that has one.
fn seed_of(recipe: &Recipe) -> u64 {
    recipe.seed.unwrap().0
}

fn ready() -> Recipe {
    let mut recipe = Recipe { prompt: "a lake".into(), width: 64, height: 64, steps: 4, ..Recipe::default() };
    recipe.files.set(FileRole::Model, "/models/sd15.safetensors");
    recipe
}

/// A built-in model of three files without contents, called Small, that wants 6 steps at 128x96 with a
/// flow shift of 3, and reads the negative prompt in its prompt.
fn small_builtin(folder: &Path) -> Arc<Builtin> {
    let text = r#"{"id":"small","name":"Small","description":"Paints lakes.","files":[{"role":"diffusion","filename":"d"},
        {"role":"llm","filename":"l"},{"role":"tae","filename":"t"}],
        "defaults":{"steps":6,"cfg":1.0,"width":128,"height":96,"flow_shift":3.0,"preview":"tae","negative_in_prompt":true},
        "examples":[{"prompt":"a red sunset","seed":11,"picture":"examples/a.png"},
        {"prompt":"golden dunes at dawn","seed":12,"picture":"examples/b.png"}]}"#;
    std::fs::create_dir_all(folder.join("examples")).unwrap();
    for name in ["a.png", "b.png"] {
        std::fs::write(folder.join("examples").join(name), testkit::pictures::png(&[])).unwrap();
    }
    for (name, text) in [("d", ""), ("l", ""), ("t", ""), (MANIFEST, text)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    Arc::new(Builtin::open(folder).unwrap())
}

/// A file that is dropped on the window.
#[derive(Debug)]
struct Dropping(PathBuf);

impl egui::DroppedFile for Dropping {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("nobody reads it on this thread".into())
    }
}
