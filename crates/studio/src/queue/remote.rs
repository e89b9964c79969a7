//! A job that another studio makes: a thread of its own asks for it there, and tells it as the
//! engine tells its jobs, so that whoever reads those events need not know.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Instant;

use atelier_core::advice::Advice;
use atelier_core::picture_note::PictureNote;
use atelier_core::recipe::{PictureInfo, Recipe, SETTING_NAMES, seed_after};
use atelier_core::stored_file::Unreadable;
use atelier_engine::{Begin, End, Event, OutsideJob, Picture, Preview, PreviewOptions, Step, Timings};
use atelier_gallery::queue::QueuedJob;
use atelier_language::tr;
use atelier_media::{PictureError, ReceivedPicture, StoredRecipe, read_image, read_metadata};
use atelier_peers::{JobBegin, JobEvent, JobRequest, JobStatus, KeptStudios, RemoteJob, Studio, StudioError};

use super::active::ActiveJob;
use super::message::QueueEvent;
use super::remote_run::RemoteRun;
use super::worker::Worker;
use crate::studio_model::{SENT, StudioModel, sent_mask};

/// Seeds that are drawn here, so that a job that goes on later keeps them.
const SEEDS: Range<i64> = 0..1_000_000_000;

impl Worker {
    /// Has pictures of a job made by the studio of their model.
    pub(super) fn submit_to_studio(&mut self, job: &QueuedJob, model: StudioModel, pictures: Range<u32>, recipe: Recipe) {
        let run = Arc::new(RemoteRun::new(model));
        let shows_previews = !matches!(serde_json::from_str(&job.preview), Ok(PreviewOptions::Off) | Err(_));
        let (events, active) = (&self.events, &mut self.active);
        let outside = self.engine.open_outside(|number| {
            let mut of_studio = ActiveJob::new(job.id, pictures);
            of_studio.remote = Some(Arc::clone(&run));
            active.insert(number, of_studio);
            let (owner, recipe) = (job.owner.clone(), Box::new(recipe.clone()));
            events.send(QueueEvent::Submitted { engine_job: number, job: job.id, owner, recipe });
        });
        let seed = if recipe.seed < 0 { rand::random_range(SEEDS) } else { recipe.seed };
        let job = RunningJob { run, recipe: Recipe { seed, ..recipe }, shows_previews, outside };
        job.start(self.options.studios.clone(), self.studio_jobs.clone());
    }
}

/// Why a job of a studio ends before all of its pictures are there.
enum Stop {
    Cancelled,
    Failed(Advice),
}

impl From<StudioError> for Stop {
    fn from(error: StudioError) -> Self {
        match error {
            StudioError::Cancelled => Self::Cancelled,
            error => Self::Failed(error.advice()),
        }
    }
}

impl From<PictureError> for Stop {
    fn from(error: PictureError) -> Self {
        Self::Failed(Advice::new(error.to_string(), tr!("studio-choose-the-picture-again")))
    }
}

/// A job in the hands of its thread.
struct RunningJob {
    run: Arc<RemoteRun>,
    /// With its seed drawn.
    recipe: Recipe,
    shows_previews: bool,
    outside: OutsideJob,
}

/// How far it is.
#[derive(Default)]
struct Progress {
    /// The seed of each picture, once it has begun.
    seeds: Option<Vec<i64>>,
    /// The last step, and when it was told.
    step: Option<(u32, u32, Instant)>,
    pictures: Vec<PictureInfo>,
}

impl RunningJob {
    /// Starts its thread, which keeps `open` until it ends. Where there can be none, the job ends as
    /// failed.
    fn start(self, kept: Option<PathBuf>, open: Sender<()>) {
        let spawned = thread::Builder::new().name("studio job".into()).spawn(move || {
            let end = self.make(kept.as_deref());
            self.outside.end(end);
            drop(open);
        });
        if let Err(error) = spawned {
            tracing::error!("there is no thread for a job of another studio: {error}");
        }
    }

    fn make(&self, kept: Option<&Path>) -> End {
        let (began, mut progress) = (Instant::now(), Progress::default());
        match self.follow(kept, &mut progress) {
            Ok(()) => {
                // What each phase took, only the studio knows.
                let timings = Timings { total_secs: began.elapsed().as_secs_f64(), ..Timings::default() };
                End::Done { pictures: progress.pictures, timings, notes: Vec::new() }
            }
            Err(Stop::Cancelled) => End::Cancelled,
            Err(Stop::Failed(advice)) => End::Failed(advice.into()),
        }
    }

    /// The studio, with the address and token that are kept now.
    fn studio(&self, kept: Option<&Path>) -> Result<Studio, Stop> {
        let name = &self.run.model.studio;
        let unread = |error: Unreadable| Stop::Failed(Advice::new(tr!("studio-the-list-of-other", error), ""));
        let kept = kept.map(KeptStudios::read).transpose().map_err(unread)?.unwrap_or_default();
        let gone = || Stop::Failed(Advice::new(tr!("studio-is-no-longer-among", name), tr!("studio-connect-to-it-again")));
        let studio = kept.named(name).ok_or_else(gone)?;
        Ok(Studio::new(&studio.name, studio.address.clone(), studio.token.clone())?)
    }

    fn request(&self) -> Result<JobRequest, PictureError> {
        let recipe = &self.recipe;
        let init = match &recipe.init {
            Some(init) => Some((read_image(&init.image)?, init.strength)),
            None => None,
        };
        Ok(JobRequest {
            model: Some(self.run.model.model.clone()),
            prompt: recipe.prompt.clone(),
            negative_prompt: recipe.negative_prompt.clone(),
            width: Some(recipe.width),
            height: Some(recipe.height),
            seed: Some(recipe.seed),
            pictures: recipe.batch_count,
            steps: Some(recipe.steps),
            guidance: Some(recipe.guidance),
            distilled_guidance: Some(recipe.distilled_guidance),
            sampler: recipe.sampler,
            scheduler: recipe.scheduler,
            eta: recipe.eta,
            flow_shift: recipe.flow_shift,
            clip_skip: recipe.clip_skip,
            init,
            mask: recipe.mask.as_ref().map(sent_mask).transpose()?,
            references: recipe.reference_images.iter().map(read_image).collect::<Result<_, _>>()?,
        })
    }

    /// Sends the job and hears of it until its end.
    fn follow(&self, kept: Option<&Path>, progress: &mut Progress) -> Result<(), Stop> {
        let (studio, request) = (self.studio(kept)?, self.request()?);
        if self.outside.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        let job = studio.start(&request)?;
        // Nobody would hear of it any more.
        let give_up = |error: &StudioError| {
            if !matches!(error, StudioError::Cancelled) {
                studio.cancel(&job);
            }
        };
        let mut followed = studio.follow(&job).inspect_err(give_up)?;
        while let Some(event) = followed.next(&|| self.outside.is_cancelled()).inspect_err(give_up)? {
            match event {
                JobEvent::State { begin, notes, .. } => {
                    if let Some(begin) = begin {
                        self.begin(begin, notes, progress);
                    }
                }
                JobEvent::Step { picture, done, total } => self.step((picture, done, total), progress),
                JobEvent::Preview { picture, step, file } => self.preview((picture, step), &file, progress),
                JobEvent::Picture { index, seed } => {
                    self.picture(&studio, &job, (index, seed), progress).inspect_err(|_| studio.cancel(&job))?;
                }
                JobEvent::End { status, sentence, .. } => return self.ended(&studio, status, sentence, progress),
            }
        }
        // A job that was followed to its end has told how it ended.
        Err(Stop::Cancelled)
    }

    /// Tells that it has begun, once.
    fn begin(&self, begin: JobBegin, notes: Vec<String>, progress: &mut Progress) {
        if progress.seeds.is_some() {
            return;
        }
        let JobBegin { width, height, steps, seeds } = begin;
        let count = self.recipe.batch_count.max(1);
        let own = || (0..count).map(|index| seed_after(self.recipe.seed, i64::from(index))).collect();
        let seeds = if seeds.len() == count as usize { seeds } else { own() };
        progress.seeds = Some(seeds.clone());
        self.outside.send(Event::Begin { job: self.outside.id(), begin: Begin { width, height, steps, seeds, notes } });
    }

    /// A job begins before it has a step or a picture, whatever it tells.
    fn begin_unsaid(&self, progress: &mut Progress) {
        let Recipe { width, height, steps, .. } = self.recipe;
        self.begin(JobBegin { width, height, steps, seeds: Vec::new() }, Vec::new(), progress);
    }

    fn has(&self, picture: u32) -> bool {
        picture < self.recipe.batch_count.max(1)
    }

    fn step(&self, (picture, done, total): (u32, u32, u32), progress: &mut Progress) {
        if !self.has(picture) {
            return;
        }
        self.begin_unsaid(progress);
        let step_secs = progress.step_secs(picture, done);
        let step = Step { picture, done, total, fraction: 0.0, step_secs };
        self.outside.send(Event::Step { job: self.outside.id(), step });
    }

    fn preview(&self, (picture, step): (u32, u32), file: &[u8], progress: &mut Progress) {
        if !self.shows_previews || !self.has(picture) {
            return;
        }
        self.begin_unsaid(progress);
        match ReceivedPicture::new(file).and_then(|received| received.image()) {
            Ok(image) => {
                let preview = Preview { picture, step, place: None, image: Arc::new(image) };
                self.outside.send(Event::Preview { job: self.outside.id(), preview });
            }
            // The picture matters more than its preview.
            Err(error) => tracing::warn!("a preview of another studio cannot be shown: {error}"),
        }
    }

    /// Fetches a picture and tells it.
    fn picture(&self, studio: &Studio, job: &RemoteJob, (index, seed): (u32, Option<i64>), progress: &mut Progress) -> Result<(), Stop> {
        if !self.has(index) {
            return Err(studio.bad_picture(&tr!("studio-nobody-asked-for-it")).into());
        }
        let received = studio.picture(job, index)?;
        let image = received.fine_image().map_err(|error| studio.bad_picture(&error))?;
        self.begin_unsaid(progress);
        let told = progress.seeds.as_ref().and_then(|seeds| seeds.get(index as usize).copied());
        let seed = seed.or(told).unwrap_or(self.recipe.seed);
        let info = PictureInfo { index, seed, cpu_math: None, merged_loras: false };
        let said = read_metadata(received.path()).ok().and_then(|it| it.recipe);
        let notes = said.as_ref().and_then(|said| self.difference(said)).into_iter().collect();
        if let Some(said) = said {
            self.run.keep_settings(index, said);
        }
        progress.pictures.push(info);
        self.outside.send(Event::Picture { job: self.outside.id(), picture: Picture { info, notes, image: Arc::new(image) } });
        Ok(())
    }

    /// A note on the settings with which a picture was made otherwise than it was asked for. One that
    /// was left to the model is none.
    fn difference(&self, said: &StoredRecipe) -> Option<PictureNote> {
        let used = said.clone().into_recipe(|_, name, _| Some(PathBuf::from(name))).recipe;
        let differs = |key: &&'static str| {
            let (asked, used) = (self.recipe.setting_value(key), used.setting_value(key));
            !matches!(*key, "seed" | "init") && asked.as_ref().is_some_and(|it| !it.is_null()) && asked != used
        };
        let name = |key: &str| SETTING_NAMES.iter().find(|(it, _)| *it == key).map_or("", |(_, name)| *name);
        let names: Vec<&str> = SENT.iter().copied().filter(|key| differs(key)).map(name).collect();
        let settings = names.join(", ");
        (!names.is_empty()).then(|| PictureNote::changed(tr!("studio-made-with-other-values", studio = self.run.model.studio, settings)))
    }

    fn ended(&self, studio: &Studio, status: JobStatus, sentence: Option<String>, progress: &Progress) -> Result<(), Stop> {
        match status {
            JobStatus::Completed if progress.pictures.len() < self.recipe.batch_count as usize => {
                Err(studio.bad_picture(&tr!("peers-a-picture-is-missing")).into())
            }
            JobStatus::Completed => Ok(()),
            JobStatus::Cancelled => Err(Stop::Cancelled),
            JobStatus::Queued | JobStatus::Generating | JobStatus::Failed => {
                let sentence = sentence.unwrap_or_else(|| tr!("studio-it-does-not-say").to_owned());
                Err(StudioError::Failed { studio: studio.name().to_owned(), sentence }.into())
            }
        }
    }
}

impl Progress {
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
