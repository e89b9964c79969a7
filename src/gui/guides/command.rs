//! Commands of the guides. Their effect is in [`crate::gui::guides::update`]; nothing here changes
//! anything.

use std::path::PathBuf;

use crate::gui::feature_command::FeatureCommand;
use crate::gui::guides::state::State;
use crate::gui::shared::Shared;
use atelier_core::recipe::Person;
use atelier_language::tr;

/// A command of the guides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show the file dialog for the pictures to start from.
    ChooseStart,
    /// Start the next picture from this file.
    StartFromFile(PathBuf),
    /// Start from nothing again.
    ClearStart,
    /// Remove the start picture of this index, from 0.
    RemoveStart(usize),
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
    /// Show the file dialog for the features of the faces in these pictures.
    ChooseFaces,
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
        Self::ChooseFaces,
    ];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::ChooseStart => (tr!("guides-choose-a-picture"), tr!("guides-choose-a-start-picture")),
            Self::ClearStart => (tr!("guides-remove-start-picture"), tr!("guides-remove-the-start-picture")),
            Self::RemoveStart(_) => (tr!("guides-remove-start-picture"), tr!("guides-remove-this-picture-the")),
            Self::ChooseMask => (tr!("guides-choose-a-mask"), tr!("guides-choose-an-inpainting-mask")),
            Self::ClearMask => (tr!("guides-remove-mask"), tr!("guides-regenerate-the-whole-picture")),
            Self::AddReference => (tr!("guides-add-a-reference-picture"), tr!("guides-choose-a-reference-picture")),
            Self::RemoveReference(_) => (tr!("guides-remove-reference-picture"), tr!("guides-remove-this-picture-the")),
            Self::ChooseControl => (tr!("guides-choose-a-control-picture"), tr!("guides-choose-the-control-picture")),
            Self::ClearControl => (tr!("guides-remove-control-picture"), tr!("guides-remove-this-picture-the")),
            Self::AddPerson => (tr!("guides-add-a-picture-of"), tr!("guides-choose-pictures-of-the")),
            Self::RemovePerson(_) => (tr!("guides-remove-picture-of-the"), tr!("guides-remove-this-picture-the")),
            Self::ChooseFaces => (tr!("guides-choose-a-face-embedding"), tr!("guides-choose-the-file-with-features")),
            Self::StartFromFile(_) => (tr!("common-start-from-this-picture"), tr!("guides-use-this-picture-as")),
        }
    }

    fn enabled(&self, _: &State, shared: &Shared) -> Result<(), &'static str> {
        let dialog = (!shared.dialog_open).then_some(()).ok_or(tr!("common-a-file-dialog-is"));
        match self {
            Self::ChooseStart | Self::ChooseMask | Self::ChooseControl => dialog,
            Self::AddReference => shared.takes_references().and(dialog),
            Self::AddPerson => {
                shared.takes_person()?;
                let has_room = shared.next.recipe.person.images.len() < Person::MAX_IMAGES;
                has_room.then_some(()).ok_or(tr!("guides-photomaker-cannot-use-more"))?;
                dialog
            }
            Self::ChooseFaces => {
                (!shared.next.recipe.person.is_empty()).then_some(()).ok_or(tr!("guides-add-pictures-of-the-person-first"))?;
                shared.may_read_faces().then_some(()).ok_or(tr!("guides-this-photomaker-reads-no"))?;
                dialog
            }
            Self::StartFromFile(_)
            | Self::ClearStart
            | Self::RemoveStart(_)
            | Self::ClearMask
            | Self::RemoveReference(_)
            | Self::ClearControl
            | Self::RemovePerson(_) => Ok(()),
        }
    }
}
