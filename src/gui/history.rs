//! Undo and redo of the settings of the next picture, over everything that changes them: typing,
//! sliders, paste, drops, a model's defaults.
//!
//! One history for all of it: what was changed last is undone first, wherever it was changed, also
//! while a field of these settings has the keyboard. Text fields that are no settings (searches,
//! paths, addresses, tokens) keep the undo of their own. Pure.

use std::collections::BTreeSet;

use atelier_core::placement::Module;
use atelier_core::recipe::{Recipe, changed_settings, setting_name};

/// Changes that can be undone.
const MAX_CHANGES: usize = 200;
/// Changes of one setting that follow each other within so many seconds are one.
const COALESCE_SECS: f64 = 1.0;
/// Longest time, in seconds, that typing is one change.
const TYPING_SECS: f64 = 5.0;

/// What undo brings back.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) recipe: Recipe,
    /// The recipe with the person's own files, beside the built-in model.
    pub(crate) custom_recipe: Option<Box<Recipe>>,
    /// Modules that the planner leaves where they are; not a change by themselves.
    pub(crate) pins: BTreeSet<Module>,
}

/// Origin of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeCause {
    /// A form was edited: changes of one setting that follow each other are one change.
    Edit,
    /// A change by itself, with this name.
    Step(&'static str),
}

/// A change of the settings.
#[derive(Clone, Debug)]
struct Change {
    name: String,
    /// The settings on the other side of it.
    snapshot: Snapshot,
    /// The setting that was edited, and when in seconds of the window's clock: first and last.
    edit: Option<(&'static str, f64, f64)>,
}

/// The changes of the settings.
#[derive(Debug, Default)]
pub struct History {
    now: Snapshot,
    undo: Vec<Change>,
    redo: Vec<Change>,
    /// The last change was made with a pointer that is still held down.
    is_held: bool,
}

impl History {
    /// Begins with these settings.
    pub(crate) fn new(now: Snapshot) -> Self {
        Self { now, ..Self::default() }
    }

    /// Takes note of the settings as they are now. `held`: a button of the pointer is down.
    pub(crate) fn observe(
        &mut self,
        recipe: &Recipe,
        custom: Option<&Recipe>,
        pins: &BTreeSet<Module>,
        cause: ChangeCause,
        time_secs: f64,
        held: bool,
    ) {
        if self.now.recipe == *recipe && self.now.custom_recipe.as_deref() == custom {
            if self.now.pins != *pins {
                self.now.pins.clone_from(pins);
            }
            return;
        }
        let changed = changed_settings(&self.now.recipe, recipe);
        let edited = match (cause, &changed[..]) {
            (ChangeCause::Edit, [setting]) => Some(*setting),
            (ChangeCause::Edit | ChangeCause::Step(_), _) => None,
        };
        let after = Snapshot { recipe: recipe.clone(), custom_recipe: custom.map(|it| Box::new(it.clone())), pins: pins.clone() };
        let before = std::mem::replace(&mut self.now, after);
        let is_held = std::mem::replace(&mut self.is_held, held);
        self.redo.clear();
        if let (Some(edited), Some(Change { edit: Some((setting, first, last)), .. })) = (edited, self.undo.last_mut()) {
            let is_prompt = ["prompt", "negative_prompt"].map(setting_name).contains(&edited);
            let types = is_prompt && time_secs - *first > TYPING_SECS;
            if *setting == edited && ((is_held && held) || (time_secs - *last <= COALESCE_SECS && !types)) {
                *last = time_secs;
                return;
            }
        }
        let name = match cause {
            ChangeCause::Step(name) => name.to_owned(),
            ChangeCause::Edit => changed.join(", "),
        };
        self.undo.push(Change { name, snapshot: before, edit: edited.map(|setting| (setting, time_secs, time_secs)) });
        if self.undo.len() > MAX_CHANGES {
            self.undo.remove(0);
        }
    }

    /// Name of the change that would be undone.
    #[must_use]
    pub fn next_undo(&self) -> Option<&str> {
        self.undo.last().map(|change| change.name.as_str())
    }

    /// Name of the change that would be made again.
    #[must_use]
    pub fn next_redo(&self) -> Option<&str> {
        self.redo.last().map(|change| change.name.as_str())
    }

    /// Undoes the last change and returns the settings before it.
    pub(crate) fn undo(&mut self) -> Option<&Snapshot> {
        let change = self.undo.pop()?;
        let after = std::mem::replace(&mut self.now, change.snapshot);
        self.redo.push(Change { name: change.name, snapshot: after, edit: None });
        Some(&self.now)
    }

    /// Makes the change again that was undone last, and returns the settings after it.
    pub(crate) fn redo(&mut self) -> Option<&Snapshot> {
        let change = self.redo.pop()?;
        let before = std::mem::replace(&mut self.now, change.snapshot);
        self.undo.push(Change { name: change.name, snapshot: before, edit: None });
        Some(&self.now)
    }
}

/// Where the caret belongs in a text that was put back: behind what is different, in characters.
pub(crate) fn caret_after_change(before: &str, after: &str) -> usize {
    let longest = before.chars().count().min(after.chars().count());
    let same_end = before.chars().rev().zip(after.chars().rev()).take_while(|(one, other)| one == other).count();
    let same_start = before.chars().zip(after.chars()).take_while(|(one, other)| one == other).count();
    after.chars().count() - same_end.min(longest - same_start.min(longest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atelier_core::recipe::Seed;

    fn observe(history: &mut History, recipe: &Recipe, cause: ChangeCause, time_secs: f64, held: bool) {
        history.observe(recipe, None, &BTreeSet::new(), cause, time_secs, held);
    }

    #[test]
    fn edits_of_one_setting_are_one_change_until_a_pause_or_another_setting() {
        let mut history = History::default();
        let mut recipe = Recipe::default();
        for (steps, secs) in [(21, 0.0), (22, 0.5), (23, 1.4), (24, 9.0)] {
            recipe.steps = steps;
            observe(&mut history, &recipe, ChangeCause::Edit, secs, false);
        }
        recipe.seed = Some(Seed(7));
        observe(&mut history, &recipe, ChangeCause::Edit, 9.1, false);
        assert_eq!(history.next_undo(), Some("seed"));
        assert_eq!(history.undo().unwrap().recipe.seed, None);
        assert_eq!(history.undo().unwrap().recipe.steps, 23, "there was a pause");
        assert_eq!(history.undo().unwrap().recipe.steps, 20);
        assert!(history.undo().is_none());
        assert_eq!(history.redo().unwrap().recipe.steps, 23);
        assert_eq!(history.next_redo(), Some("steps"));
        observe(&mut history, &Recipe { steps: 5, ..Recipe::default() }, ChangeCause::Edit, 9.2, false);
        assert!(history.redo().is_none(), "another way was taken");
    }

    #[test]
    fn a_slider_that_is_held_makes_one_change_however_long() {
        let mut history = History::default();
        for (n, secs) in [0.0, 5.0, 10.0].into_iter().enumerate() {
            observe(&mut history, &Recipe { steps: n as u32 + 1, ..Recipe::default() }, ChangeCause::Edit, secs, true);
        }
        assert_eq!(history.undo().unwrap().recipe.steps, 20);
    }

    #[test]
    fn steps_are_changes_of_their_own_and_long_typing_is_cut() {
        let mut history = History::default();
        for seed in [1, 2] {
            observe(
                &mut history,
                &Recipe { seed: Some(Seed(seed)), ..Recipe::default() },
                ChangeCause::Step("Roll a new seed"),
                0.0,
                false,
            );
        }
        assert_eq!(history.next_undo(), Some("Roll a new seed"));
        assert_eq!(history.undo().unwrap().recipe.seed, Some(Seed(1)));
        let mut history = History::default();
        let mut recipe = Recipe::default();
        for n in 0..20 {
            recipe.prompt.push('a');
            observe(&mut history, &recipe, ChangeCause::Edit, f64::from(n) * 0.5, false);
        }
        assert!(!history.undo().unwrap().recipe.prompt.is_empty());
    }

    #[test]
    fn pins_alone_are_no_change_and_come_back_with_one() {
        let mut history = History::default();
        let (pins, more) = (BTreeSet::from([Module::Vae]), BTreeSet::from([Module::Vae, Module::Llm]));
        history.observe(&Recipe::default(), None, &pins, ChangeCause::Edit, 0.0, false);
        assert_eq!(history.next_undo(), None);
        history.observe(&Recipe { seed: Some(Seed(1)), ..Recipe::default() }, None, &more, ChangeCause::Step("Move"), 0.0, false);
        assert_eq!(history.undo().unwrap().pins, pins);
    }

    #[test]
    fn the_history_is_bounded() {
        let mut history = History::default();
        for seed in 0..500 {
            observe(&mut history, &Recipe { seed: Some(Seed(seed)), ..Recipe::default() }, ChangeCause::Step("Roll"), 0.0, false);
        }
        assert_eq!(std::iter::from_fn(|| history.undo().map(drop)).count(), MAX_CHANGES);
    }

    #[test]
    fn the_caret_goes_behind_what_came_back() {
        assert_eq!(caret_after_change("a lake", "a red lake"), 6);
        assert_eq!(caret_after_change("a red lake", "a lake"), 2);
        assert_eq!((caret_after_change("", "湖 a"), caret_after_change("aaa", "aa"), caret_after_change("x", "x")), (3, 2, 1));
    }
}
