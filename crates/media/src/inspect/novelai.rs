//! `NovelAI`: the prompt in `Description`, the rest as JSON in `Comment`.

use super::fields::Fields;
use super::settings::{PictureModel, PictureSettings, Tool};
use super::texts::Texts;

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    if texts.get("Software") != Some("NovelAI") {
        return None;
    }
    let mut fields = texts.get("Comment").and_then(Fields::parse).unwrap_or_default();
    let prompt = fields.text("prompt").or_else(|| texts.get("Description").map(str::to_owned));
    fields.drop(&["n_samples", "signed_hash", "request_type", "hide_debug_overlay"]);
    Some(PictureSettings {
        tool: Some(Tool::NovelAi),
        size: fields.size("width", "height"),
        prompt,
        negative_prompt: fields.text("uc"),
        seed: fields.whole("seed"),
        steps: fields.whole("steps"),
        guidance: fields.decimal("scale"),
        strength: fields.decimal("strength"),
        sampler: fields.name("sampler"),
        scheduler: fields.name("noise_schedule"),
        model: PictureModel::of(texts.get("Source").map(str::to_owned), None),
        not_understood: fields.left(),
        ..PictureSettings::default()
    })
}
