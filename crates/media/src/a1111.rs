//! The `parameters` text that A1111 began and other tools write too: the prompt, `Negative prompt:
//! ...`, and a line of pairs.
//!
//! Invariants: reading never fails and takes time in proportion to the text; what is written here
//! reads back the same, except a prompt that has a line beginning with `Negative prompt:` in any
//! letter case (the form cannot say it; the recipe beside it can). Pure: no files.

pub(crate) mod key;
mod line;
mod sd_cpp;

use std::fmt;
use std::path::Path;

use atelier_core::recipe::{FileRole, LatentUpscaler, PictureInfo, Preprocessor, Recipe, Rng, Sampler, Scheduler, SeedNumber};
use atelier_core::sentences::with_commas;
use atelier_language::tr;
pub(crate) use line::pairs;
use line::{MAX_PAIRS, SettingsLine, key_at_end};

const NEGATIVE: &str = "Negative prompt:";

/// A parsed `parameters` text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// The prompt, with any `<lora:name:strength>` in it.
    pub prompt: String,
    pub negative_prompt: String,
    /// The pairs of the settings' line, in their order.
    pub pairs: Vec<(String, String)>,
    /// Lines below the settings, which extensions add, by name and value.
    pub lines_after: Vec<(String, String)>,
}

impl Parameters {
    /// The text of a picture of this recipe; the size is the picture's own, in pixels. `model` is
    /// the model's name; without it, the name of its main file stands in.
    #[must_use]
    pub fn of(recipe: &Recipe, model: Option<&str>, info: PictureInfo, width: u32, height: u32) -> Self {
        let mut it = Self { prompt: recipe.prompt.clone(), negative_prompt: recipe.negative_prompt.clone(), ..Self::default() };
        let steps = recipe.steps_in_pass(0);
        for lora in &recipe.loras {
            if let Some(name) = lora.path.file_stem() {
                it.prompt.push(' ');
                it.prompt.push_str(&lora.tag(name.to_string_lossy(), steps));
            }
        }
        it.push(key::STEPS, recipe.steps);
        if let Some(sampler) = recipe.sampler {
            it.push(key::SAMPLER, sampler.label());
        }
        if let Some(scheduler) = recipe.scheduler {
            it.push(key::SCHEDULE_TYPE, scheduler.label());
        }
        it.push(key::CFG_SCALE, recipe.guidance);
        it.push(key::SEED, SeedNumber(info.seed));
        if let Some(blend) = recipe.seed_blend {
            it.push(key::VARIATION_SEED, blend.seed);
            it.push(key::VARIATION_SEED_STRENGTH, blend.amount);
        }
        // Of a picture that was upscaled, A1111 writes the size of the first pass.
        let (width, height) = if recipe.hires.is_some() { (recipe.width, recipe.height) } else { (width, height) };
        it.push(key::SIZE, format!("{width}x{height}"));
        // As A1111, which writes it where it is not "GPU".
        if recipe.rng != Rng::default() {
            it.push(key::RNG, if recipe.rng == Rng::Cpu { Rng::Cpu.label() } else { recipe.rng.key() });
        }
        let stem = |path: Option<&Path>| path.and_then(Path::file_stem).map(|name| name.to_string_lossy().into_owned());
        if let Some(model) = model.map(str::to_owned).or_else(|| stem(recipe.files.main())) {
            it.push(key::MODEL, model);
        }
        if let Some(vae) = stem(recipe.files.get(FileRole::Vae)) {
            it.push(key::VAE, vae);
        }
        match (&recipe.hires, &recipe.init) {
            (Some(hires), _) => {
                it.push(key::DENOISING_STRENGTH, hires.strength);
                match hires.target {
                    Some((width, height)) => it.push(key::HIRES_RESIZE, format!("{width}x{height}")),
                    None => it.push(key::HIRES_UPSCALE, hires.scale),
                }
                if let Some(steps) = hires.own_steps() {
                    it.push(key::HIRES_STEPS, steps);
                }
                let latent = || hires.latent_upscaler().map_or("Lanczos", LatentUpscaler::label).to_owned();
                it.push(key::HIRES_UPSCALER, stem(hires.upscaler.as_deref()).unwrap_or_else(latent));
            }
            (None, Some(init)) => it.push(key::DENOISING_STRENGTH, init.strength),
            (None, None) => {}
        }
        if let Some(upscale) = &recipe.upscale {
            it.push(key::POSTPROCESS_UPSCALER, stem(Some(upscale.model.as_path())).unwrap_or_default());
        }
        if let Some(layers) = recipe.clip_skip {
            it.push(key::CLIP_SKIP, layers);
        }
        if let Some(control) = &recipe.control {
            let mut unit = Self::default();
            unit.push(key::UNIT_MODULE, control.preprocessor.map_or("none", Preprocessor::key));
            unit.push(key::UNIT_MODEL, stem(recipe.files.get(FileRole::Controlnet)).unwrap_or_else(|| "None".to_owned()));
            unit.push(key::UNIT_WEIGHT, control.strength);
            unit.push(key::UNIT_START, control.start);
            unit.push(key::UNIT_END, control.end);
            it.push(key::CONTROLNET, unit.pairs.iter().map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>().join(", "));
        }
        if let Some(guidance) = recipe.image_guidance {
            it.push(key::IMAGE_CFG_SCALE, guidance);
        }
        // It has one switch for both directions.
        if recipe.seamless_x && recipe.seamless_y {
            it.push(key::TILING, "True");
        }
        if let Some(eta) = recipe.eta {
            it.push(key::ETA, eta);
        }
        if let Some(shift) = recipe.flow_shift {
            it.push(key::SHIFT, shift);
        }
        it.push_without_field(recipe);
        it.push(key::DISTILLED_CFG_SCALE, recipe.distilled_guidance);
        if let Some(math) = info.cpu_math {
            it.push(key::CPU_MATH, math);
        }
        it.push(key::VERSION, concat!("Atelier ", env!("CARGO_PKG_VERSION")));
        it
    }

    /// What A1111 has no field for: as sd-cli has it, and what that has none for either.
    fn push_without_field(&mut self, recipe: &Recipe) {
        if let Some(seed) = recipe.words_seed {
            self.push(key::SEED_OF_CHOICES, seed);
        }
        if let Some(skip) = &recipe.skip_layers {
            self.push(key::SLG_SCALE, skip.scale);
            self.push(key::SKIP_LAYERS, list(&skip.layers));
            self.push(key::SKIP_LAYER_START, skip.start);
            self.push(key::SKIP_LAYER_END, skip.end);
        }
        if !recipe.sampler_arguments.is_empty() {
            self.push(key::EXTRA_SAMPLE_ARGS, &recipe.sampler_arguments);
        }
        if let Some(rng) = recipe.sampler_rng {
            self.push(key::SAMPLER_RNG, rng.key());
        }
        if !recipe.sigmas.is_empty() {
            self.push(key::CUSTOM_SIGMAS, list(&recipe.sigmas));
        }
        if let Some(hires) = recipe.hires.as_ref().filter(|hires| !hires.sigmas.is_empty()) {
            self.push(key::HIRES_CUSTOM_SIGMAS, list(&hires.sigmas));
        }
        if !recipe.guidance_ranges.is_empty() {
            self.push(key::CFG_RANGES, list(&recipe.guidance_ranges));
        }
        if let Some(json) = sd_cpp::json_of(recipe) {
            self.push(key::SDCPP, json);
        }
    }

    pub fn push(&mut self, key: &str, value: impl fmt::Display) {
        self.pairs.push((key.to_owned(), value.to_string()));
    }

    /// The value of a key, in any case.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(it, _)| it.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
    }
}

/// Numbers, and ranges of guidance, in the brackets that sd-cli has.
fn list(numbers: &[impl ToString]) -> String {
    format!("[{}]", with_commas(numbers))
}

/// Writes the text.
#[must_use]
pub fn format(parameters: &Parameters) -> String {
    let mut lines: Vec<String> = Vec::new();
    if !parameters.prompt.is_empty() {
        lines.push(parameters.prompt.clone());
    }
    if !parameters.negative_prompt.is_empty() {
        lines.push(format!("{NEGATIVE} {}", parameters.negative_prompt));
    }
    if !parameters.pairs.is_empty() {
        let pairs: Vec<String> = parameters.pairs.iter().map(|(key, value)| format!("{key}: {}", quote(value))).collect();
        lines.push(pairs.join(", "));
    }
    lines.join("\n")
}

/// Reads the text, whoever wrote it. The pairs may stand in any order, and on any line; a text
/// without settings among them is a prompt.
#[must_use]
pub fn parse(text: &str) -> Parameters {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let text = text.trim_end();
    let lines: Vec<&str> = text.split('\n').collect();
    let Some(SettingsLine { at, end, words_before, pairs }) = SettingsLine::find(&lines) else {
        let (mut prompt, negative_prompt) = split_words(text, false);
        if negative_prompt.is_empty() {
            prompt.truncate(prompt.trim_end().len());
        }
        return Parameters { prompt, negative_prompt, ..Parameters::default() };
    };
    let words: Vec<&str> = lines.iter().take(at).copied().chain(words_before).collect();
    let (prompt, negative_prompt) = split_words(&words.join("\n"), words_before.is_some());
    Parameters { prompt, negative_prompt, pairs, lines_after: lines_after(lines.get(end..).unwrap_or_default()) }
}

/// Prompt and negative prompt. `is_flat`: the negative one may begin within a line.
fn split_words(words: &str, is_flat: bool) -> (String, String) {
    let begins = |line: &str| line.starts_with(NEGATIVE);
    // Some writers have other letter case; where there is a line as A1111 writes it, that is the one.
    let begins_in_other_case = |line: &str| line.get(..NEGATIVE.len()).is_some_and(|start| start.eq_ignore_ascii_case(NEGATIVE));
    let own_line = |begins: &dyn Fn(&str) -> bool| line_starts(words).find(|at| words.get(*at..).is_some_and(begins));
    let at = own_line(&begins).or_else(|| words.rfind(NEGATIVE).filter(|_| is_flat)).or_else(|| own_line(&begins_in_other_case));
    let Some((prompt, negative)) = at.and_then(|at| words.split_at_checked(at)) else { return (words.to_owned(), String::new()) };
    let prompt = prompt.strip_suffix('\n').unwrap_or(prompt);
    let prompt = if is_flat { prompt.trim_end() } else { prompt };
    let negative = negative.get(NEGATIVE.len()..).unwrap_or_default();
    (prompt.to_owned(), negative.strip_prefix(' ').unwrap_or(negative).to_owned())
}

/// Where each line begins.
fn line_starts(text: &str) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1))
}

/// `Template: a {red|blue} barn` of the lines below the settings; a line without a name goes on
/// with the one before it.
fn lines_after(lines: &[&str]) -> Vec<(String, String)> {
    let mut named: Vec<(String, String)> = Vec::new();
    for line in lines {
        let pair = line.split_once(':').filter(|(name, _)| key_at_end(name) == Some(*name));
        if let Some((name, value)) = pair.filter(|_| named.len() < MAX_PAIRS) {
            named.push((name.to_owned(), value.trim().to_owned()));
        } else if let Some((_, value)) = named.last_mut() {
            value.push('\n');
            value.push_str(line);
        } else if !line.trim().is_empty() {
            named.push((tr!("media-text-below-the-settings").to_owned(), (*line).to_owned()));
        }
    }
    named
}

fn quote(value: &str) -> String {
    let plain =
        !value.is_empty() && value.trim() == value && !value.starts_with(['"', '{', '[']) && !value.contains([',', ':', '\n', '\r']);
    if plain { value.to_owned() } else { serde_json::Value::from(value).to_string() }
}

/// A sampler, and the scheduler that older texts name after it: `DPM++ 2M Karras`. Both `None` where
/// the engine has no sampler of this name.
#[must_use]
pub fn sampler_and_scheduler(name: &str) -> (Option<Sampler>, Option<Scheduler>) {
    if let Ok(sampler) = name.trim().parse() {
        return (Some(sampler), None);
    }
    let split = name.trim().rsplit_once(' ').and_then(|(sampler, scheduler)| Some((sampler.parse().ok()?, scheduler.parse().ok()?)));
    split.map_or((None, None), |(sampler, scheduler)| (Some(sampler), Some(scheduler)))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::line::FEWEST_PAIRS;
    use super::*;
    use atelier_core::recipe::{ImageSource, InitImage, Lora, Rng, Seed};

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.into(), value.into())
    }

    #[test]
    fn a_text_of_a1111_is_read() {
        let text = "a castle, (stone:1.2), <lora:detail:0.8>\nsecond line\nNegative prompt: blurry, text: none\nbad\n\
            Steps: 28, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 6.5, Seed: 3305821237, Size: 768x1152, \
            Model hash: 31e35c80fc, Model: \"sd_xl: base, 1.0\", Denoising strength: 0.4, Clip skip: 2, \
            Lora hashes: \"detail: 0a1b2c3d4e5f\", Version: v1.10.1\n";
        let it = parse(text);
        assert_eq!(it.prompt, "a castle, (stone:1.2), <lora:detail:0.8>\nsecond line");
        assert_eq!(it.negative_prompt, "blurry, text: none\nbad");
        assert_eq!(it.get("model"), Some("sd_xl: base, 1.0"));
        assert_eq!(it.get("Lora hashes"), Some("detail: 0a1b2c3d4e5f"));
        assert_eq!((it.get(key::STEPS), it.get(key::SEED), it.get(key::SIZE)), (Some("28"), Some("3305821237"), Some("768x1152")));
        assert_eq!((it.get(key::SAMPLER), it.get(key::SCHEDULE_TYPE)), (Some("DPM++ 2M"), Some("Karras")));
    }

    #[test]
    fn pairs_stand_in_any_order_and_a_line_may_follow_them() {
        let it = parse("a lake\nSize: 64x32, Seed: 7, Steps: 4");
        assert_eq!((it.get(key::SIZE), it.get(key::SEED), it.get(key::STEPS)), (Some("64x32"), Some("7"), Some("4")));
        let it = parse("a lake\nSteps: 4, Seed: 7, Size: 64x32\nTemplate: a {lake|pond}");
        assert_eq!((it.prompt.as_str(), it.pairs.len()), ("a lake", 3));
        assert_eq!(it.lines_after, [pair("Template", "a {lake|pond}")]);
    }

    #[test]
    fn settings_are_found_within_a_line_and_prose_with_colons_is_none() {
        let it = parse("a lake, Negative prompt: fog, haze Steps: 4, Sampler: Euler a, CFG scale: 7, Seed: 9, Size: 64x32");
        assert_eq!((it.prompt.as_str(), it.negative_prompt.as_str(), it.get("Seed")), ("a lake,", "fog, haze", Some("9")));
        for prose in
            ["Camera: old, Lens: 50mm, Light: soft, a woman", "Size: small, Mood: calm, Seed: of doubt\nSteps: left, Sampler: none, x"]
        {
            assert_eq!(parse(prose), Parameters { prompt: prose.to_owned(), ..Parameters::default() });
        }
    }

    #[test]
    fn a_marked_line_of_two_pairs_is_settings_and_the_negative_prompt_has_any_letter_case() {
        let it = parse("a lake\nSteps: 4, Seed: 7\nTemplate: a {lake|pond}");
        assert_eq!((it.prompt.as_str(), it.get("Steps"), it.get("Seed"), it.lines_after.len()), ("a lake", Some("4"), Some("7"), 1));
        for negative in ["negative prompt:", "Negative Prompt:", "NEGATIVE PROMPT:"] {
            let it = parse(&format!("a lake\n{negative} fog\nhaze\nSteps: 4, Sampler: Euler, Seed: 7"));
            assert_eq!((it.prompt.as_str(), it.negative_prompt.as_str()), ("a lake", "fog\nhaze"), "{negative}");
        }
        let it = parse("a sign\nnegative prompt: of words\nNegative prompt: fog\nSteps: 4, Sampler: Euler, Seed: 7");
        assert_eq!((it.prompt.as_str(), it.negative_prompt.as_str()), ("a sign\nnegative prompt: of words", "fog"));
        assert!(parse("Steps: up, Seed: of doubt").pairs.is_empty());
    }

    #[test]
    fn settings_that_are_wrapped_go_on_in_the_next_lines() {
        let settings =
            "Steps: 24, Sampler: Euler a, CFG scale: 6.5, Seed: 4242, Size: 512x768, Model hash: aabbccddee, Model: sea, Version: v1.10.1";
        let whole = parse(&format!("a lake\nNegative prompt: fog\n{settings}"));
        // Wherever an editor breaks the line between words, in two or three.
        let breaks: Vec<usize> = settings.match_indices(' ').map(|(at, _)| at).collect();
        let cut = |text: &str, at: usize| format!("{}\n{}", &text[..at], &text[at + 1..]);
        for (index, at) in breaks.iter().enumerate().skip(1) {
            let once = cut(settings, *at);
            let twice = breaks.get(index + 4).map(|second| cut(&once, *second));
            for wrapped in std::iter::once(once).chain(twice) {
                let read = parse(&format!("a lake\nNegative prompt: fog\n{wrapped}\nTemplate: a {{lake|pond}}, Model: none"));
                assert_eq!((&read.prompt, &read.negative_prompt), (&whole.prompt, &whole.negative_prompt), "{wrapped}");
                assert_eq!(read.pairs, whole.pairs, "{wrapped}");
                assert_eq!(read.lines_after, [pair("Template", "a {lake|pond}, Model: none")], "{wrapped}");
            }
        }
        let flat = parse("a lake Negative prompt: fog Steps: 24, Sampler: Euler a,\nCFG scale: 7, Seed: 9, Size: 64x32");
        assert_eq!((flat.prompt.as_str(), flat.negative_prompt.as_str(), flat.get(key::SIZE)), ("a lake", "fog", Some("64x32")));
        let quoted = parse("a lake\nSteps: 4, Seed: 7, Lora hashes: \"ink: 0a1b2c,\noil: 99ff00\", Model: sea\na note");
        assert_eq!((quoted.get("Lora hashes"), quoted.get(key::MODEL)), (Some("ink: 0a1b2c, oil: 99ff00"), Some("sea")));
        assert_eq!(quoted.lines_after, [pair("Text below the settings", "a note")]);
        // What the settings have already is not theirs.
        let twice = parse("a lake\nSteps: 4, Sampler: Euler, Seed: 7\nSeed: 8, Sampler: DDIM");
        assert_eq!(twice.get(key::SEED), Some("7"));
        assert_eq!(twice.lines_after, [pair("Seed", "8, Sampler: DDIM")]);
        let many = "Steps: 1, x: 2,\n".repeat(1 << 16);
        assert_eq!(parse(&many).prompt.len() + 1, many.len());
    }

    #[test]
    fn a_value_in_brackets_ends_at_its_own_bracket() {
        let line = r#"A1: {"b": [1, "}, x"], "c": {}}, B2: [1, 2] and, C3: [open, D4: 9"#;
        let expected = [pair("A1", r#"{"b": [1, "}, x"], "c": {}}"#), pair("B2", "[1"), pair("C3", "[open"), pair("D4", "9")];
        assert_eq!(pairs(line), expected);
        let mixed = pairs(r#"A1: {, B2: "x]", C3: [}], D4: 9"#);
        assert_eq!(mixed, [pair("A1", "{"), pair("B2", "x]"), pair("C3", "[}]"), pair("D4", "9")]);
        assert_eq!([quote("{"), quote("[1, 2]")], [r#""{""#, r#""[1, 2]""#]);
        let open = "ab: [".repeat(1 << 18);
        assert!(pairs(&open).len() <= MAX_PAIRS);
    }

    #[test]
    fn fewer_than_three_pairs_are_prose() {
        let it = parse("a sign that says\nopen: nine, closed: five");
        assert_eq!(it.prompt, "a sign that says\nopen: nine, closed: five");
        assert!(it.pairs.is_empty());
    }

    #[test]
    fn a_sampler_that_names_its_scheduler_is_split() {
        assert_eq!(sampler_and_scheduler("DPM++ 2M Karras"), (Some(Sampler::Dpmpp2m), Some(Scheduler::Karras)));
        assert_eq!(sampler_and_scheduler("euler_a discrete"), (Some(Sampler::EulerA), Some(Scheduler::Discrete)));
        assert_eq!(sampler_and_scheduler("UniPC"), (None, None));
    }

    #[test]
    fn a_recipe_is_told_without_its_folders() {
        let mut recipe = Recipe { prompt: "a lake".into(), guidance: 1.5, seed: None, ..Recipe::default() };
        recipe.files.set(FileRole::Diffusion, "/home/someone/models/z_image.gguf");
        recipe.sampler = Some(Sampler::Dpmpp2sA);
        recipe.scheduler = Some(Scheduler::SgmUniform);
        recipe.rng = Rng::Cpu;
        recipe.image_guidance = Some(1.5);
        (recipe.seamless_x, recipe.seamless_y) = (true, true);
        recipe.init = Some(InitImage { image: ImageSource::File("/home/someone/in.png".into()), strength: 0.6 });
        recipe.loras = vec![Lora { encoder_strength: Some(0.25), ..Lora::new(PathBuf::from("/home/someone/loras/ink.safetensors"), 0.5) }];
        let text = format(&Parameters::of(
            &recipe,
            None,
            PictureInfo { index: 1, seed: Some(Seed(43)), cpu_math: None, merged_loras: false },
            640,
            480,
        ));
        assert!(
            text.starts_with(
                "a lake <lora:ink:0.25:0.5>\nSteps: 20, Sampler: DPM++ 2S a, Schedule type: SGM Uniform, CFG scale: 1.5, Seed: 43, \
                 Size: 640x480, RNG: CPU, Model: z_image, Denoising strength: 0.6, "
            ),
            "{text}"
        );
        assert!(!text.contains("someone"), "{text}");
        let loras = vec![Lora { start: 0.2, end: 0.7, ..recipe.loras[0].clone() }];
        let ranged = Recipe { loras, ..recipe };
        let told =
            Parameters::of(&ranged, None, PictureInfo { index: 1, seed: Some(Seed(43)), cpu_math: None, merged_loras: false }, 640, 480);
        assert!(told.prompt.starts_with("a lake [[<lora:ink:0.25:0.5>::0."), "{}", told.prompt);
    }

    #[test]
    fn a_value_is_quoted_only_where_it_must_be() {
        assert_eq!(quote("Euler a"), "Euler a");
        assert_eq!(quote("a, \"b\": c\n"), r#""a, \"b\": c\n""#);
        assert_eq!(pairs(r#"A1: "x, y", B2: "un"closed, C3: ""#), [pair("A1", "x, y"), pair("B2", "\"un\"closed"), pair("C3", "\"")]);
    }

    fn has_negative_line(text: &str) -> bool {
        text.lines().any(|line| line.get(..NEGATIVE.len()).is_some_and(|start| start.eq_ignore_ascii_case(NEGATIVE)))
    }

    fn words() -> impl Strategy<Value = String> {
        // Any text of several lines that the form can say.
        "([^\r]|\n){0,60}".prop_filter("the form cannot say it", |text| !has_negative_line(text) && parse(text).pairs.is_empty())
    }

    /// Lines that extensions add below the settings, of every sign but the end of a line.
    fn template() -> impl Strategy<Value = String> {
        "(Template|Negative Template|Wildcard Prompt): ([(]?[a-z ]{1,8}(:1.[0-9][)])?[,:{}|] ?){0,6}"
    }

    fn some_pairs() -> impl Strategy<Value = Vec<(String, String)>> {
        let others = proptest::collection::vec(("[A-Za-z_][A-Za-z0-9_ /-]{0,12}[A-Za-z0-9]", any::<String>()), FEWEST_PAIRS..8);
        (1..100_u32, others).prop_map(|(steps, others)| std::iter::once(pair("Steps", &steps.to_string())).chain(others).collect())
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(prompt in words(), negative_prompt in words(), pairs in some_pairs()) {
            let parameters = Parameters { prompt, negative_prompt, pairs, lines_after: Vec::new() };
            prop_assert_eq!(parse(&format(&parameters)), parameters);
        }

        #[test]
        fn lines_below_the_settings_change_none_of_them(prompt in words(), lines in proptest::collection::vec(template(), 1..4)) {
            let mut written = Parameters { prompt, ..Parameters::default() };
            for (key, value) in [("Steps", "24"), ("Sampler", "Euler a"), ("CFG scale", "6"), ("Seed", "4242"), ("Size", "512x768")] {
                written.push(key, value);
            }
            let text = format!("{}\n{}", format(&written), lines.join("\n"));
            let read = parse(&text);
            prop_assert_eq!(read.lines_after.len(), lines.len());
            prop_assert_eq!(Parameters { lines_after: Vec::new(), ..read }, written);
        }

        #[test]
        fn any_text_is_read_and_settles(text in any::<String>(), tail in "[ -~\n]{0,80}") {
            let once = parse(&format!("{text}{tail}"));
            if once.lines_after.is_empty() && !has_negative_line(&once.prompt) {
                prop_assert_eq!(parse(&format(&once)), once);
            }
        }
    }
}
