//! The planner's suggestion, and remedies: changes that make a recipe fit. Pure.

use std::path::PathBuf;

use crate::gui::devices::board::moves::{changes_between, is_same_placement};
use crate::gui::devices::board::{Board, PlanningInputs};
use atelier_core::placement::{Budgets, Change, Home, Module, NoPlan, Phase, Pin, Pins, Placement, Plan, Question, Room, Shortage, plan};
use atelier_core::recipe::{FileRole, PlacementText, Recipe};
use atelier_engine::OutOfMemory;

/// Longest list of remedies; a longer one is no help.
const MOST_REMEDIES: usize = 3;

/// The planner's answer to the placement on the board.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Suggestion {
    /// No answer: a part of the input is not known.
    #[default]
    Unknown,
    /// The placement equals the plan.
    AlreadyBest,
    /// A better placement.
    Plan(Box<Plan>),
    /// No placement fits with these pins.
    NothingFits(Box<Shortage>),
}

/// Set of changes that makes a recipe fit, ready to be applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Remedy {
    /// The changes as an instruction: "Decode in tiles".
    pub label: String,
    changes: Vec<Change>,
    placement: PlacementText,
}

impl Remedy {
    fn new(changes: Vec<Change>, placement: &Placement) -> Self {
        // Weights that move with their module are not worth a word.
        let moves_along = |change: &&Change| match change {
            Change::Weights { module, home: Home::Device(home) } => {
                changes.iter().any(|other| matches!(other, Change::RunsOn { module: it, device } if it == module && device == home))
            }
            _ => false,
        };
        let label = changes.iter().filter(|change| !moves_along(change)).enumerate().map(|(n, change)| {
            let text = change.to_string();
            if n == 0 { text } else { lowercase_first(&text) }
        });
        Self { label: label.collect::<Vec<_>>().join(", and "), changes, placement: placement.text() }
    }

    /// Applies the changes and the placement to a recipe.
    pub fn apply(&self, recipe: &mut Recipe) {
        recipe.placement = self.placement.clone();
        for change in &self.changes {
            match change {
                Change::VaeTiling => recipe.vae_tiling = true,
                Change::Size { width, height } => (recipe.width, recipe.height) = (*width, *height),
                Change::Quantisation { module, name } => {
                    if let Some((role, path)) = alternative_file(recipe, *module, name) {
                        recipe.files.set(role, path);
                    }
                }
                // Part of the placement.
                Change::Weights { .. } | Change::Pieces { .. } | Change::Budget { .. } | Change::RunsOn { .. } => {}
            }
        }
    }
}

/// Role and path of the file `name` in the folder of the module's file that it replaces: the one with the longest common beginning of the
/// name.
fn alternative_file(recipe: &Recipe, module: Module, name: &str) -> Option<(FileRole, PathBuf)> {
    let common = |other: &str| other.chars().zip(name.chars()).take_while(|(one, other)| one == other).count();
    let files = recipe.files.iter().filter(|(role, _)| role.module() == module);
    let named = files.filter_map(|(role, path)| Some((role, path, path.file_name()?.to_str()?)));
    let (role, path, _) = named.max_by_key(|(_, _, other)| common(other))?;
    Some((role, path.with_file_name(name)))
}

fn lowercase_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

impl Board {
    /// Runs the planner with the pins.
    pub(crate) fn find_suggestion(&self) -> Suggestion {
        let Some(known) = self.planning_inputs() else { return Suggestion::Unknown };
        match plan(&question(&known, &self.pins_of(known.placement), &self.rooms)) {
            Ok(plan) if is_same_placement(&plan.placement, known.placement, known.estimate.needs.modules.keys().copied()) => {
                Suggestion::AlreadyBest
            }
            Ok(plan) => Suggestion::Plan(Box::new(plan)),
            Err(NoPlan::Short(shortage)) => Suggestion::NothingFits(shortage),
            Err(NoPlan::Device(_)) => Suggestion::Unknown,
        }
    }

    /// Changes that make the placement fit into these rooms, the smallest loss first.
    pub(crate) fn remedies(&self, rooms: &[Room]) -> Vec<Remedy> {
        let Some(known) = self.planning_inputs() else { return Vec::new() };
        let in_use = known.estimate.needs.modules.keys();
        let all_pinned: Pins = in_use.map(|module| (*module, pin(known.placement, *module))).collect();
        let mut remedies: Vec<Remedy> = Vec::new();
        for pins in [self.pins_of(known.placement), all_pinned] {
            let fixes = match plan(&question(&known, &pins, rooms)) {
                Ok(plan) => {
                    let changes = changes_between((known.placement, known.prediction), (&plan.placement, &plan.prediction));
                    if !changes.is_empty() {
                        remedies.push(Remedy::new(changes, &plan.placement));
                    }
                    plan.better
                }
                Err(NoPlan::Short(shortage)) => shortage.fixes,
                Err(NoPlan::Device(_)) => Vec::new(),
            };
            for fix in fixes {
                let remedy = Remedy::new(fix.changes, &fix.plan.placement);
                if remedies.iter().all(|other| other.label != remedy.label) {
                    remedies.push(remedy);
                }
            }
        }
        remedies.truncate(MOST_REMEDIES);
        remedies
    }

    /// Remedies after a device ran out of memory: its capacity is taken from the failure in place of the prediction.
    #[must_use]
    pub fn remedies_after(&self, met: &OutOfMemory) -> Vec<Remedy> {
        let mut rooms = self.rooms.clone();
        let phase = Phase::from(met.phase);
        let expected = self.prediction.as_ref().and_then(|it| it.device(&met.device)).map(|it| it.in_phase(phase).total_bytes());
        if let Some(room) = rooms.iter_mut().find(|room| room.device.name == met.device) {
            // It gave the predicted bytes less those that the failed allocation lacked.
            let had = expected.map_or(met.bytes_free, |bytes| bytes.saturating_sub(met.bytes_wanted.saturating_sub(met.bytes_free)));
            let kept = if room.is_ram() { room.device.memory_free_bytes.saturating_sub(room.limit_bytes(&Budgets::default())) } else { 0 };
            room.device.memory_free_bytes = room.device.memory_free_bytes.min(had.saturating_add(kept));
        }
        self.remedies(&rooms)
    }

    /// The planner's pins for the pinned modules.
    fn pins_of(&self, placement: &Placement) -> Pins {
        self.pins.iter().map(|module| (*module, pin(placement, *module))).collect()
    }
}

fn question<'a>(known: &PlanningInputs<'a>, pins: &'a Pins, rooms: &'a [Room]) -> Question<'a> {
    Question {
        rooms,
        needs: &known.estimate.needs,
        pins,
        budgets: &known.placement.budgets,
        stream_layers: known.placement.stream_layers,
        alternatives: &known.estimate.alternatives,
    }
}

fn pin(placement: &Placement, module: Module) -> Pin {
    let seat = placement.seat(module);
    Pin { runs_on: Some(seat.runs_on.clone()), weights: Some(seat.weights.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_quantisation_takes_the_place_of_the_file_it_is_most_like() {
        let mut recipe = Recipe::default();
        recipe.files.set(FileRole::ClipL, "/m/clip_l-F16.gguf");
        recipe.files.set(FileRole::T5xxl, "/m/enc/t5xxl-F16.gguf");
        let change = Change::Quantisation { module: Module::Te, name: "t5xxl-Q8_0.gguf".into() };
        let remedy = Remedy::new(vec![change, Change::VaeTiling], &Placement::all_on("GPU0"));
        assert_eq!(remedy.label, "Use t5xxl-Q8_0.gguf for the text encoder, and decode in tiles");
        remedy.apply(&mut recipe);
        assert_eq!(recipe.files.get(FileRole::T5xxl), Some(std::path::Path::new("/m/enc/t5xxl-Q8_0.gguf")));
        assert_eq!(recipe.files.get(FileRole::ClipL), Some(std::path::Path::new("/m/clip_l-F16.gguf")));
        assert!(recipe.vae_tiling && recipe.placement.backend == "all=GPU0");
    }

    #[test]
    fn weights_that_go_along_need_no_words() {
        let runs = Change::RunsOn { module: Module::Vae, device: "CPU".into() };
        let weights = |home: Home| Change::Weights { module: Module::Vae, home };
        let label = |changes: Vec<Change>| Remedy::new(changes, &Placement::all_on("GPU0")).label;
        assert_eq!(label(vec![runs.clone(), weights(Home::Device("CPU".into()))]), "Run the VAE on CPU");
        assert!(label(vec![runs, weights(Home::Disk)]).contains("disk"));
    }
}
