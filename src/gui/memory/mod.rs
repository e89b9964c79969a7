//! The models in memory, as a person deals with them: going back to one, keeping one, letting one go; and loading the chosen model before a
//! picture is asked for. Nothing here waits.

pub(crate) mod panel;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use eframe::egui;

use crate::gui::App;
use crate::gui::devices::link::sent;
use crate::gui::dispatch::carried;
use crate::gui::files::FileTask;
use crate::gui::standing::Standing;
use crate::gui::state::State;
use crate::settings::Settings;
use atelier_core::format::GIB;
use atelier_core::placement::Reserve;
use atelier_core::recipe::{ModelFiles, Recipe};
use atelier_engine::{Residency, Resident, ResidentId};

/// Seconds that the choice of a model must stand before it is loaded: who looks through a list loads nothing.
const WARM_AFTER_SECS: f64 = 0.4;
/// Models whose settings are remembered while the window is open.
const MOST_RECIPES: usize = 32;

/// The most that can be left free of a device, in per cent.
pub const MOST_PERCENT: u8 = 50;
/// The most that can be left free of a device, in GiB.
pub const MOST_GIB: u64 = 64;

/// What a person can ask of the models in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryCommand {
    /// Make the next picture with this one.
    Use(ResidentId),
    /// Let it stay whatever others need, or no longer.
    Keep(ResidentId, bool),
    /// Give its memory back.
    Unload(ResidentId),
    /// Load the chosen model before a picture is asked for, or not.
    SetWarm(bool),
    /// How much of each device is left to other programs.
    SetReserve(Reserve),
}

impl MemoryCommand {
    /// The words on its control, which are its accessible name too.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Use(_) => "Use this model",
            Self::Keep(_, true) => "Keep in memory",
            Self::Keep(_, false) => "No longer keep in memory",
            Self::Unload(_) => "Unload",
            Self::SetWarm(_) => "Load ahead",
            Self::SetReserve(_) => "Leave free",
        }
    }

    /// What it does, in a sentence.
    #[must_use]
    pub const fn tooltip(&self) -> &'static str {
        match self {
            Self::Use(_) => "Go on with this model. It is in memory, so its next picture waits for nothing.",
            Self::Keep(_, true) => "Keep this model in memory, whatever others need.",
            Self::Keep(_, false) => "Kept in memory. Press to let it go when others need the room.",
            Self::Unload(_) => "Give its memory back. It is loaded again when a picture needs it.",
            Self::SetWarm(_) => "Load the chosen model before a picture is asked for, so that Generate waits less.",
            Self::SetReserve(_) => "How much of each graphics card is left to other programs. Of RAM, 2 GiB or a tenth always stay free.",
        }
    }

    /// Whether it can be done now; where not, why.
    ///
    /// # Errors
    /// A sentence for a person that says why not.
    pub fn enabled(&self, state: &State) -> Result<(), &'static str> {
        let resident = |id: &ResidentId| state.residency.models.iter().find(|model| model.id == *id).ok_or("It is not in memory any more.");
        match self {
            Self::Use(id) => (!state.is_chosen(&resident(id)?.files)).then_some(()).ok_or("It is in use for the next picture."),
            Self::Keep(id, _) => resident(id).map(drop),
            Self::Unload(id) => (!resident(id)?.in_use).then_some(()).ok_or("A picture is being made with it. Cancel that first, or wait."),
            Self::SetWarm(_) | Self::SetReserve(_) => Ok(()),
        }
    }
}

/// What is set about models in memory, and which one is being loaded.
#[derive(Debug)]
pub struct Memory {
    /// Whether the chosen model is loaded before a picture is asked for.
    pub warm: bool,
    /// What is left of each device to other programs.
    pub reserve: Reserve,
    /// Whether the chosen model is being loaded beforehand.
    pub loading: bool,
    /// Now, in seconds since 1970.
    pub now_secs: u64,
    /// Where it is noted that a model is being loaded which nobody asked for: what ends the program then is not done again at the next start.
    mark: Option<PathBuf>,
    /// Whether it is known that the last start went well.
    started_well: bool,
    /// What is loaded as soon as that is noted.
    marking: Option<Box<Recipe>>,
    /// The last recipe of each model that was used, the latest first.
    recipes: Vec<Recipe>,
    /// The recipe whose model was asked for last; `None`: nothing is to be loaded.
    asked: Option<Box<Recipe>>,
    changed: Standing<Option<Box<Recipe>>>,
}

/// Whether both name the same model, or none.
fn same_model(one: Option<&Recipe>, other: Option<&Recipe>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.opens_like(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

impl Memory {
    /// As it was kept.
    #[must_use]
    pub fn kept(settings: &Settings, settings_path: Option<&Path>) -> Self {
        Self {
            warm: settings.warm,
            reserve: settings.reserve,
            loading: false,
            now_secs: 0,
            mark: settings_path.map(|path| path.with_file_name("loading-ahead")),
            started_well: settings_path.is_none(),
            marking: None,
            recipes: Vec::new(),
            asked: None,
            changed: Standing::default(),
        }
    }

    /// Remembers the settings that a model is used with.
    pub(crate) fn remember(&mut self, recipe: &Recipe) {
        self.recipes.retain(|it| !same_paths(&it.files, &recipe.files));
        self.recipes.insert(0, recipe.clone());
        self.recipes.truncate(MOST_RECIPES);
    }

    #[cfg(test)]
    pub(crate) fn has_started(&self) -> bool {
        self.started_well
    }

    #[cfg(test)]
    pub(crate) fn is_noting(&self) -> bool {
        self.marking.is_some()
    }

    fn recipe_of(&self, files: &ModelFiles) -> Option<&Recipe> {
        self.recipes.iter().find(|it| same_paths(&it.files, files))
    }
}

/// Whether these are the same files, whatever each is said to be for: the engine puts roles right.
fn same_paths(one: &ModelFiles, other: &ModelFiles) -> bool {
    let paths = |files: &ModelFiles| files.iter().map(|(_, path)| path.to_owned()).collect::<BTreeSet<_>>();
    paths(one) == paths(other)
}

impl State {
    /// Whether the next picture is made with these files.
    #[must_use]
    pub fn is_chosen(&self, files: &ModelFiles) -> bool {
        same_paths(files, &self.recipe.files)
    }

    /// What a model of these files is called: the built-in one's name, else its main file's.
    #[must_use]
    pub fn model_name(&self, files: &ModelFiles) -> String {
        if let Some(builtin) = self.builtin.as_ref().ok().filter(|builtin| same_paths(builtin.files(), files)) {
            return builtin.manifest().name.clone();
        }
        let main = files.main();
        let stem = main.or_else(|| files.iter().next().map(|(_, path)| path)).and_then(Path::file_stem);
        stem.map_or_else(|| "No files".to_owned(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Bytes that models hold of a device which the next picture is not made with.
    #[must_use]
    pub fn held_by_other_models(&self, device: &str) -> u64 {
        let own =
            self.chosen_resident().map_or(0, |model| model.parts.iter().filter(|part| part.device == device).map(|part| part.bytes).sum());
        self.board.held.get(device).copied().unwrap_or(0).saturating_sub(own)
    }

    /// The model of the next picture, where it is in memory.
    #[must_use]
    pub fn chosen_resident(&self) -> Option<&Resident> {
        self.residency.models.iter().find(|model| self.is_chosen(&model.files))
    }
}

impl App {
    /// What must be known from the start, here and by the engine.
    pub(crate) fn begin_memory(&mut self) {
        if let Some(mark) = self.state.memory.mark.clone() {
            self.workers.file(FileTask::TakeMark(mark));
        }
        if self.state.memory.reserve != Reserve::default() {
            sent(self.handle.set_reserve(self.state.memory.reserve));
        }
    }

    pub(crate) fn residency_told(&mut self, residency: Residency) {
        self.loaded();
        let state = &mut self.state;
        state.board.held = residency.held_bytes();
        state.board.touch();
        state.residency = residency;
    }

    /// Nothing is loaded any more that nobody asked for.
    pub(crate) fn loaded(&mut self) {
        if std::mem::take(&mut self.state.memory.loading)
            && let Some(mark) = self.state.memory.mark.clone()
        {
            self.workers.file(FileTask::ClearMark(mark));
        }
    }

    pub(crate) fn mark_taken(&mut self, ctx: &egui::Context, was_there: bool) {
        self.state.memory.started_well = true;
        if was_there && self.state.memory.warm {
            self.state.memory.asked = Some(Box::new(self.state.recipe.clone()));
            let name = self.state.model_name(&self.state.recipe.files);
            self.notice(ctx, format!("Atelier ended while it loaded {name}. It is not loaded by itself this time."));
        }
    }

    pub(crate) fn mark_set(&mut self) {
        if let Some(recipe) = self.state.memory.marking.take() {
            sent(self.handle.preload(Some(*recipe)));
        }
    }

    /// Has the chosen model loaded, once its choice stands and it is known to fit. Not before the first frame is on the screen: what it takes
    /// is asked by that one.
    pub(crate) fn load_ahead(&mut self, ctx: &egui::Context) {
        let now = ctx.time();
        self.state.memory.now_secs = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let Some(wanted) = self.wants_to_load() else { return };
        let State { recipe, memory, .. } = &mut self.state;
        let wanted = wanted.then_some(&*recipe);
        if same_model(wanted, memory.asked.as_deref()) {
            memory.changed.forget();
            return;
        }
        let same = |changed: &Option<Box<Recipe>>| same_model(changed.as_deref(), wanted);
        if let Some(rest) = memory.changed.rest(same, || wanted.cloned().map(Box::new), now, WARM_AFTER_SECS) {
            ctx.request_repaint_after_secs(rest);
            return;
        }
        let recipe = wanted.cloned().map(Box::new);
        let is_new = recipe.is_some() && self.state.chosen_resident().is_none();
        let memory = &mut self.state.memory;
        memory.changed.forget();
        (memory.asked, memory.marking) = (recipe.clone(), None);
        match (recipe, memory.mark.clone()) {
            (Some(recipe), Some(mark)) if is_new => {
                (memory.loading, memory.marking) = (true, Some(recipe));
                self.workers.file(FileTask::SetMark(mark));
            }
            (recipe, _) => {
                memory.loading = is_new;
                sent(self.handle.preload(recipe.map(|recipe| *recipe)));
            }
        }
    }

    /// Whether the chosen model is to be loaded beforehand; `None`: it is not known yet whether it fits.
    fn wants_to_load(&self) -> Option<bool> {
        let State { recipe, board, memory, .. } = &self.state;
        if !memory.warm || recipe.files.is_empty() {
            return Some(false);
        }
        if !memory.started_well || !board.is_about(recipe) {
            return None;
        }
        Some(board.prediction.is_some() && !board.is_over() && board.text_errors.iter().all(Option::is_none))
    }

    pub(crate) fn memory_command(&mut self, command: MemoryCommand) {
        match command {
            MemoryCommand::Use(id) => self.use_resident(id),
            MemoryCommand::Keep(id, kept) => {
                sent(self.handle.keep_model(id, kept));
            }
            MemoryCommand::Unload(id) => {
                // What a person lets go does not come back by itself.
                if self.state.chosen_resident().is_some_and(|model| model.id == id) {
                    self.state.memory.asked = Some(Box::new(self.state.recipe.clone()));
                }
                sent(self.handle.unload_model(id));
            }
            MemoryCommand::SetWarm(warm) => self.state.memory.warm = warm,
            MemoryCommand::SetReserve(reserve) => {
                let reserve = Reserve { percent: reserve.percent.min(MOST_PERCENT), most_bytes: reserve.most_bytes.min(MOST_GIB * GIB) };
                if sent(self.handle.set_reserve(reserve)) {
                    self.state.memory.reserve = reserve;
                }
            }
        }
    }

    /// Goes on with a model that is in memory, with the settings that it was used with. What a person says in words stays.
    fn use_resident(&mut self, id: ResidentId) {
        let Some(files) = self.state.residency.models.iter().find(|model| model.id == id).map(|model| model.files.clone()) else { return };
        let now = self.state.recipe.clone();
        self.state.memory.remember(&now);
        let before = self.state.memory.recipe_of(&files).cloned();
        if self.state.builtin.as_ref().is_ok_and(|builtin| same_paths(builtin.files(), &files)) {
            self.use_builtin();
        } else if self.state.uses_builtin() {
            self.use_own_files();
            self.state.recipe.files.clone_from(&files);
        } else {
            self.state.recipe.files.clone_from(&files);
        }
        if let Some(before) = before {
            let placement = before.placement.clone();
            self.state.recipe = Recipe { placement, ..carried(now, before) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::FileRole;

    #[test]
    fn a_model_is_the_same_whatever_its_files_are_said_to_be_for() {
        let (mut one, mut other) = (ModelFiles::default(), ModelFiles::default());
        one.set(FileRole::Model, "/m/a.safetensors");
        other.set(FileRole::Diffusion, "/m/a.safetensors");
        assert!(same_paths(&one, &other));
        other.set(FileRole::Vae, "/m/b.safetensors");
        assert!(!same_paths(&one, &other));
    }
}
