//! Between the board and the engine: when the engine is asked what a recipe takes and which devices there are, what its answers change,
//! and what the board's commands do. Nothing here waits.

use crate::gui::context::Context;
use crate::gui::create;
use crate::gui::devices::State;
use crate::gui::devices::board::{Asked, BoardCommand, Server, ServerState, found, tunnel};
use crate::gui::shared::{ErrorCard, Job, Screen};
use crate::settings::NamedPlacement;
use atelier_core::device::Device;
use atelier_core::placement::{Assignment, Module, Placement, WeightLocation};
use atelier_core::recipe::{PlacementText, Recipe};
use atelier_core::sd_cli;
use atelier_engine::{Busy, Estimate, Failure, JobId, OutOfMemory, Peak, RemoteError, RemoteReport, Residency, ServerAddress};

/// Seconds that a recipe must stay as it is before the engine is asked what it takes.
const ASK_AFTER_SECS: f64 = 0.15;
/// Seconds between two looks at the devices while they are on the screen.
const LOOK_SECS: f64 = 3.0;

/// Asks for the devices, borrowed ones included.
pub(crate) fn start(state: &mut State, context: &mut Context<'_>) {
    list_devices(state, context);
    let servers: Vec<ServerAddress> = state.board.servers.iter().map(|server| server.address.clone()).collect();
    for server in servers {
        ask_server(state, server, context);
    }
}

pub(crate) fn list_devices(state: &mut State, context: &Context<'_>) {
    state.link.listing = sent(context.engine.list_devices());
}

fn ask_server(state: &mut State, address: ServerAddress, context: &Context<'_>) {
    if let Some(server) = state.server(&address) {
        server.state = ServerState::Asking;
    }
    sent(context.engine.add_server(address));
}

/// Lets the board follow the recipe and asks the engine what it needs to know. True where it was asked what the recipe takes.
pub(crate) fn refresh(state: &mut State, context: &Context<'_>) -> bool {
    let now = context.egui.time();
    let is_shown = context.shared.screen == Screen::Devices;
    if is_shown && !std::mem::replace(&mut state.link.on_screen, is_shown) {
        list_devices(state, context);
        if state.board.failure.is_some() {
            // A file may have been brought back.
            state.link.asked = None;
        }
    }
    state.link.on_screen = is_shown;
    let is_asked = ask_estimate(state, now, context);
    if let Some(secs) = state.board.follow(&context.shared.recipe, now) {
        context.egui.request_repaint_after_secs(secs as f32);
    }
    let listed_at = *state.link.listed_at_secs.get_or_insert(now);
    if is_shown {
        let due = listed_at + LOOK_SECS - now;
        if due > 0.0 {
            context.egui.request_repaint_after_secs(due as f32);
        } else if !state.link.listing {
            list_devices(state, context);
        }
    }
    is_asked
}

fn ask_estimate(state: &mut State, now: f64, context: &Context<'_>) -> bool {
    let recipe = &context.shared.recipe;
    let asked = Asked::of(recipe);
    let board = &mut state.board;
    let answered = board.estimate.is_some() || board.failure.is_some();
    if state.link.asked.as_ref() == Some(&asked) && (answered || state.link.pending) {
        state.link.changed.forget();
        board.waiting = state.link.pending;
        return false;
    }
    if recipe.files.is_empty() {
        board.waiting = false;
        return false;
    }
    board.waiting = true;
    // The first question of a start has nothing to wait for.
    let wait = if state.link.asked.is_none() { 0.0 } else { ASK_AFTER_SECS };
    if let Some(rest) = state.link.changed.rest(|it| *it == asked, || asked.clone(), now, wait) {
        context.egui.request_repaint_after_secs(rest);
        return false;
    }
    let is_asked = sent(context.engine.estimate(to_estimate(state, recipe)));
    if is_asked {
        (state.link.asked, state.link.pending) = (Some(asked), true);
        state.link.changed.forget();
    }
    is_asked
}

/// The recipe to ask about. What it takes does not depend on where it runs, and must be known also while the placement's text is wrong.
fn to_estimate(state: &State, recipe: &Recipe) -> Recipe {
    let placement = state.board.placement.as_ref().map(Placement::text).unwrap_or_default();
    Recipe { placement, ..recipe.clone() }
}

/// The engine says what the recipe at hand takes.
pub(crate) fn estimated(state: &mut State, recipe: &Recipe, estimate: Result<Estimate, Failure>, context: &Context<'_>) {
    let about = Asked::of(recipe);
    if state.link.asked.as_ref() != Some(&about) {
        return;
    }
    state.link.pending = false;
    if Asked::of(&context.shared.recipe) != about {
        state.link.asked = None;
        return;
    }
    let board = &mut state.board;
    board.waiting = false;
    (board.estimate, board.failure) = match estimate {
        Ok(estimate) => (Some(estimate), None),
        Err(failure) => (None, Some(format!("{} {}", failure.advice.sentence, failure.advice.hint).trim().to_owned())),
    };
    board.touch();
}

/// A job has begun: the next list of devices is from before its model was loaded.
pub(crate) fn job_begins(state: &mut State) {
    state.link.begins = true;
}

pub(crate) fn devices_found(state: &mut State, mut devices: Vec<Device>, context: &Context<'_>) {
    state.link.listing = false;
    state.link.listed_at_secs = None;
    devices.retain(|device| !state.link.removed.contains(&device.name));
    let board = &mut state.board;
    // The engine looks once more before it loads anything.
    let before_the_run = std::mem::take(&mut state.link.begins);
    if !before_the_run && context.shared.jobs.running().is_some_and(|job| job.begun) {
        // What a forming picture takes is not gone for the next one.
        for device in &mut devices {
            if let Some(before) = board.devices.iter().find(|before| before.name == device.name) {
                device.memory_free_bytes = before.memory_free_bytes;
                device.memory_allocated_bytes = before.memory_allocated_bytes;
            }
        }
    }
    board.set_devices(devices);
    if !state.link.pins_known {
        state.link.pins_known = true;
        board.pin_explicit(&context.shared.recipe.placement);
    }
}

pub(crate) fn server_answered(state: &mut State, address: &ServerAddress, added: Result<Vec<Device>, RemoteError>, context: &Context<'_>) {
    for device in added.iter().flatten() {
        state.link.removed.remove(&device.name);
    }
    if let Some(server) = state.server(address) {
        server.state = match added {
            Ok(devices) => ServerState::Lends(devices.into_iter().map(|device| device.name).collect()),
            Err(problem) => ServerState::Silent(problem.to_string()),
        };
    }
    list_devices(state, context);
}

pub(crate) fn server_tested(state: &mut State, address: &ServerAddress, report: &Result<RemoteReport, RemoteError>) {
    if let Some(server) = state.server(address) {
        server.testing = false;
        server.tested = Some(report.as_ref().map(found).map_err(ToString::to_string));
    }
}

pub(crate) fn measured(state: &mut State, job: JobId, peaks: Vec<Peak>, context: &mut Context<'_>) {
    let Some(job) = context.shared.jobs.get_mut(job) else { return };
    state.board.set_measured(&job.recipe, peaks);
}

/// Other models are in memory than before.
pub(crate) fn residency_changed(state: &mut State, residency: &Residency) {
    state.board.held = residency.held_bytes();
    state.board.touch();
}

/// What would help, where the recipe is still the one that failed.
pub(crate) fn add_remedies(state: &State, card: &mut ErrorCard, met: &OutOfMemory, job: &Job) {
    if !state.board.is_about(&job.recipe) {
        return;
    }
    card.remedies = state.board.remedies_after(met);
    let mut failed = job.recipe.clone();
    failed.seed = job.progress.seed(0).unwrap_or(failed.seed);
    card.failed = Some(Box::new(failed));
}

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: BoardCommand, context: &mut Context<'_>) {
    match command {
        BoardCommand::Move(wanted) => {
            place(state, context, |placement| wanted.make(placement));
            pin(state, wanted.module, true);
        }
        BoardCommand::Pin(module) => pin(state, module, !state.board.pins.contains(&module)),
        BoardCommand::Budget(device, gib) => {
            place(state, context, |placement| placement.budgets = placement.budgets.clone().with(&device, gib.unwrap_or(0.0)));
        }
        BoardCommand::Backend(from, to) => {
            state.board.choose_backend(&from, &to);
            place(state, context, |placement| change_backend(placement, &from, &to));
        }
        BoardCommand::ShowPlan => state.board.want_plan(true),
        BoardCommand::DismissPlan => state.board.want_plan(false),
        BoardCommand::ApplyPlan => {
            if let Some(plan) = state.board.plan_shown() {
                let split_batch = std::mem::take(&mut context.shared.recipe.placement.split_batch);
                // A plan says nothing of a batch.
                context.shared.recipe.placement = PlacementText { split_batch, ..plan.placement.text() };
            }
        }
        BoardCommand::Remedy(index) => {
            if let Some(remedy) = state.board.remedies.get(index).cloned() {
                remedy.apply(&mut context.shared.recipe);
            }
        }
        BoardCommand::RemedyAgain(index) => remedy_again(index, context),
        BoardCommand::Text(text) => {
            state.board.pin_explicit(&text);
            context.shared.recipe.placement = text;
        }
        BoardCommand::Paste(line) => paste(state, &line, context),
        BoardCommand::DismissLeftOut => state.board.left_out.clear(),
        BoardCommand::CopyFlags => {
            context.egui.copy_text(flags(&context.shared.recipe.placement));
            context.notice("Copied");
        }
        BoardCommand::CopyCommand => {
            let copied = sd_cli::write(&context.shared.recipe);
            context.egui.copy_text(copied.line);
            context.notice([vec!["Copied.".to_owned()], copied.left_out].concat().join(" "));
        }
        BoardCommand::TypeName(name) => state.board.typed_name = name,
        BoardCommand::SaveNamed => save_named(state, context),
        BoardCommand::UseNamed(name) => use_named(state, &name, context),
        BoardCommand::DeleteNamed(name) => {
            let board = &mut state.board;
            board.named.retain(|it| it.model != board.model || it.name != name);
        }
        BoardCommand::TypeServer(text) => state.board.typed_server = text,
        BoardCommand::AddServer => add_server(state, context),
        BoardCommand::TestServer(address) => {
            if let Some(server) = state.server(&address) {
                (server.testing, server.tested) = (true, None);
            }
            context.workers.probe(address);
        }
        BoardCommand::RetryServer(address) => ask_server(state, address, context),
        BoardCommand::RemoveServer(address) => {
            if let Some(ServerState::Lends(devices)) = state.server(&address).map(|server| &server.state) {
                let devices = devices.clone();
                state.link.removed.extend(devices);
            }
            state.board.servers.retain(|server| server.address != address);
            list_devices(state, context);
            context.notice("Removed.");
        }
        BoardCommand::CopyTunnel(address) => {
            context.egui.copy_text(tunnel(&address));
            context.notice("Copied");
        }
    }
}

/// Changes the placement on the board, and so the text.
fn place(state: &State, context: &mut Context<'_>, change: impl FnOnce(&mut Placement)) {
    if let Some(mut placement) = state.board.placement.clone() {
        change(&mut placement);
        context.shared.recipe.placement = placement.text();
    }
}

fn pin(state: &mut State, module: Module, pinned: bool) {
    state.link.pins_known = true;
    let board = &mut state.board;
    if pinned {
        board.pins.insert(module);
    } else {
        board.pins.remove(&module);
    }
    board.touch();
}

fn remedy_again(index: usize, context: &mut Context<'_>) {
    let Some(card) = context.shared.error.take() else { return };
    let (Some(remedy), Some(failed)) = (card.remedies.get(index), card.failed) else { return };
    remedy.apply(&mut context.shared.recipe);
    let mut again = *failed;
    remedy.apply(&mut again);
    context.follow_up(create::Command::GenerateWith(Box::new(again)));
}

/// A command's model, prompt, sizes and placement; what it does not name stays as it is.
fn paste(state: &mut State, line: &str, context: &mut Context<'_>) {
    let pasted = match sd_cli::read(line) {
        Ok(pasted) => pasted,
        Err(error) => {
            context.notice(error.to_string());
            return;
        }
    };
    let mut recipe = pasted.recipe;
    if recipe.files.is_empty() {
        recipe.files = context.shared.recipe.files.clone();
    } else if context.shared.uses_builtin() {
        context.shared.use_own_files();
    }
    if recipe.prompt.is_empty() {
        recipe.prompt.clone_from(&context.shared.recipe.prompt);
    }
    state.board.left_out = pasted.left_out.iter().map(ToString::to_string).collect();
    state.board.pin_explicit(&recipe.placement);
    context.shared.recipe = recipe;
    context.notice("Taken over from the command.");
}

fn save_named(state: &mut State, context: &mut Context<'_>) {
    let board = &mut state.board;
    let Some(name) = board.typed_name.take().map(|name| name.trim().to_owned()) else { return };
    board.named.retain(|it| it.model != board.model || it.name != name);
    let (model, pins) = (board.model.clone(), board.pins.clone());
    board.named.push(NamedPlacement { model, name, text: context.shared.recipe.placement.clone(), pins });
}

fn use_named(state: &mut State, name: &str, context: &mut Context<'_>) {
    let board = &mut state.board;
    let Some(named) = board.named.iter().find(|it| it.model == board.model && it.name == name) else { return };
    board.pins.clone_from(&named.pins);
    context.shared.recipe.placement = named.text.clone();
    board.touch();
}

fn add_server(state: &mut State, context: &mut Context<'_>) {
    let board = &mut state.board;
    let Some(Ok(address)) = board.typed_server.take().map(|text| text.parse::<ServerAddress>()) else { return };
    board.servers.push(Server::new(address.clone()));
    ask_server(state, address, context);
}

/// Whether a request went out; where not, the log says why.
pub(crate) fn sent(sent: Result<(), Busy>) -> bool {
    sent.inspect_err(|busy| tracing::warn!("the engine was not asked: {busy}")).is_ok()
}

/// Everything that is on one backend of a card goes to another.
fn change_backend(placement: &mut Placement, from: &str, to: &str) {
    for module in Module::ALL {
        let seat = placement.assignment(module).clone();
        let runs_on = if seat.runs_on == from { to.to_owned() } else { seat.runs_on };
        let weights = if seat.weights.is(from) { WeightLocation::Device(to.to_owned()) } else { seat.weights };
        placement.set(module, Assignment { runs_on, weights });
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
