//! The window's own work a frame, while the engine works on all cores.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use atelier::gui::shared::Screen;
use atelier::gui::{App, Options};
use atelier::settings::Settings;
use atelier_core::paths::Paths;
use atelier_core::recipe::{ModelFiles, Recipe};
use atelier_engine::start;
use atelier_library::Builtin;
use eframe::egui::{Event, Key, Modifiers, MouseWheelSource, MouseWheelUnit, TouchPhase, pos2, vec2};
use egui_kittest::Harness;

use super::{LIMIT, Outcome};

/// A frame of a screen of 60 Hz.
const FRAME: Duration = Duration::from_micros(16_667);

/// A window without a screen, at a usual laptop's size. Its clock goes on by a frame with each
/// step.
pub(super) fn window(options: Options, settings: Settings) -> Harness<'static, Option<App>> {
    let mut parts = Some((start(|| {}), settings));
    Harness::builder().with_size([1440.0, 900.0]).with_step_dt(FRAME.as_secs_f32()).build_ui_state(
        move |ui, slot: &mut Option<App>| {
            if let Some((handle, settings)) = parts.take() {
                *slot = App::new(ui.ctx(), handle, &options, settings).ok();
            }
            if let Some(app) = slot {
                app.logic(ui.ctx());
                app.ui(ui);
            }
        },
        None,
    )
}

/// Options of a window that keeps all it has in this folder, and no index.
pub(super) fn options_in(home: &Path, builtin: Result<Arc<Builtin>, String>) -> Options {
    Options {
        paths: None,
        updates: None,
        settings_path: Some(home.join("settings.json")),
        pictures_folder: home.join("Pictures"),
        wgpu: false,
        builtin,
        library: None,
        system_language: None,
        sharing_port: 0,
        studios_network: atelier_peers::Network::Local,
        beside: None,
    }
}

/// A frame, and the pause that a screen of 60 Hz leaves to all other threads. Returns the seconds
/// that the frame took.
pub(super) fn frame(harness: &mut Harness<'static, Option<App>>) -> f64 {
    let begun = Instant::now();
    harness.step();
    let took = begun.elapsed();
    std::thread::sleep(FRAME.saturating_sub(took));
    took.as_secs_f64()
}

/// The Gallery view, measured.
pub(super) struct GalleryTimes {
    /// From opening the view to its first page with all thumbnails, in milliseconds.
    pub(super) opened_ms: f64,
    /// From the last letter of a search to its first page with all thumbnails, in milliseconds.
    pub(super) searched_ms: f64,
    /// Seconds that each of 600 frames took while everything was scrolled through, shortest first.
    pub(super) frames: Vec<f64>,
}

/// Measures the Gallery view. The pictures' files need not be there.
pub(super) fn gallery_frames(paths: Paths) -> Outcome<GalleryTimes> {
    /// A word of some pictures.
    const WORD: &str = "otter";
    let options = Options {
        settings_path: Some(paths.settings_file.clone()),
        pictures_folder: paths.pictures.clone(),
        ..options_in(&paths.data, Err("it is not measured".into()))
    };
    let options = Options { paths: Some(paths), ..options };
    let mut harness = window(options, Settings::default());
    let deadline = Instant::now() + LIMIT;
    let until = |harness: &mut Harness<'static, Option<App>>, holds: &dyn Fn(&App) -> bool| -> Outcome<()> {
        while !harness.state().as_ref().is_some_and(holds) {
            harness.step();
            if Instant::now() > deadline {
                return Err("the gallery did not answer".into());
            }
        }
        Ok(())
    };
    // What the folders' first scan does is not the view's work.
    until(&mut harness, &|app| app.state().gallery.is_known && !app.state().gallery.found.ids.is_empty())?;
    until(&mut harness, &|app| app.state().gallery.scanning.is_none())?;
    let is_whole = |app: &App| {
        let view = &app.state().gallery;
        view.in_sight().next().is_some() && view.in_sight().all(|id| view.thumbnails.is_known(id))
    };
    // Half a second of the Create view, in which the gallery's threads read the first page.
    for _ in 0..30 {
        harness.step();
        std::thread::sleep(FRAME);
    }
    let begun = Instant::now();
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Num4);
    until(&mut harness, &is_whole)?;
    let opened_ms = begun.elapsed().as_secs_f64() * 1000.0;
    harness.key_press(Key::Slash);
    harness.run_steps(2);
    harness.event(Event::Text(WORD.into()));
    let begun = Instant::now();
    until(&mut harness, &|app| app.state().gallery.found.search.text == WORD && is_whole(app))?;
    let searched_ms = begun.elapsed().as_secs_f64() * 1000.0;
    harness.key_press_modifiers(Modifiers::COMMAND, Key::A);
    harness.key_press(Key::Delete);
    until(&mut harness, &|app| app.state().gallery.found.search.text.is_empty() && is_whole(app))?;
    harness.event(Event::PointerMoved(pos2(900.0, 500.0)));
    let mut frames = Vec::new();
    for _ in 0..600 {
        harness.event(Event::MouseWheel {
            unit: MouseWheelUnit::Point,
            delta: vec2(0.0, -900.0),
            phase: TouchPhase::Move,
            source: MouseWheelSource::Wheel,
            modifiers: Modifiers::NONE,
        });
        frames.push(frame(&mut harness));
    }
    if harness.state().as_ref().is_none_or(|app| app.state().gallery.visible.0 < 1000) {
        return Err("nothing was scrolled".into());
    }
    if let Some(app) = harness.state_mut().take() {
        app.finish();
    }
    frames.sort_by(f64::total_cmp);
    Ok(GalleryTimes { opened_ms, searched_ms, frames })
}

/// Seconds that each of 600 frames of a view took while pictures were made with previews at every
/// step, shortest first.
pub(super) fn frames(files: &ModelFiles, view: Screen) -> Outcome<Vec<f64>> {
    let home = tempfile::tempdir()?;
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u32);
    let recipe = Recipe {
        files: files.clone(),
        prompt: "a lake".into(),
        width: 128,
        height: 128,
        steps: 1000,
        guidance: 1.0,
        threads: Some(threads),
        ..Recipe::default()
    };
    let options = options_in(home.path(), Err("it is not measured".into()));
    let mut harness = window(options, Settings { recipe, ..Settings::default() });
    harness.step();
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    let deadline = Instant::now() + LIMIT;
    while harness.state().as_ref().is_none_or(|app| app.state().create.forming.first().is_none()) {
        harness.step();
        if Instant::now() > deadline {
            return Err("no preview came".into());
        }
    }
    let key = if view == Screen::Devices { Key::Num2 } else { Key::Num1 };
    harness.key_press_modifiers(Modifiers::COMMAND, key);
    let mut frames = Vec::new();
    for _ in 0..600 {
        frames.push(frame(&mut harness));
    }
    if let Some(app) = harness.state_mut().take() {
        app.finish();
    }
    frames.sort_by(f64::total_cmp);
    Ok(frames)
}
