//! One job, from its submission to its end: pictures are written as they come, and everything is
//! reported as it happens.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::exit::Exit;
use super::flags::ReportFlags;
use super::interrupt::Interrupt;
use super::job_progress::{JobProgress, summary};
use super::json::Line;
use super::printer::Printer;
use super::reporter::Reporter;
use super::resolve::ResolvedJob;
use atelier_core::picture_note::PictureNote;
use atelier_core::recipe::Rgb8;
use atelier_core::sentences::sentence;
use atelier_engine::{End, Event, Failure, Handle, JobId, LogLevel};
use atelier_studio::picture_index::PictureIndex;
use atelier_studio::results::{KeptPicture, write_preview};

/// Longest time until a press of Ctrl-C is acknowledged; the job itself is cancelled at once.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Outputs of a job.
pub(super) struct JobOutput<'a> {
    pub(super) printer: Printer<'a>,
    pub(super) reporter: Box<dyn Reporter + 'a>,
    verbose: bool,
    /// What was copied is printed.
    profiles_streaming: bool,
    /// Nobody reads standard output any more. The pictures are made all the same.
    is_closed: bool,
    /// The picture that was kept last.
    pub(super) last_kept: Option<Arc<Rgb8>>,
}

impl<'a> JobOutput<'a> {
    pub(super) const fn new(printer: Printer<'a>, reporter: Box<dyn Reporter + 'a>, report: &ReportFlags) -> Self {
        let (verbose, profiles_streaming) = (report.verbose, report.stream_profile);
        Self { printer, reporter, verbose, profiles_streaming, is_closed: false, last_kept: None }
    }
}

impl JobOutput<'_> {
    /// Prints a line for scripts.
    pub(super) fn json(&mut self, line: &Line) {
        self.print(|printer| printer.json(line));
    }

    /// Prints the path of a picture.
    pub(super) fn path(&mut self, path: &Path) {
        self.print(|printer| printer.path(path));
    }

    /// Prints while the reporter's bar is out of the way.
    fn print(&mut self, mut write: impl FnMut(&mut Printer<'_>) -> io::Result<()>) {
        if self.is_closed {
            return;
        }
        let mut result = Ok(());
        let printer = &mut self.printer;
        self.reporter.suspend(&mut || result = write(printer));
        if let Err(error) = result {
            self.is_closed = true;
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.reporter.message(&format!("warning: standard output cannot be written to: {error}"));
            }
        }
    }
}

/// Runs a job, adds its pictures to the gallery, and returns its outcome.
pub(super) fn run_job(
    engine: &Arc<Handle>,
    job: ResolvedJob,
    index: &mut PictureIndex,
    interrupt: &Interrupt,
    output: &mut JobOutput<'_>,
) -> Exit {
    let ResolvedJob { task, destination, previews, model, notes } = job;
    for note in &notes {
        output.reporter.message(note);
    }
    if let Err(error) = destination.check_place() {
        output.reporter.finish();
        output.reporter.message(&format!("error: {}", sentence(&error.to_string())));
        return Exit::Failed;
    }
    let id = match engine.submit(task) {
        Ok(id) => id,
        Err(busy) => {
            output.reporter.finish();
            output.reporter.message(&format!("error: {busy}"));
            return Exit::Failed;
        }
    };
    interrupt.submitted();
    let (mut progress, mut is_interrupt_reported, mut write_error) = (JobProgress::default(), false, None);
    let mut lacks_lora = false;
    // What `Begin` said, and every picture says again.
    let mut shown_notes = Vec::new();
    loop {
        if interrupt.pressed() && !is_interrupt_reported {
            is_interrupt_reported = true;
            output.reporter.message("Stopping. Press Ctrl-C again to quit immediately.");
        }
        let Some(event) = engine.next_within(POLL_INTERVAL) else { continue };
        match event {
            Event::Begin { job, begin } => {
                output.json(&Line::begin(job, model.as_deref(), &begin));
                progress.begin(&begin);
                for note in &begin.notes {
                    output.reporter.message(note);
                }
                shown_notes = begin.notes;
            }
            Event::Phase { job, phase } => {
                output.json(&Line::phase(job, phase));
                let (line, is_new) = progress.phase(phase);
                if is_new {
                    output.reporter.begin_stage(&line);
                } else {
                    output.reporter.update(&line);
                }
            }
            Event::Step { job, step } => {
                output.json(&Line::step(job, step));
                output.reporter.update(&progress.step(step));
            }
            Event::Preview { job, preview } => {
                if let Some(folder) = &previews {
                    match write_preview(folder, &preview) {
                        Ok(path) => output.json(&Line::preview(job, &preview, &path)),
                        // The picture matters more than its preview.
                        Err(error) => output.reporter.message(&format!("warning: {error}")),
                    }
                }
            }
            Event::Picture { job, picture } => match destination.keep(&picture, job, index) {
                Ok(KeptPicture { path, warning }) => {
                    lacks_lora |= picture.notes.iter().any(PictureNote::is_of_lora);
                    for note in picture.notes.iter().filter(|note| !shown_notes.contains(&note.sentence)) {
                        output.reporter.message(&note.sentence);
                    }
                    output.json(&Line::picture(job, &picture, &path, destination.parent().as_deref()));
                    output.path(&path);
                    output.last_kept = Some(Arc::clone(&picture.image));
                    if let Some(sentence) = warning {
                        output.reporter.message(&format!("warning: {sentence}"));
                    }
                }
                Err(error) => {
                    // Further pictures could not be written either.
                    engine.cancel(id);
                    write_error.get_or_insert(error);
                }
            },
            Event::Log { level, text, .. } => {
                if output.verbose {
                    output.reporter.message(&format!("{}{text}", log_prefix(level)));
                }
                if output.verbose || level != LogLevel::Debug {
                    output.json(&Line::log(level, text));
                }
            }
            Event::Measured { job, peaks, copies, .. } => {
                if output.profiles_streaming {
                    for its in &copies {
                        output.reporter.message(&its.words());
                    }
                }
                output.json(&Line::measured(job, &peaks, copies));
            }
            Event::End { job, end } if job == id => {
                let end = write_error.map_or(end, |error| End::Failed(Failure::new(sentence(&error.to_string()), "")));
                let exit = report_end(id, &end, output);
                return if exit == Exit::Done && lacks_lora { Exit::Incomplete } else { exit };
            }
            // A job that needs the server fails with the reason.
            Event::Server { added: Err(problem), .. } => output.reporter.message(&format!("warning: {problem}")),
            Event::Server { added: Ok(_), .. }
            | Event::Waiting { .. }
            | Event::Residency(_)
            | Event::Devices(_)
            | Event::Rates { .. }
            | Event::Estimated { .. }
            | Event::End { .. } => {}
        }
    }
}

fn report_end(job: JobId, end: &End, output: &mut JobOutput<'_>) -> Exit {
    output.reporter.finish();
    output.json(&Line::end(job, end));
    match end {
        End::Done { timings, notes, .. } => {
            for note in notes {
                output.reporter.message(note);
            }
            if !output.printer.is_json() {
                output.reporter.message(&summary(timings));
            }
            Exit::Done
        }
        End::Cancelled => {
            output.reporter.message("Cancelled.");
            Exit::Cancelled
        }
        End::Failed(failure) => {
            output.reporter.message(&format!("error: {}", failure.advice.sentence));
            if !failure.advice.hint.is_empty() {
                output.reporter.message(&failure.advice.hint);
            }
            if !failure.log.is_empty() && !output.verbose {
                output.reporter.message("Add --verbose for the engine's log.");
            }
            Exit::Failed
        }
    }
}

const fn log_prefix(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "[debug] ",
        LogLevel::Info => "[info] ",
        LogLevel::Warn => "[warn] ",
        LogLevel::Error => "[error] ",
    }
}
