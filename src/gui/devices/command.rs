//! Commands of the Devices view, each with its label, tooltip and enabled state. Their effects are
//! in [`crate::gui::devices::update`].

use crate::gui::devices::board::{CardMove, CardPart, MoveOutcome, Suggestion};
use crate::gui::devices::state::State;
use crate::gui::feature_command::FeatureCommand;
use crate::gui::shared::Shared;
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
    /// Move everything from the first device to the second, which is the same card with another
    /// backend.
    ChangeBackend(String, String),
    /// Add what streaming of layers lacks.
    AddNeedsOfStreaming,
    /// Let Atelier place what names no device, or no longer; switched on, the recipe's placement is
    /// left to it.
    SetAutomatic(bool),
    /// Make a picture with each of the best placements, and compare their times.
    TryPlacements,
    StopTrials,
    /// Put the results of the trials away.
    ForgetTrials,
    /// Take a placement that was tried.
    UseTried(PlacementText),
    ShowPlan,
    ApplyPlan,
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
    RemoveServer(ServerAddress),
    /// Copy the shell command for an SSH tunnel to a server.
    CopySshCommand(ServerAddress),
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[
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

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Move(CardMove { part: CardPart::Runtime, .. }) => ("Run here", "Run this module on this device."),
            Self::Move(CardMove { part: CardPart::Weights, .. }) => {
                ("Keep the weights here", "Keep the weights on this device. They are copied to the module's device while it runs.")
            }
            Self::TogglePin(_) => ("Pin", "Pinned: suggestions do not move this module. Press P on its card."),
            Self::SetBudget(_, Some(_)) => {
                ("Set a budget", "Limit the memory used on this device. Drag the handle on the bar, or type a number.")
            }
            Self::SetBudget(_, None) => ("Remove the budget", "Use all free memory of this device."),
            Self::ChangeBackend(..) => ("Use this backend", "Use the same GPU through another backend."),
            Self::AddNeedsOfStreaming => {
                ("Set up streaming", "Keep the diffusion weights in RAM and set a memory budget: the free memory of the device less 1 GiB.")
            }
            Self::SetAutomatic(_) => (
                "Place automatically",
                "Use the fastest placement that fits, for each picture. Modules that you move or pin stay in place.",
            ),
            Self::TryPlacements => (
                "Try them",
                "Generate a picture with each of the best placements and compare the times. The pictures are not kept; your own jobs go first.",
            ),
            Self::StopTrials => ("Stop trying", "Stop now. Measured times are kept."),
            Self::ForgetTrials => ("Hide the results", "Hide the results. Measured times are kept."),
            Self::UseTried(_) => ("Use this placement that was tried", "Use this placement."),
            Self::ShowPlan => (
                "Suggest a placement",
                "Suggest the best placement around pinned modules, with reasons. Nothing changes until you apply it.",
            ),
            Self::ApplyPlan => ("Apply fit", "Place everything as suggested."),
            Self::DismissPlan => ("Not now", "Keep the current placement."),
            Self::ApplyBudgetOffer(_) => (
                "Stream within this budget",
                "Keep as much of the diffusion weights on the device as the budget allows, and stream the rest from RAM at each step.",
            ),
            Self::ApplyRemedy(_) => ("Apply", "Make this change, so that the model fits."),
            Self::RepeatWithRemedy(_) => {
                ("Apply and run the same seed", "Apply this change and generate the picture again with the same seed.")
            }
            Self::SetText(_) => ("Change the placement", "The placement as sd-cli flags."),
            Self::PasteCommand(_) => ("Paste a command", "Load settings from an sd-cli command. Other settings are kept."),
            Self::DismissPasteOmissions => ("Hide this list", "Hide this list."),
            Self::CopyFlags => ("Copy flags", "Copy the placement as flags of sd-cli."),
            Self::CopyCommand => ("Copy as sd-cli command", "Copy model, prompt, settings and placement as one command of sd-cli."),
            Self::SetNameInput(_) => ("Save this placement", "Save this placement under a name, for this model."),
            Self::SavePlacement => ("Save", "Save the placement under this name."),
            Self::UsePlacement(_) => ("Use this placement", "Use the placement saved under this name."),
            Self::DeletePlacement(_) => ("Delete this placement", "Delete this placement."),
            Self::SetServerInput(_) => ("Add a remote device", "Use the devices of another machine that runs `atelier serve-device`."),
            Self::AddServer => ("Add", "Use the devices of this server."),
            Self::TestServer(_) => ("Test", "Test the connection: speed and lent devices."),
            Self::RetryServer(_) => ("Try again", "Try to connect to this server again."),
            Self::RemoveServer(_) => ("Remove this server", "Stop using this server."),
            Self::CopySshCommand(_) => (
                "Copy SSH command",
                "Copy a command that opens an encrypted SSH tunnel to this server. Then add 127.0.0.1 with the same port.",
            ),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let board = &state.board;
        match self {
            Self::Move(card_move) => match board.outcome(card_move) {
                MoveOutcome::Fits | MoveOutcome::Exceeds(_) => Ok(()),
                MoveOutcome::Unchanged => Err("Already on this device."),
                MoveOutcome::Impossible(reason) => Err(reason),
            },
            Self::ShowPlan => match &board.suggestion {
                Suggestion::Plan(_) => Ok(()),
                Suggestion::AlreadyBest => Err("This placement is already the best one."),
                Suggestion::NothingFits(_) => Err("Nothing fits around the pinned modules."),
                Suggestion::Unknown => Err("The memory needs of this model are not known yet."),
            },
            Self::AddNeedsOfStreaming => board.with_needs_of_streaming.as_ref().map(drop).ok_or("Streaming is already set up."),
            Self::TryPlacements => {
                let is_trying = state.trials.as_ref().is_some_and(Trials::is_running);
                if is_trying {
                    return Err("Placements are being tried.");
                }
                board.prediction.as_ref().map(drop).ok_or("The memory needs of this model are not known yet.")?;
                shared.next.ready().map_err(|_| "Choose a model, and write a prompt first.")
            }
            Self::StopTrials => {
                let is_trying = state.trials.as_ref().is_some_and(Trials::is_running);
                is_trying.then_some(()).ok_or("Nothing is being tried.")
            }
            Self::ForgetTrials => state.trials.as_ref().map(drop).ok_or("Nothing was tried."),
            Self::ApplyPlan | Self::DismissPlan => board.visible_plan().map(drop).ok_or("There is no suggestion."),
            Self::ApplyBudgetOffer(index) => board.budget_offers.get(*index).map(drop).ok_or("No longer offered."),
            Self::ApplyRemedy(index) => board.remedies.get(*index).map(drop).ok_or("Already fits."),
            Self::RepeatWithRemedy(index) => {
                let remedy = shared.error.as_ref().and_then(|error| error.remedies.get(*index));
                remedy.map(drop).ok_or("This message no longer exists.")
            }
            Self::SetNameInput(Some(_)) | Self::CopyCommand if board.modules.is_empty() => Err("Choose a model first."),
            Self::SavePlacement => {
                let name = state.name_input.as_deref().unwrap_or_default().trim();
                (!name.is_empty()).then_some(()).ok_or("Type a name first.")
            }
            Self::AddServer => {
                let address = state.server_input.as_deref().unwrap_or_default().trim();
                match address.parse::<ServerAddress>() {
                    Ok(address) if state.servers.iter().any(|server| server.address == address) => Err("Already in the list."),
                    Ok(_) => Ok(()),
                    Err(_) => Err("Type its address as host:port, for example 192.168.1.20:50052."),
                }
            }
            Self::TestServer(address) => {
                let testing = state.servers.iter().any(|server| server.address == *address && server.testing);
                (!testing).then_some(()).ok_or("The test is running.")
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
