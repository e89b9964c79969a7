//! The window's own work a frame, while the engine works on all cores.

use std::time::{Duration, Instant};

use atelier::gui::shared::Screen;
use atelier::gui::{App, Options};
use atelier::settings::Settings;
use atelier_core::recipe::{ModelFiles, Recipe};
use atelier_engine::start;
use eframe::egui::{Key, Modifiers};
use egui_kittest::Harness;

use super::{LIMIT, Outcome};

/// Seconds that each of 600 frames of a view took while pictures were made with previews at every step, shortest first.
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
    let options = Options {
        paths: None,
        updates: None,
        settings_path: Some(home.path().join("settings.json")),
        pictures_folder: home.path().join("Pictures"),
        wgpu: false,
        builtin: Err("it is not measured".into()),
        library: None,
    };
    let mut parts = Some((start(|| {}), Settings { recipe, ..Settings::default() }));
    let mut harness = Harness::builder().with_size([1440.0, 900.0]).build_ui_state(
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
    );
    harness.step();
    harness.key_press_modifiers(Modifiers::COMMAND, Key::Enter);
    let deadline = Instant::now() + LIMIT;
    while harness.state().as_ref().is_none_or(|app| app.state().create.forming.is_none()) {
        harness.step();
        if Instant::now() > deadline {
            return Err("no preview came".into());
        }
    }
    let key = if view == Screen::Devices { Key::Num2 } else { Key::Num1 };
    harness.key_press_modifiers(Modifiers::COMMAND, key);
    let mut frames = Vec::new();
    for _ in 0..600 {
        let begun = Instant::now();
        harness.step();
        let took = begun.elapsed();
        frames.push(took.as_secs_f64());
        // As a screen of 60 Hz leaves it to the engine.
        std::thread::sleep(Duration::from_micros(16_667).saturating_sub(took));
    }
    if let Some(app) = harness.state_mut().take() {
        app.finish();
    }
    frames.sort_by(f64::total_cmp);
    Ok(frames)
}
