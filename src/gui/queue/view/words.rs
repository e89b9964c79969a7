//! Texts of the queue's panel. Pure.

use crate::gui::shared::EngineJob;
use atelier_core::format::duration;
use atelier_core::plain_text::plain_line;
use atelier_gallery::queue::{JobState, PauseMode};
use atelier_studio::queue::{QueueRow, QueueSnapshot};

/// Beginning of a prompt, or what stands for none.
#[must_use]
pub(super) fn title(row: &QueueRow) -> String {
    let prompt = row.job.recipe.prompt.trim();
    if prompt.is_empty() { "A picture without a prompt".into() } else { prompt.split_whitespace().collect::<Vec<_>>().join(" ") }
}

/// State of a job, or why it waits. `running`: what the engine says of it.
#[must_use]
pub(super) fn status(row: &QueueRow, running: Option<&EngineJob>) -> String {
    let job = &row.job;
    let count = job.picture_count();
    let of_pictures = || if count > 1 { format!(" · {} of {count} pictures", job.pictures.len()) } else { String::new() };
    let words = match (job.state, &row.reason) {
        (JobState::Done, _) => "Done".into(),
        (JobState::Cancelled, _) => "Cancelled".into(),
        (JobState::Failed, _) => format!("Failed: {}", job.reason.as_deref().unwrap_or("reason unknown")),
        (_, Some(reason)) => reason.sentence(),
        (JobState::Running, None) => {
            running.map_or_else(|| "Running".into(), |job| if job.stopping { "Stopping".into() } else { job.progress.what() })
        }
        (JobState::Waiting | JobState::Held, None) => "Waiting".into(),
    };
    let moved = if job.is_moved_up && !job.state.is_ended() { " · moved up: its model is loaded" } else { "" };
    format!("{words}{}{moved}", of_pictures())
}

/// Time left, device and model of a job: where the room is short the model goes first.
#[must_use]
pub(super) fn details(row: &QueueRow, age_secs: f64) -> String {
    let mut parts = Vec::new();
    if !row.job.owner.is_person() {
        parts.push(format!("for {}", plain_line(row.job.owner.name())));
    }
    if let Some(secs) = row.ends_in_secs {
        parts.push(format!("ready in about {}", left(secs - age_secs)));
    }
    if let Some(device) = &row.job.device {
        parts.push(format!("on {device}"));
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
        0 => "Nothing waits".to_owned(),
        1 => "1 picture to make".to_owned(),
        pictures => format!("{pictures} pictures to make"),
    };
    if let Some(secs) = queue.ends_in_secs() {
        words.push_str(" · about ");
        words.push_str(&left(secs - age_secs));
        words.push_str(" left");
    }
    let runs = queue.rows.iter().any(|row| row.job.state == JobState::Running);
    match queue.pause {
        PauseMode::No => {}
        PauseMode::AfterPicture if runs => words += " · paused after this picture",
        PauseMode::AfterPicture | PauseMode::Now => words += " · paused",
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
    let others = if more > 0 { format!(" {more} more jobs were running.") } else { String::new() };
    Some(format!("{reason}: “{}”.{others} Start again?", title(first)))
}

fn left(secs: f64) -> String {
    duration(secs.max(1.0).round() as f32)
}
