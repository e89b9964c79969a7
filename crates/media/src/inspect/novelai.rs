//! `NovelAI`: the prompt in `Description`, the rest as JSON in `Comment`.

use serde_json::Value;

use super::fields::Fields;
use super::settings::{PictureModel, PictureSettings, Tool};
use super::texts::Texts;

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    if texts.get("Software") != Some("NovelAI") {
        return None;
    }
    let mut fields = texts.get("Comment").and_then(Fields::parse).unwrap_or_default();
    let prompt = fields.text("prompt").or_else(|| texts.get("Description").map(str::to_owned));
    // Its strength is written of every picture; the request says whether there was one to start from.
    let is_from_picture =
        fields.get("request_type").and_then(Value::as_str).is_some_and(|it| it.contains("Img2Img") || it.contains("Infill"));
    let strength = if is_from_picture { fields.decimal("strength") } else { None };
    fields.drop(&["n_samples", "signed_hash", "request_type", "hide_debug_overlay"]);
    Some(PictureSettings {
        tool: Some(Tool::NovelAi),
        size: fields.size("width", "height"),
        prompt,
        negative_prompt: fields.text("uc"),
        seed: fields.whole("seed"),
        steps: fields.whole("steps"),
        guidance: fields.decimal("scale"),
        strength,
        sampler: fields.name("sampler"),
        scheduler: fields.name("noise_schedule"),
        model: texts.get("Source").and_then(model),
        not_understood: fields.left(),
        ..PictureSettings::default()
    })
}

/// `NovelAI Diffusion V4.5 4BDE2A90`: a name and the first digits of a hash.
fn model(source: &str) -> Option<PictureModel> {
    let is_hash = |text: &str| text.len() == 8 && text.chars().all(|c| c.is_ascii_hexdigit());
    match source.trim().rsplit_once(' ') {
        Some((name, hash)) if is_hash(hash) => PictureModel::of(Some(name.to_owned()), Some(hash.to_owned())),
        _ => PictureModel::of(Some(source.to_owned()), None),
    }
}
