//! Requests that become downloads, and events of the download queue.

use std::path::Path;
use std::sync::Arc;

use atelier_downloads::{DownloadJob, Downloads, Event, HubFile, Options, QueueError, StartError};
use atelier_language::tr;
use atelier_library::{Link, Problem, check_arrived, check_probed_name, download_job, parts_job};

use super::message::{DownloadsState, LibraryEvent};
use super::snapshot::TokenState;
use super::worker::Worker;

impl Worker {
    /// Starts the queue again, after a change of its folder or once another process gave it up.
    pub(super) fn start_downloads(&mut self) {
        let journal = self.options.paths.downloads();
        let mut options = Options::new(journal.clone(), self.models_root());
        options.at_once = self.config.at_once();
        options.inspect = Arc::new(check_arrived);
        (self.options.downloads)(&mut options);
        let saved = (self.options.tokens)(&journal).load();
        self.token = match (&options.token, saved) {
            (Some(_), Some(_)) => TokenState::Saved,
            (Some(_), None) => TokenState::External,
            (None, _) => TokenState::None,
        };
        // The lock is let go before it is taken again.
        self.downloads = None;
        let notifier = self.downloads_notifier.clone();
        let state = match Downloads::start(options, move || notifier.notify()) {
            Ok(downloads) => {
                self.downloads = Some(downloads);
                DownloadsState::Ready
            }
            Err(error @ StartError::InUse) => DownloadsState::Refused(tr!("studio-everything-else-works", error)),
            Err(error) => DownloadsState::Refused(error.to_string()),
        };
        self.send(LibraryEvent::DownloadsState(state));
        self.publish();
    }

    /// Runs a command of the queue; sends a notice where the queue refuses it or cannot be used.
    pub(super) fn with_downloads(&self, command: impl FnOnce(&Downloads) -> Result<(), QueueError>) {
        match self.downloads.as_ref().map(command) {
            Some(Ok(())) => {}
            Some(Err(error)) => self.notice(error.to_string()),
            None => self.notice(tr!("studio-downloads-are-unavailable-see")),
        }
    }

    fn enqueue(&self, job: Result<DownloadJob, Problem>) {
        match job {
            Ok(job) => self.with_downloads(|it| it.add(job)),
            Err(problem) => self.notice(problem.to_string()),
        }
    }

    pub(super) fn download(&self, name: &str) {
        let Some(mut entry) = self.models.catalogue.find(name) else {
            return self.notice(self.models.unknown(name).advice.sentence);
        };
        if let Some(licence) = entry.licence.as_mut().filter(|it| it.asks() && self.config.has_accepted(name)) {
            licence.accept();
        }
        self.enqueue(download_job(&entry, &self.models_root()));
    }

    pub(super) fn download_missing(&self, id: &str) {
        let Some(loose) = self.models.loose.iter().find(|it| it.id == id) else {
            return self.notice(tr!("studio-this-model-no-longer"));
        };
        let name = loose.main.path.file_stem().unwrap_or_default().to_string_lossy();
        self.enqueue(parts_job(&loose.id, &name, &loose.assembly.missing, &self.models_root()));
    }

    pub(super) fn download_hub_file(&self, repo: &str, file: HubFile) {
        let link = Link::File { repo: repo.to_owned(), path: file.path, revision: "main".into() };
        let Some(mut job) = link.job(None) else { return self.notice(tr!("studio-this-file-name-is")) };
        for request in &mut job.files {
            (request.size, request.sha256) = (Some(file.size), file.sha256);
        }
        self.with_downloads(|it| it.add(job));
    }

    /// `name`: file name given by the server, where it was asked.
    pub(super) fn download_link(&self, link: &Link, name: Option<&str>) {
        let Some(job) = link.job(name) else { return self.notice(tr!("studio-the-file-name-of")) };
        let name = job.name.clone();
        self.with_downloads(|it| it.add(job));
        self.notice(tr!("studio-was-added-to-the", name));
    }

    /// Forwards the events of the queue.
    pub(super) fn forward_download_events(&mut self) {
        let mut has_changed = false;
        let mut has_completed = false;
        while let Some(event) = self.downloads.as_ref().and_then(Downloads::try_next) {
            match event {
                Event::QueueChanged | Event::Paused { .. } | Event::Cancelled { .. } => has_changed = true,
                Event::Failed { failure, .. } => {
                    has_changed = true;
                    // In place of the notice that it was added, which would outlive its truth.
                    self.notice(failure.advice.sentence);
                }
                Event::Done { id } => {
                    (has_changed, has_completed) = (true, true);
                    let name = self.download_names.remove(&id).unwrap_or_else(|| id.clone());
                    self.send(LibraryEvent::Downloaded(id, name));
                }
                Event::Notice(sentence) => self.notice(sentence),
                Event::Found { text, answer } => {
                    self.send(LibraryEvent::SearchResults(text, answer.map_err(|it| it.to_string())));
                }
                Event::Probed { url, answer } => match answer.map_err(|it| it.advice).and_then(check_probed_name) {
                    Ok(name) => self.download_link(&Link::Direct(url), Some(&name)),
                    Err(advice) => self.notice(advice.to_string()),
                },
                Event::RepositoryFiles { repo, answer } => {
                    let files = answer.map(|files| files.into_iter().filter(|it| is_model_file(&it.path)).collect());
                    self.send(LibraryEvent::RepositoryFiles(repo, files.map_err(|it| it.to_string())));
                }
            }
        }
        if has_changed && let Some(downloads) = &self.downloads {
            let queue = downloads.snapshot();
            self.download_names.extend(queue.iter().map(|it| (it.id.clone(), it.name.clone())));
            self.send(LibraryEvent::Queue(queue));
        }
        if has_completed {
            self.rescan();
        }
    }
}

/// True for file names with an extension that Atelier opens.
fn is_model_file(name: &str) -> bool {
    let extension = Path::new(name).extension().unwrap_or_default();
    ["safetensors", "sft", "gguf", "pth", "onnx"].iter().any(|it| extension.eq_ignore_ascii_case(it))
}
