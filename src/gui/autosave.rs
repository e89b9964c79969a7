//! Writes the settings a moment after the last change.

use std::path::PathBuf;

use eframe::egui;

use crate::gui::files::FileTask;
use crate::gui::state::State;
use crate::gui::workers::Workers;
use crate::settings::{Settings, WindowPlace};
use atelier_core::recipe::Recipe;

/// Seconds after the last change until the settings are written.
const SAVE_AFTER_SECS: f64 = 1.0;

/// The settings as they were last written, and when they changed since.
pub(crate) struct Autosave {
    /// `None` keeps nothing.
    path: Option<PathBuf>,
    /// As they were last written or read.
    written: Settings,
    changed_at_secs: Option<f64>,
    window: Option<WindowPlace>,
}

impl Autosave {
    /// Begins with the settings that were read.
    pub(crate) fn new(path: Option<PathBuf>, settings: Settings) -> Self {
        Self { path, changed_at_secs: None, window: settings.window, written: settings }
    }

    /// Writes the settings once they have not changed for a moment.
    pub(crate) fn refresh(&mut self, ctx: &egui::Context, state: &State, workers: &Workers) {
        self.window = window_place(ctx, self.window);
        let now = ctx.time();
        if self.settings(state) == self.written {
            self.changed_at_secs = None;
            return;
        }
        match self.changed_at_secs {
            Some(at) if now - at >= SAVE_AFTER_SECS => self.save(state, workers),
            Some(_) => {}
            None => {
                self.changed_at_secs = Some(now);
                ctx.request_repaint_after_secs(SAVE_AFTER_SECS as f32 + 0.05);
            }
        }
    }

    /// Writes the settings now, where they changed.
    pub(crate) fn save(&mut self, state: &State, workers: &Workers) {
        let settings = self.settings(state);
        self.changed_at_secs = None;
        if settings == self.written {
            return;
        }
        self.written = settings.clone();
        if let Some(path) = self.path.clone() {
            workers.file(FileTask::SaveSettings(path, Box::new(settings)));
        }
    }

    /// The settings of this state.
    pub(crate) fn settings(&self, state: &State) -> Settings {
        let shared = &state.shared;
        Settings {
            theme: shared.theme,
            preview: state.create.preview,
            pictures_folder: self.written.pictures_folder.clone(),
            wgpu: self.written.wgpu,
            window: self.window.and_then(WindowPlace::sane),
            zoom: shared.zoom,
            builtin: shared.uses_builtin(),
            recipe: if shared.uses_builtin() {
                let files = shared.custom_recipe.as_ref().map(|own| own.files.clone()).unwrap_or_default();
                Recipe { files, ..shared.recipe.clone() }
            } else {
                shared.recipe.clone()
            },
            pins: state.devices.known_pins().or_else(|| self.written.pins.clone()),
            placements: state.devices.saved_placements.clone(),
            servers: state.devices.servers.iter().map(|server| server.address.to_string()).collect(),
            preload: state.memory.preloading.enabled,
            reserve: state.memory.reserve,
            places_automatically: state.devices.board.automatic.is_on,
            cpu_math: state.memory.cpu_math,
            updates: state.program.updates.settings.clone(),
            prompts: state.create.prompts.prompts().to_vec(),
        }
    }
}

/// The place of the window now; a minimized one keeps the last.
fn window_place(ctx: &egui::Context, before: Option<WindowPlace>) -> Option<WindowPlace> {
    let zoom = ctx.zoom_factor();
    ctx.input(|input| {
        let viewport = input.viewport();
        let Some(inside) = viewport.inner_rect.filter(|_| viewport.minimized != Some(true)) else { return before };
        let maximized = viewport.maximized == Some(true) || viewport.fullscreen == Some(true);
        match before {
            // A maximized window keeps the place to which it will be restored.
            Some(before) if maximized => Some(WindowPlace { maximized, ..before }),
            _ => Some(WindowPlace {
                x: viewport.outer_rect.map(|it| it.left() * zoom),
                y: viewport.outer_rect.map(|it| it.top() * zoom),
                width: inside.width() * zoom,
                height: inside.height() * zoom,
                maximized,
                scale: viewport.native_pixels_per_point,
            }),
        }
    })
}
