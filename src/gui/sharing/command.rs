//! Commands of sharing. Their effects are in [`crate::gui::sharing::update`].

use std::net::IpAddr;

use atelier_language::tr;

use crate::gui::feature_command::FeatureCommand;
use crate::gui::shared::Shared;
use crate::gui::sharing::state::{Phase, State};
use crate::http::{DiskQuota, Retention};

/// Command of sharing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show the dialog.
    Open,
    /// Put the dialog away; what is shared stays so.
    Close,
    /// Let other devices of the network come too, or not.
    ListenToNetwork(bool),
    /// Ask programs of this computer for a token too, or not.
    RequireToken(bool),
    /// Tell the network of it, or not.
    Announce(bool),
    /// The name under which it is announced.
    SetStudioName(String),
    /// Share at each start of the program, or not.
    ShareAtStart(bool),
    /// Disk space of the pictures of each person.
    SetDiskQuota(DiskQuota),
    /// How long pictures of others are kept.
    SetRetention(Retention),
    Start,
    Stop,
    /// Put the address on the clipboard.
    CopyAddress,
    /// The name that is typed.
    SetPerson(String),
    /// Give the person of this name a token.
    AddPerson,
    /// Take a person's token back.
    RemovePerson(String),
    /// Put a person's link on the clipboard.
    CopyLink(String),
    /// Show a person's link as a code for a phone.
    ShowCode(String),
    HideCode,
    /// Let a device without a token in.
    Admit(IpAddr),
    TurnAway(IpAddr),
    /// Take back what let a device in.
    RevokeDevice(IpAddr),
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[Self::Open, Self::Stop];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Open => (tr!("sharing-share-models"), tr!("sharing-let-other-programs-people")),
            Self::Close => (tr!("common-close"), tr!("sharing-close-what-is-shared")),
            Self::ListenToNetwork(_) => (tr!("sharing-other-devices-in-this"), tr!("sharing-phones-and-computers-can")),
            Self::RequireToken(_) => (tr!("sharing-programs-on-this-computer"), tr!("sharing-without-it-programs-of")),
            Self::Announce(_) => (tr!("sharing-announce-in-the-network"), tr!("sharing-other-ateliers-list-this")),
            Self::SetStudioName(_) => (tr!("sharing-name-of-this-studio"), tr!("sharing-the-name-under-which")),
            Self::ShareAtStart(_) => (tr!("sharing-share-again-when-atelier"), tr!("sharing-start-sharing-by-itself")),
            Self::SetDiskQuota(_) => (tr!("sharing-disk-space-for-each"), tr!("sharing-refuse-new-pictures-of")),
            Self::SetRetention(_) => (tr!("sharing-days-that-pictures-of"), tr!("sharing-move-pictures-of-others")),
            Self::Start => (tr!("sharing-start-sharing"), tr!("sharing-start-sharing-it-ends")),
            Self::Stop => (tr!("sharing-stop-sharing"), tr!("sharing-disconnect-everybody-pictures-that")),
            Self::CopyAddress => (tr!("sharing-copy-address"), tr!("sharing-copy-the-address-for")),
            Self::SetPerson(_) => (tr!("sharing-name-of-the-person"), tr!("sharing-the-name-is-shown")),
            Self::AddPerson => (tr!("sharing-add-person"), tr!("sharing-create-a-token-for")),
            Self::RemovePerson(_) => (tr!("sharing-revoke"), tr!("sharing-end-this-persons-token")),
            Self::CopyLink(_) => (tr!("sharing-copy-link"), tr!("sharing-copy-the-link-with")),
            Self::ShowCode(_) => (tr!("sharing-show-code"), tr!("sharing-show-the-link-as")),
            Self::HideCode => (tr!("sharing-hide-code"), tr!("sharing-hide-the-code")),
            Self::Admit(_) => (tr!("sharing-allow"), tr!("sharing-let-this-device-generate")),
            Self::TurnAway(_) => (tr!("sharing-refuse"), tr!("sharing-ignore-this-device-until")),
            Self::RevokeDevice(_) => (tr!("sharing-revoke"), tr!("sharing-end-this-devices-access")),
        }
    }

    fn enabled(&self, state: &State, _: &Shared) -> Result<(), &'static str> {
        let is_off = matches!(state.phase, Phase::Off);
        let is = |holds: bool, otherwise: &'static str| if holds { Ok(()) } else { Err(otherwise) };
        let is_on = || is(state.running().is_some(), tr!("sharing-nothing-is-shared-now"));
        let has_person = |name: &str| state.running().is_some_and(|it| it.people.iter().any(|(person, _)| person == name));
        match self {
            Self::Open | Self::Close | Self::SetPerson(_) | Self::SetDiskQuota(_) | Self::SetRetention(_) => Ok(()),
            Self::ShareAtStart(_) => is(state.paths.is_some(), tr!("sharing-there-is-no-folder")),
            Self::ListenToNetwork(_) | Self::RequireToken(_) | Self::Announce(_) | Self::SetStudioName(_) => {
                is(is_off, tr!("sharing-stop-sharing-first"))
            }
            Self::Start => {
                is(state.paths.is_some(), tr!("sharing-there-is-no-folder"))?;
                is(is_off, tr!("sharing-already-started"))
            }
            Self::Stop | Self::CopyAddress | Self::Admit(_) | Self::TurnAway(_) | Self::RevokeDevice(_) => is_on(),
            Self::AddPerson => {
                is_on()?;
                is(!state.is_changing, tr!("sharing-one-moment"))?;
                is(!state.person.trim().is_empty(), tr!("common-type-a-name-first"))
            }
            Self::RemovePerson(name) => {
                is(has_person(name), tr!("sharing-this-person-has-no"))?;
                is(!state.is_changing, tr!("sharing-one-moment"))
            }
            Self::CopyLink(name) | Self::ShowCode(name) => is(has_person(name), tr!("sharing-this-person-has-no")),
            Self::HideCode => is(state.code.is_some(), tr!("sharing-no-code-is-shown")),
        }
    }
}
