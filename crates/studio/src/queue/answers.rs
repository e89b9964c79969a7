//! Requests to the queue, carried out.

use std::time::Instant;

use atelier_core::advice::Advice;
use atelier_gallery::GalleryError;
use atelier_gallery::queue::{JobState, NewJob, QueuedJobId};
use atelier_language::tr;

use super::active::StopReason;
use super::change::Change;
use super::message::{CrashAnswer, QueueEvent, QueueRequest};
use super::sources::write_pixels;
use super::worker::Worker;

impl Worker {
    /// Carries a request out: what needs no disk at once, the rest in its order.
    pub(super) fn receive(&mut self, request: QueueRequest) {
        match request {
            QueueRequest::SetPredictedPace { model, place, pace: Some(pace) } => drop(self.predicted_paces.insert((model, place), pace)),
            QueueRequest::SetPredictedPace { model, place, pace: None } => drop(self.predicted_paces.remove(&(model, place))),
            QueueRequest::SetAwaited(is_awaited) => {
                self.note_turns();
                self.awaited = is_awaited.then(Instant::now);
            }
            QueueRequest::StopForEnd => self.is_ending = true,
            request => self.write(Change::Request(Box::new(request))),
        }
    }

    /// Carries a request out; one about a job that cannot be changed any more changes nothing.
    pub(super) fn request(&mut self, request: &mut QueueRequest) -> Result<(), GalleryError> {
        // One that the engine has and has not begun is given back first.
        if let QueueRequest::Move(id, _) | QueueRequest::Edit(id, ..) | QueueRequest::SetDevice(id, _) = &*request
            && self.active.values().any(|active| active.id == *id && active.begin.is_none())
        {
            let id = *id;
            self.deferred.push((id, request.clone()));
            self.stop(id, StopReason::Suspended);
            return Ok(());
        }
        match request {
            QueueRequest::Add(job) => {
                if let Err(advice) = self.add(job)? {
                    self.problem(advice);
                }
            }
            QueueRequest::AddFor(ticket, job) => {
                let job = self.add(job)?;
                self.events.send(QueueEvent::Added { ticket: *ticket, job });
            }
            QueueRequest::Cancel(id) => self.cancel(*id)?,
            QueueRequest::CancelWaiting => {
                self.cancel_unbegun();
                self.database.cancel_waiting_jobs()?;
            }
            QueueRequest::CancelAll => {
                self.database.cancel_waiting_jobs()?;
                self.reload()?;
                for id in self.jobs.iter().filter(|job| job.state == JobState::Running).map(|job| job.id).collect::<Vec<_>>() {
                    self.cancel(id)?;
                }
            }
            QueueRequest::Retry(id) => drop(self.database.retry_job(*id)?),
            QueueRequest::Duplicate(id) => drop(self.database.duplicate_job(*id)?),
            QueueRequest::Move(id, before) => drop(self.database.move_job(*id, *before)?),
            QueueRequest::Edit(id, recipe, model) => drop(self.database.edit_job(*id, recipe, model)?),
            QueueRequest::SetDevice(id, device) => drop(self.database.set_job_device(*id, device.as_deref())?),
            QueueRequest::SetPause(pause) => self.database.set_queue_pause(*pause)?,
            QueueRequest::SetFollowsModel(follows) => self.database.set_follows_model(*follows)?,
            QueueRequest::AnswerCrash(answer) => self.answer_crash(*answer)?,
            QueueRequest::ForgetEnded => drop(self.database.forget_ended_jobs()?),
            QueueRequest::LookForModels => drop(self.look_for_models(true)?),
            // Carried out as it came.
            QueueRequest::SetPredictedPace { .. } | QueueRequest::SetAwaited(_) | QueueRequest::StopForEnd => {}
        }
        Ok(())
    }

    /// The number of the added job, or why it cannot be added.
    fn add(&mut self, job: &mut NewJob) -> Result<Result<QueuedJobId, Advice>, GalleryError> {
        if let Err(error) = write_pixels(&mut job.recipe, &self.sources()) {
            let error = GalleryError::from(error);
            if error.is_temporary() {
                return Err(error);
            }
            return Ok(Err(Advice::new(error.to_string(), tr!("studio-check-that-the-folder"))));
        }
        if let (Some(models), Some(name)) = (&self.options.models, &job.wanted_model)
            && let Some(defaults) = models.defaults(name)
        {
            defaults.apply(&mut job.recipe);
        }
        let id = self.database.add_job(job)?;
        if job.wanted_model.is_some() {
            // It may have come meanwhile.
            self.reload()?;
            self.look_for_models(true)?;
        }
        Ok(Ok(id))
    }

    fn cancel(&mut self, id: QueuedJobId) -> Result<(), GalleryError> {
        self.database.cancel_job(id)?;
        self.stop(id, StopReason::Cancelled);
        Ok(())
    }

    /// Cancels the jobs that the engine has and has not begun, where it is at another one.
    fn cancel_unbegun(&mut self) {
        if self.active.values().any(|active| active.begin.is_some()) {
            let unbegun: Vec<_> = self.active.values().filter(|active| active.begin.is_none()).map(|active| active.id).collect();
            for id in unbegun {
                self.stop(id, StopReason::Cancelled);
            }
        }
    }

    fn answer_crash(&mut self, answer: CrashAnswer) -> Result<(), GalleryError> {
        let questions: Vec<_> = self.jobs.iter().filter(|job| job.is_question()).map(|job| job.id).collect();
        match answer {
            CrashAnswer::BeginAgain => {
                for id in questions {
                    self.database.retry_job(id)?;
                }
            }
            CrashAnswer::Leave => self.database.leave_held_jobs(tr!("studio-the-job-waits-until"))?,
            CrashAnswer::Cancel => {
                for id in questions {
                    self.database.cancel_job(id)?;
                }
            }
        }
        Ok(())
    }
}
