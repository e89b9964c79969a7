//! Commands of the Gallery view. Their effect is in [`crate::gui::gallery::update`]; nothing here
//! changes anything.

use std::path::PathBuf;

use atelier_core::recipe::RecallPart;
use atelier_gallery::{Grouping, Order, PictureFlag, PictureId};
use atelier_language::tr;
use eframe::egui::Key;

use crate::gui::create::larger::UpscaleMethod;
use crate::gui::feature_command::FeatureCommand;
use crate::gui::gallery::compare::CompareMode;
use crate::gui::gallery::state::{Dialog, ExportChoice, Mode, State};
use crate::gui::shared::{Screen, Shared};
use crate::gui::viewport::View;

/// A command of the Gallery view.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Put the cursor into the search.
    FocusSearch,
    SetSearch(String),
    /// Take the condition of this index out of the search.
    RemoveCondition(usize),
    ShowAll,
    SetOrder(Order),
    /// Put pictures into groups, or not.
    SetGrouping(Option<Grouping>),
    /// Set the least side of a cell, in points.
    SetCellSide(f32),
    /// Report which pictures are in sight.
    SetVisible(usize, usize),
    /// Move the cursor to this index; `true` selects everything up to there.
    MoveTo(usize, bool),
    /// Add this index to the selection, or take it out.
    Toggle(usize),
    /// Select these indices, beside those selected before where the flag is true.
    SelectBand(Vec<usize>, bool),
    SelectAll,
    SelectNone,
    /// Show the picture with the cursor large, or go back to the grid.
    Look,
    /// Show this picture, wherever it is.
    LookAt(PictureId),
    /// Go back to the grid.
    CloseLook,
    /// Zoom and position of the large look or the comparison.
    SetView(View),
    /// Show one pixel of the picture on one of the screen, or the whole again.
    ToggleActualSize,
    /// Compare the two selected pictures.
    Compare,
    /// Compare these two pictures, and go back to this screen afterwards.
    CompareFrom(Screen, PictureId, PictureId),
    /// Set the way to compare.
    SetCompareMode(CompareMode),
    /// Exchange the two pictures that are compared.
    SwapCompared,
    /// Move the divider, 0 to 1.
    SetDivider(f32),
    /// Rate, 0 (none) to 5.
    Rate(u8),
    /// Pick, reject, or neither.
    Flag(Option<PictureFlag>),
    /// Go on to the next picture after a star, pick or reject, or stay.
    SetAutoAdvance(bool),
    /// Pick these pictures, reject them, or neither.
    FlagOf(Vec<PictureId>, Option<PictureFlag>),
    /// Text of the field for a new tag.
    EditTag(String),
    /// Add the typed tag.
    AddTag,
    RemoveTag(String),
    /// Text of the note.
    EditNote(PictureId, String),
    SaveNote,
    /// Move to the trash.
    Delete,
    /// Take back from the trash what went there last.
    Restore,
    /// Show the picture in Create and take its settings.
    UseSettings,
    /// Take over a part of the picture's settings.
    Recall(RecallPart),
    /// Start the next picture from this one.
    StartFrom,
    /// Let an edit model look at this picture.
    UseAsReference,
    /// Steer the next picture by this one.
    UseForControl,
    /// Bring the person of this picture into the next one.
    UseForPerson,
    /// Upscale the selected pictures.
    Upscale(UpscaleMethod),
    /// Finish the drafts among the selected pictures.
    FinishDrafts,
    /// Put the picture on the clipboard.
    CopyPicture,
    /// Put these words on the clipboard.
    CopyText(String),
    /// Show the picture's file in the system's file manager.
    ShowInFolder,
    /// Open, change or close a dialog.
    SetDialog(Option<Dialog>),
    /// Choose the folder of the export.
    ChooseExportFolder,
    /// Export to the folder that was typed.
    Export,
    /// Keep the search under the typed name.
    SaveSearch,
    /// Forget the search of this name.
    DeleteSearch(String),
    /// Choose a folder whose pictures are indexed.
    AddFolder,
    /// Index these folders, and copy these pictures into the folder of pictures.
    AddPaths(Vec<PathBuf>),
    /// Do not index this folder any longer.
    ForgetFolder(PathBuf),
    /// Look through all folders again.
    Rescan,
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[
        Self::FocusSearch,
        Self::ShowAll,
        Self::SelectAll,
        Self::SelectNone,
        Self::Restore,
        Self::UseSettings,
        Self::Upscale(UpscaleMethod::Redraw),
        Self::Upscale(UpscaleMethod::Tiles),
        Self::FinishDrafts,
        Self::SetAutoAdvance(true),
        Self::SetAutoAdvance(false),
        Self::CopyPicture,
        Self::ShowInFolder,
        Self::SaveSearch,
        Self::AddFolder,
        Self::Rescan,
    ];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::FocusSearch => (tr!("gallery-search-pictures"), tr!("gallery-search-by-words-or")),
            Self::SetSearch(_) => (tr!("common-search"), tr!("gallery-find-pictures-by-word")),
            Self::RemoveCondition(_) => (tr!("gallery-remove-this-condition"), tr!("gallery-remove-this-condition-from")),
            Self::ShowAll => (tr!("gallery-show-all"), tr!("gallery-show-every-picture-again")),
            Self::SetOrder(_) => (tr!("gallery-order"), tr!("gallery-order-of-the-pictures")),
            Self::SetGrouping(_) => (tr!("gallery-groups"), tr!("gallery-group-pictures-under-headings")),
            Self::SetCellSide(_) => (tr!("gallery-size-of-the-pictures"), tr!("gallery-show-fewer-large-pictures")),
            Self::SetVisible(..) => (tr!("gallery-scroll"), tr!("gallery-scroll-through-the-pictures")),
            Self::MoveTo(..) => (tr!("gallery-select"), tr!("gallery-select-this-picture-with")),
            Self::Toggle(_) => (tr!("gallery-select-beside-the-others"), tr!("gallery-add-this-picture-to")),
            Self::SelectBand(..) => (tr!("gallery-select"), tr!("gallery-select-what-the-rectangle")),
            Self::SelectAll => (tr!("gallery-select-all"), tr!("gallery-select-all-pictures-shown")),
            Self::SelectNone => (tr!("gallery-select-none"), tr!("gallery-select-nothing")),
            Self::Look => (tr!("gallery-large-look"), tr!("gallery-show-this-picture-large")),
            Self::LookAt(_) => (tr!("gallery-show-this-picture"), tr!("gallery-show-this-picture-large-2")),
            Self::CloseLook => (tr!("gallery-back-to-the-pictures"), tr!("gallery-go-back-to-all")),
            Self::SetView(_) => (tr!("gallery-move-the-picture"), tr!("gallery-scroll-to-zoom-drag")),
            Self::ToggleActualSize => (tr!("gallery-actual-size"), tr!("gallery-show-one-picture-pixel")),
            Self::Compare | Self::CompareFrom(..) => (tr!("gallery-compare"), tr!("gallery-compare-two-pictures-and")),
            Self::SetCompareMode(mode) => (mode.label(), mode.tooltip()),
            Self::SwapCompared => (tr!("gallery-swap"), tr!("gallery-swap-the-two-pictures")),
            Self::SetDivider(_) => (tr!("gallery-divider"), tr!("gallery-drag-or-move-it")),
            Self::Rate(0) => (tr!("gallery-no-stars"), tr!("gallery-remove-the-rating-press")),
            Self::Rate(1) => (tr!("gallery-one-star"), tr!("gallery-rate-with-one-star")),
            Self::Rate(2) => (tr!("gallery-two-stars"), tr!("gallery-rate-with-two-stars")),
            Self::Rate(3) => (tr!("gallery-three-stars"), tr!("gallery-rate-with-three-stars")),
            Self::Rate(4) => (tr!("gallery-four-stars"), tr!("gallery-rate-with-four-stars")),
            Self::Rate(_) => (tr!("gallery-five-stars"), tr!("gallery-rate-with-five-stars")),
            Self::Flag(Some(PictureFlag::Pick)) | Self::FlagOf(_, Some(PictureFlag::Pick)) => {
                (tr!("gallery-pick"), tr!("gallery-mark-as-picked-press"))
            }
            Self::Flag(Some(PictureFlag::Reject)) | Self::FlagOf(_, Some(PictureFlag::Reject)) => {
                (tr!("gallery-reject"), tr!("gallery-mark-as-rejected-the"))
            }
            Self::Flag(None) | Self::FlagOf(_, None) => (tr!("gallery-no-mark"), tr!("gallery-remove-the-mark-press")),
            Self::SetAutoAdvance(true) => (tr!("gallery-auto-advance"), tr!("gallery-go-on-to-the")),
            Self::SetAutoAdvance(false) => (tr!("gallery-stop-auto-advance"), tr!("gallery-stay-on-a-picture")),
            Self::EditTag(_) => (tr!("gallery-new-tag"), tr!("gallery-a-tag-for-these")),
            Self::AddTag => (tr!("gallery-add-tag"), tr!("gallery-add-this-tag-to")),
            Self::RemoveTag(_) => (tr!("gallery-remove-tag"), tr!("gallery-remove-this-tag-from")),
            Self::EditNote(..) => (tr!("gallery-note"), tr!("gallery-your-note-about-this")),
            Self::SaveNote => (tr!("gallery-save-the-note"), tr!("gallery-save-this-note-with")),
            Self::Delete => (tr!("gallery-move-to-the-trash"), tr!("gallery-move-these-pictures-to")),
            Self::Restore => (tr!("gallery-bring-back"), tr!("gallery-restore-the-pictures-that")),
            Self::UseSettings => (tr!("gallery-use-these-settings"), tr!("gallery-show-this-picture-in")),
            Self::Recall(part) => (part.label(), recall_tooltip(*part)),
            Self::StartFrom => (tr!("common-start-from-this-picture"), tr!("gallery-use-this-picture-as")),
            Self::UseAsReference => (tr!("gallery-use-as-reference"), tr!("gallery-use-this-picture-as-a-reference")),
            Self::UseForControl => (tr!("gallery-use-for-control"), tr!("gallery-use-this-picture-as-the-control")),
            Self::UseForPerson => (tr!("gallery-use-for-a-person"), tr!("gallery-use-photomaker-to-show")),
            Self::Upscale(way) => way.words(),
            Self::FinishDrafts => (tr!("gallery-finish-drafts"), tr!("gallery-run-the-remaining-steps")),
            Self::CopyPicture => (tr!("gallery-copy-picture"), tr!("gallery-copy-this-picture-to")),
            Self::CopyText(_) => (tr!("common-copy"), tr!("gallery-copy-this-text-to")),
            Self::ShowInFolder => (tr!("gallery-show-in-folder"), tr!("gallery-show-this-pictures-file")),
            Self::SetDialog(Some(Dialog::Export(..))) => (tr!("gallery-export"), tr!("gallery-export-copies-as-png")),
            Self::SetDialog(Some(Dialog::SaveSearch(_))) => (tr!("gallery-save-this-search"), tr!("gallery-save-this-search-under")),
            Self::SetDialog(None) => (tr!("common-cancel"), tr!("gallery-close-without-changes")),
            Self::ChooseExportFolder => (tr!("gallery-choose-a-folder"), tr!("gallery-choose-the-folder-for")),
            Self::Export => (tr!("gallery-export-now"), tr!("gallery-write-the-copies-to")),
            Self::SaveSearch => (tr!("gallery-save"), tr!("gallery-save-this-search-under-this-name")),
            Self::DeleteSearch(_) => (tr!("gallery-delete-this-search"), tr!("gallery-delete-this-saved-search")),
            Self::AddFolder => (tr!("gallery-add-a-folder"), tr!("gallery-show-the-pictures-of")),
            Self::AddPaths(_) => (tr!("gallery-add-to-the-gallery"), tr!("gallery-copy-these-pictures-into")),
            Self::ForgetFolder(_) => (tr!("gallery-stop-showing-this-folder"), tr!("gallery-stop-showing-the-pictures")),
            Self::Rescan => (tr!("gallery-look-again"), tr!("gallery-scan-all-folders-for")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let require = |holds: bool, otherwise: &'static str| holds.then_some(()).ok_or(otherwise);
        let has_current = || require(state.current().is_some(), tr!("gallery-select-a-picture-first"));
        let has_target = || require(state.target_count() > 0, tr!("gallery-select-a-picture-first"));
        match self {
            Self::ShowAll => require(!state.search.text.trim().is_empty(), tr!("gallery-everything-is-shown")),
            Self::SelectAll => require(!state.found.ids.is_empty(), tr!("gallery-there-is-no-picture")),
            Self::SelectNone => require(!state.selection.is_empty(), tr!("gallery-nothing-is-selected")),
            Self::Look
            | Self::UseSettings
            | Self::Recall(_)
            | Self::StartFrom
            | Self::UseForControl
            | Self::CopyPicture
            | Self::ShowInFolder => has_current(),
            Self::Rate(_)
            | Self::Flag(_)
            | Self::Delete
            | Self::Upscale(_)
            | Self::RemoveTag(_)
            | Self::SetDialog(Some(Dialog::Export(..))) => has_target(),
            Self::FinishDrafts => {
                has_target()?;
                require(state.may_have_drafts(), tr!("gallery-no-draft-is-selected"))
            }
            Self::SetAutoAdvance(advances) => {
                let otherwise = if state.auto_advance { tr!("gallery-auto-advance-is-on") } else { tr!("gallery-auto-advance-is-off") };
                require(state.auto_advance != *advances, otherwise)
            }
            Self::UseForPerson => has_target().and_then(|()| shared.takes_person()),
            Self::UseAsReference => has_target().and_then(|()| shared.takes_references()),
            Self::AddTag => {
                has_target()?;
                require(!state.tag_text.trim().is_empty(), tr!("gallery-type-a-word-first"))
            }
            Self::CloseLook => require(state.mode != Mode::Grid, tr!("gallery-all-pictures-are-shown")),
            Self::ToggleActualSize => require(state.mode != Mode::Grid, tr!("gallery-show-a-picture-large")),
            Self::Compare => require(state.pair().is_some(), tr!("gallery-select-two-pictures-first")),
            Self::SetCompareMode(_) | Self::SwapCompared | Self::SetDivider(_) => {
                require(matches!(state.mode, Mode::Compare(_)), tr!("gallery-select-two-pictures-and"))
            }
            Self::SaveNote => require(state.note_text.is_some(), tr!("gallery-nothing-was-changed")),
            Self::Restore => require(state.can_restore, tr!("gallery-nothing-went-to-the")),
            Self::SetDialog(Some(Dialog::SaveSearch(_))) => {
                require(!state.search.text.trim().is_empty(), tr!("gallery-search-for-something-first"))
            }
            Self::SaveSearch => match &state.dialog {
                Some(Dialog::SaveSearch(name)) => require(!name.trim().is_empty(), tr!("common-type-a-name-first")),
                Some(Dialog::Export(..)) | None => Err(tr!("common-there-is-no-question")),
            },
            Self::Export => {
                let is_whole = state.typed_folder().is_some_and(|folder| folder.is_absolute());
                require(is_whole, tr!("gallery-type-the-whole-path"))
            }
            Self::ChooseExportFolder | Self::AddFolder => require(!shared.dialog_open, tr!("common-a-file-dialog-is")),
            Self::CompareFrom(..)
            | Self::FlagOf(..)
            | Self::FocusSearch
            | Self::SetSearch(_)
            | Self::RemoveCondition(_)
            | Self::SetOrder(_)
            | Self::SetGrouping(_)
            | Self::SetCellSide(_)
            | Self::SetVisible(..)
            | Self::MoveTo(..)
            | Self::Toggle(_)
            | Self::SelectBand(..)
            | Self::LookAt(_)
            | Self::SetView(_)
            | Self::EditTag(_)
            | Self::EditNote(..)
            | Self::CopyText(_)
            | Self::SetDialog(None)
            | Self::DeleteSearch(_)
            | Self::AddPaths(_)
            | Self::ForgetFolder(_)
            | Self::Rescan => Ok(()),
        }
    }
}

/// [`RecallPart::tooltip`] with the key that this view has for it.
fn recall_tooltip(part: RecallPart) -> &'static str {
    match part {
        RecallPart::All => tr!("gallery-load-prompt-seed-and"),
        RecallPart::Prompt => tr!("gallery-load-the-prompt-and"),
        RecallPart::Seed => tr!("gallery-load-the-seed-of"),
        RecallPart::AllButSeed => tr!("gallery-load-all-settings-of"),
        RecallPart::Size => tr!("gallery-load-width-and-height"),
        RecallPart::Model => tr!("gallery-load-the-model-of"),
    }
}

/// Keys without modifiers that act while the gallery has the keyboard.
pub(crate) const PLAIN_KEYS: &[(Key, Command)] = &[
    (Key::Num0, Command::Rate(0)),
    (Key::Num1, Command::Rate(1)),
    (Key::Num2, Command::Rate(2)),
    (Key::Num3, Command::Rate(3)),
    (Key::Num4, Command::Rate(4)),
    (Key::Num5, Command::Rate(5)),
    (Key::P, Command::Flag(Some(PictureFlag::Pick))),
    (Key::X, Command::Flag(Some(PictureFlag::Reject))),
    (Key::U, Command::Flag(None)),
    (Key::Delete, Command::Delete),
    (Key::Space, Command::Look),
    (Key::Z, Command::ToggleActualSize),
    (Key::C, Command::Compare),
    (Key::T, Command::Recall(RecallPart::Prompt)),
    (Key::S, Command::Recall(RecallPart::Seed)),
    (Key::R, Command::Recall(RecallPart::AllButSeed)),
    (Key::D, Command::Recall(RecallPart::Size)),
    (Key::M, Command::Recall(RecallPart::Model)),
    (Key::I, Command::StartFrom),
    (Key::F, Command::UseAsReference),
    (Key::L, Command::Upscale(UpscaleMethod::Plain)),
    (Key::E, Command::SetDialog(Some(Dialog::Export(ExportChoice::USUAL)))),
    (Key::Slash, Command::FocusSearch),
];
