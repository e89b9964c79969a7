//! What the keeper does with downloads.

use std::path::Path;

use crate::studio::library_service::work::Worker;
use crate::studio::library_service::{Told, shortcut};
use atelier_library::downloads::{Downloads, Event, Job, Refused};
use atelier_library::{Link, Problem, download_job, parts_job};

impl Worker {
    /// Gives the downloads a command; says so where they cannot take it.
    pub(crate) fn tell_downloads(&self, command: impl FnOnce(&Downloads) -> Result<(), Refused>) {
        match self.downloads.as_ref().map(command) {
            Some(Ok(())) => {}
            Some(Err(error)) => self.notice(error.to_string()),
            None => self.notice("Downloads cannot be used now; see why under Downloads."),
        }
    }

    fn bring(&self, job: Result<Job, Problem>) {
        match job {
            Ok(job) => self.tell_downloads(|it| it.add(job)),
            Err(problem) => self.notice(problem.to_string()),
        }
    }

    pub(crate) fn get(&self, name: &str) {
        let Some(mut entry) = self.models.catalogue.find(name) else {
            return self.notice(self.models.unknown(name).sentence);
        };
        if let Some(licence) = entry.licence.as_mut().filter(|it| it.asks() && self.places.has_accepted(name)) {
            licence.accept();
        }
        self.bring(download_job(&entry, &self.models_root()));
    }

    pub(crate) fn get_missing(&self, id: &str) {
        let Some(loose) = self.models.loose.iter().find(|it| it.id == id) else {
            return self.notice("This model is gone.");
        };
        let name = loose.main.path.file_stem().unwrap_or_default().to_string_lossy();
        self.bring(parts_job(&loose.id, &name, &loose.assembly.missing, &self.models_root()));
    }

    pub(crate) fn get_hub_file(&self, repo: &str, file: crate::studio::library_service::HubFile) {
        let link = Link::File { repo: repo.to_owned(), path: file.path, revision: "main".into() };
        let Some(mut job) = link.job(None) else { return self.notice("This file has a name that cannot be kept on a disk.") };
        for wanted in &mut job.files {
            (wanted.size, wanted.sha256) = (Some(file.size), file.sha256);
        }
        self.tell_downloads(|it| it.add(job));
    }

    /// A link is downloaded, or looked into; a folder is used where it is.
    pub(crate) fn add(&mut self, thing: &Path) {
        let Some(text) = shortcut::written(thing).or_else(|| shortcut::address(thing)) else {
            if thing.exists() {
                self.add_folder(thing);
            } else if let Some(repo) = repository(thing) {
                self.look_into(repo);
            } else {
                self.notice(format!("There is no file, folder or link {}.", thing.display()));
            }
            return;
        };
        match Link::read(&text) {
            Some(Link::Repository(repo)) => self.look_into(repo),
            Some(ref link @ Link::Direct(ref url)) if !link.names_a_file() => self.tell_downloads(|it| it.look(url)),
            Some(link) => self.bring_link(&link, None),
            None => self.notice(format!("{text} leads to no file. Paste the address of a file, or of a repository on Hugging Face.")),
        }
    }

    /// `name` is what the server calls the file, where it was asked.
    fn bring_link(&self, link: &Link, name: Option<&str>) {
        let Some(job) = link.job(name) else { return self.notice("This link leads to no file that can be kept on a disk.") };
        let name = job.name.clone();
        self.tell_downloads(|it| it.add(job));
        self.notice(format!("{name} is in the queue."));
    }

    fn look_into(&self, repo: String) {
        self.tell_downloads(|it| it.list_repository(&repo));
        self.tell(Told::Repository(repo));
    }

    /// Reads what the downloads have to say.
    pub(crate) fn downloads_say(&mut self) {
        let mut listed = false;
        let mut done = false;
        while let Some(event) = self.downloads.as_ref().and_then(Downloads::try_next) {
            match event {
                Event::Listed | Event::Progress { .. } | Event::Paused { .. } | Event::Failed { .. } | Event::Cancelled { .. } => {
                    listed = true;
                }
                Event::Done { id } => {
                    (listed, done) = (true, true);
                    let name = self.names.remove(&id).unwrap_or_else(|| id.clone());
                    self.tell(Told::Done(id, name));
                }
                Event::Found { text, answer } => {
                    self.tell(Told::Found(text, answer.map_err(|it| it.to_string())));
                }
                Event::Looked { url, answer: Ok(name) } => self.bring_link(&Link::Direct(url), Some(&name)),
                Event::Looked { answer: Err(failure), .. } => self.notice(failure.to_string()),
                Event::RepositoryFiles { repo, answer } => {
                    let answer = answer.map_err(|it| it.to_string());
                    self.tell(Told::Files(repo, answer.map(|files| files.into_iter().filter(|it| is_model(&it.path)).collect())));
                }
            }
        }
        if listed && let Some(downloads) = &self.downloads {
            let queue = downloads.snapshot();
            self.names.extend(queue.iter().map(|it| (it.id.clone(), it.name.clone())));
            self.tell(Told::Queue(queue));
        }
        if done {
            self.look_again();
        }
    }
}

/// A repository by its bare name, `owner/name`.
fn repository(text: &Path) -> Option<String> {
    let text = text.to_str()?;
    let part = |it: &str| !it.is_empty() && it.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let (owner, name) = text.split_once('/')?;
    (part(owner) && part(name) && !owner.starts_with('.')).then(|| text.to_owned())
}

/// Whether a file of this name can be a model that may be opened.
fn is_model(name: &str) -> bool {
    let ending = Path::new(name).extension().unwrap_or_default();
    ["safetensors", "sft", "gguf", "pth"].iter().any(|it| ending.eq_ignore_ascii_case(it))
}
