//! From a command line to a recipe.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use atelier_language::tr;

use super::no_setting::{NoSetting, no_videos};
use super::values::{above_zero, finite, named, numbers, percent, sides, whole};
use super::{FILE_FLAGS, HERE, RelativeTileSize, defaults, shell};
use crate::placement::{ModuleSet, OldFlags, check_shape, is_device_flag};
use crate::recipe::{
    CacheMode, FileRole, Hires, ImageSource, InitImage, LatentUpscaler, ModelFiles, Person, PlacementText, Preprocessor, Recipe,
    RulesError, SkipLayers, StepCache, TileSize, Upscale, read_seed,
};
use crate::words::{LoraTag, Prompt, take_loras_with_comments};

/// A command line after parsing.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedCommand {
    /// The recipe of the command.
    pub recipe: Recipe,
    /// Folder of the pictures of a person, which the caller looks up: the recipe has none of them.
    pub person_folder: Option<PathBuf>,
    /// Folder of embeddings, in which the caller looks up those that the prompts name.
    pub embeddings_folder: Option<PathBuf>,
    /// Sizes of VAE tiles in relation to the picture, which the caller sets where it knows the model:
    /// the recipe has none of them.
    pub relative_tile_size: Option<RelativeTileSize>,
    /// Pictures are to be written without their settings, if the caller can.
    pub without_metadata: bool,
    /// Parts of the command that the recipe does not have, in its order.
    pub left_out: Vec<LeftOut>,
}

/// A part of a command line that did not reach the recipe. Shown, it is a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The words, as they were written.
    pub words: String,
    /// The reason, as the end of a sentence.
    pub reason: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.words, self.reason)
    }
}

/// Error: nothing was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// A quotation mark has no partner.
    #[error("{}", tr!("core-a-quotation-mark-is"))]
    Unclosed,
    /// There is no option in it.
    #[error("{}", tr!("core-this-is-not-an"))]
    NoOptions,
}

/// Reads a command line of sd-cli; what it does not name is as sd-cli has it. The files are named
/// as the command names them.
pub fn read(line: &str) -> Result<ParsedCommand, CommandError> {
    read_over(line, defaults())
}

/// Reads a command line of sd-cli over a recipe; what the command does not name stays. One that
/// names a model's main file names the whole model: the other files and the LoRAs of the recipe are
/// not kept then. LoRAs that a prompt names replace those of the recipe.
pub fn read_over(line: &str, recipe: Recipe) -> Result<ParsedCommand, CommandError> {
    let words = shell::split(line).ok_or(CommandError::Unclosed)?;
    if !words.iter().any(|word| is_option(word)) {
        return Err(CommandError::NoOptions);
    }
    let mut reader = Reader { recipe, ..Reader::default() };
    let mut words = words.into_iter().skip_while(|word| is_program(word)).peekable();
    while let Some(word) = words.next() {
        // sd-cli wants a space, people and other tools write an equals sign.
        let split = word.split_once('=').filter(|(name, _)| name.starts_with("--"));
        let (name, inline) = split.map_or((word.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
        match action(name) {
            Some(Action::Value(read)) => match inline.or_else(|| words.next()) {
                Some(value) => {
                    if let Err(reason) = read(&mut reader, &value) {
                        reader.leave_out(&[name, &value], &reason);
                    }
                }
                None => reader.leave_out(&[name], tr!("core-a-value-is-missing")),
            },
            Some(Action::Device) => match inline.or_else(|| words.next()) {
                Some(device) => {
                    if let Err(error) = reader.old.devices.set(name, &device) {
                        reader.leave_out(&[name, &device], &error.to_string());
                    }
                }
                None => reader.leave_out(&[name], tr!("core-a-value-is-missing")),
            },
            Some(Action::Flag(set)) => set(&mut reader),
            Some(Action::OptionalValue(set)) => {
                let next = words.peek().filter(|next| inline.is_none() && !is_option(next)).cloned();
                match (set(&mut reader, inline.as_deref().or(next.as_deref())), &inline, next) {
                    (false, Some(value), _) => reader.leave_out(&[name, value], tr!("core-there-is-no-such")),
                    (true, _, Some(_)) => drop(words.next()),
                    _ => {}
                }
            }
            Some(Action::UnsupportedValue) => {
                let value = inline.or_else(|| words.next());
                reader.leave_out(&[Some(name), value.as_deref()].into_iter().flatten().collect::<Vec<_>>(), no_videos());
            }
            Some(Action::UnsupportedFlag) => reader.leave_out(&[name], no_videos()),
            None if is_option(&word) => {
                // The word after an unknown option belongs to it, unless it is an option itself.
                let value = words.next_if(|next| !is_option(next));
                reader.leave_out(
                    &[Some(word.as_str()), value.as_deref()].into_iter().flatten().collect::<Vec<_>>(),
                    tr!("core-unknown-option"),
                );
            }
            None => reader.leave_out(&[&word], tr!("core-not-part-of-any")),
        }
    }
    Ok(reader.finish())
}

/// Numbers are values, also negative ones.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word.parse::<f64>().is_err()
}

/// True for words before the options: the program, by whatever path.
fn is_program(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    ["$", "sd", "sd-cli", "atelier", "generate"].contains(&name.trim_end_matches(".exe"))
}

/// Effect of an option.
enum Action {
    /// Reads the next word; the error is the end of a sentence.
    Value(fn(&mut Reader, &str) -> Result<(), String>),
    /// Names the device of a module.
    Device,
    /// Has no value.
    Flag(fn(&mut Reader)),
    /// May have a value: false where the word is none, and is read by itself.
    OptionalValue(fn(&mut Reader, Option<&str>) -> bool),
    /// Has a value, and is about videos.
    UnsupportedValue,
    /// Has no value, and is about videos.
    UnsupportedFlag,
}

fn action(name: &str) -> Option<Action> {
    use Action::{Flag, OptionalValue, Value};
    Some(match name {
        "-p" | "--prompt" => Value(|it, text| set(&mut it.prompt, Some(text.to_owned()))),
        "-n" | "--negative-prompt" => Value(|it, text| set(&mut it.recipe.negative_prompt, text.to_owned())),
        "-W" | "--width" => Value(|it, text| set(&mut it.recipe.width, above_zero(text)?)),
        "-H" | "--height" => Value(|it, text| set(&mut it.recipe.height, above_zero(text)?)),
        "--steps" => Value(|it, text| set(&mut it.recipe.steps, above_zero(text)?)),
        "--cfg-scale" => Value(|it, text| set(&mut it.recipe.guidance, finite(text)?)),
        "--guidance" => Value(|it, text| set(&mut it.recipe.distilled_guidance, finite(text)?)),
        "--sampling-method" => Value(|it, text| set(&mut it.recipe.sampler, Some(named(text)?))),
        "--scheduler" => Value(|it, text| set(&mut it.recipe.scheduler, Some(named(text)?))),
        "--eta" => Value(|it, text| set(&mut it.recipe.eta, Some(finite(text)?))),
        "--flow-shift" => Value(|it, text| set(&mut it.recipe.flow_shift, Some(finite(text)?))),
        "--prediction" => Value(|it, text| set(&mut it.recipe.prediction, Some(named(text)?))),
        "--img-cfg-scale" => Value(|it, text| set(&mut it.recipe.image_guidance, Some(finite(text)?))),
        "--slg-scale" => Value(|it, text| set(&mut it.skip_scale, Some(finite(text)?))),
        "--skip-layers" => Value(|it, text| set(&mut it.skipped, Some(numbers(text)?))),
        "--skip-layer-start" => Value(|it, text| set(&mut it.skip_start, Some(finite(text)?))),
        "--skip-layer-end" => Value(|it, text| set(&mut it.skip_end, Some(finite(text)?))),
        "--sigmas" => Value(|it, text| set(&mut it.recipe.sigmas, numbers(text)?)),
        "--timestep-shift" => Value(|it, text| set(&mut it.recipe.timestep_shift, whole(text)?)),
        "--extra-sample-args" => Value(|it, text| set(&mut it.recipe.sampler_arguments, text.to_owned())),
        "--cache-mode" => Value(|it, text| {
            it.is_cache_off = text.is_empty() || text == "disabled";
            set(&mut it.cache_mode, if it.is_cache_off { None } else { Some(named(text)?) })
        }),
        "--cache-option" => Value(|it, text| set(&mut it.cache_options, Some(StepCache::read_options(text)?))),
        "--scm-mask" => Value(|it, text| set(&mut it.cache_mask, Some(StepCache::read_mask(text)?))),
        "--scm-policy" => Value(|it, text| match text {
            "dynamic" | "static" => set(&mut it.is_mask_static, Some(text == "static")),
            _ => Err(tr!("core-write-dynamic-or-static").to_owned()),
        }),
        "--circular" => Flag(|it| (it.recipe.seamless_x, it.recipe.seamless_y) = (true, true)),
        "--circularx" => Flag(|it| it.recipe.seamless_x = true),
        "--circulary" => Flag(|it| it.recipe.seamless_y = true),
        "--qwen-image-zero-cond-t" => Flag(|it| it.recipe.zero_cond_t = true),
        "--chroma-disable-dit-mask" => Flag(|it| it.recipe.chroma_dit_mask = false),
        "--chroma-enable-t5-mask" => Flag(|it| it.recipe.chroma_t5_mask = true),
        "--chroma-t5-mask-pad" => Value(|it, text| set(&mut it.recipe.chroma_t5_padding, whole(text)?.unwrap_or_default())),
        "--vae-format" => Value(|it, text| {
            let is_auto = text.is_empty() || text == "auto";
            set(&mut it.recipe.vae_format, if is_auto { None } else { Some(named(text)?) })
        }),
        "--type" => Value(|it, text| set(&mut it.recipe.weight_type, if text.is_empty() { None } else { Some(named(text)?) })),
        "--tensor-type-rules" => {
            Value(|it, text| set(&mut it.recipe.tensor_type_rules, text.parse().map_err(|error: RulesError| error.to_string())?))
        }
        "--mmap" => Flag(|it| it.recipe.memory_map = true),
        "--increase-ref-index" => Flag(|it| it.recipe.number_references = true),
        "--disable-auto-resize-ref-image" => Flag(|it| it.recipe.resize_references = false),
        "--clip-skip" => Value(|it, text| set(&mut it.recipe.clip_skip, whole(text)?)),
        "-s" | "--seed" => Value(|it, text| set(&mut it.recipe.seed, read_seed(text)?.0)),
        "--rng" => Value(|it, text| set(&mut it.recipe.rng, named(text)?)),
        "--sampler-rng" => Value(|it, text| set(&mut it.recipe.sampler_rng, Some(named(text)?))),
        "--hires" => Flag(|it| it.hires.get_or_insert_default().is_on = true),
        "--hires-scale" => Value(|it, text| set(&mut it.hires.get_or_insert_default().scale, Some(finite(text)?))),
        "--hires-width" => Value(|it, text| set(&mut it.hires.get_or_insert_default().width, whole(text)?)),
        "--hires-height" => Value(|it, text| set(&mut it.hires.get_or_insert_default().height, whole(text)?)),
        "--hires-sigmas" => Value(|it, text| set(&mut it.hires.get_or_insert_default().sigmas, Some(numbers(text)?))),
        "--hires-upscalers-dir" => Value(|it, text| set(&mut it.hires.get_or_insert_default().folder, Some(text.into()))),
        "--hires-upscale-tile-size" => Value(|it, text| set(&mut it.hires.get_or_insert_default().tile_size, whole(text)?)),
        "--hires-steps" => Value(|it, text| set(&mut it.hires.get_or_insert_default().steps, whole(text)?)),
        "--hires-denoising-strength" => Value(|it, text| set(&mut it.hires.get_or_insert_default().strength, Some(finite(text)?))),
        "--hires-upscaler" => Value(|it, text| set(&mut it.hires.get_or_insert_default().upscaler, Some(text.to_owned()))),
        "--embd-dir" => Value(|it, text| set(&mut it.embeddings_folder, Some(text.into()))),
        "-b" | "--batch-count" => Value(|it, text| set(&mut it.recipe.batch_count, above_zero(text)?)),
        "-t" | "--threads" => Value(|it, text| set(&mut it.recipe.threads, whole(text)?)),
        "--vae-tiling" => Flag(|it| it.recipe.vae_tiling = true),
        "--vae-relative-tile-size" => Value(|it, text| set(&mut it.relative_tile_size, Some(text.parse()?))),
        "--vae-tile-size" => Value(|it, text| {
            let (width, height) = sides(text, whole)?;
            set(&mut it.recipe.vae_tile_size, TileSize::chosen(width.unwrap_or(0), height.unwrap_or(0)))
        }),
        "--vae-tile-overlap" => Value(|it, text| set(&mut it.recipe.vae_tile_overlap, Some(finite(text)?))),
        // Other modules gain nothing from it.
        "--diffusion-fa" | "--fa" => Flag(|it| (it.recipe.flash_attention, it.recipe.insists_on_flash_attention) = (true, true)),
        "--force-sdxl-vae-conv-scale" => Flag(|it| it.recipe.vae_conv_scale = true),
        "-i" | "--init-img" => Value(|it, text| {
            // As sd-cli reads it, the last one counts.
            if let Some(earlier) = it.init.replace(text.into()) {
                it.leave_out(&["--init-img", &earlier.to_string_lossy()], tr!("core-a-later-start-picture"));
            }
            Ok(())
        }),
        "--strength" => Value(|it, text| set(&mut it.strength, Some(finite(text)?))),
        "--mask" => Value(|it, text| set(&mut it.recipe.mask, Some(ImageSource::File(text.into())))),
        "-r" | "--ref-image" => Value(|it, text| {
            it.references.push(ImageSource::File(text.into()));
            Ok(())
        }),
        "--control-image" => Value(|it, text| set(&mut it.control, Some(text.into()))),
        "--control-strength" => Value(|it, text| set(&mut it.control_strength, Some(finite(text)?))),
        "--canny" => Flag(|it| it.is_canny = true),
        "--lora-model-dir" => Value(|it, text| set(&mut it.lora_folder, Some(text.into()))),
        "--lora-apply-mode" => Value(|it, text| set(&mut it.recipe.lora_mode, named(text)?)),
        "--taesd-preview-only" => Flag(|it| it.tiny_previews_only = true),
        "-M" | "--mode" => Value(|_, text| mode(text)),
        "--backend" => Value(|it, text| it.set_placement(text, |placement| &mut placement.backend)),
        "--params-backend" => Value(|it, text| it.set_placement(text, |placement| &mut placement.params_backend)),
        "--max-vram" => Value(|it, text| it.set_placement(text, |placement| &mut placement.max_vram)),
        "--stream-layers" => OptionalValue(|it, text| {
            let modules =
                text.map_or(Some(ModuleSet::DIFFUSION), |text| text.parse().ok().filter(|modules: &ModuleSet| !modules.is_empty()));
            it.recipe.placement.stream_layers = modules.unwrap_or(ModuleSet::DIFFUSION);
            modules.is_some()
        }),
        "--clip-on-cpu" => Flag(|it| it.old.clip_on_cpu = true),
        "--vae-on-cpu" => Flag(|it| it.old.vae_on_cpu = true),
        "--control-net-cpu" => Flag(|it| it.old.control_net_cpu = true),
        "--offload-to-cpu" => Flag(|it| it.old.offload_to_cpu = true),
        "--list-devices" => Flag(|it| it.leave_out(&["--list-devices"], tr!("core-it-lists-devices-and"))),
        "--rpc-servers" | "--rpc" => Value(|_, _| Err(tr!("core-servers-are-not-part").to_owned())),
        "--clip_vision" => Value(|_, _| Err(without_effect(FileRole::ClipVision))),
        "--pm-id-images-dir" => Value(|it, text| set(&mut it.person_folder, Some(text.into()))),
        "--pm-id-embed-path" => Value(|it, text| set(&mut it.id_embedding, Some(text.into()))),
        "--pm-style-strength" => Value(|it, text| set(&mut it.style_strength, Some(percent(text)?))),
        "--upscale-model" => Value(|it, text| set(&mut it.upscale_model, Some(text.into()))),
        "--upscale-repeats" => Value(|it, text| set(&mut it.upscale_repeats, Some(above_zero(text)?))),
        "--upscale-tile-size" => Value(|it, text| set(&mut it.upscale_tile_size, Some(above_zero(text)?))),
        "--disable-image-metadata" => Flag(|it| it.without_metadata = true),
        _ if is_device_flag(name) => Action::Device,
        _ => return action_without_setting(name).or_else(|| file_action(name)),
    })
}

/// Of what is left out it must be known whether a value follows: else the value would be read as a
/// file or an option.
fn action_without_setting(name: &str) -> Option<Action> {
    let option = NoSetting::named(name)?;
    Some(match (option.is_video, option.takes_value) {
        (true, true) => Action::UnsupportedValue,
        (true, false) => Action::UnsupportedFlag,
        (false, true) => Action::Value(|_, _| Ok(())),
        (false, false) => Action::Flag(|_| {}),
    })
}

fn without_effect(role: FileRole) -> String {
    role.without_effect().unwrap_or_default().trim_end_matches('.').to_owned()
}

/// A function pointer cannot carry the role; there is one for each.
fn file_action(name: &str) -> Option<Action> {
    macro_rules! take {
        ($($role:ident)*; $($without:ident)*) => {
            match FILE_FLAGS.iter().find(|(_, names)| names.contains(&name))?.0 {
                $(FileRole::$role => Action::Value(|it, text| { it.files.set(FileRole::$role, text); Ok(()) }),)*
                $(FileRole::$without => return None,)*
            }
        };
    }
    Some(take!(Model Diffusion UncondDiffusion Llm LlmVision ClipL ClipG T5xxl Vae Taesd Controlnet Photomaker; ClipVision Upscaler))
}

/// State of the parser.
#[derive(Default)]
struct Reader {
    recipe: Recipe,
    left_out: Vec<LeftOut>,
    prompt: Option<String>,
    files: ModelFiles,
    references: Vec<ImageSource>,
    /// The texts that are named; empty where they are not.
    placement: PlacementText,
    old: OldFlags,
    init: Option<PathBuf>,
    strength: Option<f32>,
    control: Option<PathBuf>,
    control_strength: Option<f32>,
    is_canny: bool,
    upscale_model: Option<PathBuf>,
    upscale_repeats: Option<u32>,
    upscale_tile_size: Option<u32>,
    relative_tile_size: Option<RelativeTileSize>,
    person_folder: Option<PathBuf>,
    id_embedding: Option<PathBuf>,
    style_strength: Option<f32>,
    lora_folder: Option<PathBuf>,
    tiny_previews_only: bool,
    skip_scale: Option<f32>,
    skipped: Option<Vec<u32>>,
    skip_start: Option<f32>,
    skip_end: Option<f32>,
    cache_mode: Option<CacheMode>,
    /// The step cache of the recipe before is switched off.
    is_cache_off: bool,
    cache_options: Option<BTreeMap<String, f32>>,
    cache_mask: Option<Vec<bool>>,
    is_mask_static: Option<bool>,
    hires: Option<HiresOptions>,
    embeddings_folder: Option<PathBuf>,
    without_metadata: bool,
}

/// A second pass, as far as a command names it.
#[derive(Default)]
struct HiresOptions {
    is_on: bool,
    scale: Option<f32>,
    steps: Option<u32>,
    strength: Option<f32>,
    upscaler: Option<String>,
    /// Folder of upscalers.
    folder: Option<PathBuf>,
    width: Option<u32>,
    height: Option<u32>,
    sigmas: Option<Vec<f32>>,
    tile_size: Option<u32>,
}

impl Reader {
    fn leave_out(&mut self, words: &[&str], reason: &str) {
        self.left_out.push(LeftOut { words: words.join(" "), reason: reason.to_owned() });
    }

    /// Leaves out the options that are named and do nothing without another one.
    fn leave_out_without(&mut self, other: &str, options: [(&str, bool); 3]) {
        for (name, _) in options.into_iter().filter(|(_, is_named)| *is_named) {
            self.leave_out(&[name], &tr!("core-without-it-has-no", other));
        }
    }

    fn set_placement(&mut self, text: &str, field: fn(&mut PlacementText) -> &mut String) -> Result<(), String> {
        let mut placement = self.placement.clone();
        text.trim().clone_into(field(&mut placement));
        check_shape(&placement).map_err(|error| error.to_string())?;
        set(&mut self.placement, placement)
    }

    /// Completes the recipe with the entries that depend on the whole command.
    fn finish(mut self) -> ParsedCommand {
        self.finish_placement();
        let names_model = self.files.main().is_some();
        if names_model {
            self.recipe.files = ModelFiles::default();
            self.recipe.negative_in_prompt = false;
        }
        for (role, path) in self.files.iter() {
            self.recipe.files.set(role, path);
        }
        self.take_loras(names_model);
        if !self.references.is_empty() {
            self.recipe.reference_images = std::mem::take(&mut self.references);
        }
        match (self.init.take(), &mut self.recipe.init) {
            (Some(path), init) => {
                let strength = self.strength.or(init.as_ref().map(|init| init.strength)).unwrap_or(InitImage::USUAL_STRENGTH);
                *init = Some(InitImage { image: ImageSource::File(path), strength });
                self.recipe.further_starts.clear();
            }
            (None, Some(init)) => init.strength = self.strength.unwrap_or(init.strength),
            (None, None) if self.strength.is_some() => self.leave_out(&["--strength"], tr!("core-there-is-no-start")),
            (None, None) => {}
        }
        self.finish_control();
        self.finish_person(names_model);
        self.finish_skip();
        self.finish_cache();
        self.finish_hires();
        self.finish_upscale();
        let both = self.files.get(FileRole::Vae).is_some() && self.files.get(FileRole::Taesd).is_some();
        if both && !self.tiny_previews_only {
            self.leave_out(&["--taesd"], tr!("core-beside-a-vae-the"));
        }
        ParsedCommand {
            recipe: self.recipe,
            person_folder: self.person_folder,
            embeddings_folder: self.embeddings_folder,
            relative_tile_size: self.relative_tile_size,
            without_metadata: self.without_metadata,
            left_out: self.left_out,
        }
    }

    fn finish_control(&mut self) {
        if let Some(path) = self.control.take() {
            self.recipe.set_control_picture(ImageSource::File(path));
        }
        let Some(control) = &mut self.recipe.control else {
            for (name, is_named) in [("--control-strength", self.control_strength.is_some()), ("--canny", self.is_canny)] {
                if is_named {
                    self.leave_out(&[name], tr!("core-there-is-no-control"));
                }
            }
            return;
        };
        control.strength = self.control_strength.unwrap_or(control.strength);
        if self.is_canny {
            control.preprocessor = Some(Preprocessor::Canny);
        }
    }

    /// Skip-layer guidance is there with a strength, or with the argument that makes it one of its
    /// own kind.
    fn finish_skip(&mut self) {
        let is_of_own_kind = self.recipe.sampler_arguments.contains("slg_uncond");
        let before = self.recipe.skip_layers.take();
        let scale = self.skip_scale.or(before.as_ref().map(|skip| skip.scale)).or(is_of_own_kind.then_some(0.0));
        let usual = before.unwrap_or_default();
        let Some(scale) = scale.filter(|scale| *scale != 0.0 || is_of_own_kind) else {
            let named = [
                ("--skip-layers", self.skipped.is_some()),
                ("--skip-layer-start", self.skip_start.is_some()),
                ("--skip-layer-end", self.skip_end.is_some()),
            ];
            self.leave_out_without("--slg-scale", named);
            return;
        };
        self.recipe.skip_layers = Some(SkipLayers {
            scale,
            layers: self.skipped.take().unwrap_or(usual.layers),
            start: self.skip_start.unwrap_or(usual.start),
            end: self.skip_end.unwrap_or(usual.end),
        });
    }

    fn finish_hires(&mut self) {
        let Some(HiresOptions { is_on, scale, steps, strength, upscaler, folder, width, height, sigmas, tile_size }) = self.hires.take()
        else {
            return;
        };
        if !is_on && self.recipe.hires.is_none() {
            self.leave_out(&["--hires-..."], tr!("core-without-hires-they-have"));
            return;
        }
        if upscaler.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("None")) {
            self.recipe.hires = None;
            return;
        }
        let before = self.recipe.hires.take();
        let latent = Some(LatentUpscaler::Linear);
        let usual = Hires { scale: Hires::SD_CLI_SCALE, strength: Hires::SD_CLI_STRENGTH, latent, ..Hires::default() };
        let usual = before.unwrap_or(usual);
        let (upscaler, latent) = match upscaler.as_deref() {
            None => (usual.upscaler, usual.latent),
            Some(name) => self.named_upscaler(name, folder.as_deref().filter(|folder| *folder != Path::new(HERE))),
        };
        // As sd-cli: one side is both.
        let target = width.or(height).zip(height.or(width));
        self.recipe.hires = Some(Hires {
            scale: scale.unwrap_or(usual.scale),
            // A factor takes the place of a size.
            target: target.or(usual.target.filter(|_| scale.is_none())),
            sigmas: sigmas.unwrap_or(usual.sigmas),
            upscaler,
            latent,
            strength: strength.unwrap_or(usual.strength),
            steps: steps.or(usual.steps),
            tile_size: tile_size.or(usual.tile_size),
            ..usual
        });
    }

    /// What is made of the finished picture.
    fn finish_upscale(&mut self) {
        let (repeats, tile_size) = (self.upscale_repeats, self.upscale_tile_size);
        if let Some(model) = self.upscale_model.take() {
            self.recipe.upscale = Some(Upscale::by(model));
        }
        match &mut self.recipe.upscale {
            Some(upscale) => {
                upscale.repeats = repeats.unwrap_or(upscale.repeats);
                upscale.tile_size = tile_size.or(upscale.tile_size);
            }
            None if repeats.is_some() || tile_size.is_some() => {
                self.leave_out(&["--upscale-..."], tr!("core-without-upscale-model-they"));
            }
            None => {}
        }
    }

    /// The upscaler of this name: of latents, or a file in the folder of upscalers; Lanczos is
    /// neither.
    fn named_upscaler(&mut self, name: &str, folder: Option<&Path>) -> (Option<PathBuf>, Option<LatentUpscaler>) {
        if let Ok(latent) = name.parse() {
            return (None, Some(latent));
        }
        let is_file = [".safetensors", ".gguf", ".pth", ".pt", ".ckpt"].iter().any(|ending| name.to_ascii_lowercase().ends_with(ending));
        if is_file || folder.is_some() {
            let name = if is_file { name.to_owned() } else { format!("{name}.safetensors") };
            if !is_file {
                self.leave_out(&["--hires-upscaler"], &tr!("core-the-file-is-taken-to-be", name));
            }
            return (Some(folder.unwrap_or(Path::new("")).join(name)), None);
        }
        if !name.eq_ignore_ascii_case("Lanczos") {
            self.leave_out(&["--hires-upscaler", name], tr!("core-the-second-pass-begins"));
        }
        (None, None)
    }

    fn finish_cache(&mut self) {
        match self.cache_mode.take() {
            Some(mode) => self.recipe.step_cache = Some(StepCache::of(mode)),
            None if self.is_cache_off || self.recipe.step_cache.is_none() => {
                self.recipe.step_cache = None;
                let named = [
                    ("--cache-option", self.cache_options.is_some()),
                    ("--scm-mask", self.cache_mask.is_some()),
                    ("--scm-policy", self.is_mask_static.is_some()),
                ];
                self.leave_out_without("--cache-mode", named);
            }
            None => {}
        }
        if let Some(cache) = &mut self.recipe.step_cache {
            cache.options = self.cache_options.take().unwrap_or_else(|| std::mem::take(&mut cache.options));
            cache.mask = self.cache_mask.take().unwrap_or_else(|| std::mem::take(&mut cache.mask));
            cache.is_mask_static = self.is_mask_static.unwrap_or(cache.is_mask_static);
        }
    }

    /// The pictures of another model's person are not kept.
    fn finish_person(&mut self, names_model: bool) {
        let person = &mut self.recipe.person;
        if names_model {
            *person = Person::default();
        }
        if self.person_folder.is_some() {
            (person.images, person.id_embedding) = (Vec::new(), None);
        }
        if let Some(path) = self.id_embedding.take() {
            person.id_embedding = Some(path);
        }
        if let Some(strength) = self.style_strength {
            person.style_strength = strength;
        }
    }

    /// Each text that is named replaces the recipe's. The old flags alone change the recipe's for
    /// the modules that they name.
    fn finish_placement(&mut self) {
        let named = &self.placement;
        let old = self.old.before(&PlacementText::default());
        let spec = |named: &str, old: &str, with_old: &str, before: &str| match (named.is_empty(), old.is_empty()) {
            (false, _) => with_old.to_owned(),
            (true, true) => before.to_owned(),
            // A later entry replaces an earlier one.
            (true, false) => [before.trim(), old].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(","),
        };
        let with_old = self.old.before(named);
        let placement = &mut self.recipe.placement;
        placement.backend = spec(&named.backend, &old.backend, &with_old.backend, &placement.backend);
        placement.params_backend = spec(&named.params_backend, &old.params_backend, &with_old.params_backend, &placement.params_backend);
        if !named.max_vram.is_empty() {
            placement.max_vram.clone_from(&named.max_vram);
        }
    }

    /// Reads the LoRAs: tags in the prompt, files in a folder.
    fn take_loras(&mut self, names_model: bool) {
        let words = self.prompt.clone().unwrap_or_default();
        let (prompt, tags) = take_loras_with_comments(&words);
        if self.prompt.is_some() {
            let words = Prompt::parse_chosen(&prompt);
            let joins = self.recipe.may_join_prompts() && words.joined() > 0;
            self.recipe.prompt = if joins { words.with_joins_as_words() } else { prompt };
            if joins {
                self.leave_out(&["AND"], tr!("core-sd-cli-reads-it-as"));
            }
        }
        if names_model || !tags.is_empty() {
            self.recipe.loras.clear();
        }
        let folder = self.lora_folder.take().filter(|folder| folder != Path::new(HERE)).unwrap_or_default();
        let steps = self.recipe.steps_in_pass(0);
        for tag in tags {
            let LoraTag { name, strengths, .. } = &tag;
            if name.starts_with('|') {
                self.leave_out(&[&format!("<lora:{name}:{strengths}>")], no_videos());
                continue;
            }
            let whole = ["safetensors", "gguf", "pt", "ckpt"].iter().any(|ending| name.ends_with(&format!(".{ending}")));
            if !whole {
                self.leave_out(&[&format!("<lora:{name}:{strengths}>")], &tr!("core-the-file-is-taken", name));
            }
            let path = folder.join(if whole { name.clone() } else { format!("{name}.safetensors") });
            tag.lora(path, steps).add_to(&mut self.recipe.loras);
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the signature of a value's action")]
fn set<T>(field: &mut T, value: T) -> Result<(), String> {
    *field = value;
    Ok(())
}

fn mode(text: &str) -> Result<(), String> {
    match text {
        "img_gen" => Ok(()),
        "vid_gen" => Err(no_videos().to_owned()),
        "convert" => Err(tr!("core-use-atelier-models-convert").to_owned()),
        "upscale" => Err(tr!("core-use-atelier-upscale").to_owned()),
        "metadata" => Err(tr!("core-use-atelier-inspect").to_owned()),
        _ => Err(tr!("core-write-img-gen").to_owned()),
    }
}
