//! Commands of the styles. Their effect is in [`crate::gui::styles::update`]; nothing here changes
//! anything.

use crate::gui::feature_command::FeatureCommand;
use crate::gui::shared::Shared;
use crate::gui::styles::state::{State, StyleDraft};
use atelier_studio::styles::TakenNames;

/// A command of the styles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Apply the style of this name.
    Apply(String),
    /// Open the dialog that saves a style, edit it, or close it.
    Edit(Option<Box<StyleDraft>>),
    /// Save the style of the dialog.
    Save,
    /// Delete the style of this name.
    Delete(String),
    /// Show the file dialog for A1111's list of styles.
    Import,
    /// Import the styles of a list, with this for those whose names are taken; or none of them.
    AnswerImport(Option<TakenNames>),
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[Self::Import];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Apply(_) => ("Apply a style", "Apply this style to the settings."),
            Self::Edit(Some(_)) => ("Save as a style", "Save some of these settings under a name, to reuse them."),
            Self::Edit(None) => ("Cancel", "Do not save."),
            Self::Save => ("Save style", "Save these parts of the settings under this name."),
            Self::Delete(_) => ("Delete style", "Move this style to your system's trash."),
            Self::AnswerImport(Some(TakenNames::Replace)) => {
                ("Replace", "Replace your styles with these names. Replaced styles go to your system's trash.")
            }
            Self::AnswerImport(Some(TakenNames::KeepBoth)) => {
                ("Keep both", "Keep your styles, and add the imported ones with a number after the name.")
            }
            Self::AnswerImport(Some(TakenNames::Skip)) => ("Skip", "Keep your styles, and skip those with the same name."),
            Self::AnswerImport(None) => ("Cancel", "Do not import."),
            Self::Import => ("Import styles.csv…", "Import styles from A1111's styles.csv."),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::Save => {
                let draft = state.draft.as_ref().ok_or("There is nothing to save.")?;
                if draft.name.trim().is_empty() {
                    return Err("Enter a name for the style.");
                }
                (!draft.parts.is_empty()).then_some(()).ok_or("Choose at least one part of the settings.")
            }
            Self::Import | Self::AnswerImport(_) => (!shared.dialog_open).then_some(()).ok_or("A file dialog is already open."),
            Self::Apply(_) | Self::Edit(_) | Self::Delete(_) => Ok(()),
        }
    }
}
