//! `progress`, `interrupt` and `skip`: about the asking owner's jobs alone.

use atelier_media::ExportFormat;
use atelier_studio::queue::WaitReason;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use serde_json::{Value, json};

use super::reply::{Answer, noted, timestamp};
use crate::http::clock::now_ms;
use crate::http::error::Failure;
use crate::http::fields::Fields;
use crate::http::head::QueryFields;
use crate::http::hub::JobView;
use crate::http::images::preview_text;
use crate::http::json::Json;
use crate::http::payload::note_on;
use crate::http::state::{SharedApp, blocking};
use atelier_gallery::queue::Owner;

/// Least progress of a job that runs: clients take 0 for "nothing runs".
const MIN_PROGRESS: f64 = 0.01;

/// Whether the picture that forms is left out.
pub(super) fn read_query(mut query: Fields) -> Result<bool, Failure> {
    let is_skipped = query.switch("skip_current_image", false);
    // What else stands there is often a number against caches.
    query.finish().map(|_| is_skipped)
}

pub(super) async fn progress(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, QueryFields(query): QueryFields) -> Answer {
    let is_skipped = read_query(query)?;
    app.note_watching(&owner);
    let Some(job) = app.hub.current(&owner) else {
        return Ok(Json(answer(0.0, 0.0, &state_of("", 0, 0, 0, 0, now_ms()), None, None)));
    };
    let secs = job.ends_in_secs.unwrap_or_default();
    if job.is_waiting {
        let state = state_of("waiting", 1, 0, 0, job.recipe.steps, job.created_ms);
        return Ok(Json(answer(0.0, secs, &state, None, job.wait.as_ref().map(WaitReason::sentence).as_deref())));
    }
    let preview = match job.preview.clone().filter(|_| !is_skipped) {
        Some(preview) => blocking(move || preview_text(&preview.image, ExportFormat::Png)).await?,
        None => None,
    };
    let state = running(&job);
    Ok(Json(answer(job.progress().max(MIN_PROGRESS), secs, &state, preview.as_deref(), None)))
}

fn running(job: &JobView) -> Value {
    let (done, total) = job.step.map_or((0, job.recipe.steps), |step| (step.done, step.total));
    let picture = job.step.map_or(job.pictures.len() as u32, |step| step.picture);
    state_of("scripts_txt2img", job.recipe.batch_count.max(1), picture, done, total, job.began_ms.unwrap_or(job.created_ms))
}

fn state_of(job: &str, count: u32, number: u32, step: u32, steps: u32, began_ms: i64) -> Value {
    json!({
        "skipped": false,
        "interrupted": false,
        "stopping_generation": false,
        "job": job,
        "job_count": count,
        "job_timestamp": timestamp(began_ms),
        "job_no": number,
        "sampling_step": step,
        "sampling_steps": steps,
    })
}

fn answer(progress: f64, secs: f64, state: &Value, image: Option<&str>, text: Option<&str>) -> Value {
    json!({"progress": progress, "eta_relative": secs, "state": state, "current_image": image, "textinfo": text})
}

pub(super) async fn interrupt(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, body: Body) -> Answer {
    stop(&app, &owner);
    Ok(Json(noted(json!({}), note_on(&app, &owner, body).await)))
}

pub(super) async fn skip(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, body: Body) -> Answer {
    stop(&app, &owner);
    Ok(Json(noted(Value::Null, note_on(&app, &owner, body).await)))
}

/// Cancels the job that the owner looks at.
fn stop(app: &SharedApp, owner: &Owner) {
    if app.hub.has_hung_up(owner) {
        return;
    }
    if let Some(job) = app.hub.current(owner) {
        app.hub.cancel(job.id);
    }
}
