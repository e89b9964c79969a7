//! The `parameters` text of A1111, Forge, sd-cli, Krita AI diffusion and others, and `UserComment` with the same text.

use std::collections::BTreeMap;

use atelier_core::recipe::{Rng, take_loras};

use super::fields;
use super::settings::{PictureHires, PictureLora, PictureModel, PictureSettings, Tool};
use super::texts::{Texts, USER_COMMENT};
use crate::a1111::{Parameters, parse};
use crate::png::PARAMETERS;

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    [PARAMETERS, USER_COMMENT].into_iter().filter_map(|key| texts.get(key)).find_map(settings)
}

/// Settings of a text; `None` where it has no pairs.
pub(super) fn settings(text: &str) -> Option<PictureSettings> {
    let Parameters { prompt, negative_prompt, pairs } = parse(text);
    if pairs.is_empty() {
        return None;
    }
    let mut pairs = Pairs(pairs);
    let (prompt, tags) = take_loras(&prompt);
    let hashes = pairs.text("Hashes").and_then(|text| fields::object(&text)).unwrap_or_default();
    let hash_of = |name: &str| hashes.get(name).and_then(|it| it.as_str()).map(str::to_owned);
    let lora_hashes: BTreeMap<String, String> = pairs.text("Lora hashes").iter().flat_map(|text| named_hashes(text)).collect();
    let lora = |(name, strength): (String, f32)| {
        let hash = hash_of(&format!("lora:{name}")).or_else(|| lora_hashes.get(&name).cloned());
        PictureLora { name, hash, strength }
    };
    let version = pairs.text("Version");
    let model = PictureModel::of(pairs.text("Model"), pairs.hash("Model hash").or_else(|| hash_of("model")));
    let vae = PictureModel::of(pairs.text("VAE"), pairs.hash("VAE hash").or_else(|| hash_of("vae")));
    let rng = match pairs.take("RNG", |name| if name == "NV" { Some(Rng::Cuda) } else { name.parse().ok() }) {
        Some(rng) => Some(rng),
        // A1111 and Forge write it where it is not the usual one.
        None if !pairs.has("RNG") && version.as_deref().is_some_and(is_version_of_a1111) => Some(Rng::Cuda),
        None => None,
    };
    let strength = pairs.decimal("Denoising strength");
    // One key for both: a picture that is enlarged began with noise, unless it says nothing of a factor.
    let hires = pairs.decimal("Hires upscale").filter(|scale| *scale >= 1.0).map(|scale| PictureHires {
        scale,
        strength,
        upscaler: pairs.text("Hires upscaler"),
    });
    Some(PictureSettings {
        tool: Some(Tool::A1111),
        size: pairs.take("Size", size),
        prompt: Some(prompt),
        negative_prompt: Some(negative_prompt),
        seed: pairs.number("Seed"),
        steps: pairs.number("Steps"),
        guidance: pairs.decimal("CFG scale"),
        distilled_guidance: pairs.decimal("Distilled CFG Scale").or_else(|| pairs.decimal("Guidance")),
        flow_shift: pairs.decimal("Shift"),
        eta: pairs.decimal("Eta"),
        clip_skip: pairs.number("Clip skip"),
        strength: strength.filter(|_| hires.is_none()),
        hires,
        rng,
        sampler: pairs.text("Sampler"),
        scheduler: pairs.text("Schedule type"),
        model,
        vae,
        loras: tags.into_iter().map(lora).collect(),
        not_understood: pairs.0,
        ..PictureSettings::default()
    })
}

/// `v1.10.1` of A1111, `f2.0.1v1.10.1` of Forge.
fn is_version_of_a1111(version: &str) -> bool {
    version.strip_prefix(['v', 'f']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// `detail: 0a1b2c, ink: 99ff00`.
fn named_hashes(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split(',').filter_map(|pair| {
        let (name, hash) = pair.rsplit_once(':')?;
        Some((name.trim().to_owned(), hash.trim().to_owned()))
    })
}

/// `768x1152`, also with other signs between.
pub(super) fn size(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once(['x', 'X', '×', ','])?;
    let side = |text: &str| text.trim_matches(['(', ')', ' ', '[', ']']).parse().ok().filter(|side| *side > 0);
    Some((side(width)?, side(height)?))
}

/// The pairs that were not understood yet.
struct Pairs(Vec<(String, String)>);

impl Pairs {
    fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(it, _)| it.eq_ignore_ascii_case(key))
    }

    fn take<T>(&mut self, key: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let at = self.0.iter().position(|(it, _)| it.eq_ignore_ascii_case(key))?;
        let found = self.0.get(at).and_then(|(_, value)| read(value))?;
        self.0.remove(at);
        Some(found)
    }

    fn text(&mut self, key: &str) -> Option<String> {
        self.take(key, |value| (!value.is_empty()).then(|| value.to_owned()))
    }

    /// Krita writes `unknown`.
    fn hash(&mut self, key: &str) -> Option<String> {
        self.take(key, |value| (!value.is_empty() && value.chars().all(|c| c.is_ascii_hexdigit())).then(|| value.to_owned()))
    }

    fn number<T: std::str::FromStr>(&mut self, key: &str) -> Option<T> {
        self.take(key, |value| value.trim().parse().ok())
    }

    fn decimal(&mut self, key: &str) -> Option<f32> {
        self.take(key, |value| value.trim().parse().ok().filter(|it: &f32| it.is_finite()))
    }
}
