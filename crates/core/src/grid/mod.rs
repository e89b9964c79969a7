//! Sheets of pictures that differ along axes ("X/Y/Z"): the recipe of each cell, the order in which
//! they cost least, and what they will cost.
//!
//! Invariants: a cell's recipe is that of the picture made alone; cells that share a model, a text
//! or steps follow each other; pure, so files are found by the caller ([`AxisFiles`]).

mod axis;
mod captions;
mod forecast;
mod order;
mod setting;
mod turn;
mod values;

use std::fmt;

use atelier_language::tr;

use crate::recipe::Recipe;

pub use axis::{Axis, AxisFiles, AxisValue};
pub use captions::{Captions, Place};
pub use forecast::{CellTime, Forecast};
pub use setting::axis_names;
pub use turn::{DraftStep, Turn};

/// Axes of a sheet: columns, rows, pages.
pub const MAX_AXES: usize = 3;
/// Cells of a sheet: more are seen by nobody.
pub const MAX_CELLS: usize = 1000;

/// Why there is no sheet, as a clause with the next step after a semicolon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridError(String);

impl GridError {
    fn new(clause: impl Into<String>) -> Self {
        Self(clause.into())
    }
}

impl std::error::Error for GridError {}

impl fmt::Display for GridError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A sheet: a recipe, and what differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    base: Recipe,
    axes: Vec<Axis>,
    captions: Captions,
}

/// A picture of a sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its column, row and page, from 0.
    pub at: Place,
    /// Its recipe, of one picture.
    pub recipe: Recipe,
}

impl Grid {
    /// A sheet of one picture a cell. Its seed must be known: cells of different noise compare
    /// nothing.
    ///
    /// # Errors
    /// No axis, too many, two of the same thing, or too many cells.
    pub fn new(base: Recipe, axes: Vec<Axis>) -> Result<Self, GridError> {
        if axes.is_empty() || axes.len() > MAX_AXES {
            return Err(GridError::new(tr!("core-a-sheet-has-1", max_axes = MAX_AXES)));
        }
        for (index, axis) in axes.iter().enumerate() {
            if axes.iter().take(index).any(|other| other.changes_like(axis)) {
                return Err(GridError::new(tr!("core-two-axes-change-the", name = axis.name)));
            }
        }
        let cells = axes.iter().map(|axis| axis.values.len()).fold(1_usize, usize::saturating_mul);
        if cells > MAX_CELLS {
            return Err(GridError::new(tr!("core-a-sheet-has-cells", max_cells = MAX_CELLS, cells)));
        }
        let captions = axes.as_slice().into();
        Ok(Self { base: Recipe { batch_count: 1, ..base }, axes, captions })
    }

    /// Names of its axes and of their values.
    #[must_use]
    pub const fn captions(&self) -> &Captions {
        &self.captions
    }

    /// Every cell: row by row, page by page.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let [columns, rows, pages] = self.captions.size();
        let places = (0..pages).flat_map(|z| (0..rows).flat_map(move |y| (0..columns).map(move |x| [x, y, z])));
        places.map(|at| Cell { at, recipe: self.recipe(at) }).collect()
    }

    fn recipe(&self, at: Place) -> Recipe {
        let mut recipe = self.base.clone();
        for (axis, index) in self.axes.iter().zip(at) {
            if let Some(value) = axis.values.get(index) {
                value.apply(&mut recipe);
            }
        }
        recipe
    }
}

#[cfg(test)]
mod tests;
