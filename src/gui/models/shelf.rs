//! Between the Models view and the keeper: what the view's commands do, and what the keeper's answers change. Nothing here waits.

use std::path::PathBuf;

use eframe::egui;

use crate::gui::App;
use crate::gui::files::{FileTask, Purpose};
use crate::gui::models::{Availability, FileCheck, Machine, ModelCard, ModelKind, ModelsCommand, Question, Then};
use crate::gui::state::Screen;
use crate::studio::library_service::{LibraryEvent, LibraryRequest, LibraryService};
use atelier_core::recipe::Lora;
use atelier_library::Runnable;
use atelier_library::downloads::{Status, Token};

impl App {
    /// Folds in what the keeper told, and works out what is shown where something changed.
    pub(crate) fn follow_models(&mut self, ctx: &egui::Context) {
        while let Some(event) = self.library.as_ref().and_then(LibraryService::try_next) {
            self.library_event(ctx, event);
        }
        let memory = Machine::of(&self.state.board.devices);
        let view = &mut self.state.models;
        if memory != view.memory
            && let (Some(memory), Some(library)) = (memory, &self.library)
        {
            library.send(LibraryRequest::SetMemory(memory.of_first_choice()));
        }
        view.refresh(memory, &self.state.residency);
        let on_screen = self.state.screen == Screen::Models;
        if on_screen && !view.on_screen {
            self.request(LibraryRequest::ReloadSettings);
        }
        self.state.models.on_screen = on_screen;
    }

    fn library_event(&mut self, ctx: &egui::Context, event: LibraryEvent) {
        let view = &mut self.state.models;
        match event {
            LibraryEvent::Snapshot(snapshot) => view.set_library(snapshot),
            LibraryEvent::Queue(queue) => view.set_queue(queue),
            LibraryEvent::DownloadsState(state) => view.downloads = state,
            LibraryEvent::SearchResults(text, found) if view.hub.text.as_ref() == Some(&text) => view.hub.found = Some(found),
            LibraryEvent::RepositoryFiles(repo, files) if view.hub.repo.as_ref() == Some(&repo) => view.hub.files = Some(files),
            // Answers to older questions.
            LibraryEvent::SearchResults(..) | LibraryEvent::RepositoryFiles(..) => {}
            LibraryEvent::RepositoryOpened(repo) => {
                view.hub.text.get_or_insert_default();
                (view.hub.repo, view.hub.files) = (Some(repo), None);
            }
            LibraryEvent::Runnable(Ok(runnable)) => self.use_runnable(ctx, &runnable),
            LibraryEvent::Runnable(Err(problem)) => self.notice(ctx, problem.sentence),
            LibraryEvent::RemovalPreview(removal) => view.removal = Some(*removal),
            LibraryEvent::Check(id, Some(check)) => {
                view.checks.insert(id, check);
            }
            LibraryEvent::Check(id, None) => {
                view.checks.remove(&id);
            }
            LibraryEvent::Downloaded(id, name) => {
                let name = view.library.cards.iter().find(|it| it.job_ids.contains(&id)).map_or(name, |it| it.name.clone());
                self.notice(ctx, format!("{name} is downloaded."));
            }
            LibraryEvent::Notice(text) => self.notice(ctx, text),
        }
    }

    /// The recipe's model becomes this one. What one says stays, and the person's own files come back before they are replaced.
    fn use_runnable(&mut self, ctx: &egui::Context, runnable: &Runnable) {
        if self.state.uses_builtin() {
            self.use_own_files();
        }
        runnable.apply(&mut self.state.recipe);
        self.state.unplaced.clear();
        self.go(Screen::Create);
        self.notice(ctx, format!("{} is set, with the settings that suit it.", runnable.name));
    }

    fn request(&self, request: LibraryRequest) {
        if let Some(service) = &self.library {
            service.send(request);
        }
    }

    pub(crate) fn models_command(&mut self, ctx: &egui::Context, command: ModelsCommand) {
        let view = &mut self.state.models;
        match command {
            ModelsCommand::FocusSearch => {
                view.focus_search = true;
                self.go(Screen::Models);
            }
            ModelsCommand::Search(text) => {
                view.search = text;
                view.hub = crate::gui::models::Hub::default();
                view.touch();
            }
            ModelsCommand::Filter(filter) => {
                view.filter = filter;
                view.touch();
            }
            ModelsCommand::Sort(sort) => {
                view.sort = sort;
                view.touch();
            }
            ModelsCommand::ShowAll => {
                (view.search, view.filter) = (String::new(), crate::gui::models::Filter::default());
                view.touch();
            }
            ModelsCommand::Step(by) => view.step(by),
            ModelsCommand::Seen(from, to) => view.seen = (from, to),
            ModelsCommand::Open(id) => (view.selected, view.open) = (Some(id), true),
            ModelsCommand::Close => (view.open, view.focus_card) = (false, true),
            ModelsCommand::Variant(id, variant) => {
                view.variants.insert(id, variant);
            }
            ModelsCommand::Get(id) => self.get_model(&id),
            ModelsCommand::GetMissing(id) => self.get_missing(id),
            ModelsCommand::Use(id) => self.use_model(ctx, &id),
            ModelsCommand::Pause(id) => self.request(LibraryRequest::PauseDownload(id)),
            ModelsCommand::Resume(id) | ModelsCommand::Retry(id) => self.request(LibraryRequest::ResumeDownload(id)),
            ModelsCommand::Cancel(id) => self.request(LibraryRequest::CancelDownload(id)),
            ModelsCommand::MoveJob(id, before) => self.request(LibraryRequest::MoveDownload(id, before)),
            ModelsCommand::PauseAll => self.each_job(|it| matches!(it, Status::Waiting | Status::Running), LibraryRequest::PauseDownload),
            ModelsCommand::ResumeAll => self.each_job(|it| matches!(it, Status::Paused(_)), LibraryRequest::ResumeDownload),
            ModelsCommand::StartDownloads => self.request(LibraryRequest::StartDownloads),
            ModelsCommand::ReadTerms(url) => ctx.open_url(egui::OpenUrl::new_tab(url)),
            ModelsCommand::Accept => self.accept_terms(ctx),
            ModelsCommand::Decline => view.question = None,
            ModelsCommand::Delete(id) => self.request(LibraryRequest::PreviewRemoval(id)),
            ModelsCommand::DeleteNow => {
                if let Some(removal) = view.removal.take() {
                    self.request(LibraryRequest::Remove(removal.id));
                }
            }
            ModelsCommand::KeepIt => view.removal = None,
            ModelsCommand::Check(id) => {
                view.checks.insert(id.clone(), FileCheck::Running { bytes: 0, total: None });
                self.request(LibraryRequest::CheckFiles(id));
            }
            ModelsCommand::StopCheck(id) => self.request(LibraryRequest::StopCheck(id)),
            ModelsCommand::ShowFolder(folder) => self.workers.file(FileTask::OpenFolder(folder, None)),
            ModelsCommand::CopyWords(words) => {
                ctx.copy_text(words);
                self.notice(ctx, "Copied");
            }
            ModelsCommand::TypeAdd(text) => view.typed = text,
            ModelsCommand::Add => {
                let typed = std::mem::take(&mut view.typed);
                self.request(LibraryRequest::Add(vec![crate::gui::dispatch::tidy(PathBuf::from(typed).as_path())]));
            }
            ModelsCommand::AddThese(things) => self.request(LibraryRequest::Add(things)),
            ModelsCommand::ChooseFolder => self.dialog(Purpose::ModelsFolder),
            ModelsCommand::ForgetFolder(folder) => self.request(LibraryRequest::ForgetFolder(folder)),
            ModelsCommand::ChooseRoot => self.dialog(Purpose::ModelsRoot),
            ModelsCommand::UsualRoot => self.request(LibraryRequest::SetModelsRoot(None)),
            ModelsCommand::AtOnce(files) => self.request(LibraryRequest::SetParallelFiles(files)),
            ModelsCommand::LookAgain => self.request(LibraryRequest::Rescan),
            ModelsCommand::TypeToken(text) => view.typed_token = text,
            ModelsCommand::SaveToken => {
                let token = Token::new(&std::mem::take(&mut view.typed_token));
                match token {
                    Some(token) => self.request(LibraryRequest::SetToken(Some(token))),
                    None => self.notice(ctx, "This cannot be a token: it has spaces or other signs in it."),
                }
            }
            ModelsCommand::ForgetToken => self.request(LibraryRequest::SetToken(None)),
            ModelsCommand::FocusToken => {
                view.question = None;
                view.focus_token = true;
            }
            ModelsCommand::SearchHub => {
                let text = view.search.trim().to_owned();
                view.hub = crate::gui::models::Hub { text: Some(text.clone()), ..crate::gui::models::Hub::default() };
                view.open = false;
                self.request(LibraryRequest::SearchHub(text));
            }
            ModelsCommand::OpenRepository(repo) => {
                (view.hub.repo, view.hub.files) = (Some(repo.clone()), None);
                self.request(LibraryRequest::ListRepository(repo));
            }
            ModelsCommand::CloseRepository => {
                (view.hub.repo, view.hub.files) = (None, None);
                // A link led here, and no search.
                if view.hub.text.as_deref() == Some("") {
                    view.hub.text = None;
                }
            }
            ModelsCommand::GetHubFile(at) => {
                let file = view.hub.files.as_ref().and_then(|it| it.as_ref().ok()?.get(at)).cloned();
                if let (Some(repo), Some(file)) = (view.hub.repo.clone(), file) {
                    self.request(LibraryRequest::DownloadHubFile(repo, file));
                }
            }
            ModelsCommand::LeaveHub => view.hub = crate::gui::models::Hub::default(),
        }
    }

    fn each_job(&self, wanted: impl Fn(&Status) -> bool, request: impl Fn(String) -> LibraryRequest) {
        for entry in self.state.models.queue.iter().filter(|it| wanted(&it.status)) {
            self.request(request(entry.id.clone()));
        }
    }

    /// Asks for terms first where they are the model's own.
    fn asks_terms(&mut self, card: &ModelCard, then: Then) -> bool {
        let Some(terms) = card.licence.clone().filter(|_| self.state.models.asks(card)) else { return false };
        self.state.models.question = Some(Question { id: card.id.clone(), name: card.name.clone(), terms, then });
        true
    }

    fn get_model(&mut self, id: &str) {
        let Some(card) = self.state.models.card(id).cloned() else { return };
        let name = self.state.models.name_to_get(&card);
        if !self.asks_terms(&card, Then::Get(name.clone())) {
            self.request(LibraryRequest::Download(name));
        }
    }

    /// What is missing comes under the terms of the model that has it.
    fn get_missing(&mut self, id: String) {
        let view = &self.state.models;
        let of = view.card(&id).into_iter().flat_map(|it| &it.missing).filter_map(|it| view.card(it.offered_with()?));
        let asking = of.into_iter().find(|it| view.asks(it)).cloned();
        if !asking.is_some_and(|card| self.asks_terms(&card, Then::GetMissing(id.clone()))) {
            self.request(LibraryRequest::DownloadMissing(id));
        }
    }

    fn use_model(&mut self, ctx: &egui::Context, id: &str) {
        let Some(card) = self.state.models.card(id).cloned() else { return };
        if self.asks_terms(&card, Then::Use) {
            return;
        }
        match (card.kind, card.availability) {
            (_, Availability::BuiltIn) => {
                if !self.state.uses_builtin() {
                    self.use_builtin();
                }
                self.go(Screen::Create);
            }
            (ModelKind::Lora, _) => {
                let paths = card.files.iter().filter_map(|it| it.path.clone());
                let loras = &mut self.state.recipe.loras;
                for path in paths {
                    if !loras.iter().any(|it| it.path == path) {
                        loras.push(Lora { path, strength: 1.0 });
                    }
                }
                self.go(Screen::Create);
                self.notice(ctx, format!("{} is added to the model in use.", card.name));
            }
            _ => self.request(LibraryRequest::ResolveModel(card.id)),
        }
    }

    fn accept_terms(&mut self, ctx: &egui::Context) {
        let Some(question) = self.state.models.question.take() else { return };
        self.request(LibraryRequest::AcceptLicence(question.id.clone()));
        // What follows must not ask again before the keeper has answered.
        self.state.models.accepted.insert(question.id.clone());
        match question.then {
            Then::Get(name) => self.request(LibraryRequest::Download(name)),
            Then::GetMissing(id) => self.get_missing(id),
            Then::Use => self.use_model(ctx, &question.id),
        }
    }

    /// The folder that was chosen in a dialog.
    pub(crate) fn folder_chosen(&self, purpose: Purpose, folder: PathBuf) {
        if purpose == Purpose::ModelsRoot {
            self.request(LibraryRequest::SetModelsRoot(Some(folder)));
        } else {
            self.request(LibraryRequest::Add(vec![folder]));
        }
    }
}
