//! Writes the settings a moment after a change.

use std::path::PathBuf;

use eframe::egui;

use crate::gui::saver::{RETRY_SECS, SaveAttempt, SaveEnd, Saver};
use crate::gui::side_panel::SidePanel;
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
    /// As the last frame saw them.
    now: Settings,
}

impl Autosave {
    /// Begins with the settings that were read.
    pub(crate) fn new(path: Option<PathBuf>, settings: Settings) -> Self {
        Self { path, window: settings.window, now: settings.clone(), saver: Saver::new(settings) }
    }

    /// What is to be written, once the settings have been changed for a moment: called once a
    /// frame.
    pub(crate) fn refresh(&mut self, ctx: &egui::Context, state: &State) -> Option<SettingsWrite> {
        self.window = window_place(ctx, self.window);
        follow_state(&mut self.now, self.window, state);
        let is_due = self.path.is_some() && self.saver.is_due(ctx, &self.now, SAVE_AFTER_SECS);
        is_due.then(|| self.begin()).flatten()
    }

    /// What is to be written now, where the settings changed. `retries`: also where they could not
    /// be written the last time.
    pub(crate) fn save(&mut self, state: &State, retries: bool) -> Option<SettingsWrite> {
        follow_state(&mut self.now, self.window, state);
        let is_wanted = self.saver.is_waiting(&self.now) && (retries || self.saver.failure().is_none());
        is_wanted.then(|| self.begin()).flatten()
    }

    fn begin(&mut self) -> Option<SettingsWrite> {
        let path = self.path.clone()?;
        let settings = self.now.clone();
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
        let mut settings = self.now.clone();
        follow_state(&mut settings, self.window, state);
        settings
    }

    /// The settings as the last frame saw them.
    #[cfg(test)]
    pub(crate) const fn seen(&self) -> &Settings {
        &self.now
    }
}

/// Takes over what differs: a frame in which nothing changed clones nothing.
fn follow<T: Clone + PartialEq>(kept: &mut T, now: &T) {
    if kept != now {
        kept.clone_from(now);
    }
}

fn follow_list<'a, T: Clone + PartialEq + 'a>(kept: &mut Vec<T>, now: impl Iterator<Item = &'a T> + Clone) {
    if !now.clone().eq(kept.iter()) {
        *kept = now.cloned().collect();
    }
}

/// Takes a recipe over with these files in place of its own.
fn follow_recipe(kept: &mut Recipe, now: &Recipe, files: &ModelFiles) {
    kept.files.clone_from(&now.files);
    follow(kept, now);
    kept.files.clone_from(files);
}

/// Takes over what differs from the settings of this state.
fn follow_state(kept: &mut Settings, place: Option<WindowPlace>, state: &State) {
    let Settings {
        theme,
        language,
        preview,
        // The window changes neither.
        pictures_folder: _,
        wgpu: _,
        window,
        zoom,
        builtin,
        recipe,
        counts_automatically,
        open_folds,
        hides_side_panel,
        pins,
        placements,
        servers,
        places_automatically,
        preload,
        reserve,
        cpu_math,
        updates,
        auto_advance,
        shows_phrases,
        sharing,
        studio,
        prompts,
        recent_models,
        recent_commands,
        recent_settings,
    } = kept;
    let shared = &state.shared;
    let next = &shared.next;
    (*theme, *language, *zoom, *preview) = (shared.theme, shared.language.chosen, shared.zoom, state.create.preview);
    *window = place.and_then(WindowPlace::sane);
    *builtin = next.uses_builtin();
    let no_files = ModelFiles::default();
    if *builtin {
        follow_recipe(recipe, &next.recipe, next.custom_recipe.as_ref().map_or(&no_files, |own| &own.files));
    } else {
        follow(recipe, &next.recipe);
    }
    *counts_automatically = shared.counts_automatically;
    follow(open_folds, &state.create.open_folds);
    *hides_side_panel = shared.side_panel == SidePanel::Hidden;
    // Before they are known they are as they were.
    if let Some(known) = state.devices.known_pins()
        && pins.as_ref() != Some(known)
    {
        *pins = Some(known.clone());
    }
    follow(placements, &state.devices.saved_placements);
    *servers = state.devices.servers.iter().map(|server| server.address.to_string()).collect();
    (*places_automatically, *preload) = (state.devices.board.automatic.is_on, state.memory.preloading.enabled);
    (*reserve, *cpu_math) = (state.memory.reserve, state.memory.cpu_math);
    follow(updates, &state.program.updates.settings);
    (*auto_advance, *shows_phrases) = (state.gallery.auto_advance, state.phrases.is_on);
    follow(sharing, &state.sharing.settings);
    match &next.studio {
        None => *studio = None,
        Some(model) => {
            let kept = studio.get_or_insert_with(|| ChosenStudio { model: model.clone(), own_recipe: Recipe::default() });
            follow(&mut kept.model, model);
            // The files are those of the recipe.
            match &next.own_recipe {
                Some(own) => follow_recipe(&mut kept.own_recipe, own, &no_files),
                None => kept.own_recipe = Recipe::default(),
            }
        }
    }
    follow_list(prompts, state.create.prompts.prompts().iter());
    follow(recent_commands, &state.palette.recent);
    follow(recent_settings, &state.create.recent_settings);
    // The built-in model has a choice of its own.
    let own_models = next.recent_recipes.recipes().iter().filter(|it| !next.is_builtin(&it.files));
    follow_list(recent_models, own_models.take(MAX_RECENT_MODELS));
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
