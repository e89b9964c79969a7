//! Commands of the queue's panel. Their effects are in [`crate::gui::queue::update`].

use eframe::egui::{Key, Modifiers};

use crate::gui::feature_command::FeatureCommand;
use crate::gui::queue::state::State;
use crate::gui::shared::Shared;
use crate::gui::shortcut::Shortcut;
use atelier_gallery::queue::{JobState, PauseMode, QueuedJobId};
use atelier_language::tr;
use atelier_studio::next_recipe::UnmetRequirement;
use atelier_studio::queue::{CrashAnswer, QueueRow};
use atelier_studio::studio_model::studio_of;

/// Command of the queue's panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Show the panel, or put it away.
    Toggle,
    /// Begin no further picture.
    Pause,
    /// Stop the forming picture too, and begin it again later.
    PauseNow,
    Resume,
    Cancel(QueuedJobId),
    /// Cancel the job that was added last.
    CancelNewest,
    CancelAll,
    /// Cancel every job that waits.
    CancelWaiting,
    /// Forget the jobs that ended.
    ForgetEnded,
    /// Let a job wait again.
    Retry(QueuedJobId),
    /// Add the same job again.
    Duplicate(QueuedJobId),
    /// Put a job before another one; `None`: behind all others.
    Move(QueuedJobId, Option<QueuedJobId>),
    /// Take the settings of a waiting job into the Create view, to change them.
    Edit(QueuedJobId),
    /// Give the settings of the Create view to the edited job.
    SaveEdit,
    /// Leave the edited job as it was.
    StopEdit,
    /// Let a job run on this device; `None`: where its settings say.
    Pin(QueuedJobId, Option<String>),
    /// Let jobs whose model is in memory go before others, or not.
    FollowModel(bool),
    /// Answer the question about the jobs that ran when the program ended.
    Answer(CrashAnswer),
}

impl FeatureCommand for Command {
    type State = State;

    const KEYS: &'static [(Self, Shortcut)] = &[(Self::Toggle, Shortcut::while_typing(Modifiers::COMMAND, Key::J))];

    const OFFERED: &'static [Self] = &[Self::Pause, Self::PauseNow, Self::Resume, Self::CancelAll, Self::CancelWaiting, Self::ForgetEnded];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Toggle => (tr!("queue-queue"), tr!("queue-show-or-hide-running")),
            Self::Pause => (tr!("queue-pause"), tr!("queue-pause-after-the-current")),
            Self::PauseNow => (tr!("queue-pause-now"), tr!("queue-stop-the-current-picture")),
            Self::Resume => (tr!("queue-resume"), tr!("queue-resume-the-queue")),
            Self::Cancel(_) => (tr!("common-cancel"), tr!("queue-remove-this-job-from")),
            Self::CancelNewest => (tr!("common-cancel"), tr!("queue-remove-the-job-that")),
            Self::CancelAll => (tr!("queue-cancel-all"), tr!("queue-cancel-running-and-waiting")),
            Self::CancelWaiting => (tr!("queue-cancel-waiting"), tr!("queue-cancel-all-waiting-jobs")),
            Self::ForgetEnded => (tr!("queue-clear-ended"), tr!("queue-remove-ended-jobs-from")),
            Self::Retry(_) => (tr!("common-try-again"), tr!("queue-queue-this-job-again")),
            Self::Duplicate(_) => (tr!("queue-duplicate"), tr!("queue-add-a-copy-of")),
            Self::Move(..) => (tr!("queue-move"), tr!("queue-drag-to-change-the")),
            Self::Edit(_) => (tr!("queue-edit"), tr!("queue-edit-the-settings-of")),
            Self::SaveEdit => (tr!("queue-save-changes"), tr!("queue-save-the-settings-of")),
            Self::StopEdit => (tr!("queue-discard-changes"), tr!("queue-discard-the-changes-and")),
            Self::Pin(_, None) => (tr!("queue-any-device"), tr!("queue-run-this-job-on")),
            Self::Pin(_, Some(_)) => (tr!("queue-run-here"), tr!("queue-run-this-job-on-this-device")),
            Self::FollowModel(_) => (tr!("queue-same-model-first"), tr!("queue-background-jobs-whose-model")),
            Self::Answer(CrashAnswer::BeginAgain) => (tr!("queue-start-again"), tr!("queue-generate-again-with-the")),
            Self::Answer(CrashAnswer::Leave) => (tr!("common-not-now"), tr!("queue-keep-this-job-in")),
            Self::Answer(CrashAnswer::Cancel) => (tr!("queue-remove"), tr!("queue-remove-this-job-its")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let queue = &shared.queue;
        let is = |holds: bool, otherwise: &'static str| if holds { Ok(()) } else { Err(otherwise) };
        let has = |states: &[JobState]| queue.rows.iter().any(|row| states.contains(&row.job.state));
        let waits = |id: &QueuedJobId| queue.row(*id).is_some_and(QueueRow::can_change);
        let device = |id: &QueuedJobId| queue.row(*id)?.job.device.as_deref();
        // Its model is the other studio's alone.
        let is_of_here = |id: &QueuedJobId| is(device(id).and_then(studio_of).is_none(), tr!("queue-another-studio-makes-this"));
        match self {
            Self::Toggle | Self::FollowModel(_) => Ok(()),
            Self::Pause => is(queue.pause == PauseMode::No, tr!("queue-the-queue-is-paused")),
            Self::PauseNow => is(queue.pause != PauseMode::Now, tr!("queue-the-queue-is-paused")),
            Self::Resume => is(queue.pause != PauseMode::No, tr!("queue-the-queue-is-not")),
            Self::Cancel(id) => is(queue.row(*id).is_some_and(|row| !row.job.state.is_ended()), tr!("queue-already-finished")),
            Self::CancelNewest => is(queue.newest().is_some(), tr!("queue-already-finished")),
            Self::CancelAll => is(has(&[JobState::Waiting, JobState::Running, JobState::Held]), tr!("queue-nothing-runs-or-waits")),
            Self::CancelWaiting => is(queue.waiting().next().is_some(), tr!("queue-nothing-waits")),
            Self::ForgetEnded => is(has(&[JobState::Done, JobState::Failed, JobState::Cancelled]), tr!("queue-nothing-has-ended")),
            Self::Retry(id) => is(queue.row(*id).is_some_and(QueueRow::can_retry), tr!("queue-only-held-failed-or")),
            Self::Duplicate(id) => is(queue.row(*id).is_some(), tr!("queue-this-job-no-longer")),
            Self::Move(id, _) => is(waits(id), tr!("queue-only-a-waiting-job")),
            Self::Pin(id, _) => {
                is_of_here(id)?;
                is(waits(id), tr!("queue-only-a-waiting-job"))
            }
            Self::Edit(id) => {
                is_of_here(id)?;
                is(state.editing.is_none(), tr!("queue-another-job-is-being"))?;
                is(waits(id), tr!("queue-only-a-waiting-job"))
            }
            Self::SaveEdit => match &state.editing {
                Some(edited) => {
                    is(waits(&edited.id), tr!("queue-this-job-has-already"))?;
                    shared.next.ready().map_err(UnmetRequirement::sentence)
                }
                None => Err(tr!("queue-no-job-is-being")),
            },
            Self::StopEdit => is(state.editing.is_some(), tr!("queue-no-job-is-being")),
            Self::Answer(_) => is(queue.questions().next().is_some(), tr!("common-there-is-no-question")),
        }
    }
}
