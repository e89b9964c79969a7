//! One job, from its submission to its end: pictures are written as they come, and everything is
//! reported as it happens.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::exit::Exit;
use super::flags::ReportFlags;
use super::interrupt::Interrupt;
use super::job_progress::{JobProgress, summary};
use super::json::Line;
use super::printer::Printer;
use super::reporter::{ProgressLine, Reporter};
use super::resolve::ResolvedJob;
use atelier_core::picture_note::PictureNote;
use atelier_core::recipe::Rgb8;
use atelier_core::sentences::sentence;
use atelier_engine::{Begin, Copies, End, Event, Failure, Handle, JobId, JobPhase, LogLevel, Peak, Picture, Preview, Step};
use atelier_media::PictureError;
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

    /// The job cannot begin.
    pub(super) fn fail(&mut self, sentence: &str) -> Exit {
        self.reporter.finish();
        self.reporter.message(&format!("error: {sentence}"));
        Exit::Failed
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
        return output.fail(&sentence(&error.to_string()));
    }
    let id = match engine.submit(task) {
        Ok(id) => id,
        Err(busy) => return output.fail(&busy.to_string()),
    };
    interrupt.submitted();
    let mut report = JobReport::new(id, previews, model, destination.parent(), output);
    let mut is_interrupt_reported = false;
    loop {
        if interrupt.pressed() && !is_interrupt_reported {
            is_interrupt_reported = true;
            report.stopping();
        }
        let Some(event) = engine.next_within(POLL_INTERVAL) else { continue };
        match event {
            Event::Begin { begin, .. } => report.begin(begin),
            Event::Phase { phase, .. } => report.phase(phase),
            Event::Step { step, .. } => report.step(step),
            Event::Preview { preview, .. } => report.preview(&preview),
            Event::Picture { job, picture } => {
                let kept = destination.keep(&picture, job, index);
                if !report.picture(&picture, kept) {
                    // Further pictures could not be written either.
                    engine.cancel(id);
                }
            }
            Event::Log { level, text, .. } => report.log(level, text),
            Event::Measured { peaks, copies, .. } => report.measured(&peaks, copies),
            Event::End { job, end } if job == id => return report.end(end),
            // A job that needs the server fails with the reason.
            Event::Server { added: Err(problem), .. } => report.warning(&problem.to_string()),
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

/// What is said and written of a job, whoever makes its pictures.
pub(super) struct JobReport<'r, 'o> {
    job: JobId,
    /// Folder of the previews.
    previews: Option<PathBuf>,
    /// The model's name.
    model: Option<String>,
    /// The file that its pictures are made from.
    made_from: Option<PathBuf>,
    output: &'r mut JobOutput<'o>,
    progress: JobProgress,
    /// What `Begin` said, and every picture says again.
    shown_notes: Vec<String>,
    lacks_lora: bool,
    write_error: Option<PictureError>,
}

impl<'r, 'o> JobReport<'r, 'o> {
    pub(super) fn new(
        job: JobId,
        previews: Option<PathBuf>,
        model: Option<String>,
        made_from: Option<PathBuf>,
        output: &'r mut JobOutput<'o>,
    ) -> Self {
        let (progress, shown_notes) = (JobProgress::default(), Vec::new());
        Self { job, previews, model, made_from, output, progress, shown_notes, lacks_lora: false, write_error: None }
    }

    /// Ctrl-C was pressed.
    pub(super) fn stopping(&mut self) {
        self.output.reporter.message("Stopping. Press Ctrl-C again to quit immediately.");
    }

    pub(super) fn warning(&mut self, sentence: &str) {
        self.output.reporter.message(&format!("warning: {sentence}"));
    }

    pub(super) fn waiting(&mut self, line: &ProgressLine) {
        self.output.reporter.update(line);
    }

    /// True where previews are written.
    pub(super) const fn shows_previews(&self) -> bool {
        self.previews.is_some()
    }

    pub(super) fn begin(&mut self, begin: Begin) {
        self.output.json(&Line::begin(self.job, self.model.as_deref(), &begin));
        self.progress.begin(&begin);
        for note in &begin.notes {
            self.output.reporter.message(note);
        }
        self.shown_notes = begin.notes;
    }

    fn phase(&mut self, phase: JobPhase) {
        self.output.json(&Line::phase(self.job, phase));
        let (line, is_new) = self.progress.phase(phase);
        if is_new {
            self.output.reporter.begin_stage(&line);
        } else {
            self.output.reporter.update(&line);
        }
    }

    pub(super) fn step(&mut self, step: Step) {
        self.output.json(&Line::step(self.job, step));
        self.output.reporter.update(&self.progress.step(step));
    }

    pub(super) fn preview(&mut self, preview: &Preview) {
        let Some(folder) = &self.previews else { return };
        match write_preview(folder, preview) {
            Ok(path) => self.output.json(&Line::preview(self.job, preview, &path)),
            // The picture matters more than its preview.
            Err(error) => self.warning(&error.to_string()),
        }
    }

    /// A picture was kept, or could not be; false where the job is of no use any more.
    pub(super) fn picture(&mut self, picture: &Picture, kept: Result<KeptPicture, PictureError>) -> bool {
        let KeptPicture { path, warning } = match kept {
            Ok(kept) => kept,
            Err(error) => {
                self.write_error.get_or_insert(error);
                return false;
            }
        };
        self.lacks_lora |= picture.notes.iter().any(PictureNote::is_of_lora);
        for note in picture.notes.iter().filter(|note| !self.shown_notes.contains(&note.sentence)) {
            self.output.reporter.message(&note.sentence);
        }
        self.output.json(&Line::picture(self.job, picture, &path, self.made_from.as_deref()));
        self.output.path(&path);
        self.output.last_kept = Some(Arc::clone(&picture.image));
        if let Some(sentence) = warning {
            self.warning(&sentence);
        }
        true
    }

    fn log(&mut self, level: LogLevel, text: String) {
        if self.output.verbose {
            self.output.reporter.message(&format!("{}{text}", log_prefix(level)));
        }
        if self.output.verbose || level != LogLevel::Debug {
            self.output.json(&Line::log(level, text));
        }
    }

    fn measured(&mut self, peaks: &[Peak], copies: Vec<Copies>) {
        if self.output.profiles_streaming {
            for its in &copies {
                self.output.reporter.message(&its.words());
            }
        }
        self.output.json(&Line::measured(self.job, peaks, copies));
    }

    pub(super) fn end(self, end: End) -> Exit {
        let Self { job, output, lacks_lora, write_error, .. } = self;
        let end = write_error.map_or(end, |error| End::Failed(Failure::new(sentence(&error.to_string()), "")));
        let exit = report_end(job, &end, output);
        if exit == Exit::Done && lacks_lora { Exit::Incomplete } else { exit }
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
