//! `options`: the model that an owner chose; everything else is accepted and forgotten, for each
//! request has all its settings.

use axum::Extension;
use axum::extract::State;
use serde_json::json;

use super::reply::Answer;
use crate::http::error::Failure;
use crate::http::fields::Fields;
use crate::http::json::Json;
use crate::http::payload::Payload;
use crate::http::recipe::model_of;
use crate::http::state::SharedApp;
use atelier_gallery::queue::Owner;

pub(super) async fn options(State(app): State<SharedApp>, Extension(owner): Extension<Owner>) -> Answer {
    let list = app.models().await?;
    let chosen = app.chosen_model(&owner);
    let model = model_of(&list, None, chosen.as_deref()).ok();
    // Neither `forge_preset` nor `use_scale_latent_for_hires_fix`: clients would take this for others.
    Ok(Json(json!({
        "sd_model_checkpoint": model.map(|it| it.title.as_str()),
        "sd_checkpoint_hash": model.and_then(|it| it.sha256.as_deref()),
        "samples_format": "png",
        "sd_vae": "Automatic",
        "CLIP_stop_at_last_layers": 1,
        "sd_lora": "None",
        "control_net_unit_count": 1,
        "show_progress_every_n_steps": 1,
        "live_previews_enable": true,
        "img2img_fix_steps": false,
        "eta_noise_seed_delta": 0,
    })))
}

pub(super) async fn set_options(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, Payload(body): Payload) -> Answer {
    let mut fields = Fields::read(&body)?;
    let wanted = fields.word("sd_model_checkpoint");
    fields.finish()?;
    if let Some(wanted) = wanted {
        let mut list = app.models().await?;
        if list.model(&wanted).is_none() {
            list = app.refresh_models().await?;
        }
        let found = list.model(&wanted);
        let model = found.ok_or_else(|| Failure::not_found("Model", format!("There is no model named {wanted} here.")))?;
        app.choose_model(&owner, model.title.clone());
        if app.hub.open_jobs() == 0 {
            let mut recipe = atelier_core::recipe::Recipe::default();
            model.runnable.apply(&mut recipe);
            if let Err(busy) = app.engine.preload(Some(recipe)) {
                tracing::debug!("{} is not loaded beforehand: {busy}", model.name);
            }
        }
    }
    Ok(Json(json!({})))
}
