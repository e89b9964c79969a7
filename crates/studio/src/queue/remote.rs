//! A job that another studio makes: a thread of its own asks for it there, and tells it as the
//! engine tells its jobs, so that whoever reads those events need not know.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use atelier_core::advice::Advice;
use atelier_core::picture_note::PictureNote;
use atelier_core::recipe::{Recipe, Seed};
use atelier_core::stored_file::Unreadable;
use atelier_engine::{Begin, End, Event, OutsideJob, Picture, Preview, PreviewOptions, Step};
use atelier_gallery::queue::QueuedJob;
use atelier_language::tr;
use atelier_media::PictureError;
use atelier_peers::{JobRequest, KeptStudio, KeptStudios, Network, Studio, StudioError, locate_studio};

use super::active::ActiveJob;
use super::message::QueueEvent;
use super::remote_run::RemoteRun;
use super::worker::Worker;
use crate::remote_job::{Difference, RemoteListener, RemotePicture, make, request_of};
use crate::studio_model::StudioModel;

/// Seeds that are drawn here, so that a job that goes on later keeps them.
const SEEDS: Range<u64> = 0..1_000_000_000;

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
        let seed = Some(recipe.seed.unwrap_or_else(|| Seed(rand::random_range(SEEDS))));
        let job = RunningJob {
            run,
            recipe: Recipe { seed, ..recipe },
            shows_previews,
            outside,
            network: self.options.studios_network,
            moved: None,
        };
        job.start(self.options.studios.clone(), self.studio_jobs.clone());
    }
}

/// A job in the hands of its thread.
struct RunningJob {
    run: Arc<RemoteRun>,
    /// With its seed drawn.
    recipe: Recipe,
    shows_previews: bool,
    outside: OutsideJob,
    /// Where the studio is looked for if it has another address now.
    network: Network,
    /// A sentence on that, until it is told.
    moved: Option<String>,
}

impl RunningJob {
    /// Starts its thread, which keeps `open` until it ends. Where there can be none, the job ends as
    /// failed.
    fn start(mut self, kept: Option<PathBuf>, open: Sender<()>) {
        let spawned = thread::Builder::new().name("studio job".into()).spawn(move || {
            let end = self.make(kept.as_deref());
            self.outside.end(end);
            drop(open);
        });
        if let Err(error) = spawned {
            tracing::error!("there is no thread for a job of another studio: {error}");
        }
    }

    fn make(&mut self, kept: Option<&Path>) -> End {
        let asked = self.studio(kept).and_then(|studio| Ok((studio, self.request()?)));
        match asked {
            Ok((studio, request)) => make(&studio, &request, self),
            Err(advice) => End::Failed(advice.into()),
        }
    }

    /// The studio, with the address and token that are kept now.
    fn studio(&mut self, file: Option<&Path>) -> Result<Studio, Advice> {
        let name = &self.run.model.studio;
        let unread = |error: Unreadable| Advice::new(tr!("studio-the-list-of-other", error), "");
        let gone = || Advice::new(tr!("studio-is-no-longer-among", name), tr!("studio-connect-to-it-again"));
        let file = file.ok_or_else(gone)?;
        let kept = KeptStudios::read(file).map_err(unread)?;
        let located = locate_studio(kept.named(name).ok_or_else(gone)?, file, self.network).map_err(|error| error.advice())?;
        self.moved = located.note();
        let KeptStudio { name, address, token, .. } = located.studio;
        Studio::new(&name, address, token).map_err(|error| error.advice())
    }

    fn request(&self) -> Result<JobRequest, Advice> {
        let unread = |error: PictureError| Advice::new(error.to_string(), tr!("studio-choose-the-picture-again"));
        request_of(Some(self.run.model.model.clone()), &self.recipe).map_err(unread)
    }

    /// A note on the settings with which a picture was made otherwise than it was asked for.
    fn difference(&self, differences: &[Difference]) -> Option<PictureNote> {
        let names: Vec<&str> = differences.iter().map(|it| it.name).collect();
        let settings = names.join(", ");
        (!names.is_empty()).then(|| PictureNote::changed(tr!("studio-made-with-other-values", studio = self.run.model.studio, settings)))
    }
}

impl RemoteListener for RunningJob {
    fn is_cancelled(&self) -> bool {
        self.outside.is_cancelled()
    }

    fn begin(&mut self, mut begin: Begin) {
        begin.notes.extend(self.moved.take());
        self.outside.send(Event::Begin { job: self.outside.id(), begin });
    }

    fn step(&mut self, step: Step) {
        self.outside.send(Event::Step { job: self.outside.id(), step });
    }

    fn shows_previews(&self) -> bool {
        self.shows_previews
    }

    fn preview(&mut self, preview: Result<Preview, StudioError>) {
        match preview {
            Ok(preview) => self.outside.send(Event::Preview { job: self.outside.id(), preview }),
            Err(error) => tracing::warn!("{error}"),
        }
    }

    fn picture(&mut self, RemotePicture { picture, said, differences }: RemotePicture) -> bool {
        let notes = self.difference(&differences).into_iter().collect();
        if let Some(said) = said {
            self.run.keep_settings(picture.info.index, said);
        }
        self.outside.send(Event::Picture { job: self.outside.id(), picture: Picture { notes, ..picture } });
        true
    }
}
