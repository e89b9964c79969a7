//! Effects of the commands for resident models, and preloading of the chosen model. Nothing here
//! waits.

use std::time::SystemTime;

use crate::gui::context::{Background, Context, log_if_busy};
use crate::gui::due;
use crate::gui::memory::command::Command;
use crate::gui::memory::state::{MAX_RESERVE_GIB, MAX_RESERVE_PERCENT, State};
use crate::gui::workers::Worker;
use atelier_core::format::GIB;
use atelier_core::placement::Reserve;
use atelier_core::recipe::{ModelFiles, Recipe};
use atelier_language::tr;
use atelier_studio::next_recipe::with_model_of;
use atelier_studio::preloading::{self, PreloadAction, PreloadCandidate};

/// Looks for the crash marker of the last run, and tells the engine the reserve of the settings.
pub(crate) fn start(state: &State, context: &mut Context<'_>) {
    if let Some(marker) = state.preloading.marker_to_check() {
        let marker = marker.to_owned();
        context.run(
            Worker::Files,
            move || preloading::take_crash_marker(&marker),
            |existed, features, context| crash_marker_checked(features.memory, existed, context),
        );
    }
    if state.reserve != Reserve::default() {
        log_if_busy(context.engine.set_reserve(state.reserve));
    }
}

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::Use(id) => {
            let files = context.shared.residency.models.iter().find(|model| model.id == id).map(|model| model.files.clone());
            use_model(files, context);
        }
        Command::UseRecent(at) => use_model(context.shared.next.recent_recipes.recipes().get(at).map(|it| it.files.clone()), context),
        Command::Keep(id, keep) => {
            log_if_busy(context.engine.keep_model(id, keep));
        }
        Command::Unload(id) => {
            // A model that a person unloads is not preloaded again.
            if context.shared.chosen_resident().is_some_and(|model| model.id == id) {
                state.preloading.suppress(&context.shared.next.recipe);
            }
            log_if_busy(context.engine.unload_model(id));
        }
        Command::UnloadAll => {
            if context.shared.chosen_resident().is_some() {
                state.preloading.suppress(&context.shared.next.recipe);
            }
            log_if_busy(context.engine.unload());
        }
        Command::SetCpuMath(math) => state.cpu_math = math,
        Command::SetPreload(enabled) => state.preloading.enabled = enabled,
        Command::SetReserve(reserve) => {
            let reserve =
                Reserve { percent: reserve.percent.min(MAX_RESERVE_PERCENT), most_bytes: reserve.most_bytes.min(MAX_RESERVE_GIB * GIB) };
            if log_if_busy(context.engine.set_reserve(reserve)) {
                state.reserve = reserve;
            }
        }
    }
}

/// Chooses the model of these files with the settings of its last use. Words, seed and other choices
/// that are not about the model stay.
fn use_model(files: Option<ModelFiles>, context: &mut Context<'_>) {
    let Some(files) = files else { return };
    let shared = &mut *context.shared;
    let now = shared.next.recipe.clone();
    shared.next.recent_recipes.remember(&now);
    let last = shared.next.recent_recipes.of(&files).cloned();
    if shared.next.is_builtin(&files) {
        shared.next.use_builtin();
    } else {
        if shared.next.uses_builtin() {
            shared.next.use_own_files();
        }
        shared.next.recipe.files.clone_from(&files);
    }
    if let Some(last) = last {
        let placement = last.placement.clone();
        shared.next.recipe = Recipe { placement, ..with_model_of(&now, last) };
    }
}

/// Ends a preloading, so that its crash marker does not outlive it: the engine has reported its
/// resident models, or the window closes.
pub(crate) fn end_preloading(state: &mut State, background: &Background) {
    if let Some(marker) = state.preloading.end() {
        background.run_silently(Worker::Files, move || preloading::delete_crash_marker(&marker));
    }
}

/// The crash marker of the last run has been looked for.
fn crash_marker_checked(state: &mut State, existed: bool, context: &mut Context<'_>) {
    if state.preloading.marker_checked(existed, &context.shared.next.recipe) {
        let name = context.shared.next.model_name(&context.shared.next.recipe.files);
        context.notice(tr!("memory-atelier-crashed-while-loading", name));
    }
}

/// The crash marker is on the disk, or cannot be: now the model may be loaded.
fn crash_marker_written(state: &mut State, context: &Context<'_>) {
    if let Some(recipe) = state.preloading.marker_written() {
        log_if_busy(context.engine.preload(Some(*recipe)));
    }
}

/// Preloads the chosen model once its choice stands. `fits`: its placement fits into memory; `None`
/// while that is not known.
pub(crate) fn refresh(state: &mut State, fits: Option<bool>, context: &mut Context<'_>) {
    state.now_secs = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let candidate = PreloadCandidate { recipe: &context.shared.next.recipe, fits, is_resident: context.shared.chosen_resident().is_some() };
    match state.preloading.next_action(candidate, context.egui.time()) {
        PreloadAction::None => {}
        PreloadAction::Wait(secs) => due::wake_in(context.egui, f64::from(secs)),
        PreloadAction::WriteMarker(marker) => context.run(
            Worker::Files,
            move || preloading::write_crash_marker(&marker),
            |(), features, context| crash_marker_written(features.memory, context),
        ),
        PreloadAction::Preload(recipe) => {
            log_if_busy(context.engine.preload(recipe.map(|recipe| *recipe)));
        }
    }
}
