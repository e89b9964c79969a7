//! State of the library thread, and what every operation on it needs: sending events, rescanning,
//! rebuilding the models, publishing.
//!
//! The operations stand above, one file each ([`super::config`], [`super::downloads`],
//! [`super::files`], [`super::add`]); [`super::dispatch`] calls them. Nothing here knows them.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Instant;

use atelier_downloads::Downloads;
use atelier_library::disk::{ScanResult, Scanner};
use atelier_library::{Catalogue, LibraryConfig, Machine, ModelCard, Models, Sha256, Usage, downloaded, usage};

use super::message::{EventSender, LibraryEvent, Message};
use super::notifier::CoalescedNotifier;
use super::options::LibraryOptions;
use super::snapshot::{LibrarySnapshot, SnapshotInputs, TokenState};

/// State of the library thread.
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
    pub(super) scan_notifier: CoalescedNotifier<Message>,
    pub(super) downloads_notifier: CoalescedNotifier<Message>,
    pub(super) usage: Option<Usage>,
    /// Files that Atelier downloaded.
    downloaded: BTreeMap<PathBuf, Option<Sha256>>,
    pub(super) is_counting: bool,
    pub(super) token: TokenState,
    pub(super) machine: Option<Machine>,
    pub(super) problems: Vec<String>,
}

impl Worker {
    /// Reads the settings, starts the scanner and publishes the catalogue. Downloads are not
    /// started yet.
    pub(super) fn open(options: LibraryOptions, builtin: Option<ModelCard>, events: Arc<EventSender>, messages: Sender<Message>) -> Self {
        let (config, problem) = options.read_config();
        let (catalogue, faults) = Catalogue::open(&options.paths.catalogues(), &[]);
        let problems: Vec<String> = problem.into_iter().chain(faults.iter().map(ToString::to_string)).collect();
        let scan_notifier = CoalescedNotifier::new(&messages, || Message::ScanChanged);
        let notifier = scan_notifier.clone();
        let scanner = Scanner::start(config.scanner(&options.paths, options.watch), move || notifier.notify());
        let models = Models { catalogue, installed: Vec::new(), loose: Vec::new(), problems: Vec::new() };
        let worker = Self {
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
            downloaded: BTreeMap::new(),
            is_counting: false,
            token: TokenState::None,
            machine: None,
            problems,
        };
        worker.publish();
        worker
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
        self.downloaded = downloaded(&self.options.paths.downloads()).into_iter().map(|it| (it.path, it.sha256)).collect();
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
            machine: self.machine.as_ref(),
            problems: &self.problems,
        };
        self.send(LibraryEvent::Snapshot(Arc::new(LibrarySnapshot::build(&inputs))));
    }
}
