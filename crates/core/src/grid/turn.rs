//! What is made for a sheet, in its order: cells, or their drafts before all of them.

use std::cmp::Reverse;

use super::order::sharings;
use super::{Cell, Grid};
use crate::recipe::Recipe;

/// Steps from which on a usual draft is made: of fewer there is little to save.
const MIN_STEPS: u32 = 8;

/// Where drafts of cells stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DraftStep {
    /// After a quarter of a cell's steps; cells of few steps have no draft.
    Usual,
    /// After this step; cells that end with it or before have no draft.
    After(u32),
}

/// A picture that is made for a sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Indices of the cells that it is of: several where they begin alike.
    pub cells: Vec<usize>,
    /// Its recipe.
    pub recipe: Recipe,
    /// It is a draft of them.
    pub is_draft: bool,
}

impl Grid {
    /// What is made for these cells, in the order in which it costs least. `draft_step`: no cell is
    /// finished before every cell that can have one has a draft, so that those that are not wanted
    /// can be left; a cell that is finished goes on where its draft stopped.
    #[must_use]
    pub fn turns(cells: &[Cell], draft_step: Option<DraftStep>) -> Vec<Turn> {
        let mut drafts: Vec<(Cell, Vec<usize>)> = Vec::new();
        for (index, cell) in cells.iter().enumerate() {
            let Some(recipe) = draft_step.and_then(|step| draft_of(&cell.recipe, step)) else { continue };
            // Cells that differ only in what comes after their steps begin alike.
            match drafts.iter_mut().find(|(draft, _)| draft.recipe == recipe) {
                Some((_, of)) => of.push(index),
                None => drafts.push((Cell { at: cell.at, recipe }, vec![index])),
            }
        }
        let (drafts, of): (Vec<Cell>, Vec<Vec<usize>>) = drafts.into_iter().unzip();
        let in_order = |index: usize| Some((drafts.get(index)?.recipe.clone(), of.get(index)?.clone()));
        let begun = Self::order(&drafts).into_iter().filter_map(in_order);
        let begun = begun.map(|(recipe, cells)| Turn { cells, recipe, is_draft: true });
        let mut order = Self::order(cells);
        if !drafts.is_empty() {
            // The model of the last drafts is open.
            let recipes: Vec<&Recipe> = cells.iter().map(|cell| &cell.recipe).collect();
            let sharings = sharings(&recipes);
            order.sort_by_key(|index| Reverse(sharings.get(*index).map(|sharing| sharing.model)));
        }
        let finished = order.into_iter().filter_map(|index| Some((index, cells.get(index)?)));
        let finished = finished.map(|(index, cell)| Turn { cells: vec![index], recipe: cell.recipe.clone(), is_draft: false });
        begun.chain(finished).collect()
    }

    /// True where usual drafts first cost little: they are of one model, which is opened once, and
    /// of several cells.
    #[must_use]
    pub fn suits_drafts(cells: &[Cell]) -> bool {
        let recipes: Vec<&Recipe> = cells.iter().map(|cell| &cell.recipe).collect();
        let sharings = sharings(&recipes);
        let is_one_model = sharings.windows(2).all(|pair| matches!(pair, [one, two] if one.model == two.model));
        is_one_model && cells.len() > 1 && cells.iter().any(|cell| draft_of(&cell.recipe, DraftStep::Usual).is_some())
    }
}

/// A draft of a recipe; `None` where it is one, begins in a way of its own, or has too few steps.
fn draft_of(recipe: &Recipe, step: DraftStep) -> Option<Recipe> {
    let has_own = recipe.last_step.is_some() || !recipe.earlier_steps.is_empty() || recipe.step_cache.is_some() || recipe.upscales_init();
    // What comes after the steps is for the finished picture.
    let last_step = match step {
        DraftStep::Usual if recipe.steps_in_pass(0) < MIN_STEPS => return None,
        DraftStep::Usual => recipe.usual_last_step(),
        DraftStep::After(step) => step,
    };
    let draft = Recipe { last_step: Some(last_step), hires: None, upscale: None, ..recipe.clone() };
    (!has_own && draft.draft_step().is_some()).then_some(draft)
}
