//! `options`: the model that an owner chose. Everything else is accepted and forgotten, for each
//! request has all its settings, and named in a note where it is not as it always is here.

use axum::Extension;
use axum::extract::State;
use serde_json::{Map, Value, json};

use super::reply::{Answer, noted};
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
    let mut options = Map::from_iter([
        ("sd_model_checkpoint".to_owned(), json!(model.map(|it| it.title.as_str()))),
        ("sd_checkpoint_hash".to_owned(), json!(model.and_then(|it| it.sha256.as_deref()))),
    ]);
    options.extend(fixed().map(|(key, value)| (key.to_owned(), value)));
    Ok(Json(Value::Object(options)))
}

/// The options that are always the same. Neither `forge_preset` nor `use_scale_latent_for_hires_fix`:
/// clients would take this for others.
fn fixed() -> [(&'static str, Value); 9] {
    [
        ("samples_format", json!("png")),
        ("sd_vae", json!("Automatic")),
        ("CLIP_stop_at_last_layers", json!(1)),
        ("sd_lora", json!("None")),
        ("control_net_unit_count", json!(1)),
        ("show_progress_every_n_steps", json!(1)),
        ("live_previews_enable", json!(true)),
        ("img2img_fix_steps", json!(false)),
        ("eta_noise_seed_delta", json!(0)),
    ]
}

/// The model that is wanted, and the note on what nobody read.
pub(super) fn read(mut fields: Fields) -> Result<(Option<String>, Option<String>), Failure> {
    let wanted = fields.word("sd_model_checkpoint");
    // Clients send the whole object back; the sum is the model's.
    fields.leave_usual(&fixed());
    fields.leave(&["sd_checkpoint_hash"]);
    Ok((wanted, fields.finish()?))
}

pub(super) async fn set_options(State(app): State<SharedApp>, Extension(owner): Extension<Owner>, Payload(body, _): Payload) -> Answer {
    let (wanted, note) = read(Fields::read(&body)?)?;
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
    Ok(Json(noted(json!({}), note)))
}
