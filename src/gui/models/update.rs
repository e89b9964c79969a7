//! Update of the Models view: effects of its commands, and of the library service's events. Nothing
//! here waits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atelier_core::format::file_size;
use atelier_core::recipe::{TensorType, TensorTypeRules};
use atelier_downloads::{Status, Token};
use atelier_engine::{Estimate, MeasuredDevice};
use atelier_language::tr;
use atelier_library::{Availability, ModelCard, ModelKind, Runnable};
use eframe::egui;

use crate::gui::context::{Context, log_if_busy};
use crate::gui::create;
use crate::gui::devices;
use crate::gui::devices::board::Board;
use crate::gui::dialog::FileDialog;
use crate::gui::due;
use crate::gui::features::Features;
use crate::gui::models::command::Command;
use crate::gui::models::filter::Filter;
use crate::gui::models::fit::{MachineMemory, machine};
use crate::gui::models::state::{
    CopyDialog, CopyProgress, Download, HubPage, LicencePrompt, LicensedAction, RunningCopy, SizePrompt, State,
};
use crate::gui::shared::Screen;
use crate::gui::typed_path::parse_path;
use crate::gui::workers::Worker;
use atelier_studio::library_service::{AssembledModel, FileCheck, LibraryEvent, LibraryRequest};
use atelier_studio::model_copy;
use atelier_studio::queue::QueueRequest;

/// Seconds for which the same cards are on the screen before the engine is asked about one: of those
/// that are scrolled past nobody reads anything.
const STANDS_SECS: f64 = 0.2;

/// Downloads of more bytes are asked about: a slip of the hand must not cost an hour of the line.
const LARGE_BYTES: u64 = 2_000_000_000;

/// Recomputes the shown cards after a change, and tells the service about this machine.
pub(crate) fn refresh(state: &mut State, board: &Board, context: &Context<'_>) {
    let memory = MachineMemory::from_devices(&board.devices);
    if let Some(known) = board.estimate.as_ref().map(|it| &it.rates).filter(|known| !known.devices.is_empty() && **known != state.rates) {
        state.rates = known.clone();
    }
    if memory.is_some() {
        let machine = machine(&board.devices, &state.rates);
        if state.machine.as_ref() != Some(&machine) {
            state.machine = Some(machine.clone());
            send(context, LibraryRequest::SetMachine(Box::new(machine)));
        }
    }
    let is_on_screen = context.shared.screen == Screen::Models;
    // Under the pointer nothing moves; who comes back finds the cards in order.
    if is_on_screen && !state.was_on_screen {
        state.forget_places();
    }
    state.refresh(memory, &context.shared.residency);
    if is_on_screen && !state.was_on_screen {
        send(context, LibraryRequest::ReloadSettings);
    }
    state.was_on_screen = is_on_screen;
}

/// Updates the predictions after a change of the devices, and asks the engine about the next model:
/// the one whose details are shown, then those on the screen, once these stand. Nothing is asked
/// while a job runs or the Devices view waits for an estimate.
pub(crate) fn refresh_fits(state: &mut State, devices: &devices::State, context: &Context<'_>) {
    if state.fit_queries.set_devices(&devices.board.devices) {
        for (id, prediction) in state.fit_queries.predictions() {
            state.set_prediction(&id, prediction);
        }
    }
    let is_idle = context.shared.jobs.is_empty() && !devices.board.estimate_pending;
    if context.shared.screen != Screen::Models || !is_idle {
        return;
    }
    let cards: Vec<&ModelCard> = state.open_card().into_iter().chain(state.visible_cards()).collect();
    let Some(query) = state.fit_queries.next(cards.iter().copied(), &context.shared.next.recipe) else { return };
    let ids: Vec<String> = cards.iter().map(|card| card.id.clone()).collect();
    if let Some(secs) = state.fit_queries.standing.remaining_secs(|it| *it == ids, || ids.clone(), context.egui.time(), STANDS_SECS) {
        due::wake_in(context.egui, f64::from(secs));
        return;
    }
    if log_if_busy(context.engine.estimate(query.recipe.clone())) {
        state.fit_queries.set_pending(query);
    }
}

/// Devices were measured: times of models are known now, or are others.
pub(crate) fn rates_measured(state: &mut State, measured: &[MeasuredDevice]) {
    for MeasuredDevice { device, measured } in measured {
        if let Ok(measured) = measured {
            state.rates.devices.insert(device.clone(), measured.rates.clone());
        }
    }
    state.fit_queries.forget_answers();
}

/// Handles the engine's answer to the pending query; `None` where it failed.
pub(crate) fn estimated(state: &mut State, estimate: Option<Estimate>) {
    if let Some((id, prediction)) = state.fit_queries.set_answer(estimate) {
        state.set_prediction(&id, prediction);
    }
}

/// Sends a request where this person has a library.
fn send(context: &Context<'_>, request: LibraryRequest) {
    if let Some(library) = context.library {
        library.send(request);
    }
}

/// Asks for a folder, and sends the request about it.
fn choose(title: &str, context: &mut Context<'_>, request: fn(PathBuf) -> LibraryRequest) {
    let without = |_: Features<'_>, context: &mut Context<'_>| {
        context.notice(tr!("models-this-system-has-no"));
    };
    context.choose(FileDialog::folder(title), without, move |paths, _, context| {
        if let Some(folder) = paths.into_iter().next() {
            send(context, request(folder));
        }
    });
}

/// Handles an event of the library service.
pub(crate) fn library_event(state: &mut State, event: LibraryEvent, context: &mut Context<'_>) {
    match event {
        LibraryEvent::Snapshot(library) => {
            let loras = library.cards.iter().filter(|card| card.kind == ModelKind::Lora);
            context.shared.next.lora_files = loras.flat_map(|card| card.files.iter().filter_map(|file| file.path.clone())).collect();
            context.shared.library = Arc::clone(&library);
            state.set_library(library);
        }
        LibraryEvent::Queue(queue) => state.set_queue(queue),
        LibraryEvent::DownloadsState(downloads) => state.downloads = downloads,
        LibraryEvent::SearchResults(text, results) if state.hub.query.as_ref() == Some(&text) => state.hub.results = Some(results),
        LibraryEvent::RepositoryFiles(repo, files) if state.hub.repository.as_ref() == Some(&repo) => state.hub.files = Some(files),
        // Answers to earlier requests.
        LibraryEvent::SearchResults(..) | LibraryEvent::RepositoryFiles(..) => {}
        LibraryEvent::RepositoryOpened(repo) => {
            state.hub.query.get_or_insert_default();
            (state.hub.repository, state.hub.files) = (Some(repo), None);
        }
        LibraryEvent::Runnable(Ok(runnable)) => use_runnable(&runnable, context),
        LibraryEvent::Runnable(Err(problem)) => context.notice(problem.advice.sentence),
        LibraryEvent::ModelAssembled(model) => use_assembled(*model, context),
        LibraryEvent::RemovalPreview(removal) => state.removal = Some(*removal),
        LibraryEvent::Check(id, Some(check)) => {
            state.checks.insert(id, check);
        }
        LibraryEvent::Check(id, None) => {
            state.checks.remove(&id);
        }
        LibraryEvent::Downloaded(id, name) => {
            let card = state.library.cards.iter().find(|it| it.job_ids.contains(&id));
            context.notice(tr!("models-is-downloaded", card = card.map_or(&name, |it| &it.name)));
            context.queue.send(QueueRequest::LookForModels);
        }
        LibraryEvent::Notice(text) => context.notice(text),
    }
}

/// Sets files and settings of a model in the recipe. The prompt stays; the person's own files are
/// restored before they are replaced.
fn use_runnable(runnable: &Runnable, context: &mut Context<'_>) {
    if context.shared.next.uses_builtin() {
        context.shared.next.use_own_files();
    }
    runnable.apply(&mut context.shared.next.recipe);
    context.shared.unplaced.clear();
    context.shared.screen = Screen::Create;
    context.notice(tr!("models-using-with-its-recommended", name = runnable.name));
}

/// Makes a model that was found round a dropped file the one in use, with the settings that suit
/// it.
fn use_assembled(model: AssembledModel, context: &mut Context<'_>) {
    let AssembledModel { name, files, defaults, missing } = model;
    context.shared.next.replace_model(files);
    let suits = match defaults {
        Some(defaults) => {
            defaults.apply(&mut context.shared.next.recipe);
            tr!("models-with-its-recommended-settings")
        }
        None => "",
    };
    context.notice([vec![tr!("models-using", name, suits)], missing].concat().join(" "));
}

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: Command, context: &mut Context<'_>) {
    match command {
        Command::FocusSearch => {
            state.focus_search = true;
            context.shared.screen = Screen::Models;
            context.shared.side_panel.show(context.egui);
        }
        Command::SetSearch(text) => {
            (state.search, state.hub) = (text, HubPage::default());
            state.mark_dirty();
        }
        Command::SetFilter(filter) => {
            state.filter = filter;
            state.mark_dirty();
        }
        Command::ShowKind(kind) => {
            state.search = String::new();
            state.filter = Filter { kind: Some(kind), ..Filter::default() };
            state.mark_dirty();
            context.shared.screen = Screen::Models;
        }
        Command::SetSort(sort) => {
            state.sort = sort;
            state.mark_dirty();
        }
        Command::ShowAll => {
            (state.search, state.filter) = (String::new(), Filter::default());
            state.mark_dirty();
        }
        Command::MoveCursor(by) => state.move_cursor(by),
        Command::SetVisible(from, to) => state.visible = (from, to),
        Command::OpenDetails(id) => (state.selected, state.is_open) = (Some(id), true),
        Command::CloseDetails => (state.is_open, state.focus_card) = (false, true),
        Command::ChooseVariant(id, variant) => {
            state.chosen_variants.insert(id, variant);
        }
        Command::Download(id) => {
            state.generates_with = None;
            download(state, &id, context);
        }
        Command::DownloadAndGenerate(id) => {
            state.generates_with = state.card(&id).map(|card| (state.download_name(card), card.name.clone()));
            download(state, &id, context);
        }
        Command::DownloadMissing(id) => {
            state.generates_with = None;
            download_missing(state, id, context);
        }
        Command::ConfirmDownload => {
            if let Some(prompt) = state.size_prompt.take() {
                begin_download(state, prompt.download, context);
            }
        }
        Command::CancelSize => state.size_prompt = None,
        Command::Use(id) => use_model(state, &id, context),
        Command::Pause(id) => send(context, LibraryRequest::PauseDownload(id)),
        Command::Resume(id) | Command::Retry(id) => send(context, LibraryRequest::ResumeDownload(id)),
        Command::Cancel(id) => send(context, LibraryRequest::CancelDownload(id)),
        Command::MoveDownload(id, before) => send(context, LibraryRequest::MoveDownload(id, before)),
        Command::PauseAll => {
            send_for_each(state, context, |it| matches!(it, Status::Waiting | Status::Running), LibraryRequest::PauseDownload);
        }
        Command::ResumeAll => send_for_each(state, context, |it| matches!(it, Status::Paused(_)), LibraryRequest::ResumeDownload),
        Command::StartDownloads => send(context, LibraryRequest::StartDownloads),
        Command::OpenLicence(url) => context.egui.open_url(egui::OpenUrl::new_tab(url)),
        Command::AcceptLicence => accept_licence(state, context),
        Command::DeclineLicence => state.licence_prompt = None,
        // Files may be shared with other models: what goes and what stays is asked about first.
        Command::Delete(id) => send(context, LibraryRequest::PreviewRemoval(id)),
        Command::ConfirmDelete => {
            if let Some(removal) = state.removal.take() {
                send(context, LibraryRequest::Remove(removal.id));
            }
        }
        Command::CancelDelete => state.removal = None,
        Command::CopyModel(id) => ask_for_copy(state, &id, context),
        Command::ChooseCopyType(chosen) => {
            if let Some(dialog) = &mut state.copy_dialog {
                dialog.chosen = chosen;
            }
        }
        Command::ConfirmCopy => make_copy(state, context),
        Command::CancelCopy => state.copy_dialog = None,
        Command::StopCopy => {
            if let Some(copy) = &state.running_copy {
                copy.progress.is_stopped.store(true, Ordering::SeqCst);
            }
        }
        Command::CheckFiles(id) => {
            state.checks.insert(id.clone(), FileCheck::Running { bytes: 0, total: None });
            send(context, LibraryRequest::CheckFiles(id));
        }
        Command::StopCheck(id) => send(context, LibraryRequest::StopCheck(id)),
        Command::OpenFolder(folder) => context.show_folder(folder, None),
        Command::CopyTriggerWord(word) => {
            context.egui.copy_text(word);
            context.notice(tr!("common-copied"));
        }
        Command::EditAddText(text) => state.add_text = text,
        Command::Add => {
            let text = std::mem::take(&mut state.add_text);
            send(context, LibraryRequest::Add(vec![parse_path(Path::new(&text))]));
        }
        Command::AddPaths(paths) => send(context, LibraryRequest::Add(paths)),
        Command::ChooseFolder => {
            choose(tr!("models-use-the-models-of-a-folder"), context, |folder| LibraryRequest::Add(vec![folder]));
        }
        Command::ForgetFolder(folder) => send(context, LibraryRequest::ForgetFolder(folder)),
        Command::ChooseModelsRoot => {
            choose(tr!("models-choose-the-folder-for"), context, |folder| LibraryRequest::SetModelsRoot(Some(folder)));
        }
        Command::UseDefaultModelsRoot => send(context, LibraryRequest::SetModelsRoot(None)),
        Command::SetParallelFiles(files) => send(context, LibraryRequest::SetParallelFiles(files)),
        Command::Rescan => send(context, LibraryRequest::Rescan),
        Command::EditTokenText(text) => state.token_text = text,
        // A secret stays in the field no longer than it takes to save it.
        Command::SaveToken => match Token::new(&std::mem::take(&mut state.token_text)) {
            Some(token) => send(context, LibraryRequest::SetToken(Some(token))),
            None => context.notice(tr!("models-this-is-not-a")),
        },
        Command::DeleteToken => send(context, LibraryRequest::SetToken(None)),
        Command::FocusToken => {
            state.licence_prompt = None;
            state.focus_token = true;
        }
        Command::SearchHub => {
            let text = state.search.trim().to_owned();
            state.hub = HubPage { query: Some(text.clone()), ..HubPage::default() };
            state.is_open = false;
            send(context, LibraryRequest::SearchHub(text));
        }
        Command::OpenRepository(repo) => {
            (state.hub.repository, state.hub.files) = (Some(repo.clone()), None);
            send(context, LibraryRequest::ListRepository(repo));
        }
        Command::CloseRepository => {
            (state.hub.repository, state.hub.files) = (None, None);
            // A link led here, and no search.
            if state.hub.query.as_deref() == Some("") {
                state.hub.query = None;
            }
        }
        Command::DownloadHubFile(at) => {
            let file = state.hub.files.as_ref().and_then(|it| it.as_ref().ok()?.get(at)).cloned();
            if let (Some(repo), Some(file)) = (state.hub.repository.clone(), file) {
                let (name, bytes) = (file.path.clone(), Some(file.size));
                state.generates_with = None;
                ask_for_space(state, name, bytes, Download::HubFile(repo, file), context);
            }
        }
        Command::CloseHub => state.hub = HubPage::default(),
    }
}

/// Opens the dialog for a smaller copy, and has the sizes counted.
fn ask_for_copy(state: &mut State, id: &str, context: &Context<'_>) {
    let Some((card, original)) = state.card(id).and_then(|card| Some((card, card.copied_file()?.to_owned()))) else { return };
    let (name, licence) = (card.name.clone(), card.licence.as_ref().map(|it| it.name().to_owned()));
    state.copy_dialog = Some(CopyDialog { original: original.clone(), name, licence, sizes: None, chosen: TensorType::Q8_0 });
    let of = original.clone();
    context.run(
        Worker::Files,
        move || model_copy::copy_sizes(&original).map_err(|error| error.to_string()),
        move |sizes, features, _| {
            let Some(dialog) = features.models.copy_dialog.as_mut().filter(|dialog| dialog.original == of) else { return };
            if let Some((largest, _)) = sizes.as_ref().ok().and_then(|sizes| sizes.copies.first()) {
                dialog.chosen = *largest;
            }
            dialog.sizes = Some(sizes);
        },
    );
}

/// Makes the copy of the open dialog, on a thread of its own.
fn make_copy(state: &mut State, context: &Context<'_>) {
    let Some(CopyDialog { original, name, licence, chosen, .. }) = state.copy_dialog.take() else { return };
    let progress = Arc::new(CopyProgress::default());
    state.running_copy = Some(RunningCopy { name: name.clone(), progress: Arc::clone(&progress) });
    context.run_alone(
        "model copy",
        move || {
            let copy = model_copy::ModelCopy::plan(&original, Some(chosen), TensorTypeRules::default(), None, licence.as_deref())?;
            copy.make(&|done, all| {
                progress.done_bytes.store(done, Ordering::SeqCst);
                progress.all_bytes.store(all, Ordering::SeqCst);
                !progress.is_stopped.load(Ordering::SeqCst)
            })?;
            Ok(copy.bytes)
        },
        move |made: std::io::Result<Result<u64, model_copy::CopyError>>, features, context| {
            features.models.running_copy = None;
            match made.map_err(model_copy::CopyError::from).flatten() {
                Ok(bytes) => context.notice(tr!("models-a-copy-of-is", name, bytes = file_size(bytes))),
                Err(error) => context.notice(error.to_string()),
            }
            send(context, LibraryRequest::Rescan);
        },
    );
}

/// Sends a request for every download whose status matches.
fn send_for_each(state: &State, context: &Context<'_>, matches: impl Fn(&Status) -> bool, request: impl Fn(String) -> LibraryRequest) {
    for entry in state.queue.iter().filter(|it| matches(&it.status)) {
        send(context, request(entry.id.clone()));
    }
}

/// Opens the licence prompt of a model that needs one; false for all others.
fn open_licence_prompt(state: &mut State, card: &ModelCard, next: LicensedAction) -> bool {
    let Some(licence) = card.licence.clone().filter(|_| state.needs_licence_prompt(card)) else { return false };
    state.licence_prompt = Some(LicencePrompt { id: card.id.clone(), name: card.name.clone(), licence, next });
    true
}

fn download(state: &mut State, id: &str, context: &mut Context<'_>) {
    let Some(card) = state.card(id).cloned() else { return };
    let name = state.download_name(&card);
    if !open_licence_prompt(state, &card, LicensedAction::Download(name.clone())) {
        download_named(state, name, context);
    }
}

/// Downloads the model of this name, once its size was agreed to.
fn download_named(state: &mut State, name: String, context: &mut Context<'_>) {
    let id = name.split_once(':').map_or(name.as_str(), |(id, _)| id);
    let card = state.card(id);
    let bytes = card.and_then(|card| state.variant(card).map_or(card.bytes, |it| it.bytes));
    let label = card.map_or_else(|| name.clone(), |card| card.name.clone());
    ask_for_space(state, label, bytes, Download::Model(name), context);
}

/// Missing files are under the licence of the catalogue's model that has them.
fn download_missing(state: &mut State, id: String, context: &mut Context<'_>) {
    let sources = state.card(&id).into_iter().flat_map(|it| &it.missing).filter_map(|it| state.card(it.offered_with()?));
    let unaccepted = sources.into_iter().find(|it| state.needs_licence_prompt(it)).cloned();
    if !unaccepted.is_some_and(|card| open_licence_prompt(state, &card, LicensedAction::DownloadMissing(id.clone()))) {
        let (name, bytes) = state.card(&id).map_or((id.clone(), None), |card| (card.name.clone(), card.missing_bytes()));
        ask_for_space(state, name, bytes, Download::Missing(id), context);
    }
}

/// Begins a download, after a question where it is a large one.
fn ask_for_space(state: &mut State, name: String, bytes: Option<u64>, download: Download, context: &mut Context<'_>) {
    let Some(bytes) = bytes.filter(|it| *it > LARGE_BYTES) else { return begin_download(state, download, context) };
    let time = match &download {
        Download::Model(id) => state.card(id.split_once(':').map_or(id, |(id, _)| id)).and_then(|card| state.picture_time(card)),
        Download::Missing(id) => state.card(id).and_then(|card| state.picture_time(card)),
        Download::HubFile(..) => None,
    };
    state.size_prompt = Some(SizePrompt { name, bytes, free_bytes: None, time, download });
    let root = state.library.settings.models_root.clone();
    context.run(
        Worker::Files,
        move || atelier_downloads::free_bytes(&root).ok(),
        |free, features, _| {
            if let Some(prompt) = &mut features.models.size_prompt {
                prompt.free_bytes = free;
            }
        },
    );
}

fn begin_download(state: &mut State, download: Download, context: &mut Context<'_>) {
    send(
        context,
        match download {
            Download::Model(name) => LibraryRequest::Download(name),
            Download::Missing(id) => LibraryRequest::DownloadMissing(id),
            Download::HubFile(repo, file) => LibraryRequest::DownloadHubFile(repo, file),
        },
    );
    if let Some((name, label)) = state.generates_with.take() {
        context.follow_up(create::Command::GenerateOnceHere { name, label });
    }
}

fn use_model(state: &mut State, id: &str, context: &mut Context<'_>) {
    let Some(card) = state.card(id).cloned() else { return };
    if open_licence_prompt(state, &card, LicensedAction::Use) {
        return;
    }
    match (card.kind, card.availability) {
        (_, Availability::BuiltIn) => {
            if !context.shared.next.uses_builtin() {
                context.shared.next.use_builtin();
            }
            context.shared.screen = Screen::Create;
        }
        (ModelKind::Lora, _) => {
            for path in card.files.iter().filter_map(|it| it.path.clone()) {
                context.shared.next.use_lora(path);
            }
            context.shared.screen = Screen::Create;
            context.notice(tr!("models-was-added-to-the", name = card.name));
        }
        _ => send(context, LibraryRequest::ResolveModel(card.id)),
    }
}

fn accept_licence(state: &mut State, context: &mut Context<'_>) {
    let Some(prompt) = state.licence_prompt.take() else { return };
    send(context, LibraryRequest::AcceptLicence(prompt.id.clone()));
    // The next action must not open the prompt again before the service's snapshot says that it is
    // accepted.
    state.accepted.insert(prompt.id.clone());
    match prompt.next {
        LicensedAction::Download(name) => download_named(state, name, context),
        LicensedAction::DownloadMissing(id) => download_missing(state, id, context),
        LicensedAction::Use => use_model(state, &prompt.id, context),
    }
}
