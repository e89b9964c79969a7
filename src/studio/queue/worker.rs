//! The queue's thread: owns the database, gives jobs to the engine, keeps their pictures, publishes snapshots.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use atelier_core::advice::Advice;
use atelier_core::mailbox::Mailbox;
use atelier_core::recipe::{ModelFiles, PlacementText};
use atelier_engine::{Busy, End, Event, Handle, JobId, Picture, PreviewOptions, Task};
use atelier_gallery::queue::{JobOutcome, JobState, Pace, PauseMode, QueueControl, QueuedJob, QueuedJobId};
use atelier_gallery::{Database, DatabaseState, GalleryError};

use super::active::{ActiveJob, StopReason};
use super::keep::keep_picture;
use super::lock::EngineLock;
use super::message::{EndedJob, Message, QueueEvent, QueueRequest, QueueRow, QueueSnapshot};
use super::options::{CrashedJobs, QueueOptions};
use super::policy::Situation;
use super::predict::{ends_in_secs, known_pace};
use super::sources;

/// Time between two looks for changes of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Time between two looks for models that jobs wait for.
const MODEL_INTERVAL: Duration = Duration::from_secs(10);
/// Age at which a picture that no job needs is removed.
const SOURCE_AGE: Duration = Duration::from_hours(1);
/// Looks at a free lock that a window asked for, before a command takes it all the same.
const PATIENCE_POLLS: u32 = 40;
/// Characters of a prompt in messages.
const PROMPT_CHARACTERS: usize = 60;

/// State of the queue's thread.
pub(super) struct Worker {
    pub(super) options: QueueOptions,
    pub(super) database: Database,
    pub(super) engine: Arc<Handle>,
    events: Arc<Mailbox<QueueEvent>>,
    lock: EngineLock,
    pub(super) jobs: Vec<QueuedJob>,
    pub(super) control: QueueControl,
    pub(super) active: BTreeMap<JobId, ActiveJob>,
    resident: Vec<ModelFiles>,
    moved_up: BTreeMap<Option<String>, usize>,
    data_version: i64,
    looked_for_models: Option<Instant>,
    polls_of_free_lock: u32,
    /// The last problem: one that stays is told once.
    last_problem: Option<Advice>,
    /// Changes of jobs that the engine is to give back first.
    pub(super) deferred: Vec<(QueuedJobId, QueueRequest)>,
    /// A person waits for a picture that is not in the queue.
    /// By model and place.
    pub(super) predicted_paces: BTreeMap<(String, String), Pace>,
    pub(super) is_awaited: bool,
    /// Nothing more begins: the program is about to end.
    pub(super) is_ending: bool,
}

impl Worker {
    /// Opens the database; where that fails, the queue lasts as long as the process, and an event says so.
    pub(super) fn open(options: QueueOptions, engine: Arc<Handle>, events: Arc<Mailbox<QueueEvent>>) -> Self {
        let problem = |advice: Advice| events.send(QueueEvent::Problem(advice));
        let opened = options.database.as_deref().map(Database::open).transpose();
        let database = match opened {
            Ok(Some((database, DatabaseState::PutAside(aside)))) => {
                let sentence = format!("The queue and the index were damaged. They begin anew; the old file is {}.", aside.display());
                problem(Advice::new(sentence, "Your pictures are all there."));
                Ok(database)
            }
            Ok(Some((database, DatabaseState::New | DatabaseState::Whole))) => Ok(database),
            Ok(None) => Database::in_memory(),
            Err(error) => {
                let sentence = format!("The queue cannot be kept on the disk: {error}.");
                problem(Advice::new(sentence, "It works until you close Atelier. Make room on the disk, then start again."));
                Database::in_memory()
            }
        };
        let database = match database {
            Ok(database) => database,
            Err(error) => unreachable!("a database in memory needs nothing but memory: {error}"),
        };
        let lock = EngineLock::beside(options.database.as_deref());
        let mut worker = Self {
            options,
            database,
            engine,
            events,
            lock,
            jobs: Vec::new(),
            control: QueueControl::default(),
            active: BTreeMap::new(),
            resident: Vec::new(),
            moved_up: BTreeMap::new(),
            data_version: 0,
            looked_for_models: None,
            polls_of_free_lock: 0,
            last_problem: None,
            deferred: Vec::new(),
            predicted_paces: BTreeMap::new(),
            is_awaited: false,
            is_ending: false,
        };
        let begun = worker.begin();
        worker.report(begun);
        worker
    }

    fn begin(&mut self) -> Result<(), GalleryError> {
        self.take_lock()?;
        self.reload()?;
        if let Some(folder) = &self.options.sources {
            sources::remove_unused(folder, &self.jobs, SOURCE_AGE);
        }
        Ok(())
    }

    /// Runs until the caller is gone.
    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        self.step(true);
        loop {
            let is_changed = match messages.recv_timeout(POLL_INTERVAL) {
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Ok(message) => self.message(message),
                Err(RecvTimeoutError::Timeout) => self.poll(),
            };
            self.step(is_changed);
        }
        self.end();
    }

    /// Does what is to be done now, and publishes a snapshot where something has changed.
    fn step(&mut self, mut is_changed: bool) {
        let result = (|| {
            // What was decided may decide more: a job that begins makes room for the next.
            while is_changed {
                self.reload()?;
                self.look_for_models(false)?;
                let has_acted = self.act()?;
                self.publish()?;
                is_changed = has_acted;
            }
            Ok(())
        })();
        self.report(result);
    }

    fn message(&mut self, message: Message) -> bool {
        let result = match message {
            Message::Request(request) => self.request(request).map(|()| true),
            Message::Engine(event) => self.engine_event(event),
            Message::Stop => Ok(false),
        };
        self.report(result).unwrap_or(true)
    }

    /// Notices what other processes changed.
    fn poll(&mut self) -> bool {
        let result = (|| {
            let took = !self.lock.is_held() && self.take_lock()?;
            let version = self.database.data_version()?;
            let changed = std::mem::replace(&mut self.data_version, version) != version;
            let waits = self.jobs.iter().any(|job| job.wanted_model.is_some() && job.state == JobState::Waiting);
            let looks = waits && self.looked_for_models.is_none_or(|looked| looked.elapsed() >= MODEL_INTERVAL);
            Ok(took | changed | (looks && self.look_for_models(true)?))
        })();
        self.report(result).unwrap_or(false)
    }

    /// Takes the right to run the queue where it is free, and sets right what the process before left. Returns true if it was taken now.
    fn take_lock(&mut self) -> Result<bool, GalleryError> {
        let control = self.database.queue_control()?;
        if !self.options.is_window && control.is_wanted {
            // A window comes for it; one that never does has ended.
            self.polls_of_free_lock += 1;
            if self.polls_of_free_lock < PATIENCE_POLLS {
                return Ok(false);
            }
        }
        if !self.lock.try_take() {
            if self.options.is_window && !control.is_wanted {
                self.database.set_queue_wanted(true)?;
            }
            return Ok(false);
        }
        self.polls_of_free_lock = 0;
        self.database.set_queue_wanted(false)?;
        let recovery = self.database.recover_queue()?;
        for path in &recovery.found {
            tracing::info!("{} was written before the program ended, and is in the index now", path.display());
        }
        if self.options.crashed == CrashedJobs::BeginAgain {
            for job in self.database.jobs()?.iter().filter(|job| job.is_question()) {
                self.database.retry_job(job.id)?;
            }
        }
        Ok(true)
    }

    pub(super) fn reload(&mut self) -> Result<(), GalleryError> {
        self.jobs = self.database.jobs()?;
        self.control = self.database.queue_control()?;
        Ok(())
    }

    /// Gives files to jobs whose model has come. Returns true if there was one.
    pub(super) fn look_for_models(&mut self, always: bool) -> Result<bool, GalleryError> {
        let Some(models) = self.options.models.clone().filter(|_| always || self.looked_for_models.is_none()) else { return Ok(false) };
        let mut has_come = false;
        for job in self.jobs.iter().filter(|job| matches!(job.state, JobState::Waiting | JobState::Held)) {
            let Some(found) = job.wanted_model.as_deref().and_then(|name| models.find(name)) else { continue };
            let mut recipe = atelier_core::recipe::Recipe::clone(&job.recipe);
            (recipe.files, recipe.negative_in_prompt) = (found.files, found.defaults.negative_in_prompt);
            recipe.loras.splice(..0, found.loras);
            has_come |= self.database.set_job_model(job.id, &recipe)?;
        }
        self.looked_for_models = Some(Instant::now());
        if has_come {
            self.reload()?;
        }
        Ok(has_come)
    }

    fn situation<'a>(&'a self, active: &'a [super::policy::ActiveState]) -> Situation<'a> {
        Situation {
            jobs: &self.jobs,
            active,
            resident: &self.resident,
            pause: self.control.pause,
            follows_model: self.control.follows_model,
            is_owner: self.lock.is_held(),
            is_awaited: self.is_awaited,
            moved_up: &self.moved_up,
        }
    }

    /// Carries out what the state of the queue asks for. Returns true if the state has changed by that.
    fn act(&mut self) -> Result<bool, GalleryError> {
        self.stop_what_must_stop();
        let is_wanted = self.control.is_wanted && !self.options.is_window;
        if is_wanted && self.active.is_empty() && self.lock.is_held() {
            self.polls_of_free_lock = 0;
            self.lock.release();
            return Ok(true);
        }
        if self.is_ending || !self.lock.is_held() {
            return Ok(false);
        }
        let states: Vec<_> = self.active.values().map(ActiveJob::state).collect();
        let mut decision = self.situation(&states).decide();
        if is_wanted {
            decision.start.clear();
        }
        for id in decision.withdraw {
            self.stop(id, StopReason::Suspended);
        }
        for active in self.active.values_mut().filter(|active| decision.suspend.contains(&active.id)) {
            active.stops_after_picture = active.has_more_pictures();
        }
        let mut has_acted = false;
        for (id, moved_up) in decision.start {
            has_acted |= self.submit(id, moved_up)?;
        }
        Ok(has_acted)
    }

    fn stop_what_must_stop(&mut self) {
        let requested: Vec<_> = self.jobs.iter().filter(|job| job.cancel_requested).map(|job| job.id).collect();
        for id in requested {
            self.stop(id, StopReason::Cancelled);
        }
        let is_wanted = self.control.is_wanted && !self.options.is_window;
        if self.is_ending || self.control.pause == PauseMode::Now {
            let all: Vec<_> = self.active.values().map(|active| active.id).collect();
            for id in all {
                self.stop(id, StopReason::Suspended);
            }
        } else if is_wanted || self.control.pause == PauseMode::AfterPicture {
            let unbegun: Vec<_> = self.active.values().filter(|active| active.begin.is_none()).map(|active| active.id).collect();
            for id in unbegun {
                self.stop(id, StopReason::Suspended);
            }
            for active in self.active.values_mut() {
                active.stops_after_picture = active.has_more_pictures();
            }
        } else {
            // The pause was over before the picture was; the policy suspends for other reasons again.
            for active in self.active.values_mut() {
                active.stops_after_picture = false;
            }
        }
    }

    /// Stops a job that the engine has.
    pub(super) fn stop(&mut self, id: QueuedJobId, reason: StopReason) {
        for (engine_job, active) in self.active.iter_mut().filter(|(_, active)| active.id == id) {
            // A person's cancel outweighs a pause.
            if active.stop.is_none() || reason == StopReason::Cancelled {
                active.stop = Some(reason);
                self.engine.cancel(*engine_job);
            }
        }
    }

    fn submit(&mut self, id: QueuedJobId, moved_up: bool) -> Result<bool, GalleryError> {
        let Some(job) = self.jobs.iter().find(|job| job.id == id) else { return Ok(false) };
        if !self.database.start_job(id)? {
            return Ok(true);
        }
        let Some(pictures) = job.missing_pictures() else {
            // A cancelled job that has all its pictures and was asked for again: it would stand in the way of all others.
            self.database.end_job(id, &JobOutcome::Done)?;
            return Ok(true);
        };
        let device = job.device.clone();
        let mut recipe = job.recipe_of(&pictures);
        let wanted = recipe.clone();
        if let Some(device) = &device {
            recipe.placement = PlacementText { backend: device.clone(), ..PlacementText::default() };
        }
        let preview = serde_json::from_str(&job.preview).unwrap_or(PreviewOptions::Off);
        if moved_up {
            self.database.mark_moved_up(id)?;
        }
        let passed = self.moved_up.entry(device).or_default();
        *passed = if moved_up { *passed + 1 } else { 0 };
        let (events, active) = (&self.events, &mut self.active);
        let mut engine_job = None;
        let submitted = self.engine.submit_announced(Task::Generate { recipe: Box::new(recipe), preview }, |number| {
            engine_job = Some(number);
            active.insert(number, ActiveJob::new(id, pictures));
            events.send(QueueEvent::Submitted { engine_job: number, job: id, recipe: Box::new(wanted) });
        });
        if let (Err(busy), Some(engine_job)) = (submitted, engine_job) {
            self.active.remove(&engine_job);
            let outcome = match busy {
                Busy::Gone => JobOutcome::Held(format!("{busy}")),
                Busy::Full => JobOutcome::Withdrawn,
            };
            self.database.end_job(id, &outcome)?;
            self.events.send(QueueEvent::NotSubmitted { engine_job, reason: busy.to_string() });
            return Ok(false);
        }
        Ok(true)
    }

    /// Returns true if the state of the queue has changed by an event.
    fn engine_event(&mut self, event: Event) -> Result<bool, GalleryError> {
        match event {
            Event::Begin { job, begin } => {
                let Some(active) = self.active.get_mut(&job) else { return Ok(false) };
                let first_seed = begin.seeds.first().map_or(0, |seed| seed.saturating_sub(i64::from(active.pictures.start)));
                active.begin(begin);
                self.database.begin_job(active.id, first_seed)?;
            }
            Event::Step { job, step } => {
                let Some(active) = self.active.get_mut(&job) else { return Ok(false) };
                let is_first_pace = active.first_pace().is_none();
                if let Some(noted) = active.step(step, Instant::now()) {
                    self.database.note_step(active.id, noted)?;
                    return Ok(true);
                }
                return Ok(is_first_pace && active.first_pace().is_some());
            }
            Event::Picture { job, picture } => return self.picture(job, &picture).map(|()| true),
            Event::Waiting { job, behind } => {
                let Some(active) = self.active.get_mut(&job) else { return Ok(false) };
                active.behind = behind;
            }
            Event::Residency(residency) => self.resident = residency.models.into_iter().map(|model| model.files).collect(),
            Event::End { job, end } => return self.engine_end(job, &end),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn picture(&mut self, engine_job: JobId, picture: &Picture) -> Result<(), GalleryError> {
        let Some(active) = self.active.get_mut(&engine_job) else { return Ok(()) };
        let Some(job) = self.database.job(active.id)? else { return Ok(()) };
        let index = active.pictures.start + picture.info.index;
        let result = keep_picture(&mut self.database, &job, index, picture);
        match &result {
            Ok(_) => {
                active.count_picture();
                if active.stops_after_picture && active.has_more_pictures() && active.stop.is_none() {
                    active.stop = Some(StopReason::Suspended);
                    self.engine.cancel(engine_job);
                }
            }
            Err(advice) => {
                // The next ones could not be kept either.
                active.keep_error = Some(advice.clone());
                self.engine.cancel(engine_job);
                self.database.set_queue_pause(PauseMode::AfterPicture)?;
            }
        }
        self.events.send(QueueEvent::PictureKept { engine_job, index: picture.info.index, result });
        Ok(())
    }

    fn engine_end(&mut self, engine_job: JobId, end: &End) -> Result<bool, GalleryError> {
        let Some(active) = self.active.remove(&engine_job) else { return Ok(false) };
        let Some(job) = self.database.job(active.id)? else { return Ok(true) };
        if let End::Done { timings, .. } = end
            && let Some(pace) = active.pace(timings)
            // Branches and drafts do not compute all of their steps.
            && job.recipe.earlier_steps.is_empty()
            && job.recipe.draft_step().is_none()
        {
            self.database.record_pace(&job.model, place_of(&job), &pace)?;
        }
        let state = self.database.end_job(active.id, &active.outcome(end, &job))?.unwrap_or(job.state);
        for (_, request) in self.deferred.extract_if(.., |(id, _)| *id == active.id).collect::<Vec<_>>() {
            self.request(request)?;
        }
        if state.is_ended() || state == JobState::Held {
            let jobs = self.database.jobs()?;
            let is_last = !jobs.iter().any(|job| matches!(job.state, JobState::Waiting | JobState::Running));
            let reason = jobs.iter().find(|it| it.id == job.id).and_then(|job| job.reason.clone());
            self.events.send(QueueEvent::Ended(EndedJob {
                job: job.id,
                state,
                prompt: job.recipe.prompt.chars().take(PROMPT_CHARACTERS).collect(),
                pictures: job.pictures.len(),
                secs: active.began.map_or(0.0, |began| began.elapsed().as_secs_f64()),
                is_last,
                reason,
            }));
        }
        Ok(true)
    }

    /// Sends a snapshot in place of the unread one.
    fn publish(&mut self) -> Result<(), GalleryError> {
        self.reload()?;
        let mut paces: BTreeMap<(&str, &str), Option<Pace>> = BTreeMap::new();
        for job in self.jobs.iter().filter(|job| !job.state.is_ended()) {
            let key = (job.model.as_str(), place_of(job));
            if let std::collections::btree_map::Entry::Vacant(entry) = paces.entry(key) {
                let live = self.active.values().find(|active| active.id == job.id).and_then(ActiveJob::first_pace);
                let predicted = self.predicted_paces.get(&(job.model.clone(), place_of(job).to_owned())).copied();
                entry.insert(known_pace(self.database.pace(key.0, key.1)?, live, predicted));
            }
        }
        let active_of = |id: QueuedJobId| self.active.iter().find(|(_, active)| active.id == id);
        let pace = |job: &QueuedJob| paces.get(&(job.model.as_str(), place_of(job))).copied().flatten();
        let ends = ends_in_secs(&self.jobs, pace, |job| active_of(job.id).map(|(_, active)| active.progressed()));
        let states: Vec<_> = self.active.values().map(ActiveJob::state).collect();
        let situation = self.situation(&states);
        let mut before = 0;
        let rows = self.jobs.iter().zip(ends).map(|(job, ends_in_secs)| {
            let row = QueueRow {
                engine_job: active_of(job.id).map(|(number, _)| *number),
                is_waiting: situation.is_waiting(job),
                reason: situation.reason(job, before),
                ends_in_secs,
                job: job.clone(),
            };
            before += usize::from(job.state == JobState::Running || (job.state == JobState::Waiting && job.wanted_model.is_none()));
            row
        });
        let snapshot = QueueSnapshot {
            rows: rows.collect(),
            pause: self.control.pause,
            follows_model: self.control.follows_model,
            is_owner: self.lock.is_held(),
            at: Instant::now(),
        };
        let is_snapshot = |unread: &QueueEvent| matches!(unread, QueueEvent::Snapshot(_));
        self.events.send_replacing(QueueEvent::Snapshot(Arc::new(snapshot)), is_snapshot);
        Ok(())
    }

    /// What runs goes on at the next start.
    fn end(&mut self) {
        for (engine_job, active) in std::mem::take(&mut self.active) {
            self.engine.cancel(engine_job);
            let result = self.database.end_job(active.id, &JobOutcome::Suspended).map(drop);
            self.report(result);
        }
        self.lock.release();
    }

    /// The value, or a problem for the person.
    pub(super) fn report<T>(&mut self, result: Result<T, GalleryError>) -> Option<T> {
        result
            .map_err(|error| {
                let hint = if error.is_disk_full() {
                    "Make room on the disk, then start Atelier again: what is in the queue goes on."
                } else {
                    "Try again; if it stays, start Atelier again."
                };
                self.problem(Advice::new(format!("The queue: {error}."), hint));
            })
            .ok()
    }

    pub(super) fn problem(&mut self, advice: Advice) {
        if self.last_problem.as_ref() != Some(&advice) {
            tracing::warn!("{advice}");
            self.last_problem = Some(advice.clone());
            self.events.send(QueueEvent::Problem(advice));
        }
    }

    /// Folder of pictures that are in no file yet.
    pub(super) fn sources(&self) -> PathBuf {
        self.options.sources.clone().unwrap_or_else(std::env::temp_dir)
    }
}

/// Where a job runs, in words that are the same for the same place.
fn place_of(job: &QueuedJob) -> &str {
    job.device.as_deref().unwrap_or(&job.recipe.placement.backend)
}
