//! Preloading: the chosen model is loaded before a picture is asked for.
//!
//! A state machine without threads, files and clock: the caller carries out each [`PreloadAction`]
//! and reports its result. The functions of the crash marker are the only ones that touch the disk;
//! they run on the caller's file thread.
//!
//! Invariants: a model is requested once until another recipe is chosen; no model is loaded before
//! its crash marker is on the disk; a model whose preloading ended the program is not preloaded at
//! the next start.

use std::path::{Path, PathBuf};

use atelier_core::paths;
use atelier_core::recipe::Recipe;

use crate::debounce::Debounce;

/// Seconds without another choice before a model is loaded: stepping through a list of models loads
/// none of them.
const PRELOAD_DELAY_SECS: f64 = 0.4;
/// Name of the crash marker's file, beside the settings.
const MARKER_NAME: &str = "loading-ahead";

#[derive(Debug)]
pub struct Preloading {
    /// The setting of the person.
    pub enabled: bool,
    /// Path of the crash marker: a file that exists while a model is preloaded, so that the next
    /// start knows of a crash. `None`: none is kept.
    crash_marker: Option<PathBuf>,
    /// True once the marker of the last run has been looked for.
    marker_checked: bool,
    /// True while a model that is not resident is preloaded.
    loading: bool,
    /// Recipe to preload as soon as the marker is written.
    awaiting_marker: Option<Box<Recipe>>,
    /// Last recipe whose model was requested; `None`: no model is to be preloaded.
    requested: Option<Box<Recipe>>,
    candidate: Debounce<Option<Box<Recipe>>>,
}

/// Recipe of the next picture, as far as preloading must know it.
#[derive(Clone, Copy, Debug)]
pub struct PreloadCandidate<'a> {
    /// Recipe of the next picture.
    pub recipe: &'a Recipe,
    /// Memory of its placement suffices; `None`: not known yet.
    pub fits: Option<bool>,
    /// Its model is resident.
    pub is_resident: bool,
}

/// Next step of the caller.
#[derive(Clone, Debug, PartialEq)]
pub enum PreloadAction {
    None,
    /// Ask again after these seconds.
    Wait(f32),
    /// Write the crash marker, then call [`Preloading::marker_written`].
    WriteMarker(PathBuf),
    /// Send this to the engine; `None` ends a preloading.
    Preload(Option<Box<Recipe>>),
}

impl Preloading {
    /// Preloading with the crash marker beside the settings file; without that file there is no
    /// marker.
    #[must_use]
    pub fn new(enabled: bool, settings_path: Option<&Path>) -> Self {
        Self {
            enabled,
            crash_marker: settings_path.map(|path| path.with_file_name(MARKER_NAME)),
            marker_checked: settings_path.is_none(),
            loading: false,
            awaiting_marker: None,
            requested: None,
            candidate: Debounce::default(),
        }
    }

    /// True while a model is preloaded.
    #[must_use]
    pub fn is_loading(&self) -> bool {
        self.loading
    }

    /// Crash marker to look for at the start; the result goes to [`Self::marker_checked`].
    #[must_use]
    pub fn marker_to_check(&self) -> Option<&Path> {
        self.crash_marker.as_deref()
    }

    /// Result of the look for the crash marker. Returns true if the last run ended while it
    /// preloaded: the model of this recipe is then not preloaded until another one was.
    pub fn marker_checked(&mut self, existed: bool, recipe: &Recipe) -> bool {
        self.marker_checked = true;
        let crashed = existed && self.enabled;
        if crashed {
            self.suppress(recipe);
        }
        crashed
    }

    /// Takes the model of this recipe for requested, so that it is not preloaded until another
    /// recipe is chosen.
    pub fn suppress(&mut self, recipe: &Recipe) {
        self.requested = Some(Box::new(recipe.clone()));
    }

    /// Next step. Called once a frame or whenever the candidate has changed.
    pub fn next_action(&mut self, candidate: PreloadCandidate<'_>, now_secs: f64) -> PreloadAction {
        let Some(wanted) = self.wants(candidate) else { return PreloadAction::None };
        let wanted = wanted.then_some(candidate.recipe);
        if is_same_model(wanted, self.requested.as_deref()) {
            self.candidate.reset();
            return PreloadAction::None;
        }
        let is_same = |held: &Option<Box<Recipe>>| is_same_model(held.as_deref(), wanted);
        let value = || wanted.cloned().map(Box::new);
        if let Some(secs) = self.candidate.remaining_secs(is_same, value, now_secs, PRELOAD_DELAY_SECS) {
            return PreloadAction::Wait(secs);
        }
        self.candidate.reset();
        let recipe = wanted.cloned().map(Box::new);
        (self.requested, self.awaiting_marker) = (recipe.clone(), None);
        let is_new = recipe.is_some() && !candidate.is_resident;
        self.loading = is_new;
        match (recipe, &self.crash_marker) {
            (Some(recipe), Some(marker)) if is_new => {
                self.awaiting_marker = Some(recipe);
                PreloadAction::WriteMarker(marker.clone())
            }
            (recipe, _) => PreloadAction::Preload(recipe),
        }
    }

    /// True if the candidate is to be preloaded; `None` while that is not known.
    fn wants(&self, candidate: PreloadCandidate<'_>) -> Option<bool> {
        if !self.enabled || candidate.recipe.files.is_empty() {
            return Some(false);
        }
        if self.marker_checked { candidate.fits } else { None }
    }

    /// Recipe to send to the engine now that the crash marker is written; `None` if another choice
    /// came in between.
    pub fn marker_written(&mut self) -> Option<Box<Recipe>> {
        self.awaiting_marker.take()
    }

    /// Ends a preloading: the engine has reported its resident models, or the program ends. Returns
    /// the crash marker to delete.
    pub fn end(&mut self) -> Option<PathBuf> {
        std::mem::take(&mut self.loading).then(|| self.crash_marker.clone()).flatten()
    }

    /// True once the crash marker of the last run has been looked for.
    #[must_use]
    pub const fn has_checked_marker(&self) -> bool {
        self.marker_checked
    }

    /// True while the crash marker is being written.
    #[must_use]
    pub const fn is_awaiting_marker(&self) -> bool {
        self.awaiting_marker.is_some()
    }
}

/// True when both have the same model, or both have none.
fn is_same_model(one: Option<&Recipe>, other: Option<&Recipe>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.opens_like(other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Deletes the crash marker. Returns true if it existed. Blocks.
#[must_use]
pub fn take_crash_marker(path: &Path) -> bool {
    let existed = path.exists();
    delete_crash_marker(path);
    existed
}

/// Writes the crash marker; a failure is logged, since preloading works without it. Blocks.
pub fn write_crash_marker(path: &Path) {
    if let Err(error) = paths::write_atomic_bytes(path, b"") {
        tracing::warn!("{} could not be written: {error}", path.display());
    }
}

/// Deletes the crash marker; a failure is logged. Blocks.
pub fn delete_crash_marker(path: &Path) {
    if let Err(error) = paths::remove_if_there(path) {
        tracing::warn!("{} could not be removed: {error}", path.display());
    }
}

#[cfg(test)]
mod tests {
    use atelier_core::recipe::{FileRole, Seed};

    use super::*;

    fn recipe(name: &str) -> Recipe {
        let mut recipe = Recipe::default();
        recipe.files.set(FileRole::Model, format!("/models/{name}.safetensors"));
        recipe
    }

    fn fitting(recipe: &Recipe) -> PreloadCandidate<'_> {
        PreloadCandidate { recipe, fits: Some(true), is_resident: false }
    }

    #[test]
    fn a_choice_that_stands_is_preloaded_once() {
        let (a, b) = (recipe("a"), recipe("b"));
        let mut preloading = Preloading::new(true, None);
        assert_eq!(preloading.next_action(fitting(&b), 0.0), PreloadAction::Wait(0.4));
        assert!(matches!(preloading.next_action(fitting(&a), 0.3), PreloadAction::Wait(_)), "another choice begins the wait anew");
        assert_eq!(preloading.next_action(fitting(&a), 0.7), PreloadAction::Preload(Some(Box::new(a.clone()))));
        assert!(preloading.is_loading());
        assert_eq!(preloading.end(), None, "there is no marker to delete");
        let words = Recipe { prompt: "a lake".into(), seed: Some(Seed(7)), ..a.clone() };
        assert_eq!(preloading.next_action(fitting(&words), 9.0), PreloadAction::None, "words load nothing");
    }

    #[test]
    fn a_new_model_is_loaded_after_its_crash_marker_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join(MARKER_NAME);
        let a = recipe("a");
        let mut preloading = Preloading::new(true, Some(&folder.path().join("settings.json")));
        assert_eq!(preloading.next_action(fitting(&a), 0.0), PreloadAction::None, "the last run's marker is looked for first");
        assert!(!preloading.marker_checked(take_crash_marker(&marker), &a));
        preloading.next_action(fitting(&a), 1.0);
        assert_eq!(preloading.next_action(fitting(&a), 1.4), PreloadAction::WriteMarker(marker.clone()));
        write_crash_marker(&marker);
        assert!(marker.exists());
        assert_eq!(preloading.marker_written().as_deref(), Some(&a));
        assert_eq!(preloading.end(), Some(marker.clone()));
        delete_crash_marker(&marker);
        delete_crash_marker(&marker);
        assert!(!marker.exists());
    }

    #[test]
    fn a_model_that_is_resident_needs_no_marker() {
        let a = recipe("a");
        let mut preloading = Preloading::new(true, Some(Path::new("/settings.json")));
        preloading.marker_checked(false, &a);
        let candidate = PreloadCandidate { is_resident: true, ..fitting(&a) };
        preloading.next_action(candidate, 0.0);
        assert_eq!(preloading.next_action(candidate, 0.4), PreloadAction::Preload(Some(Box::new(a.clone()))));
        assert!(!preloading.is_loading());
    }

    #[test]
    fn a_crash_while_preloading_suppresses_that_model_at_the_next_start_and_no_other() {
        let (a, b) = (recipe("a"), recipe("b"));
        let mut preloading = Preloading::new(true, Some(Path::new("/settings.json")));
        assert!(preloading.marker_checked(true, &a));
        for now_secs in [0.0, 1.0] {
            assert_eq!(preloading.next_action(fitting(&a), now_secs), PreloadAction::None);
        }
        preloading.next_action(fitting(&b), 2.0);
        assert!(matches!(preloading.next_action(fitting(&b), 2.4), PreloadAction::WriteMarker(_)));
        let mut disabled = Preloading::new(false, Some(Path::new("/settings.json")));
        assert!(!disabled.marker_checked(true, &a), "without preloading it was something else");
    }

    #[test]
    fn switching_it_off_ends_the_preloading_and_an_unknown_candidate_changes_nothing() {
        let a = recipe("a");
        let mut preloading = Preloading::new(true, None);
        let unknown = PreloadCandidate { fits: None, ..fitting(&a) };
        assert_eq!(preloading.next_action(unknown, 0.0), PreloadAction::None);
        let too_big = PreloadCandidate { fits: Some(false), ..fitting(&a) };
        assert_eq!(preloading.next_action(too_big, 0.0), PreloadAction::None);
        preloading.next_action(fitting(&a), 0.0);
        preloading.next_action(fitting(&a), 1.0);
        preloading.enabled = false;
        preloading.next_action(fitting(&a), 2.0);
        assert_eq!(preloading.next_action(fitting(&a), 2.4), PreloadAction::Preload(None));
    }
}
