//! Commands of the styles. Their effect is in [`crate::gui::styles::update`]; nothing here changes
//! anything.

use crate::gui::feature_command::FeatureCommand;
use crate::gui::shared::Shared;
use crate::gui::styles::state::{State, StyleDraft};
use atelier_language::tr;
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
            Self::Apply(_) => (tr!("styles-apply-a-style"), tr!("styles-apply-this-style-to")),
            Self::Edit(Some(_)) => (tr!("styles-save-as-a-style"), tr!("styles-save-some-of-these")),
            Self::Edit(None) => (tr!("common-cancel"), tr!("styles-do-not-save")),
            Self::Save => (tr!("styles-save-style"), tr!("styles-save-these-parts-of")),
            Self::Delete(_) => (tr!("styles-delete-style"), tr!("styles-move-this-style-to")),
            Self::AnswerImport(Some(TakenNames::Replace)) => (tr!("styles-replace"), tr!("styles-replace-your-styles-with")),
            Self::AnswerImport(Some(TakenNames::KeepBoth)) => (tr!("styles-keep-both"), tr!("styles-keep-your-styles-and")),
            Self::AnswerImport(Some(TakenNames::Skip)) => (tr!("styles-skip"), tr!("styles-keep-your-styles-and-skip-those")),
            Self::AnswerImport(None) => (tr!("common-cancel"), tr!("styles-do-not-import")),
            Self::Import => (tr!("styles-import-styles-csv"), tr!("styles-import-styles-from-a1111s")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        match self {
            Self::Save => {
                let draft = state.draft.as_ref().ok_or(tr!("styles-there-is-nothing-to"))?;
                if draft.name.trim().is_empty() {
                    return Err(tr!("styles-enter-a-name-for"));
                }
                (!draft.parts.is_empty()).then_some(()).ok_or(tr!("styles-choose-at-least-one"))
            }
            Self::Import | Self::AnswerImport(_) => (!shared.dialog_open).then_some(()).ok_or(tr!("common-a-file-dialog-is")),
            Self::Apply(_) | Self::Edit(_) | Self::Delete(_) => Ok(()),
        }
    }
}
