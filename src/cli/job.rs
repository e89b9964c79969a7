//! Following one job from its submission to its end: pictures are written as they come, and everything is told as it happens.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use super::Exit;
use super::interrupt::Interrupt;
use super::json::Line;
use super::output::write_preview;
use super::progress::{Progress, summary};
use super::resolve::Job;
use atelier_core::sentences::sentence;
use atelier_engine::{End, Event, Failure, Handle, JobId, LogLevel};

/// How soon a press of Ctrl-C is answered with a word; the job itself is told at once.
const NOTICE: Duration = Duration::from_millis(100);

/// Where things are told.
pub(super) struct Told<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) progress: Progress,
    pub(super) json: bool,
    pub(super) verbose: bool,
    /// Nobody reads standard output any more. The pictures are made all the same.
    pub(super) out_closed: bool,
}

impl Told<'_> {
    fn line(&mut self, line: &Line) {
        if self.json {
            match serde_json::to_string(line) {
                Ok(text) => self.print(&text),
                Err(error) => self.progress.say(&format!("warning: an event could not be told as JSON: {error}")),
            }
        }
    }

    fn print(&mut self, text: &str) {
        if self.out_closed {
            return;
        }
        let (out, mut result) = (&mut *self.out, Ok(()));
        self.progress.aside(|_| {
            result = writeln!(out, "{text}").and_then(|()| out.flush());
            Ok(())
        });
        if let Err(error) = result {
            self.out_closed = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.progress.say(&format!("warning: standard output cannot be written to: {error}"));
            }
        }
    }
}

/// Runs a job and returns how it went.
pub(super) fn follow(handle: &Arc<Handle>, job: Job, interrupt: &Interrupt, told: &mut Told<'_>) -> Exit {
    let Job { task, output, previews, model, left_out } = job;
    for note in &left_out {
        told.progress.say(note);
    }
    let id = match handle.submit(task) {
        Ok(id) => id,
        Err(busy) => {
            told.progress.finish();
            told.progress.say(&format!("error: {busy}"));
            return Exit::Failed;
        }
    };
    interrupt.submitted();
    let (mut noticed, mut unwritten) = (false, None);
    loop {
        if interrupt.pressed() && !noticed {
            noticed = true;
            told.progress.say("Stopping. Press Ctrl-C again to leave at once.");
        }
        let Some(event) = handle.next_within(NOTICE) else { continue };
        match event {
            Event::Begin { job, begin } => {
                told.line(&Line::begin(job, model.as_deref(), &begin));
                told.progress.begin(&begin);
            }
            Event::Phase { job, phase } => {
                told.line(&Line::phase(job, phase));
                told.progress.phase(phase);
            }
            Event::Step { job, step } => {
                told.line(&Line::step(job, step));
                told.progress.step(step);
            }
            Event::Preview { job, preview } => {
                if let Some(folder) = &previews {
                    match write_preview(folder, &preview) {
                        Ok(path) => told.line(&Line::preview(job, &preview, &path)),
                        // The picture matters more than its preview.
                        Err(error) => told.progress.say(&format!("warning: {error}")),
                    }
                }
            }
            Event::Picture { job, picture } => match output.write(&picture) {
                Ok(path) if told.json => told.line(&Line::picture(job, &picture, &path)),
                Ok(path) => told.print(&path.display().to_string()),
                Err(error) => {
                    // What cannot be kept is not worth making.
                    handle.cancel(id);
                    unwritten.get_or_insert(error);
                }
            },
            Event::Log { level, text, .. } => {
                if told.verbose {
                    told.progress.say(&format!("{}{text}", mark(level)));
                }
                if told.verbose || level != LogLevel::Debug {
                    told.line(&Line::log(level, text));
                }
            }
            Event::Measured { job, peaks } => told.line(&Line::measured(job, &peaks)),
            Event::End { job, end } if job == id => {
                let end =
                    unwritten.map_or(end, |error| End::Failed(Failure { sentence: sentence(&error.to_string()), ..Failure::default() }));
                return tell_end(id, &end, told);
            }
            // The job tells what it needed.
            Event::Server { added: Err(problem), .. } => told.progress.say(&format!("warning: {problem}")),
            Event::Server { added: Ok(_), .. }
            | Event::Waiting { .. }
            | Event::Residency(_)
            | Event::Devices(_)
            | Event::Estimated { .. }
            | Event::End { .. } => {}
        }
    }
}

fn tell_end(job: JobId, end: &End, told: &mut Told<'_>) -> Exit {
    told.progress.finish();
    told.line(&Line::end(job, end));
    match end {
        End::Done { timings, notes, .. } => {
            for note in notes {
                told.progress.say(note);
            }
            if !told.json {
                told.progress.say(&summary(timings));
            }
            Exit::Done
        }
        End::Cancelled => {
            told.progress.say("Cancelled.");
            Exit::Cancelled
        }
        End::Failed(failure) => {
            told.progress.say(&format!("error: {}", failure.sentence));
            if !failure.hint.is_empty() {
                told.progress.say(&failure.hint);
            }
            if !failure.log.is_empty() && !told.verbose {
                told.progress.say("With --verbose the engine's log is shown.");
            }
            Exit::Failed
        }
    }
}

const fn mark(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "[debug] ",
        LogLevel::Info => "[info] ",
        LogLevel::Warn => "[warn] ",
        LogLevel::Error => "[error] ",
    }
}
