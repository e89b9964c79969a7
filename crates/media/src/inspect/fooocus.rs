//! Fooocus: JSON or A1111's text in `parameters`, with its scheme beside it; in JPEG and WebP in
//! `UserComment` and `MakerNote`. Early versions wrote JSON with the words of the interface into
//! `Comment`. `RuinedFooocus`, which began as a copy of it, writes JSON with words of its own.

use atelier_core::recipe::Rng;
use serde_json::Value;

use super::a1111;
use super::fields::{Fields, decimal, skips_layers, whole};
use super::settings::{MAX_LORAS, PictureLora, PictureModel, PictureSettings, Tool};
use super::texts::{Texts, USER_COMMENT};
use crate::png::PARAMETERS;

/// Steps of each performance, where the steps themselves are not written.
const PERFORMANCES: [(&str, u32); 5] = [("Quality", 60), ("Speed", 30), ("Extreme Speed", 8), ("Lightning", 4), ("Hyper-SD", 4)];

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    let scheme = texts.get("fooocus_scheme").or_else(|| texts.get("MakerNote"));
    let text = texts.get(PARAMETERS).or_else(|| texts.get(USER_COMMENT)).or_else(|| texts.get("Comment"))?;
    if let Some(fields) = Fields::parse(text) {
        let fields = unified(fields);
        if fields.get("software").and_then(Value::as_str).is_some_and(|it| it.eq_ignore_ascii_case("RuinedFooocus")) {
            return Some(ruined(fields));
        }
        let is_fooocus = scheme == Some("fooocus") || (fields.has("performance") && fields.has("base_model"));
        return is_fooocus.then(|| settings(fields));
    }
    let is_fooocus = scheme == Some("a1111") || text.contains("Version: Fooocus");
    let found = if is_fooocus { a1111::settings(text) } else { None }?;
    Some(PictureSettings { tool: Some(Tool::Fooocus), only_round_brackets: true, rng: Some(Rng::Cpu), ..found })
}

/// `Guidance Scale` of early versions is `guidance_scale` of later ones.
fn unified(mut fields: Fields) -> Fields {
    let keys = fields.keys();
    for key in keys {
        let name = key.to_lowercase().replace(' ', "_");
        if name != key
            && let Some(value) = fields.value(&key)
        {
            fields.insert(name, value);
        }
    }
    fields
}

fn settings(mut fields: Fields) -> PictureSettings {
    let mut loras: Vec<PictureLora> = fields.each("loras", lora);
    // `lora_combined_1` and `lora_1` say the same as `loras`.
    for key in fields.keys().into_iter().filter(|key| key.starts_with("lora_")) {
        if let Some(lora) = fields.take(&key, |value| value.as_str().and_then(named_strength))
            && loras.len() <= MAX_LORAS
            && !loras.iter().any(|it| it.name == lora.name)
        {
            loras.push(lora);
        }
    }
    let performance = fields.text("performance");
    let steps_of = |name: &str| PERFORMANCES.iter().find(|(it, _)| *it == name).map(|(_, steps)| *steps);
    let steps = fields.whole("steps").or_else(|| performance.as_deref().and_then(steps_of));
    fields.drop(&["metadata_scheme", "version", "full_prompt", "full_negative_prompt", "created_by"]);
    PictureSettings {
        tool: Some(Tool::Fooocus),
        size: fields.take("resolution", |value| a1111::size(value.as_str()?)),
        prompt: fields.text("prompt"),
        negative_prompt: fields.text("negative_prompt"),
        only_round_brackets: true,
        seed: fields.whole("seed"),
        steps,
        guidance: fields.decimal("guidance_scale"),
        clip_skip: fields.whole("clip_skip"),
        rng: Some(Rng::Cpu),
        sampler: fields.name("sampler"),
        scheduler: fields.name("scheduler"),
        model: PictureModel::of(fields.name("base_model"), fields.name("base_model_hash")),
        vae: fields
            .take("vae", |value| value.as_str().filter(|it| !it.starts_with("Default")).map(str::to_owned))
            .and_then(|name| PictureModel::of(Some(name), None)),
        loras,
        not_understood: fields.left(),
        ..PictureSettings::default()
    }
}

fn ruined(mut fields: Fields) -> PictureSettings {
    let mut loras: Vec<PictureLora> = fields.each("loras", ruined_lora);
    loras.extend(fields.take("loras", |value| early_loras(value.as_str()?)).unwrap_or_default());
    // 0 is the usual one.
    fields.take("start_step", |value| (whole(value)? == 0).then_some(()));
    fields.drop(&["software"]);
    PictureSettings {
        tool: Some(Tool::Fooocus),
        size: fields.size("width", "height"),
        prompt: fields.text("prompt"),
        negative_prompt: fields.text("negative"),
        seed: fields.whole("seed"),
        steps: fields.whole("steps"),
        guidance: fields.decimal("cfg"),
        clip_skip: fields.whole("clip_skip").filter(skips_layers),
        rng: Some(Rng::Cpu),
        sampler: fields.name("sampler_name"),
        scheduler: fields.name("scheduler"),
        model: PictureModel::of(fields.name("base_model_name"), fields.name("base_model_hash")),
        loras,
        not_understood: fields.left(),
        ..PictureSettings::default()
    }
}

/// `["0a1b2c", "0.5 - detail"]`: a hash, and the strength before the name.
fn ruined_lora(value: &Value) -> Option<PictureLora> {
    let [hash, named] = value.as_array()?.as_slice() else { return None };
    let (strength, name) = named.as_str()?.split_once(" - ")?;
    let strength = strength.trim().parse().ok().filter(|it: &f32| it.is_finite())?;
    let hash = hash.as_str().filter(|it| !it.is_empty() && it.chars().all(|c| c.is_ascii_hexdigit()));
    Some(PictureLora::new(name.trim().to_owned(), hash.map(str::to_owned), strength))
}

/// `Loras:<detail:0.5>,<ink:1>` of early versions; `None` where one of them is none.
fn early_loras(text: &str) -> Option<Vec<PictureLora>> {
    let tags = text.strip_prefix("Loras:")?.split(['<', '>']).filter(|it| !it.trim_matches([',', ' ']).is_empty());
    // One more than is read, so that it is told.
    tags.take(MAX_LORAS + 1).map(named_strength).collect()
}

/// `["detail", 0.5, "0a1b2c"]`.
fn lora(value: &Value) -> Option<PictureLora> {
    let list = value.as_array()?;
    let hash = list.get(2).and_then(Value::as_str).map(str::to_owned);
    Some(PictureLora::new(list.first()?.as_str()?.to_owned(), hash, list.get(1).and_then(decimal)?))
}

/// `detail : 0.5`.
fn named_strength(text: &str) -> Option<PictureLora> {
    let (name, strength) = text.rsplit_once(':')?;
    let strength = strength.trim().parse().ok().filter(|it: &f32| it.is_finite())?;
    Some(PictureLora::new(name.trim().to_owned(), None, strength))
}
