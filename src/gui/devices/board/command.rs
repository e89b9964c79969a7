//! What a person can ask of the board.
//!
//! As with every command, label, tooltip and when it is enabled are here; what it does is in `app::link`.

use crate::gui::devices::board::{Board, Fit, Move, Outcome, Part};
use atelier_core::placement::Module;
use atelier_core::recipe::PlacementText;
use atelier_engine::ServerAddress;

/// What a person can ask of the board.
#[derive(Clone, Debug, PartialEq)]
pub enum BoardCommand {
    /// Take a card, or its weights, to another place.
    Move(Move),
    /// Let the planner leave this module where it is, or let it go again.
    Pin(Module),
    /// Give a device a budget in GiB; `None` takes it away.
    Budget(String, Option<f64>),
    /// Run on another backend of the same card: from the first to the second, with everything that is there.
    Backend(String, String),
    /// Show the planner's placement.
    ShowPlan,
    /// Take over the planner's placement.
    ApplyPlan,
    /// Put the planner's placement away.
    DismissPlan,
    /// Apply what helps where it does not fit.
    Remedy(usize),
    /// Apply what helps after a failure, and make the picture again with its seed.
    RemedyAgain(usize),
    /// The text form was edited.
    Text(PlacementText),
    /// A whole command line was pasted.
    Paste(String),
    /// Put what of a pasted command was left out away.
    DismissLeftOut,
    /// Copy the placement as flags.
    CopyFlags,
    /// Copy the whole recipe as a command of sd-cli.
    CopyCommand,
    /// Open, change or close the field for a placement's name.
    TypeName(Option<String>),
    /// Keep the placement under the typed name.
    SaveNamed,
    /// Use a kept placement of this model.
    UseNamed(String),
    /// Forget a kept placement of this model.
    DeleteNamed(String),
    /// Open, change or close the field for a server's address.
    TypeServer(Option<String>),
    /// Borrow the devices of the typed server.
    AddServer,
    /// Look at a server.
    TestServer(ServerAddress),
    /// Ask a server again.
    RetryServer(ServerAddress),
    /// Do not borrow from a server any more.
    RemoveServer(ServerAddress),
    /// Copy the command for an encrypted way to a server.
    CopyTunnel(ServerAddress),
}

impl BoardCommand {
    /// The words on its button or menu entry, which are its accessible name too.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Move(Move { part: Part::Runs, .. }) => "Run here",
            Self::Move(Move { part: Part::Weights, .. }) => "Let the weights live here",
            Self::Pin(_) => "Pin",
            Self::Budget(_, Some(_)) => "Set a budget",
            Self::Budget(_, None) => "Remove the budget",
            Self::Backend(..) => "Use this backend",
            Self::ShowPlan => "Suggest a placement",
            Self::ApplyPlan => "Apply fit",
            Self::DismissPlan => "Not now",
            Self::Remedy(_) => "Apply",
            Self::RemedyAgain(_) => "Apply and run the same seed",
            Self::Text(_) => "Change the placement",
            Self::Paste(_) => "Paste a command",
            Self::DismissLeftOut => "Put this list away",
            Self::CopyFlags => "Copy flags",
            Self::CopyCommand => "Copy as sd-cli command",
            Self::TypeName(_) => "Save this placement",
            Self::SaveNamed => "Save",
            Self::UseNamed(_) => "Use this placement",
            Self::DeleteNamed(_) => "Delete this placement",
            Self::TypeServer(_) => "Add a remote device",
            Self::AddServer => "Add",
            Self::TestServer(_) => "Test",
            Self::RetryServer(_) => "Try again",
            Self::RemoveServer(_) => "Remove this server",
            Self::CopyTunnel(_) => "Copy SSH command",
        }
    }

    /// What it does, in a sentence.
    #[must_use]
    pub const fn tooltip(&self) -> &'static str {
        match self {
            Self::Move(Move { part: Part::Runs, .. }) => "Run this module on this device.",
            Self::Move(Move { part: Part::Weights, .. }) => {
                "Let the weights wait here. They are copied to where the module runs, while it runs."
            }
            Self::Pin(_) => "Pinned: a suggestion leaves this module where it is. Press P on its card.",
            Self::Budget(_, Some(_)) => "Use no more than this of the device. Drag the handle on the bar, or type a number.",
            Self::Budget(_, None) => "Use all that is free on this device.",
            Self::Backend(..) => "The same card, through another backend.",
            Self::ShowPlan => "Show the best placement round what is pinned, with its reasons. Nothing changes until you apply it.",
            Self::ApplyPlan => "Place everything as suggested.",
            Self::DismissPlan => "Keep the placement as it is.",
            Self::Remedy(_) => "Change this, so that it fits.",
            Self::RemedyAgain(_) => "Change this, and make the same picture again with the same seed.",
            Self::Text(_) => "The same placement, as sd-cli takes it.",
            Self::Paste(_) => "Take over a whole sd-cli command: its model, prompt, sizes and placement.",
            Self::DismissLeftOut => "Put this list away.",
            Self::CopyFlags => "Copy the placement as flags of sd-cli.",
            Self::CopyCommand => "Copy model, prompt, settings and placement as one command of sd-cli.",
            Self::TypeName(_) => "Keep this placement under a name, for this model.",
            Self::SaveNamed => "Keep the placement under this name.",
            Self::UseNamed(_) => "Place everything as it was saved under this name.",
            Self::DeleteNamed(_) => "Forget this placement.",
            Self::TypeServer(_) => "Borrow the devices of another machine on which `atelier serve-device` runs.",
            Self::AddServer => "Borrow the devices of this server.",
            Self::TestServer(_) => "Find out whether it answers, how fast, and what it lends.",
            Self::RetryServer(_) => "Ask this server again.",
            Self::RemoveServer(_) => "Do not borrow from this server any more.",
            Self::CopyTunnel(_) => "Copy a command that makes an encrypted way to this server. Then add 127.0.0.1 with the same port.",
        }
    }

    /// Whether it can be done now; where not, what is missing.
    ///
    /// # Errors
    /// A sentence for a person that says what is missing.
    pub fn enabled(&self, board: &Board) -> Result<(), &'static str> {
        match self {
            Self::Move(wanted) => match board.outcome(wanted) {
                Outcome::Works | Outcome::Short(_) => Ok(()),
                Outcome::Here => Err("It is here already."),
                Outcome::Never(reason) => Err(reason),
            },
            Self::ShowPlan => match &board.fit {
                Fit::Plan(_) => Ok(()),
                Fit::Same => Err("This placement is the best round what is pinned."),
                Fit::Short(_) => Err("Nothing fits round what is pinned."),
                Fit::Unknown => Err("It is not known yet what this model takes."),
            },
            Self::ApplyPlan | Self::DismissPlan => board.plan_shown().map(drop).ok_or("There is no suggestion."),
            Self::Remedy(index) => board.remedies.get(*index).map(drop).ok_or("It fits already."),
            Self::TypeName(Some(_)) | Self::CopyCommand if board.modules.is_empty() => Err("Choose a model first."),
            Self::SaveNamed => {
                let name = board.typed_name.as_deref().unwrap_or_default().trim();
                (!name.is_empty()).then_some(()).ok_or("Type a name first.")
            }
            Self::AddServer => {
                let address = board.typed_server.as_deref().unwrap_or_default().trim();
                match address.parse::<ServerAddress>() {
                    Ok(address) if board.servers.iter().any(|server| server.address == address) => Err("It is in the list already."),
                    Ok(_) => Ok(()),
                    Err(_) => Err("Type its address as host:port, for example 192.168.1.20:50052."),
                }
            }
            Self::TestServer(address) => {
                let testing = board.servers.iter().any(|server| server.address == *address && server.testing);
                (!testing).then_some(()).ok_or("The test is under way.")
            }
            Self::Pin(_)
            | Self::Budget(..)
            | Self::Backend(..)
            | Self::RemedyAgain(_)
            | Self::Text(_)
            | Self::Paste(_)
            | Self::DismissLeftOut
            | Self::CopyFlags
            | Self::CopyCommand
            | Self::TypeName(_)
            | Self::UseNamed(_)
            | Self::DeleteNamed(_)
            | Self::TypeServer(_)
            | Self::RetryServer(_)
            | Self::RemoveServer(_)
            | Self::CopyTunnel(_) => Ok(()),
        }
    }
}
