//! Effects of the commands of the Devices view. Nothing here waits.

use crate::gui::context::{Context, log_if_busy};
use crate::gui::create;
use crate::gui::devices::board::{Board, RemoteServer, ServerState, ssh_tunnel_command};
use crate::gui::devices::command::Command;
use crate::gui::devices::requests;
use crate::gui::devices::state::State;
use crate::gui::devices::trials;
use crate::gui::guides;
use crate::settings::NamedPlacement;
use atelier_core::placement::{Assignment, Module, ModuleSet, Placement, WeightLocation};
use atelier_core::recipe::{PlacementText, Recipe, changed_settings};
use atelier_core::sd_cli;
use atelier_core::words::Prompt;
use atelier_engine::ServerAddress;
use atelier_language::tr;
use atelier_library::Family;

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::Move(card_move) => {
            change_placement(state, context, |placement| card_move.apply(placement));
            set_pinned(state, card_move.module, true);
        }
        Command::TogglePin(module) => {
            let pinned = !state.board.pins.contains(&module);
            if pinned && state.board.automatic.places(&context.shared.next.recipe.placement) {
                // What is pinned is no longer Atelier's to place.
                change_placement(state, context, |_| {});
            }
            set_pinned(state, module, pinned);
        }
        Command::SetAutomatic(is_on) => set_automatic(state, is_on, context),
        Command::SetBudget(device, gib) => {
            let gib = gib.unwrap_or(0.0);
            change_placement(state, context, |placement| placement.budgets = placement.budgets.clone().with(&device, gib));
        }
        Command::SetModuleBudget(module, gib) => {
            let gib = gib.unwrap_or(0.0);
            change_placement(state, context, |placement| placement.budgets = placement.budgets.clone().with_module(module, gib));
        }
        Command::ChangeBackend(from, to) => {
            state.board.choose_backend(&from, &to);
            change_placement(state, context, |placement| change_backend(placement, &from, &to));
        }
        Command::AddNeedsOfStreaming => {
            if let Some(with) = state.board.with_needs_of_streaming.clone() {
                change_placement(state, context, |placement| *placement = with);
            }
        }
        Command::ShowPlan => state.board.set_plan_visible(true),
        Command::DismissPlan => state.board.set_plan_visible(false),
        Command::ApplyPlan => {
            if let Some(plan) = state.board.visible_plan() {
                let split_batch = std::mem::take(&mut context.shared.next.recipe.placement.split_batch);
                // A plan does not split batches.
                context.shared.next.recipe.placement = PlacementText { split_batch, ..plan.placement.text() };
            }
        }
        Command::ApplyBudgetOffer(index) => {
            if let Some(offer) = state.board.budget_offers.get(index).cloned() {
                change_placement(state, context, |placement| *placement = offer.placement);
            }
        }
        Command::TryPlacements => trials::begin(state, context),
        Command::StopTrials => trials::stop(state, context),
        Command::ForgetTrials => {
            trials::stop(state, context);
            state.trials = None;
        }
        Command::UseTried(text) => {
            state.board.mark_stale();
            let split_batch = std::mem::take(&mut context.shared.next.recipe.placement.split_batch);
            context.shared.next.recipe.placement = PlacementText { split_batch, ..text };
        }
        Command::ApplyRemedy(index) => {
            if let Some(remedy) = state.board.remedies.get(index) {
                remedy.apply(&mut context.shared.next.recipe);
            }
        }
        Command::RepeatWithRemedy(index) => repeat_with_remedy(index, context),
        Command::SetText(text) => {
            state.board.pin_explicit(&text);
            context.shared.next.recipe.placement = text;
        }
        Command::PasteCommand(line) => paste(state, &line, context),
        Command::DismissPasteOmissions => state.paste_omissions.clear(),
        Command::CopyFlags => {
            context.egui.copy_text(flags(&context.shared.next.recipe.placement));
            context.notice(tr!("common-copied"));
        }
        Command::CopyCommand => {
            let written = sd_cli::write(&context.shared.next.resolved_recipe());
            context.egui.copy_text(written.line);
            context.notice([vec![tr!("devices-copied").to_owned()], written.left_out].concat().join(" "));
        }
        Command::SetNameInput(name) => state.name_input = name,
        Command::SavePlacement => save_placement(state, context),
        Command::UsePlacement(name) => use_saved_placement(state, &name, context),
        Command::DeletePlacement(name) => state.delete_placement(&name),
        Command::SetServerInput(text) => state.server_input = text,
        Command::AddServer => add_server(state, context),
        Command::TestServer(address) => {
            if let Some(server) = state.server_mut(&address) {
                (server.testing, server.test_result) = (true, None);
            }
            requests::test_server(address, context);
        }
        Command::RetryServer(address) => requests::add_server(state, address, context),
        Command::RemoveServer(address) => remove_server(state, &address, context),
        Command::CopySshCommand(address) => {
            context.egui.copy_text(ssh_tunnel_command(&address));
            context.notice(tr!("common-copied"));
        }
    }
}

/// Changes the placement of the board and writes its text into the recipe.
fn change_placement(state: &State, context: &mut Context<'_>, change: impl FnOnce(&mut Placement)) {
    if let Some(mut placement) = state.board.placement.clone() {
        change(&mut placement);
        let Board { modules, pins, .. } = &state.board;
        placement.unite_encoders(modules.iter().copied(), |module| pins.contains(&module));
        context.shared.next.recipe.placement = placement.text();
    }
}

/// Leaves the placement to Atelier, with nothing pinned; or switches that off, which leaves
/// everything on the first device.
fn set_automatic(state: &mut State, is_on: bool, context: &mut Context<'_>) {
    if !log_if_busy(context.engine.place_automatically(is_on)) {
        return;
    }
    state.board.set_places_automatically(is_on);
    if is_on {
        state.board.pins.clear();
        state.pins_known = true;
        context.shared.next.recipe.placement = PlacementText::default();
    }
}

fn set_pinned(state: &mut State, module: Module, pinned: bool) {
    state.pins_known = true;
    let board = &mut state.board;
    if pinned {
        board.pins.insert(module);
    } else {
        board.pins.remove(&module);
    }
    board.mark_stale();
}

/// Applies a remedy of the error card to the recipe, and repeats the failed picture with it.
fn repeat_with_remedy(index: usize, context: &mut Context<'_>) {
    let Some(card) = context.shared.error.take() else { return };
    let (Some(remedy), Some(failed)) = (card.remedies.get(index), card.failed) else { return };
    remedy.apply(&mut context.shared.next.recipe);
    let mut repeated = *failed;
    remedy.apply(&mut repeated);
    context.follow_up(create::Command::GenerateWith(Box::new(repeated.with_words_as_letters())));
}

/// Takes over what a command line names; everything else stays.
fn paste(state: &mut State, line: &str, context: &mut Context<'_>) {
    let read = |recipe: &Recipe| sd_cli::read_over(line, recipe.clone());
    let mut pasted = match read(&context.shared.next.recipe) {
        Ok(pasted) => pasted,
        Err(error) => {
            context.notice(error.to_string());
            return;
        }
    };
    let before = context.shared.next.recipe.clone();
    if pasted.recipe.files != before.files && context.shared.next.uses_builtin() {
        context.shared.next.use_own_files();
        // It was read before, so it is read again.
        pasted = read(&context.shared.next.recipe).unwrap_or(pasted);
    }
    // To the engine's program, what we would choose or leave out is letters.
    let words = [(&mut pasted.recipe.prompt, &before.prompt), (&mut pasted.recipe.negative_prompt, &before.negative_prompt)];
    for (words, before) in words {
        if words != before {
            let letters = Prompt::parse(words).as_letters();
            *words = letters;
        }
    }
    if let Some(folder) = pasted.person_folder.take() {
        guides::update::list_person(folder, context);
    }
    state.paste_omissions = pasted.left_out.iter().map(ToString::to_string).collect();
    if let Some(folder) = pasted.embeddings_folder.take() {
        state.paste_omissions.push(tr!("devices-embd-dir-add-its", folder = folder.display()));
    }
    if pasted.without_metadata {
        state.paste_omissions.push(tr!("devices-disable-image-metadata-pictures-keep").to_owned());
    }
    if pasted.recipe.placement != before.placement {
        state.board.pin_explicit(&pasted.recipe.placement);
    }
    context.shared.next.recipe = pasted.recipe;
    if let Some(size) = pasted.relative_tile_size {
        let latent_pixels = Family::latent_pixels_of(context.shared.known_family());
        context.shared.next.recipe.set_relative_vae_tiles(size.parts(), latent_pixels);
    }
    let changed = changed_settings(&before, &context.shared.next.recipe);
    context.notice(match &changed[..] {
        [] => tr!("devices-the-command-changes-nothing").to_owned(),
        changed => tr!("devices-loaded-from-the-command", changed = changed.join(", ")),
    });
}

fn save_placement(state: &mut State, context: &Context<'_>) {
    let Some(name) = state.name_input.take().map(|name| name.trim().to_owned()) else { return };
    state.delete_placement(&name);
    let (model, pins) = (state.board.model_key.clone(), state.board.pins.clone());
    state.saved_placements.push(NamedPlacement { model, name, text: context.shared.next.recipe.placement.clone(), pins });
}

fn use_saved_placement(state: &mut State, name: &str, context: &mut Context<'_>) {
    let Some(saved) = state.placements_of_model().find(|it| it.name == name).cloned() else { return };
    state.board.pins = saved.pins;
    state.board.mark_stale();
    context.shared.next.recipe.placement = saved.text;
}

fn add_server(state: &mut State, context: &Context<'_>) {
    let Some(Ok(address)) = state.server_input.take().map(|text| text.parse::<ServerAddress>()) else { return };
    state.servers.push(RemoteServer::new(address.clone()));
    requests::add_server(state, address, context);
}

fn remove_server(state: &mut State, address: &ServerAddress, context: &mut Context<'_>) {
    if let Some(ServerState::Connected(devices)) = state.server_mut(address).map(|server| server.state.clone()) {
        state.device_list.removed.extend(devices);
    }
    state.servers.retain(|server| server.address != *address);
    requests::list_devices(context);
    context.notice(tr!("devices-removed"));
}

/// Moves everything from one device to another.
fn change_backend(placement: &mut Placement, from: &str, to: &str) {
    for module in Module::ALL {
        let assignment = placement.assignment(module).clone();
        let runs_on = if assignment.runs_on == from { to.to_owned() } else { assignment.runs_on };
        let weights = if assignment.weights.is(from) { WeightLocation::Device(to.to_owned()) } else { assignment.weights };
        placement.set(module, Assignment { runs_on, weights });
    }
}

/// Placement as flags of sd-cli, quoted for Unix shells.
fn flags(text: &PlacementText) -> String {
    let values = [("--backend", &text.backend), ("--params-backend", &text.params_backend), ("--max-vram", &text.max_vram)];
    let mut words: Vec<String> = values
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(flag, value)| format!("{flag} {}", shell_words::quote(value)))
        .collect();
    if !text.stream_layers.is_empty() {
        words.push("--stream-layers".to_owned());
    }
    if ![ModuleSet::NONE, ModuleSet::DIFFUSION].contains(&text.stream_layers) {
        words.push(text.stream_layers.to_string());
    }
    words.join(" ")
}
