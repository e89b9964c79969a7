//! The library thread: handles one message after the other and sends events. Long work (checks, counting, the keyring) has threads of its own.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::thread;
use std::time::Instant;

use atelier_library::disk::{ScanResult, Scanner};
use atelier_library::downloads::Downloads;
use atelier_library::{Catalogue, LibraryConfig, Models, Usage, downloaded, usage};

use super::config::read_config;
use super::message::{LibraryEvent, LibraryRequest, Message};
use super::notifier::CoalescedNotifier;
use super::snapshot::{LibrarySnapshot, SnapshotInputs, TokenState};
use super::{EventSender, LibraryOptions};
use atelier_library::ModelCard;

pub(super) struct Worker {
    pub(super) options: LibraryOptions,
    pub(super) events: Arc<EventSender>,
    pub(super) messages: Sender<Message>,
    pub(super) config: LibraryConfig,
    pub(super) models: Arc<Models>,
    /// `None` where they cannot be used.
    pub(super) downloads: Option<Downloads>,
    /// Display names of queued downloads, by id.
    pub(super) download_names: HashMap<String, String>,
    /// Running checks by model, each with its stop flag.
    pub(super) checks: Vec<(String, Arc<AtomicBool>)>,
    builtin: Option<ModelCard>,
    pub(super) scanner: Scanner,
    pub(super) scan: Arc<ScanResult>,
    scan_notifier: CoalescedNotifier<Message>,
    pub(super) downloads_notifier: CoalescedNotifier<Message>,
    usage: Option<Usage>,
    /// Files that Atelier downloaded.
    downloaded: BTreeSet<PathBuf>,
    is_counting: bool,
    pub(super) token: TokenState,
    memory_bytes: Option<u64>,
    pub(super) problems: Vec<String>,
}

impl Worker {
    /// Reads the settings and starts the scanner and the download queue. The catalogue is published at once.
    pub(super) fn open(options: LibraryOptions, builtin: Option<ModelCard>, events: Arc<EventSender>, messages: Sender<Message>) -> Self {
        let (config, problem) = read_config(&options.paths);
        let (catalogue, faults) = Catalogue::open(&options.paths.catalogues(), &[]);
        let problems: Vec<String> = problem.into_iter().chain(faults.iter().map(ToString::to_string)).collect();
        let scan_notifier = CoalescedNotifier::new(&messages, || Message::ScanChanged);
        let notifier = scan_notifier.clone();
        let scanner = Scanner::start(config.scanner(&options.paths, options.watch), move || notifier.notify());
        let models = Models { catalogue, installed: Vec::new(), loose: Vec::new(), problems: Vec::new() };
        let mut worker = Self {
            downloads_notifier: CoalescedNotifier::new(&messages, || Message::DownloadsChanged),
            options,
            builtin,
            events,
            messages,
            config,
            models: Arc::new(models),
            downloads: None,
            download_names: HashMap::new(),
            checks: Vec::new(),
            scanner,
            scan: Arc::default(),
            scan_notifier,
            usage: None,
            downloaded: BTreeSet::new(),
            is_counting: false,
            token: TokenState::None,
            memory_bytes: None,
            problems,
        };
        worker.publish();
        worker.start_downloads();
        worker
    }

    /// Handles messages until one says stop.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
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
            LibraryRequest::SetMemory(bytes) => {
                self.memory_bytes = Some(bytes);
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

    pub(super) fn send(&self, event: LibraryEvent) {
        self.events.send(event);
    }

    pub(super) fn notice(&self, text: impl Into<String>) {
        self.send(LibraryEvent::Notice(text.into()));
    }

    pub(super) fn rescan(&self) {
        self.scanner.rescan();
    }

    pub(super) fn models_root(&self) -> PathBuf {
        self.config.models_root(&self.options.paths)
    }

    /// Rebuilds the models from the newest scan.
    pub(super) fn rebuild(&mut self) {
        let begun = Instant::now();
        self.models = Arc::new(Models::new(&self.models_root(), self.models.catalogue.clone(), &self.scan));
        self.downloaded = downloaded(&self.options.paths.downloads()).into_iter().map(|it| it.path).collect();
        self.publish();
        tracing::debug!(files = self.scan.files.len(), ms = begun.elapsed().as_millis(), "the library was put together");
        self.count_usage();
    }

    /// Counts bytes on disk, on a thread of its own, once the scan is complete.
    fn count_usage(&mut self) {
        if self.is_counting || !self.scan.complete {
            return;
        }
        let (models, scan, messages) = (Arc::clone(&self.models), Arc::clone(&self.scan), self.messages.clone());
        let spawned = thread::Builder::new().name("count".into()).spawn(move || {
            // A thread that has ended needs no answer.
            let _ = messages.send(Message::UsageCounted(usage(&models, &scan)));
        });
        self.is_counting = spawned.is_ok();
    }

    /// Sends a snapshot.
    pub(super) fn publish(&self) {
        let inputs = SnapshotInputs {
            builtin: self.builtin.as_ref(),
            paths: &self.options.paths,
            config: &self.config,
            models: &self.models,
            scan: &self.scan,
            usage: self.usage.as_ref(),
            downloaded: &self.downloaded,
            token: self.token,
            memory_bytes: self.memory_bytes,
            problems: &self.problems,
        };
        self.send(LibraryEvent::Snapshot(Arc::new(LibrarySnapshot::build(&inputs))));
    }
}
