//! Pictures that another studio makes: a job is sent there, and what it tells is said and kept as if
//! it were made here.

use std::cell::Cell;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::locate::locate;
use super::request::{differences, request};
use crate::cli::exit::Exit;
use crate::cli::flags::GenerateFlags;
use crate::cli::interrupt::{Interrupt, no_ctrl_c};
use crate::cli::job::{JobOutput, JobReport};
use crate::cli::printer::Printer;
use crate::cli::reporter::{ProgressLine, quiet_reporter, reporter};
use crate::cli::resolve::RemoteJobFlags;
use atelier_core::paths::Paths;
use atelier_core::recipe::{PictureInfo, Recipe};
use atelier_core::sentences::sentence;
use atelier_engine::{Begin, End, Failure, JobId, Picture, Preview, Step, Timings};
use atelier_language::tr;
use atelier_media::{ReceivedPicture, read_metadata};
use atelier_peers::{JobBegin, JobEvent, JobRequest, JobStatus, RemoteJob, Studio, StudioError};
use atelier_studio::picture_index::PictureIndex;
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
    let studio = match locate(word, &paths.studios_file()).and_then(|located| located.studio()) {
        Ok(studio) => studio,
        Err(error) => return output.fail(&format!("{error:#}")),
    };
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
        let job = RemoteRun {
            studio: &studio,
            number: JobId(number),
            asked: &asked,
            destination: &destination,
            previews: flags.preview.clone(),
            interrupt: &interrupt,
        };
        let of_job = job.run(&mut index, &mut output);
        exit = if matches!(of_job, Exit::Done) { exit } else { of_job };
        if matches!(of_job, Exit::Cancelled) || interrupt.pressed() {
            break;
        }
    }
    exit
}

/// A job that is made elsewhere.
struct RemoteRun<'a> {
    studio: &'a Studio,
    number: JobId,
    asked: &'a JobRequest,
    destination: &'a Destination,
    previews: Option<PathBuf>,
    interrupt: &'a Interrupt,
}

/// How far it is.
#[derive(Default)]
struct RemoteProgress {
    begin: Option<JobBegin>,
    /// The last step, and when it was told.
    step: Option<(u32, u32, Instant)>,
    pictures: Vec<PictureInfo>,
    /// It was said already what the studio changed.
    has_compared: bool,
}

impl RemoteRun<'_> {
    fn run(&self, index: &mut PictureIndex, output: &mut JobOutput<'_>) -> Exit {
        let (previews, model, made_from) = (self.previews.clone(), self.asked.model.clone(), self.destination.parent());
        let mut report = JobReport::new(self.number, previews, model, made_from, output);
        let started = Instant::now();
        let mut progress = RemoteProgress::default();
        let end = self.follow(&mut progress, &mut report, index).unwrap_or_else(|error| match error {
            StudioError::Cancelled => End::Cancelled,
            error => End::Failed(Failure::from(error.advice())),
        });
        let end = match end {
            End::Done { notes, .. } => {
                // What each phase took, only the studio knows.
                let timings = Timings { total_secs: started.elapsed().as_secs_f64(), ..Timings::default() };
                End::Done { pictures: progress.pictures, timings, notes }
            }
            end => end,
        };
        report.end(end)
    }

    /// Sends the job and hears of it until its end.
    fn follow(&self, progress: &mut RemoteProgress, report: &mut JobReport<'_, '_>, index: &mut PictureIndex) -> Result<End, StudioError> {
        let job = self.studio.start(self.asked)?;
        // Nobody would hear of it any more.
        let give_up = |error: &StudioError| {
            if !matches!(error, StudioError::Cancelled) {
                self.studio.cancel(&job);
            }
        };
        let mut followed = self.studio.follow(&job).inspect_err(give_up)?;
        let (is_useless, is_told) = (Cell::new(false), Cell::new(false));
        loop {
            let event = followed.next(&|| self.interrupt.pressed() || is_useless.get()).inspect_err(give_up)?;
            if self.interrupt.pressed() && !is_told.replace(true) {
                report.stopping();
            }
            match event {
                Some(JobEvent::State { status, position, begin, notes }) => {
                    if status == JobStatus::Queued {
                        report.waiting(&ProgressLine::new(format!("Waiting at {}, place {position}", self.studio.name())));
                    }
                    if let Some(begin) = begin.filter(|_| progress.begin.is_none()) {
                        Self::begin(begin, notes, progress, report);
                    }
                }
                Some(JobEvent::Step { picture, done, total }) => {
                    let step_secs = progress.step_secs(picture, done);
                    report.step(Step { picture, done, total, fraction: 0.0, step_secs });
                }
                Some(JobEvent::Preview { picture, step, file }) if report.shows_previews() => {
                    match ReceivedPicture::new(&file).and_then(|received| received.image()) {
                        Ok(image) => report.preview(&Preview { picture, step, place: None, image: Arc::new(image) }),
                        // The picture matters more than its preview.
                        Err(error) => report.warning(&self.studio.bad_picture(&error).advice().sentence),
                    }
                }
                Some(JobEvent::Preview { .. }) => {}
                Some(JobEvent::Picture { index: number, seed }) => {
                    let kept = self.keep(&job, (number, seed), progress, report, index).inspect_err(|_| self.studio.cancel(&job))?;
                    is_useless.set(is_useless.get() || !kept);
                }
                Some(JobEvent::End { status, sentence, notes: _ }) => return self.ended(status, sentence, progress),
                // A job that was followed to its end has told how it ended.
                None => return Ok(End::Cancelled),
            }
        }
    }

    fn begin(begin: JobBegin, notes: Vec<String>, progress: &mut RemoteProgress, report: &mut JobReport<'_, '_>) {
        let JobBegin { width, height, steps, seeds } = begin.clone();
        report.begin(Begin { width, height, steps, seeds, notes });
        progress.begin = Some(begin);
    }

    /// Fetches a picture and keeps it; false where it could not be written.
    fn keep(
        &self,
        job: &RemoteJob,
        (number, seed): (u32, Option<i64>),
        progress: &mut RemoteProgress,
        report: &mut JobReport<'_, '_>,
        index: &mut PictureIndex,
    ) -> Result<bool, StudioError> {
        if number >= self.asked.pictures.max(1) {
            return Err(self.studio.bad_picture(&tr!("studio-nobody-asked-for-it")));
        }
        let received = self.studio.picture(job, number)?;
        let image = received.fine_image().map_err(|error| self.studio.bad_picture(&error))?;
        if progress.begin.is_none() {
            // A job begins before it has a picture, whatever it tells.
            let begin = JobBegin { width: image.width(), height: image.height(), ..JobBegin::default() };
            Self::begin(begin, Vec::new(), progress, report);
        }
        let told = progress.begin.as_ref().and_then(|begin| begin.seeds.get(number as usize).copied());
        let info = PictureInfo { index: number, seed: seed.or(told).unwrap_or(-1), cpu_math: None, merged_loras: false };
        if !std::mem::replace(&mut progress.has_compared, true) {
            let said = read_metadata(received.path()).ok().and_then(|it| it.recipe);
            let used: Option<Recipe> = said.map(|it| it.into_recipe(|_, name, _| Some(PathBuf::from(name))).recipe);
            for difference in used.iter().flat_map(|used| differences(self.asked, used)) {
                report.warning(&format!("{}: {difference}", self.studio.name()));
            }
        }
        let picture = Picture { info, notes: Vec::new(), image: Arc::new(image) };
        let made_on = (self.studio.name(), self.asked.model.as_deref());
        let kept = self.destination.keep_received(&received, &picture, made_on, self.number, index);
        progress.pictures.push(info);
        Ok(report.picture(&picture, kept))
    }

    fn ended(&self, status: JobStatus, sentence: Option<String>, progress: &RemoteProgress) -> Result<End, StudioError> {
        match status {
            JobStatus::Completed if progress.pictures.len() < self.asked.pictures as usize => {
                Err(self.studio.bad_picture(&tr!("peers-a-picture-is-missing")))
            }
            JobStatus::Completed => Ok(End::Done { pictures: Vec::new(), timings: Timings::default(), notes: Vec::new() }),
            JobStatus::Cancelled => Err(StudioError::Cancelled),
            JobStatus::Queued | JobStatus::Generating | JobStatus::Failed => {
                let sentence = sentence.unwrap_or_else(|| "it does not say why.".to_owned());
                Err(StudioError::Failed { studio: self.studio.name().to_owned(), sentence })
            }
        }
    }
}

impl RemoteProgress {
    /// Seconds that the step before this one took; 0 for the first of a picture.
    fn step_secs(&mut self, picture: u32, done: u32) -> f32 {
        let now = Instant::now();
        let before = self.step.replace((picture, done, now));
        match before {
            Some((before, earlier, at)) if before == picture && done > earlier => (now - at).as_secs_f32() / (done - earlier) as f32,
            _ => 0.0,
        }
    }
}
