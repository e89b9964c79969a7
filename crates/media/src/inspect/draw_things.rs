//! Draw Things: JSON in `UserComment`, which PNG files have in XMP.

use atelier_core::recipe::Rng;
use serde_json::Value;

use super::a1111;
use super::fields::{Fields, decimal};
use super::settings::{PictureLora, PictureModel, PictureSettings, Tool};
use super::texts::{Texts, USER_COMMENT};

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    let mut fields = Fields::parse(texts.get(USER_COMMENT)?)?;
    let is_its = fields.has("c") && fields.has("seed") && (fields.has("uc") || fields.has("sampler"));
    if !is_its && texts.get("CreatorTool") != Some("Draw Things") {
        return None;
    }
    let seed_mode = fields.text("seed_mode");
    let rng = match seed_mode.as_deref() {
        Some("Torch CPU Compatible") => Some(Rng::Cpu),
        Some("NVIDIA GPU Compatible" | "Nvidia GPU Compatible") => Some(Rng::Cuda),
        _ => None,
    };
    if let (Some(mode), None) = (seed_mode, rng) {
        fields.insert("seed_mode".to_owned(), mode.into());
    }
    // The same once more, in the words of its scripts.
    fields.drop(&["v2"]);
    Some(PictureSettings {
        tool: Some(Tool::DrawThings),
        size: fields.take("size", |value| a1111::size(value.as_str()?)),
        prompt: fields.text("c"),
        negative_prompt: fields.text("uc"),
        seed: fields.whole("seed"),
        steps: fields.whole("steps"),
        guidance: fields.decimal("scale"),
        flow_shift: fields.decimal("shift"),
        clip_skip: fields.whole("clip_skip"),
        // 1 is a picture from nothing.
        strength: fields.decimal("strength").filter(|strength| *strength < 1.0),
        rng,
        sampler: fields.name("sampler"),
        model: PictureModel::of(fields.name("model"), None),
        loras: fields.each("lora", lora),
        not_understood: fields.left(),
        ..PictureSettings::default()
    })
}

fn lora(value: &Value) -> Option<PictureLora> {
    let name = value.get("model").or_else(|| value.get("file"))?.as_str()?.to_owned();
    Some(PictureLora::new(name, None, value.get("weight").and_then(decimal)?))
}
