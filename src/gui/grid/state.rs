//! State of sheets: the one that is planned, and the one that is made. Plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use atelier_core::grid::{Cell, Forecast, Grid, MAX_AXES};
use atelier_gallery::queue::QueuedJobId;
use eframe::egui::TextureHandle;

/// A cell's column, row and page, from 0.
pub type Place = [usize; MAX_AXES];

/// State of sheets.
#[derive(Default)]
pub struct State {
    /// The sheet that is planned, where its dialog is open.
    pub draft: Option<Draft>,
    /// The sheet that is made, or was made last.
    pub sheet: Option<Sheet>,
    /// It is shown.
    pub shows_sheet: bool,
}

/// A sheet that is planned.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The axes as they are typed; empty ones are not used.
    pub axes: [String; MAX_AXES],
    /// Cells that are left out.
    pub struck: BTreeSet<Place>,
    /// The seed of all cells, where the settings have none.
    pub seed: i64,
    /// The sheet, or why there is none in a sentence.
    pub plan: Result<Plan, String>,
    /// The first field takes the keyboard.
    pub wants_focus: bool,
}

/// What a planned sheet will be.
#[derive(Clone, Debug)]
pub struct Plan {
    pub grid: Grid,
    /// Without those that are left out.
    pub cells: Vec<Cell>,
    pub forecast: Forecast,
}

/// A sheet whose cells are jobs of the queue.
#[derive(Clone)]
pub struct Sheet {
    pub grid: Grid,
    /// In the order of their jobs.
    pub cells: Vec<Cell>,
    /// The number of its group in the queue and the gallery.
    pub group: i64,
    /// The jobs that the queue has told of so far.
    pub jobs: Vec<QueuedJobId>,
    /// Files of the pictures that are made.
    pub pictures: BTreeMap<Place, PathBuf>,
    /// The pictures on the graphics card, as large as all of them together may be.
    pub textures: BTreeMap<Place, TextureHandle>,
}

impl Sheet {
    /// Longest side of a cell's picture on the graphics card, in pixels: twice what a cell is on a
    /// usual screen, less where there are hundreds of cells.
    #[must_use]
    pub fn texture_side_px(&self) -> usize {
        const MAX_SIDE_PX: usize = 512;
        const MAX_PIXELS: usize = 32 << 20;
        (MAX_PIXELS / self.cells.len().max(1)).isqrt().min(MAX_SIDE_PX)
    }

    /// The job of a cell.
    #[must_use]
    pub fn job(&self, at: Place) -> Option<QueuedJobId> {
        self.jobs.get(self.cells.iter().position(|cell| cell.at == at)?).copied()
    }

    /// A cell that is a part of it.
    #[must_use]
    pub fn cell(&self, at: Place) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.at == at)
    }
}
