//! What sd-cli writes behind its pairs (`SDCPP`), and Atelier among its own: JSON with the settings
//! that they have no key for.

use atelier_core::recipe::{CacheMode, Recipe, StepCache, TileSize};
use serde_json::{Map, Value};

use super::fields::{self, Fields};
use super::settings::PictureTiles;

/// Fields that the pairs say too, that say nothing of the picture, and that are about other pictures:
/// these stand there also without such.
const ELSEWHERE: [&str; 18] = [
    "auto_resize_ref_image",
    "clip_skip",
    "control_strength",
    "generator",
    "height",
    "hires",
    "increase_ref_index",
    "loras",
    "mode",
    "models",
    "prompt",
    "rng",
    "sampler_rng",
    "schema",
    "seed",
    "strength",
    "upscale",
    "width",
];
/// Those among the settings of the sampling.
const SAMPLING_ELSEWHERE: [&str; 5] = ["custom_sigmas", "eta", "method", "scheduler", "steps"];

/// Settings of the JSON; empty is what it does not tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SdCpp {
    pub(super) sampler_arguments: Option<String>,
    pub(super) image_guidance: Option<f32>,
    pub(super) flow_shift: Option<f32>,
    pub(super) timestep_shift: Option<u32>,
    pub(super) step_cache: Option<StepCache>,
    pub(super) tiles: Option<PictureTiles>,
    /// Fields that are not understood, by name and value.
    pub(super) not_understood: Vec<(String, String)>,
}

/// Reads the value of the pair; `None` where it is no JSON.
pub(super) fn read(text: &str) -> Option<SdCpp> {
    let mut json = Fields::parse(text)?;
    let mut sampling = json.take("sampling", object).map(Fields::of).unwrap_or_default();
    let mut guidance = sampling.take("guidance", object).map(Fields::of).unwrap_or_default();
    let it = SdCpp {
        sampler_arguments: sampling.name("extra_sample_args"),
        image_guidance: guidance.decimal("img_cfg"),
        flow_shift: sampling.decimal("flow_shift"),
        timestep_shift: sampling.whole::<u32>("shifted_timestep").filter(|shift| *shift > 0),
        step_cache: json.take("cache", step_cache),
        tiles: json.take("vae_tiling", tiles),
        not_understood: Vec::new(),
    };
    json.drop(&ELSEWHERE);
    sampling.drop(&SAMPLING_ELSEWHERE);
    let named = |prefix: &'static str, left: Fields| left.left().into_iter().map(move |(name, value)| (format!("{prefix}{name}"), value));
    Some(SdCpp { not_understood: named("SDCPP: ", json).chain(named("SDCPP: sampling: ", sampling)).collect(), ..it })
}

fn object(value: &Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

/// The cache as it was asked for: the numbers beside it are those that the engine made of that.
fn step_cache(value: &Value) -> Option<StepCache> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let mode: CacheMode = text("requested_mode").parse().ok()?;
    Some(StepCache {
        mode,
        options: StepCache::read_options(text("requested_option")).ok()?,
        mask: StepCache::read_mask(text("scm_mask")).ok()?,
        is_mask_static: value.get("scm_policy_dynamic") == Some(&Value::Bool(false)),
    })
}

/// Tiles of a size; a part of the picture is none.
fn tiles(value: &Value) -> Option<PictureTiles> {
    let whole = |key: &str| value.get(key).and_then(fields::whole).and_then(|side| u32::try_from(side).ok());
    let is_part = ["rel_size_x", "rel_size_y"].iter().any(|key| value.get(*key).and_then(fields::decimal).is_some_and(|part| part > 0.0));
    let is_on = value.get("enabled") == Some(&Value::Bool(true));
    let size = TileSize::chosen(whole("tile_size_x")?, whole("tile_size_y")?);
    let overlap = value.get("target_overlap").and_then(fields::decimal).filter(|overlap| *overlap != Recipe::USUAL_VAE_TILE_OVERLAP);
    (is_on && !is_part).then_some(PictureTiles { size, overlap })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As sd-cli writes it, with these fields for some of its own.
    fn json(changes: &Value) -> String {
        let mut json = serde_json::json!({
            "auto_resize_ref_image": true, "clip_skip": -1, "control_strength": 0.9, "height": 64, "increase_ref_index": false,
            "generator": {"commit": "unknown", "name": "stable-diffusion.cpp"}, "mode": "img_gen", "models": {"llm": "q.gguf"},
            "prompt": {"negative": "", "positive": "a lake"}, "rng": "cuda", "schema": "sdcpp.image.params/v1", "seed": 42,
            "sampling": {
                "custom_sigmas": [], "eta": null, "extra_sample_args": "", "flow_shift": null, "method": "euler",
                "guidance": {"distilled_guidance": 3.5, "img_cfg": null, "txt_cfg": 7.0, "slg": {"layers": [7], "scale": 0.0}},
                "scheduler": "discrete", "shifted_timestep": 0, "steps": 14
            },
            "strength": 0.75, "width": 64
        });
        for (key, value) in changes.as_object().unwrap() {
            match (json.get_mut(key).and_then(Value::as_object_mut), value.as_object()) {
                (Some(own), Some(value)) => own.extend(value.clone()),
                _ => json[key] = value.clone(),
            }
        }
        json.to_string()
    }

    #[test]
    fn a_plain_picture_says_nothing_more_than_its_pairs() {
        assert_eq!(read(&json(&serde_json::json!({}))), Some(SdCpp::default()));
        assert_eq!(read("a lake"), None);
        assert_eq!(read("{}"), Some(SdCpp::default()));
    }

    #[test]
    fn shifts_caches_and_tiles_are_those_that_were_asked_for() {
        let cache = serde_json::json!({
            "requested_mode": "cache-dit", "requested_option": "Fn=1,threshold=5", "scm_mask": "1,1,0", "scm_policy_dynamic": false,
            "mode": 5, "Fn_compute_blocks": 1, "reuse_threshold": null, "max_warmup_steps": 8
        });
        let tiling = serde_json::json!({
            "enabled": true, "rel_size_x": 0.0, "rel_size_y": 0.0, "target_overlap": 0.25, "tile_size_x": 16, "tile_size_y": 12
        });
        let sampling = serde_json::json!({
            "flow_shift": 2.0, "shifted_timestep": 250, "extra_sample_args": "apg_eta=1", "guidance": {"img_cfg": 2.0}
        });
        let found = read(&json(&serde_json::json!({"cache": cache, "vae_tiling": tiling, "sampling": sampling}))).unwrap();
        let step_cache = StepCache {
            mode: CacheMode::CacheDit,
            options: StepCache::read_options("Fn=1,threshold=5").unwrap(),
            mask: vec![true, true, false],
            is_mask_static: true,
        };
        let expected = SdCpp {
            sampler_arguments: Some("apg_eta=1".into()),
            image_guidance: Some(2.0),
            flow_shift: Some(2.0),
            timestep_shift: Some(250),
            step_cache: Some(step_cache),
            tiles: Some(PictureTiles { size: Some(TileSize { width: 16, height: 12 }), overlap: Some(0.25) }),
            not_understood: Vec::new(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_understood_is_listed() {
        let half = serde_json::json!({"enabled": true, "tile_size_x": 16, "tile_size_y": -8});
        let cache = serde_json::json!({"requested_mode": "teacache", "requested_option": ""});
        let found = read(&json(&serde_json::json!({
            "vae_tiling": half, "cache": cache, "auto_resize_ref_image": false, "increase_ref_index": true,
            "sampling": {"new": 3, "shifted_timestep": -4}
        })))
        .unwrap();
        assert_eq!((found.step_cache, found.tiles, found.timestep_shift), (None, None, None));
        let mut names: Vec<String> = found.not_understood.into_iter().map(|(name, _)| name).collect();
        names.sort();
        let expected = ["cache", "sampling: new", "sampling: shifted_timestep", "vae_tiling"];
        assert_eq!(names, expected.map(|name| format!("SDCPP: {name}")));
        // Part of the picture, and options that nobody knows.
        let part = serde_json::json!({"enabled": true, "tile_size_x": 0, "tile_size_y": 0, "rel_size_x": 0.5, "rel_size_y": 0.5});
        let unknown = serde_json::json!({"requested_mode": "easycache", "requested_option": "speed=1"});
        let found = read(&json(&serde_json::json!({"vae_tiling": part, "cache": unknown}))).unwrap();
        assert_eq!((found.step_cache, found.tiles, found.not_understood.len()), (None, None, 2));
    }
}
