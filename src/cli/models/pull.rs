//! `atelier models pull`: download jobs, from their submission to their end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::report::licence_text;
use super::{CommandError, CommandRunner, Library, failed};
use crate::cli::exit::Exit;
use atelier_downloads::{DownloadJob, Downloads, Event, JobSnapshot, Options, Progress, Status};
use atelier_library::{Catalogue, LibraryConfig, Link, Manifest, Problem, check_arrived, check_probed_name, download_job};

/// Longest time until a press of Ctrl-C is acknowledged.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

fn link_job(link: &Link, name: Option<&str>) -> Result<DownloadJob, CommandError> {
    link.job(name).ok_or_else(|| {
        let sentence = match link {
            Link::Repository(_) => "This link leads to a repository, which has many files.",
            Link::File { .. } | Link::Direct(_) => "The file name of this link is not allowed on this disk.",
        };
        CommandError::UnknownModel(Problem::new(sentence, "Use the URL of one file of the repository."))
    })
}

impl CommandRunner<'_> {
    pub(super) fn pull(&mut self, library: &Library, names: &[String], accept: bool) -> Result<Exit, CommandError> {
        let models = library.downloaded();
        let (mut jobs, mut nameless) = (Vec::new(), Vec::new());
        for name in names {
            match Link::read(name) {
                Some(link @ Link::Direct(_)) if !link.names_a_file() => {
                    nameless.push(link);
                    continue;
                }
                Some(link) => {
                    jobs.push(link_job(&link, None)?);
                    continue;
                }
                None => {}
            }
            let Some(mut entry) = library.catalogue().find(name) else { return Err(CommandError::UnknownModel(models.unknown(name))) };
            self.require_terms(library, &mut entry, name, accept)?;
            let whole = models.installed_as(name).is_some_and(|it| it.files.is_ok());
            if whole {
                self.report.printer.json(
                    &json!({"event": "pull", "id": entry.id, "stage": "present", "bytes": entry.bytes(), "total_bytes": entry.bytes()}),
                )?;
                self.report.printer.text(&format!("{} is already on this disk.", entry.id))?;
            } else {
                jobs.push(download_job(&entry, library.models_root()).map_err(CommandError::UnknownModel)?);
            }
        }
        if jobs.is_empty() && nameless.is_empty() {
            return Ok(Exit::Done);
        }
        let usual = Options::new(self.paths.downloads(), library.models_root().to_owned());
        let options = Options { at_once: library.config.at_once(), inspect: Arc::new(check_arrived), ..usual };
        let downloads = Downloads::start(options, || ()).map_err(failed)?;
        for link in nameless {
            let Link::Direct(url) = &link else { continue };
            let name = self.query_file_name(&downloads, url)?;
            jobs.push(link_job(&link, Some(&name))?);
        }
        let mut open: Vec<String> = Vec::new();
        for job in jobs {
            open.push(job.id.clone());
            downloads.add(job).map_err(failed)?;
        }
        self.run_downloads(library.catalogue(), &downloads, open)
    }

    /// Name of a link's file, from its server.
    fn query_file_name(&self, downloads: &Downloads, url: &str) -> Result<String, CommandError> {
        downloads.probe(url).map_err(failed)?;
        loop {
            self.check_interrupt()?;
            match downloads.next_within(POLL_INTERVAL) {
                Some(Event::Probed { url: about, answer }) if about == url => {
                    return check_probed_name(answer.map_err(failed)?).map_err(|advice| failed(anyhow::Error::msg(advice)));
                }
                // Of jobs that an earlier command left; they are not followed.
                Some(_) | None => {}
            }
        }
    }

    /// Terms of a model's own are shown once, and accepted by a flag.
    fn require_terms(&mut self, library: &Library, entry: &mut Manifest, name: &str, accept: bool) -> Result<(), CommandError> {
        let Some(licence) = entry.licence.as_mut().filter(|it| it.asks()) else { return Ok(()) };
        if !accept && !library.config.has_accepted(name) {
            return Err(CommandError::UnknownModel(Problem::new(
                format!("{} has licence terms that you must accept: {}.", entry.name, licence_text(licence)),
                format!("To accept the terms: atelier models pull {name} --accept-licence."),
            )));
        }
        licence.accept();
        let accepted = |places: &mut LibraryConfig| {
            places.accept(name);
            Ok(())
        };
        LibraryConfig::change(&self.paths.library_file(), accepted).map_err(failed)?;
        Ok(())
    }

    fn run_downloads(&mut self, catalogue: &Catalogue, downloads: &Downloads, mut open: Vec<String>) -> Result<Exit, CommandError> {
        let mut exit = Exit::Done;
        while !open.is_empty() {
            if self.interrupt.pressed() {
                self.report.printer.text("Stopped. Downloaded data is kept; the same command resumes the download.")?;
                return Err(CommandError::Cancelled);
            }
            let Some(event) = downloads.next_within(POLL_INTERVAL) else { continue };
            match event {
                Event::QueueChanged => {
                    let running = |it: &JobSnapshot| it.status == Status::Running && open.contains(&it.id);
                    for JobSnapshot { id, progress, .. } in downloads.snapshot().into_iter().filter(running) {
                        self.report.reporter.bytes(&id, progress.bytes, progress.total);
                        self.report.printer.json(&line(&id, "downloading", &progress))?;
                    }
                }
                Event::Paused { id, why } if open.contains(&id) => {
                    // Nobody is there to resume it: the person comes back with the same command.
                    self.report.printer.json(&json!({"event": "pull", "id": id, "stage": "paused", "problem": why.sentence()}))?;
                    self.report_error(&id, &why.sentence());
                    exit = Exit::Failed;
                    open.retain(|it| *it != id);
                }
                Event::Failed { id, failure } if open.contains(&id) => {
                    let problem = failure.to_string();
                    self.report.printer.json(&json!({"event": "pull", "id": id, "stage": "failed", "problem": problem}))?;
                    self.report_error(&id, &problem);
                    exit = Exit::Failed;
                    open.retain(|it| *it != id);
                }
                Event::Done { id } if open.contains(&id) => {
                    self.report.reporter.finish();
                    self.report.printer.json(&json!({"event": "pull", "id": id, "stage": "done"}))?;
                    let next = match catalogue.find(&id) {
                        Some(_) => format!("Use it with: atelier generate --model {id} --prompt \"...\""),
                        None => format!("Show it with: atelier models info {id}"),
                    };
                    self.report.printer.text(&format!("{id} was downloaded. {next}"))?;
                    open.retain(|it| *it != id);
                }
                Event::Notice(sentence) => self.report.reporter.message(&format!("warning: {sentence}")),
                Event::Cancelled { id } => open.retain(|it| *it != id),
                _ => {}
            }
        }
        Ok(exit)
    }

    fn report_error(&mut self, id: &str, problem: &str) {
        self.report.reporter.finish();
        self.report.reporter.message(&format!("error: {id}: {problem}"));
    }
}

fn line(id: &str, stage: &str, progress: &Progress) -> serde_json::Value {
    json!({
        "event": "pull", "id": id, "stage": stage, "bytes": progress.bytes, "total_bytes": progress.total, "bytes_per_sec": progress.rate,
        "secs_left": progress.seconds_left,
    })
}
