//! Commands of the queue's panel. Their effects are in [`crate::gui::queue::update`].

use eframe::egui::{Key, Modifiers};

use crate::gui::queue::state::State;
use crate::gui::shared::Shared;
use crate::gui::shortcut::Shortcut;
use atelier_gallery::queue::{JobState, PauseMode, QueuedJobId};
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
    /// Go on.
    Resume,
    /// Cancel a job.
    Cancel(QueuedJobId),
    /// Cancel every job.
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

impl Command {
    /// The keys.
    pub const KEYS: &[(Self, Shortcut)] = &[(Self::Toggle, Shortcut::while_typing(Modifiers::COMMAND, Key::J))];

    /// Commands without a key that the command palette offers.
    pub const OFFERED: &[Self] = &[Self::Pause, Self::PauseNow, Self::Resume, Self::CancelAll, Self::CancelWaiting, Self::ForgetEnded];

    /// Text of its button or menu entry, also its accessible name.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        self.words().0
    }

    /// Tooltip: its effect in a sentence.
    #[must_use]
    pub const fn tooltip(&self) -> &'static str {
        self.words().1
    }

    /// Label and tooltip.
    const fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::Toggle => ("Queue", "Show what runs and waits, or put it away."),
            Self::Pause => ("Pause", "Finish the forming picture, and begin no other."),
            Self::PauseNow => ("Pause at once", "Stop the forming picture now. It is begun again from its first step when you go on."),
            Self::Resume => ("Go on", "Make the pictures that wait."),
            Self::Cancel(_) => ("Cancel", "Take this job out of the queue. Its finished pictures are kept."),
            Self::CancelAll => {
                ("Cancel all", "Stop everything that forms and take everything out of the queue. Finished pictures are kept.")
            }
            Self::CancelWaiting => ("Cancel waiting", "Take every waiting job out of the queue. What forms now goes on."),
            Self::ForgetEnded => ("Clear ended", "Take what has ended off this list. The pictures stay."),
            Self::Retry(_) => ("Try again", "Let this job wait again, with the same seeds and the pictures that it has."),
            Self::Duplicate(_) => ("Duplicate", "Add the same job once more."),
            Self::Move(..) => ("Move", "Drag to change the order, or use the arrow keys. Delete cancels, Enter edits, Ctrl+D duplicates."),
            Self::Edit(_) => ("Edit", "Bring the settings of this job into the Create view. Change them there, then save them here."),
            Self::SaveEdit => ("Save changes", "Give this job the settings of the Create view, and go back to yours."),
            Self::StopEdit => ("Discard changes", "Leave this job as it was, and go back to your settings."),
            Self::Pin(_, None) => ("Any device", "Let this job run where its settings say."),
            Self::Pin(_, Some(_)) => ("Run here", "Let this job run on this device, whatever its settings say."),
            Self::FollowModel(_) => {
                ("Same model first", "Among jobs that nobody waits for, those whose model is in memory may go first. It saves loading.")
            }
            Self::Answer(CrashAnswer::BeginAgain) => ("Begin again", "Make it again, with the same seed. Its finished pictures are kept."),
            Self::Answer(CrashAnswer::Leave) => ("Not now", "Keep it in the queue until you ask for it."),
            Self::Answer(CrashAnswer::Cancel) => ("Remove", "Take it out of the queue. Its finished pictures are kept."),
        }
    }

    /// `Ok` if it can be done now.
    ///
    /// # Errors
    /// The sentence about the first thing that is missing.
    pub fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let queue = &shared.queue;
        let is = |holds: bool, otherwise: &'static str| if holds { Ok(()) } else { Err(otherwise) };
        let has = |states: &[JobState]| queue.rows.iter().any(|row| states.contains(&row.job.state));
        let waits = |id: &QueuedJobId| queue.row(*id).is_some_and(QueueRow::can_change);
        match self {
            Self::Toggle | Self::FollowModel(_) => Ok(()),
            Self::Pause => is(queue.pause == PauseMode::No, "The queue is paused."),
            Self::PauseNow => is(queue.pause != PauseMode::Now, "The queue is paused."),
            Self::Resume => is(queue.pause != PauseMode::No, "The queue is not paused."),
            Self::Cancel(id) => is(queue.row(*id).is_some_and(|row| !row.job.state.is_ended()), "It is over."),
            Self::CancelAll => is(has(&[JobState::Waiting, JobState::Running, JobState::Held]), "Nothing runs or waits."),
            Self::CancelWaiting => is(queue.waiting().next().is_some(), "Nothing waits."),
            Self::ForgetEnded => is(has(&[JobState::Done, JobState::Failed, JobState::Cancelled]), "Nothing has ended."),
            Self::Retry(id) => {
                is(queue.row(*id).is_some_and(QueueRow::can_retry), "Only what is held, failed or was cancelled can wait again.")
            }
            Self::Duplicate(id) => is(queue.row(*id).is_some(), "It is not there any more."),
            Self::Move(id, _) | Self::Pin(id, _) => is(waits(id), "Only a job that waits can be changed."),
            Self::Edit(id) => {
                is(state.editing.is_none(), "Another job is being edited. Save or discard its changes first.")?;
                is(waits(id), "Only a job that waits can be changed.")
            }
            Self::SaveEdit => match &state.editing {
                Some(edited) => {
                    is(waits(&edited.id), "It has begun or is gone; its settings can be changed no more.")?;
                    shared.ready().map_err(crate::gui::shared::UnmetRequirement::sentence)
                }
                None => Err("No job is being edited."),
            },
            Self::StopEdit => is(state.editing.is_some(), "No job is being edited."),
            Self::Answer(_) => is(queue.questions().next().is_some(), "There is no question."),
        }
    }
}
