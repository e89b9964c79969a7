//! From a command line to a recipe.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{CONTROL_STRENGTH, FILE_FLAGS, HERE, INIT_STRENGTH, LORA_APPLY_MODE, defaults, words};
use crate::placement::{OldFlags, check_shape};
use crate::recipe::{ControlImage, FileRole, ImageSource, InitImage, Lora, PlacementText, Recipe, take_loras};

/// A command line, understood.
#[derive(Clone, Debug, PartialEq)]
pub struct Pasted {
    /// What it makes.
    pub recipe: Recipe,
    /// What of it the recipe does not have, in the order of the command.
    pub left_out: Vec<LeftOut>,
}

/// A part of a command line that did not reach the recipe. Shown, it is a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The words, as they were written.
    pub words: String,
    /// Why, as the end of a sentence.
    pub why: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.words, self.why)
    }
}

/// Why nothing was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// A quotation mark has no partner.
    #[error("a quotation mark is never closed; copy the whole command, from its first word to its last")]
    Unclosed,
    /// There is no option in it.
    #[error("this is no command of sd-cli; paste one that has options, for example sd-cli -m model.safetensors -p \"a cat\"")]
    NoOptions,
}

/// Reads a command line of sd-cli. The files are named as the command names them.
pub fn read(line: &str) -> Result<Pasted, CommandError> {
    let words = words::split(line).ok_or(CommandError::Unclosed)?;
    if !words.iter().any(|word| is_option(word)) {
        return Err(CommandError::NoOptions);
    }
    let mut reader = Reader { recipe: defaults(), ..Reader::default() };
    let mut words = words.into_iter().skip_while(|word| is_program(word)).peekable();
    while let Some(word) = words.next() {
        // sd-cli wants a space, people and other tools write an equals sign.
        let split = word.split_once('=').filter(|(name, _)| name.starts_with("--"));
        let (name, inline) = split.map_or((word.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
        match action(name) {
            Some(Action::Take(take)) => match inline.or_else(|| words.next()) {
                Some(value) => {
                    if let Err(why) = take(&mut reader, &value) {
                        reader.leave(&[name, &value], &why);
                    }
                }
                None => reader.leave(&[name], "its value is missing"),
            },
            Some(Action::Set(set)) => set(&mut reader),
            Some(Action::SkipValue) => {
                let value = inline.or_else(|| words.next());
                reader.leave(&[Some(name), value.as_deref()].into_iter().flatten().collect::<Vec<_>>(), NO_SUCH_SETTING);
            }
            Some(Action::Skip) => reader.leave(&[name], NO_SUCH_SETTING),
            None if is_option(&word) => {
                // What follows an unknown option belongs to it, unless it is an option itself.
                let value = words.next_if(|next| !is_option(next));
                reader
                    .leave(&[Some(word.as_str()), value.as_deref()].into_iter().flatten().collect::<Vec<_>>(), "this option is not known");
            }
            None => reader.leave(&[&word], "it belongs to no option"),
        }
    }
    Ok(reader.finish())
}

const NO_SUCH_SETTING: &str = "Atelier has no such setting";

/// Numbers are values, also negative ones.
fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word.parse::<f64>().is_err()
}

/// What stands before the options: the program, by whatever path.
fn is_program(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
    ["$", "sd", "sd-cli", "atelier", "generate"].contains(&name.trim_end_matches(".exe"))
}

/// What an option does.
enum Action {
    /// Takes the next word, or says what is wrong with it.
    Take(fn(&mut Reader, &str) -> Result<(), String>),
    /// Stands alone.
    Set(fn(&mut Reader)),
    /// Takes the next word, and Atelier has nothing like it.
    SkipValue,
    /// Stands alone, and Atelier has nothing like it.
    Skip,
}

fn action(name: &str) -> Option<Action> {
    use Action::{Set, Skip, SkipValue, Take};
    Some(match name {
        "-p" | "--prompt" => Take(|it, text| keep(&mut it.recipe.prompt, text.to_owned())),
        "-n" | "--negative-prompt" => Take(|it, text| keep(&mut it.recipe.negative_prompt, text.to_owned())),
        "-W" | "--width" => Take(|it, text| keep(&mut it.recipe.width, above_zero(text)?)),
        "-H" | "--height" => Take(|it, text| keep(&mut it.recipe.height, above_zero(text)?)),
        "--steps" => Take(|it, text| keep(&mut it.recipe.steps, above_zero(text)?)),
        "--cfg-scale" => Take(|it, text| keep(&mut it.recipe.guidance, finite(text)?)),
        "--guidance" => Take(|it, text| keep(&mut it.recipe.distilled_guidance, finite(text)?)),
        "--sampling-method" => Take(|it, text| keep(&mut it.recipe.sampler, Some(named(text)?))),
        "--scheduler" => Take(|it, text| keep(&mut it.recipe.scheduler, Some(named(text)?))),
        "--eta" => Take(|it, text| keep(&mut it.recipe.eta, Some(finite(text)?))),
        "--flow-shift" => Take(|it, text| keep(&mut it.recipe.flow_shift, Some(finite(text)?))),
        "--clip-skip" => Take(|it, text| keep(&mut it.recipe.clip_skip, whole(text)?)),
        "-s" | "--seed" => Take(|it, text| keep(&mut it.recipe.seed, text.parse().map_err(|_| "write a whole number".to_owned())?)),
        "-b" | "--batch-count" => Take(|it, text| keep(&mut it.recipe.batch_count, above_zero(text)?)),
        "-t" | "--threads" => Take(|it, text| keep(&mut it.recipe.threads, whole(text)?)),
        "--vae-tiling" => Set(|it| it.recipe.vae_tiling = true),
        "--diffusion-fa" => Set(|it| it.recipe.flash_attention = true),
        "--fa" => Set(|it| {
            it.recipe.flash_attention = true;
            it.leave(&["--fa"], "Atelier uses flash attention in the diffusion module only");
        }),
        "-i" | "--init-img" => Take(|it, text| keep(&mut it.init, Some(text.into()))),
        "--strength" => Take(|it, text| keep(&mut it.strength, Some(finite(text)?))),
        "--mask" => Take(|it, text| keep(&mut it.recipe.mask, Some(ImageSource::File(text.into())))),
        "-r" | "--ref-image" => Take(|it, text| {
            it.recipe.reference_images.push(ImageSource::File(text.into()));
            Ok(())
        }),
        "--control-image" => Take(|it, text| keep(&mut it.control, Some(text.into()))),
        "--control-strength" => Take(|it, text| keep(&mut it.control_strength, Some(finite(text)?))),
        "--lora-model-dir" => Take(|it, text| keep(&mut it.lora_folder, Some(text.into()))),
        "--lora-apply-mode" => Take(|_, text| same(text, LORA_APPLY_MODE, "Atelier applies LoRAs while it runs")),
        "--taesd-preview-only" => Set(|it| it.tiny_previews_only = true),
        "-M" | "--mode" => Take(|_, text| same(text, "img_gen", "Atelier makes single pictures")),
        "--backend" => Take(|it, text| it.placed(text, |placement| &mut placement.backend)),
        "--params-backend" => Take(|it, text| it.placed(text, |placement| &mut placement.params_backend)),
        "--max-vram" => Take(|it, text| it.placed(text, |placement| &mut placement.max_vram)),
        "--stream-layers" => Set(|it| it.recipe.placement.stream_layers = true),
        "--clip-on-cpu" => Set(|it| it.old.clip_on_cpu = true),
        "--vae-on-cpu" => Set(|it| it.old.vae_on_cpu = true),
        "--control-net-cpu" => Set(|it| it.old.control_net_cpu = true),
        "--offload-to-cpu" => Set(|it| it.old.offload_to_cpu = true),
        "--rpc-servers" => Take(|_, _| Err("servers are no part of a recipe; give them to Atelier itself (--rpc-servers)".to_owned())),
        "--upscale-model" => Take(|_, _| Err("enlarge the finished picture in a step of its own".to_owned())),
        "-o" | "--output" | "--preview" | "--preview-path" | "--preview-interval" | "--output-begin-idx" => {
            Take(|_, _| Err("where pictures and previews go is not part of a recipe".to_owned()))
        }
        "-v"
        | "--verbose"
        | "--color"
        | "--canny"
        | "--convert-name"
        | "--preview-noisy"
        | "--mmap"
        | "--force-sdxl-vae-conv-scale"
        | "--diffusion-conv-direct"
        | "--vae-conv-direct"
        | "--circular"
        | "--circularx"
        | "--circulary"
        | "--chroma-disable-dit-mask"
        | "--chroma-enable-t5-mask"
        | "--qwen-image-zero-cond-t"
        | "--increase-ref-index"
        | "--disable-auto-resize-ref-image"
        | "--disable-image-metadata"
        | "--temporal-tiling"
        | "--hires" => Skip,
        "--high-noise-diffusion-model"
        | "--uncond-diffusion-model"
        | "--embeddings-connectors"
        | "--vae-format"
        | "--audio-vae"
        | "--embd-dir"
        | "--hires-upscalers-dir"
        | "--tensor-type-rules"
        | "--chroma-t5-mask-pad"
        | "--type"
        | "--rng"
        | "--sampler-rng"
        | "--prediction"
        | "--end-img"
        | "--control-video"
        | "--pm-id-images-dir"
        | "--pm-id-embed-path"
        | "--pm-style-strength"
        | "--hires-upscaler"
        | "--hires-width"
        | "--hires-height"
        | "--hires-steps"
        | "--hires-upscale-tile-size"
        | "--hires-scale"
        | "--hires-denoising-strength"
        | "--hires-sigmas"
        | "--extra-sample-args"
        | "--extra-tiling-args"
        | "--high-noise-steps"
        | "--video-frames"
        | "--fps"
        | "--timestep-shift"
        | "--upscale-repeats"
        | "--upscale-tile-size"
        | "--img-cfg-scale"
        | "--slg-scale"
        | "--skip-layer-start"
        | "--skip-layer-end"
        | "--skip-layers"
        | "--high-noise-cfg-scale"
        | "--high-noise-img-cfg-scale"
        | "--high-noise-guidance"
        | "--high-noise-slg-scale"
        | "--high-noise-skip-layer-start"
        | "--high-noise-skip-layer-end"
        | "--high-noise-skip-layers"
        | "--high-noise-eta"
        | "--high-noise-sampling-method"
        | "--moe-boundary"
        | "--vace-strength"
        | "--vae-tile-overlap"
        | "--vae-tile-size"
        | "--vae-relative-tile-size"
        | "--sigmas"
        | "--cache-mode"
        | "--cache-option"
        | "--cache-preset"
        | "--scm-mask"
        | "--scm-policy" => SkipValue,
        _ => return file_action(name),
    })
}

/// A function pointer cannot carry the role; there is one for each.
fn file_action(name: &str) -> Option<Action> {
    macro_rules! take {
        ($($role:ident)*) => {
            match FILE_FLAGS.iter().find(|(_, names)| names.contains(&name))?.0 {
                $(FileRole::$role => Action::Take(|it, text| { it.recipe.files.set(FileRole::$role, text); Ok(()) }),)*
                FileRole::Upscaler => return None,
            }
        };
    }
    Some(take!(Model Diffusion Llm LlmVision ClipL ClipG T5xxl ClipVision Vae Taesd Controlnet Photomaker))
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    recipe: Recipe,
    left_out: Vec<LeftOut>,
    old: OldFlags,
    init: Option<PathBuf>,
    strength: Option<f32>,
    control: Option<PathBuf>,
    control_strength: Option<f32>,
    lora_folder: Option<PathBuf>,
    tiny_previews_only: bool,
}

impl Reader {
    fn leave(&mut self, words: &[&str], why: &str) {
        self.left_out.push(LeftOut { words: words.join(" "), why: why.to_owned() });
    }

    fn placed(&mut self, text: &str, field: fn(&mut PlacementText) -> &mut String) -> Result<(), String> {
        let mut placement = self.recipe.placement.clone();
        text.trim().clone_into(field(&mut placement));
        check_shape(&placement).map_err(|error| error.to_string())?;
        keep(&mut self.recipe.placement, placement)
    }

    /// What only the whole command says.
    fn finish(mut self) -> Pasted {
        self.recipe.placement = self.old.before(&self.recipe.placement);
        self.take_loras();
        match (self.init.take(), self.strength) {
            (Some(path), strength) => {
                let strength = strength.unwrap_or(INIT_STRENGTH);
                self.recipe.init = Some(InitImage { image: ImageSource::File(path), strength });
            }
            (None, Some(_)) => self.leave(&["--strength"], "there is no picture to start from"),
            (None, None) => {}
        }
        match (self.control.take(), self.control_strength) {
            (Some(path), strength) => {
                let strength = strength.unwrap_or(CONTROL_STRENGTH);
                self.recipe.control = Some(ControlImage { image: ImageSource::File(path), strength });
            }
            (None, Some(_)) => self.leave(&["--control-strength"], "there is no picture for the ControlNet"),
            (None, None) => {}
        }
        let both = self.recipe.files.get(FileRole::Vae).is_some() && self.recipe.files.get(FileRole::Taesd).is_some();
        if both && !self.tiny_previews_only {
            self.leave(&["--taesd"], "beside a VAE the tiny autoencoder only draws previews in Atelier");
        }
        Pasted { recipe: self.recipe, left_out: self.left_out }
    }

    /// LoRAs are tags in the prompt and files in a folder.
    fn take_loras(&mut self) {
        let (prompt, tags) = take_loras(&self.recipe.prompt);
        self.recipe.prompt = prompt;
        let folder = self.lora_folder.take().filter(|folder| folder != Path::new(HERE)).unwrap_or_default();
        for (name, strength) in tags {
            if name.starts_with('|') {
                self.leave(&[&format!("<lora:{name}:{strength}>")], NO_SUCH_SETTING);
                continue;
            }
            let whole = ["safetensors", "gguf", "pt", "ckpt"].iter().any(|ending| name.ends_with(&format!(".{ending}")));
            if !whole {
                self.leave(&[&format!("<lora:{name}:{strength}>")], &format!("the file is taken to be {name}.safetensors"));
            }
            let path = folder.join(if whole { name } else { format!("{name}.safetensors") });
            // A LoRA named twice counts with both strengths.
            match self.recipe.loras.iter_mut().find(|lora| lora.path == path) {
                Some(lora) => lora.strength += strength,
                None => self.recipe.loras.push(Lora { path, strength }),
            }
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what takes a word says whether it could")]
fn keep<T>(field: &mut T, value: T) -> Result<(), String> {
    *field = value;
    Ok(())
}

fn same(text: &str, ours: &str, otherwise: &str) -> Result<(), String> {
    if text == ours { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn above_zero(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "write a whole number above 0".to_owned())
}

/// 0 or less is the default.
fn whole(text: &str) -> Result<Option<u32>, String> {
    let number: i64 = text.parse().map_err(|_| "write a whole number".to_owned())?;
    if number <= 0 { Ok(None) } else { u32::try_from(number).map(Some).map_err(|_| "write a smaller number".to_owned()) }
}

fn finite(text: &str) -> Result<f32, String> {
    text.parse().ok().filter(|number: &f32| number.is_finite()).ok_or_else(|| "write a number".to_owned())
}

fn named<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}
