//! Settings that no other key has, in the JSON of sd-cli.

use atelier_core::recipe::Recipe;
use serde_json::{Map, Value, json};

/// The value of [`super::key::SDCPP`]; `None` where the recipe has none of these settings.
pub(super) fn json_of(recipe: &Recipe) -> Option<Value> {
    let mut fields = Map::new();
    if let Some(cache) = &recipe.step_cache {
        let cache = json!({
            "requested_mode": cache.mode.key(),
            "requested_option": cache.options_text(),
            "scm_mask": cache.mask_text(),
            "scm_policy_dynamic": !cache.is_mask_static,
        });
        fields.insert("cache".to_owned(), cache);
    }
    if let Some(shift) = recipe.timestep_shift {
        fields.insert("sampling".to_owned(), json!({ "shifted_timestep": shift }));
    }
    if recipe.vae_tiling {
        // As sd-cli writes the usual size.
        let (width, height) = recipe.vae_tile_size.map_or((0, 0), |size| (size.width, size.height));
        let overlap = recipe.vae_tile_overlap.unwrap_or(Recipe::USUAL_VAE_TILE_OVERLAP);
        let tiles = json!({ "enabled": true, "target_overlap": overlap, "tile_size_x": width, "tile_size_y": height });
        fields.insert("vae_tiling".to_owned(), tiles);
    }
    if fields.is_empty() {
        return None;
    }
    fields.insert("schema".to_owned(), "sdcpp.image.params/v1".into());
    Some(Value::Object(fields))
}
