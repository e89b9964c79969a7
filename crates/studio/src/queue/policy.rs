//! Which job is next, and why the others wait. Pure.
//!
//! What a person waits for goes before batches. Each device that jobs are pinned to, and all others
//! together, has at most one job that the engine has and has not begun: so devices overlap, and the
//! order of the rest can be changed. Within the batch lane a job whose model is in memory may go
//! before others, but never before one that a person put in its place, and not without end.

use std::collections::{BTreeMap, BTreeSet};

use atelier_core::recipe::ModelFiles;
use atelier_gallery::queue::{JobState, Lane, PauseMode, QueuedJob, QueuedJobId};

use super::message::WaitReason;

/// Jobs that are looked at for one whose model is in memory.
const LOOK_AHEAD: usize = 32;
/// Jobs in a row that may go before the first because of their model.
const MAX_MOVED_UP: usize = 16;

/// State of the queue, as far as the choice depends on it.
pub(super) struct Situation<'a> {
    /// Jobs in their order.
    pub(super) jobs: &'a [QueuedJob],
    /// Jobs that the engine has.
    pub(super) active: &'a [ActiveState],
    pub(super) resident: &'a [ModelFiles],
    pub(super) pause: PauseMode,
    pub(super) follows_model: bool,
    /// This process runs the queue.
    pub(super) is_owner: bool,
    /// A person waits for a picture that is not in the queue.
    pub(super) is_awaited: bool,
    /// The disk takes nothing now.
    pub(super) is_blocked: bool,
    /// Jobs in a row that went before the first of their lane, by device.
    pub(super) moved_up: &'a BTreeMap<Option<String>, usize>,
}

/// A job that the engine has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ActiveState {
    pub(super) id: QueuedJobId,
    pub(super) has_begun: bool,
    /// It ends soon, whatever comes.
    pub(super) is_stopping: bool,
    /// Names of models whose memory it waits for.
    pub(super) behind: Vec<String>,
}

/// What is to be done with the engine now.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Decision {
    /// Jobs that the engine gets, with true where one went before others because of its model.
    pub(super) start: Vec<(QueuedJobId, bool)>,
    /// Jobs that the engine has not begun and is to give back.
    pub(super) withdraw: Vec<QueuedJobId>,
    /// Jobs that stop behind the forming picture: a person waits for another one.
    pub(super) suspend: Vec<QueuedJobId>,
}

impl Situation<'_> {
    fn active(&self, id: QueuedJobId) -> Option<&ActiveState> {
        self.active.iter().find(|it| it.id == id)
    }

    fn is_asking(&self) -> bool {
        self.jobs.iter().any(QueuedJob::is_question)
    }

    /// Waiting jobs that could begin, in their order.
    fn candidates(&self) -> impl Iterator<Item = &QueuedJob> {
        let holds_batches = self.is_asking() || self.is_awaited;
        self.jobs
            .iter()
            .filter(move |job| job.state == JobState::Waiting && job.wanted_model.is_none() && !(holds_batches && job.lane == Lane::Batch))
    }

    pub(super) fn decide(&self) -> Decision {
        let mut decision = Decision::default();
        let unbegun = || self.jobs.iter().filter(|job| self.active(job.id).is_some_and(|it| !it.has_begun && !it.is_stopping));
        if !self.is_owner || self.is_blocked || self.pause != PauseMode::No {
            // Behind a pause nothing begins, not even what the engine has already.
            decision.withdraw.extend(unbegun().map(|job| job.id));
            return decision;
        }
        if self.is_awaited {
            decision.withdraw.extend(unbegun().filter(|job| job.lane == Lane::Batch).map(|job| job.id));
        }
        let devices: BTreeSet<&Option<String>> = self.candidates().map(|job| &job.device).collect();
        for device in devices {
            let mut candidates = self.candidates().filter(|job| job.device == *device);
            let Some(first) = candidates.next() else { continue };
            let next = unbegun().find(|job| job.device == *device);
            let position = |id: QueuedJobId| self.jobs.iter().position(|job| job.id == id);
            match next {
                Some(next) => {
                    let is_overtaken = first.lane < next.lane || (first.is_placed && position(first.id) < position(next.id));
                    if is_overtaken {
                        decision.withdraw.push(next.id);
                    }
                }
                // One that is given back is still there until the engine says so.
                None if self.active.iter().any(|it| !it.has_begun && self.device_of(it.id) == Some(device)) => {}
                None => {
                    let chosen = self.with_model_in_memory(first, candidates).unwrap_or(first);
                    decision.start.push((chosen.id, chosen.id != first.id));
                }
            }
        }
        let awaited: BTreeSet<&Option<String>> =
            self.candidates().chain(unbegun()).filter(|job| job.lane == Lane::Interactive).map(|job| &job.device).collect();
        let in_the_way = self.jobs.iter().filter(|job| {
            let is_at_work = self.active(job.id).is_some_and(|it| it.has_begun && !it.is_stopping);
            job.lane == Lane::Batch && (self.is_awaited || awaited.contains(&job.device)) && is_at_work
        });
        decision.suspend.extend(in_the_way.map(|job| job.id));
        decision
    }

    fn device_of(&self, id: QueuedJobId) -> Option<&Option<String>> {
        self.jobs.iter().find(|job| job.id == id).map(|job| &job.device)
    }

    /// A job that goes before the first one of the batch lane because its model is in memory and
    /// the first one's is not.
    fn with_model_in_memory<'a>(&self, first: &'a QueuedJob, others: impl Iterator<Item = &'a QueuedJob>) -> Option<&'a QueuedJob> {
        let passed = self.moved_up.get(&first.device).copied().unwrap_or_default();
        if !self.follows_model || first.lane != Lane::Batch || first.is_placed || passed >= MAX_MOVED_UP {
            return None;
        }
        let in_use = self.jobs.iter().filter(|job| self.active(job.id).is_some_and(|it| it.has_begun)).map(|job| &job.recipe.files);
        let in_memory: Vec<&ModelFiles> = self.resident.iter().chain(in_use).collect();
        if in_memory.contains(&&first.recipe.files) {
            return None;
        }
        others.take(LOOK_AHEAD).take_while(|job| !job.is_placed).find(|job| in_memory.contains(&&job.recipe.files))
    }

    /// True where the engine is not at this job yet. The first one that it has counts as begun in
    /// the moment before it says so.
    pub(super) fn is_waiting(&self, job: &QueuedJob) -> bool {
        match job.state {
            JobState::Waiting | JobState::Held => true,
            JobState::Running => match self.active(job.id) {
                Some(active) => !active.has_begun && self.active.iter().any(|it| it.has_begun),
                None => false,
            },
            JobState::Done | JobState::Failed | JobState::Cancelled => false,
        }
    }

    /// Why a job waits; `before` is the number of jobs in front of it that will be made.
    pub(super) fn reason(&self, job: &QueuedJob, before: usize) -> Option<WaitReason> {
        match job.state {
            JobState::Done | JobState::Failed | JobState::Cancelled => None,
            JobState::Held => Some(WaitReason::Held(job.reason.clone().unwrap_or_else(|| question(job)))),
            JobState::Running => {
                let active = self.active(job.id)?;
                match &active.behind[..] {
                    [] if self.is_waiting(job) => Some(WaitReason::Next),
                    [] => None,
                    models => Some(WaitReason::Memory(models.to_vec())),
                }
            }
            JobState::Waiting => Some(match &job.wanted_model {
                Some(model) => WaitReason::Model(model.clone()),
                None if self.pause != PauseMode::No => WaitReason::Paused,
                None if self.is_blocked => WaitReason::Disk,
                None if !self.is_owner => WaitReason::OtherProcess,
                None if job.lane == Lane::Batch && self.is_asking() => WaitReason::Question,
                None if job.lane == Lane::Batch && self.is_awaited => WaitReason::Live,
                None if before == 0 => WaitReason::Next,
                None if job.lane == Lane::Batch && self.candidates().any(|it| it.lane == Lane::Interactive) => {
                    WaitReason::BehindInteractive(before)
                }
                None => WaitReason::Behind(before),
            }),
        }
    }
}

/// Sentence about a job that ran when the program ended.
fn question(job: &QueuedJob) -> String {
    match job.progress {
        Some(step) if job.picture_count() > 1 => format!(
            "Atelier stopped at step {} of {} of picture {} of {}",
            (step.done + 1).min(step.total),
            step.total,
            step.picture + 1,
            job.picture_count()
        ),
        Some(step) => format!("Atelier stopped at step {} of {}", (step.done + 1).min(step.total), step.total),
        None => "Atelier stopped during generation".into(),
    }
}

#[cfg(test)]
pub(super) mod tests;
