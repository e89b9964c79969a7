//! `InvokeAI`: `invokeai_metadata` since version 3, `sd-metadata` and `Dream` before.

use atelier_core::recipe::{Rng, Seed};
use serde_json::{Map, Value};

use super::fields::{Fields, decimal, shown};
use super::settings::{PictureLora, PictureModel, PictureSettings, Tool};
use super::texts::{COMMENT, IMAGE_DESCRIPTION, Texts, USER_COMMENT};

/// Key of the settings since version 3.
const METADATA: &str = "invokeai_metadata";
/// Comments that savers of other formats than PNG write the settings into.
const COMMENTS: [&str; 3] = [USER_COMMENT, COMMENT, IMAGE_DESCRIPTION];

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    let metadata = texts.get(METADATA).and_then(Fields::parse).map(|fields| marked(fields.clone()).unwrap_or_else(|| current(fields)));
    let older = || texts.get("sd-metadata").and_then(Fields::parse).map(second);
    let oldest = || dream(texts.get("Dream")?);
    let comment = || COMMENTS.into_iter().flat_map(|key| texts.all(key)).filter_map(Fields::parse).find_map(marked);
    let found = metadata.or_else(older).or_else(oldest).or_else(comment)?;
    Some(PictureSettings { tool: Some(Tool::InvokeAi), ..found })
}

/// Settings that are told by their own names, whatever key they stand under.
fn marked(mut fields: Fields) -> Option<PictureSettings> {
    let inner = fields.take(METADATA, |value| value.as_object().cloned());
    let graph = fields.take("graph", |value| value.as_object().filter(|map| is_graph(map)).cloned());
    let has_mark = ["app_version", "generation_mode", "rand_device", "scheduler"].into_iter().any(|key| fields.has(key));
    if let Some(inner) = inner {
        let mut found = current(Fields::of(inner));
        found.not_understood.extend(fields.left());
        Some(found)
    } else if let Some(graph) = graph {
        let mut found = current(core_metadata(&graph));
        found.not_understood.push(("graph".to_owned(), Value::Object(graph).to_string()));
        found.not_understood.extend(fields.left());
        Some(found)
    } else {
        (has_mark && fields.has("positive_prompt")).then(|| current(fields))
    }
}

/// `{"nodes": {"7": {"type": "..."}}, "edges": [...]}`.
fn is_graph(map: &Map<String, Value>) -> bool {
    let nodes = map.get("nodes").and_then(Value::as_object);
    map.get("edges").is_some_and(Value::is_array) && nodes.is_some_and(|nodes| nodes.values().all(|node| node.get("type").is_some()))
}

/// The fields of the node that keeps a graph's settings; none without one, or with several.
fn core_metadata(graph: &Map<String, Value>) -> Fields {
    let nodes = graph.get("nodes").and_then(Value::as_object);
    let is_it = |node: &&Map<String, Value>| node.get("type").and_then(Value::as_str) == Some("core_metadata");
    let mut found = nodes.into_iter().flat_map(Map::values).filter_map(Value::as_object).filter(is_it);
    let (Some(node), None) = (found.next(), found.next()) else { return Fields::default() };
    let mut fields = Fields::of(node.clone());
    fields.drop(&["id", "type", "is_intermediate", "use_cache"]);
    fields
}

fn current(mut fields: Fields) -> PictureSettings {
    fields.drop(&["app_version", "generation_mode"]);
    let rng = fields.take("rand_device", |value| match value.as_str()? {
        "cpu" => Some(Rng::Cpu),
        "cuda" => Some(Rng::Cuda),
        _ => None,
    });
    let seamless = ["seamless_x", "seamless_y"].map(|axis| fields.take(axis, Value::as_bool));
    let loras = fields.each("loras", lora);
    PictureSettings {
        size: fields.size("width", "height"),
        prompt: fields.text("positive_prompt"),
        negative_prompt: fields.text("negative_prompt"),
        seed: fields.whole("seed"),
        steps: fields.whole("steps"),
        guidance: fields.decimal("cfg_scale"),
        distilled_guidance: fields.decimal("guidance"),
        // It counts the layers that are left out, A1111 the layer that is used.
        clip_skip: fields.whole::<u32>("clip_skip").filter(|layers| *layers > 0).map(|layers| layers.saturating_add(1)),
        strength: fields.decimal("strength"),
        rng,
        seamless: seamless.iter().any(Option::is_some).then(|| seamless.map(Option::unwrap_or_default)),
        sampler: fields.name("scheduler"),
        model: fields.take("model", model),
        vae: fields.take("vae", model),
        loras,
        not_understood: fields.left(),
        ..PictureSettings::default()
    }
}

/// `model_name` in version 3, `name` and `hash` since version 4.
fn model(value: &Value) -> Option<PictureModel> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    PictureModel::of(text("name").or_else(|| text("model_name")), text("hash"))
}

fn lora(value: &Value) -> Option<PictureLora> {
    let PictureModel { name, hash } = model(value.get("model").or_else(|| value.get("lora"))?)?;
    Some(PictureLora::new(name?, hash, value.get("weight").and_then(decimal)?))
}

/// Version 2: `sd-metadata`.
fn second(mut whole: Fields) -> PictureSettings {
    let mut fields = whole.take("image", |value| value.as_object().cloned()).map(Fields::of).unwrap_or_default();
    let (prompt, negative_prompt) = fields.take("prompt", prompt_of).map_or((None, None), |text| split_negative(&text));
    fields.drop(&["type"]);
    whole.drop(&["model", "app_id", "app_version"]);
    PictureSettings {
        size: fields.size("width", "height"),
        prompt,
        negative_prompt,
        seed: fields.whole("seed"),
        steps: fields.whole("steps"),
        guidance: fields.decimal("cfg_scale"),
        strength: fields.decimal("strength"),
        sampler: fields.name("sampler"),
        model: PictureModel::of(whole.name("model_weights"), whole.name("model_hash")),
        not_understood: [fields.left(), whole.left()].concat(),
        ..PictureSettings::default()
    }
}

/// A text, or a list with one text.
fn prompt_of(value: &Value) -> Option<String> {
    let one = value.as_array().filter(|list| list.len() == 1).and_then(|list| list.first());
    let value = one.and_then(|it| it.get("prompt")).unwrap_or(value);
    value.as_str().map(str::to_owned)
}

/// `a lake [fog]`: what should not be shown is in brackets.
fn split_negative(text: &str) -> (Option<String>, Option<String>) {
    let (mut prompt, mut negative, mut rest) = (String::new(), Vec::new(), text);
    while let Some((before, inside, after)) = rest.split_once('[').and_then(|(before, after)| {
        let (inside, after) = after.split_once(']')?;
        Some((before, inside, after))
    }) {
        prompt.push_str(before);
        negative.push(inside);
        rest = after;
    }
    prompt.push_str(rest);
    (Some(prompt.trim().to_owned()), Some(negative.join(" ")))
}

/// Version 1: the command that made it, `"a lake [fog]" -s 50 -S 42 -W 512 -H 512 -C 7.5 -A k_lms
/// -U 2 0.75 -cf 0.5`.
fn dream(text: &str) -> Option<PictureSettings> {
    let words = shell_words::split(text).ok()?;
    let mut settings = PictureSettings::default();
    let (mut prompt, mut width, mut height) = (Vec::new(), None, None);
    let mut words = words.into_iter().peekable();
    let is_number = |word: &str| word.parse::<f32>().is_ok();
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix('-').filter(|flag| !flag.is_empty() && !is_number(&word)) else {
            prompt.push(word);
            continue;
        };
        // A number may follow at once: -s50; other letters belong to the name: -cf.
        let at_once = flag.char_indices().nth(1).and_then(|(at, _)| flag.split_at_checked(at)).filter(|(_, value)| is_number(value));
        let (flag, value) = if let Some((flag, value)) = at_once {
            (flag, value.to_owned())
        } else {
            let mut values: Vec<String> = words.next_if(|next| is_number(next) || !next.starts_with('-')).into_iter().collect();
            // Some take several numbers.
            while values.first().is_some_and(|first| is_number(first))
                && let Some(next) = words.next_if(|next| is_number(next))
            {
                values.push(next);
            }
            (flag, values.join(" "))
        };
        let value = Value::from(value);
        let whole = super::fields::whole(&value);
        let side = || whole.and_then(|side| u32::try_from(side).ok());
        let is_taken = match flag {
            "s" | "-steps" => set(&mut settings.steps, side()),
            "S" | "-seed" => set(&mut settings.seed, whole.and_then(|seed| Seed::try_from(seed).ok())),
            "W" | "-width" => set(&mut width, side()),
            "H" | "-height" => set(&mut height, side()),
            "C" | "-cfg_scale" => set(&mut settings.guidance, decimal(&value)),
            "A" | "-sampler" => set(&mut settings.sampler, value.as_str().map(str::to_owned)),
            "f" | "-strength" => set(&mut settings.strength, decimal(&value)),
            _ => false,
        };
        if !is_taken {
            settings.not_understood.push((format!("-{flag}"), shown(&value)));
        }
    }
    settings.size = width.zip(height);
    (settings.prompt, settings.negative_prompt) = split_negative(&prompt.join(" "));
    // A text without any of the command's flags is somebody else's.
    (settings.steps.is_some() || settings.seed.is_some()).then_some(settings)
}

/// Sets a field that was read; false where it was not.
fn set<T>(field: &mut Option<T>, value: Option<T>) -> bool {
    let is_read = value.is_some();
    if is_read {
        *field = value;
    }
    is_read
}
