//! State of sheets: the one that is planned, and the one that is made. Plain data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::gui::saver::Saver;
use atelier_core::grid::{Cell, Forecast, Grid, MAX_AXES, Place, Turn};
use atelier_core::recipe::Seed;
use atelier_gallery::queue::QueuedJobId;
use atelier_studio::kept_sheet::{KeptSheet, SheetTurn};
use eframe::egui::TextureHandle;

/// State of sheets.
pub struct State {
    /// The sheet that is planned, where its dialog is open.
    pub draft: Option<Draft>,
    /// The sheet that is made, or was made last.
    pub sheet: Option<Sheet>,
    /// It is shown.
    pub shows_sheet: bool,
    /// The file of the sheet; `None` keeps none.
    pub(crate) file: Option<PathBuf>,
    /// What is in that file.
    pub(crate) saver: Saver<KeptSheet>,
}

impl State {
    /// The state at the start. `file`: where the sheet is kept.
    #[must_use]
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { draft: None, sheet: None, shows_sheet: false, file, saver: Saver::new(KeptSheet::default()) }
    }
}

/// A sheet that is planned.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The axes as they are typed; empty ones are not used.
    pub axes: [String; MAX_AXES],
    /// Cells that are left out.
    pub struck: BTreeSet<Place>,
    /// The seed of all cells, where the settings have none.
    pub seed: Seed,
    /// Whether drafts of all cells come first; `None`: where that costs little.
    pub drafts_first: Option<bool>,
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
    pub turns: Vec<Turn>,
    /// Drafts of all cells come first.
    pub drafts_first: bool,
    pub forecast: Forecast,
}

/// A sheet, with its pictures for the screen.
pub struct Sheet {
    pub kept: KeptSheet,
    /// The drafts and pictures on the graphics card, as large as all of them together may be.
    pub textures: BTreeMap<Place, CellTexture>,
}

/// A cell's picture on the graphics card.
pub struct CellTexture {
    pub texture: TextureHandle,
    /// It is a draft.
    pub is_draft: bool,
}

impl Sheet {
    pub(crate) fn new(kept: KeptSheet) -> Self {
        Self { kept, textures: BTreeMap::new() }
    }

    /// Longest side of a cell's picture on the graphics card, in pixels: twice what a cell is on a
    /// usual screen, less where there are hundreds of cells.
    #[must_use]
    pub fn texture_side_px(&self) -> usize {
        const MAX_SIDE_PX: usize = 512;
        const MAX_PIXELS: usize = 32 << 20;
        (MAX_PIXELS / self.kept.cells.len().max(1)).isqrt().min(MAX_SIDE_PX)
    }

    /// The job that finishes a cell.
    #[must_use]
    pub fn job(&self, at: Place) -> Option<QueuedJobId> {
        self.kept.finishing(at).and_then(SheetTurn::job)
    }

    /// True where all pictures are made.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.kept.pictures.len() == self.kept.cells.len()
    }
}
