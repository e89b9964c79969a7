//! A1111's interface, `/sdapi/v1/*` and `/controlnet/*`, as SillyTavern, Open WebUI, LibreChat,
//! plugins of Blender, GIMP and Photoshop, and scripts use it.

mod answer;
mod controlnet;
mod extras;
mod lists;
mod options;
mod progress;
mod reply;
mod request;

use atelier_gallery::queue::{JobState, Lane, Owner};
use atelier_studio::styles::read_styles;
use axum::body::Body;
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde_json::json;

use reply::{Answer, noted};

use super::error::Failure;
use super::fields::{Description, Fields};
use super::held::Held;
use super::images::base64_text;
use super::json::Json;
use super::payload::{Payload, note_on};
use super::recipe::Wish;
use super::state::{Previews, SharedApp, blocking, outcome, pictures_of};

/// Every route of A1111's.
pub(crate) fn routes() -> Router<SharedApp> {
    Router::new()
        .route("/sdapi/v1/txt2img", post(txt2img))
        .route("/sdapi/v1/img2img", post(img2img))
        .route("/controlnet/txt2img", post(txt2img))
        .route("/controlnet/img2img", post(img2img))
        .route("/sdapi/v1/progress", get(progress::progress))
        .route("/sdapi/v1/interrupt", post(progress::interrupt))
        .route("/sdapi/v1/skip", post(progress::skip))
        .route("/sdapi/v1/options", get(options::options).post(options::set_options))
        .route("/sdapi/v1/sd-models", get(lists::models))
        .route("/sdapi/v1/refresh-checkpoints", post(refresh))
        .route("/sdapi/v1/refresh-loras", post(refresh))
        .route("/sdapi/v1/refresh-vae", post(refresh))
        .route("/sdapi/v1/samplers", get(lists::samplers))
        .route("/sdapi/v1/schedulers", get(lists::schedulers))
        .route("/sdapi/v1/upscalers", get(lists::upscalers))
        .route("/sdapi/v1/latent-upscale-modes", get(lists::latent_upscale_modes))
        .route("/sdapi/v1/sd-vae", get(lists::vaes))
        .route("/sdapi/v1/sd-modules", get(lists::vaes))
        .route("/sdapi/v1/loras", get(lists::loras))
        .route("/sdapi/v1/embeddings", get(lists::embeddings))
        .route("/sdapi/v1/prompt-styles", get(lists::prompt_styles))
        .route("/sdapi/v1/hypernetworks", get(lists::nothing))
        .route("/sdapi/v1/face-restorers", get(lists::nothing))
        .route("/sdapi/v1/realesrgan-models", get(lists::nothing))
        .route("/sdapi/v1/script-info", get(lists::nothing))
        .route("/sdapi/v1/scripts", get(lists::scripts))
        .route("/sdapi/v1/cmd-flags", get(lists::flags))
        .route("/sdapi/v1/memory", get(lists::memory))
        .route("/sdapi/v1/extra-single-image", post(extras::single))
        .route("/sdapi/v1/extra-batch-images", post(extras::batch))
        .route("/sdapi/v1/png-info", post(extras::png_info))
        .route("/sdapi/v1/unload-checkpoint", post(unload))
        .route("/sdapi/v1/reload-checkpoint", post(reload))
        .route("/sdapi/v1/interrogate", post(interrogate))
        .route("/controlnet/version", get(controlnet::version))
        .route("/controlnet/settings", get(controlnet::settings))
        .route("/controlnet/model_list", get(controlnet::model_list))
        .route("/controlnet/module_list", get(controlnet::module_list))
        .route("/controlnet/control_types", get(controlnet::control_types))
        .route("/controlnet/detect", post(controlnet::detect))
}

/// The fields of a route's body, where it has any.
pub(crate) fn describe(path: &str) -> Option<Description> {
    Some(match path {
        "/sdapi/v1/txt2img" | "/controlnet/txt2img" => Fields::describe(|fields| request::read(fields, false)),
        "/sdapi/v1/img2img" | "/controlnet/img2img" => Fields::describe(|fields| request::read(fields, true)),
        "/sdapi/v1/options" => Fields::describe(options::read),
        "/sdapi/v1/extra-single-image" => Fields::describe(extras::read_single),
        "/sdapi/v1/extra-batch-images" => Fields::describe(extras::read_batch),
        "/sdapi/v1/png-info" => Fields::describe(extras::read_png),
        _ => return None,
    })
}

/// The parameters of a route's query, where it reads any.
pub(crate) fn describe_query(path: &str) -> Option<Description> {
    (path == "/sdapi/v1/progress").then(|| Fields::describe(progress::read_query))
}

async fn txt2img(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, _held: Held, payload: Payload) -> Answer {
    generate(&app, &owner, payload, false).await
}

async fn img2img(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, _held: Held, payload: Payload) -> Answer {
    generate(&app, &owner, payload, true).await
}

async fn generate(app: &SharedApp, owner: &Owner, Payload(body, upload): Payload, is_img2img: bool) -> Answer {
    let request = request::read(Fields::read(&body)?, is_img2img)?;
    // It may be large, and the picture takes a while.
    drop(body);
    let format = request.format;
    let request = app.decode_upload(upload, move || request.decode()).await?;
    let mut wish = request.wish;
    apply_styles(app, &request.styles, &mut wish).await?;
    let made = app.make(owner, wish).await?;
    let model = made.model.clone();
    let mut waiter = app.add(owner, made, Previews::IfWatched, Lane::Interactive).await?;
    let view = waiter.end().await;
    // An interrupted request ends well, with the pictures that are finished.
    if view.state != JobState::Cancelled {
        outcome(&view)?;
    }
    let pictures = if request.sends_images { pictures_of(&view, format).await? } else { Vec::new() };
    let images: Vec<String> = pictures.iter().map(|picture| base64_text(&picture.bytes)).collect();
    Ok(Json(json!({"images": images, "parameters": {}, "info": answer::info(&view, &model, &pictures, &request.styles)})))
}

/// Puts the words of styles round the prompt.
async fn apply_styles(app: &SharedApp, names: &[String], wish: &mut Wish) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
    }
    let folder = app.paths.styles();
    let known = blocking(move || read_styles(&folder)).await?;
    for name in names {
        let Some((style, _)) = known.styles.iter().find(|(style, _)| style.name == *name) else {
            wish.notes.push(format!("There is no style named {name}."));
            continue;
        };
        let recipe = atelier_core::recipe::Recipe {
            prompt: wish.prompt.clone(),
            negative_prompt: wish.negative_prompt.clone(),
            ..atelier_core::recipe::Recipe::default()
        };
        let settings = style.settings_for(&recipe);
        wish.prompt = settings.prompt.unwrap_or_else(|| wish.prompt.clone());
        wish.negative_prompt = settings.negative_prompt.unwrap_or_else(|| wish.negative_prompt.clone());
    }
    Ok(())
}

async fn refresh(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, body: Body) -> Answer {
    app.refresh_models().await?;
    Ok(Json(noted(json!({}), note_on(&app, &owner, body).await)))
}

async fn unload(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, body: Body) -> Answer {
    only_here(&owner)?;
    if let Err(busy) = app.engine.unload() {
        tracing::warn!("the models stay in memory: {busy}");
    }
    Ok(Json(noted(json!({}), note_on(&app, &owner, body).await)))
}

async fn reload(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, body: Body) -> Answer {
    only_here(&owner)?;
    let list = app.models().await?;
    let model = super::recipe::model_of(&list, None, app.chosen_model(&owner).as_deref())?;
    let mut recipe = atelier_core::recipe::Recipe::default();
    model.runnable.apply(&mut recipe);
    if let Err(busy) = app.engine.preload(Some(recipe)) {
        tracing::warn!("the model is not loaded: {busy}");
    }
    Ok(Json(noted(json!({}), note_on(&app, &owner, body).await)))
}

/// The memory is everybody's: only programs of this computer free it.
fn only_here(owner: &Owner) -> Result<(), Failure> {
    if owner.is_this_computer() {
        Ok(())
    } else {
        Err(Failure::Forbidden("Only programs on the server's own computer may do this.".to_owned()))
    }
}

async fn interrogate() -> Answer {
    Err(Failure::not_found("Model", "There is no model that describes pictures."))
}
