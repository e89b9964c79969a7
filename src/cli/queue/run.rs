//! `atelier queue run`: makes the jobs that wait, or tells what the process does that makes them.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::environment::{QueueEnv, warn};
use super::report;
use crate::cli::exit::Exit;
use crate::cli::flags::{LibraryFlags, PathFlags, PullFlags, ServerFlags};
use crate::cli::interrupt::no_ctrl_c;
use crate::cli::job_progress::JobProgress;
use crate::cli::printer::Printer;
use crate::cli::pull_first;
use crate::cli::reporter::{Reporter, quiet_reporter, reporter, write_message};
use atelier_core::picture_note::PictureNote;
use atelier_engine::{Event, Handle};
use atelier_gallery::queue::{JobState, PauseMode, QueuedJobId};
use atelier_studio::queue::{ModelLookup, QueueEvent, QueueOptions, QueueRow, QueueService, QueueSnapshot, list_jobs};

/// Longest time until a press of Ctrl-C is acknowledged.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Longest wait for the engine to stop at the end.
const END_WITHIN: Duration = Duration::from_secs(10);

/// Runs the queue until nothing more can be made. `automatic`: jobs without a placement get the
/// quickest that fits.
#[expect(clippy::too_many_arguments, reason = "the flags of one command")]
pub(super) fn run(
    pull: &PullFlags,
    servers: ServerFlags,
    library: &LibraryFlags,
    automatic: bool,
    json: bool,
    path_flags: PathFlags,
    start_engine: impl FnOnce() -> Arc<Handle>,
    env: QueueEnv<'_>,
) -> Exit {
    let QueueEnv { out, mut err, terminal, paths, interrupt, listen, .. } = env;
    // Models that jobs wait for are downloaded before the engine takes any memory.
    if pull.pull {
        let wanted = list_jobs(&paths.gallery_file()).map(|listing| {
            warn(&listing.found, err.as_mut());
            let waiting = listing.rows.into_iter().filter(|row| row.job.state == JobState::Waiting);
            waiting.filter_map(|row| row.job.wanted_model).collect::<BTreeSet<_>>()
        });
        for model in wanted.unwrap_or_default() {
            let accept = pull.accept_licence;
            let exit = pull_first::download(&model, library, accept, json, out, err.as_mut(), terminal, &paths, &interrupt, listen);
            if exit == Exit::Cancelled {
                return exit;
            }
        }
    }
    let handle = start_engine();
    if !automatic && let Err(busy) = handle.place_automatically(false) {
        write_message(&mut err, &format!("warning: {busy}"));
    }
    for server in servers.rpc_servers {
        if let Err(busy) = handle.add_server(server) {
            write_message(&mut err, &format!("warning: {busy}"));
        }
    }
    if let Err(error) = listen(&interrupt) {
        write_message(&mut err, &no_ctrl_c(&error));
    }
    let models = ModelLookup::new(paths.clone()).with(library.models_root.clone(), library.catalogue.clone());
    let options = QueueOptions { models: Some(models), ..QueueOptions::of_command(&paths) };
    // Before the first job can be made: snapshots are newest-wins, and the first that comes may have
    // its pictures already.
    let reported = list_jobs(&paths.gallery_file()).ok().map(|listing| {
        warn(&listing.found, err.as_mut());
        Reported::of(&listing.rows)
    });
    let service = match QueueService::start(options, Arc::clone(&handle), || {}) {
        Ok(service) => service,
        Err(error) => {
            write_message(&mut err, &format!("error: {error}"));
            return Exit::Failed;
        }
    };
    let reporter = if json { quiet_reporter(err) } else { reporter(err, terminal) };
    let printer = Printer::new(out, json).with_null(path_flags.null);
    let mut follower = Follower { printer, reporter, reported, progress: JobProgress::default(), notes: Vec::new(), exit: Exit::Done };
    let exit = loop {
        if interrupt.pressed() {
            follower.reporter.message("Stopping. Interrupted jobs restart with: atelier queue run");
            break Exit::Cancelled;
        }
        while let Some(event) = handle.try_next() {
            follower.engine_event(&event);
        }
        match service.next_within(POLL_INTERVAL).map(|event| follower.queue_event(event)) {
            Some(Ok(true)) => break follower.exit,
            Some(Ok(false)) | None => {}
            // Nobody reads standard output any more; the jobs are made by who runs the queue next.
            Some(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => break Exit::Done,
            Some(Err(error)) => {
                follower.reporter.message(&format!("error: {error}"));
                break Exit::Failed;
            }
        }
    };
    follower.reporter.finish();
    if !service.finish(END_WITHIN) {
        follower.reporter.message("warning: the queue did not end in time");
    }
    exit
}

/// Tells what happens in the queue.
struct Follower<'a> {
    printer: Printer<'a>,
    reporter: Box<dyn Reporter + 'a>,
    /// Pictures and jobs that were told, or were there before; `None` while that is not known.
    reported: Option<Reported>,
    progress: JobProgress,
    /// Notes on the job that runs that were told.
    notes: Vec<String>,
    exit: Exit,
}

/// What the person knows.
#[derive(Default)]
struct Reported {
    pictures: BTreeSet<(QueuedJobId, u32)>,
    is_follower: bool,
}

impl Reported {
    fn of(rows: &[QueueRow]) -> Self {
        let pictures = rows.iter().flat_map(|row| row.job.pictures.iter().map(|picture| (row.job.id, picture.index)));
        Self { pictures: pictures.collect(), is_follower: false }
    }
}

impl Follower<'_> {
    /// Returns true once nothing more can be made.
    fn queue_event(&mut self, event: QueueEvent) -> io::Result<bool> {
        match event {
            QueueEvent::Snapshot(snapshot) => return self.snapshot(&snapshot),
            QueueEvent::Submitted { job, recipe, .. } => {
                self.reporter.message(&format!("Job {job}: {}", report::shortened(&recipe.prompt)));
            }
            QueueEvent::Ended(job) => {
                self.reporter.finish();
                self.printer.json(&report::ended(&job))?;
                if let (JobState::Failed | JobState::Held, Some(reason)) = (job.state, &job.reason) {
                    self.exit = Exit::Failed;
                    self.reporter.message(&format!("error: job {}: {reason}", job.job));
                }
            }
            QueueEvent::Problem(advice) => {
                self.exit = Exit::Failed;
                self.reporter.message(&format!("error: {advice}"));
            }
            QueueEvent::Notice(advice) => self.reporter.message(&format!("warning: {}", advice.sentence)),
            QueueEvent::NotSubmitted { .. } | QueueEvent::PictureKept { .. } | QueueEvent::Added { .. } | QueueEvent::Progress { .. } => {}
        }
        Ok(false)
    }

    fn snapshot(&mut self, snapshot: &QueueSnapshot) -> io::Result<bool> {
        let pictures = snapshot.rows.iter().flat_map(|row| row.job.pictures.iter().map(|picture| (row.job.id, picture)));
        let reported = self.reported.get_or_insert_with(|| Reported::of(&snapshot.rows));
        for (id, picture) in pictures.filter(|(id, picture)| reported.pictures.insert((*id, picture.index))).collect::<Vec<_>>() {
            self.printer.json(&report::picture(id, picture.index, &picture.path))?;
            let (printer, mut result) = (&mut self.printer, Ok(()));
            self.reporter.suspend(&mut || result = printer.path(&picture.path));
            result?;
        }
        if !snapshot.is_owner && !reported.is_follower {
            reported.is_follower = true;
            self.reporter.message("Another Atelier runs the queue; this command shows its progress.");
        }
        if snapshot.is_blocked {
            self.exit = Exit::Failed;
            // What the engine has is given back first.
            return Ok(snapshot.rows.iter().all(|row| row.engine_job.is_none()));
        }
        let waits = |row: &&QueueRow| row.job.state == JobState::Waiting;
        let is_running = snapshot.rows.iter().any(|row| row.job.state == JobState::Running);
        let can_begin = snapshot.rows.iter().filter(waits).any(|row| row.job.wanted_model.is_none());
        if is_running || (can_begin && snapshot.pause == PauseMode::No) {
            return Ok(false);
        }
        if can_begin {
            self.reporter.message("The queue is paused. Resume it with: atelier queue resume");
        }
        for row in snapshot.rows.iter().filter(waits) {
            if let Some(model) = &row.job.wanted_model {
                self.exit = Exit::Failed;
                self.reporter.message(&format!("Job {} waits for {model}. Download it with: atelier queue run --pull", row.job.id));
            }
        }
        for row in snapshot.rows.iter().filter(|row| row.job.state == JobState::Held) {
            self.reporter.message(&format!("Job {} is held. Resume it with: atelier queue resume {}", row.job.id, row.job.id));
        }
        Ok(true)
    }

    /// Tells a note on a job once.
    fn note(&mut self, sentence: &str) {
        if !self.notes.iter().any(|told| told == sentence) {
            self.reporter.message(sentence);
            self.notes.push(sentence.to_owned());
        }
    }

    fn engine_event(&mut self, event: &Event) {
        match event {
            Event::Begin { begin, .. } => {
                self.progress.begin(begin);
                self.notes.clear();
                begin.notes.iter().for_each(|note| self.note(note));
            }
            Event::Picture { picture, .. } => {
                if self.exit == Exit::Done && picture.notes.iter().any(PictureNote::is_of_lora) {
                    self.exit = Exit::Incomplete;
                }
                picture.notes.iter().for_each(|note| self.note(&note.sentence));
            }
            Event::Phase { phase, .. } => {
                let (line, is_new) = self.progress.phase(*phase);
                if is_new {
                    self.reporter.begin_stage(&line);
                } else {
                    self.reporter.update(&line);
                }
            }
            Event::Step { step, .. } => self.reporter.update(&self.progress.step(*step)),
            _ => {}
        }
    }
}
