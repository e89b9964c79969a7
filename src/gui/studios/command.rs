//! Commands about other studios. Their effects are in [`crate::gui::studios::update`].

use atelier_language::tr;
use atelier_peers::{AccessToken, StudioAddress, StudioLink};

use crate::gui::feature_command::FeatureCommand;
use crate::gui::shared::Shared;
use crate::gui::studios::state::State;
use atelier_studio::studio_model::StudioModel;

/// Command about other studios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show the dialog, and look for studios while it is open.
    Open,
    Close,
    /// The link, address or token that is typed.
    SetLink(String),
    /// Connect to the studio of the link that is typed, and keep it.
    ConnectLink,
    /// Connect to a studio that was found, with the token that is typed, and keep it.
    Connect(StudioAddress),
    /// Ask a kept studio for its models again.
    AskAgain(StudioAddress),
    /// Remove the kept studio of this name, and its token.
    Forget(String),
    /// Ask all kept studios for their models again.
    AskAll,
    /// Make the next pictures with this model of another studio.
    Choose(StudioModel),
    /// Make the next pictures with the chosen model's like of this studio; where it has none, offer
    /// its models.
    PlaceOn(String),
    /// Choose none of the models that are offered.
    DismissOffer,
    /// Make the next pictures here again.
    UseOwn,
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[Self::Open];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Open => (tr!("studios-other-studios"), tr!("studios-find-other-ateliers-in")),
            Self::Close => (tr!("common-close"), tr!("studios-close-and-stop-looking")),
            Self::SetLink(_) => (tr!("studios-link-or-token"), tr!("studios-the-link-that-a")),
            Self::ConnectLink => (tr!("studios-add-studio"), tr!("studios-connect-to-the-studio")),
            Self::Connect(_) => (tr!("studios-connect"), tr!("studios-connect-with-the-token")),
            Self::AskAgain(_) => (tr!("common-try-again"), tr!("studios-ask-this-studio-for")),
            Self::Forget(_) => (tr!("studios-forget"), tr!("studios-remove-this-studio-and")),
            Self::AskAll => (tr!("studios-models-of-other-studios"), tr!("studios-choose-a-model-of")),
            Self::Choose(_) => (tr!("studios-use-this-model"), tr!("studios-have-the-next-pictures")),
            Self::PlaceOn(_) => (tr!("studios-use-this-studio"), tr!("studios-generate-there-with-the")),
            Self::DismissOffer => (tr!("common-not-now"), tr!("studios-keep-the-current-model")),
            Self::UseOwn => (tr!("studios-use-this-computer"), tr!("studios-generate-the-next-pictures")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let is = |holds: bool, otherwise: &'static str| if holds { Ok(()) } else { Err(otherwise) };
        let can_connect = || {
            is(state.file.is_some(), tr!("studios-there-is-no-folder"))?;
            is(state.connecting.is_none(), tr!("studios-one-moment"))
        };
        let link = state.link.trim();
        match self {
            Self::Open | Self::Close | Self::SetLink(_) | Self::AskAll | Self::DismissOffer => Ok(()),
            Self::ConnectLink => {
                can_connect()?;
                is(StudioLink::is_address(link), tr!("studios-paste-a-link-or"))
            }
            Self::Connect(_) => {
                can_connect()?;
                let is_usable = link.is_empty() || StudioLink::is_address(link) || AccessToken::new(link).is_some();
                is(is_usable, tr!("studios-this-is-not-a"))
            }
            Self::AskAgain(address) => is(!state.is_asking(address), tr!("studios-one-moment")),
            Self::Choose(chosen) => is(state.kept.named(&chosen.studio).is_some(), tr!("studios-this-studio-is-not")),
            Self::PlaceOn(name) => {
                let studio = state.kept.named(name).ok_or(tr!("studios-this-studio-is-not"))?;
                let is_there = shared.next.studio.as_ref().is_some_and(|it| it.studio == *name);
                is(!is_there, tr!("studios-pictures-are-generated-there"))?;
                is(state.trouble_of(studio).is_none(), tr!("studios-this-studio-cannot-be"))?;
                is(state.offered_by(studio).is_none_or(|it| !it.is_empty()), tr!("studios-it-has-no-models"))
            }
            Self::UseOwn => is(shared.next.studio.is_some(), tr!("studios-pictures-are-generated-here")),
            Self::Forget(name) => is(state.kept.named(name).is_some(), tr!("studios-this-studio-is-not")),
        }
    }
}
