//! The answer of `txt2img` and `img2img`: pictures, and a JSON text about them.

use atelier_core::recipe::{FileRole, PictureInfo, SeedNumber};
use atelier_gallery::queue::JobState;
use atelier_media::ExportedBytes;
use atelier_media::a1111::{Parameters, format};
use serde_json::{Map, Value, json};

use super::reply::timestamp;
use crate::http::hub::JobView;
use crate::http::images::loss_names;
use crate::http::models::ListedModel;

/// The JSON text `info`; `pictures`: those of the answer, `styles`: the names of those that were asked for.
pub(crate) fn info(view: &JobView, model: &ListedModel, pictures: &[ExportedBytes], styles: &[String]) -> String {
    let recipe = &view.recipe;
    let count = recipe.batch_count.max(1);
    let seeds: Vec<SeedNumber> = (0..count).map(|index| SeedNumber(view.seed(index))).collect();
    let (width, height) = view.begin.as_ref().map_or((recipe.width, recipe.height), |begin| (begin.width, begin.height));
    let texts: Vec<String> = view
        .pictures
        .iter()
        .map(|picture| {
            let info = PictureInfo { index: picture.index, seed: view.seed(picture.index), cpu_math: None, merged_loras: false };
            format(&Parameters::of(recipe, Some(&model.name), info, width, height))
        })
        .collect();
    let subseed = SeedNumber(recipe.seed_blend.map(|blend| blend.seed));
    let subseed_strength = recipe.seed_blend.map_or(0.0, |blend| blend.amount);
    let notes = view.all_notes();
    let extra: Map<String, Value> =
        if notes.is_empty() { Map::new() } else { Map::from_iter([("Notes".to_owned(), Value::String(notes.join(" ")))]) };
    let strength = recipe.init.as_ref().map(|init| init.strength).or(recipe.hires.as_ref().map(|hires| hires.strength));
    let vae = recipe.files.get(FileRole::Vae).map(atelier_library::file_name);
    let info = json!({
        "prompt": recipe.prompt,
        "all_prompts": vec![&recipe.prompt; count as usize],
        "negative_prompt": recipe.negative_prompt,
        "all_negative_prompts": vec![&recipe.negative_prompt; count as usize],
        "seed": seeds.first(),
        "all_seeds": seeds,
        "subseed": subseed,
        "all_subseeds": vec![subseed; count as usize],
        "subseed_strength": subseed_strength,
        "width": width,
        "height": height,
        "sampler_name": recipe.sampler.map_or("Automatic", |it| it.label()),
        "cfg_scale": recipe.guidance,
        "steps": recipe.steps,
        "batch_size": count,
        "restore_faces": false,
        "face_restoration_model": null,
        "sd_model_name": model.name,
        "sd_model_hash": model.hash(),
        "sd_vae_name": vae,
        "sd_vae_hash": null,
        "seed_resize_from_w": -1,
        "seed_resize_from_h": -1,
        "denoising_strength": strength,
        "extra_generation_params": extra,
        "index_of_first_image": 0,
        "infotexts": texts,
        "styles": styles,
        "job_timestamp": timestamp(view.began_ms.unwrap_or(view.created_ms)),
        "clip_skip": recipe.clip_skip.unwrap_or(1),
        "is_using_inpainting_conditioning": false,
        "version": concat!("Atelier ", env!("CARGO_PKG_VERSION")),
        "interrupted": view.state == JobState::Cancelled,
        "atelier": {"job": view.id.0, "notes": notes,
            "losses": pictures.iter().map(|picture| loss_names(&picture.losses)).collect::<Vec<_>>()},
    });
    info.to_string()
}
