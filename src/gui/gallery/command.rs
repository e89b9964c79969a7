//! Commands of the Gallery view. Their effect is in [`crate::gui::gallery::update`]; nothing here changes anything.

use std::path::PathBuf;

use atelier_core::recipe::RecallPart;
use atelier_gallery::{Grouping, Order, PictureFlag, PictureId};
use eframe::egui::Key;

use crate::gui::create::larger::Enlargement;
use crate::gui::gallery::compare::CompareMode;
use crate::gui::gallery::state::{Dialog, Mode, State};
use crate::gui::shared::Shared;
use crate::gui::shortcut::Shortcut;
use crate::gui::viewport::View;
use atelier_studio::gallery_service::ExportFormat;

/// A command of the Gallery view.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Put the cursor into the search.
    FocusSearch,
    /// Search for this.
    SetSearch(String),
    /// Take the condition of this index out of the search.
    RemoveCondition(usize),
    /// Show everything.
    ShowAll,
    /// Set the order.
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
    /// Select everything.
    SelectAll,
    /// Select nothing.
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
    /// Text of the field for a new tag.
    EditTag(String),
    /// Add the typed tag.
    AddTag,
    /// Remove this tag.
    RemoveTag(String),
    /// Text of the note.
    EditNote(PictureId, String),
    /// Keep the note.
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
    /// Enlarge the selected pictures.
    Enlarge(Enlargement),
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

impl Command {
    /// The keys. Those with more modifiers come before those with fewer.
    pub const KEYS: &[(Self, Shortcut)] = &[];

    /// Commands without a key that the command palette offers.
    pub const OFFERED: &[Self] = &[
        Self::ShowAll,
        Self::SelectAll,
        Self::SelectNone,
        Self::Restore,
        Self::UseSettings,
        Self::Enlarge(Enlargement::Redraw),
        Self::Enlarge(Enlargement::Tiles),
        Self::FinishDrafts,
        Self::CopyPicture,
        Self::ShowInFolder,
        Self::SaveSearch,
        Self::AddFolder,
        Self::Rescan,
    ];

    /// The words on its button or menu entry, which are its accessible name too.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.words().0
    }

    /// Its effect, in a sentence.
    #[must_use]
    pub fn tooltip(&self) -> &'static str {
        self.words().1
    }

    /// Label and tooltip.
    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::FocusSearch => {
                ("Search pictures", "Search by words, or by fields such as model:z-image, seed:7, rating>=3, since:7d, -night. Press /.")
            }
            Self::SetSearch(_) => ("Search", "Find pictures by word, model, look or date."),
            Self::RemoveCondition(_) => ("Remove this condition", "Take this condition out of the search."),
            Self::ShowAll => ("Show all", "Show every picture again."),
            Self::SetOrder(_) => ("Order", "Order of the pictures."),
            Self::SetGrouping(_) => ("Groups", "Put pictures that belong together under a heading."),
            Self::SetCellSide(_) => ("Size of the pictures", "Show fewer large pictures, or more small ones."),
            Self::SetVisible(..) => ("Scroll", "Scroll through the pictures."),
            Self::MoveTo(..) => ("Select", "Select this picture. With Shift everything up to it, with Ctrl beside the others."),
            Self::Toggle(_) => ("Select beside the others", "Add this picture to the selection, or take it out."),
            Self::SelectBand(..) => ("Select", "Select what the rectangle touches."),
            Self::SelectAll => ("Select all", "Select every picture that is shown. Press Ctrl+A."),
            Self::SelectNone => ("Select none", "Select nothing."),
            Self::Look => ("Large look", "Show this picture large, or go back to the others. Press Space."),
            Self::LookAt(_) => ("Show this picture", "Show this picture large."),
            Self::CloseLook => ("Back to the pictures", "Go back to all pictures. Press Escape."),
            Self::SetView(_) => ("Move the picture", "Scroll to zoom, drag to move, double-click for the actual size."),
            Self::ToggleActualSize => ("Actual size", "One pixel of the picture on one of the screen, or the whole picture. Press Z."),
            Self::Compare => ("Compare", "Look at two pictures together, and see which settings differ. Press C."),
            Self::SetCompareMode(mode) => (mode.label(), mode.tooltip()),
            Self::SwapCompared => ("Swap", "Exchange the two pictures. Press X."),
            Self::SetDivider(_) => ("Divider", "Drag, or move it with the arrow keys."),
            Self::Rate(0) => ("No stars", "Take the rating away. Press 0."),
            Self::Rate(1) => ("One star", "Rate with one star. Press 1."),
            Self::Rate(2) => ("Two stars", "Rate with two stars. Press 2."),
            Self::Rate(3) => ("Three stars", "Rate with three stars. Press 3."),
            Self::Rate(4) => ("Four stars", "Rate with four stars. Press 4."),
            Self::Rate(_) => ("Five stars", "Rate with five stars. Press 5."),
            Self::Flag(Some(PictureFlag::Pick)) => ("Pick", "Mark as chosen. Press P."),
            Self::Flag(Some(PictureFlag::Reject)) => ("Reject", "Mark as sorted out. The file stays. Press X."),
            Self::Flag(None) => ("No mark", "Neither picked nor rejected. Press U."),
            Self::EditTag(_) => ("New tag", "A word of your own for these pictures. Enter adds it."),
            Self::AddTag => ("Add tag", "Add this word to the pictures."),
            Self::RemoveTag(_) => ("Remove tag", "Take this word off the pictures."),
            Self::EditNote(..) => ("Note", "Whatever you would like to remember of this picture."),
            Self::SaveNote => ("Keep the note", "Keep this note with the picture."),
            Self::Delete => ("Move to the trash", "Move these pictures to the system's trash. Ctrl+Z brings them back. Press Delete."),
            Self::Restore => ("Bring back", "Take the pictures back that went to the trash last. Press Ctrl+Z."),
            Self::UseSettings => {
                ("Use these settings", "Show this picture in Create and take over prompt, seed and all settings. Press Enter.")
            }
            Self::Recall(part) => (part.label(), recall_tooltip(*part)),
            Self::StartFrom => ("Start from this picture", "Use this picture as the start of the next one. Press I."),
            Self::UseAsReference => ("Use as reference", "Let an edit model look at this picture. Press F."),
            Self::UseForControl => ("Use for control", "Let this picture steer the next one through the ControlNet."),
            Self::UseForPerson => ("Use for a person", "Let the PhotoMaker bring the person of this picture into the next one."),
            Self::Enlarge(way) => way.words(),
            Self::FinishDrafts => {
                ("Finish drafts", "Run the rest of the steps of each selected draft. The steps that they have are not made again.")
            }
            Self::CopyPicture => ("Copy picture", "Put this picture on the clipboard. Press Ctrl+C."),
            Self::CopyText(_) => ("Copy", "Put these words on the clipboard."),
            Self::ShowInFolder => ("Show in folder", "Show this picture's file in your file manager."),
            Self::SetDialog(Some(Dialog::Export(..))) => {
                ("Export…", "Write copies as PNG, JPEG or WebP, with or without their settings. Press E.")
            }
            Self::SetDialog(Some(Dialog::SaveSearch(_))) => ("Keep this search…", "Give this search a name and find it here again."),
            Self::SetDialog(None) => ("Cancel", "Close this without doing anything."),
            Self::ChooseExportFolder => ("Choose a folder…", "Choose where the copies go. Nothing there is replaced."),
            Self::SaveSearch => ("Keep", "Keep this search under this name."),
            Self::DeleteSearch(_) => ("Forget this search", "Take this search off the list. No picture is touched."),
            Self::AddFolder => (
                "Add a folder…",
                "Show the pictures of another folder too, such as the output of another program. Nothing in it is ever changed.",
            ),
            Self::AddPaths(_) => (
                "Add to the gallery",
                "Copy these pictures into your pictures folder, so that they are found here. Folders are shown where they are.",
            ),
            Self::ForgetFolder(_) => {
                ("Stop showing this folder", "Do not show the pictures of this folder any longer. Its files stay as they are.")
            }
            Self::Rescan => ("Look again", "Look through all folders for new, moved and missing pictures."),
        }
    }

    /// `Ok` if it can be done now.
    ///
    /// # Errors
    /// The sentence about the first thing that is missing.
    pub fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
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
            | Self::Enlarge(_)
            | Self::FinishDrafts
            | Self::RemoveTag(_)
            | Self::SetDialog(Some(Dialog::Export(..))) => has_target(),
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
            Self::ChooseExportFolder | Self::AddFolder => require(!shared.dialog_open, "A file dialog is open already."),
            Self::FocusSearch
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
        RecallPart::All => "Take over prompt, seed and all settings of this picture. Press Enter.",
        RecallPart::Prompt => "Take over the prompt and the negative prompt of this picture. Press T.",
        RecallPart::Seed => "Take over the seed of this picture, so that only what you change changes. Press S.",
        RecallPart::AllButSeed => "Take over all settings of this picture, and keep your seed: another picture of the same kind. Press R.",
        RecallPart::Size => "Take over width and height of this picture. Press D.",
        RecallPart::Model => "Take over the model of this picture. Press M.",
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
    (Key::L, Command::Enlarge(Enlargement::Plain)),
    (Key::E, Command::SetDialog(Some(Dialog::Export(ExportFormat::Png, false)))),
    (Key::Slash, Command::FocusSearch),
];
