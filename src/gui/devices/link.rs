//! Between the board and the engine: when the engine is asked what a recipe takes and which devices there are, what its answers change,
//! and what the board's commands do. Nothing here waits.

use std::collections::BTreeSet;

use eframe::egui;

use crate::gui::App;
use crate::gui::devices::board::{Asked, BoardCommand, Server, ServerState, found, tunnel};
use crate::gui::standing::Standing;
use crate::gui::state::{ErrorCard, Job, Screen};
use crate::settings::NamedPlacement;
use atelier_core::device::Device;
use atelier_core::placement::{Home, Module, Placement, Seat};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_core::sd_cli;
use atelier_engine::{Busy, Estimate, Failure, JobId, OutOfMemory, Peak, RemoteError, RemoteReport, ServerAddress};

/// Seconds that a recipe must stay as it is before the engine is asked what it takes.
const ASK_AFTER_SECS: f64 = 0.15;
/// Seconds between two looks at the devices while they are on the screen.
const LOOK_SECS: f64 = 3.0;

/// What was asked of the engine, and when.
#[derive(Default)]
pub(crate) struct Link {
    /// What the engine was asked about last.
    asked: Option<Asked>,
    /// Whether the answer is still to come.
    pending: bool,
    /// What the recipe has become, and since when.
    changed: Standing<Asked>,
    listed_at_secs: Option<f64>,
    listing: bool,
    /// Whether a job has just begun, and the devices were not named since.
    pub(crate) begins: bool,
    /// Devices of servers that were removed: the engine knows them until the program ends.
    removed: BTreeSet<String>,
    /// Whether it is known which modules are pinned: from the settings, or from the text once there are devices to read it with.
    pub(crate) pins_known: bool,
}

impl App {
    /// Asks for the devices, borrowed ones included.
    pub(crate) fn find_devices(&mut self) {
        self.link.pins_known = self.kept.written.pins.is_some();
        self.list_devices();
        let servers: Vec<ServerAddress> = self.state.board.servers.iter().map(|server| server.address.clone()).collect();
        for server in servers {
            self.ask_server(server);
        }
    }

    pub(crate) fn list_devices(&mut self) {
        self.link.listing = sent(self.handle.list_devices());
    }

    fn ask_server(&mut self, address: ServerAddress) {
        if let Some(server) = self.server(&address) {
            server.state = ServerState::Asking;
        }
        sent(self.handle.add_server(address));
    }

    fn server(&mut self, address: &ServerAddress) -> Option<&mut Server> {
        self.state.board.servers.iter_mut().find(|server| server.address == *address)
    }

    /// Lets the board follow the recipe and asks the engine what it needs to know.
    pub(crate) fn follow_board(&mut self, ctx: &egui::Context) {
        let now = ctx.time();
        self.ask_estimate(ctx, now);
        if let Some(secs) = self.state.board.follow(&self.state.recipe, now) {
            ctx.request_repaint_after_secs(secs as f32);
        }
        let listed_at = *self.link.listed_at_secs.get_or_insert(now);
        if self.state.screen == Screen::Devices {
            let due = listed_at + LOOK_SECS - now;
            if due > 0.0 {
                ctx.request_repaint_after_secs(due as f32);
            } else if !self.link.listing {
                self.list_devices();
            }
        }
    }

    fn ask_estimate(&mut self, ctx: &egui::Context, now: f64) {
        let asked = Asked::of(&self.state.recipe);
        let board = &mut self.state.board;
        let answered = board.estimate.is_some() || board.failure.is_some();
        if self.link.asked.as_ref() == Some(&asked) && (answered || self.link.pending) {
            self.link.changed.forget();
            board.waiting = self.link.pending;
            return;
        }
        if self.state.recipe.files.is_empty() {
            board.waiting = false;
            return;
        }
        board.waiting = true;
        // The first question of a start has nothing to wait for.
        let wait = if self.link.asked.is_none() { 0.0 } else { ASK_AFTER_SECS };
        if let Some(rest) = self.link.changed.rest(|it| *it == asked, || asked.clone(), now, wait) {
            ctx.request_repaint_after_secs(rest);
        } else if sent(self.handle.estimate(self.to_estimate())) {
            // The newest question takes the place of others.
            self.fitting.outdo();
            (self.link.asked, self.link.pending) = (Some(asked), true);
            self.link.changed.forget();
        }
    }

    /// The recipe to ask about. What it takes does not depend on where it runs, and must be known also while the placement's text is wrong.
    fn to_estimate(&self) -> Recipe {
        let placement = self.state.board.placement.as_ref().map(Placement::text).unwrap_or_default();
        Recipe { placement, ..self.state.recipe.clone() }
    }

    /// The engine says what a recipe takes: the one at hand, or that of a model in the Models view.
    pub(crate) fn answered(&mut self, recipe: &Recipe, estimate: Result<Estimate, Failure>) {
        if self.fitting.is_about(recipe) {
            self.weighed(estimate.ok());
        } else {
            self.estimated(recipe, estimate);
        }
    }

    fn estimated(&mut self, recipe: &Recipe, estimate: Result<Estimate, Failure>) {
        let about = Asked::of(recipe);
        if self.link.asked.as_ref() != Some(&about) {
            return;
        }
        self.link.pending = false;
        if Asked::of(&self.state.recipe) != about {
            self.link.asked = None;
            return;
        }
        let board = &mut self.state.board;
        board.waiting = false;
        (board.estimate, board.failure) = match estimate {
            Ok(estimate) => (Some(estimate), None),
            Err(failure) => (None, Some(format!("{} {}", failure.sentence, failure.hint).trim().to_owned())),
        };
        board.touch();
    }

    pub(crate) fn devices_found(&mut self, mut devices: Vec<Device>) {
        self.link.listing = false;
        self.link.listed_at_secs = None;
        devices.retain(|device| !self.link.removed.contains(&device.name));
        let board = &mut self.state.board;
        // The engine looks once more before it loads anything.
        let before_the_run = std::mem::take(&mut self.link.begins);
        if !before_the_run && self.state.jobs.running().is_some_and(|job| job.begun) {
            // What a forming picture takes is not gone for the next one.
            for device in &mut devices {
                if let Some(before) = board.devices.iter().find(|before| before.name == device.name) {
                    device.memory_free_bytes = before.memory_free_bytes;
                }
            }
        }
        board.set_devices(devices);
        if !self.link.pins_known {
            self.link.pins_known = true;
            let text = self.state.recipe.placement.clone();
            board.pin_what_is_said(&text);
        }
    }

    pub(crate) fn server_answered(&mut self, address: &ServerAddress, added: Result<Vec<Device>, RemoteError>) {
        for device in added.iter().flatten() {
            self.link.removed.remove(&device.name);
        }
        if let Some(server) = self.server(address) {
            server.state = match added {
                Ok(devices) => ServerState::Lends(devices.into_iter().map(|device| device.name).collect()),
                Err(problem) => ServerState::Silent(problem.to_string()),
            };
        }
        self.list_devices();
    }

    pub(crate) fn server_tested(&mut self, address: &ServerAddress, report: &Result<RemoteReport, RemoteError>) {
        if let Some(server) = self.server(address) {
            server.testing = false;
            server.tested = Some(report.as_ref().map(found).map_err(ToString::to_string));
        }
    }

    pub(crate) fn measured(&mut self, job: JobId, peaks: Vec<Peak>) {
        let Some(job) = self.state.jobs.get_mut(job) else { return };
        self.state.board.set_measured(&job.recipe, peaks);
    }

    /// What would help, where the recipe is still the one that failed.
    pub(crate) fn add_remedies(&self, card: &mut ErrorCard, met: &OutOfMemory, job: &Job) {
        if !self.state.board.is_about(&job.recipe) {
            return;
        }
        card.remedies = self.state.board.remedies_after(met);
        let mut failed = job.recipe.clone();
        failed.seed = job.progress.seed(0).unwrap_or(failed.seed);
        card.failed = Some(Box::new(failed));
    }

    pub(crate) fn go(&mut self, screen: Screen) {
        if screen == Screen::Devices && self.state.screen != screen {
            self.list_devices();
            if self.state.board.failure.is_some() {
                // A file may have been brought back.
                self.link.asked = None;
            }
        }
        self.state.screen = screen;
    }

    pub(crate) fn board_command(&mut self, ctx: &egui::Context, command: BoardCommand) {
        match command {
            BoardCommand::Move(wanted) => {
                self.place(|placement| wanted.make(placement));
                self.pin(wanted.module, true);
            }
            BoardCommand::Pin(module) => self.pin(module, !self.state.board.pins.contains(&module)),
            BoardCommand::Budget(device, gib) => {
                self.place(|placement| placement.budgets = placement.budgets.clone().with(&device, gib.unwrap_or(0.0)));
            }
            BoardCommand::Backend(from, to) => {
                self.state.board.choose_backend(&from, &to);
                self.place(|placement| change_backend(placement, &from, &to));
            }
            BoardCommand::ShowPlan => self.state.board.want_plan(true),
            BoardCommand::DismissPlan => self.state.board.want_plan(false),
            BoardCommand::ApplyPlan => {
                if let Some(plan) = self.state.board.plan_shown() {
                    let split_batch = std::mem::take(&mut self.state.recipe.placement.split_batch);
                    // A plan says nothing of a batch.
                    self.state.recipe.placement = PlacementText { split_batch, ..plan.placement.text() };
                }
            }
            BoardCommand::Remedy(index) => {
                if let Some(remedy) = self.state.board.remedies.get(index).cloned() {
                    remedy.apply(&mut self.state.recipe);
                }
            }
            BoardCommand::RemedyAgain(index) => self.remedy_again(index),
            BoardCommand::Text(text) => {
                self.state.board.pin_what_is_said(&text);
                self.state.recipe.placement = text;
            }
            BoardCommand::Paste(line) => self.paste(ctx, &line),
            BoardCommand::DismissLeftOut => self.state.board.left_out.clear(),
            BoardCommand::CopyFlags => {
                ctx.copy_text(flags(&self.state.recipe.placement));
                self.notice(ctx, "Copied");
            }
            BoardCommand::CopyCommand => {
                let copied = sd_cli::write(&self.state.recipe);
                ctx.copy_text(copied.line);
                self.notice(ctx, [vec!["Copied.".to_owned()], copied.left_out].concat().join(" "));
            }
            BoardCommand::TypeName(name) => self.state.board.typed_name = name,
            BoardCommand::SaveNamed => self.save_named(),
            BoardCommand::UseNamed(name) => self.use_named(&name),
            BoardCommand::DeleteNamed(name) => {
                let board = &mut self.state.board;
                board.named.retain(|it| it.model != board.model || it.name != name);
            }
            BoardCommand::TypeServer(text) => self.state.board.typed_server = text,
            BoardCommand::AddServer => self.add_server(),
            BoardCommand::TestServer(address) => {
                if let Some(server) = self.server(&address) {
                    (server.testing, server.tested) = (true, None);
                }
                self.workers.probe(address);
            }
            BoardCommand::RetryServer(address) => self.ask_server(address),
            BoardCommand::RemoveServer(address) => {
                if let Some(ServerState::Lends(devices)) = self.server(&address).map(|server| &server.state) {
                    let devices = devices.clone();
                    self.link.removed.extend(devices);
                }
                self.state.board.servers.retain(|server| server.address != address);
                self.list_devices();
                self.notice(ctx, "Removed.");
            }
            BoardCommand::CopyTunnel(address) => {
                ctx.copy_text(tunnel(&address));
                self.notice(ctx, "Copied");
            }
        }
    }

    /// Changes the placement on the board, and so the text.
    fn place(&mut self, change: impl FnOnce(&mut Placement)) {
        if let Some(mut placement) = self.state.board.placement.clone() {
            change(&mut placement);
            self.state.recipe.placement = placement.text();
        }
    }

    fn pin(&mut self, module: Module, pinned: bool) {
        self.link.pins_known = true;
        let board = &mut self.state.board;
        if pinned {
            board.pins.insert(module);
        } else {
            board.pins.remove(&module);
        }
        board.touch();
    }

    fn remedy_again(&mut self, index: usize) {
        let Some(card) = self.state.error.take() else { return };
        let (Some(remedy), Some(failed)) = (card.remedies.get(index), card.failed) else { return };
        remedy.apply(&mut self.state.recipe);
        let mut again = *failed;
        remedy.apply(&mut again);
        self.generate(again);
    }

    /// A command's model, prompt, sizes and placement; what it does not name stays as it is.
    fn paste(&mut self, ctx: &egui::Context, line: &str) {
        let pasted = match sd_cli::read(line) {
            Ok(pasted) => pasted,
            Err(error) => {
                self.notice(ctx, error.to_string());
                return;
            }
        };
        let mut recipe = pasted.recipe;
        if recipe.files.is_empty() {
            recipe.files = self.state.recipe.files.clone();
        } else if self.state.uses_builtin() {
            self.use_own_files();
        }
        if recipe.prompt.is_empty() {
            recipe.prompt.clone_from(&self.state.recipe.prompt);
        }
        self.state.board.left_out = pasted.left_out.iter().map(ToString::to_string).collect();
        self.state.board.pin_what_is_said(&recipe.placement);
        self.state.recipe = recipe;
        self.notice(ctx, "Taken over from the command.");
    }

    fn save_named(&mut self) {
        let board = &mut self.state.board;
        let Some(name) = board.typed_name.take().map(|name| name.trim().to_owned()) else { return };
        board.named.retain(|it| it.model != board.model || it.name != name);
        let (model, pins) = (board.model.clone(), board.pins.clone());
        board.named.push(NamedPlacement { model, name, text: self.state.recipe.placement.clone(), pins });
    }

    fn use_named(&mut self, name: &str) {
        let board = &mut self.state.board;
        let Some(named) = board.named.iter().find(|it| it.model == board.model && it.name == name) else { return };
        board.pins.clone_from(&named.pins);
        self.state.recipe.placement = named.text.clone();
        board.touch();
    }

    fn add_server(&mut self) {
        let board = &mut self.state.board;
        let Some(Ok(address)) = board.typed_server.take().map(|text| text.parse::<ServerAddress>()) else { return };
        board.servers.push(Server::new(address.clone()));
        self.ask_server(address);
    }
}

/// Whether a request went out; where not, the log says why.
pub(crate) fn sent(sent: Result<(), Busy>) -> bool {
    sent.inspect_err(|busy| tracing::warn!("the engine was not asked: {busy}")).is_ok()
}

/// Everything that is on one backend of a card goes to another.
fn change_backend(placement: &mut Placement, from: &str, to: &str) {
    for module in Module::ALL {
        let seat = placement.seat(module).clone();
        let runs_on = if seat.runs_on == from { to.to_owned() } else { seat.runs_on };
        let weights = if seat.weights.is(from) { Home::Device(to.to_owned()) } else { seat.weights };
        placement.set(module, Seat { runs_on, weights });
    }
}

/// A placement as flags of sd-cli, quoted for Unix shells.
fn flags(text: &PlacementText) -> String {
    let said = [("--backend", &text.backend), ("--params-backend", &text.params_backend), ("--max-vram", &text.max_vram)];
    let mut words: Vec<String> = said
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(flag, value)| format!("{flag} {}", shell_words::quote(value)))
        .collect();
    if text.stream_layers {
        words.push("--stream-layers".to_owned());
    }
    words.join(" ")
}
