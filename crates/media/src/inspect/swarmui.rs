//! `SwarmUI`: JSON in `parameters`, in `UserComment`, and of early versions in EXIF's `Model`.

use atelier_core::recipe::Rng;
use serde_json::Value;

use super::fields::{Fields, decimal, shown};
use super::settings::{MAX_LORAS, PictureLora, PictureModel, PictureSettings, Tool};
use super::texts::{Texts, USER_COMMENT};
use crate::png::PARAMETERS;

/// Beginnings of the tags behind which words are of a part of the picture or of one pass alone, up to
/// the next such tag.
const SECTIONS: [&str; 8] = ["<base", "<refiner", "<video", "<region:", "<object:", "<segment:", "<clear:", "<extend:"];

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    let found = [PARAMETERS, USER_COMMENT, "Model"].into_iter().filter_map(|key| Fields::parse(texts.get(key)?));
    let mut whole = found.into_iter().find(|fields| fields.has("sui_image_params"))?;
    let mut fields = whole.take("sui_image_params", |value| value.as_object().cloned()).map(Fields::of)?;
    let files = whole.value("sui_models").unwrap_or_default();
    let hash_of = |name: &str, param: &str| {
        let is_it = |file: &&Value| file.get("param").and_then(Value::as_str) == Some(param) && same_name(file.get("name"), name);
        // With its mark: it is of the tensors without the header, and no file has that sum.
        files.as_array()?.iter().find(is_it)?.get("hash")?.as_str().map(str::to_owned)
    };
    let names = list(fields.value("loras"));
    let strengths = list(fields.value("loraweights"));
    let lora = |(at, name): (usize, &Value)| {
        let name = name.as_str()?.trim().to_owned();
        let strength = strengths.get(at).and_then(decimal).unwrap_or(1.0);
        Some(PictureLora::new(name.clone(), hash_of(&name, "loras"), strength))
    };
    // The hash of each is looked for among all files. One more than is read, so that it is told.
    let loras = names.iter().take(MAX_LORAS + 1).enumerate().filter_map(lora).collect();
    let model = fields.name("model");
    let hash = model.as_deref().and_then(|name| hash_of(name, "model"));
    let extra = whole.take("sui_extra_data", |value| value.as_object().cloned()).map(Fields::of).unwrap_or_default();
    fields.drop(&["swarm_version", "images", "aspectratio", "automaticvae"]);
    let [(prompt, of_parts), (negative_prompt, not_in_parts)] =
        ["prompt", "negativeprompt"].map(|key| fields.text(key).map_or((None, None), |text| whole_and_parts(&text)));
    let sections = [("prompt: sections", of_parts), ("negativeprompt: sections", not_in_parts)];
    let sections = sections.into_iter().filter_map(|(name, words)| Some((name.to_owned(), words?)));
    Some(PictureSettings {
        tool: Some(Tool::SwarmUi),
        size: fields.size("width", "height"),
        prompt,
        negative_prompt,
        seed: fields.whole("seed"),
        steps: fields.whole("steps"),
        guidance: fields.decimal("cfgscale"),
        distilled_guidance: fields.decimal("fluxguidancescale"),
        flow_shift: fields.decimal("sigmashift"),
        clip_skip: fields.take("clipstopatlayer", |value| u32::try_from(super::fields::whole(value)?.checked_neg()?).ok()),
        strength: fields.decimal("initimagecreativity"),
        rng: Some(Rng::Cpu),
        sampler: fields.name("sampler"),
        scheduler: fields.name("scheduler"),
        model: PictureModel::of(model, hash),
        vae: PictureModel::of(fields.name("vae"), None),
        loras,
        not_understood: sections.chain(fields.left()).chain(without_times(extra)).collect(),
        ..PictureSettings::default()
    })
}

/// The words of the whole picture, with `BREAK` as it is written here, and those of its parts.
fn whole_and_parts(text: &str) -> (Option<String>, Option<String>) {
    let is_section = |at: &usize| text.get(*at..).is_some_and(|rest| SECTIONS.iter().any(|tag| rest.starts_with(tag)));
    let section = text.match_indices('<').map(|(at, _)| at).find(is_section);
    let (whole, parts) = section.and_then(|at| text.split_at_checked(at)).unwrap_or((text, ""));
    let parts = Some(parts.to_owned()).filter(|parts| !parts.is_empty());
    // Only where a section follows is a blank before it none of the words.
    let whole = if parts.is_some() { whole.trim_end() } else { whole };
    (Some(whole.replace("<break>", "BREAK")), parts)
}

/// What the server adds of itself, without when and how fast.
fn without_times(mut extra: Fields) -> Vec<(String, String)> {
    extra.drop(&["date", "prep_time", "generation_time"]);
    extra.left()
}

/// A list, or its entries with commas between.
fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(list)) => list,
        Some(other) => shown(&other).split(',').filter(|it| !it.trim().is_empty()).take(MAX_LORAS + 1).map(Value::from).collect(),
        None => Vec::new(),
    }
}

/// The list of files has endings, the settings have none.
fn same_name(file: Option<&Value>, name: &str) -> bool {
    let stem = |name: &str| name.strip_suffix(".safetensors").unwrap_or(name).to_owned();
    file.and_then(Value::as_str).is_some_and(|file| stem(file) == stem(name))
}
