//! `atelier models pull`: a job for the downloads, followed to its end.

use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::json;

use super::told::licence_text;
use super::{Library, Stop, Work, failed};
use crate::cli::Exit;
use atelier_library::downloads::{Downloads, Event, Job, Options, Progress};
use atelier_library::{Catalogue, Link, Manifest, Places, Problem, download_job};

/// How soon a press of Ctrl-C is answered.
const NOTICE: Duration = Duration::from_millis(100);

fn of_link(link: &Link, name: Option<&str>) -> Result<Job, Stop> {
    link.job(name).ok_or_else(|| {
        let sentence = "This link leads to no file that can be kept on a disk.".into();
        Stop::Unknown(Problem { sentence, hint: "Give the address of a file; a repository has many.".into() })
    })
}

impl Work<'_> {
    pub(super) fn pull(&mut self, library: &Library, names: &[String], accept: bool) -> Result<Exit, Stop> {
        let models = library.downloaded();
        let (mut jobs, mut nameless) = (Vec::new(), Vec::new());
        for name in names {
            match Link::read(name) {
                Some(link @ Link::Direct(_)) if !link.names_a_file() => {
                    nameless.push((name, link));
                    continue;
                }
                Some(link) => {
                    jobs.push(of_link(&link, None)?);
                    continue;
                }
                None => {}
            }
            let Some(mut entry) = library.catalogue().find(name) else { return Err(Stop::Unknown(models.unknown(name))) };
            self.ask_for_terms(library, &mut entry, name, accept)?;
            let whole = models.installed_as(name).is_some_and(|it| it.files.is_ok());
            if whole {
                self.tell
                    .line(&json!({"event": "pull", "id": entry.id, "stage": "there", "bytes": entry.bytes(), "total": entry.bytes()}))?;
                self.tell.say(&format!("{} is on this disk already.", entry.id))?;
            } else {
                jobs.push(download_job(&entry, library.models_root()).map_err(Stop::Unknown)?);
            }
        }
        if jobs.is_empty() && nameless.is_empty() {
            return Ok(Exit::Done);
        }
        let usual = Options::new(self.paths.downloads(), library.models_root().to_owned());
        let options = Options { at_once: library.places.at_once(), ..usual };
        let downloads = Downloads::start(options, || ()).map_err(failed)?;
        for (url, link) in nameless {
            let name = self.ask_name(&downloads, url.trim())?;
            jobs.push(of_link(&link, Some(&name))?);
        }
        let mut open: Vec<String> = Vec::new();
        for job in jobs {
            open.push(job.id.clone());
            downloads.add(job).map_err(failed)?;
        }
        self.follow(library.catalogue(), &downloads, open)
    }

    /// What the server calls the file of a link.
    fn ask_name(&self, downloads: &Downloads, url: &str) -> Result<String, Stop> {
        downloads.look(url).map_err(failed)?;
        loop {
            self.stopped()?;
            match downloads.next_within(NOTICE) {
                Some(Event::Looked { url: about, answer }) if about == url => {
                    return answer.map_err(failed);
                }
                // Of jobs that an earlier command left; they are not followed.
                Some(_) | None => {}
            }
        }
    }

    /// Terms of a model's own are shown once, and accepted by a flag.
    fn ask_for_terms(&mut self, library: &Library, entry: &mut Manifest, name: &str, accept: bool) -> Result<(), Stop> {
        let Some(licence) = entry.licence.as_mut().filter(|it| it.asks()) else { return Ok(()) };
        if !accept && !library.places.has_accepted(name) {
            return Err(Stop::Unknown(Problem {
                sentence: format!("{} comes under terms of its own: {}.", entry.name, licence_text(licence)),
                hint: format!("Read them; if you accept them: atelier models pull {name} --accept-licence."),
            }));
        }
        licence.accept();
        let accepted = |places: &mut Places| {
            places.accept(name);
            Ok(())
        };
        Places::change(&self.paths.library_file(), accepted).map_err(failed)?;
        Ok(())
    }

    fn follow(&mut self, catalogue: &Catalogue, downloads: &Downloads, mut open: Vec<String>) -> Result<Exit, Stop> {
        let (mut exit, mut bar) = (Exit::Done, None::<(String, ProgressBar)>);
        while !open.is_empty() {
            if self.interrupt.pressed() {
                self.tell.say("Stopped. What came is kept; the same command goes on from there.")?;
                return Err(Stop::Cancelled);
            }
            let Some(event) = downloads.next_within(NOTICE) else { continue };
            match event {
                Event::Progress { id, progress } if open.contains(&id) => {
                    if bar.as_ref().is_none_or(|(it, _)| *it != id) {
                        bar = Some((id.clone(), self.bar(progress.total, &id)));
                    }
                    if let Some((_, bar)) = &bar {
                        bar.set_length(progress.total.unwrap_or(progress.bytes));
                        bar.set_position(progress.bytes);
                    }
                    self.tell.line(&line(&id, "loading", &progress))?;
                }
                Event::Paused { id, why } if open.contains(&id) => {
                    // Nobody is there to resume it: the person comes back with the same command.
                    self.tell.line(&json!({"event": "pull", "id": id, "stage": "paused", "problem": why.sentence()}))?;
                    self.warn_of(&id, &why.sentence());
                    (exit, bar) = (Exit::Failed, None);
                    open.retain(|it| *it != id);
                }
                Event::Failed { id, failure } if open.contains(&id) => {
                    let problem = failure.to_string();
                    self.tell.line(&json!({"event": "pull", "id": id, "stage": "failed", "problem": problem}))?;
                    self.warn_of(&id, &problem);
                    (exit, bar) = (Exit::Failed, None);
                    open.retain(|it| *it != id);
                }
                Event::Done { id } if open.contains(&id) => {
                    if let Some((_, bar)) = bar.take() {
                        bar.finish_and_clear();
                    }
                    self.tell.line(&json!({"event": "pull", "id": id, "stage": "done"}))?;
                    let next = match catalogue.find(&id) {
                        Some(_) => format!("Use it with: atelier generate --model {id} --prompt \"...\""),
                        None => "See it with: atelier models list --here".into(),
                    };
                    self.tell.say(&format!("{id} is on this disk now. {next}"))?;
                    open.retain(|it| *it != id);
                }
                Event::Cancelled { id } => open.retain(|it| *it != id),
                _ => {}
            }
        }
        Ok(exit)
    }

    fn warn_of(&mut self, id: &str, problem: &str) {
        // The exit code says it too.
        let _ = writeln!(self.tell.err, "error: {id}: {problem}");
    }
}

fn line(id: &str, stage: &str, progress: &Progress) -> serde_json::Value {
    json!({
        "event": "pull", "id": id, "stage": stage, "bytes": progress.bytes, "total": progress.total, "rate": progress.rate,
        "seconds_left": progress.seconds_left,
    })
}
