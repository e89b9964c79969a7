//! Commands of sheets. Their effect is in [`crate::gui::grid::update`]; nothing here changes
//! anything.

use crate::gui::feature_command::FeatureCommand;
use crate::gui::grid::state::State;
use crate::gui::shared::Shared;
use atelier_core::grid::{MAX_AXES, Place};
use atelier_language::tr;
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
            Self::Open(_) => (tr!("grid-compare-settings"), tr!("grid-make-a-sheet-of")),
            Self::Put(0, _) => (tr!("grid-put-on-x-axis"), tr!("grid-columns-of-a-sheet")),
            Self::Put(1, _) => (tr!("grid-put-on-y-axis"), tr!("grid-rows-of-a-sheet")),
            Self::Put(..) => (tr!("grid-put-on-z-axis"), tr!("grid-pages-of-a-sheet")),
            Self::Edit(_) => (tr!("grid-edit-the-axes"), tr!("grid-change-what-differs")),
            Self::Strike(_) => (tr!("grid-leave-out"), tr!("grid-leave-out-this-cell")),
            Self::SetDraftsFirst(_) => (tr!("grid-drafts-first"), tr!("grid-make-drafts-of-all")),
            Self::Make => (tr!("grid-generate-sheet"), tr!("grid-add-the-cells-to")),
            Self::Close => (tr!("common-cancel"), tr!("grid-make-no-sheet")),
            Self::Show(true) => (tr!("grid-show-the-sheet"), tr!("grid-show-the-sheet-that")),
            Self::Show(false) => (tr!("common-close"), tr!("grid-close-the-sheet-its")),
            Self::UseCell(_) => (tr!("grid-use-these-settings"), tr!("grid-make-the-settings-of")),
            Self::CancelCell(_) => (tr!("grid-strike-out"), tr!("grid-do-not-finish-this")),
            Self::Export => (tr!("grid-export-sheet"), tr!("grid-save-the-sheet-as")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::Open(_) | Self::Put(..) => shared.next.ready().map_err(UnmetRequirement::sentence),
            Self::Make => {
                let plan = state.draft.as_ref().and_then(|draft| draft.plan.as_ref().ok()).ok_or(tr!("grid-write-at-least-one"))?;
                (!plan.cells.is_empty()).then_some(()).ok_or(tr!("grid-every-cell-is-left"))?;
                shared.next.ready().map_err(UnmetRequirement::sentence)
            }
            Self::Show(true) => state.sheet.is_some().then_some(()).ok_or(tr!("grid-no-sheet-was-made")),
            Self::Export => {
                (!shared.dialog_open).then_some(()).ok_or(tr!("common-a-file-dialog-is"))?;
                let has_pictures = state.sheet.as_ref().is_some_and(|sheet| !sheet.kept.pictures.is_empty());
                has_pictures.then_some(()).ok_or(tr!("grid-no-cell-of-the"))
            }
            Self::CancelCell(at) => {
                let job = state.sheet.as_ref().and_then(|sheet| sheet.job(*at)).and_then(|id| shared.queue.row(id));
                job.filter(|row| !row.job.state.is_ended()).map(drop).ok_or(tr!("grid-this-cell-is-finished"))
            }
            Self::UseCell(at) => {
                let job = state.sheet.as_ref().and_then(|sheet| sheet.job(*at)).and_then(|id| shared.queue.row(id));
                job.map(drop).ok_or(tr!("grid-its-job-is-no"))
            }
            Self::Edit(_) | Self::Strike(_) | Self::SetDraftsFirst(_) | Self::Close | Self::Show(false) => Ok(()),
        }
    }
}
