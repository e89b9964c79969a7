//! The `parameters` text of A1111, Forge, sd-cli, Krita AI diffusion and others, and comments with
//! the same text.

use std::collections::BTreeMap;
use std::path::PathBuf;

use atelier_core::recipe::{GuidanceRange, Lora, Recipe, Rng, SHARE, SeedBlend, SkipLayers};
use atelier_core::sd_cli::numbers;
use atelier_language::tr;

use super::sd_cpp::{self, SdCpp};
use super::settings::{PictureControl, PictureHires, PictureLora, PictureModel, PictureSettings, Tool};
use super::texts::{CAPTION, COMMENT, DESCRIPTION, IMAGE_DESCRIPTION, INSTRUCTIONS, KEYWORDS, Texts, USER_COMMENT, WINDOWS_COMMENT};
use super::{civitai, fields};
use crate::a1111::{self, Parameters, key, parse};
use crate::png::PARAMETERS;
use atelier_core::words::{LoraTag, needs_space, take_loras_with_comments};

/// Keys of the texts that programs write it into.
const KEYS: [&str; 9] =
    [PARAMETERS, USER_COMMENT, COMMENT, IMAGE_DESCRIPTION, WINDOWS_COMMENT, DESCRIPTION, CAPTION, INSTRUCTIONS, KEYWORDS];
/// Tags of hypernetworks that are taken out of a prompt.
const MAX_HYPERNETWORKS: usize = 256;
/// Keys that only a picture that was made from another one has.
const KEYS_OF_START_PICTURES: [&str; 6] =
    ["Mask blur", "Inpaint area", "Masked area padding", "Init image hash", "Resize mode", "Mask mode"];

pub(super) fn read(texts: &Texts) -> Option<PictureSettings> {
    // JSON with such a text in it is unfolded, or another program's.
    KEYS.into_iter().flat_map(|key| texts.all(key)).filter(|text| fields::object(text).is_none()).find_map(settings)
}

/// Settings of a text; `None` where it has no pairs.
pub(super) fn settings(text: &str) -> Option<PictureSettings> {
    let Parameters { prompt, negative_prompt, pairs, lines_after } = parse(text);
    if pairs.is_empty() {
        return None;
    }
    let mut pairs = Pairs(pairs);
    // Krita AI diffusion writes no hash, and before its samplers the names of its presets.
    let is_krita = pairs.get("Model hash") == Some("unknown");
    let prompt = if is_krita { prompt.strip_prefix("Prompt: ").map(str::to_owned).unwrap_or(prompt) } else { prompt };
    let version = pairs.text(key::VERSION);
    // A1111, Forge and sd-cli take tags out before they read brackets: there a LoRA acts in all steps.
    let is_ours = version.as_deref().is_some_and(is_version_of_ours);
    let is_sd_cli = version.as_deref() == Some(SD_CLI);
    let engine = if is_sd_cli || is_ours { pairs.take(key::SDCPP, sd_cpp::read).unwrap_or_default() } else { SdCpp::default() };
    let (prompt, hypernetworks) = if is_ours { (prompt, Vec::new()) } else { take_hypernetworks(&prompt) };
    let (prompt, tags) = take_loras_with_comments(&prompt);
    let hashes = pairs.text("Hashes").and_then(|text| fields::object(&text)).unwrap_or_default();
    let lora_hashes: BTreeMap<String, String> = pairs.text("Lora hashes").map(|text| named_hashes(&text)).unwrap_or_default();
    // Of what the words name no hash is left over.
    let is_named =
        |key: &str| matches!(key, "model" | "vae") || tags.iter().any(|tag| key.strip_prefix("lora:") == Some(tag.name.as_str()));
    let unnamed = hashes.iter().filter(|(key, _)| !is_named(key)).map(|(key, hash)| (format!("Hashes: {key}"), fields::shown(hash)));
    let is_tagged = |name: &str| tags.iter().any(|tag| tag.name == name);
    let untagged =
        lora_hashes.iter().filter(|(name, _)| !is_tagged(name)).map(|(name, hash)| (format!("Lora hashes: {name}"), hash.clone()));
    let left_hashes: Vec<(String, String)> = unnamed.chain(untagged).collect();
    let hash_of = |name: &str| hashes.get(name).and_then(|it| it.as_str()).map(str::to_owned);
    let steps = pairs.get(key::STEPS).and_then(|text| text.trim().parse().ok()).unwrap_or_else(|| Recipe::default().steps);
    let lora = |tag: LoraTag| {
        let lora = tag.lora(PathBuf::new(), steps);
        let Lora { strength, encoder_strength, start, end, .. } = if is_ours { lora } else { lora.in_all_steps() };
        let hash = hash_of(&format!("lora:{}", tag.name)).or_else(|| lora_hashes.get(&tag.name).cloned());
        PictureLora { name: tag.name, hash, strength, encoder_strength, start, end }
    };
    let resources = pairs.get("Civitai resources").map(civitai::Resources::of).unwrap_or_default();
    // sd-cli leaves it empty where the model has several files.
    let main_file = pairs.text(key::MODEL).or_else(|| if is_sd_cli { pairs.text("Unet") } else { None });
    let model = PictureModel::of(main_file, pairs.hash("Model hash").or_else(|| hash_of("model"))).or(resources.model);
    let vae = PictureModel::of(pairs.text(key::VAE), pairs.hash("VAE hash").or_else(|| hash_of("vae")));
    let rng = match pairs.take(key::RNG, |name| if name == "NV" { Some(Rng::Cuda) } else { name.parse().ok() }) {
        Some(rng) => Some(rng),
        // A1111, Forge and Atelier write it where it is not the usual one.
        None if !pairs.has(key::RNG) && (is_ours || version.as_deref().is_some_and(is_version_of_a1111)) => Some(Rng::Cuda),
        None => None,
    };
    let picture_size = pairs.take(key::SIZE, size);
    let hires = second_pass(&mut pairs, picture_size, version.as_deref());
    let has_hires = hires.is_some() || pairs.0.iter().any(|(key, _)| key.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("hires")));
    // Others write it of every picture.
    let is_from_picture = !has_hires
        && (is_krita
            || version.as_deref().is_some_and(tells_strength_of_start_pictures_alone)
            || KEYS_OF_START_PICTURES.iter().any(|it| pairs.has(it)));
    // One key for both: a picture that is upscaled began with noise, unless it says nothing of a
    // factor.
    let strength = if hires.is_some() || is_from_picture { pairs.decimal(key::DENOISING_STRENGTH) } else { None };
    let mut loras: Vec<PictureLora> = tags.into_iter().map(lora).collect();
    if loras.is_empty() {
        loras = resources.loras;
    }
    Some(PictureSettings {
        tool: Some(Tool::A1111),
        size: picture_size,
        prompt: Some(prompt),
        negative_prompt: Some(negative_prompt),
        and_is_word: is_krita || is_sd_cli,
        // ComfyUI is behind it.
        only_round_brackets: is_krita,
        seed: pairs.number(key::SEED),
        words_seed: pairs.number(key::SEED_OF_CHOICES),
        seed_blend: seed_blend(&mut pairs),
        steps: pairs.number(key::STEPS),
        guidance: pairs.decimal(key::CFG_SCALE),
        guidance_ranges: pairs.take(key::CFG_RANGES, guidance_ranges),
        distilled_guidance: pairs.decimal(key::DISTILLED_CFG_SCALE).or_else(|| pairs.decimal("Guidance")),
        image_guidance: pairs.decimal(key::IMAGE_CFG_SCALE).or(engine.image_guidance),
        skip_layers: skip_layers(&mut pairs),
        sigmas: pairs.take(key::CUSTOM_SIGMAS, sigmas),
        // sd-cli does not quote them: of several the pairs have the first one alone.
        sampler_arguments: pairs.text(key::EXTRA_SAMPLE_ARGS).map(|first| engine.sampler_arguments.unwrap_or(first)),
        seamless: pairs.take(key::TILING, |text| text.to_ascii_lowercase().parse().ok()).map(|both: bool| [both; 2]),
        flow_shift: pairs.decimal(key::SHIFT).or(engine.flow_shift),
        timestep_shift: engine.timestep_shift,
        step_cache: engine.step_cache,
        tiles: engine.tiles,
        eta: pairs.decimal(key::ETA),
        clip_skip: pairs.number(key::CLIP_SKIP).filter(|layers| is_ours || is_sd_cli || fields::skips_layers(layers)),
        control: [key::CONTROLNET, "ControlNet"].into_iter().find_map(|key| pairs.take(key, control)),
        strength: strength.filter(|_| hires.is_none()),
        hires: hires.map(|hires| PictureHires { strength, ..hires }),
        upscaler: if is_ours { pairs.text(key::POSTPROCESS_UPSCALER) } else { None },
        cpu_math: pairs.take(key::CPU_MATH, |name| name.parse().ok()),
        rng,
        sampler_rng: pairs.take(key::SAMPLER_RNG, |name| name.parse().ok()),
        sampler: pairs.text(key::SAMPLER).map(|name| match name.rsplit_once(" - ") {
            Some((_, sampler)) if is_krita => sampler.to_owned(),
            _ => name,
        }),
        scheduler: pairs.text(key::SCHEDULE_TYPE),
        model,
        vae,
        loras,
        not_understood: pairs
            .0
            .into_iter()
            .filter(|(key, value)| !(is_sd_cli && says_nothing(key, value)))
            .chain(engine.not_understood)
            .chain(hypernetworks)
            .chain(left_hashes)
            .chain(lines_after)
            .collect(),
        ..PictureSettings::default()
    })
}

/// True of what sd-cli writes where nothing was chosen.
fn says_nothing(key: &str, value: &str) -> bool {
    value.is_empty() || (key == key::ETA && value == "inf")
}

/// A prompt without A1111's tags of hypernetworks, and these as they are told: they are not applied.
fn take_hypernetworks(prompt: &str) -> (String, Vec<(String, String)>) {
    const START: &str = "<hypernet:";
    let (mut left, mut tags, mut rest) = (String::with_capacity(prompt.len()), Vec::new(), prompt);
    while tags.len() < MAX_HYPERNETWORKS
        && let Some((before, after)) = rest.split_once(START)
    {
        left.push_str(before);
        // A tag ends before another one begins, and on its line.
        let tag = after.split_once(['>', '<', '\n']).filter(|(tag, _)| after.get(tag.len()..).is_some_and(|end| end.starts_with('>')));
        let Some((tag, behind)) = tag.filter(|(tag, _)| !tag.trim().is_empty()) else {
            left.push_str(START);
            rest = after;
            continue;
        };
        if !needs_space(behind) {
            left.truncate(left.strip_suffix(' ').unwrap_or(&left).len());
        }
        tags.push((tr!("media-hypernetwork-is-not-applied").to_owned(), tag.to_owned()));
        rest = behind;
    }
    left.push_str(rest);
    (left, tags)
}

/// `Module: canny, Model: control_v11p_sd15_canny [d14c016b], Weight: 1, Guidance Start: 0, Guidance End: 0.5`,
/// or as earlier versions wrote it: `preprocessor: canny, model: ..., weight: 1, starting/ending: (0, 0.5)`.
fn control(text: &str) -> Option<PictureControl> {
    let mut unit = Pairs(a1111::pairs(text));
    let range = text.split_once("starting/ending: (").and_then(|(_, rest)| rest.split_once(')')?.0.split_once(','));
    let (start, end) = range.map_or((None, None), |(start, end)| (decimal(start), decimal(end)));
    let mut named = |key| unit.text(key).filter(|name| !name.eq_ignore_ascii_case("none"));
    let it = PictureControl {
        model: named(key::UNIT_MODEL),
        preprocessor: named(key::UNIT_MODULE).or_else(|| named("Preprocessor")),
        strength: unit.decimal(key::UNIT_WEIGHT),
        start: unit.decimal(key::UNIT_START).or(start),
        end: unit.decimal(key::UNIT_END).or(end),
    };
    (it != PictureControl::default()).then_some(it)
}

/// A second pass without its strength, which has the key of others.
fn second_pass(pairs: &mut Pairs, picture_size: Option<(u32, u32)>, version: Option<&str>) -> Option<PictureHires> {
    let is_sd_cli = version == Some(SD_CLI);
    let factor = |text: &str| decimal(text).filter(|scale| *scale >= 1.0);
    let scale = pairs.take(if is_sd_cli { "Hires scale" } else { key::HIRES_UPSCALE }, factor);
    // Of another shape it is cropped by A1111, and stretched here and by sd-cli.
    let size = if is_sd_cli || version.is_some_and(is_version_of_ours) { pairs.take(key::HIRES_RESIZE, sides) } else { None };
    let size = size.and_then(|size| match size {
        (0, 0) => None,
        (0, side) | (side, 0) => Some((side, side)),
        size => Some(size),
    });
    let width_ratio = || Some(size?.0 as f32 / picture_size?.0 as f32);
    let scale = scale.or_else(width_ratio).or_else(|| pairs.take(key::HIRES_RESIZE, |text| scale_to(picture_size?, text)))?;
    Some(PictureHires {
        scale,
        size,
        strength: None,
        // 0 is as many as the picture's.
        steps: pairs.take(key::HIRES_STEPS, |text| text.parse().ok()).filter(|steps| *steps > 0),
        sigmas: pairs.take(key::HIRES_CUSTOM_SIGMAS, sigmas).unwrap_or_default(),
        upscaler: pairs.text(if is_sd_cli { key::HIRES_UPSCALE } else { key::HIRES_UPSCALER }),
    })
}

/// `640x512`; sd-cli writes a side that is as the other one as 0.
fn sides(text: &str) -> Option<(u32, u32)> {
    let (width, height) = text.split_once('x')?;
    Some((width.trim().parse().ok()?, height.trim().parse().ok()?))
}

fn seed_blend(pairs: &mut Pairs) -> Option<SeedBlend> {
    let seed = pairs.get(key::VARIATION_SEED)?.trim().parse().ok()?;
    let amount = pairs.take(key::VARIATION_SEED_STRENGTH, |text| decimal(text).filter(|amount| SHARE.contains(amount)))?;
    pairs.text(key::VARIATION_SEED);
    Some(SeedBlend { seed, amount })
}

fn skip_layers(pairs: &mut Pairs) -> Option<SkipLayers> {
    let scale = pairs.decimal(key::SLG_SCALE)?;
    let usual = SkipLayers::default();
    Some(SkipLayers {
        scale,
        layers: pairs.take(key::SKIP_LAYERS, |text| numbers(text).ok()).unwrap_or(usual.layers),
        start: pairs.decimal(key::SKIP_LAYER_START).unwrap_or(usual.start),
        end: pairs.decimal(key::SKIP_LAYER_END).unwrap_or(usual.end),
    })
}

/// `[14.6, 3.5, 0]`; `None` where one is no number.
fn sigmas(text: &str) -> Option<Vec<f32>> {
    numbers(text).ok().filter(|all: &Vec<f32>| !all.is_empty() && all.iter().all(|sigma| sigma.is_finite()))
}

/// The ranges of a list as `[1@0.2-0.6, 3@0.8-1]`, the first ones where they are more than a recipe
/// has; `None` where one of them is none.
pub(super) fn guidance_ranges(text: &str) -> Option<Vec<GuidanceRange>> {
    let range = |text: &str| GuidanceRange::parse(text.trim());
    text.strip_prefix('[')?.strip_suffix(']')?.split(',').take(GuidanceRange::MAX).map(range).collect()
}

/// What sd-cli writes as its version.
const SD_CLI: &str = "stable-diffusion.cpp";

fn is_version_of_ours(version: &str) -> bool {
    version.starts_with("Atelier ")
}

/// `v1.10.1` of A1111, `f2.0.1v1.10.1` of Forge.
fn is_version_of_a1111(version: &str) -> bool {
    version.strip_prefix(['v', 'f']).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// True of versions that write a denoising strength only where there is a start picture or a second
/// pass: ours, A1111's since 1.6, Forge's and Forge Neo's.
fn tells_strength_of_start_pictures_alone(version: &str) -> bool {
    let numbers = version.strip_prefix('v').map(|rest| rest.split(['.', '-']).map_while(|part| part.parse().ok()).collect::<Vec<u32>>());
    let is_a1111 = numbers.is_some_and(|numbers| numbers.as_slice() >= [1, 6].as_slice());
    is_a1111 || is_version_of_ours(version) || version.starts_with("neo") || (version.starts_with('f') && is_version_of_a1111(version))
}

/// The factor from a size to the one that is written here; `None` where the shape is another.
fn scale_to((width, height): (u32, u32), text: &str) -> Option<f32> {
    let (to_width, to_height) = sides(text)?;
    let (across, down) = (f64::from(to_width) / f64::from(width), f64::from(to_height) / f64::from(height));
    // A side of 0 follows the other one in the picture's shape.
    let (across, down) = match (to_width, to_height) {
        (0, _) => (down, down),
        (_, 0) => (across, across),
        _ => (across, down),
    };
    // Sides are rounded to eight pixels.
    let is_same_shape = (across - down).abs() * f64::from(width.max(height)) <= 16.0;
    (across >= 1.0 && is_same_shape).then_some(across as f32)
}

/// `detail: 0a1b2c, ink: 99ff00`, also of names that have commas and colons: a hash ends each.
fn named_hashes(text: &str) -> BTreeMap<String, String> {
    let mut named = BTreeMap::new();
    let mut name = String::new();
    for part in text.split(',') {
        let hashed = part.rsplit_once(':').map(|(name, hash)| (name, hash.trim()));
        let hashed = hashed.filter(|(_, hash)| hash.len() >= 6 && hash.chars().all(|c| c.is_ascii_hexdigit()));
        let rest = hashed.map_or(part, |(rest, _)| rest);
        if !name.is_empty() {
            name.push(',');
        }
        name.push_str(rest);
        if let Some((_, hash)) = hashed {
            named.insert(std::mem::take(&mut name).trim().to_owned(), hash.to_owned());
        }
    }
    named
}

fn decimal(text: &str) -> Option<f32> {
    text.trim().parse().ok().filter(|it: &f32| it.is_finite())
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

    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(it, _)| it.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
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
        self.take(key, decimal)
    }
}
