//! Commands of sheets. Their effect is in [`crate::gui::grid::update`]; nothing here changes
//! anything.

use crate::gui::feature_command::FeatureCommand;
use crate::gui::grid::state::State;
use crate::gui::shared::Shared;
use atelier_core::grid::{MAX_AXES, Place};
use atelier_studio::next_recipe::UnmetRequirement;

/// A command of sheets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Open the dialog, with this text in the first axis that is free.
    Open(String),
    /// Open the dialog with this text in the axis of this index.
    Put(usize, String),
    /// Edit the axes of the dialog.
    Edit(Box<[String; MAX_AXES]>),
    /// Leave out a cell of the dialog, or no longer.
    Strike(Place),
    /// Make drafts of all cells before any is finished, or not.
    SetDraftsFirst(bool),
    Make,
    Close,
    /// Show the sheet, or no longer.
    Show(bool),
    /// Make the settings of a cell the current ones.
    UseCell(Place),
    /// Cancel the job of a cell.
    CancelCell(Place),
    Export,
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[Self::Open(String::new()), Self::Show(true), Self::Export];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Open(_) => ("Compare settings…", "Make a sheet of pictures that differ along axes (X/Y/Z plot, grid)."),
            Self::Put(0, _) => ("Put on X axis", "Columns of a sheet that differ in this setting."),
            Self::Put(1, _) => ("Put on Y axis", "Rows of a sheet that differ in this setting."),
            Self::Put(..) => ("Put on Z axis", "Pages of a sheet that differ in this setting."),
            Self::Edit(_) => ("Edit the axes", "Change what differs."),
            Self::Strike(_) => ("Leave out", "Leave out this cell, or put it back."),
            Self::SetDraftsFirst(_) => (
                "Drafts first",
                "Make drafts of all cells before any is finished, to strike out cells early. What is finished goes on where its draft stopped.",
            ),
            Self::Make => ("Generate sheet", "Add the cells to the queue, in the order in which they cost least."),
            Self::Close => ("Cancel", "Make no sheet."),
            Self::Show(true) => ("Show the sheet", "Show the sheet that was made last, also before a restart (X/Y/Z plot, grid)."),
            Self::Show(false) => ("Close", "Close the sheet. Its pictures are kept."),
            Self::UseCell(_) => ("Use these settings", "Make the settings of this cell the current ones."),
            Self::CancelCell(_) => ("Strike out", "Do not finish this cell."),
            Self::Export => ("Export sheet…", "Save the sheet as one PNG with captions."),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::Open(_) | Self::Put(..) => shared.next.ready().map_err(UnmetRequirement::sentence),
            Self::Make => {
                let plan = state.draft.as_ref().and_then(|draft| draft.plan.as_ref().ok()).ok_or("Write at least one axis.")?;
                (!plan.cells.is_empty()).then_some(()).ok_or("Every cell is left out.")?;
                shared.next.ready().map_err(UnmetRequirement::sentence)
            }
            Self::Show(true) => state.sheet.is_some().then_some(()).ok_or("No sheet was made yet."),
            Self::Export => {
                (!shared.dialog_open).then_some(()).ok_or("A file dialog is already open.")?;
                let has_pictures = state.sheet.as_ref().is_some_and(|sheet| !sheet.kept.pictures.is_empty());
                has_pictures.then_some(()).ok_or("No cell of the sheet is finished yet.")
            }
            Self::CancelCell(at) => {
                let job = state.sheet.as_ref().and_then(|sheet| sheet.job(*at)).and_then(|id| shared.queue.row(id));
                job.filter(|row| !row.job.state.is_ended()).map(drop).ok_or("This cell is finished.")
            }
            Self::UseCell(at) => {
                let job = state.sheet.as_ref().and_then(|sheet| sheet.job(*at)).and_then(|id| shared.queue.row(id));
                job.map(drop).ok_or("Its job is no longer in the queue. Recall its picture in the gallery.")
            }
            Self::Edit(_) | Self::Strike(_) | Self::SetDraftsFirst(_) | Self::Close | Self::Show(false) => Ok(()),
        }
    }
}
