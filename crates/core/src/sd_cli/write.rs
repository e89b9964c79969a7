//! From a recipe to a command line.

use std::fmt::Display;
use std::path::{Component, Path, PathBuf};

use atelier_language::tr;

use super::{FILE_FLAGS, HERE, defaults};
use crate::placement::{BackendSpec, Module, one_budget};
use crate::recipe::{ControlImage, FileRole, Hires, ImageSource, Lora, LoraMode, Person, Preprocessor, Recipe, SeedNumber, Upscale};
use crate::words::Prompt;

/// A recipe as a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The command, quoted for Unix shells.
    pub line: String,
    /// Parts of the recipe that a command line cannot express, as sentences.
    pub left_out: Vec<String>,
}

/// Writes a recipe as a command line of sd-cli. It names files as the recipe does.
#[must_use]
pub fn write(recipe: &Recipe) -> CommandLine {
    let mut line = Builder { words: vec!["sd-cli".to_owned()], left_out: Vec::new() };
    let defaults = defaults();
    for (role, path) in recipe.files.iter() {
        match FILE_FLAGS.iter().find(|(it, _)| *it == role).and_then(|(_, names)| names.first()) {
            Some(flag) => line.path(flag, path),
            None => line.left_out.push(role.without_effect().unwrap_or_default().to_owned()),
        }
    }
    if recipe.files.get(FileRole::Vae).is_some() && recipe.files.get(FileRole::Taesd).is_some() {
        // Else sd-cli decodes the picture itself with the tiny VAE.
        line.flag("--taesd-preview-only");
    }
    let tags = line.loras(recipe);
    let (prompt, negative_prompt) = recipe.model_prompts();
    line.option("--prompt", &format!("{prompt}{tags}"));
    if !negative_prompt.is_empty() {
        line.option("--negative-prompt", &negative_prompt);
    }
    line.tell_of_words(recipe);
    line.option("--width", &recipe.width);
    line.option("--height", &recipe.height);
    line.option("--steps", &recipe.steps);
    line.option("--cfg-scale", &recipe.guidance);
    if recipe.distilled_guidance != defaults.distilled_guidance {
        line.option("--guidance", &recipe.distilled_guidance);
    }
    line.optional("--sampling-method", recipe.sampler);
    line.optional("--scheduler", recipe.scheduler);
    line.optional("--eta", recipe.eta);
    line.optional("--flow-shift", recipe.flow_shift);
    line.optional("--prediction", recipe.prediction);
    line.guidance(recipe);
    line.optional("--clip-skip", recipe.clip_skip);
    line.option("--seed", &SeedNumber(recipe.seed));
    if recipe.seed.is_some_and(|seed| i64::try_from(seed.0).is_err()) {
        line.left_out.push(tr!("core-the-seed-sd", most = i64::MAX));
    }
    if recipe.rng != defaults.rng {
        line.option("--rng", &recipe.rng);
    }
    line.optional("--sampler-rng", recipe.sampler_rng);
    if recipe.batch_count != defaults.batch_count {
        line.option("--batch-count", &recipe.batch_count);
    }
    if let Some(init) = &recipe.init {
        line.picture("--init-img", &init.image, tr!("core-the-start-picture"));
        line.option("--strength", &init.strength);
    }
    if let Some(mask) = &recipe.mask {
        line.picture("--mask", mask, tr!("core-the-mask"));
    }
    if recipe.area.is_some() {
        line.left_out.push(tr!("core-inpainting-only-the-masked").to_owned());
    }
    if !recipe.further_starts.is_empty() {
        line.left_out.push(tr!("core-further-start-pictures-sd", count = recipe.further_starts.len()));
    }
    if !recipe.earlier_steps.is_empty() {
        line.left_out.push(tr!("core-the-steps-of-an").to_owned());
    }
    if recipe.loras.iter().any(Lora::has_range) {
        line.left_out.push(tr!("core-the-steps-of-a-lora").to_owned());
    }
    if !recipe.guidance_ranges.is_empty() {
        line.left_out.push(tr!("core-guidance-in-a-part").to_owned());
    }
    if recipe.seed_blend.is_some() {
        line.left_out.push(tr!("core-the-second-seed-sd").to_owned());
    }
    if recipe.last_step.is_some() {
        line.left_out.push(tr!("core-the-last-step-sd").to_owned());
    }
    if let Some(hires) = &recipe.hires {
        line.hires(hires);
    }
    if let Some(Upscale { model, repeats, tile_size, .. }) = &recipe.upscale {
        line.path("--upscale-model", model);
        line.optional("--upscale-repeats", Some(repeats).filter(|repeats| **repeats > 1));
        line.optional("--upscale-tile-size", *tile_size);
    }
    if recipe.outpaint.is_some_and(|borders| !borders.is_empty()) {
        line.left_out.push(tr!("core-outpainting-sd-cli-keeps").to_owned());
    }
    if recipe.init.is_some() && recipe.start_fit != defaults.start_fit {
        line.left_out.push(tr!("core-the-fit-of-the").to_owned());
    }
    for reference in &recipe.reference_images {
        line.picture("--ref-image", reference, tr!("core-a-reference-picture"));
    }
    if let Some(control) = &recipe.control {
        line.picture("--control-image", &control.image, tr!("core-the-control-picture"));
        line.option("--control-strength", &control.strength);
        match control.preprocessor {
            Some(Preprocessor::Canny) => line.flag("--canny"),
            Some(_) => line.left_out.push(tr!("core-the-preprocessor-of-the").to_owned()),
            None => {}
        }
        if (control.start, control.end) != (0.0, ControlImage::USUAL_END) {
            line.left_out.push(tr!("core-the-steps-of-the").to_owned());
        }
    }
    line.person(&recipe.person);
    let placement = &recipe.placement;
    let places = [("--backend", &placement.backend), ("--params-backend", &placement.params_backend)];
    for (flag, text) in places.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
        line.option(flag, &text.trim());
    }
    if let Some((gib, is_whole)) = one_budget(&placement.max_vram) {
        line.option("--max-vram", &gib);
        if !is_whole {
            line.left_out.push(tr!("core-budgets-of-single-devices", max_vram = placement.max_vram.trim(), gib));
        }
    }
    let own =
        [&placement.backend, &placement.params_backend].map(|text| BackendSpec::parse(text).is_ok_and(|spec| spec.has_single_encoders()));
    if own.contains(&true) {
        line.left_out.push(tr!("core-devices-of-single-text").to_owned());
    }
    if placement.stream_layers.iter().any(|module| module != Module::Diffusion) {
        line.left_out.push(tr!("core-streaming-other-layers-than").to_owned());
    }
    for (flag, set) in [
        ("--stream-layers", placement.stream_layers.contains(Module::Diffusion)),
        ("--diffusion-fa", recipe.flash_attention),
        ("--vae-tiling", recipe.vae_tiling),
        ("--force-sdxl-vae-conv-scale", recipe.vae_conv_scale),
        ("--mmap", recipe.memory_map),
        ("--circularx", recipe.seamless_x),
        ("--circulary", recipe.seamless_y),
        ("--qwen-image-zero-cond-t", recipe.zero_cond_t),
        ("--chroma-disable-dit-mask", !recipe.chroma_dit_mask),
        ("--chroma-enable-t5-mask", recipe.chroma_t5_mask),
        ("--increase-ref-index", recipe.number_references),
        ("--disable-auto-resize-ref-image", !recipe.resize_references),
    ] {
        if set {
            line.flag(flag);
        }
    }
    if !placement.split_batch.trim().is_empty() {
        let words = tr!("core-sd-cli-makes-a");
        line.left_out.push(tr!("core-splitting-the-batch-over", split_batch = placement.split_batch.trim(), words));
    }
    if recipe.chroma_t5_padding != defaults.chroma_t5_padding {
        line.option("--chroma-t5-mask-pad", &recipe.chroma_t5_padding);
    }
    line.optional("--vae-format", recipe.vae_format);
    line.optional("--type", recipe.weight_type);
    if !recipe.tensor_type_rules.is_empty() {
        line.option("--tensor-type-rules", &recipe.tensor_type_rules);
    }
    line.optional("--vae-tile-size", recipe.vae_tile_size.map(|size| format!("{}x{}", size.width, size.height)));
    line.optional("--vae-tile-overlap", recipe.vae_tile_overlap);
    line.optional("--threads", recipe.threads);
    CommandLine { line: shell_words::join(&line.words), left_out: line.left_out }
}

struct Builder {
    words: Vec<String>,
    left_out: Vec<String>,
}

impl Builder {
    fn flag(&mut self, name: &str) {
        self.words.push(name.to_owned());
    }

    fn option(&mut self, name: &str, value: &dyn Display) {
        self.words.extend([name.to_owned(), value.to_string()]);
    }

    fn optional(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.option(name, &value);
        }
    }

    /// Says what sd-cli reads in another way in prompts, which it is given as they are.
    fn tell_of_words(&mut self, recipe: &Recipe) {
        let prompts = [&recipe.prompt, &recipe.negative_prompt].map(|text| Prompt::parse(text));
        let [prompt, _] = &prompts;
        let joins = recipe.may_join_prompts() && prompt.joined() > 0;
        let all = [
            (prompts.iter().any(Prompt::changes_over_steps), tr!("core-words-that-change-over")),
            (prompts.iter().any(Prompt::has_weights) && !recipe.reads_weights(), tr!("core-weights-of-words-sd")),
            (joins, tr!("core-prompts-joined-by-and")),
        ];
        self.left_out.extend(all.into_iter().filter(|(holds, _)| *holds).map(|(_, sentence)| sentence.to_owned()));
    }

    /// What guides and shortens the sampling.
    fn guidance(&mut self, recipe: &Recipe) {
        self.optional("--img-cfg-scale", recipe.image_guidance);
        if let Some(skip) = &recipe.skip_layers {
            self.option("--slg-scale", &skip.scale);
            // It takes no other form.
            self.option("--skip-layers", &format!("[{}]", listed(&skip.layers)));
            self.option("--skip-layer-start", &skip.start);
            self.option("--skip-layer-end", &skip.end);
        }
        if !recipe.sigmas.is_empty() {
            self.option("--sigmas", &listed(&recipe.sigmas));
        }
        self.optional("--timestep-shift", recipe.timestep_shift);
        if !recipe.sampler_arguments.is_empty() {
            self.option("--extra-sample-args", &recipe.sampler_arguments);
        }
        let Some(cache) = &recipe.step_cache else { return };
        self.option("--cache-mode", &cache.mode);
        if !cache.options.is_empty() {
            self.option("--cache-option", &cache.options_text());
        }
        if !cache.mask.is_empty() {
            self.option("--scm-mask", &cache.mask_text());
        }
        if cache.is_mask_static {
            self.option("--scm-policy", &"static");
        }
    }

    /// The second pass.
    fn hires(&mut self, hires: &Hires) {
        if hires.strength <= 0.0 {
            self.left_out.push(tr!("core-upscaling-without-a-second").to_owned());
            return;
        }
        self.flag("--hires");
        match (&hires.upscaler, hires.latent_upscaler()) {
            (Some(path), _) => {
                if let Some(folder) = path.parent() {
                    self.path("--hires-upscalers-dir", if folder.as_os_str().is_empty() { Path::new(HERE) } else { folder });
                }
                // It refuses a name with an ending.
                self.path("--hires-upscaler", Path::new(path.file_stem().unwrap_or_default()));
                self.optional("--hires-upscale-tile-size", hires.tile_size);
            }
            (None, Some(latent)) => self.option("--hires-upscaler", &latent),
            (None, None) => self.option("--hires-upscaler", &"Lanczos"),
        }
        if hires.latent_upscaler().is_none() {
            self.left_out.push(tr!("core-upscaling-of-the-picture").to_owned());
        }
        if hires.tiles.is_some() {
            self.left_out.push(tr!("core-the-tiles-of-the").to_owned());
        }
        match hires.target {
            Some((width, height)) => {
                self.option("--hires-width", &width);
                self.option("--hires-height", &height);
            }
            None => self.option("--hires-scale", &hires.scale),
        }
        self.option("--hires-denoising-strength", &hires.strength);
        self.optional("--hires-steps", hires.steps);
        if !hires.sigmas.is_empty() {
            self.option("--hires-sigmas", &listed(&hires.sigmas));
        }
    }

    fn path(&mut self, name: &str, path: &Path) {
        match path.to_str() {
            Some(path) => self.option(name, &path),
            None => self.left_out.push(tr!("core-this-file-name-cannot", path = path.display())),
        }
    }

    fn picture(&mut self, name: &str, image: &ImageSource, what: &str) {
        match image {
            ImageSource::File(path) => self.path(name, path),
            ImageSource::Pixels(_) => self.left_out.push(tr!("core-is-not-saved-yet", what)),
        }
    }

    /// Names the folder that the pictures of a person have in common.
    fn person(&mut self, person: &Person) {
        if person.style_strength != Person::USUAL_STYLE_STRENGTH {
            self.option("--pm-style-strength", &person.style_strength);
        }
        if let Some(path) = &person.id_embedding {
            self.path("--pm-id-embed-path", path);
        }
        let folder = |image: &ImageSource| match image {
            ImageSource::File(path) => path.parent().map(Path::to_path_buf),
            ImageSource::Pixels(_) => None,
        };
        let Some(first) = person.images.first() else { return };
        match folder(first).filter(|first| person.images.iter().all(|image| folder(image).as_ref() == Some(first))) {
            Some(folder) => {
                let here = folder.as_os_str().is_empty();
                self.path("--pm-id-images-dir", if here { Path::new(HERE) } else { &folder });
                self.left_out.push(tr!("core-the-choice-of-pictures").to_owned());
            }
            None => self.left_out.push(tr!("core-the-pictures-of-the").to_owned()),
        }
    }

    /// Names the folder that the LoRAs have in common and their mode, and gives the tags that name
    /// them within it.
    fn loras(&mut self, recipe: &Recipe) -> String {
        let loras = &recipe.loras;
        let folder = common_folder(loras).unwrap_or_default();
        let mut tags = String::new();
        for lora in loras {
            let path = &lora.path;
            let name = path.strip_prefix(&folder).unwrap_or(path).to_str();
            // The tag's own signs cannot be part of a name.
            match name.filter(|name| !name.is_empty() && !name.contains([':', '<', '>']) && !name.starts_with('|')) {
                Some(name) => {
                    tags.extend([" <lora:", name, ":", &lora.strength.to_string(), ">"]);
                    if lora.encoder_strength.is_some() {
                        self.left_out.push(tr!("core-sd-cli-has-one", name));
                    }
                }
                None => self.left_out.push(tr!("core-sd-cli-cannot-name", path = path.display())),
            }
        }
        if !tags.is_empty() {
            let here = folder.as_os_str().is_empty();
            self.path("--lora-model-dir", if here { Path::new(HERE) } else { &folder });
        }
        // A PhotoMaker brings one along.
        if !tags.is_empty() || recipe.has_photomaker() {
            // By itself sd-cli merges those of weights with enough bits, as here for many pictures.
            let mode = match recipe.lora_mode {
                LoraMode::Auto if !recipe.merges_loras(false) => LoraMode::AtRuntime,
                mode => mode,
            };
            self.option("--lora-apply-mode", &mode);
        }
        tags
    }
}

fn listed(numbers: &[impl Display]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// The innermost folder that all these files are in; `None` where there are no files.
fn common_folder(loras: &[Lora]) -> Option<PathBuf> {
    let folders = loras.iter().map(|lora| lora.path.parent().unwrap_or(Path::new("")).to_path_buf());
    folders.reduce(|one, other| {
        let same = one.components().zip(other.components()).take_while(|(a, b)| a == b).map(|(it, _)| it);
        let same: PathBuf = same.collect();
        // A root alone is no folder that helps.
        if same.components().all(|it| matches!(it, Component::RootDir | Component::Prefix(_))) { PathBuf::new() } else { same }
    })
}
