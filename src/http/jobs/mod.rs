//! Jobs that are asked for now and fetched later: sd-server's `/sdcpp/v1/*` as it is published, with
//! events and pictures one by one beside it.

mod further;
mod request;

use std::str::FromStr as _;

use atelier_core::recipe::{Recipe, Sampler, Scheduler};
use atelier_gallery::queue::{JobState, Lane, Owner, QueuedJobId};
use atelier_media::{ExportFormat, ExportedBytes};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::error::Failure;
use super::events::{Events, stream};
use super::fields::{Description, Fields};
use super::held::Held;
use super::hub::{JobView, NoJob};
use super::images::{file_answer, file_bytes, file_json, names_of, preview_text};
use super::json::Json;
use super::models::ListedModel;
use super::payload::{Payload, note_on};
use super::recipe::{SIDES, model_of};
use super::state::{Previews, SharedApp, blocking, outcome, pictures_of};

/// Jobs of everybody that may wait at a time.
const MAX_QUEUE: usize = 64;

/// Every route of sd-server's, and ours beside it.
pub(crate) fn routes() -> Router<SharedApp> {
    Router::new()
        .route("/sdcpp/v1/capabilities", get(capabilities))
        .route("/sdcpp/v1/img_gen", post(add))
        .route("/sdcpp/v1/jobs", get(jobs))
        .route("/sdcpp/v1/jobs/{id}", get(job))
        .route("/sdcpp/v1/jobs/{id}/cancel", post(cancel))
        .route("/sdcpp/v1/jobs/{id}/events", get(events))
        .route("/sdcpp/v1/jobs/{id}/images/{index}", get(image))
}

/// The fields of a route's body, where it has any.
pub(crate) fn describe(path: &str) -> Option<Description> {
    (path == "/sdcpp/v1/img_gen").then(|| Fields::describe(request::read))
}

async fn capabilities(State(app): State<SharedApp>, Extension(owner): Extension<Owner>) -> Result<Json, Failure> {
    let (list, used) = (app.models().await?, app.used_bytes(&owner).await?);
    let model = model_of(&list, None, app.chosen_model(&owner).as_deref()).ok();
    let name = model.map(|it| it.name.as_str());
    let stem = model.map(|it| it.file.rsplit_once('.').map_or(it.file.as_str(), |(stem, _)| stem));
    let formats = json!(["png", "jpeg", "webp"]);
    let features = json!({
        "init_image": true, "mask_image": true, "control_image": true, "ip_adapter_image": false, "ref_images": true, "lora": true,
        "vae_tiling": true, "hires": true, "cache": true, "cancel_queued": true, "cancel_generating": true,
    });
    let defaults = model.map(defaults_of);
    let model_defaults: Map<String, Value> = list.models.iter().map(|it| (it.name.clone(), defaults_of(it))).collect();
    let loras: Vec<Value> = list
        .loras
        .iter()
        .map(|path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .map(|name| json!({"name": name, "path": name}))
        .collect();
    let upscalers: Vec<Value> = list.upscalers.iter().map(|it| json!({"name": it.name})).collect();
    Ok(Json(json!({
        "model": {"name": name, "stem": stem, "path": name},
        "models": list.models.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
        "model_defaults": model_defaults,
        "studio_id": app.id.as_str(),
        "current_mode": "img_gen",
        "supported_modes": ["img_gen"],
        "defaults": defaults,
        "defaults_by_mode": {"img_gen": defaults},
        "output_formats": formats,
        "output_formats_by_mode": {"img_gen": formats},
        "features": features,
        "features_by_mode": {"img_gen": features},
        "samplers": Sampler::ALL.iter().map(|it| it.key()).collect::<Vec<_>>(),
        "schedulers": Scheduler::ALL.iter().map(|it| it.key()).collect::<Vec<_>>(),
        "loras": loras,
        "upscalers": upscalers,
        "limits": {"min_width": SIDES.start(), "max_width": SIDES.end(), "min_height": SIDES.start(), "max_height": SIDES.end(),
            "max_batch_count": request::PICTURES.end(), "max_queue_size": MAX_QUEUE,
            "disk_quota_bytes": app.quota_of(&owner), "disk_used_bytes": used,
            "keep_days": app.retention().days_of(&owner)},
    })))
}

/// The settings that suit a model, in the words of a request; `null`: the engine's own choice.
fn defaults_of(model: &ListedModel) -> Value {
    let mut recipe = Recipe::default();
    model.runnable.apply(&mut recipe);
    json!({
        "width": recipe.width, "height": recipe.height, "batch_count": 1, "seed": -1, "strength": 0.75, "output_format": "png",
        "clip_skip": recipe.clip_skip,
        "sample_params": {"sample_steps": recipe.steps, "sample_method": recipe.sampler.map(Sampler::key),
            "scheduler": recipe.scheduler.map(Scheduler::key), "eta": recipe.eta, "flow_shift": recipe.flow_shift,
            "guidance": {"txt_cfg": recipe.guidance, "distilled_guidance": recipe.distilled_guidance}},
    })
}

async fn add(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    Payload(body, upload): Payload,
) -> Result<Response, Failure> {
    if app.hub.open_jobs() >= MAX_QUEUE {
        return Err(Failure::Busy { sentence: "job queue is full".to_owned(), retry_secs: 30 });
    }
    let request = request::read(Fields::read(&body)?)?;
    drop(body);
    let format = request.format;
    let request = app.decode_upload(upload, move || request.decode()).await?;
    let made = app.make(&owner, request.wish).await?;
    // Who asks for a job may watch it by its events at any time.
    let view = app.add(&owner, made, Previews::Always, Lane::Batch).await?.leave_alone();
    app.note_format(view.id, format);
    Ok(accepted(&view))
}

/// The answer to who asked for a job.
pub(crate) fn accepted(view: &JobView) -> Response {
    let id = view.id.0;
    let answer = json!({"id": id.to_string(), "kind": "img_gen", "status": "queued", "created": view.created_ms / 1000,
        "poll_url": format!("/sdcpp/v1/jobs/{id}"), "notes": view.all_notes()});
    (StatusCode::ACCEPTED, Json(answer)).into_response()
}

/// A job of this owner, by the text of its number.
fn find(app: &SharedApp, owner: &Owner, id: &str) -> Result<watch::Receiver<JobView>, Failure> {
    let id = QueuedJobId::from_str(id).map_err(|_| unknown())?;
    app.hub.job(owner, id).map_err(|missing| match missing {
        NoJob::Unknown => unknown(),
        NoJob::Expired => Failure::Gone("job expired".to_owned()),
    })
}

fn unknown() -> Failure {
    Failure::not_found("Job", "job not found")
}

fn status(view: &JobView) -> &'static str {
    match view.state {
        JobState::Waiting => "queued",
        JobState::Running if view.is_waiting => "queued",
        JobState::Running => "generating",
        JobState::Done => "completed",
        JobState::Failed | JobState::Held => "failed",
        JobState::Cancelled => "cancelled",
    }
}

/// A job without its pictures.
fn about(view: &JobView) -> Value {
    let secs = |ms: Option<i64>| ms.map(|ms| ms / 1000);
    let is_queued = status(view) == "queued";
    let error = outcome(view).err().map(|failure| {
        let code = if view.state == JobState::Cancelled { "cancelled" } else { "generation_failed" };
        json!({"code": code, "message": failure.sentence()})
    });
    json!({
        "id": view.id.0.to_string(),
        "kind": "img_gen",
        "status": status(view),
        "created": view.created_ms / 1000,
        "started": secs(view.began_ms),
        "completed": secs(view.ended_ms),
        "queue_position": if is_queued { view.position.max(1) } else { 0 },
        "progress": view.progress(),
        "ends_in_secs": view.ends_in_secs,
        "images": view.pictures.len(),
        "model": view.model,
        "begin": view.begin.as_ref().map(|it| json!({"width": it.width, "height": it.height, "steps": it.steps, "seeds": it.seeds})),
        "notes": view.all_notes(),
        "result": null,
        "error": error,
    })
}

async fn jobs(State(app): State<SharedApp>, Extension(owner): Extension<Owner>) -> Json {
    Json(Value::Array(app.hub.jobs(&owner).iter().map(about).collect()))
}

async fn job(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, Path(id): Path<String>) -> Result<Json, Failure> {
    let view = find(&app, &owner, &id)?.borrow().clone();
    let mut answer = about(&view);
    if view.state == JobState::Done {
        let format = app.format_of(view.id);
        let images = pictures_of(&view, format).await?;
        let numbered = |(index, picture): (usize, &ExportedBytes)| {
            let mut image = file_json(picture);
            image["index"] = json!(index);
            image
        };
        let images: Vec<Value> = images.iter().enumerate().map(numbered).collect();
        answer["result"] = json!({"output_format": names_of(format).0, "images": images});
    }
    Ok(Json(answer))
}

async fn cancel(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    Path(id): Path<String>,
    body: Body,
) -> Result<Json, Failure> {
    let mut receiver = find(&app, &owner, &id)?;
    let view = receiver.borrow().clone();
    if view.state.is_ended() {
        return Err(Failure::Conflict("The job has ended.".to_owned()));
    }
    app.hub.cancel(view.id);
    // The sender lives as long as the job is not over.
    let mut view = receiver.wait_for(JobView::is_over).await.map(|view| view.clone()).unwrap_or(view);
    view.notes.extend(note_on(&app, &owner, body).await);
    Ok(Json(about(&view)))
}

async fn image(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    Path((id, index)): Path<(String, String)>,
) -> Result<Response, Failure> {
    let view = find(&app, &owner, &id)?.borrow().clone();
    let wanted = index.parse::<u32>().ok().and_then(|index| view.pictures.iter().find(|picture| picture.index == index));
    let path = wanted.map(|picture| picture.path.clone()).ok_or_else(|| Failure::not_found("Image", "image not found"))?;
    let format = app.format_of(view.id);
    let picture = blocking(move || file_bytes(&path, format)).await??;
    Ok(file_answer(picture, format))
}

async fn events(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    held: Held,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let receiver = find(&app, &owner, &id)?;
    Ok(stream(Some(held), |events| send_events(receiver, events)))
}

/// Sends what changes about a job until it is over: `state`, `step`, `preview`, `picture`, `end`.
async fn send_events(mut job: watch::Receiver<JobView>, events: Events) {
    let (mut state, mut step, mut preview, mut pictures) = (None, None, None, 0);
    loop {
        let view = job.borrow_and_update().clone();
        let now = (status(&view), view.position, view.begin.is_some());
        if state.replace(now) != Some(now) {
            events.send(Some("state"), &about(&view)).await;
        }
        if let Some(now) = view.step.filter(|now| step.replace(*now) != Some(*now)) {
            let data = json!({"picture": now.picture, "step": now.done, "steps": now.total, "progress": view.progress(), "ends_in_secs": view.ends_in_secs});
            events.send(Some("step"), &data).await;
        }
        if let Some(now) = view.preview.clone() {
            let of = (now.picture, now.step);
            if preview.replace(of) != Some(of)
                && let Ok(Some(text)) = blocking(move || preview_text(&now.image, ExportFormat::Jpeg { quality: 80 })).await
            {
                events.send(Some("preview"), &json!({"picture": of.0, "step": of.1, "output_format": "jpeg", "b64_json": text})).await;
            }
        }
        for picture in view.pictures.get(pictures..).unwrap_or_default() {
            let url = format!("/sdcpp/v1/jobs/{}/images/{}", view.id, picture.index);
            events.send(Some("picture"), &json!({"index": picture.index, "seed": view.seed(picture.index), "url": url})).await;
        }
        pictures = view.pictures.len();
        if view.is_over() {
            events.send(Some("end"), &about(&view)).await;
            return;
        }
        if job.changed().await.is_err() {
            return;
        }
    }
}
