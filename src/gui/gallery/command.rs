//! Commands of the Gallery view. Their effect is in [`crate::gui::gallery::update`]; nothing here
//! changes anything.

use std::path::PathBuf;

use atelier_core::recipe::RecallPart;
use atelier_gallery::{Grouping, Order, PictureFlag, PictureId};
use eframe::egui::Key;

use crate::gui::create::larger::UpscaleMethod;
use crate::gui::feature_command::FeatureCommand;
use crate::gui::gallery::compare::CompareMode;
use crate::gui::gallery::state::{Dialog, Mode, State};
use crate::gui::shared::{Screen, Shared};
use crate::gui::viewport::View;
use atelier_studio::gallery_service::ExportFormat;

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
            Self::FocusSearch => {
                ("Search pictures", "Search by words, or by fields such as model:z-image, seed:7, rating>=3, since:7d, -night. Press /.")
            }
            Self::SetSearch(_) => ("Search", "Find pictures by word, model, look or date."),
            Self::RemoveCondition(_) => ("Remove this condition", "Remove this condition from the search."),
            Self::ShowAll => ("Show all", "Show every picture again."),
            Self::SetOrder(_) => ("Order", "Order of the pictures."),
            Self::SetGrouping(_) => ("Groups", "Group pictures under headings."),
            Self::SetCellSide(_) => ("Size of the pictures", "Show fewer large pictures, or more small ones."),
            Self::SetVisible(..) => ("Scroll", "Scroll through the pictures."),
            Self::MoveTo(..) => ("Select", "Select this picture. With Shift everything up to it, with Ctrl beside the others."),
            Self::Toggle(_) => ("Select beside the others", "Add this picture to the selection, or remove it."),
            Self::SelectBand(..) => ("Select", "Select what the rectangle touches."),
            Self::SelectAll => ("Select all", "Select all pictures shown. Press Ctrl+A."),
            Self::SelectNone => ("Select none", "Select nothing."),
            Self::Look => ("Large look", "Show this picture large, or go back to the grid. Press Space."),
            Self::LookAt(_) => ("Show this picture", "Show this picture large."),
            Self::CloseLook => ("Back to the pictures", "Go back to all pictures. Press Escape."),
            Self::SetView(_) => ("Move the picture", "Scroll to zoom, drag to move, double-click for the actual size."),
            Self::ToggleActualSize => ("Actual size", "Show one picture pixel per screen pixel, or the whole picture. Press Z."),
            Self::Compare | Self::CompareFrom(..) => ("Compare", "Compare two pictures and their settings. Press C."),
            Self::SetCompareMode(mode) => (mode.label(), mode.tooltip()),
            Self::SwapCompared => ("Swap", "Swap the two pictures. Press X."),
            Self::SetDivider(_) => ("Divider", "Drag, or move it with the arrow keys."),
            Self::Rate(0) => ("No stars", "Remove the rating. Press 0."),
            Self::Rate(1) => ("One star", "Rate with one star. Press 1."),
            Self::Rate(2) => ("Two stars", "Rate with two stars. Press 2."),
            Self::Rate(3) => ("Three stars", "Rate with three stars. Press 3."),
            Self::Rate(4) => ("Four stars", "Rate with four stars. Press 4."),
            Self::Rate(_) => ("Five stars", "Rate with five stars. Press 5."),
            Self::Flag(Some(PictureFlag::Pick)) | Self::FlagOf(_, Some(PictureFlag::Pick)) => ("Pick", "Mark as picked. Press P."),
            Self::Flag(Some(PictureFlag::Reject)) | Self::FlagOf(_, Some(PictureFlag::Reject)) => {
                ("Reject", "Mark as rejected. The file is kept. Press X.")
            }
            Self::Flag(None) | Self::FlagOf(_, None) => ("No mark", "Remove the mark. Press U."),
            Self::SetAutoAdvance(true) => ("Auto-advance", "Go on to the next picture after each star, pick or reject."),
            Self::SetAutoAdvance(false) => ("Stop auto-advance", "Stay on a picture after a star, pick or reject."),
            Self::EditTag(_) => ("New tag", "A tag for these pictures. Press Enter to add it."),
            Self::AddTag => ("Add tag", "Add this tag to the pictures."),
            Self::RemoveTag(_) => ("Remove tag", "Remove this tag from the pictures."),
            Self::EditNote(..) => ("Note", "Your note about this picture."),
            Self::SaveNote => ("Keep the note", "Save this note with the picture."),
            Self::Delete => ("Move to the trash", "Move these pictures to the system's trash. Ctrl+Z restores them. Press Delete."),
            Self::Restore => ("Bring back", "Restore the pictures that were last moved to the trash. Press Ctrl+Z."),
            Self::UseSettings => ("Use these settings", "Show this picture in Create and load its prompt, seed and settings. Press Enter."),
            Self::Recall(part) => (part.label(), recall_tooltip(*part)),
            Self::StartFrom => {
                ("Start from this picture", "Use this picture as the start picture of the next one (image to image). Press I.")
            }
            Self::UseAsReference => ("Use as reference", "Use this picture as a reference for an edit model. Press F."),
            Self::UseForControl => ("Use for control", "Use this picture as the control picture of the ControlNet."),
            Self::UseForPerson => ("Use for a person", "Use PhotoMaker to show the person of this picture in the next one."),
            Self::Upscale(way) => way.words(),
            Self::FinishDrafts => ("Finish drafts", "Run the remaining steps of each selected draft."),
            Self::CopyPicture => ("Copy picture", "Copy this picture to the clipboard. Press Ctrl+C."),
            Self::CopyText(_) => ("Copy", "Copy this text to the clipboard."),
            Self::ShowInFolder => ("Show in folder", "Show this picture's file in your file manager."),
            Self::SetDialog(Some(Dialog::Export(..))) => {
                ("Export…", "Export copies as PNG, JPEG or WebP, with or without their settings. Press E.")
            }
            Self::SetDialog(Some(Dialog::SaveSearch(_))) => ("Save this search…", "Save this search under a name."),
            Self::SetDialog(None) => ("Cancel", "Close without changes."),
            Self::ChooseExportFolder => ("Choose a folder…", "Choose the folder for the copies. Existing files are not replaced."),
            Self::SaveSearch => ("Keep", "Save this search under this name."),
            Self::DeleteSearch(_) => ("Delete this search", "Delete this saved search. Pictures are not changed."),
            Self::AddFolder => (
                "Add a folder…",
                "Show the pictures of another folder, such as the output of another program. Atelier never changes anything in it.",
            ),
            Self::AddPaths(_) => ("Add to the gallery", "Copy these pictures into your pictures folder. Folders are shown in place."),
            Self::ForgetFolder(_) => ("Stop showing this folder", "Stop showing the pictures of this folder. Its files are not changed."),
            Self::Rescan => ("Look again", "Scan all folders for new, moved and missing pictures."),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let require = |holds: bool, otherwise: &'static str| holds.then_some(()).ok_or(otherwise);
        let has_current = || require(state.current().is_some(), "Select a picture first.");
        let has_target = || require(state.target_count() > 0, "Select a picture first.");
        match self {
            Self::ShowAll => require(!state.search.text.trim().is_empty(), "Everything is shown."),
            Self::SelectAll => require(!state.found.ids.is_empty(), "There is no picture."),
            Self::SelectNone => require(!state.selection.is_empty(), "Nothing is selected."),
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
                require(state.may_have_drafts(), "No draft is selected. To make drafts, turn on Stop early.")
            }
            Self::SetAutoAdvance(advances) => {
                let otherwise = if state.auto_advance { "Auto-advance is on." } else { "Auto-advance is off." };
                require(state.auto_advance != *advances, otherwise)
            }
            Self::UseForPerson => has_target().and_then(|()| shared.takes_person()),
            Self::UseAsReference => has_target().and_then(|()| shared.takes_references()),
            Self::AddTag => {
                has_target()?;
                require(!state.tag_text.trim().is_empty(), "Type a word first.")
            }
            Self::CloseLook => require(state.mode != Mode::Grid, "All pictures are shown."),
            Self::ToggleActualSize => require(state.mode != Mode::Grid, "Show a picture large first."),
            Self::Compare => require(state.pair().is_some(), "Select two pictures first."),
            Self::SetCompareMode(_) | Self::SwapCompared | Self::SetDivider(_) => {
                require(matches!(state.mode, Mode::Compare(_)), "Select two pictures and compare them first.")
            }
            Self::SaveNote => require(state.note_text.is_some(), "Nothing was changed."),
            Self::Restore => require(state.can_restore, "Nothing went to the trash."),
            Self::SetDialog(Some(Dialog::SaveSearch(_))) => require(!state.search.text.trim().is_empty(), "Search for something first."),
            Self::SaveSearch => match &state.dialog {
                Some(Dialog::SaveSearch(name)) => require(!name.trim().is_empty(), "Type a name first."),
                Some(Dialog::Export(..)) | None => Err("There is no question."),
            },
            Self::ChooseExportFolder | Self::AddFolder => require(!shared.dialog_open, "A file dialog is already open."),
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
const fn recall_tooltip(part: RecallPart) -> &'static str {
    match part {
        RecallPart::All => "Load prompt, seed and all settings of this picture. Press Enter.",
        RecallPart::Prompt => "Load the prompt and the negative prompt of this picture. Press T.",
        RecallPart::Seed => "Load the seed of this picture. Press S.",
        RecallPart::AllButSeed => "Load all settings of this picture but the seed, for a similar picture. Press R.",
        RecallPart::Size => "Load width and height of this picture. Press D.",
        RecallPart::Model => "Load the model of this picture. Press M.",
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
    (Key::E, Command::SetDialog(Some(Dialog::Export(ExportFormat::Png, false)))),
    (Key::Slash, Command::FocusSearch),
];
