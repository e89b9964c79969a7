//! The queue's thread: owns the database, gives jobs to the engine, keeps their pictures, publishes
//! snapshots.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use atelier_core::advice::Advice;
use atelier_core::recipe::{ModelFiles, PlacementText, Recipe, Seed};
use atelier_engine::{Busy, End, Event, Handle, JobId, Preview, PreviewOptions, Step, Task};
use atelier_gallery::queue::{JobOutcome, JobState, NewJob, Pace, PauseMode, QueueControl, QueuedJob, QueuedJobId};
use atelier_gallery::{Database, DatabaseVersion, FolderKind, GalleryError};
use atelier_language::tr;

use super::active::{ActiveJob, StopReason};
use super::change::{Change, DiskTrouble};
use super::lock::EngineLock;
use super::message::{JobProgress, Message, QueueEvent, QueueRequest};
use super::options::{CrashedJobs, QueueOptions};
use super::policy::{MovedUp, Situation};
use super::predict::Paces;
use super::shares::Shares;
use super::sources;
use super::subscribers::Publisher;
use crate::made_from;
use crate::studio_model::StudioModel;

/// Time between two looks for changes of other processes.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Time between two looks for models that jobs wait for.
const MODEL_INTERVAL: Duration = Duration::from_secs(10);
/// Age at which a picture that no job needs is removed, and time between two looks for such.
const SOURCE_AGE: Duration = Duration::from_hours(1);
/// Least age of what a picture was made from before it can go.
const MADE_FROM_AGE: Duration = Duration::from_hours(24);
/// Time between two tries to open a database that could not be opened.
const OPEN_INTERVAL: Duration = Duration::from_secs(5);
/// Longest wait, as the program ends, until other studios were told that their jobs are not wanted.
const GOODBYE_WITHIN: Duration = Duration::from_secs(2);
/// Looks at a free lock that a window asked for, before a command takes it all the same.
const PATIENCE_POLLS: u32 = 40;

/// State of the queue's thread.
pub(super) struct Worker {
    pub(super) options: QueueOptions,
    pub(super) database: Database,
    pub(super) engine: Arc<Handle>,
    pub(super) events: Arc<Publisher>,
    lock: EngineLock,
    /// What the process before left is still to be set right.
    is_recovery_due: bool,
    /// False for a queue in memory that knows nothing of the one on the disk.
    is_kept: bool,
    /// The next try to open the database that could not be opened.
    open_at: Option<Instant>,
    pub(super) jobs: Vec<QueuedJob>,
    pub(super) control: QueueControl,
    /// The state of the database that they show, unless they show what is not written yet.
    pub(super) shown: Option<DatabaseVersion>,
    pub(super) active: BTreeMap<JobId, ActiveJob>,
    /// What is to be written, in order.
    pub(super) changes: VecDeque<Change>,
    pub(super) disk_trouble: Option<DiskTrouble>,
    /// A person was told that the disk takes nothing, and that is not over as far as is known.
    pub(super) is_trouble_told: bool,
    resident: Vec<ModelFiles>,
    moved_up: MovedUp,
    pub(super) shares: Shares,
    pub(super) paces: Paces,
    data_version: i64,
    looked_for_models: Option<Instant>,
    /// When pictures that no job needs were looked for last.
    cleaned: Option<Instant>,
    polls_of_free_lock: u32,
    /// The last problem: one that stays is told once.
    pub(super) last_problem: Option<Advice>,
    /// Changes of jobs that the engine is to give back first.
    pub(super) deferred: Vec<(QueuedJobId, QueueRequest)>,
    /// By model and place.
    pub(super) predicted_paces: BTreeMap<(String, String), Pace>,
    /// A person waits for a picture that is not in the queue; up to this moment that is counted for
    /// them.
    pub(super) awaited: Option<Instant>,
    /// Kept by each thread that follows a job of another studio, until it ends.
    pub(super) studio_jobs: Sender<()>,
    studio_jobs_ended: Receiver<()>,
    /// Nothing more begins: the program is about to end.
    pub(super) is_ending: bool,
}

impl Worker {
    /// Opens the database; where that fails, the queue lasts as long as the process, and an event
    /// says so.
    pub(super) fn open(mut options: QueueOptions, engine: Arc<Handle>, events: Arc<Publisher>) -> Self {
        let (mut open_at, mut is_kept) = (None, true);
        let database = match options.database.as_deref().map(Database::open).transpose() {
            Ok(Some((database, state))) => {
                if let Some(warning) = state.warning() {
                    events.send(QueueEvent::Notice(Advice::new(warning, tr!("studio-all-your-pictures-are"))));
                }
                Ok(database)
            }
            Ok(None) => Database::in_memory(),
            Err(error) => {
                is_kept = false;
                open_at = (error.is_temporary() && options.is_window).then(|| Instant::now() + OPEN_INTERVAL);
                if open_at.is_none() {
                    // Nothing is written among the data of a newer Atelier.
                    options.sources = None;
                }
                let sentence = tr!("studio-the-queue-cannot-be-saved-to", error);
                let hint = match open_at {
                    Some(_) => tr!("studio-the-queue-works-until-you-close"),
                    None => tr!("studio-the-queue-works-until"),
                };
                events.send(QueueEvent::Problem(Advice::new(sentence, hint)));
                Database::in_memory()
            }
        };
        let database = match database {
            Ok(database) => database,
            Err(error) => unreachable!("a database in memory needs nothing but memory: {error}"),
        };
        // A queue in memory knows nothing of the jobs on the disk, so it touches neither their lock
        // nor their pictures.
        let lock = EngineLock::beside(options.database.as_deref().filter(|_| is_kept));
        let (studio_jobs, studio_jobs_ended) = channel();
        let mut worker = Self {
            options,
            database,
            engine,
            events,
            is_recovery_due: lock.is_held() && is_kept,
            lock,
            is_kept,
            open_at,
            jobs: Vec::new(),
            control: QueueControl::default(),
            shown: None,
            active: BTreeMap::new(),
            changes: VecDeque::new(),
            disk_trouble: None,
            is_trouble_told: false,
            resident: Vec::new(),
            moved_up: MovedUp::new(),
            shares: Shares::default(),
            paces: Paces::default(),
            data_version: 0,
            looked_for_models: None,
            cleaned: None,
            polls_of_free_lock: 0,
            last_problem: None,
            deferred: Vec::new(),
            predicted_paces: BTreeMap::new(),
            awaited: None,
            studio_jobs,
            studio_jobs_ended,
            is_ending: false,
        };
        worker.begin();
        worker
    }

    fn begin(&mut self) {
        let taken = self.take_lock();
        self.value_or_wait(taken);
        self.refresh();
        self.clean();
    }

    /// Opens the database that could not be opened, and gives it the jobs that came meanwhile.
    fn open_again(&mut self) -> Result<bool, GalleryError> {
        let is_due = self.open_at.is_some_and(|at| Instant::now() >= at) && self.active.is_empty() && self.changes.is_empty();
        let Some(path) = self.options.database.clone().filter(|_| is_due) else { return Ok(false) };
        self.open_at = Some(Instant::now() + OPEN_INTERVAL);
        let Ok((database, _)) = Database::open(&path) else { return Ok(false) };
        let waiting = self.database.jobs()?.into_iter().filter(|job| matches!(job.state, JobState::Waiting | JobState::Held));
        let before = std::mem::replace(&mut self.database, database);
        self.shown = None;
        for job in waiting {
            let QueuedJob { recipe, lane, folder, model, wanted_model, device, preview, group, owner, user, .. } = job;
            let recipe = Arc::unwrap_or_clone(recipe);
            let job = NewJob { recipe, lane, folder, model, wanted_model, device, preview, group, owner, user };
            self.changes.push_back(Change::Request(Box::new(QueueRequest::Add(Box::new(job)))));
        }
        drop(before);
        (self.is_kept, self.open_at, self.last_problem) = (true, None, None);
        self.lock = EngineLock::beside(Some(&path));
        self.is_recovery_due = self.lock.is_held();
        self.begin();
        self.write_changes();
        Ok(true)
    }

    /// Removes pictures that no job needs any more.
    fn clean(&mut self) {
        let is_due = self.cleaned.is_none_or(|cleaned| cleaned.elapsed() >= SOURCE_AGE);
        if !is_due || !self.lock.is_held() || !self.is_kept {
            return;
        }
        self.cleaned = Some(Instant::now());
        if let (Some(folder), Ok(jobs), Ok(true)) = (&self.options.sources, self.database.jobs(), self.database.is_restored()) {
            let recipes: Vec<&Recipe> = jobs.iter().map(|job| &*job.recipe).chain(self.unwritten_recipes()).collect();
            sources::remove_unused(folder, recipes.iter().copied(), SOURCE_AGE);
            if let Err(error) = clean_made_from(&self.database, &recipes, MADE_FROM_AGE) {
                tracing::warn!("what pictures were made from is not looked through: {error}");
            }
        }
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
        // What was decided may decide more: a job that begins makes room for the next.
        while is_changed {
            self.refresh();
            let acted = self.look_for_models(false).and_then(|_| self.act());
            is_changed = self.value_or_wait(acted).unwrap_or(false);
            if !self.is_blocked() && std::mem::take(&mut self.is_trouble_told) {
                self.last_problem = None;
            }
            self.publish();
        }
    }

    fn message(&mut self, message: Message) -> bool {
        match message {
            Message::Request(request) => {
                self.receive(request);
                true
            }
            Message::Engine(event) => self.engine_event(event),
            Message::Stop => false,
        }
    }

    /// Notices what other processes changed, and tries again what the disk refused.
    fn poll(&mut self) -> bool {
        let is_tried = self.is_try_due();
        if is_tried {
            self.write_changes();
        }
        self.clean();
        let result = (|| {
            let opened = self.open_again()?;
            let took = (!self.lock.is_held() || self.is_recovery_due) && self.take_lock()?;
            let version = self.database.data_version()?;
            let changed = std::mem::replace(&mut self.data_version, version) != version;
            let waits = self.jobs.iter().any(|job| job.wanted_model.is_some() && job.state == JobState::Waiting);
            let looks = waits && self.looked_for_models.is_none_or(|looked| looked.elapsed() >= MODEL_INTERVAL);
            // While a picture beside the queue is awaited, the turn of others comes with the time.
            let turns = self.awaited.is_some() && self.jobs.iter().any(|job| job.state == JobState::Waiting && !job.owner.is_person());
            Ok(opened | took | changed | turns | (looks && self.look_for_models(true)?))
        })();
        self.value_or_wait(result).unwrap_or(false) | is_tried
    }

    /// Takes the right to run the queue where it is free, and sets right what the process before
    /// left. Returns true if it was taken now.
    fn take_lock(&mut self) -> Result<bool, GalleryError> {
        let control = self.database.queue_control()?;
        if !self.lock.is_held() {
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
            self.is_recovery_due = true;
        }
        if !self.is_recovery_due {
            return Ok(false);
        }
        self.polls_of_free_lock = 0;
        if control.is_wanted {
            self.database.set_queue_wanted(false)?;
        }
        let recovery = self.database.recover_queue(self.lock.last_end())?;
        if !recovery.found.is_empty() {
            tracing::info!("pictures written before the program ended, and in the index now: {}", recovery.found.len());
        }
        if self.options.crashed == CrashedJobs::BeginAgain {
            for job in self.database.jobs()?.iter().filter(|job| job.is_question()) {
                self.database.retry_job(job.id)?;
            }
        }
        self.database.compact_queue_journal()?;
        self.is_recovery_due = false;
        self.lock.mark();
        Ok(true)
    }

    /// True where this process may give jobs to the engine.
    pub(super) fn is_owner(&self) -> bool {
        self.lock.is_held() && !self.is_recovery_due
    }

    /// Reads the queue, unless it is as it was read last: each step of a picture comes by here, and a
    /// long list takes milliseconds.
    pub(super) fn reload(&mut self) -> Result<(), GalleryError> {
        let version = self.database.version()?;
        if self.shown != Some(version) {
            self.jobs = self.database.jobs()?;
            self.control = self.database.queue_control()?;
            self.shown = Some(version);
        }
        Ok(())
    }

    /// Gives files to jobs whose model has come. Returns true if there was one.
    pub(super) fn look_for_models(&mut self, always: bool) -> Result<bool, GalleryError> {
        let Some(models) = self.options.models.clone().filter(|_| always || self.looked_for_models.is_none()) else { return Ok(false) };
        let mut has_come = false;
        for job in self.jobs.iter().filter(|job| matches!(job.state, JobState::Waiting | JobState::Held)) {
            let Some(found) = job.wanted_model.as_deref().and_then(|name| models.find(name)) else { continue };
            let mut recipe = Recipe::clone(&job.recipe);
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

    pub(super) fn situation<'a>(&'a self, active: &'a [super::policy::ActiveState]) -> Situation<'a> {
        Situation {
            jobs: &self.jobs,
            active,
            resident: &self.resident,
            pause: self.control.pause,
            follows_model: self.control.follows_model,
            is_owner: self.is_owner(),
            is_awaited: self.awaited.is_some(),
            is_blocked: self.is_blocked(),
            moved_up: &self.moved_up,
            shares: &self.shares,
            paces: &self.paces,
        }
    }

    /// Carries out what the state of the queue asks for. Returns true if the state has changed by
    /// that.
    fn act(&mut self) -> Result<bool, GalleryError> {
        self.stop_what_must_stop();
        let is_wanted = self.control.is_wanted && !self.options.is_window;
        if is_wanted && self.active.is_empty() && self.lock.is_held() {
            self.polls_of_free_lock = 0;
            // The window wants the memory for its own.
            if let Err(busy) = self.engine.unload() {
                tracing::warn!("the models stay in memory: {busy}");
            }
            self.lock.release();
            return Ok(true);
        }
        if self.is_ending || !self.is_owner() {
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
        } else if is_wanted || self.is_blocked() || self.control.pause == PauseMode::AfterPicture {
            let unbegun: Vec<_> = self.active.values().filter(|active| active.begin.is_none()).map(|active| active.id).collect();
            for id in unbegun {
                self.stop(id, StopReason::Suspended);
            }
            for active in self.active.values_mut() {
                active.stops_after_picture = active.has_more_pictures();
            }
        } else {
            // The pause was over before the picture was; the policy suspends for other reasons
            // again.
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
        let Some(job) = self.jobs.iter().find(|job| job.id == id).cloned() else { return Ok(false) };
        if !self.database.start_job(id)? {
            return Ok(true);
        }
        let Some(pictures) = job.missing_pictures() else {
            // A cancelled job that has all its pictures and was asked for again: it would stand in
            // the way of all others.
            self.write(Change::Outcome(id, JobOutcome::Done));
            return Ok(true);
        };
        let device = job.device.clone();
        let mut recipe = job.recipe_of(&pictures);
        let wanted = recipe.clone();
        let of_studio = StudioModel::of_job(device.as_deref(), &job.model);
        if let Some(device) = &device {
            recipe.placement = PlacementText { backend: device.clone(), ..PlacementText::default() };
        }
        let preview = serde_json::from_str(&job.preview).unwrap_or(PreviewOptions::Off);
        if moved_up && let Err(error) = self.database.mark_moved_up(id) {
            tracing::warn!("job {id} went before others, which was not noted: {error}");
        }
        let passed = self.moved_up.entry((job.owner.clone(), job.user, device)).or_default();
        *passed = if moved_up { *passed + 1 } else { 0 };
        if let Some(model) = of_studio {
            self.submit_to_studio(&job, model, pictures, wanted);
            return Ok(true);
        }
        let shares_steps = job.group.is_some();
        let (events, active) = (&self.events, &mut self.active);
        let mut engine_job = None;
        let submitted = self.engine.submit_announced(Task::Generate { recipe: Box::new(recipe), preview, shares_steps }, |number| {
            engine_job = Some(number);
            active.insert(number, ActiveJob::new(id, pictures));
            events.send(QueueEvent::Submitted { engine_job: number, job: id, owner: job.owner, recipe: Box::new(wanted) });
        });
        if let (Err(busy), Some(engine_job)) = (submitted, engine_job) {
            self.active.remove(&engine_job);
            let outcome = match busy {
                Busy::Gone => JobOutcome::Held(format!("{busy}")),
                Busy::Full => JobOutcome::Withdrawn,
            };
            self.events.send(QueueEvent::NotSubmitted { engine_job, reason: busy.to_string() });
            self.write(Change::Outcome(id, outcome));
            return Ok(false);
        }
        Ok(true)
    }

    /// Counts the picture that the engine is now at for the owner of its job.
    pub(super) fn charge_picture(&mut self, id: QueuedJobId) {
        if let Some(job) = self.jobs.iter().find(|job| job.id == id) {
            let secs = self.shares.charge_picture(job, &self.paces);
            if let Some(active) = self.active.values_mut().find(|active| active.id == id) {
                active.note_charge(secs, Instant::now());
            }
        }
    }

    /// Returns true if the state of the queue has changed by an event.
    fn engine_event(&mut self, event: Event) -> bool {
        self.forward(&event);
        match event {
            Event::Begin { job, begin } => {
                let Some(active) = self.active.get_mut(&job) else { return false };
                let first_seed = begin.seeds.first().map_or(Seed::default(), |seed| seed.before(u64::from(active.pictures.start)));
                active.begin(begin);
                let id = active.id;
                self.charge_picture(id);
                self.write(Change::Begin(id, first_seed));
            }
            Event::Step { job, step } => {
                let Some(active) = self.active.get_mut(&job) else { return false };
                let is_first_pace = active.first_pace().is_none();
                let Some(noted) = active.step(step, Instant::now()) else { return is_first_pace && active.first_pace().is_some() };
                let id = active.id;
                self.write(Change::Step(id, noted));
            }
            Event::Picture { job, picture } => self.picture(job, picture),
            Event::Waiting { job, behind } => {
                let Some(active) = self.active.get_mut(&job) else { return false };
                active.behind = behind;
            }
            Event::Residency(residency) => self.resident = residency.models.into_iter().map(|model| model.files).collect(),
            Event::End { job, end } => self.engine_end(job, end),
            _ => return false,
        }
        true
    }

    /// Tells those that connected what the engine does.
    fn forward(&self, event: &Event) {
        let Some(active) = event.job().and_then(|job| self.active.get(&job)) else { return };
        let first = active.pictures.start;
        let progress = match event {
            Event::Begin { begin, .. } => JobProgress::Begin(Box::new(begin.clone())),
            Event::Step { step, .. } => JobProgress::Step(Step { picture: step.picture + first, ..*step }),
            Event::Preview { preview, .. } => JobProgress::Preview(Preview { picture: preview.picture + first, ..preview.clone() }),
            Event::End { end: End::Failed(failure), .. } => JobProgress::Failed(Box::new(failure.clone())),
            _ => return,
        };
        let (id, kind) = (active.id, std::mem::discriminant(&progress));
        let outdates = |unread: &QueueEvent| {
            let QueueEvent::Progress { job, progress } = unread else { return false };
            *job == id && std::mem::discriminant(progress) == kind
        };
        self.events.send_to_subscribers(&QueueEvent::Progress { job: id, progress }, outdates);
    }

    /// What runs goes on at the next start.
    fn end(&mut self) {
        for (engine_job, active) in std::mem::take(&mut self.active) {
            self.engine.cancel(engine_job);
            self.changes.push_back(Change::Outcome(active.id, JobOutcome::Suspended));
        }
        self.write_changes();
        // Once all of them are dropped, nobody keeps the other end.
        self.studio_jobs = channel().0;
        let _ = self.studio_jobs_ended.recv_timeout(GOODBYE_WITHIN);
        if !self.changes.is_empty() {
            tracing::warn!("{} changes of the queue were not written; the next start sets it right", self.changes.len());
        }
        self.lock.release();
    }

    /// The value, or a problem for the person.
    pub(super) fn report<T>(&mut self, result: Result<T, GalleryError>) -> Option<T> {
        result.inspect_err(|error| self.problem_of(error)).ok()
    }

    pub(super) fn problem_of(&mut self, error: &GalleryError) {
        let hint = if error.is_temporary() { tr!("studio-free-some-disk-space-the-queue") } else { tr!("studio-try-again-if-the") };
        self.problem(Advice::new(tr!("studio-the-queue", error), hint));
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

/// Removes what pictures were made from where neither a picture of the index nor a job names it any
/// more. Folders that were not looked through to their end are left alone: a picture of theirs may
/// not be known yet. Blocks.
pub(super) fn clean_made_from(database: &Database, jobs: &[&Recipe], least_age: Duration) -> Result<(), GalleryError> {
    let folders = database.folders()?.into_iter().filter(|folder| folder.kind == FolderKind::Own && folder.is_scanned);
    for folder in folders {
        let old = made_from::old_names(&folder.path, least_age);
        if old.is_empty() {
            continue;
        }
        let mut used = database.names_in_recipes(&old)?;
        used.extend(
            jobs.iter().flat_map(|recipe| sources::files_of(recipe)).filter_map(|path| path.file_name()?.to_str().map(str::to_owned)),
        );
        made_from::remove(&folder.path, old.difference(&used));
    }
    Ok(())
}
