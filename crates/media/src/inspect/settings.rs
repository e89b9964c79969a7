//! What a picture file says of how it was made, in the same terms for every program.

use std::path::PathBuf;

use atelier_core::cpu_math::CpuMath;
use atelier_core::recipe::{ControlImage, GuidanceRange, Lora, LoraStrengths, Rng, Seed, SeedBlend, SkipLayers, StepCache, TileSize};
use atelier_language::tr;

use crate::StoredRecipe;

/// LoRAs of a picture that are read.
pub(super) const MAX_LORAS: usize = 64;

/// Program that wrote a picture's metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    Atelier,
    /// A1111 or a program that writes its form: Forge, sd-cli, Krita AI diffusion.
    A1111,
    ComfyUi,
    InvokeAi,
    Fooocus,
    SwarmUi,
    NovelAi,
    DrawThings,
    EasyDiffusion,
}

impl Tool {
    pub const ALL: [Self; 9] = [
        Self::Atelier,
        Self::A1111,
        Self::ComfyUi,
        Self::InvokeAi,
        Self::Fooocus,
        Self::SwarmUi,
        Self::NovelAi,
        Self::DrawThings,
        Self::EasyDiffusion,
    ];

    /// The name shown to a person.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Atelier => "Atelier",
            Self::A1111 => "A1111 or Forge",
            Self::ComfyUi => "ComfyUI",
            Self::InvokeAi => "InvokeAI",
            Self::Fooocus => "Fooocus",
            Self::SwarmUi => "SwarmUI",
            Self::NovelAi => "NovelAI",
            Self::DrawThings => "Draw Things",
            Self::EasyDiffusion => "Easy Diffusion",
        }
    }

    /// The name in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Atelier => "atelier",
            Self::A1111 => "a1111",
            Self::ComfyUi => "comfyui",
            Self::InvokeAi => "invokeai",
            Self::Fooocus => "fooocus",
            Self::SwarmUi => "swarmui",
            Self::NovelAi => "novelai",
            Self::DrawThings => "draw_things",
            Self::EasyDiffusion => "easy_diffusion",
        }
    }
}

/// What a picture file says of how it was made. A field that the file does not tell is empty, never
/// guessed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PictureSettings {
    /// The program; `None` where the file has no settings.
    pub tool: Option<Tool>,
    /// Width of the picture in pixels.
    pub width: u32,
    /// Height of the picture in pixels.
    pub height: u32,
    /// Width and height in pixels that were asked for; an upscaled picture has others.
    pub size: Option<(u32, u32)>,
    /// The prompt, without `<lora:...>`.
    pub prompt: Option<String>,
    pub negative_prompt: Option<String>,
    /// The program reads `AND` in a prompt as a word, although others that write this form join
    /// prompts by it.
    pub and_is_word: bool,
    /// The program reads round brackets that are closed, and no others: square ones are letters there,
    /// and `BREAK` is a word.
    pub only_round_brackets: bool,
    /// The seed.
    pub seed: Option<Seed>,
    /// The seed of what was chosen in the prompts, where it is another one.
    pub words_seed: Option<Seed>,
    /// Another seed whose noise is blended in.
    pub seed_blend: Option<SeedBlend>,
    pub steps: Option<u32>,
    /// Classifier-free guidance.
    pub guidance: Option<f32>,
    /// Another guidance in parts of the steps.
    pub guidance_ranges: Option<Vec<GuidanceRange>>,
    /// Guidance that distilled models take as an input.
    pub distilled_guidance: Option<f32>,
    /// Guidance by the start picture.
    pub image_guidance: Option<f32>,
    /// Skip-layer guidance.
    pub skip_layers: Option<SkipLayers>,
    /// Noise levels of the steps, in place of a scheduler.
    pub sigmas: Option<Vec<f32>>,
    /// Further arguments of the sampling, as sd-cli has them.
    pub sampler_arguments: Option<String>,
    /// Whether opposite edges continue each other: left and right, top and bottom.
    pub seamless: Option<[bool; 2]>,
    /// Timestep shift of flow models.
    pub flow_shift: Option<f32>,
    /// Timestep shift of distilled SDXL models.
    pub timestep_shift: Option<u32>,
    /// Parts of steps that were reused.
    pub step_cache: Option<StepCache>,
    /// Tiles in which it was decoded.
    pub tiles: Option<PictureTiles>,
    /// Noise added back at each step by ancestral samplers.
    pub eta: Option<f32>,
    /// CLIP layers left out from the end, counted as A1111 does.
    pub clip_skip: Option<u32>,
    /// The second pass, where it was upscaled.
    pub hires: Option<PictureHires>,
    /// What upscaled the finished picture, in the program's words.
    pub upscaler: Option<String>,
    /// What controlled the composition.
    pub control: Option<PictureControl>,
    /// Denoising strength, where it was made from another picture.
    pub strength: Option<f32>,
    /// Generator of the noise; `None` where the program has another one, or the file does not tell.
    pub rng: Option<Rng>,
    /// Generator of the noise that the sampler adds, where that is another one.
    pub sampler_rng: Option<Rng>,
    /// How the processor computed it.
    pub cpu_math: Option<CpuMath>,
    /// Sampler, in the program's words.
    pub sampler: Option<String>,
    /// Scheduler, in the program's words.
    pub scheduler: Option<String>,
    pub model: Option<PictureModel>,
    /// The VAE, where it is not the model's own.
    pub vae: Option<PictureModel>,
    /// LoRAs, in order.
    pub loras: Vec<PictureLora>,
    /// The recipe, where Atelier made the picture.
    pub recipe: Option<StoredRecipe>,
    /// The texts as they stand in the file, by key.
    pub raw_texts: Vec<(String, String)>,
    /// Fields that the file has and Atelier does not understand, by name and value.
    pub not_understood: Vec<(String, String)>,
}

impl PictureSettings {
    /// Takes over from `other` what is not told here.
    pub(super) fn fill(&mut self, other: Self) {
        macro_rules! fill {
            ($($field:ident),*) => { $(if self.$field.is_none() { self.$field = other.$field; })* };
        }
        fill!(size, prompt, negative_prompt, seed, steps, guidance, distilled_guidance, flow_shift, eta, clip_skip);
        fill!(image_guidance, seamless, hires, control, strength, rng, sampler, scheduler, model, vae);
        fill!(words_seed, seed_blend, guidance_ranges, skip_layers, sigmas, sampler_arguments, upscaler, sampler_rng, cpu_math);
        fill!(timestep_shift, step_cache, tiles);
        if self.loras.is_empty() {
            self.loras = other.loras;
        }
    }
}

/// A second pass at a larger size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PictureHires {
    /// Factor of width and height.
    pub scale: f32,
    /// Width and height in pixels, where they are in another shape than the first pass.
    pub size: Option<(u32, u32)>,
    pub strength: Option<f32>,
    /// Steps of the second pass, where they differ from the picture's.
    pub steps: Option<u32>,
    /// Noise levels of the second pass, where they are its own.
    pub sigmas: Vec<f32>,
    /// What upscaled, in the program's words.
    pub upscaler: Option<String>,
}

/// Tiles in which a picture was decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PictureTiles {
    /// Sides in values of the latent, where they are not the usual ones.
    pub size: Option<TileSize>,
    /// Part of a tile that its neighbour covers too, where it is not the usual one.
    pub overlap: Option<f32>,
}

/// A picture that controlled the composition, which is not in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PictureControl {
    /// The ControlNet, in the program's words.
    pub model: Option<String>,
    /// What was made of the picture first, in the program's words.
    pub preprocessor: Option<String>,
    pub strength: Option<f32>,
    /// Part of the steps after which it began.
    pub start: Option<f32>,
    /// Part of the steps after which it ended.
    pub end: Option<f32>,
}

/// A model by name or hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PictureModel {
    /// Its name, as the program writes it: often a file name without ending.
    pub name: Option<String>,
    /// Its hash in hexadecimal, whole or shortened, as the program writes it.
    pub hash: Option<String>,
}

impl PictureModel {
    /// `None` without a name and a hash.
    pub(super) fn of(name: Option<String>, hash: Option<String>) -> Option<Self> {
        (name.is_some() || hash.is_some()).then_some(Self { name, hash })
    }
}

/// A LoRA by name or hash, with its strength.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureLora {
    /// Its name, as the program writes it.
    pub name: String,
    /// Its hash in hexadecimal, whole or shortened.
    pub hash: Option<String>,
    /// Its strength; 1 where the program does not say.
    pub strength: f32,
    /// Its strength in text encoders, where that is another one.
    pub encoder_strength: Option<f32>,
    /// Part of the steps after which it begins, 0 to 1.
    pub start: f32,
    /// Part of the steps after which it ends, 0 to 1.
    pub end: f32,
}

impl PictureLora {
    /// With the same strength in all modules.
    #[must_use]
    pub const fn new(name: String, hash: Option<String>, strength: f32) -> Self {
        Self { name, hash, strength, encoder_strength: None, start: 0.0, end: ControlImage::USUAL_END }
    }

    /// The LoRA of this file.
    #[must_use]
    pub const fn lora(&self, path: PathBuf) -> Lora {
        let Self { strength, encoder_strength, start, end, .. } = *self;
        Lora { path, strength, encoder_strength, start, end }
    }

    /// Its name, its strengths and its range, for people.
    #[must_use]
    pub fn words(&self) -> String {
        let lora = format!("{} {}", self.name, self.strengths());
        match self.range() {
            Some((start, end)) => tr!("media-from-to-of-the", lora, start, end),
            None => lora,
        }
    }

    /// The parts of the steps after which it begins and ends, where there may be steps in which it
    /// does not act.
    #[must_use]
    pub fn range(&self) -> Option<(f32, f32)> {
        self.lora(PathBuf::new()).has_range().then_some((self.start, self.end))
    }

    /// Its strengths.
    #[must_use]
    pub const fn strengths(&self) -> LoraStrengths {
        LoraStrengths { strength: self.strength, encoder: self.encoder_strength }
    }
}
