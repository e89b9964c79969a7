//! The models in memory, as a person deals with them: going back to one, keeping one, letting one go; and loading the chosen model before a
//! picture is asked for. Nothing here waits.

pub(crate) mod panel;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::gui::context::Context;
use crate::gui::devices;
use crate::gui::devices::update::sent;
use crate::gui::files::FileTask;
use crate::gui::shared::{Shared, with_model_of};
use crate::gui::standing::Standing;
use crate::gui::workers::Workers;
use crate::settings::Settings;
use atelier_core::format::GIB;
use atelier_core::placement::Reserve;
use atelier_core::recipe::Recipe;
use atelier_engine::ResidentId;

/// Seconds that the choice of a model must stand before it is loaded: who looks through a list loads nothing.
const WARM_AFTER_SECS: f64 = 0.4;

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
    pub fn enabled(&self, shared: &Shared) -> Result<(), &'static str> {
        let resident =
            |id: &ResidentId| shared.residency.models.iter().find(|model| model.id == *id).ok_or("It is not in memory any more.");
        match self {
            Self::Use(id) => (!shared.is_chosen(&resident(id)?.files)).then_some(()).ok_or("It is in use for the next picture."),
            Self::Keep(id, _) => resident(id).map(drop),
            Self::Unload(id) => (!resident(id)?.in_use).then_some(()).ok_or("A picture is being made with it. Cancel that first, or wait."),
            Self::SetWarm(_) | Self::SetReserve(_) => Ok(()),
        }
    }
}

/// What is set about models in memory, and which one is being loaded.
#[derive(Debug)]
pub struct State {
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

impl State {
    /// As it was kept.
    #[must_use]
    pub fn kept(settings: &Settings, settings_path: Option<&Path>) -> Self {
        Self {
            warm: settings.preload,
            reserve: settings.reserve,
            loading: false,
            now_secs: 0,
            mark: settings_path.map(|path| path.with_file_name("loading-ahead")),
            started_well: settings_path.is_none(),
            marking: None,
            asked: None,
            changed: Standing::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn has_started(&self) -> bool {
        self.started_well
    }

    #[cfg(test)]
    pub(crate) fn is_noting(&self) -> bool {
        self.marking.is_some()
    }
}

/// What must be known from the start, here and by the engine.
pub(crate) fn start(state: &State, context: &mut Context<'_>) {
    if let Some(mark) = state.mark.clone() {
        context.workers.file(FileTask::CheckCrashMarker(mark));
    }
    if state.reserve != Reserve::default() {
        sent(context.engine.set_reserve(state.reserve));
    }
}

/// Nothing is loaded any more that nobody asked for.
pub(crate) fn loaded(state: &mut State, workers: &Workers) {
    if std::mem::take(&mut state.loading)
        && let Some(mark) = state.mark.clone()
    {
        workers.file(FileTask::DeleteCrashMarker(mark));
    }
}

/// The mark of the last start was removed, where there was one.
pub(crate) fn mark_taken(state: &mut State, was_there: bool, context: &mut Context<'_>) {
    state.started_well = true;
    if was_there && state.warm {
        state.asked = Some(Box::new(context.shared.recipe.clone()));
        let name = context.shared.model_name(&context.shared.recipe.files);
        context.notice(format!("Atelier ended while it loaded {name}. It is not loaded by itself this time."));
    }
}

/// The mark is there: what it is for can begin.
pub(crate) fn mark_set(state: &mut State, context: &Context<'_>) {
    if let Some(recipe) = state.marking.take() {
        sent(context.engine.preload(Some(*recipe)));
    }
}

/// Has the chosen model loaded, once its choice stands and it is known to fit. Not before the first frame is on the screen: what it takes
/// is asked by that one.
pub(crate) fn load_ahead(state: &mut State, devices: &devices::State, context: &mut Context<'_>) {
    let now = context.egui.time();
    state.now_secs = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let Some(wanted) = wants_to_load(state, devices, context.shared) else { return };
    let wanted = wanted.then_some(&context.shared.recipe);
    if same_model(wanted, state.asked.as_deref()) {
        state.changed.forget();
        return;
    }
    let same = |changed: &Option<Box<Recipe>>| same_model(changed.as_deref(), wanted);
    if let Some(rest) = state.changed.rest(same, || wanted.cloned().map(Box::new), now, WARM_AFTER_SECS) {
        context.egui.request_repaint_after_secs(rest);
        return;
    }
    let recipe = wanted.cloned().map(Box::new);
    let is_new = recipe.is_some() && context.shared.chosen_resident().is_none();
    state.changed.forget();
    (state.asked, state.marking) = (recipe.clone(), None);
    match (recipe, state.mark.clone()) {
        (Some(recipe), Some(mark)) if is_new => {
            (state.loading, state.marking) = (true, Some(recipe));
            context.workers.file(FileTask::WriteCrashMarker(mark));
        }
        (recipe, _) => {
            state.loading = is_new;
            sent(context.engine.preload(recipe.map(|recipe| *recipe)));
        }
    }
}

/// Whether the chosen model is to be loaded beforehand; `None`: it is not known yet whether it fits.
fn wants_to_load(state: &State, devices: &devices::State, shared: &Shared) -> Option<bool> {
    let (board, recipe) = (&devices.board, &shared.recipe);
    if !state.warm || recipe.files.is_empty() {
        return Some(false);
    }
    if !state.started_well || !board.is_about(recipe) {
        return None;
    }
    Some(board.prediction.is_some() && !board.is_over() && board.text_errors.iter().all(Option::is_none))
}

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: MemoryCommand, context: &mut Context<'_>) {
    match command {
        MemoryCommand::Use(id) => use_resident(id, context),
        MemoryCommand::Keep(id, kept) => {
            sent(context.engine.keep_model(id, kept));
        }
        MemoryCommand::Unload(id) => {
            // What a person lets go does not come back by itself.
            if context.shared.chosen_resident().is_some_and(|model| model.id == id) {
                state.asked = Some(Box::new(context.shared.recipe.clone()));
            }
            sent(context.engine.unload_model(id));
        }
        MemoryCommand::SetWarm(warm) => state.warm = warm,
        MemoryCommand::SetReserve(reserve) => {
            let reserve = Reserve { percent: reserve.percent.min(MOST_PERCENT), most_bytes: reserve.most_bytes.min(MOST_GIB * GIB) };
            if sent(context.engine.set_reserve(reserve)) {
                state.reserve = reserve;
            }
        }
    }
}

/// Goes on with a model that is in memory, with the settings that it was used with. What a person says in words stays.
fn use_resident(id: ResidentId, context: &mut Context<'_>) {
    let Some(files) = context.shared.residency.models.iter().find(|model| model.id == id).map(|model| model.files.clone()) else { return };
    let now = context.shared.recipe.clone();
    context.shared.recent_recipes.remember(&now);
    let before = context.shared.recent_recipes.of(&files).cloned();
    if context.shared.is_builtin(&files) {
        context.shared.use_builtin();
    } else if context.shared.uses_builtin() {
        context.shared.use_own_files();
        context.shared.recipe.files.clone_from(&files);
    } else {
        context.shared.recipe.files.clone_from(&files);
    }
    if let Some(before) = before {
        let placement = before.placement.clone();
        context.shared.recipe = Recipe { placement, ..with_model_of(now, before) };
    }
}
