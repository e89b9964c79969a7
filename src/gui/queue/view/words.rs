//! Texts of the queue's panel. Pure.

use crate::gui::shared::EngineJob;
use atelier_core::format::duration;
use atelier_core::plain_text::plain_line;
use atelier_gallery::queue::{JobState, PauseMode};
use atelier_language::tr;
use atelier_studio::queue::{QueueRow, QueueSnapshot};
use atelier_studio::studio_model::studio_of;

/// Beginning of a prompt, or what stands for none.
#[must_use]
pub(super) fn title(row: &QueueRow) -> String {
    let prompt = row.job.recipe.prompt.trim();
    if prompt.is_empty() { tr!("queue-a-picture-without-a").into() } else { prompt.split_whitespace().collect::<Vec<_>>().join(" ") }
}

/// State of a job, or why it waits. `running`: what the engine says of it.
#[must_use]
pub(super) fn status(row: &QueueRow, running: Option<&EngineJob>) -> String {
    let job = &row.job;
    let count = job.picture_count();
    let of_pictures = || if count > 1 { tr!("queue-of-pictures", pictures = job.pictures.len(), count) } else { String::new() };
    let words = match (job.state, &row.reason) {
        (JobState::Done, _) => tr!("queue-done").into(),
        (JobState::Cancelled, _) => tr!("queue-cancelled").into(),
        (JobState::Failed, _) => tr!("queue-failed", reason = job.reason.as_deref().unwrap_or(tr!("queue-reason-unknown"))),
        (_, Some(reason)) => reason.sentence(),
        (JobState::Running, None) => running.map_or_else(
            || tr!("queue-running").into(),
            |job| if job.stopping { tr!("queue-stopping").into() } else { job.progress.what() },
        ),
        (JobState::Waiting | JobState::Held, None) => tr!("queue-waiting").into(),
    };
    let moved = if job.is_moved_up && !job.state.is_ended() { tr!("queue-moved-up-its-model") } else { "" };
    format!("{words}{}{moved}", of_pictures())
}

/// Time left, device and model of a job: where the room is short the model goes first.
#[must_use]
pub(super) fn details(row: &QueueRow, age_secs: f64) -> String {
    let mut parts = Vec::new();
    if !row.job.owner.is_person() {
        parts.push(tr!("queue-for", plain_line = plain_line(row.job.owner.label())));
    }
    if let Some(secs) = row.ends_in_secs {
        parts.push(tr!("queue-ready-in-about", left = left(secs - age_secs)));
    }
    if let Some(device) = &row.job.device {
        parts.push(tr!("queue-on", device = studio_of(device).unwrap_or(device)));
    }
    if !row.job.model.is_empty() {
        parts.push(row.job.model.clone());
    }
    parts.join(" · ")
}

/// The whole queue in a line.
#[must_use]
pub(super) fn summary(queue: &QueueSnapshot, age_secs: f64) -> String {
    let open = queue.rows.iter().filter(|row| !row.job.state.is_ended());
    let pictures: usize = open.map(|row| row.job.picture_count() as usize - row.job.pictures.len()).sum();
    let mut words = match pictures {
        0 => tr!("queue-nothing-waits-2").to_owned(),
        1 => tr!("queue-1-picture-to-make").to_owned(),
        pictures => tr!("queue-pictures-to-make", pictures),
    };
    if let Some(secs) = queue.ends_in_secs() {
        words.push_str(tr!("queue-about"));
        words.push_str(&left(secs - age_secs));
        words.push_str(tr!("queue-left"));
    }
    let runs = queue.rows.iter().any(|row| row.job.state == JobState::Running);
    match queue.pause {
        PauseMode::No => {}
        PauseMode::AfterPicture if runs => words += tr!("queue-paused-after-this-picture"),
        PauseMode::AfterPicture | PauseMode::Now => words += tr!("queue-paused"),
    }
    words
}

/// The question about the jobs that ran when the program ended; `None` where there are none.
#[must_use]
pub(super) fn question(queue: &QueueSnapshot) -> Option<String> {
    let mut rows = queue.questions();
    let first = rows.next()?;
    let more = rows.count();
    let reason = first.reason.as_ref().map(atelier_studio::queue::WaitReason::sentence).unwrap_or_default();
    let others = if more > 0 { tr!("queue-more-jobs-were-running", more) } else { String::new() };
    Some(tr!("queue-start-again-2", reason, title = title(first), others))
}

fn left(secs: f64) -> String {
    duration(secs.max(1.0).round() as f32)
}
