//! Easy Diffusion: one text a field, with the names of its interface or of its requests; sidecars
//! have the same fields.

use serde_json::Value;

use super::fields::{Fields, decimal, file_name};
use super::settings::{MAX_LORAS, PictureLora, PictureModel, PictureSettings, Tool};
use super::texts::Texts;

/// The names in the interface, and those of requests, which both are keys.
const NAMES: [(&str, &str); 20] = [
    ("Prompt", "prompt"),
    ("Negative Prompt", "negative_prompt"),
    ("Seed", "seed"),
    ("Steps", "num_inference_steps"),
    ("Guidance Scale", "guidance_scale"),
    ("Prompt Strength", "prompt_strength"),
    ("Width", "width"),
    ("Height", "height"),
    ("Sampler", "sampler_name"),
    ("Scheduler", "scheduler_name"),
    ("Stable Diffusion model", "use_stable_diffusion_model"),
    ("VAE model", "use_vae_model"),
    ("LoRA model", "use_lora_model"),
    ("LoRA Strength", "lora_alpha"),
    ("Clip Skip", "clip_skip"),
    ("Hypernetwork model", "use_hypernetwork_model"),
    ("Hypernetwork Strength", "hypernetwork_strength"),
    ("Use Face Correction", "use_face_correction"),
    ("Use Upscaling", "use_upscale"),
    ("Seamless Tiling", "tiling"),
];

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    let known = |key: &str| NAMES.iter().find(|(title, name)| key == *title || key == *name).map(|(_, name)| *name);
    let fields = texts.iter().filter_map(|(key, text)| Some((known(key)?.to_owned(), Value::from(text))));
    let mut fields = Fields::of(fields.filter(|(_, value)| value != "None").collect());
    let is_its =
        fields.has("prompt") && fields.has("seed") && (fields.has("num_inference_steps") || fields.has("use_stable_diffusion_model"));
    if !is_its {
        return None;
    }
    let loras = loras(fields.value("use_lora_model"), fields.value("lora_alpha"));
    let name = |path: String| file_name(&path).to_owned();
    Some(PictureSettings {
        tool: Some(Tool::EasyDiffusion),
        size: fields.size("width", "height"),
        prompt: fields.text("prompt"),
        negative_prompt: fields.text("negative_prompt"),
        seed: fields.whole("seed"),
        steps: fields.whole("num_inference_steps"),
        guidance: fields.decimal("guidance_scale"),
        // Its clip skip is a switch, for the layer before the last.
        clip_skip: fields
            .take("clip_skip", |value| match value.as_str()? {
                "True" | "true" => Some(Some(2)),
                "False" | "false" => Some(None),
                _ => None,
            })
            .flatten(),
        strength: fields.decimal("prompt_strength"),
        sampler: fields.name("sampler_name"),
        scheduler: fields.name("scheduler_name"),
        model: PictureModel::of(fields.name("use_stable_diffusion_model").map(name), None),
        vae: PictureModel::of(fields.name("use_vae_model").map(name), None),
        loras,
        not_understood: fields.left().into_iter().filter(|(_, value)| value != "False" && value != "false").collect(),
        ..PictureSettings::default()
    })
}

/// A name and a strength, or lists of both as Python or JSON writes them.
fn loras(names: Option<Value>, strengths: Option<Value>) -> Vec<PictureLora> {
    let entries = |value: Option<Value>| -> Vec<String> {
        let text = value.as_ref().and_then(Value::as_str).unwrap_or_default().trim();
        let list = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        let names = list.split(',').map(|it| it.trim().trim_matches(['\'', '"'])).filter(|it| !it.is_empty() && *it != "None");
        // One more than is read, so that it is told.
        names.take(MAX_LORAS + 1).map(str::to_owned).collect()
    };
    let strengths = entries(strengths);
    let lora = |(at, path): (usize, String)| {
        let strength = strengths.get(at).and_then(|text| decimal(&Value::from(text.as_str()))).unwrap_or(1.0);
        PictureLora::new(file_name(&path).to_owned(), None, strength)
    };
    entries(names).into_iter().enumerate().map(lora).collect()
}
