//! What is to be written to the disk, in order. What the disk does not take now stays in memory and
//! is tried again, so no event of the engine and no request is lost to a full disk; until then the
//! listing shows jobs as they will be.

use std::time::{Duration, Instant};

use atelier_core::advice::Advice;
use atelier_engine::{End, JobId, Picture};
use atelier_gallery::GalleryError;
use atelier_gallery::queue::{JobOutcome, JobState, Owner, Pace, PauseMode, QueuedJob, QueuedJobId};
use atelier_language::tr;

use super::active::{ActiveJob, StopReason};
use super::change::{Change, DiskTrouble, EndedRun, UnkeptPicture};
use super::keep::{KeepError, keep_picture};
use super::message::{EndedJob, QueueEvent, QueueRequest};
use super::predict::place_of;
use super::worker::Worker;

/// Time between two tries to write to a disk that takes nothing.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Characters of a prompt in messages.
const PROMPT_CHARACTERS: usize = 60;

impl Worker {
    /// True while something is to be written that the disk does not take.
    pub(super) const fn is_blocked(&self) -> bool {
        self.disk_trouble.is_some()
    }

    /// True where a try is due.
    pub(super) fn is_try_due(&self) -> bool {
        self.disk_trouble.as_ref().is_some_and(|trouble| Instant::now() >= trouble.next_try)
    }

    /// Writes this, behind what is to be written before it.
    pub(super) fn write(&mut self, change: Change) {
        self.changes.push_back(change);
        // Behind what was refused it would only be refused too.
        if !self.is_blocked() {
            self.write_changes();
        }
    }

    /// Writes what is to be written, up to what the disk refuses.
    pub(super) fn write_changes(&mut self) {
        self.disk_trouble = None;
        while let Some(mut change) = self.changes.pop_front() {
            let Err(error) = self.write_change(&mut change) else { continue };
            // What the engine did is kept in any case: whoever follows it waits for its end. A
            // request may be one that nobody can carry out.
            if !blocks(&error) || (matches!(change, Change::Request(_)) && !error.is_temporary()) {
                self.problem_of(&error);
                if let Change::Request(request) = &change
                    && let QueueRequest::AddFor(ticket, _) = &**request
                {
                    let advice = Advice::new(tr!("studio-the-job-was-not", error), "");
                    self.events.send(QueueEvent::Added { ticket: *ticket, job: Err(advice) });
                }
                continue;
            }
            self.changes.push_front(change);
            self.wait_for_disk(&error);
            return;
        }
    }

    /// Tells that the disk takes nothing, once, and tries again later.
    pub(super) fn wait_for_disk(&mut self, error: &GalleryError) {
        self.disk_trouble = Some(DiskTrouble { next_try: Instant::now() + RETRY_INTERVAL });
        if std::mem::replace(&mut self.is_trouble_told, true) {
            return;
        }
        let hint = if error.is_damage() {
            tr!("studio-restart-atelier-the-index")
        } else if self.options.is_window {
            tr!("studio-free-some-disk-space-unsaved-changes")
        } else {
            tr!("studio-free-some-disk-space")
        };
        self.problem(Advice::new(tr!("studio-the-queue-cannot-be", error), hint));
    }

    /// The value; where the database refuses, nothing begins until it no longer does.
    pub(super) fn value_or_wait<T>(&mut self, result: Result<T, GalleryError>) -> Option<T> {
        match result {
            Err(error) if blocks(&error) => {
                self.wait_for_disk(&error);
                None
            }
            result => self.report(result),
        }
    }

    fn write_change(&mut self, change: &mut Change) -> Result<(), GalleryError> {
        match change {
            Change::Request(request) => self.request(request),
            Change::Begin(id, first_seed) => self.database.begin_job(*id, *first_seed),
            Change::Step(id, step) => self.database.note_step(*id, *step),
            Change::Picture(unkept) => self.keep(unkept),
            Change::End(ended) => self.write_end(ended),
            Change::Outcome(id, outcome) => self.database.end_job(*id, outcome).map(drop),
            Change::Pause(pause) => self.database.set_queue_pause(*pause),
        }
    }

    /// A picture that the engine made.
    pub(super) fn picture(&mut self, engine_job: JobId, picture: Picture) {
        let Some(active) = self.active.get_mut(&engine_job) else { return };
        active.count_picture();
        let (id, index) = (active.id, active.pictures.start + picture.info.index);
        let made_on = active.remote.as_ref().map(|run| run.made_on(picture.info.index));
        if active.has_more_pictures() && active.stop.is_none() && !active.stops_after_picture {
            self.charge_picture(id);
        }
        self.write(Change::Picture(Box::new(UnkeptPicture { engine_job, id, index, picture, made_on, is_told: false })));
        let is_blocked = self.is_blocked();
        let Some(active) = self.active.get_mut(&engine_job) else { return };
        if (is_blocked || active.stops_after_picture) && active.has_more_pictures() && active.stop.is_none() {
            active.stop = Some(StopReason::Suspended);
            self.engine.cancel(engine_job);
        }
        if is_blocked && let Some(Change::Picture(unkept)) = self.changes.iter_mut().rfind(|it| matches!(it, Change::Picture(_))) {
            // It waits behind another one, which was told.
            if !std::mem::replace(&mut unkept.is_told, true) {
                let (index, result) = (unkept.picture.info.index, Err(KeepError::waits()));
                // One that is gone belongs to nobody else.
                let owner = self.jobs.iter().find(|job| job.id == id).map_or_else(Owner::person, |job| job.owner.clone());
                self.events.send(QueueEvent::PictureKept { engine_job, owner, index, result });
            }
        }
    }

    fn keep(&mut self, unkept: &mut UnkeptPicture) -> Result<(), GalleryError> {
        let Some(job) = self.database.job(unkept.id)? else { return Ok(()) };
        let (engine_job, index, owner) = (unkept.engine_job, unkept.picture.info.index, job.owner.clone());
        let sources = self.sources();
        match keep_picture(&mut self.database, &job, (unkept.index, unkept.made_on.as_ref()), &unkept.picture, &sources) {
            Ok(kept) => self.events.send(QueueEvent::PictureKept { engine_job, owner, index, result: Ok(kept) }),
            Err(KeepError { advice, error: Some(error) }) => {
                if !std::mem::replace(&mut unkept.is_told, true) {
                    self.events.send(QueueEvent::PictureKept { engine_job, owner, index, result: Err(advice) });
                }
                return Err(error);
            }
            Err(KeepError { advice, error: None }) => {
                // The next ones could not be kept either.
                self.hold(engine_job, unkept.id, &advice);
                self.changes.push_front(Change::Pause(PauseMode::AfterPicture));
                self.events.send(QueueEvent::PictureKept { engine_job, owner, index, result: Err(advice) });
            }
        }
        Ok(())
    }

    /// Lets a job wait for a person whose pictures cannot be kept.
    fn hold(&mut self, engine_job: JobId, id: QueuedJobId, advice: &Advice) {
        let ended = self.changes.iter_mut().filter_map(|it| if let Change::End(ended) = it { Some(&mut ended.active) } else { None });
        for active in self.active.values_mut().chain(ended).filter(|active| active.id == id) {
            active.keep_error = Some(advice.clone());
        }
        self.engine.cancel(engine_job);
    }

    /// The engine ended a job.
    pub(super) fn engine_end(&mut self, engine_job: JobId, end: End) {
        let Some(active) = self.active.remove(&engine_job) else { return };
        let id = active.id;
        if let Some(job) = self.jobs.iter().find(|job| job.id == id) {
            self.shares.refund(job, active.unspent_secs(Instant::now()));
        }
        self.write(Change::End(Box::new(EndedRun { active, end, is_told: false })));
        if self.is_blocked() {
            // It is told all the same, as it will be.
            self.refresh();
            let state = self.jobs.iter().find(|job| job.id == id).map(|job| job.state);
            if let Some(Change::End(ended)) = self.changes.iter().rfind(|it| matches!(it, Change::End(ended) if ended.active.id == id))
                && let Some(event) = state.and_then(|state| self.ended(ended, state))
            {
                self.events.send(QueueEvent::Ended(event));
                if let Some(Change::End(ended)) =
                    self.changes.iter_mut().rfind(|it| matches!(it, Change::End(ended) if ended.active.id == id))
                {
                    ended.is_told = true;
                }
            }
        }
    }

    fn write_end(&mut self, ended: &EndedRun) -> Result<(), GalleryError> {
        let EndedRun { active, end, .. } = ended;
        let Some(job) = self.database.job(active.id)? else { return Ok(()) };
        let state = self.database.end_job(active.id, &active.outcome(end, &job))?.unwrap_or(job.state);
        if let Some(pace) = pace_of(active, end, &job)
            && let Err(error) = self.database.record_pace(&job.model, place_of(&job), &pace)
        {
            tracing::warn!("the pace of {} was not noted: {error}", job.model);
        }
        for (_, request) in self.deferred.extract_if(.., |(id, _)| *id == active.id).collect::<Vec<_>>() {
            self.changes.push_back(Change::Request(Box::new(request)));
        }
        self.refresh();
        if !ended.is_told
            && let Some(event) = self.ended(ended, state)
        {
            self.events.send(QueueEvent::Ended(event));
        }
        Ok(())
    }

    /// The event about a job that has ended or is held; `None` for one that goes on later.
    fn ended(&self, ended: &EndedRun, state: JobState) -> Option<EndedJob> {
        if !state.is_ended() && state != JobState::Held {
            return None;
        }
        let job = self.jobs.iter().find(|job| job.id == ended.active.id)?;
        Some(EndedJob {
            job: job.id,
            state,
            prompt: job.recipe.prompt.chars().take(PROMPT_CHARACTERS).collect(),
            pictures: job.pictures.len(),
            secs: ended.active.began.map_or(0.0, |began| began.elapsed().as_secs_f64()),
            is_last: !self.jobs.iter().any(|it| it.owner == job.owner && matches!(it.state, JobState::Waiting | JobState::Running)),
            owner: job.owner.clone(),
            reason: job.reason.clone(),
        })
    }

    /// Shows jobs as they will be once everything is written.
    pub(super) fn show_unwritten(&mut self) {
        if self.changes.is_empty() {
            return;
        }
        self.shown = None;
        let unkept: Vec<QueuedJobId> =
            self.changes.iter().filter_map(|it| if let Change::Picture(unkept) = it { Some(unkept.id) } else { None }).collect();
        let (jobs, control) = (&mut self.jobs, &mut self.control);
        for change in &self.changes {
            match change {
                Change::Request(request) => show_request(request, jobs, &mut control.pause),
                Change::Pause(pause) => control.pause = *pause,
                Change::Step(id, step) => jobs.iter_mut().filter(|job| job.id == *id).for_each(|job| job.progress = Some(*step)),
                Change::End(ended) => {
                    if let Some(job) = jobs.iter_mut().find(|job| job.id == ended.active.id) {
                        let outcome = ended.active.outcome(&ended.end, job);
                        // It is done once its pictures are kept.
                        let outcome = if unkept.contains(&job.id) && outcome == JobOutcome::Done { JobOutcome::Suspended } else { outcome };
                        show_outcome(job, &outcome);
                    }
                }
                Change::Outcome(id, outcome) => jobs.iter_mut().filter(|job| job.id == *id).for_each(|job| show_outcome(job, outcome)),
                Change::Begin(..) | Change::Picture(_) => {}
            }
        }
    }

    /// Recipes of jobs that are not on the disk yet.
    pub(super) fn unwritten_recipes(&self) -> impl Iterator<Item = &atelier_core::recipe::Recipe> {
        self.changes.iter().filter_map(|it| match it {
            Change::Request(request) => match &**request {
                QueueRequest::Add(job) | QueueRequest::AddFor(_, job) => Some(&job.recipe),
                _ => None,
            },
            _ => None,
        })
    }
}

/// True where the database refuses everything, for now or for good.
fn blocks(error: &GalleryError) -> bool {
    error.is_temporary() || matches!(error, GalleryError::Database(_))
}

fn show_outcome(job: &mut QueuedJob, outcome: &JobOutcome) {
    let (state, reason) = match outcome {
        JobOutcome::Done => (JobState::Done, None),
        JobOutcome::Cancelled => (JobState::Cancelled, None),
        JobOutcome::Failed(reason) => (JobState::Failed, Some(reason.clone())),
        JobOutcome::Held(reason) => (JobState::Held, Some(reason.clone())),
        JobOutcome::Suspended | JobOutcome::Withdrawn if job.missing_pictures().is_none() => (JobState::Done, None),
        JobOutcome::Suspended | JobOutcome::Withdrawn => (JobState::Waiting, None),
    };
    if job.state == JobState::Running {
        (job.state, job.reason, job.cancel_requested) = (state, reason, false);
    }
}

fn show_request(request: &QueueRequest, jobs: &mut [QueuedJob], pause: &mut PauseMode) {
    let cancel = |job: &mut QueuedJob, also_running: bool| match job.state {
        JobState::Waiting | JobState::Held => (job.state, job.reason) = (JobState::Cancelled, None),
        JobState::Running => job.cancel_requested |= also_running,
        JobState::Done | JobState::Failed | JobState::Cancelled => {}
    };
    match request {
        QueueRequest::Cancel(id) => jobs.iter_mut().filter(|job| job.id == *id).for_each(|job| cancel(job, true)),
        QueueRequest::CancelWaiting => jobs.iter_mut().for_each(|job| cancel(job, false)),
        QueueRequest::CancelAll => jobs.iter_mut().for_each(|job| cancel(job, true)),
        QueueRequest::SetPause(wanted) => *pause = *wanted,
        _ => {}
    }
}

/// The pace that a job shows which was done here and computed all of its steps, as branches and
/// drafts do not.
fn pace_of(active: &ActiveJob, end: &End, job: &QueuedJob) -> Option<Pace> {
    match end {
        End::Done { timings, .. }
            if active.remote.is_none() && job.recipe.earlier_steps.is_empty() && job.recipe.draft_step().is_none() =>
        {
            active.pace(timings)
        }
        _ => None,
    }
}
