//! Settings of other programs' pictures, as settings of a recipe. What a file does not tell stays
//! as it is; nothing is guessed. Pure.

use std::path::{Path, PathBuf};

use atelier_core::recipe::{ControlImage, Hires, LatentUpscaler, Lora, PartialRecipe, Preprocessor, Upscale, setting_name};
use atelier_core::sentences::{self, capitalized, with_commas};
use atelier_core::words::{Prompt, take_loras_with_comments};
use atelier_language::{decimal, tr};
use atelier_library::{Family, ModelKind, lora_named};
use atelier_media::{PictureControl, PictureHires, PictureModel, PictureSettings, PictureTiles, Tool};

use super::models::{KnownModels, MissingModel, find};
use super::sampling::{sampler_named, scheduler_named};

/// Characters of a prompt that a line shows.
const MAX_CHARACTERS: usize = 200;

/// Names of LoRAs that a sentence has.
const MAX_TAGS: usize = 8;

/// A setting by name and value, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingLine {
    pub name: String,
    pub value: String,
}

/// What a picture's settings come to on this machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Translation {
    pub(super) settings: PartialRecipe,
    pub(super) understood: Vec<SettingLine>,
    pub(super) not_understood: Vec<SettingLine>,
    pub(super) differences: Vec<String>,
    pub(super) missing: Vec<MissingModel>,
}

impl Translation {
    fn understand(&mut self, name: &str, value: impl Into<String>) {
        self.understood.push(SettingLine { name: name.to_owned(), value: value.into() });
    }

    fn leave(&mut self, name: &str, value: impl Into<String>) {
        self.not_understood.push(SettingLine { name: name.to_owned(), value: value.into() });
    }
}

/// Translates the settings of a program's picture.
pub(super) fn translate(from: &PictureSettings, tool: Tool, known: &KnownModels<'_>) -> Translation {
    let mut it = Translation::default();
    texts(from, tool, &mut it);
    keep_letters(from, tool, known, &mut it);
    // After brackets: a tag in some of them would stay, since it takes turns.
    leave_lora_tags(from, tool, &mut it);
    model(from, known, &mut it);
    sampling(from, tool, known, &mut it);
    guidance(from, &mut it);
    effort(from, &mut it);
    noise(from, tool, &mut it);
    unread(from, &mut it);
    it.differences.extend(it.settings.clamp());
    for (name, value) in &from.not_understood {
        it.leave(name, shortened(value));
    }
    it
}

fn texts(from: &PictureSettings, tool: Tool, it: &mut Translation) {
    if let Some(prompt) = &from.prompt {
        it.settings.prompt = Some(prompt.clone());
        it.understand(tr!("studio-prompt"), shortened(prompt));
        let has_other_weights = match tool {
            Tool::InvokeAi => has_weights_of_invokeai(prompt),
            Tool::NovelAi => prompt.contains(['{', '[']) || prompt.contains("::"),
            _ => false,
        };
        if has_other_weights {
            let tool = tool.label();
            it.differences.push(tr!("studio-uses-another-syntax-for", tool));
        }
    }
    if let Some(negative) = &from.negative_prompt {
        it.settings.negative_prompt = Some(negative.clone());
        if !negative.is_empty() {
            it.understand(tr!("studio-negative-prompt-2"), shortened(negative));
        }
    }
}

/// `(a lake)1.2`, `(a lake)-`, `lake++`.
fn has_weights_of_invokeai(prompt: &str) -> bool {
    let is_sign = |c: char| matches!(c, '+' | '-');
    let ends_word = |rest: &str| rest.chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, ',' | '.' | ')'));
    let has_signs = |rest: &str| rest.starts_with(is_sign) && ends_word(rest.trim_start_matches(is_sign));
    prompt.char_indices().any(|(at, c)| {
        let rest = prompt.get(at + c.len_utf8()..).unwrap_or_default();
        let has_number = || c == ')' && rest.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
        (c == ')' || c.is_alphanumeric()) && (has_signs(rest) || has_number())
    })
}

/// Keeps letters and words what the picture's program reads as no more than that.
fn keep_letters(from: &PictureSettings, tool: Tool, known: &KnownModels<'_>, it: &mut Translation) {
    let is_word = from.and_is_word || matches!(tool, Tool::ComfyUi | Tool::InvokeAi | Tool::Fooocus | Tool::SwarmUi | Tool::NovelAi);
    if !is_word && !from.only_round_brackets {
        return;
    }
    let card = |model: &PictureModel| find(known.cards, ModelKind::Model, model.name.as_deref(), model.hash.as_deref()).ok();
    let family = from.model.as_ref().and_then(card).and_then(|card| Family::from_label(card.family.as_deref()?));
    // A model that is known to read neither `AND` nor `BREAK` has them as they are.
    let joins = family.is_none_or(Family::joins_prompts);
    if let Some(prompt) = it.settings.prompt.as_mut().filter(|_| is_word && joins) {
        let words = Prompt::parse_chosen(prompt);
        if words.joined() > 0 {
            *prompt = words.with_joins_as_words();
            it.differences.push(tr!("studio-and-is-a-word").to_owned());
        }
    }
    if !from.only_round_brackets {
        return;
    }
    let mut is_changed = false;
    for prompt in [&mut it.settings.prompt, &mut it.settings.negative_prompt].into_iter().flatten() {
        let letters = Prompt::parse_chosen(prompt).with_round_brackets_alone();
        let letters = if joins { Prompt::parse_chosen(&letters).with_breaks_as_words() } else { letters };
        is_changed |= letters != *prompt;
        *prompt = letters;
    }
    if is_changed {
        it.differences.push(tr!("studio-brackets-are-letters").to_owned());
    }
}

/// Takes tags of LoRAs out of the words of programs that apply none by them.
fn leave_lora_tags(from: &PictureSettings, tool: Tool, it: &mut Translation) {
    let are_letters = match tool {
        Tool::ComfyUi => from.only_round_brackets,
        Tool::InvokeAi | Tool::NovelAi => true,
        _ => false,
    };
    if !are_letters {
        return;
    }
    let mut names = Vec::new();
    for prompt in [&mut it.settings.prompt, &mut it.settings.negative_prompt].into_iter().flatten() {
        let (words, tags) = take_loras_with_comments(prompt);
        if !tags.is_empty() {
            *prompt = words;
            names.extend(tags.into_iter().map(|tag| tag.name));
        }
    }
    names.sort();
    names.dedup();
    if names.len() > MAX_TAGS {
        names.truncate(MAX_TAGS);
        names.push("…".to_owned());
    }
    if !names.is_empty() {
        it.differences.push(tr!("studio-lora-tags-are-letters", list = sentences::list(&names)));
    }
}

fn model(from: &PictureSettings, known: &KnownModels<'_>, it: &mut Translation) {
    let mut loras: Vec<Lora> = Vec::new();
    if let Some(model) = &from.model {
        let name = model.name.clone().or_else(|| model.hash.clone()).unwrap_or_default();
        match find(known.cards, ModelKind::Model, model.name.as_deref(), model.hash.as_deref()) {
            Ok(card) => {
                if let Some(runnable) = &card.runnable {
                    it.understand(tr!("studio-model"), if card.name == name { name } else { format!("{} ({name})", card.name) });
                    it.settings.files = Some(runnable.files.clone());
                    loras.clone_from(&runnable.loras);
                    // What suits the model, for what the file does not tell.
                    let usual = &runnable.defaults;
                    it.settings.distilled_guidance = usual.distilled_guidance;
                    it.settings.flow_shift = usual.flow_shift.map(Some);
                    it.settings.steps = usual.steps;
                    it.settings.guidance = usual.cfg;
                    it.settings.negative_in_prompt = Some(usual.negative_in_prompt);
                }
            }
            Err(remedy) => it.missing.push(MissingModel { kind: ModelKind::Model, name, remedy }),
        }
    }
    if let Some(name) = from.vae.as_ref().and_then(|vae| vae.name.as_deref()) {
        // The model brings the one that suits it.
        it.leave("VAE", name);
    }
    for lora in &from.loras {
        let by_name = || lora_named(&lora.name, known.files.iter().map(PathBuf::as_path)).map(Path::to_owned);
        let found = find(known.cards, ModelKind::Lora, Some(&lora.name), lora.hash.as_deref());
        let path = found.as_ref().ok().and_then(|card| card.files.iter().find_map(|file| file.path.clone())).or_else(by_name);
        match (path, found) {
            (Some(path), _) => {
                it.understand("LoRA", lora.words());
                loras.push(lora.lora(path));
            }
            (None, found) => {
                it.missing.push(MissingModel { kind: ModelKind::Lora, name: lora.name.clone(), remedy: found.err().flatten() });
            }
        }
    }
    // Without a model of its own, LoRAs of the one in use stay only where the picture has some too.
    if it.settings.files.is_some() || !loras.is_empty() {
        it.settings.loras = Some(loras);
    }
}

fn sampling(from: &PictureSettings, tool: Tool, known: &KnownModels<'_>, it: &mut Translation) {
    if let Some((width, height)) = from.size {
        (it.settings.width, it.settings.height) = (Some(width), Some(height));
        it.understand(tr!("studio-size"), format!("{width} × {height}"));
    }
    if let Some(steps) = from.steps {
        it.settings.steps = Some(steps);
        it.understand(tr!("studio-step-count"), steps.to_string());
    }
    if let Some(guidance) = from.guidance {
        it.settings.guidance = Some(guidance);
        it.understand(tr!("studio-guidance"), decimal(guidance.to_string()));
    }
    if let Some(guidance) = from.distilled_guidance {
        it.settings.distilled_guidance = Some(guidance);
        it.understand(tr!("studio-distilled-guidance"), decimal(guidance.to_string()));
    }
    let (mut sampler, mut scheduler) = (None, None);
    if let Some(name) = &from.sampler {
        (sampler, scheduler) = sampler_named(tool, name);
        if let Some(sampler) = sampler {
            it.understand(tr!("studio-sampler"), named(sampler.label(), name));
        } else {
            it.leave(tr!("studio-sampler"), name);
            it.differences.push(tr!("studio-atelier-has-no-sampler", name));
        }
    }
    if let Some(name) = &from.scheduler {
        scheduler = scheduler_named(name, sampler).or(scheduler);
        if let Some(scheduler) = scheduler {
            it.understand(tr!("studio-scheduler"), named(scheduler.label(), name));
        } else {
            it.leave(tr!("studio-scheduler"), name);
            it.differences.push(tr!("studio-atelier-has-no-scheduler", name));
        }
    } else if let Some(scheduler) = scheduler {
        it.understand(tr!("studio-scheduler"), scheduler.label());
    }
    it.settings.sampler = sampler.map(Some);
    it.settings.scheduler = scheduler.map(Some);
    if let Some(shift) = from.flow_shift {
        it.settings.flow_shift = Some(Some(shift));
        it.understand(tr!("studio-flow-shift"), decimal(shift.to_string()));
    }
    if let Some(shift) = from.timestep_shift {
        it.settings.timestep_shift = Some(Some(shift));
        it.understand(&capitalized(setting_name("timestep_shift")), shift.to_string());
    }
    if let Some([x, y]) = from.seamless {
        (it.settings.seamless_x, it.settings.seamless_y) = (Some(x), Some(y));
        let edges = [(x, tr!("studio-left-and-right")), (y, tr!("studio-top-and-bottom"))];
        let edges: Vec<&str> = edges.into_iter().filter(|(is_seamless, _)| *is_seamless).map(|(_, edges)| edges).collect();
        it.understand(tr!("studio-seamless"), if edges.is_empty() { tr!("studio-not-seamless").to_owned() } else { edges.join(", ") });
    }
    if let Some(eta) = from.eta {
        it.settings.eta = Some(Some(eta));
        it.understand(tr!("studio-eta"), decimal(eta.to_string()));
    }
    if let Some(layers) = from.clip_skip.filter(|layers| *layers > 0) {
        it.settings.clip_skip = Some(Some(layers));
        it.understand(tr!("studio-clip-skip"), layers.to_string());
    }
    if let Some(hires) = &from.hires {
        second_pass(hires, known, it);
    }
    if let Some(name) = &from.upscaler {
        finished_upscale(name, known, it);
    }
    if let Some(control) = &from.control {
        control_picture(control, it);
    }
    if let Some(strength) = from.strength {
        it.leave(tr!("studio-start-picture"), tr!("studio-strength", strength));
        it.differences.push(tr!("studio-the-start-picture-is").to_owned());
    }
}

/// What guides the sampling beside guidance itself.
fn guidance(from: &PictureSettings, it: &mut Translation) {
    if let Some(ranges) = &from.guidance_ranges {
        it.settings.guidance_ranges = Some(ranges.clone());
        it.understand(tr!("studio-guidance-in-parts-of"), with_commas(ranges));
    }
    if let Some(guidance) = from.image_guidance {
        it.settings.image_guidance = Some(Some(guidance));
        it.understand(tr!("studio-image-guidance"), decimal(guidance.to_string()));
    }
    if let Some(skip) = &from.skip_layers {
        it.settings.skip_layers = Some(Some(skip.clone()));
        it.understand(tr!("studio-skip-layer-guidance"), tr!("studio-layers", scale = skip.scale, layers = with_commas(&skip.layers)));
    }
    if let Some(sigmas) = &from.sigmas {
        it.settings.sigmas = Some(sigmas.clone());
        it.understand(tr!("studio-sigmas"), shortened(&with_commas(sigmas)));
    }
    if let Some(arguments) = &from.sampler_arguments {
        it.settings.sampler_arguments = Some(arguments.clone());
        it.understand(tr!("studio-sampler-arguments"), shortened(arguments));
    }
    if let Some(seed) = from.words_seed {
        it.settings.words_seed = Some(Some(seed));
        it.understand(tr!("studio-seed-of-choices"), seed.to_string());
    }
    if let Some(blend) = from.seed_blend {
        it.settings.seed_blend = Some(Some(blend));
        it.understand(tr!("studio-second-seed"), tr!("studio-amount", seed = blend.seed, amount = blend.amount));
    }
    if let Some(rng) = from.sampler_rng {
        it.settings.sampler_rng = Some(Some(rng));
        it.understand(tr!("studio-noise-of-the-sampler"), rng.label());
    }
}

/// What saved time or memory.
fn effort(from: &PictureSettings, it: &mut Translation) {
    if let Some(cache) = &from.step_cache {
        it.settings.step_cache = Some(Some(cache.clone()));
        let parts = [cache.mode.label().to_owned(), cache.options_text(), cache.mask_text()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        it.understand(&capitalized(setting_name("step_cache")), shortened(&parts.join(", ")));
    }
    if let Some(PictureTiles { size, overlap }) = from.tiles {
        it.settings.vae_tiling = Some(true);
        (it.settings.vae_tile_size, it.settings.vae_tile_overlap) = (Some(size), Some(overlap));
        let parts = [size.map(|size| size.to_string()), overlap.map(|overlap| overlap.to_string())];
        it.understand(&capitalized(setting_name("vae_tiling")), parts.into_iter().flatten().collect::<Vec<_>>().join(", "));
    }
}

/// The file of the upscaler of this name.
fn upscaler_file(name: &str, known: &KnownModels<'_>) -> Option<PathBuf> {
    let found = find(known.cards, ModelKind::Upscaler, Some(name), None);
    found.ok().and_then(|card| card.files.iter().find_map(|file| file.path.clone()))
}

fn finished_upscale(name: &str, known: &KnownModels<'_>, it: &mut Translation) {
    match upscaler_file(name, known) {
        Some(path) => {
            it.understand(tr!("studio-upscaled-when-finished"), name);
            it.settings.upscale = Some(Some(Upscale::by(path)));
        }
        None => it.leave(tr!("studio-upscaled-when-finished"), name),
    }
}

fn second_pass(from: &PictureHires, known: &KnownModels<'_>, it: &mut Translation) {
    let name = from.upscaler.as_deref().unwrap_or_default();
    let upscaler = upscaler_file(name, known);
    let latent: Option<LatentUpscaler> = name.parse().ok().filter(|_| upscaler.is_none());
    if upscaler.is_none() && latent.is_none() && !name.is_empty() && !name.eq_ignore_ascii_case("Lanczos") {
        it.differences.push(tr!("studio-the-picture-was-upscaled", name));
    }
    let usual = Hires::default();
    let strength = from.strength.unwrap_or(usual.strength);
    // A size takes the place of a factor, and noise levels that of steps.
    let scale = if from.size.is_some() { usual.scale } else { from.scale };
    let steps = from.steps.filter(|_| from.sigmas.is_empty());
    let hires = Hires { scale, target: from.size, strength, steps, sigmas: from.sigmas.clone(), upscaler, latent, ..usual };
    let steps = hires.own_steps().map(|steps| tr!("studio-steps", steps)).unwrap_or_default();
    let size = hires.target.map_or_else(|| tr!("studio-times", scale = hires.scale), |(width, height)| tr!("studio-to", width, height));
    it.understand(tr!("studio-upscaled"), tr!("studio-strength-2", size, strength = hires.strength, steps));
    it.settings.hires = Some(Some(hires));
}

/// The picture is not in the file: a person chooses it, and sets what is said here.
fn control_picture(from: &PictureControl, it: &mut Translation) {
    let made = from.preprocessor.as_deref().map(|module| match Preprocessor::named_by_a1111(module) {
        Some(preprocessor) => named(preprocessor.label(), module),
        None => module.to_owned(),
    });
    let strength = from.strength.map(|strength| tr!("studio-strength", strength));
    let range = (from.start.unwrap_or(0.0), from.end.unwrap_or(ControlImage::USUAL_END));
    let steps = (range != (0.0, ControlImage::USUAL_END)).then(|| tr!("studio-from-to-of-the", range = range.0, range_2 = range.1));
    let parts: Vec<String> = [from.model.clone(), made, strength, steps].into_iter().flatten().collect();
    it.leave(tr!("studio-control-picture"), shortened(&parts.join(", ")));
    it.differences.push(tr!("studio-the-control-picture-is").to_owned());
}

fn noise(from: &PictureSettings, tool: Tool, it: &mut Translation) {
    let Some(seed) = from.seed else { return };
    it.settings.seed = Some(Some(seed));
    it.understand(tr!("studio-seed"), seed.to_string());
    if let Some(rng) = from.rng {
        it.settings.rng = Some(rng);
        it.understand(tr!("studio-noise"), rng.label());
        return;
    }
    let sentence = match tool {
        Tool::A1111 => tr!("studio-the-file-does-not").to_owned(),
        _ => tr!("studio-uses-another-noise-generator", tool = tool.label()),
    };
    it.differences.push(sentence);
}

/// Says which of the settings that every picture has could not be read, so that another value in
/// its place is no surprise.
fn unread(from: &PictureSettings, it: &mut Translation) {
    // A negative prompt is not in every picture.
    let has_negative = from.not_understood.iter().any(|(name, _)| name.starts_with("negative"));
    let settings = [
        ("prompt", from.prompt.is_none()),
        (tr!("studio-negative-prompt"), from.negative_prompt.is_none() && has_negative),
        ("size", from.size.is_none()),
        ("steps", from.steps.is_none()),
        ("seed", from.seed.is_none()),
    ];
    let names: Vec<String> = settings.into_iter().filter(|(_, is_unread)| *is_unread).map(|(name, _)| name.to_owned()).collect();
    if !names.is_empty() {
        it.differences.push(tr!("studio-not-readable-in-the", list = sentences::list(&names)));
    }
}

/// A name here, with the program's own where that is another.
fn named(label: &str, name: &str) -> String {
    if label.eq_ignore_ascii_case(name) { label.to_owned() } else { format!("{label} ({name})") }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_CHARACTERS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_invokeai_are_signs_and_numbers_behind_words_and_brackets() {
        for weighted in ["a red+ barn", "(a barn)+, reeds", "a barn--", "(a barn)1.3 at dusk", "(a barn).5", "((a barn)-)"] {
            assert!(has_weights_of_invokeai(weighted), "{weighted}");
        }
        for plain in ["a well-kept barn", "a barn - red", "1+1 is two", "(a barn). 2 reeds", "(a barn:1.2)", "", "+", "a + b -- c"] {
            assert!(!has_weights_of_invokeai(plain), "{plain}");
        }
    }
}
