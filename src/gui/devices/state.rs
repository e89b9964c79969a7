//! State of the Devices view: the board, and the requests to the engine that it depends on.

use std::collections::BTreeSet;

use crate::gui::devices::board::{Board, RemoteServer};
use crate::gui::shared::Shared;
use crate::settings::{NamedPlacement, Settings};
use atelier_core::placement::Module;
use atelier_engine::{EstimateKey, Resident, ServerAddress};
use atelier_studio::debounce::Debounce;
use atelier_studio::trials::Trials;

/// State of the Devices view.
pub struct State {
    /// Placement, prediction and suggestion.
    pub board: Board,
    /// Saved placements of all models.
    pub saved_placements: Vec<NamedPlacement>,
    /// Text of the field for a placement's name; `None` while the field is closed.
    pub name_input: Option<String>,
    /// Servers whose devices are borrowed.
    pub servers: Vec<RemoteServer>,
    /// Text of the field for a server's address; `None` while the field is closed.
    pub server_input: Option<String>,
    /// Sentences about parts of a pasted command that did not reach the recipe.
    pub paste_omissions: Vec<String>,
    /// Trials of placements, until they are put away.
    pub trials: Option<Trials>,
    pub(super) estimate: EstimateState,
    pub(super) device_list: DeviceListState,
    pub(super) measurement: Measurement,
    /// Version of the board's predicted time that the queue was told.
    pub(super) told_time_version: u64,
    /// True once the pinned modules are known: from the settings, or from the placement text as
    /// soon as there are devices to read it with.
    pub(super) pins_known: bool,
    /// True if the view was on the screen in the last frame.
    pub(super) was_on_screen: bool,
}

/// State of the estimate request.
#[derive(Default)]
pub(super) struct EstimateState {
    /// Key of the last request.
    pub(super) requested: Option<EstimateKey>,
    /// True until the answer to the last request has come.
    pub(super) pending: bool,
    /// Key of the recipe while it is edited.
    pub(super) changed: Debounce<EstimateKey>,
}

/// State of the list of devices.
#[derive(Default)]
pub(super) struct DeviceListState {
    /// True from the beginning of a job to the next list, which the engine makes before it loads
    /// the job's model.
    pub(super) job_began: bool,
    /// Devices of removed servers: the engine lists them until the program ends.
    pub(super) removed: BTreeSet<String>,
}

/// State of the measurement of devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measurement {
    /// It is to be requested.
    Due {
        /// Time since when no job runs and nothing was touched; `None` while that is not so.
        idle_since_secs: Option<f64>,
    },
    /// It was requested for the devices that are there.
    Running,
    /// It has ended.
    Done,
}

impl Default for Measurement {
    fn default() -> Self {
        Self::Due { idle_since_secs: None }
    }
}

impl State {
    /// State with the pins, saved placements and servers of the settings.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        Self {
            board: Board::new(settings.pins.clone().unwrap_or_default(), settings.places_automatically),
            saved_placements: settings.placements.clone(),
            name_input: None,
            servers: settings.servers.iter().filter_map(|address| address.parse().ok()).map(RemoteServer::new).collect(),
            server_input: None,
            paste_omissions: Vec::new(),
            trials: None,
            estimate: EstimateState::default(),
            device_list: DeviceListState::default(),
            measurement: Measurement::default(),
            told_time_version: 0,
            pins_known: settings.pins.is_some(),
            was_on_screen: false,
        }
    }

    /// Pinned modules; `None` while they are not known.
    #[must_use]
    pub fn known_pins(&self) -> Option<&BTreeSet<Module>> {
        self.pins_known.then_some(&self.board.pins)
    }

    /// True if the recipe's placement fits into memory; `None` while that is not known.
    #[must_use]
    pub fn fits(&self, shared: &Shared) -> Option<bool> {
        let board = &self.board;
        board
            .is_current_for(&shared.next.resolved_recipe())
            .then(|| board.prediction.is_some() && !board.exceeds_memory() && board.text_errors.iter().all(Option::is_none))
    }

    /// Bytes of a device that resident models other than the chosen one hold.
    #[must_use]
    pub fn bytes_of_other_models(&self, shared: &Shared, device: &str) -> u64 {
        let bytes = |model: &Resident| -> u64 { model.parts.iter().filter(|part| part.device == device).map(|part| part.bytes).sum() };
        let chosen = shared.chosen_resident().map_or(0, bytes);
        self.board.resident_bytes.get(device).copied().unwrap_or(0).saturating_sub(chosen)
    }

    /// Saved placements of the recipe's model.
    pub fn placements_of_model(&self) -> impl Iterator<Item = &NamedPlacement> {
        self.saved_placements.iter().filter(|it| it.model == self.board.model_key)
    }

    /// Deletes a saved placement of the recipe's model.
    pub(super) fn delete_placement(&mut self, name: &str) {
        let model = &self.board.model_key;
        self.saved_placements.retain(|it| it.model != *model || it.name != name);
    }

    pub(super) fn server_mut(&mut self, address: &ServerAddress) -> Option<&mut RemoteServer> {
        self.servers.iter_mut().find(|server| server.address == *address)
    }
}
