//! A recipe: everything needed to make a picture again.
//!
//! Plain data. Nothing here reads a file or knows the engine; what is written to disk has its own types (`gallery`, `settings`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

mod lora_tags;

pub use lora_tags::take_loras;

/// Everything needed to make a picture again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recipe {
    /// The files of the model, by role.
    pub files: ModelFiles,
    /// What the picture should show.
    pub prompt: String,
    /// What it should not show; without effect where `guidance` is 1.
    pub negative_prompt: String,
    /// Width in pixels, before it is snapped to what the model can make.
    pub width: u32,
    /// Height in pixels, before it is snapped to what the model can make.
    pub height: u32,
    /// Denoising steps.
    pub steps: u32,
    /// Classifier-free guidance (cfg); 1 switches it off and halves the work.
    pub guidance: f32,
    /// Guidance that distilled models (Flux dev) take as an input.
    pub distilled_guidance: f32,
    /// Sampler; `None` is the model's own default.
    pub sampler: Option<Sampler>,
    /// Scheduler; `None` is the model's own default.
    pub scheduler: Option<Scheduler>,
    /// Noise added back at each step by ancestral samplers; `None` is the sampler's default.
    pub eta: Option<f32>,
    /// Timestep shift of flow models; `None` is the model's default.
    pub flow_shift: Option<f32>,
    /// CLIP layers left out from the end; `None` is the model's default.
    pub clip_skip: Option<u32>,
    /// Seed of the first picture; the next ones take the following numbers. Negative: drawn at random.
    pub seed: i64,
    /// Number of pictures, at least 1.
    pub batch_count: u32,
    /// Decode in tiles: less memory, a little slower.
    pub vae_tiling: bool,
    /// Flash attention in the diffusion module: less memory, often faster.
    pub flash_attention: bool,
    /// Picture to start from (img2img).
    pub init: Option<InitImage>,
    /// Mask over the init image: white is painted anew, black is kept.
    pub mask: Option<ImageSource>,
    /// Pictures that edit models look at.
    pub reference_images: Vec<ImageSource>,
    /// Picture for the ControlNet.
    pub control: Option<ControlImage>,
    /// Low-rank adapters.
    pub loras: Vec<Lora>,
    /// Where each module runs and where its weights live.
    pub placement: PlacementText,
    /// CPU threads; `None`: every core, or all but one where there are more than four.
    pub threads: Option<u32>,
}

impl Recipe {
    /// Whether both are made with the same model, opened in the same way: what one of them loaded serves the other.
    #[must_use]
    pub fn opens_like(&self, other: &Self) -> bool {
        self.files == other.files
            && self.placement == other.placement
            && self.flash_attention == other.flash_attention
            && self.threads == other.threads
    }
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            files: ModelFiles::default(),
            prompt: String::new(),
            negative_prompt: String::new(),
            width: 512,
            height: 512,
            steps: 20,
            guidance: 7.0,
            distilled_guidance: 3.5,
            sampler: None,
            scheduler: None,
            eta: None,
            flow_shift: None,
            clip_skip: None,
            seed: -1,
            batch_count: 1,
            vae_tiling: false,
            flash_attention: true,
            init: None,
            mask: None,
            reference_images: Vec::new(),
            control: None,
            loras: Vec::new(),
            placement: PlacementText::default(),
            threads: None,
        }
    }
}

/// One picture of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureInfo {
    /// Which picture of the batch, from 0.
    pub index: u32,
    /// Its seed.
    pub seed: i64,
}

/// What a file is for in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// A whole model in one file: diffusion, text encoder and VAE.
    Model,
    /// The diffusion module alone.
    Diffusion,
    /// A language model used as text encoder (Qwen3, Mistral, ...).
    Llm,
    /// The vision half of such a language model (mmproj).
    LlmVision,
    /// CLIP-L text encoder.
    ClipL,
    /// CLIP-G text encoder.
    ClipG,
    /// T5-XXL text encoder.
    T5xxl,
    /// CLIP vision encoder.
    ClipVision,
    /// Variational autoencoder.
    Vae,
    /// Tiny autoencoder: previews, or a fast stand-in for the VAE.
    Taesd,
    /// ControlNet.
    Controlnet,
    /// `PhotoMaker` identity encoder.
    Photomaker,
    /// ESRGAN upscaler.
    Upscaler,
}

impl FileRole {
    /// Every role, in the order in which a person fills them in.
    pub const ALL: [Self; 13] = [
        Self::Model,
        Self::Diffusion,
        Self::Llm,
        Self::LlmVision,
        Self::ClipL,
        Self::ClipG,
        Self::T5xxl,
        Self::ClipVision,
        Self::Vae,
        Self::Taesd,
        Self::Controlnet,
        Self::Photomaker,
        Self::Upscaler,
    ];

    /// The name used in stored files; also sd-cli's flag without its dashes where it has one.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Diffusion => "diffusion",
            Self::Llm => "llm",
            Self::LlmVision => "llm_vision",
            Self::ClipL => "clip_l",
            Self::ClipG => "clip_g",
            Self::T5xxl => "t5xxl",
            Self::ClipVision => "clip_vision",
            Self::Vae => "vae",
            Self::Taesd => "taesd",
            Self::Controlnet => "controlnet",
            Self::Photomaker => "photomaker",
            Self::Upscaler => "upscaler",
        }
    }

    /// The name shown to a person.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Model => "Full model",
            Self::Diffusion => "Diffusion",
            Self::Llm => "Text encoder (LLM)",
            Self::LlmVision => "LLM vision",
            Self::ClipL => "Text encoder (CLIP-L)",
            Self::ClipG => "Text encoder (CLIP-G)",
            Self::T5xxl => "Text encoder (T5-XXL)",
            Self::ClipVision => "CLIP vision",
            Self::Vae => "VAE",
            Self::Taesd => "Tiny autoencoder",
            Self::Controlnet => "ControlNet",
            Self::Photomaker => "PhotoMaker",
            Self::Upscaler => "Upscaler",
        }
    }

    /// The role with this [`key`](Self::key).
    #[must_use]
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.key() == key)
    }
}

/// The files of a model, one for each role it has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelFiles(BTreeMap<FileRole, PathBuf>);

impl ModelFiles {
    /// The file in this role.
    #[must_use]
    pub fn get(&self, role: FileRole) -> Option<&Path> {
        self.0.get(&role).map(PathBuf::as_path)
    }

    /// Puts a file in this role, replacing the one there.
    pub fn set(&mut self, role: FileRole, path: impl Into<PathBuf>) {
        self.0.insert(role, path.into());
    }

    /// Empties this role.
    pub fn remove(&mut self, role: FileRole) {
        self.0.remove(&role);
    }

    /// The roles that have a file, with the file.
    pub fn iter(&self) -> impl Iterator<Item = (FileRole, &Path)> {
        self.0.iter().map(|(role, path)| (*role, path.as_path()))
    }

    /// True where no role has a file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(FileRole, PathBuf)> for ModelFiles {
    fn from_iter<T: IntoIterator<Item = (FileRole, PathBuf)>>(files: T) -> Self {
        Self(files.into_iter().collect())
    }
}

/// A picture to start from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InitImage {
    /// The picture; resized to the recipe's size where it differs.
    pub image: ImageSource,
    /// How much is painted anew: 0 keeps the picture, 1 ignores it.
    pub strength: f32,
}

/// A picture for the ControlNet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlImage {
    /// The picture; resized to the recipe's size where it differs.
    pub image: ImageSource,
    /// How strongly it steers, 0 to 1.
    pub strength: f32,
}

/// A low-rank adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lora {
    /// The adapter's file.
    pub path: PathBuf,
    /// Its strength; 1 is what it was trained for.
    pub strength: f32,
}

/// Where a picture comes from. The engine's thread reads it, so that nothing else waits for the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageSource {
    /// A PNG, JPEG or WebP file.
    File(PathBuf),
    /// Pixels already in memory.
    Pixels(Rgb8),
}

/// Eight-bit RGB pixels in rows from the top, without padding.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawRgb8", into = "RawRgb8")]
pub struct Rgb8 {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Rgb8 {
    /// Takes `width * height * 3` bytes; `None` where the number of bytes is another.
    #[must_use]
    pub fn new(width: u32, height: u32, pixels: Vec<u8>) -> Option<Self> {
        (u64::from(width) * u64::from(height) * 3 == pixels.len() as u64).then_some(Self { width, height, pixels })
    }

    /// Width in pixels.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// The bytes: `width * height * 3`.
    #[must_use]
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }
}

impl fmt::Debug for Rgb8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rgb8({}x{})", self.width, self.height)
    }
}

#[derive(Serialize, Deserialize)]
struct RawRgb8 {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl TryFrom<RawRgb8> for Rgb8 {
    type Error = String;

    fn try_from(raw: RawRgb8) -> Result<Self, Self::Error> {
        let (width, height) = (raw.width, raw.height);
        Self::new(width, height, raw.pixels).ok_or_else(|| format!("a picture of {width}x{height} has another number of bytes"))
    }
}

impl From<Rgb8> for RawRgb8 {
    fn from(image: Rgb8) -> Self {
        Self { width: image.width, height: image.height, pixels: image.pixels }
    }
}

/// Where modules run and their weights live, in sd-cli's text form (`placement` reads it).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct PlacementText {
    /// `--backend`: `all=cuda0,te=cpu`. Empty: GPU, then integrated GPU, then CPU.
    pub backend: String,
    /// `--params-backend`: `diffusion=cpu,te=disk`. Empty: where the module runs.
    pub params_backend: String,
    /// `--max-vram`, GiB: `6`. Empty: no budget.
    pub max_vram: String,
    /// `--stream-layers`: keep what fits and stream the rest; needs a budget and weights on the CPU.
    pub stream_layers: bool,
    /// `--split-batch`: `cuda0,cuda1`. Devices that share the pictures of a batch; sd-cli has no such flag. Empty: one makes all.
    pub split_batch: String,
}

macro_rules! named_by_engine {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $key:literal, $label:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $key)] $variant,)*
        }

        impl $name {
            /// All of them, in the engine's order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The engine's name, which is also sd-cli's.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self { $(Self::$variant => $key,)* }
            }

            /// The name shown to a person, which is also the one A1111 writes into pictures.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label,)* }
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;

            /// Takes the engine's name or the shown one, in any case.
            fn from_str(name: &str) -> Result<Self, UnknownName> {
                Self::ALL.iter().copied()
                    .find(|it| it.key().eq_ignore_ascii_case(name) || it.label().eq_ignore_ascii_case(name))
                    .ok_or_else(|| UnknownName {
                        name: name.to_owned(),
                        known: Self::ALL.iter().map(|it| it.key()).collect::<Vec<_>>().join(", "),
                    })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.key())
            }
        }
    };
}

/// A sampler or scheduler that the engine does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no \"{name}\"; choose one of {known}")]
pub struct UnknownName {
    name: String,
    known: String,
}

named_by_engine! {
    /// How the noise is taken away.
    Sampler {
        /// Euler.
        Euler = "euler", "Euler";
        /// Euler, ancestral.
        EulerA = "euler_a", "Euler a";
        /// Heun.
        Heun = "heun", "Heun";
        /// DPM2.
        Dpm2 = "dpm2", "DPM2";
        /// DPM++ 2S, ancestral.
        Dpmpp2sA = "dpm++2s_a", "DPM++ 2S a";
        /// DPM++ 2M.
        Dpmpp2m = "dpm++2m", "DPM++ 2M";
        /// DPM++ 2M, second version.
        Dpmpp2mV2 = "dpm++2mv2", "DPM++ 2M v2";
        /// iPNDM.
        Ipndm = "ipndm", "iPNDM";
        /// iPNDM with variable steps.
        IpndmV = "ipndm_v", "iPNDM v";
        /// Latent consistency.
        Lcm = "lcm", "LCM";
        /// DDIM with trailing timesteps.
        DdimTrailing = "ddim_trailing", "DDIM";
        /// Trajectory consistency.
        Tcd = "tcd", "TCD";
        /// RES, multistep.
        ResMultistep = "res_multistep", "RES multistep";
        /// RES, second order.
        Res2s = "res_2s", "RES 2s";
        /// ER-SDE.
        ErSde = "er_sde", "ER-SDE";
        /// Euler CFG++.
        EulerCfgPp = "euler_cfg_pp", "Euler CFG++";
        /// Euler CFG++, ancestral.
        EulerACfgPp = "euler_a_cfg_pp", "Euler a CFG++";
        /// Euler GE.
        EulerGe = "euler_ge", "Euler GE";
    }
}

named_by_engine! {
    /// How noise levels are spread over the steps.
    Scheduler {
        /// The model's own training steps.
        Discrete = "discrete", "Normal";
        /// Karras.
        Karras = "karras", "Karras";
        /// Exponential.
        Exponential = "exponential", "Exponential";
        /// Align your steps.
        Ays = "ays", "Align Your Steps";
        /// GITS.
        Gits = "gits", "GITS";
        /// Uniform, as Stability's generative models do it.
        SgmUniform = "sgm_uniform", "SGM Uniform";
        /// Simple.
        Simple = "simple", "Simple";
        /// Smooth step.
        Smoothstep = "smoothstep", "Smoothstep";
        /// KL optimal.
        KlOptimal = "kl_optimal", "KL Optimal";
        /// Latent consistency.
        Lcm = "lcm", "LCM";
        /// Bong tangent.
        BongTangent = "bong_tangent", "Bong Tangent";
        /// LTX-2.
        Ltx2 = "ltx2", "LTX2";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_the_engine_or_a_person_writes_them() {
        assert_eq!("DPM++2M".parse(), Ok(Sampler::Dpmpp2m));
        assert_eq!("euler a".parse(), Ok(Sampler::EulerA));
        assert_eq!("Karras".parse(), Ok(Scheduler::Karras));
        let error = "eular".parse::<Sampler>().unwrap_err().to_string();
        assert!(error.contains("eular") && error.contains("euler_a"), "{error}");
    }

    #[test]
    fn a_picture_with_the_wrong_number_of_bytes_is_refused() {
        assert!(Rgb8::new(2, 2, vec![0; 11]).is_none());
        let text = r#"{"width":2,"height":2,"pixels":[1,2,3]}"#;
        assert!(serde_json::from_str::<Rgb8>(text).is_err());
    }

    #[test]
    fn a_recipe_survives_json() {
        let mut recipe = Recipe { prompt: "a lake, \"quoted\"\nand a line".into(), sampler: Some(Sampler::Dpmpp2sA), ..Recipe::default() };
        recipe.files.set(FileRole::Llm, "/models/qwen.gguf");
        recipe.mask = Rgb8::new(1, 1, vec![1, 2, 3]).map(ImageSource::Pixels);
        let text = serde_json::to_string(&recipe).unwrap();
        assert!(text.contains("\"dpm++2s_a\"") && text.contains("\"llm\""), "{text}");
        assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe);
    }

    #[test]
    fn every_role_is_found_by_its_key() {
        for role in FileRole::ALL {
            assert_eq!(FileRole::from_key(role.key()), Some(role));
            assert_eq!(serde_json::to_value(role).unwrap(), role.key());
        }
    }
}
