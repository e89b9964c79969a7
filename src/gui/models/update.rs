//! Effects of the Models view's commands, and of the library's events. Nothing here waits.

use std::path::PathBuf;

use eframe::egui;

use crate::gui::context::Context;
use crate::gui::create::update::parse_path;
use crate::gui::files::{DialogResult, FileTask, DialogKind};
use crate::gui::models::{Availability, FileCheck, Machine, ModelCard, ModelKind, ModelsCommand, Question, State, Then};
use crate::gui::shared::Screen;
use crate::studio::library_service::{LibraryEvent, LibraryRequest};
use atelier_core::device::Device;
use atelier_core::recipe::Lora;
use atelier_library::Runnable;
use atelier_library::downloads::{Status, Token};

/// Works out what is shown where something changed.
pub(crate) fn refresh(state: &mut State, devices: &[Device], context: &Context<'_>) {
    let memory = Machine::of(devices);
    if memory != state.memory
        && let (Some(memory), Some(library)) = (memory, context.library)
    {
        library.send(LibraryRequest::SetMemory(memory.of_first_choice()));
    }
    state.refresh(memory, &context.shared.residency);
    let on_screen = context.shared.screen == Screen::Models;
    if on_screen && !state.on_screen {
        send(context, LibraryRequest::ReloadSettings);
    }
    state.on_screen = on_screen;
}

fn send(context: &Context<'_>, request: LibraryRequest) {
    if let Some(library) = context.library {
        library.send(request);
    }
}

/// A dialog for a folder was closed.
pub(crate) fn dialog_closed(kind: DialogKind, result: DialogResult, context: &mut Context<'_>) {
    match result {
        DialogResult::Paths(paths) => {
            let Some(folder) = paths.into_iter().next() else { return };
            let is_root = kind == DialogKind::ModelsRoot;
            send(context, if is_root { LibraryRequest::SetModelsRoot(Some(folder)) } else { LibraryRequest::Add(vec![folder]) });
        }
        DialogResult::Cancelled => {}
        DialogResult::NoDialog => {
            context.notice("This system has no file dialog. Type or paste the folder's path under \"Add\", or drop it on the window.");
        }
    }
}

/// Folds in an event of the library.
pub(crate) fn library_event(state: &mut State, event: LibraryEvent, context: &mut Context<'_>) {
    match event {
        LibraryEvent::Snapshot(snapshot) => state.set_library(snapshot),
        LibraryEvent::Queue(queue) => state.set_queue(queue),
        LibraryEvent::DownloadsState(downloads) => state.downloads = downloads,
        LibraryEvent::SearchResults(text, found) if state.hub.text.as_ref() == Some(&text) => state.hub.found = Some(found),
        LibraryEvent::RepositoryFiles(repo, files) if state.hub.repo.as_ref() == Some(&repo) => state.hub.files = Some(files),
        // Answers to older questions.
        LibraryEvent::SearchResults(..) | LibraryEvent::RepositoryFiles(..) => {}
        LibraryEvent::RepositoryOpened(repo) => {
            state.hub.text.get_or_insert_default();
            (state.hub.repo, state.hub.files) = (Some(repo), None);
        }
        LibraryEvent::Runnable(Ok(runnable)) => use_runnable(&runnable, context),
        LibraryEvent::Runnable(Err(problem)) => context.notice(problem.sentence),
        LibraryEvent::RemovalPreview(removal) => state.removal = Some(*removal),
        LibraryEvent::Check(id, Some(check)) => {
            state.checks.insert(id, check);
        }
        LibraryEvent::Check(id, None) => {
            state.checks.remove(&id);
        }
        LibraryEvent::Downloaded(id, name) => {
            let name = state.library.cards.iter().find(|it| it.job_ids.contains(&id)).map_or(name, |it| it.name.clone());
            context.notice(format!("{name} is downloaded."));
        }
        LibraryEvent::Notice(text) => context.notice(text),
    }
}

/// The recipe's model becomes this one. What one says stays, and the person's own files come back before they are replaced.
fn use_runnable(runnable: &Runnable, context: &mut Context<'_>) {
    if context.shared.uses_builtin() {
        context.shared.use_own_files();
    }
    runnable.apply(&mut context.shared.recipe);
    context.shared.unplaced.clear();
    context.shared.screen = Screen::Create;
    context.notice(format!("{} is set, with the settings that suit it.", runnable.name));
}

/// Carries out a command.
pub(crate) fn update(state: &mut State, command: ModelsCommand, context: &mut Context<'_>) {
    match command {
        ModelsCommand::FocusSearch => {
            state.focus_search = true;
            context.shared.screen = Screen::Models;
        }
        ModelsCommand::Search(text) => {
            state.search = text;
            state.hub = crate::gui::models::Hub::default();
            state.touch();
        }
        ModelsCommand::Filter(filter) => {
            state.filter = filter;
            state.touch();
        }
        ModelsCommand::Sort(sort) => {
            state.sort = sort;
            state.touch();
        }
        ModelsCommand::ShowAll => {
            (state.search, state.filter) = (String::new(), crate::gui::models::Filter::default());
            state.touch();
        }
        ModelsCommand::Step(by) => state.step(by),
        ModelsCommand::Seen(from, to) => state.seen = (from, to),
        ModelsCommand::Open(id) => (state.selected, state.open) = (Some(id), true),
        ModelsCommand::Close => (state.open, state.focus_card) = (false, true),
        ModelsCommand::Variant(id, variant) => {
            state.variants.insert(id, variant);
        }
        ModelsCommand::Get(id) => get_model(state, &id, context),
        ModelsCommand::GetMissing(id) => get_missing(state, id, context),
        ModelsCommand::Use(id) => use_model(state, &id, context),
        ModelsCommand::Pause(id) => send(context, LibraryRequest::PauseDownload(id)),
        ModelsCommand::Resume(id) | ModelsCommand::Retry(id) => send(context, LibraryRequest::ResumeDownload(id)),
        ModelsCommand::Cancel(id) => send(context, LibraryRequest::CancelDownload(id)),
        ModelsCommand::MoveJob(id, before) => send(context, LibraryRequest::MoveDownload(id, before)),
        ModelsCommand::PauseAll => {
            each_job(state, context, |it| matches!(it, Status::Waiting | Status::Running), LibraryRequest::PauseDownload)
        }
        ModelsCommand::ResumeAll => each_job(state, context, |it| matches!(it, Status::Paused(_)), LibraryRequest::ResumeDownload),
        ModelsCommand::StartDownloads => send(context, LibraryRequest::StartDownloads),
        ModelsCommand::ReadTerms(url) => context.egui.open_url(egui::OpenUrl::new_tab(url)),
        ModelsCommand::Accept => accept_terms(state, context),
        ModelsCommand::Decline => state.question = None,
        ModelsCommand::Delete(id) => send(context, LibraryRequest::PreviewRemoval(id)),
        ModelsCommand::DeleteNow => {
            if let Some(removal) = state.removal.take() {
                send(context, LibraryRequest::Remove(removal.id));
            }
        }
        ModelsCommand::KeepIt => state.removal = None,
        ModelsCommand::Check(id) => {
            state.checks.insert(id.clone(), FileCheck::Running { bytes: 0, total: None });
            send(context, LibraryRequest::CheckFiles(id));
        }
        ModelsCommand::StopCheck(id) => send(context, LibraryRequest::StopCheck(id)),
        ModelsCommand::ShowFolder(folder) => context.workers.file(FileTask::OpenFolder(folder, None)),
        ModelsCommand::CopyWords(words) => {
            context.egui.copy_text(words);
            context.notice("Copied");
        }
        ModelsCommand::TypeAdd(text) => state.typed = text,
        ModelsCommand::Add => {
            let typed = std::mem::take(&mut state.typed);
            send(context, LibraryRequest::Add(vec![parse_path(PathBuf::from(typed).as_path())]));
        }
        ModelsCommand::AddThese(things) => send(context, LibraryRequest::Add(things)),
        ModelsCommand::ChooseFolder => context.open_dialog(DialogKind::ModelsFolder, String::new()),
        ModelsCommand::ForgetFolder(folder) => send(context, LibraryRequest::ForgetFolder(folder)),
        ModelsCommand::ChooseRoot => context.open_dialog(DialogKind::ModelsRoot, String::new()),
        ModelsCommand::UsualRoot => send(context, LibraryRequest::SetModelsRoot(None)),
        ModelsCommand::AtOnce(files) => send(context, LibraryRequest::SetParallelFiles(files)),
        ModelsCommand::LookAgain => send(context, LibraryRequest::Rescan),
        ModelsCommand::TypeToken(text) => state.typed_token = text,
        ModelsCommand::SaveToken => {
            let token = Token::new(&std::mem::take(&mut state.typed_token));
            match token {
                Some(token) => send(context, LibraryRequest::SetToken(Some(token))),
                None => context.notice("This cannot be a token: it has spaces or other signs in it."),
            }
        }
        ModelsCommand::ForgetToken => send(context, LibraryRequest::SetToken(None)),
        ModelsCommand::FocusToken => {
            state.question = None;
            state.focus_token = true;
        }
        ModelsCommand::SearchHub => {
            let text = state.search.trim().to_owned();
            state.hub = crate::gui::models::Hub { text: Some(text.clone()), ..crate::gui::models::Hub::default() };
            state.open = false;
            send(context, LibraryRequest::SearchHub(text));
        }
        ModelsCommand::OpenRepository(repo) => {
            (state.hub.repo, state.hub.files) = (Some(repo.clone()), None);
            send(context, LibraryRequest::ListRepository(repo));
        }
        ModelsCommand::CloseRepository => {
            (state.hub.repo, state.hub.files) = (None, None);
            // A link led here, and no search.
            if state.hub.text.as_deref() == Some("") {
                state.hub.text = None;
            }
        }
        ModelsCommand::GetHubFile(at) => {
            let file = state.hub.files.as_ref().and_then(|it| it.as_ref().ok()?.get(at)).cloned();
            if let (Some(repo), Some(file)) = (state.hub.repo.clone(), file) {
                send(context, LibraryRequest::DownloadHubFile(repo, file));
            }
        }
        ModelsCommand::LeaveHub => state.hub = crate::gui::models::Hub::default(),
    }
}

fn each_job(state: &State, context: &Context<'_>, wanted: impl Fn(&Status) -> bool, request: impl Fn(String) -> LibraryRequest) {
    for entry in state.queue.iter().filter(|it| wanted(&it.status)) {
        send(context, request(entry.id.clone()));
    }
}

/// Asks for terms first where they are the model's own.
fn asks_terms(state: &mut State, card: &ModelCard, then: Then) -> bool {
    let Some(terms) = card.licence.clone().filter(|_| state.asks(card)) else { return false };
    state.question = Some(Question { id: card.id.clone(), name: card.name.clone(), terms, then });
    true
}

fn get_model(state: &mut State, id: &str, context: &Context<'_>) {
    let Some(card) = state.card(id).cloned() else { return };
    let name = state.name_to_get(&card);
    if !asks_terms(state, &card, Then::Get(name.clone())) {
        send(context, LibraryRequest::Download(name));
    }
}

/// What is missing comes under the terms of the model that has it.
fn get_missing(state: &mut State, id: String, context: &Context<'_>) {
    let of = state.card(&id).into_iter().flat_map(|it| &it.missing).filter_map(|it| state.card(it.offered_with()?));
    let asking = of.into_iter().find(|it| state.asks(it)).cloned();
    if !asking.is_some_and(|card| asks_terms(state, &card, Then::GetMissing(id.clone()))) {
        send(context, LibraryRequest::DownloadMissing(id));
    }
}

fn use_model(state: &mut State, id: &str, context: &mut Context<'_>) {
    let Some(card) = state.card(id).cloned() else { return };
    if asks_terms(state, &card, Then::Use) {
        return;
    }
    match (card.kind, card.availability) {
        (_, Availability::BuiltIn) => {
            if !context.shared.uses_builtin() {
                context.shared.use_builtin();
            }
            context.shared.screen = Screen::Create;
        }
        (ModelKind::Lora, _) => {
            let paths = card.files.iter().filter_map(|it| it.path.clone());
            let loras = &mut context.shared.recipe.loras;
            for path in paths {
                if !loras.iter().any(|it| it.path == path) {
                    loras.push(Lora { path, strength: 1.0 });
                }
            }
            context.shared.screen = Screen::Create;
            context.notice(format!("{} is added to the model in use.", card.name));
        }
        _ => send(context, LibraryRequest::ResolveModel(card.id)),
    }
}

fn accept_terms(state: &mut State, context: &mut Context<'_>) {
    let Some(question) = state.question.take() else { return };
    send(context, LibraryRequest::AcceptLicence(question.id.clone()));
    // What follows must not ask again before the keeper has answered.
    state.accepted.insert(question.id.clone());
    match question.then {
        Then::Get(name) => send(context, LibraryRequest::Download(name)),
        Then::GetMissing(id) => get_missing(state, id, context),
        Then::Use => use_model(state, &question.id, context),
    }
}
