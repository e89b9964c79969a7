//! Draw Things: JSON in `UserComment`, which PNG files have in XMP.

use atelier_core::recipe::Rng;
use serde_json::Value;

use super::a1111;
use super::fields::{Fields, decimal, shown, skips_layers};
use super::settings::{PictureLora, PictureModel, PictureSettings, Tool};
use super::texts::{Texts, USER_COMMENT};

/// Key of the settings in the words of its scripts.
const SCRIPT: &str = "v2";
/// What stands in those words alone, each with the values that count where it is on.
const IN_SCRIPT_ALONE: [(&str, &[&str]); 9] = [
    ("hiresFix", &["hiresFixWidth", "hiresFixHeight", "hiresFixStrength"]),
    ("refinerModel", &["refinerStart"]),
    ("controls", &[]),
    ("upscaler", &["upscalerScaleFactor"]),
    ("faceRestoration", &[]),
    ("zeroNegativePrompt", &[]),
    ("separateClipL", &["clipLText"]),
    ("separateOpenClipG", &["openClipGText"]),
    ("teaCache", &["teaCacheThreshold"]),
];

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
    // Mostly the same once more.
    let script = fields.value(SCRIPT).unwrap_or_default();
    let model = fields.name("model");
    // Models that take guidance as an input may have it from the scale, and then have no other one.
    // Klein takes none, whatever the switch says.
    let takes_guidance = model.as_deref().is_some_and(|name| name.starts_with("flux") && !name.contains("klein"));
    let scale = fields.decimal("scale");
    let (guidance, distilled_guidance) = match script.get("speedUpWithGuidanceEmbed").and_then(Value::as_bool) {
        Some(true) if takes_guidance => (scale.map(|_| 1.0), scale),
        Some(false) if takes_guidance => (scale, script.get("guidanceEmbed").and_then(decimal)),
        _ => (scale, None),
    };
    Some(PictureSettings {
        tool: Some(Tool::DrawThings),
        size: fields.take("size", |value| a1111::size(value.as_str()?)),
        prompt: fields.text("c"),
        negative_prompt: fields.text("uc"),
        seed: fields.whole("seed"),
        steps: fields.whole("steps"),
        guidance,
        distilled_guidance,
        flow_shift: fields.decimal("shift"),
        clip_skip: fields.whole("clip_skip").filter(skips_layers),
        // 1 is a picture from nothing.
        strength: fields.decimal("strength").filter(|strength| *strength < 1.0),
        rng,
        sampler: fields.name("sampler"),
        model: PictureModel::of(model, None),
        loras: fields.each("lora", lora),
        not_understood: fields.left().into_iter().chain(in_script_alone(&script)).collect(),
        ..PictureSettings::default()
    })
}

fn in_script_alone(script: &Value) -> Vec<(String, String)> {
    let is_on = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    };
    let on = IN_SCRIPT_ALONE.iter().filter(|(name, _)| script.get(*name).is_some_and(is_on));
    let names = on.flat_map(|(name, values)| std::iter::once(name).chain(*values));
    names.filter_map(|name| Some((format!("{SCRIPT}: {name}"), shown(script.get(*name)?)))).collect()
}

fn lora(value: &Value) -> Option<PictureLora> {
    let name = value.get("model").or_else(|| value.get("file"))?.as_str()?.to_owned();
    Some(PictureLora::new(name, None, value.get("weight").and_then(decimal)?))
}
