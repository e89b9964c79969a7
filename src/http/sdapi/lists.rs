//! Lists: models, samplers, and everything else that clients fill their menus with. Names of files,
//! never of folders.

use atelier_core::recipe::{LatentUpscaler, Sampler, Scheduler};
use atelier_library::file_name;
use atelier_studio::styles::read_styles;
use axum::extract::State;
use serde_json::{Map, Value, json};
use sysinfo::System;

use super::reply::Answer;
use crate::http::json::Json;
use crate::http::names::{aliases, scheduler_aliases};
use crate::http::state::{SharedApp, blocking};

pub(super) async fn models(State(app): State<SharedApp>) -> Answer {
    let list = app.models().await?;
    let models = list.models.iter().map(
        |it| json!({"title": it.title, "model_name": it.name, "hash": it.hash(), "sha256": it.sha256, "filename": it.file, "config": null}),
    );
    Ok(Json(Value::Array(models.collect())))
}

pub(super) async fn samplers() -> Answer {
    let samplers = Sampler::ALL.iter().map(|it| json!({"name": it.label(), "aliases": aliases(*it), "options": {}}));
    Ok(Json(Value::Array(samplers.collect())))
}

pub(super) async fn schedulers() -> Answer {
    let automatic = json!({"name": "automatic", "label": "Automatic", "aliases": null, "default_rho": -1, "need_inner_model": false});
    let others = Scheduler::ALL
        .iter()
        .map(|it| json!({"name": it.key(), "label": it.label(), "aliases": scheduler_aliases(*it), "default_rho": -1, "need_inner_model": false}));
    Ok(Json(Value::Array(std::iter::once(automatic).chain(others).collect())))
}

pub(super) async fn upscalers(State(app): State<SharedApp>) -> Answer {
    let list = app.models().await?;
    let upscaler = |name: &str| json!({"name": name, "model_name": null, "model_path": null, "model_url": null, "scale": 4});
    let plain = ["None", "Lanczos"].into_iter().map(upscaler);
    Ok(Json(Value::Array(plain.chain(list.upscalers.iter().map(|it| upscaler(&it.name))).collect())))
}

pub(super) async fn latent_upscale_modes() -> Answer {
    let names = LatentUpscaler::ALL.iter().map(|it| json!({"name": it.label()}));
    Ok(Json(Value::Array(names.collect())))
}

pub(super) async fn vaes(State(app): State<SharedApp>) -> Answer {
    let list = app.models().await?;
    let vaes = list.vaes.iter().map(|it| json!({"model_name": it.name, "filename": file_name(&it.path)}));
    Ok(Json(Value::Array(vaes.collect())))
}

pub(super) async fn loras(State(app): State<SharedApp>) -> Answer {
    let list = app.models().await?;
    let loras = list.loras.iter().map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        json!({"name": name, "alias": name, "path": "", "metadata": {}})
    });
    Ok(Json(Value::Array(loras.collect())))
}

pub(super) async fn embeddings(State(app): State<SharedApp>) -> Answer {
    let list = app.models().await?;
    let loaded: Map<String, Value> = list
        .embeddings
        .iter()
        .map(|path| {
            let embedding = json!({"step": null, "sd_checkpoint": null, "sd_checkpoint_name": null, "shape": 0, "vectors": 0});
            (atelier_core::recipe::embedding_word(path), embedding)
        })
        .collect();
    Ok(Json(json!({"loaded": loaded, "skipped": {}})))
}

pub(super) async fn prompt_styles(State(app): State<SharedApp>) -> Answer {
    let folder = app.paths.styles();
    let read = blocking(move || read_styles(&folder)).await?;
    let styles = read.styles.iter().map(|(style, _)| {
        let settings = &style.settings;
        // Clients take them for texts.
        let words = |text: Option<&String>| text.cloned().unwrap_or_default();
        json!({"name": style.name, "prompt": words(settings.prompt.as_ref()), "negative_prompt": words(settings.negative_prompt.as_ref())})
    });
    Ok(Json(Value::Array(styles.collect())))
}

pub(super) async fn scripts() -> Answer {
    // No more names than these: clients switch on what they know by name.
    Ok(Json(json!({"txt2img": ["controlnet"], "img2img": ["controlnet"]})))
}

pub(super) async fn nothing() -> Answer {
    Ok(Json(json!([])))
}

pub(super) async fn flags() -> Answer {
    Ok(Json(json!({"api": true})))
}

pub(super) async fn memory() -> Answer {
    let (total, free) = blocking(|| {
        let mut system = System::new();
        system.refresh_memory();
        (system.total_memory(), system.available_memory())
    })
    .await?;
    let none = json!({"free": 0, "used": 0, "total": 0});
    Ok(Json(json!({"ram": {"free": free, "used": total.saturating_sub(free), "total": total}, "cuda": {"system": none}})))
}
