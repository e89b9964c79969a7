//! Tensor.Art: JSON in `generation_data`, beside the graph of `ComfyUI` that ran.

use serde_json::Value;

use super::fields::{Fields, decimal, is_lora_kind, text_of};
use super::settings::{MAX_LORAS, PictureLora, PictureModel, PictureSettings};
use super::texts::Texts;

const GENERATION_DATA: &str = "generation_data";

/// What the site says of a picture, in its own words. Models have numbers there that no field has:
/// all that is said of them stays to be seen.
pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    let mut fields = texts.all(GENERATION_DATA).find_map(Fields::parse)?;
    let models = fields.get("models").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // One more than is read, so that it is told.
    let loras = models.iter().filter_map(lora).take(MAX_LORAS + 1).collect();
    let base = fields.get("baseModel").or_else(|| models.iter().find(|it| kind(it) == "BASE_MODEL"));
    let model = base.and_then(|it| PictureModel::of(name(it), text_of(it, "hash")));
    // Its strength is written of every picture.
    let is_from_picture = fields.get("images").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let strength = if is_from_picture { fields.decimal("denoisingStrength") } else { None };
    fields.drop(&["imageCount", "workEngine"]);
    let settings = PictureSettings {
        distilled_guidance: fields.decimal("guidance"),
        strength,
        sampler: fields.name("ksamplerName").or_else(|| fields.name("samplerName")),
        scheduler: fields.name("schedule"),
        vae: fields
            .take("sdVae", |value| value.as_str().filter(|it| !["", "Automatic", "None"].contains(it)).map(str::to_owned))
            .and_then(|name| PictureModel::of(Some(name), None)),
        model,
        loras,
        ..fields.site_settings()
    };
    Some(PictureSettings { not_understood: fields.left(), ..settings })
}

fn kind(value: &Value) -> String {
    text_of(value, "type").unwrap_or_default().to_uppercase()
}

/// The file's name, or the one that people read.
fn name(value: &Value) -> Option<String> {
    text_of(value, "modelFileName").or_else(|| text_of(value, "label"))
}

fn lora(value: &Value) -> Option<PictureLora> {
    let is_lora = is_lora_kind(&kind(value));
    let strength = value.get("weight").and_then(decimal).unwrap_or(1.0);
    is_lora.then(|| name(value))?.map(|name| PictureLora::new(name, text_of(value, "hash"), strength))
}
