//! Commands of the Devices view, each with its label, tooltip and enabled state. Their effects are
//! in [`crate::gui::devices::update`].

use crate::gui::devices::board::{CardMove, CardPart, MoveOutcome, Suggestion};
use crate::gui::devices::state::State;
use crate::gui::feature_command::FeatureCommand;
use crate::gui::shared::Shared;
use atelier_core::placement::Module;
use atelier_core::recipe::PlacementText;
use atelier_engine::ServerAddress;
use atelier_language::tr;
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
    /// Set the budget of a module alone in GiB; `None` removes it.
    SetModuleBudget(Module, Option<f64>),
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
            Self::Move(CardMove { part: CardPart::Runtime, .. }) => (tr!("devices-run-here"), tr!("devices-run-this-module-on")),
            Self::Move(CardMove { part: CardPart::Weights, .. }) => {
                (tr!("devices-keep-the-weights-here"), tr!("devices-keep-the-weights-on"))
            }
            Self::TogglePin(_) => (tr!("devices-pin"), tr!("devices-pinned-suggestions-do-not")),
            Self::SetBudget(_, Some(_)) => (tr!("devices-set-a-budget"), tr!("devices-limit-the-memory-used")),
            Self::SetBudget(_, None) => (tr!("devices-remove-the-budget"), tr!("devices-use-all-free-memory")),
            Self::SetModuleBudget(_, Some(_)) => (tr!("devices-set-a-budget"), tr!("devices-limit-the-memory-of-this")),
            Self::SetModuleBudget(_, None) => (tr!("devices-remove-the-budget"), tr!("devices-use-what-its-device")),
            Self::ChangeBackend(..) => (tr!("devices-use-this-backend"), tr!("devices-use-the-same-gpu")),
            Self::AddNeedsOfStreaming => (tr!("devices-set-up-streaming"), tr!("devices-keep-the-streamed-weights")),
            Self::SetAutomatic(_) => (tr!("devices-place-automatically"), tr!("devices-use-the-fastest-placement")),
            Self::TryPlacements => (tr!("devices-try-them"), tr!("devices-generate-a-picture-with")),
            Self::StopTrials => (tr!("devices-stop-trying"), tr!("devices-stop-now-measured-times")),
            Self::ForgetTrials => (tr!("devices-hide-the-results"), tr!("devices-hide-the-results-measured")),
            Self::UseTried(_) => (tr!("devices-use-this-placement-that"), tr!("devices-use-this-placement")),
            Self::ShowPlan => (tr!("devices-suggest-a-placement"), tr!("devices-suggest-the-best-placement")),
            Self::ApplyPlan => (tr!("devices-apply-fit"), tr!("devices-place-everything-as-suggested")),
            Self::DismissPlan => (tr!("common-not-now"), tr!("devices-keep-the-current-placement")),
            Self::ApplyBudgetOffer(_) => (tr!("devices-stream-within-this-budget"), tr!("devices-keep-as-much-of")),
            Self::ApplyRemedy(_) => (tr!("devices-apply"), tr!("devices-make-this-change-so")),
            Self::RepeatWithRemedy(_) => (tr!("devices-apply-and-run-the"), tr!("devices-apply-this-change-and")),
            Self::SetText(_) => (tr!("devices-change-the-placement"), tr!("devices-the-placement-as-sd")),
            Self::PasteCommand(_) => (tr!("devices-paste-a-command"), tr!("devices-load-settings-from-an")),
            Self::DismissPasteOmissions => (tr!("devices-hide-this-list"), tr!("devices-hide-this-list-2")),
            Self::CopyFlags => (tr!("devices-copy-flags"), tr!("devices-copy-the-placement-as")),
            Self::CopyCommand => (tr!("devices-copy-as-sd-cli"), tr!("devices-copy-model-prompt-settings")),
            Self::SetNameInput(_) => (tr!("devices-save-this-placement"), tr!("devices-save-this-placement-under")),
            Self::SavePlacement => (tr!("devices-save"), tr!("devices-save-the-placement-under")),
            Self::UsePlacement(_) => (tr!("devices-use-this-placement-2"), tr!("devices-use-the-placement-saved")),
            Self::DeletePlacement(_) => (tr!("devices-delete-this-placement"), tr!("devices-delete-this-placement-2")),
            Self::SetServerInput(_) => (tr!("devices-add-a-remote-device"), tr!("devices-use-the-devices-of")),
            Self::AddServer => (tr!("common-add"), tr!("devices-use-the-devices-of-this-server")),
            Self::TestServer(_) => (tr!("devices-test"), tr!("devices-test-the-connection-speed")),
            Self::RetryServer(_) => (tr!("common-try-again"), tr!("devices-try-to-connect-to")),
            Self::RemoveServer(_) => (tr!("devices-remove-this-server"), tr!("devices-stop-using-this-server")),
            Self::CopySshCommand(_) => (tr!("devices-copy-ssh-command"), tr!("devices-copy-a-command-that")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let board = &state.board;
        match self {
            Self::Move(card_move) => match board.outcome(card_move) {
                MoveOutcome::Fits | MoveOutcome::Exceeds(_) => Ok(()),
                MoveOutcome::Unchanged => Err(tr!("devices-already-on-this-device")),
                MoveOutcome::Impossible(reason) => Err(reason),
            },
            Self::ShowPlan => match &board.suggestion {
                Suggestion::Plan(_) => Ok(()),
                Suggestion::AlreadyBest => Err(tr!("devices-this-placement-is-already")),
                Suggestion::NothingFits(_) => Err(tr!("devices-nothing-fits-around-the")),
                Suggestion::Unknown => Err(tr!("devices-the-memory-needs-of")),
            },
            Self::AddNeedsOfStreaming => board.with_needs_of_streaming.as_ref().map(drop).ok_or(tr!("devices-streaming-is-already-set")),
            Self::TryPlacements => {
                let is_trying = state.trials.as_ref().is_some_and(Trials::is_running);
                if is_trying {
                    return Err(tr!("devices-placements-are-being-tried"));
                }
                board.prediction.as_ref().map(drop).ok_or(tr!("devices-the-memory-needs-of"))?;
                shared.next.ready().map_err(|_| tr!("devices-choose-a-model-and"))
            }
            Self::StopTrials => {
                let is_trying = state.trials.as_ref().is_some_and(Trials::is_running);
                is_trying.then_some(()).ok_or(tr!("devices-nothing-is-being-tried"))
            }
            Self::ForgetTrials => state.trials.as_ref().map(drop).ok_or(tr!("devices-nothing-was-tried")),
            Self::ApplyPlan | Self::DismissPlan => board.visible_plan().map(drop).ok_or(tr!("devices-there-is-no-suggestion")),
            Self::ApplyBudgetOffer(index) => board.budget_offers.get(*index).map(drop).ok_or(tr!("devices-no-longer-offered")),
            Self::ApplyRemedy(index) => board.remedies.get(*index).map(drop).ok_or(tr!("devices-already-fits")),
            Self::RepeatWithRemedy(index) => {
                let remedy = shared.error.as_ref().and_then(|error| error.remedies.get(*index));
                remedy.map(drop).ok_or(tr!("devices-this-message-no-longer"))
            }
            Self::SetNameInput(Some(_)) | Self::CopyCommand if board.modules.is_empty() => Err(tr!("devices-choose-a-model-first")),
            Self::SavePlacement => {
                let name = state.name_input.as_deref().unwrap_or_default().trim();
                (!name.is_empty()).then_some(()).ok_or(tr!("common-type-a-name-first"))
            }
            Self::AddServer => {
                let address = state.server_input.as_deref().unwrap_or_default().trim();
                match address.parse::<ServerAddress>() {
                    Ok(address) if state.servers.iter().any(|server| server.address == address) => Err(tr!("devices-already-in-the-list")),
                    Ok(_) => Ok(()),
                    Err(_) => Err(tr!("devices-type-its-address-as")),
                }
            }
            Self::TestServer(address) => {
                let testing = state.servers.iter().any(|server| server.address == *address && server.testing);
                (!testing).then_some(()).ok_or(tr!("devices-the-test-is-running"))
            }
            Self::TogglePin(_)
            | Self::SetBudget(..)
            | Self::SetModuleBudget(..)
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
