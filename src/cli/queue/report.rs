//! Jobs in words and as JSON.

use std::path::Path;

use atelier_core::plain_text::plain_line;
use serde_json::{Value, json};

use atelier_gallery::queue::{JobState, PauseMode, QueuedJob, QueuedJobId};
use atelier_studio::queue::{EndedJob, QueueListing, QueueRow, WaitReason};

/// Characters of a prompt in a line for people.
const PROMPT_CHARACTERS: usize = 48;

/// A job with everything that is known of it.
pub(super) fn row(row: &QueueRow) -> Value {
    let job = &row.job;
    json!({
        "event": "job",
        "id": job.id.0,
        "state": job.state.key(),
        "lane": job.lane.key(),
        "owner": job.owner.name(),
        "prompt": job.recipe.prompt,
        "model": job.model,
        "waits_for_model": job.wanted_model,
        "device": job.device,
        "pictures": paths(job),
        "picture_count": job.picture_count(),
        "seed": job.first_seed,
        "attempts": job.attempts,
        "crashes": job.crashes,
        "resumes": job.resumes,
        "reason": row.reason.as_ref().map(WaitReason::sentence).or_else(|| job.reason.clone()),
        "moved_up": job.is_moved_up,
        "ends_in_secs": row.ends_in_secs,
    })
}

/// A job as a line for people.
pub(super) fn row_text(row: &QueueRow) -> String {
    let job = &row.job;
    let why = row.reason.as_ref().map(WaitReason::sentence).or_else(|| job.reason.clone());
    let why = why.map_or_else(String::new, |why| format!("  ({why})"));
    let pictures = format!("{}/{}", job.pictures.len(), job.picture_count());
    format!("{:>4}  {:9}  {pictures:>7}  {:20}  {}{why}", job.id.0, job.state.key(), plain_line(&job.model), shortened(&job.recipe.prompt))
}

/// The queue as a whole.
pub(super) fn queue(listing: &QueueListing) -> Value {
    json!({"event": "queue", "pause": listing.pause.key(), "running": listing.is_running})
}

/// The queue as a whole in words, where there is something to say.
pub(super) fn queue_text(listing: &QueueListing) -> Option<&'static str> {
    // Those that were left behind by a process that is gone are asked about, or begun again, by the
    // next one.
    let waits = listing.rows.iter().any(|row| row.job.state == JobState::Waiting || row.job.is_question());
    match listing.pause {
        PauseMode::No if waits && !listing.is_running => Some("These jobs are not running. Open Atelier, or run: atelier queue run"),
        PauseMode::No => None,
        PauseMode::AfterPicture | PauseMode::Now => Some("The queue is paused. Resume it with: atelier queue resume"),
    }
}

pub(super) fn pause(pause: PauseMode) -> Value {
    json!({"event": "pause", "pause": pause.key()})
}

pub(super) fn change(id: QueuedJobId, state: JobState) -> Value {
    json!({"event": "state", "id": id.0, "state": state.key()})
}

pub(super) fn cleared(count: usize) -> Value {
    json!({"event": "cleared", "count": count})
}

/// `made_from`: the start picture.
pub(super) fn added(id: QueuedJobId, waits_for_model: Option<&str>, made_from: Option<&Path>, notes: &[String]) -> Value {
    let made_from = made_from.map(|path| path.display().to_string());
    json!({"event": "added", "id": id.0, "waits_for_model": waits_for_model, "made_from": made_from, "notes": notes})
}

pub(super) fn picture(id: QueuedJobId, index: u32, path: &Path) -> Value {
    json!({"event": "picture", "job": id.0, "picture": index, "path": path.display().to_string()})
}

pub(super) fn ended(job: &EndedJob) -> Value {
    json!({
        "event": "ended", "id": job.job.0, "state": job.state.key(), "pictures": job.pictures, "secs": job.secs, "reason": job.reason,
    })
}

/// The beginning of a prompt, in one line.
pub(super) fn shortened(prompt: &str) -> String {
    let prompt = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    match prompt.char_indices().nth(PROMPT_CHARACTERS) {
        Some((at, _)) => format!("{}…", prompt[..at].trim_end()),
        None => prompt,
    }
}

fn paths(job: &QueuedJob) -> Vec<String> {
    job.pictures.iter().map(|picture| picture.path.display().to_string()).collect()
}
