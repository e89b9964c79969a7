//! Commands of the Devices view, each with its label, tooltip and enabled state. Their effects are in [`crate::gui::devices::update`].

use crate::gui::devices::board::{CardMove, CardPart, MoveOutcome, Suggestion};
use crate::gui::devices::state::State;
use crate::gui::shared::Shared;
use crate::gui::shortcut::Shortcut;
use atelier_core::placement::Module;
use atelier_core::recipe::PlacementText;
use atelier_engine::ServerAddress;
use atelier_studio::trials::Trials;

/// Command of the Devices view.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Move a card, or its weights.
    Move(CardMove),
    /// Pin or unpin a module.
    TogglePin(Module),
    /// Set a device's budget in GiB; `None` removes it.
    SetBudget(String, Option<f64>),
    /// Move everything from the first device to the second, which is the same card with another backend.
    ChangeBackend(String, String),
    /// Add what streaming of layers lacks.
    AddNeedsOfStreaming,
    /// Let Atelier place what names no device, or no longer; switched on, the recipe's placement is left to it.
    SetAutomatic(bool),
    /// Make a picture with each of the best placements, and compare their times.
    TryPlacements,
    /// Stop these trials.
    StopTrials,
    /// Put the results of the trials away.
    ForgetTrials,
    /// Take a placement that was tried.
    UseTried(PlacementText),
    /// Show the plan.
    ShowPlan,
    /// Apply the plan.
    ApplyPlan,
    /// Hide the plan.
    DismissPlan,
    /// Apply the offered budget with this index.
    ApplyBudgetOffer(usize),
    /// Apply the remedy with this index.
    ApplyRemedy(usize),
    /// Apply the error card's remedy with this index and repeat the failed picture with its seed.
    RepeatWithRemedy(usize),
    /// Replace the placement's text.
    SetText(PlacementText),
    /// Apply a pasted command line of sd-cli.
    PasteCommand(String),
    /// Hide the list of what a pasted command left out.
    DismissPasteOmissions,
    /// Copy the placement as flags.
    CopyFlags,
    /// Copy the whole recipe as a command of sd-cli.
    CopyCommand,
    /// Open, edit or close the field for a placement's name.
    SetNameInput(Option<String>),
    /// Save the placement under the typed name.
    SavePlacement,
    /// Apply a saved placement of this model.
    UsePlacement(String),
    /// Delete a saved placement of this model.
    DeletePlacement(String),
    /// Open, edit or close the field for a server's address.
    SetServerInput(Option<String>),
    /// Add the server with the typed address.
    AddServer,
    /// Test a server's answer, speed and devices.
    TestServer(ServerAddress),
    /// Connect to a server again.
    RetryServer(ServerAddress),
    /// Remove a server.
    RemoveServer(ServerAddress),
    /// Copy the shell command for an SSH tunnel to a server.
    CopySshCommand(ServerAddress),
}

impl Command {
    /// The keys.
    pub const KEYS: &[(Self, Shortcut)] = &[];

    /// Commands without a key that the command palette offers.
    pub const OFFERED: &[Self] = &[
        Self::SetAutomatic(true),
        Self::TryPlacements,
        Self::StopTrials,
        Self::ShowPlan,
        Self::ApplyPlan,
        Self::DismissPlan,
        Self::CopyFlags,
        Self::CopyCommand,
        Self::SavePlacement,
        Self::AddServer,
    ];

    /// Text of its button or menu entry, also its accessible name.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        self.words().0
    }

    /// Tooltip: its effect in a sentence.
    #[must_use]
    pub const fn tooltip(&self) -> &'static str {
        self.words().1
    }

    /// Label and tooltip.
    const fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Move(CardMove { part: CardPart::Runtime, .. }) => ("Run here", "Run this module on this device."),
            Self::Move(CardMove { part: CardPart::Weights, .. }) => {
                ("Let the weights live here", "Let the weights wait here. They are copied to where the module runs, while it runs.")
            }
            Self::TogglePin(_) => ("Pin", "Pinned: a suggestion leaves this module where it is. Press P on its card."),
            Self::SetBudget(_, Some(_)) => {
                ("Set a budget", "Use no more than this of the device. Drag the handle on the bar, or type a number.")
            }
            Self::SetBudget(_, None) => ("Remove the budget", "Use all that is free on this device."),
            Self::ChangeBackend(..) => ("Use this backend", "The same card, through another backend."),
            Self::AddNeedsOfStreaming => (
                "Set up streaming",
                "Let the diffusion weights wait in RAM, and give their device a budget: what is free there, less 1 GiB.",
            ),
            Self::SetAutomatic(_) => (
                "Place automatically",
                "Atelier takes the quickest placement that fits, for each picture. What you move or pin stays where you put it.",
            ),
            Self::TryPlacements => (
                "Try them",
                "Make a picture with each of the best placements in turn, and compare how long they take. The pictures are not kept; your own go first.",
            ),
            Self::StopTrials => ("Stop trying", "Stop at once. What was measured stays."),
            Self::ForgetTrials => ("Put the results away", "Put the results away. Atelier remembers what was measured."),
            Self::UseTried(_) => ("Use this placement that was tried", "Place everything like this."),
            Self::ShowPlan => (
                "Suggest a placement",
                "Show the best placement round what is pinned, with its reasons. Nothing changes until you apply it.",
            ),
            Self::ApplyPlan => ("Apply fit", "Place everything as suggested."),
            Self::DismissPlan => ("Not now", "Keep the placement as it is."),
            Self::ApplyBudgetOffer(_) => (
                "Stream within this budget",
                "Keep as much of the diffusion weights on the device as the budget allows, and bring the rest from RAM at each step.",
            ),
            Self::ApplyRemedy(_) => ("Apply", "Change this, so that it fits."),
            Self::RepeatWithRemedy(_) => {
                ("Apply and run the same seed", "Change this, and make the same picture again with the same seed.")
            }
            Self::SetText(_) => ("Change the placement", "The same placement, as sd-cli takes it."),
            Self::PasteCommand(_) => ("Paste a command", "Take over what an sd-cli command names. Everything else stays as it is."),
            Self::DismissPasteOmissions => ("Put this list away", "Put this list away."),
            Self::CopyFlags => ("Copy flags", "Copy the placement as flags of sd-cli."),
            Self::CopyCommand => ("Copy as sd-cli command", "Copy model, prompt, settings and placement as one command of sd-cli."),
            Self::SetNameInput(_) => ("Save this placement", "Keep this placement under a name, for this model."),
            Self::SavePlacement => ("Save", "Keep the placement under this name."),
            Self::UsePlacement(_) => ("Use this placement", "Place everything as it was saved under this name."),
            Self::DeletePlacement(_) => ("Delete this placement", "Forget this placement."),
            Self::SetServerInput(_) => {
                ("Add a remote device", "Borrow the devices of another machine on which `atelier serve-device` runs.")
            }
            Self::AddServer => ("Add", "Borrow the devices of this server."),
            Self::TestServer(_) => ("Test", "Find out whether it answers, how fast, and what it lends."),
            Self::RetryServer(_) => ("Try again", "Ask this server again."),
            Self::RemoveServer(_) => ("Remove this server", "Do not borrow from this server any more."),
            Self::CopySshCommand(_) => {
                ("Copy SSH command", "Copy a command that makes an encrypted way to this server. Then add 127.0.0.1 with the same port.")
            }
        }
    }

    /// Enabled state.
    ///
    /// # Errors
    /// The reason why it is disabled, as a sentence for a person.
    pub fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let board = &state.board;
        match self {
            Self::Move(card_move) => match board.outcome(card_move) {
                MoveOutcome::Fits | MoveOutcome::Exceeds(_) => Ok(()),
                MoveOutcome::Unchanged => Err("It is here already."),
                MoveOutcome::Impossible(reason) => Err(reason),
            },
            Self::ShowPlan => match &board.suggestion {
                Suggestion::Plan(_) => Ok(()),
                Suggestion::AlreadyBest => Err("This placement is the best round what is pinned."),
                Suggestion::NothingFits(_) => Err("Nothing fits round what is pinned."),
                Suggestion::Unknown => Err("It is not known yet what this model takes."),
            },
            Self::AddNeedsOfStreaming => board.with_needs_of_streaming.as_ref().map(drop).ok_or("Streaming lacks nothing."),
            Self::TryPlacements => {
                let is_trying = state.trials.as_ref().is_some_and(Trials::is_running);
                if is_trying {
                    return Err("They are being tried.");
                }
                board.prediction.as_ref().map(drop).ok_or("It is not known yet what this model takes.")?;
                shared.ready().map_err(|_| "Choose a model, and write a prompt first.")
            }
            Self::StopTrials => {
                let is_trying = state.trials.as_ref().is_some_and(Trials::is_running);
                is_trying.then_some(()).ok_or("Nothing is being tried.")
            }
            Self::ForgetTrials => state.trials.as_ref().map(drop).ok_or("Nothing was tried."),
            Self::ApplyPlan | Self::DismissPlan => board.visible_plan().map(drop).ok_or("There is no suggestion."),
            Self::ApplyBudgetOffer(index) => board.budget_offers.get(*index).map(drop).ok_or("It is not offered any more."),
            Self::ApplyRemedy(index) => board.remedies.get(*index).map(drop).ok_or("It fits already."),
            Self::RepeatWithRemedy(index) => {
                let remedy = shared.error.as_ref().and_then(|error| error.remedies.get(*index));
                remedy.map(drop).ok_or("This message is gone.")
            }
            Self::SetNameInput(Some(_)) | Self::CopyCommand if board.modules.is_empty() => Err("Choose a model first."),
            Self::SavePlacement => {
                let name = state.name_input.as_deref().unwrap_or_default().trim();
                (!name.is_empty()).then_some(()).ok_or("Type a name first.")
            }
            Self::AddServer => {
                let address = state.server_input.as_deref().unwrap_or_default().trim();
                match address.parse::<ServerAddress>() {
                    Ok(address) if state.servers.iter().any(|server| server.address == address) => Err("It is in the list already."),
                    Ok(_) => Ok(()),
                    Err(_) => Err("Type its address as host:port, for example 192.168.1.20:50052."),
                }
            }
            Self::TestServer(address) => {
                let testing = state.servers.iter().any(|server| server.address == *address && server.testing);
                (!testing).then_some(()).ok_or("The test is under way.")
            }
            Self::TogglePin(_)
            | Self::SetBudget(..)
            | Self::SetAutomatic(_)
            | Self::ChangeBackend(..)
            | Self::SetText(_)
            | Self::PasteCommand(_)
            | Self::DismissPasteOmissions
            | Self::CopyFlags
            | Self::CopyCommand
            | Self::SetNameInput(_)
            | Self::UsePlacement(_)
            | Self::UseTried(_)
            | Self::DeletePlacement(_)
            | Self::SetServerInput(_)
            | Self::RetryServer(_)
            | Self::RemoveServer(_)
            | Self::CopySshCommand(_) => Ok(()),
        }
    }
}
