//! Commands of sharing. Their effects are in [`crate::gui::sharing::update`].

use std::net::IpAddr;

use crate::gui::feature_command::FeatureCommand;
use crate::gui::shared::Shared;
use crate::gui::sharing::state::{Phase, State};

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
    Start,
    Stop,
    /// Put the address on the clipboard.
    CopyAddress,
    /// The name that is typed.
    SetPerson(String),
    /// Give the person of this name a token.
    AddPerson,
    /// Put a person's link on the clipboard.
    CopyLink(String),
    /// Show a person's link as a code for a phone.
    ShowCode(String),
    HideCode,
    /// Let a device without a token in.
    Admit(IpAddr),
    TurnAway(IpAddr),
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[Self::Open, Self::Stop];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Open => ("Share models", "Let other programs, people and phones generate pictures with the models of this computer."),
            Self::Close => ("Close", "Close. What is shared stays shared."),
            Self::ListenToNetwork(_) => {
                ("Other devices in this network too", "Phones and computers can connect with a token. The connection has no encryption.")
            }
            Self::RequireToken(_) => {
                ("Programs on this computer need a token too", "Useful where several people have accounts on this computer.")
            }
            Self::Start => ("Start sharing", "Start sharing. It ends when Atelier closes."),
            Self::Stop => ("Stop sharing", "Disconnect everybody. Pictures that somebody waits for are cancelled."),
            Self::CopyAddress => ("Copy address", "Copy the address, for the settings of other programs."),
            Self::SetPerson(_) => ("Name of the person", "The name is shown beside their jobs."),
            Self::AddPerson => ("Add person", "Create a token for this person. It stays the same."),
            Self::CopyLink(_) => ("Copy link", "Copy the link with this person's token. Whoever has it can generate pictures here."),
            Self::ShowCode(_) => ("Show code", "Show the link as a code for a phone's camera."),
            Self::HideCode => ("Hide code", "Hide the code."),
            Self::Admit(_) => ("Allow", "Let this device generate pictures until sharing stops."),
            Self::TurnAway(_) => ("Refuse", "Ignore this device until sharing stops."),
        }
    }

    fn enabled(&self, state: &State, _: &Shared) -> Result<(), &'static str> {
        let is_off = matches!(state.phase, Phase::Off);
        let is = |holds: bool, otherwise: &'static str| if holds { Ok(()) } else { Err(otherwise) };
        let is_on = || is(state.running().is_some(), "Nothing is shared now.");
        let has_person = |name: &str| state.running().is_some_and(|it| it.people.iter().any(|(person, _)| person == name));
        match self {
            Self::Open | Self::Close | Self::SetPerson(_) => Ok(()),
            Self::ListenToNetwork(_) | Self::RequireToken(_) => is(is_off, "Stop sharing first."),
            Self::Start => {
                is(state.paths.is_some(), "There is no folder for pictures and tokens.")?;
                is(is_off, "Already started.")
            }
            Self::Stop | Self::CopyAddress | Self::Admit(_) | Self::TurnAway(_) => is_on(),
            Self::AddPerson => {
                is_on()?;
                is(!state.is_adding, "One moment.")?;
                is(!state.person.trim().is_empty(), "Type a name first.")
            }
            Self::CopyLink(name) | Self::ShowCode(name) => is(has_person(name), "This person has no token."),
            Self::HideCode => is(state.code.is_some(), "No code is shown."),
        }
    }
}
