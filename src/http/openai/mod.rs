//! OpenAI's image interface, `/v1/images/*` and `/v1/models`, as LibreChat, LobeChat, Open WebUI and
//! scripts use it. Failures say `x-should-retry: false`, for its client makes the same picture three
//! times otherwise; pictures come in the answer, for links to private addresses are refused.

mod request;

use atelier_gallery::queue::{Lane, Owner};
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde_json::{Value, json};

use super::clock::now_secs;
use super::error::Failure;
use super::events::{Events, stream};
use super::fields::{Description, Fields};
use super::head::Host;
use super::held::Held;
use super::hub::{JobView, Waiter};
use super::images::{base64_text, file_answer, file_json, loss_names, names_of, preview_text};
use super::json::Json;
use super::models::ListedModel;
use super::payload::{Payload, read_body};
use super::state::{Previews, SharedApp, blocking, outcome, pictures_of};
use super::uploads::Upload;
use request::{ImageRequest, Purpose};

/// Every route of OpenAI's.
pub(crate) fn routes() -> Router<SharedApp> {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/models/{id}", get(model))
        .route("/v1/images/generations", post(generations))
        .route("/v1/images/edits", post(edits))
        .route("/v1/images/variations", post(variations))
        .route("/v1/files/{name}", get(file))
}

/// The fields of a route's body, where it has any.
pub(crate) fn describe(path: &str) -> Option<Description> {
    let of = |purpose| Fields::describe(|fields| request::read(fields, Vec::new(), None, purpose));
    Some(match path {
        "/v1/images/generations" => of(Purpose::Generate),
        "/v1/images/edits" => of(Purpose::Edit),
        "/v1/images/variations" => of(Purpose::Vary),
        _ => return None,
    })
}

/// The parts of a route's form that are pictures; none where its body is JSON.
pub(crate) fn form_pictures(path: &str) -> &'static [&'static str] {
    match path {
        "/v1/images/edits" | "/v1/images/variations" => &[request::IMAGE, request::MASK],
        _ => &[],
    }
}

fn model_object(model: &ListedModel) -> Value {
    json!({"id": model.name, "object": "model", "created": 0, "owned_by": "atelier"})
}

async fn models(State(app): State<SharedApp>) -> Result<Json, Failure> {
    let list = app.models().await?;
    let models: Vec<Value> = list.models.iter().map(model_object).collect();
    Ok(Json(json!({"object": "list", "data": models})))
}

async fn model(State(app): State<SharedApp>, Path(id): Path<String>) -> Result<Json, Failure> {
    let list = app.models().await?;
    let model = list.model(&id).ok_or_else(|| Failure::not_found("Model", format!("There is no model named {id} here.")))?;
    Ok(Json(model_object(model)))
}

async fn generations(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    host: Host,
    held: Held,
    Payload(body, upload): Payload,
) -> Result<Response, Failure> {
    let request = request::read(Fields::read(&body)?, Vec::new(), None, Purpose::Generate)?;
    drop(body);
    answer(&app, &owner, request, Purpose::Generate, host, held, upload).await
}

async fn edits(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    host: Host,
    held: Held,
    request: Request,
) -> Result<Response, Failure> {
    of_form(&app, &owner, request, Purpose::Edit, host, held).await
}

async fn variations(
    State(app): State<SharedApp>,
    Extension(owner): Extension<Owner>,
    host: Host,
    held: Held,
    request: Request,
) -> Result<Response, Failure> {
    of_form(&app, &owner, request, Purpose::Vary, host, held).await
}

async fn of_form(app: &SharedApp, owner: &Owner, request: Request, purpose: Purpose, host: Host, held: Held) -> Result<Response, Failure> {
    let (parts, body) = request.into_parts();
    let Payload(body, upload) = read_body(body, app.upload(owner)).await?;
    let (fields, images, mask) = request::read_form(parts, body).await?;
    let request = request::read(fields, images, mask, purpose)?;
    answer(app, owner, request, purpose, host, held, upload).await
}

/// What an answer says beside the pictures.
#[derive(Clone)]
struct Form {
    format: atelier_media::ExportFormat,
    quality: String,
    partial_images: u32,
    purpose: Purpose,
}

impl Form {
    /// The fields that answers and events share.
    fn about(&self, view: &JobView) -> Value {
        let (width, height) = view.begin.as_ref().map_or((view.recipe.width, view.recipe.height), |it| (it.width, it.height));
        json!({
            "size": format!("{width}x{height}"),
            "quality": self.quality,
            "background": "opaque",
            "output_format": names_of(self.format).0,
        })
    }
}

fn with(mut value: Value, more: &[(&str, Value)]) -> Value {
    for (key, more) in more {
        value[*key] = more.clone();
    }
    value
}

async fn answer(
    app: &SharedApp,
    owner: &Owner,
    request: ImageRequest,
    purpose: Purpose,
    host: Host,
    held: Held,
    upload: Upload,
) -> Result<Response, Failure> {
    let form = Form { format: request.format, quality: request.quality.clone(), partial_images: request.partial_images, purpose };
    let (is_streamed, answers_links) = (request.is_streamed, request.answers_links);
    let request = app.decode_upload(upload, move || request.decode()).await?;
    let made = app.make(owner, request.wish).await?;
    let previews = if is_streamed && form.partial_images > 0 { Previews::Always } else { Previews::Never };
    let mut waiter = app.add(owner, made, previews, Lane::Interactive).await?;
    if is_streamed {
        return Ok(stream(Some(held), |events| send_events(waiter, form, events)));
    }
    let view = waiter.end().await;
    outcome(&view)?;
    let data: Vec<Value> = if answers_links {
        let links = view.pictures.iter().map(|picture| app.share(picture.path.clone(), form.format));
        links.map(|name| json!({"url": format!("http://{}/v1/files/{name}", host.0)})).collect()
    } else {
        pictures_of(&view, form.format).await?.iter().map(file_json).collect()
    };
    let more = [("created", json!(now_secs())), ("data", Value::Array(data)), ("atelier", json!({"notes": view.all_notes()}))];
    Ok(Json(with(form.about(&view), &more)).into_response())
}

/// Sends previews at even steps, then each picture.
async fn send_events(mut waiter: Waiter, form: Form, events: Events) {
    let name = form.purpose.events();
    let mut sent = 0;
    while !waiter.view().is_over() {
        let view = waiter.view();
        if sent < form.partial_images
            && let Some(preview) = view.preview.clone()
            && view.progress() >= f64::from(sent + 1) / f64::from(form.partial_images + 1)
        {
            let format = form.format;
            if let Ok(Some(text)) = blocking(move || preview_text(&preview.image, format)).await {
                let kind = format!("{name}.partial_image");
                let more = [
                    ("type", json!(kind)),
                    ("b64_json", Value::String(text)),
                    ("partial_image_index", json!(sent)),
                    ("created_at", json!(now_secs())),
                ];
                events.send(Some(&kind), &with(form.about(&view), &more)).await;
                sent += 1;
            }
        }
        if !waiter.change().await {
            break;
        }
    }
    let view = waiter.view();
    let pictures = match outcome(&view) {
        Ok(()) => pictures_of(&view, form.format).await,
        Err(failure) => Err(failure),
    };
    match pictures {
        Ok(pictures) => {
            for picture in &pictures {
                let kind = format!("{name}.completed");
                let more = [
                    ("type", json!(kind)),
                    ("b64_json", Value::String(base64_text(&picture.bytes))),
                    ("losses", json!(loss_names(&picture.losses))),
                    ("atelier", json!({"notes": view.all_notes()})),
                    ("created_at", json!(now_secs())),
                    (
                        "usage",
                        json!({"input_tokens": 0, "output_tokens": 0, "total_tokens": 0,
                        "input_tokens_details": {"image_tokens": 0, "text_tokens": 0}}),
                    ),
                ];
                events.send(Some(&kind), &with(form.about(&view), &more)).await;
            }
        }
        Err(failure) => events.send(Some("error"), &failure.openai()).await,
    }
}

/// A picture that was answered as a link.
async fn file(State(app): State<SharedApp>, Path(name): Path<String>) -> Result<Response, Failure> {
    let Some((path, format)) = app.shared_file(&name) else {
        return Err(Failure::not_found("File", "There is no such file, or its hour is over."));
    };
    let picture = blocking(move || super::images::file_bytes(&path, format)).await??;
    Ok(file_answer(picture, format))
}
