//! State of the Devices view: the board, and what the engine was asked.

use std::collections::BTreeSet;

use crate::gui::devices::board::{Asked, Board, Server};
use crate::gui::shared::Shared;
use crate::gui::standing::Standing;
use atelier_core::placement::Module;
use atelier_engine::ServerAddress;

/// State of the Devices view.
pub struct State {
    /// Where everything runs, and what that takes.
    pub board: Board,
    pub(super) link: Link,
}

/// What was asked of the engine, and when.
#[derive(Default)]
pub(super) struct Link {
    /// What the engine was asked about last.
    pub(super) asked: Option<Asked>,
    /// Whether the answer is still to come.
    pub(super) pending: bool,
    /// What the recipe has become, and since when.
    pub(super) changed: Standing<Asked>,
    pub(super) listed_at_secs: Option<f64>,
    pub(super) listing: bool,
    /// Whether a job has just begun, and the devices were not named since.
    pub(super) begins: bool,
    /// Devices of servers that were removed: the engine knows them until the program ends.
    pub(super) removed: BTreeSet<String>,
    /// Whether it is known which modules are pinned: from the settings, or from the text once there are devices to read it with.
    pub(super) pins_known: bool,
    /// Whether the view was on the screen in the last frame.
    pub(super) on_screen: bool,
}

impl State {
    /// The state at the start. `pins_known`: whether the settings say which modules are pinned.
    #[must_use]
    pub fn new(board: Board, pins_known: bool) -> Self {
        Self { board, link: Link { pins_known, ..Link::default() } }
    }

    /// The pinned modules, once it is known which they are.
    #[must_use]
    pub fn known_pins(&self) -> Option<BTreeSet<Module>> {
        self.link.pins_known.then(|| self.board.pins.clone())
    }

    /// Bytes that models hold of a device which the next picture is not made with.
    #[must_use]
    pub fn held_by_other_models(&self, shared: &Shared, device: &str) -> u64 {
        let bytes = |model: &atelier_engine::Resident| -> u64 {
            model.parts.iter().filter(|part| part.device == device).map(|part| part.bytes).sum()
        };
        let own = shared.chosen_resident().map_or(0, bytes);
        self.board.held.get(device).copied().unwrap_or(0).saturating_sub(own)
    }

    pub(super) fn server(&mut self, address: &ServerAddress) -> Option<&mut Server> {
        self.board.servers.iter_mut().find(|server| server.address == *address)
    }
}
