//! Commands of the queue's panel. Their effects are in [`crate::gui::queue::update`].

use eframe::egui::{Key, Modifiers};

use crate::gui::feature_command::FeatureCommand;
use crate::gui::queue::state::State;
use crate::gui::shared::Shared;
use crate::gui::shortcut::Shortcut;
use atelier_gallery::queue::{JobState, PauseMode, QueuedJobId};
use atelier_studio::next_recipe::UnmetRequirement;
use atelier_studio::queue::{CrashAnswer, QueueRow};

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
            Self::Toggle => ("Queue", "Show or hide running and waiting jobs."),
            Self::Pause => ("Pause", "Pause after the current picture."),
            Self::PauseNow => ("Pause now", "Stop the current picture. It restarts from its first step when the queue resumes."),
            Self::Resume => ("Resume", "Resume the queue."),
            Self::Cancel(_) => ("Cancel", "Remove this job from the queue. Its finished pictures are kept."),
            Self::CancelNewest => ("Cancel", "Remove the job that was added last."),
            Self::CancelAll => ("Cancel all", "Cancel running and waiting jobs. Finished pictures are kept."),
            Self::CancelWaiting => ("Cancel waiting", "Cancel all waiting jobs. The current job continues."),
            Self::ForgetEnded => ("Clear ended", "Remove ended jobs from this list. Their pictures are kept."),
            Self::Retry(_) => ("Try again", "Queue this job again, with the same seeds and its finished pictures."),
            Self::Duplicate(_) => ("Duplicate", "Add a copy of this job."),
            Self::Move(..) => ("Move", "Drag to change the order, or use the arrow keys. Delete cancels, Enter edits, Ctrl+D duplicates."),
            Self::Edit(_) => ("Edit", "Edit the settings of this job in the Create view, then save them here."),
            Self::SaveEdit => ("Save changes", "Save the settings of the Create view to this job, and restore yours."),
            Self::StopEdit => ("Discard changes", "Discard the changes, and restore your settings."),
            Self::Pin(_, None) => ("Any device", "Run this job on the devices of its settings."),
            Self::Pin(_, Some(_)) => ("Run here", "Run this job on this device only."),
            Self::FollowModel(_) => ("Same model first", "Background jobs whose model is in memory may go first, to save loading time."),
            Self::Answer(CrashAnswer::BeginAgain) => ("Start again", "Generate again with the same seed. Finished pictures are kept."),
            Self::Answer(CrashAnswer::Leave) => ("Not now", "Keep this job in the queue until you resume it."),
            Self::Answer(CrashAnswer::Cancel) => ("Remove", "Remove this job. Its finished pictures are kept."),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let queue = &shared.queue;
        let is = |holds: bool, otherwise: &'static str| if holds { Ok(()) } else { Err(otherwise) };
        let has = |states: &[JobState]| queue.rows.iter().any(|row| states.contains(&row.job.state));
        let waits = |id: &QueuedJobId| queue.row(*id).is_some_and(QueueRow::can_change);
        match self {
            Self::Toggle | Self::FollowModel(_) => Ok(()),
            Self::Pause => is(queue.pause == PauseMode::No, "The queue is paused."),
            Self::PauseNow => is(queue.pause != PauseMode::Now, "The queue is paused."),
            Self::Resume => is(queue.pause != PauseMode::No, "The queue is not paused."),
            Self::Cancel(id) => is(queue.row(*id).is_some_and(|row| !row.job.state.is_ended()), "Already finished."),
            Self::CancelNewest => is(queue.newest().is_some(), "Already finished."),
            Self::CancelAll => is(has(&[JobState::Waiting, JobState::Running, JobState::Held]), "Nothing runs or waits."),
            Self::CancelWaiting => is(queue.waiting().next().is_some(), "Nothing waits."),
            Self::ForgetEnded => is(has(&[JobState::Done, JobState::Failed, JobState::Cancelled]), "Nothing has ended."),
            Self::Retry(id) => {
                is(queue.row(*id).is_some_and(QueueRow::can_retry), "Only held, failed or cancelled jobs can be queued again.")
            }
            Self::Duplicate(id) => is(queue.row(*id).is_some(), "This job no longer exists."),
            Self::Move(id, _) | Self::Pin(id, _) => is(waits(id), "Only a waiting job can be changed."),
            Self::Edit(id) => {
                is(state.editing.is_none(), "Another job is being edited. Save or discard its changes first.")?;
                is(waits(id), "Only a waiting job can be changed.")
            }
            Self::SaveEdit => match &state.editing {
                Some(edited) => {
                    is(waits(&edited.id), "This job has already started or no longer exists.")?;
                    shared.next.ready().map_err(UnmetRequirement::sentence)
                }
                None => Err("No job is being edited."),
            },
            Self::StopEdit => is(state.editing.is_some(), "No job is being edited."),
            Self::Answer(_) => is(queue.questions().next().is_some(), "There is no question."),
        }
    }
}
