//! Commands of the guides. Their effect is in [`crate::gui::guides::update`]; nothing here changes
//! anything.

use std::path::PathBuf;

use crate::gui::feature_command::FeatureCommand;
use crate::gui::guides::state::State;
use crate::gui::shared::Shared;
use atelier_core::recipe::Person;

/// A command of the guides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show the file dialog for the picture to start from.
    ChooseStart,
    /// Start the next picture from this file.
    StartFromFile(PathBuf),
    /// Start from nothing again.
    ClearStart,
    /// Show the file dialog for the mask.
    ChooseMask,
    /// Paint the whole picture anew.
    ClearMask,
    /// Show the file dialog for a reference picture.
    AddReference,
    /// Remove the reference picture of this index.
    RemoveReference(usize),
    /// Show the file dialog for the picture of the ControlNet.
    ChooseControl,
    /// Remove the picture of the ControlNet.
    ClearControl,
    /// Show the file dialog for pictures of a person.
    AddPerson,
    /// Remove the picture of the person of this index.
    RemovePerson(usize),
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[
        Self::ChooseStart,
        Self::ClearStart,
        Self::ChooseMask,
        Self::ClearMask,
        Self::AddReference,
        Self::ChooseControl,
        Self::ClearControl,
        Self::AddPerson,
    ];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::ChooseStart => ("Choose a picture", "Choose a start picture (image to image)."),
            Self::ClearStart => ("Remove start picture", "Remove the start picture. The file on disk is kept."),
            Self::ChooseMask => ("Choose a mask", "Choose an inpainting mask: white is regenerated, black is kept."),
            Self::ClearMask => ("Remove mask", "Regenerate the whole picture."),
            Self::AddReference => ("Add a reference picture", "Choose a reference picture for an edit model."),
            Self::RemoveReference(_) => ("Remove reference picture", "Remove this picture. The file on disk is kept."),
            Self::ChooseControl => ("Choose a control picture", "Choose the control picture for the ControlNet."),
            Self::ClearControl => ("Remove control picture", "Remove this picture. The file on disk is kept."),
            Self::AddPerson => ("Add a picture of a person", "Choose pictures of the person that PhotoMaker should show."),
            Self::RemovePerson(_) => ("Remove picture of the person", "Remove this picture. The file on disk is kept."),
            Self::StartFromFile(_) => ("Start from this picture", "Use this picture as the start of the next one."),
        }
    }

    fn enabled(&self, _: &State, shared: &Shared) -> Result<(), &'static str> {
        let dialog = (!shared.dialog_open).then_some(()).ok_or("A file dialog is already open.");
        match self {
            Self::ChooseStart | Self::ChooseMask | Self::ChooseControl => dialog,
            Self::AddReference => shared.takes_references().and(dialog),
            Self::AddPerson => {
                shared.takes_person()?;
                let has_room = shared.next.recipe.person.images.len() < Person::MAX_IMAGES;
                has_room.then_some(()).ok_or("PhotoMaker cannot use more pictures of the person.")?;
                dialog
            }
            Self::StartFromFile(_)
            | Self::ClearStart
            | Self::ClearMask
            | Self::RemoveReference(_)
            | Self::ClearControl
            | Self::RemovePerson(_) => Ok(()),
        }
    }
}
