//! Pictures that another studio makes: a job is sent there, and what it tells is said and kept as if
//! it were made here.

use std::io::Write;
use std::sync::Arc;

use super::locate::locate;
use super::request::request;
use crate::cli::exit::Exit;
use crate::cli::flags::GenerateFlags;
use crate::cli::interrupt::{Interrupt, no_ctrl_c};
use crate::cli::job::{JobOutput, JobReport};
use crate::cli::printer::Printer;
use crate::cli::reporter::{ProgressLine, quiet_reporter, reporter};
use crate::cli::resolve::RemoteJobFlags;
use atelier_core::paths::Paths;
use atelier_core::sentences::sentence;
use atelier_engine::{Begin, JobId, Preview, Step};
use atelier_peers::{Studio, StudioError};
use atelier_studio::picture_index::PictureIndex;
use atelier_studio::remote_job::{Difference, RemoteListener, RemotePicture, make};
use atelier_studio::results::Destination;

/// System that the command runs on.
pub(in crate::cli) struct RemoteEnv<'a> {
    pub(in crate::cli) out: &'a mut (dyn Write + Send),
    pub(in crate::cli) err: Box<dyn Write + Send>,
    pub(in crate::cli) terminal: bool,
    pub(in crate::cli) paths: Paths,
    pub(in crate::cli) interrupt: Arc<Interrupt>,
    pub(in crate::cli) listen: fn(&Arc<Interrupt>) -> Result<(), ctrlc::Error>,
}

/// Has these jobs made by the studio that this word means, one after the other.
pub(in crate::cli) fn generate(flags: &GenerateFlags, word: &str, jobs: Vec<RemoteJobFlags>, env: RemoteEnv<'_>) -> Exit {
    let RemoteEnv { out, err, terminal, paths, interrupt, listen } = env;
    let mut reporter = if flags.report.json { quiet_reporter(err) } else { reporter(err, terminal) };
    reporter.update(&ProgressLine::new("Connecting"));
    let printer = Printer::new(out, flags.report.json).with_null(flags.paths.null);
    let mut output = JobOutput::new(printer, reporter, &flags.report);
    if let Err(error) = listen(&interrupt) {
        output.reporter.message(&no_ctrl_c(&error));
    }
    let located = locate(word, &paths.studios_file()).and_then(|located| Ok((located.studio()?, located.note)));
    let (studio, note) = match located {
        Ok(located) => located,
        Err(error) => return output.fail(&format!("{error:#}")),
    };
    if let Some(note) = note {
        output.reporter.message(&note);
    }
    let mut index = PictureIndex::new(Some(paths));
    let mut exit = Exit::Done;
    for (number, (recipe, notes, destination)) in (1..).zip(jobs) {
        for note in &notes {
            output.reporter.message(note);
        }
        let asked = match request(flags, &recipe) {
            Ok(asked) => asked,
            Err(error) => return output.fail(&sentence(&error.to_string())),
        };
        if let Err(error) = destination.check_place() {
            return output.fail(&sentence(&error.to_string()));
        }
        let number = JobId(number);
        let report = JobReport::new(number, flags.preview.clone(), asked.model.clone(), destination.parent(), &mut output);
        let mut listener = RemoteReport {
            studio: &studio,
            number,
            model: asked.model.as_deref(),
            destination: &destination,
            interrupt: &interrupt,
            index: &mut index,
            report,
            is_stop_told: false,
            has_compared: false,
        };
        let end = make(&studio, &asked, &mut listener);
        let of_job = listener.report.end(end);
        exit = if matches!(of_job, Exit::Done) { exit } else { of_job };
        if matches!(of_job, Exit::Cancelled) || interrupt.pressed() {
            break;
        }
    }
    exit
}

/// A job that is made elsewhere, as it is said and kept here.
struct RemoteReport<'r, 'o> {
    studio: &'r Studio,
    number: JobId,
    model: Option<&'r str>,
    destination: &'r Destination,
    interrupt: &'r Interrupt,
    index: &'r mut PictureIndex,
    report: JobReport<'r, 'o>,
    /// It was said that the job stops.
    is_stop_told: bool,
    /// It was said already what the studio changed.
    has_compared: bool,
}

impl RemoteListener for RemoteReport<'_, '_> {
    fn is_cancelled(&self) -> bool {
        self.interrupt.pressed()
    }

    fn hear(&mut self) {
        if self.interrupt.pressed() && !std::mem::replace(&mut self.is_stop_told, true) {
            self.report.stopping();
        }
    }

    fn wait(&mut self, place: u32) {
        self.report.waiting(&ProgressLine::new(format!("Waiting at {}, place {place}", self.studio.name())));
    }

    fn begin(&mut self, begin: Begin) {
        self.report.begin(begin);
    }

    fn step(&mut self, step: Step) {
        self.report.step(step);
    }

    fn shows_previews(&self) -> bool {
        self.report.shows_previews()
    }

    fn preview(&mut self, preview: Result<Preview, StudioError>) {
        match preview {
            Ok(preview) => self.report.preview(&preview),
            Err(error) => self.report.warning(&error.advice().sentence),
        }
    }

    fn picture(&mut self, RemotePicture { picture, said, differences }: RemotePicture) -> bool {
        if !std::mem::replace(&mut self.has_compared, true) {
            for Difference { name, asked, used } in &differences {
                let used = used.as_deref().unwrap_or("the model's own");
                self.report.warning(&format!("{}: {}", self.studio.name(), sentence(&format!("{name}: {used} instead of {asked}"))));
            }
        }
        let kept = self.destination.keep_received(said, &picture, (self.studio.name(), self.model), self.number, self.index);
        self.report.picture(&picture, kept)
    }
}
