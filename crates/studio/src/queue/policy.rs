//! Which job is next, and why the others wait. Pure.
//!
//! Each device that jobs are pinned to, and all others together, has at most one job that the engine
//! has and has not begun: so devices overlap, and the order of the rest can be changed.
//!
//! Of several owners the one that was given least is next, picture by picture ([`Shares`]); one whose
//! model is in memory may go before it within about the time that loading takes. The users that one
//! owner tells apart take turns likewise with what that owner is given. Among the jobs of one user,
//! what a person waits for goes before batches; a batch whose model is in memory may go before others,
//! but never before one that a person put in its place, and not without end.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use atelier_core::recipe::ModelFiles;
use atelier_engine::JobId;
use atelier_gallery::queue::{JobState, Lane, Owner, PauseMode, QueuedJob, QueuedJobId, User};
use atelier_language::tr;

use super::message::{QueueRow, WaitReason};
use super::predict::{Paces, Prediction, Progressed, can_run, predictions};
use super::shares::Shares;

/// Jobs that are looked at for one whose model is in memory.
const LOOK_AHEAD: usize = 32;
/// Jobs in a row that may go before the first because of their model.
const MAX_MOVED_UP: usize = 16;
/// An owner whose model is in memory may be ahead of the one that is next by so many times the
/// seconds that this one's model takes to load, within these bounds.
const LOADS_AHEAD: f64 = 2.0;
const AHEAD_SECS: RangeInclusive<f64> = 5.0..=120.0;

/// Jobs in a row that went before the first of their user's because of their model, by owner, user
/// and device.
pub(super) type MovedUp = BTreeMap<(Owner, User, Option<String>), usize>;

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
    pub(super) moved_up: &'a MovedUp,
    pub(super) shares: &'a Shares,
    pub(super) paces: &'a Paces,
}

/// A job that the engine has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ActiveState {
    pub(super) id: QueuedJobId,
    pub(super) has_begun: bool,
    /// It ends soon, whatever comes.
    pub(super) is_stopping: bool,
    /// It has pictures to make beyond the forming one.
    pub(super) has_more_pictures: bool,
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
    /// Jobs that stop behind the forming picture: a person waits for another one, or it is somebody
    /// else's turn.
    pub(super) suspend: Vec<QueuedJobId>,
}

impl Situation<'_> {
    fn active(&self, id: QueuedJobId) -> Option<&ActiveState> {
        self.active.iter().find(|it| it.id == id)
    }

    /// True where a person is to answer first what becomes of a job of this owner.
    fn is_asking_about(&self, owner: &Owner) -> bool {
        self.jobs.iter().any(|job| job.is_question() && job.owner == *owner)
    }

    /// True where a picture beside the queue goes before batches of this owner: it belongs to the
    /// person at the machine, who is next as others are.
    fn yields_to_awaited(&self, owner: &Owner) -> bool {
        self.is_awaited && (owner.is_person() || self.shares.turn(&Owner::person()) <= self.shares.turn(owner))
    }

    fn is_held_back(&self, job: &QueuedJob) -> bool {
        job.lane == Lane::Batch && (self.is_asking_about(&job.owner) || self.yields_to_awaited(&job.owner))
    }

    /// Waiting jobs that could begin, in their order.
    fn candidates(&self) -> impl Iterator<Item = &QueuedJob> {
        self.jobs.iter().filter(|job| job.state == JobState::Waiting && job.wanted_model.is_none() && !self.is_held_back(job))
    }

    /// Models that need no loading: in memory, or in use by what has begun.
    fn loaded(&self) -> Vec<&ModelFiles> {
        let in_use = self.jobs.iter().filter(|job| self.active(job.id).is_some_and(|it| it.has_begun)).map(|job| &job.recipe.files);
        self.resident.iter().chain(in_use).collect()
    }

    /// The next job of each owner on this device, in the order in which the owners come up.
    fn next_by_owner<'a>(&'a self, device: Option<&str>, loaded: &[&ModelFiles]) -> Vec<&'a QueuedJob> {
        let mut owners: Vec<&Owner> = Vec::new();
        let mut next = Vec::new();
        for first in self.candidates().filter(|job| job.device.as_deref() == device) {
            if owners.contains(&&first.owner) {
                continue;
            }
            owners.push(&first.owner);
            next.extend(self.next_of(&first.owner, device, loaded));
        }
        next
    }

    /// The next job of an owner on this device: that of the user whose turn it is.
    fn next_of<'a>(&'a self, owner: &Owner, device: Option<&str>, loaded: &[&ModelFiles]) -> Option<&'a QueuedJob> {
        let of_owner = || self.candidates().filter(|job| job.device.as_deref() == device && job.owner == *owner);
        let head = of_owner().next()?;
        // Nothing goes before a job that a person put in its place, nor before the other lane.
        let is_free = |job: &QueuedJob| !head.is_placed && !job.is_placed && job.lane == head.lane;
        let mut users = BTreeSet::new();
        let mut next = Vec::new();
        for first in of_owner().take_while(|job| job.id == head.id || is_free(job)) {
            if users.insert(first.user) {
                let others = of_owner().filter(|job| job.user == first.user).skip(1);
                next.push(self.with_model_in_memory(first, others, loaded).unwrap_or(first));
            }
        }
        self.in_turn(&next, loaded, |job| self.shares.turn_of_user(job))
    }

    /// Of one job for each owner, the one whose turn it is.
    fn owner_in_turn<'a>(&self, contenders: &[&'a QueuedJob], loaded: &[&ModelFiles]) -> Option<&'a QueuedJob> {
        self.in_turn(contenders, loaded, |job| self.shares.turn(&job.owner))
    }

    /// Of one job for each who takes turns, the one whose turn it is.
    fn in_turn<'a>(&self, contenders: &[&'a QueuedJob], loaded: &[&ModelFiles], turn: impl Fn(&QueuedJob) -> f64) -> Option<&'a QueuedJob> {
        let place = |job: &QueuedJob| (turn(job), job.id);
        let before = |one: &&&QueuedJob, other: &&&QueuedJob| {
            let ((turn, id), (other_turn, other_id)) = (place(one), place(other));
            turn.total_cmp(&other_turn).then(id.cmp(&other_id))
        };
        let first = contenders.iter().min_by(before)?;
        if !self.follows_model {
            return Some(first);
        }
        let loads_in = self.paces.of(first).map_or(0.0, |pace| pace.start_secs);
        let limit = place(first).0 + (LOADS_AHEAD * loads_in).clamp(*AHEAD_SECS.start(), *AHEAD_SECS.end());
        let near = contenders.iter().filter(|job| loaded.contains(&&job.recipe.files) && place(job).0 <= limit);
        near.min_by(before).or(Some(first)).copied()
    }

    pub(super) fn decide(&self) -> Decision {
        let mut decision = Decision::default();
        let unbegun = || self.jobs.iter().filter(|job| self.active(job.id).is_some_and(|it| !it.has_begun && !it.is_stopping));
        if !self.is_owner || self.is_blocked || self.pause != PauseMode::No {
            // Behind a pause nothing begins, not even what the engine has already.
            decision.withdraw.extend(unbegun().map(|job| job.id));
            return decision;
        }
        decision.withdraw.extend(unbegun().filter(|job| job.lane == Lane::Batch && self.yields_to_awaited(&job.owner)).map(|job| job.id));
        let loaded = self.loaded();
        let devices: BTreeSet<&Option<String>> = self.candidates().map(|job| &job.device).collect();
        for device in devices {
            let contenders = self.next_by_owner(device.as_deref(), &loaded);
            let next = unbegun().find(|job| job.device == *device);
            match next {
                Some(next) => {
                    if self.is_overtaken(next, &contenders, &loaded) && !decision.withdraw.contains(&next.id) {
                        decision.withdraw.push(next.id);
                    }
                }
                // One that is given back is still there until the engine says so.
                None if self.active.iter().any(|it| !it.has_begun && self.device_of(it.id) == Some(device)) => {}
                None => decision.start.extend(self.owner_in_turn(&contenders, &loaded).map(|job| (job.id, self.is_moved_up(job)))),
            }
        }
        let awaited = |owner: &Owner, device: &Option<String>| {
            let mut waiting = self.candidates().chain(unbegun());
            waiting.any(|job| job.lane == Lane::Interactive && job.owner == *owner && job.device == *device)
        };
        let in_the_way = self.jobs.iter().filter(|job| {
            let Some(active) = self.active(job.id).filter(|it| it.has_begun && !it.is_stopping) else { return false };
            let yields = job.lane == Lane::Batch && (self.yields_to_awaited(&job.owner) || awaited(&job.owner, &job.device));
            yields || (active.has_more_pictures && self.is_overtaken_by_others(job, unbegun(), &loaded))
        });
        decision.suspend.extend(in_the_way.map(|job| job.id));
        decision
    }

    /// True where a waiting job is to have the place of this one, which the engine has not begun.
    fn is_overtaken(&self, next: &QueuedJob, contenders: &[&QueuedJob], loaded: &[&ModelFiles]) -> bool {
        let position = |id: QueuedJobId| self.jobs.iter().position(|job| job.id == id);
        let first = self.candidates().find(|job| job.device == next.device && job.owner == next.owner);
        if first.is_some_and(|first| first.lane < next.lane || (first.is_placed && position(first.id) < position(next.id))) {
            return true;
        }
        self.is_turn_of_another(next, contenders, loaded) || self.is_turn_of_another_user(next, self.candidates(), loaded)
    }

    /// True where the pictures that are left of a running job are to wait for somebody else's.
    fn is_overtaken_by_others<'a>(&'a self, job: &QueuedJob, unbegun: impl Iterator<Item = &'a QueuedJob>, loaded: &[&ModelFiles]) -> bool {
        let unbegun: Vec<&QueuedJob> = unbegun.filter(|next| next.device == job.device).collect();
        let mut contenders = self.next_by_owner(job.device.as_deref(), loaded);
        contenders.extend(unbegun.iter().copied());
        self.is_turn_of_another(job, &contenders, loaded) || self.is_turn_of_another_user(job, self.candidates().chain(unbegun), loaded)
    }

    /// True where it is the turn of one of these, of another owner than this job's.
    fn is_turn_of_another(&self, job: &QueuedJob, contenders: &[&QueuedJob], loaded: &[&ModelFiles]) -> bool {
        let mut all: Vec<&QueuedJob> = contenders.iter().copied().filter(|it| it.owner != job.owner).collect();
        all.push(job);
        self.owner_in_turn(&all, loaded).is_some_and(|first| first.owner != job.owner)
    }

    /// True where it is the turn of one of these, of the same owner and another user than this job's.
    fn is_turn_of_another_user<'a>(
        &self,
        job: &'a QueuedJob,
        waiting: impl Iterator<Item = &'a QueuedJob>,
        loaded: &[&ModelFiles],
    ) -> bool {
        let is_other = |it: &&QueuedJob| it.owner == job.owner && it.device == job.device && it.user != job.user && it.lane <= job.lane;
        let mut all: Vec<&QueuedJob> = waiting.filter(is_other).collect();
        if all.is_empty() || job.is_placed {
            return false;
        }
        all.push(job);
        self.in_turn(&all, loaded, |it| self.shares.turn_of_user(it)).is_some_and(|first| first.user != job.user)
    }

    /// True where a job goes before the first of its user's on its device.
    fn is_moved_up(&self, job: &QueuedJob) -> bool {
        let mut of_user = self.candidates().filter(|it| it.owner == job.owner && it.user == job.user && it.device == job.device);
        of_user.next().is_some_and(|first| first.id != job.id)
    }

    fn device_of(&self, id: QueuedJobId) -> Option<&Option<String>> {
        self.jobs.iter().find(|job| job.id == id).map(|job| &job.device)
    }

    /// A job that goes before the first one of the batch lane because its model is in memory and
    /// the first one's is not.
    fn with_model_in_memory<'a>(
        &self,
        first: &'a QueuedJob,
        others: impl Iterator<Item = &'a QueuedJob>,
        loaded: &[&ModelFiles],
    ) -> Option<&'a QueuedJob> {
        let passed = self.moved_up.get(&(first.owner.clone(), first.user, first.device.clone())).copied().unwrap_or_default();
        if !self.follows_model || first.lane != Lane::Batch || first.is_placed || passed >= MAX_MOVED_UP {
            return None;
        }
        if loaded.contains(&&first.recipe.files) {
            return None;
        }
        others.take(LOOK_AHEAD).take_while(|job| !job.is_placed).find(|job| loaded.contains(&&job.recipe.files))
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

    /// Every job as it is shown. `at_work`: the engine's number of a job that it has, and how far it is.
    pub(super) fn rows(&self, at_work: impl Fn(&QueuedJob) -> Option<(JobId, Progressed)>) -> Vec<QueueRow> {
        let order = self.shares.expected_order(self.jobs, self.paces);
        let predicted = predictions(order.iter().map(|at| &self.jobs[*at]), self.paces, |job| at_work(job).map(|it| it.1));
        let mut shown: Vec<(&QueuedJob, Prediction)> = order.iter().map(|at| &self.jobs[*at]).zip(predicted).collect();
        // What the engine is at ends behind others where it is the batch of somebody who had their turn.
        if !order.is_sorted() {
            shown.sort_by_key(|(job, _)| !self.active(job.id).is_some_and(|it| it.has_begun));
        }
        let mut before = 0;
        let row = |(job, prediction): (&QueuedJob, Prediction)| {
            let row = QueueRow {
                engine_job: at_work(job).map(|it| it.0),
                is_waiting: self.is_waiting(job),
                reason: self.reason(job, before),
                secs_left: prediction.secs,
                ends_in_secs: prediction.ends_in_secs,
                job: job.clone(),
            };
            before += usize::from(can_run(job));
            row
        };
        shown.into_iter().map(row).collect()
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
                None if job.lane == Lane::Batch && self.is_asking_about(&job.owner) => WaitReason::Question,
                None if job.lane == Lane::Batch && self.yields_to_awaited(&job.owner) => WaitReason::Live,
                None if before == 0 => WaitReason::Next,
                None if job.lane == Lane::Batch && self.candidates().any(|it| it.lane == Lane::Interactive && it.owner == job.owner) => {
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
        Some(step) if job.picture_count() > 1 => tr!(
            "studio-atelier-stopped-at-step-of-of",
            done = (step.done + 1).min(step.total),
            total = step.total,
            picture = step.picture + 1,
            picture_count = job.picture_count()
        ),
        Some(step) => tr!("studio-atelier-stopped-at-step", done = (step.done + 1).min(step.total), total = step.total),
        None => tr!("studio-atelier-stopped-during-generation").into(),
    }
}

#[cfg(test)]
pub(super) mod tests;
