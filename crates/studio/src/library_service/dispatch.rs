//! Loop of the library thread: one message after the other, each carried out by the operation that
//! it names.

use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use super::message::{LibraryEvent, LibraryRequest, Message};
use super::worker::Worker;

impl Worker {
    /// Starts the downloads and handles messages until one says stop.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        self.start_downloads();
        for message in messages {
            match message {
                Message::Request(request) => self.handle(request),
                Message::ScanChanged => {
                    self.scan_notifier.acknowledge();
                    self.scan = self.scanner.result();
                    self.rebuild();
                }
                Message::DownloadsChanged => {
                    self.downloads_notifier.acknowledge();
                    self.forward_download_events();
                }
                Message::UsageCounted(usage) => {
                    (self.usage, self.is_counting) = (Some(usage), false);
                    self.publish();
                }
                Message::TokenSaved(token, result) => self.token_saved(token, result),
                Message::CheckEnded(id, files) => self.check_ended(id, files),
                Message::Stop => break,
            }
        }
        for (_, stop) in &self.checks {
            stop.store(true, Ordering::SeqCst);
        }
    }

    fn handle(&mut self, request: LibraryRequest) {
        match request {
            LibraryRequest::SetMachine(machine) => {
                self.machine = Some(*machine);
                self.publish();
            }
            LibraryRequest::Download(name) => self.download(&name),
            LibraryRequest::DownloadMissing(id) => self.download_missing(&id),
            LibraryRequest::DownloadHubFile(repo, file) => self.download_hub_file(&repo, file),
            LibraryRequest::Add(paths) => paths.iter().for_each(|it| self.add(it)),
            LibraryRequest::PauseDownload(id) => self.with_downloads(|it| it.pause(&id)),
            LibraryRequest::ResumeDownload(id) => self.with_downloads(|it| it.resume(&id)),
            LibraryRequest::CancelDownload(id) => self.with_downloads(|it| it.cancel(&id)),
            LibraryRequest::MoveDownload(id, before) => self.with_downloads(|it| it.reorder(&id, before.as_deref())),
            LibraryRequest::StartDownloads => self.start_downloads(),
            LibraryRequest::SearchHub(text) => self.with_downloads(|it| it.search(&text)),
            LibraryRequest::ListRepository(repo) => self.with_downloads(|it| it.list_repository(&repo)),
            LibraryRequest::ResolveModel(id) => self.send(LibraryEvent::Runnable(self.models.runnable(&id))),
            LibraryRequest::AssembleModel { files, preferred } => self.assemble_model(&files, &preferred),
            LibraryRequest::AcceptLicence(id) => self.accept_licence(&id),
            LibraryRequest::PreviewRemoval(id) => self.preview_removal(&id),
            LibraryRequest::Remove(id) => self.remove(&id),
            LibraryRequest::CheckFiles(id) => self.check_files(&id),
            LibraryRequest::StopCheck(id) => self.stop_check(&id),
            LibraryRequest::ForgetFolder(folder) => self.forget_folder(&folder),
            LibraryRequest::SetModelsRoot(root) => self.set_models_root(root),
            LibraryRequest::SetParallelFiles(files) => self.set_parallel_files(files),
            LibraryRequest::SetToken(token) => self.save_token(token),
            LibraryRequest::Rescan => {
                self.reload_all();
                self.rescan();
            }
            LibraryRequest::ReloadSettings => {
                self.reload_config();
            }
        }
    }
}
