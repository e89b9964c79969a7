//! Writes the settings a moment after a change.

use std::path::PathBuf;

use eframe::egui;

use crate::gui::saver::{RETRY_SECS, SaveAttempt, SaveEnd, Saver};
use crate::gui::state::State;
use crate::settings::{ChosenStudio, Settings, WindowPlace};
use atelier_core::recipe::{ModelFiles, Recipe};
use atelier_language::tr;

/// Models that are remembered over a restart.
const MAX_RECENT_MODELS: usize = 8;
/// Seconds of change until the settings are written.
const SAVE_AFTER_SECS: f64 = 1.0;

/// Settings that are to be written.
pub(crate) struct SettingsWrite {
    pub(crate) path: PathBuf,
    /// By which [`Autosave::ended`] knows it.
    pub(crate) attempt: SaveAttempt,
    pub(crate) settings: Settings,
}

/// The settings as they were last written, and what becomes of those that have changed since.
pub(crate) struct Autosave {
    /// `None` keeps nothing.
    path: Option<PathBuf>,
    /// Follows the file: what was last written or read.
    saver: Saver<Settings>,
    window: Option<WindowPlace>,
}

impl Autosave {
    /// Begins with the settings that were read.
    pub(crate) fn new(path: Option<PathBuf>, settings: Settings) -> Self {
        Self { path, window: settings.window, saver: Saver::new(settings) }
    }

    /// What is to be written, once the settings have been changed for a moment: called once a
    /// frame.
    pub(crate) fn refresh(&mut self, ctx: &egui::Context, state: &State) -> Option<SettingsWrite> {
        self.window = window_place(ctx, self.window);
        let settings = self.settings(state);
        let is_due = self.path.is_some() && self.saver.is_due(ctx, &settings, SAVE_AFTER_SECS);
        is_due.then(|| self.begin(settings)).flatten()
    }

    /// What is to be written now, where the settings changed. `retries`: also where they could not
    /// be written the last time.
    pub(crate) fn save(&mut self, state: &State, retries: bool) -> Option<SettingsWrite> {
        let settings = self.settings(state);
        let is_wanted = self.saver.is_waiting(&settings) && (retries || self.saver.failure().is_none());
        is_wanted.then(|| self.begin(settings)).flatten()
    }

    fn begin(&mut self, settings: Settings) -> Option<SettingsWrite> {
        let path = self.path.clone()?;
        Some(SettingsWrite { path, attempt: self.saver.begin(settings.clone()), settings })
    }

    /// The settings were written, or not; a sentence for the person where that is new.
    pub(crate) fn ended(&mut self, ctx: &egui::Context, attempt: SaveAttempt, result: Result<(), String>) -> Option<String> {
        match self.saver.ended(ctx, attempt, result) {
            SaveEnd::Failed => {
                self.saver.failure().map(|sentence| tr!("window-atelier-tries-again-every", sentence, retry_secs = RETRY_SECS))
            }
            SaveEnd::WrittenAgain => Some(tr!("window-your-settings-are-saved").into()),
            SaveEnd::Written | SaveEnd::FailedAgain | SaveEnd::Overtaken => None,
        }
    }

    /// True while settings are on their way to the file.
    pub(crate) const fn is_saving(&self) -> bool {
        self.saver.is_writing()
    }

    /// A sentence with the reason, where the settings of this state are not in the file.
    pub(crate) fn unsaved(&self, state: &State) -> Option<String> {
        let is_unsaved = self.path.is_some() && self.saver.is_unsaved(&self.settings(state));
        is_unsaved.then(|| self.saver.failure().unwrap_or(tr!("window-your-settings-the-disk")).to_owned())
    }

    /// The settings of this state.
    pub(crate) fn settings(&self, state: &State) -> Settings {
        let shared = &state.shared;
        Settings {
            theme: shared.theme,
            language: shared.language.chosen,
            preview: state.create.preview,
            pictures_folder: self.saver.written().pictures_folder.clone(),
            wgpu: self.saver.written().wgpu,
            window: self.window.and_then(WindowPlace::sane),
            zoom: shared.zoom,
            builtin: shared.next.uses_builtin(),
            recipe: if shared.next.uses_builtin() {
                let files = shared.next.custom_recipe.as_ref().map(|own| own.files.clone()).unwrap_or_default();
                Recipe { files, ..shared.next.recipe.clone() }
            } else {
                shared.next.recipe.clone()
            },
            pins: state.devices.known_pins().or_else(|| self.saver.written().pins.clone()),
            placements: state.devices.saved_placements.clone(),
            servers: state.devices.servers.iter().map(|server| server.address.to_string()).collect(),
            preload: state.memory.preloading.enabled,
            counts_automatically: state.shared.counts_automatically,
            open_folds: state.create.open_folds.clone(),
            reserve: state.memory.reserve,
            places_automatically: state.devices.board.automatic.is_on,
            cpu_math: state.memory.cpu_math,
            updates: state.program.updates.settings.clone(),
            auto_advance: state.gallery.auto_advance,
            shows_phrases: state.phrases.is_on,
            sharing: state.sharing.settings.clone(),
            studio: shared.next.studio.clone().map(|model| {
                // The files are those of the recipe.
                let own_recipe = shared.next.own_recipe.as_deref().cloned().unwrap_or_default();
                ChosenStudio { model, own_recipe: Recipe { files: ModelFiles::default(), ..own_recipe } }
            }),
            prompts: state.create.prompts.prompts().to_vec(),
            recent_models: recent_models(state),
        }
    }
}

/// The last settings of the models that were used; the built-in one has a choice of its own.
fn recent_models(state: &State) -> Vec<Recipe> {
    let next = &state.shared.next;
    next.recent_recipes.recipes().iter().filter(|it| !next.is_builtin(&it.files)).take(MAX_RECENT_MODELS).cloned().collect()
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
