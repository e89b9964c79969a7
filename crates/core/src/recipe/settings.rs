//! The settings of a picture: one row each.
//!
//! A row is what everything else derives from: the field and its type, its usual value, the range
//! that a picture is made with, its name, its help, the part of the settings that it belongs to,
//! and what it affects. A field's own name is its key in files: it never changes.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use atelier_language::{text, tr};
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::form::FileForm;
use super::sampling::{GUIDANCE, STEPS};
use super::setting::{MAX_PROMPT_CHARS, MAX_SIGMAS, Reader, Setting};
use super::{
    ControlImage, EarlierSteps, GuidanceRange, Hires, ImageSource, InitImage, Lora, LoraMode, ModelFiles, Part, Person, PlacementText,
    PredictionType, RequiredFile, Rng, Sampler, Scheduler, Seed, SeedBlend, SkipLayers, StepCache, TensorType, TensorTypeRules, TileSize,
    Upscale, VaeFormat,
};
use crate::canvas::{AreaSettings, Borders, StartFit};

/// Sides of a picture in pixels; a model snaps them to a multiple of its own.
const SIDES: RangeInclusive<u32> = 64..=16_384;
/// Characters of a list of arguments; sd-cli knows about ten.
const MAX_ARGUMENT_CHARS: usize = 1000;

/// What a setting affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affects {
    /// The latents of the steps of a whole picture.
    Steps,
    /// The memory that a picture takes.
    Memory,
    /// How a model is opened: recipes that agree in these share a context.
    Opening,
}

/// A row of the settings.
#[derive(Clone, Debug)]
pub struct Row<L> {
    /// Values with which a picture is made; what is beyond them is brought to the nearest one.
    pub limits: L,
    help: &'static str,
}

impl<L> Row<L> {
    /// Its effect, in a line without a full stop.
    #[must_use]
    pub fn help(&self) -> &'static str {
        self.help.trim().trim_end_matches('.')
    }
}

macro_rules! limits {
    () => {
        ()
    };
    ($limits:expr) => {
        $limits
    };
}

/// The name of a field for people, in the language in use.
macro_rules! name_of {
    ($field:ident) => {
        text(concat!("core-setting-", stringify!($field)))
    };
}

macro_rules! is_rare {
    () => {
        false
    };
    (rare) => {
        true
    };
}

/// A row: `field: type = usual value, in limits, name, part, what it affects`. A `rare` one is left
/// out of files where it has its usual value.
macro_rules! settings {
    ($($(#[doc = $help:literal])+ $field:ident: $type:ty = $usual:expr, $(in $limits:expr,)? $name:literal, $part:ident, [$($affects:ident)*] $(, $rare:ident)?;)*) => {
        /// Everything needed to make a picture again.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Recipe {
            $($(#[doc = $help])+ #[serde(serialize_with = "write_field", deserialize_with = "read_field")] pub $field: $type,)*
        }

        impl Default for Recipe {
            fn default() -> Self {
                Self { $($field: $usual,)* }
            }
        }

        impl Recipe {
            /// Brings every setting into its own limits. Returns a sentence on each that was changed.
            pub(super) fn clamp_rows(&mut self) -> Vec<String> {
                let mut notes = Vec::new();
                $(Setting::limit(&mut self.$field, name_of!($field), &ROWS.$field.limits, &$usual, &mut notes);)*
                notes
            }

            /// The settings that affect this; all others have their usual value. Equal results have
            /// the same effect.
            #[must_use]
            pub fn only(&self, effect: Affects) -> Self {
                Self { $($field: if [$(Affects::$affects),*].contains(&effect) { self.$field.clone() } else { $usual },)* }
            }

            /// Takes one setting over from another recipe, by its key in files; false where none is
            /// called so.
            pub fn take_setting(&mut self, key: &str, from: &Self) -> bool {
                match key {
                    $(stringify!($field) => self.$field.clone_from(&from.$field),)*
                    _ => return false,
                }
                true
            }

            /// A setting as files have it, by its key; `None` where none is called so.
            #[must_use]
            pub fn setting_value(&self, key: &str) -> Option<Value> {
                match key {
                    $(stringify!($field) => self.$field.write_field(serde_json::value::Serializer).ok(),)*
                    _ => None,
                }
            }

            /// Takes these parts over from another recipe.
            pub fn take_parts(&mut self, from: &Self, parts: &[Part]) {
                $(if parts.contains(&Part::$part) {
                    self.$field.clone_from(&from.$field);
                })*
            }
        }

        /// The rows of the settings.
        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "the fields of `Recipe`")]
        pub struct Rows {
            $(pub $field: Row<<$type as Setting>::Limits>,)*
        }

        /// The rows of the settings.
        pub const ROWS: Rows = Rows {
            $($field: Row { limits: limits!($($limits)?), help: concat!($($help),+) },)*
        };

        /// Key and English name of each setting, in the order of the rows.
        pub const SETTING_NAMES: &[(&str, &str)] = &[$((stringify!($field), $name)),*];

        /// Names of the settings in which the recipes differ, in the order of the rows.
        #[must_use]
        pub fn changed_settings(before: &Recipe, after: &Recipe) -> Vec<&'static str> {
            let mut names = Vec::new();
            $(if before.$field != after.$field {
                let name = if matches!(Part::$part, Part::Size) { tr!("core-size-of-a-picture") } else { name_of!($field) };
                if !names.contains(&name) {
                    names.push(name);
                }
            })*
            names
        }

        /// The name of a setting by its key, in the language in use; empty where none is called so.
        #[must_use]
        pub fn setting_name(key: &str) -> &'static str {
            match key {
                $(stringify!($field) => name_of!($field),)*
                _ => "",
            }
        }

        /// Some of the settings of a recipe; never those of a machine.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        #[allow(missing_docs, reason = "the fields of `Recipe`")]
        pub struct PartialRecipe {
            $(#[serde(skip_serializing_if = "Option::is_none", serialize_with = "write_present", deserialize_with = "read_present")]
            pub $field: Option<$type>,)*
        }

        impl PartialRecipe {
            /// All settings of a recipe that another one can take over.
            #[must_use]
            pub fn of(recipe: &Recipe) -> Self {
                Self { $($field: Part::$part.is_portable().then(|| recipe.$field.clone()),)* }
            }

            /// The settings of the parts for which this holds.
            #[must_use]
            pub fn filter_parts(&self, is_kept: impl Fn(Part) -> bool) -> Self {
                Self { $($field: self.$field.clone().filter(|_| is_kept(Part::$part)),)* }
            }

            /// Sets the settings that are here.
            pub fn apply(&self, recipe: &mut Recipe) {
                $(if let (true, Some(value)) = (Part::$part.is_portable(), &self.$field) {
                    recipe.$field.clone_from(value);
                })*
            }

            /// Brings every setting into its limits. Returns a sentence on each that was changed.
            pub fn clamp(&mut self) -> Vec<String> {
                let mut notes = Vec::new();
                $(if let Some(value) = &mut self.$field {
                    Setting::limit(value, name_of!($field), &ROWS.$field.limits, &$usual, &mut notes);
                })*
                notes
            }

            /// True without a setting.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                $(self.$field.is_none())&&*
            }
        }

        /// A recipe as a file stores it, with its files in the form `F`. A field that is absent has
        /// its usual value, and so has one that cannot be read: it costs itself alone.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Stored<F: FileForm> {
            $($field: Option<<$type as Setting>::Stored<F>>,)*
            /// Sentences on the fields that could not be read.
            unreadable: Vec<String>,
        }

        impl<F: FileForm> Stored<F> {
            /// The stored form of a recipe; `file` gives a file's.
            pub fn of(recipe: &Recipe, file: &dyn Fn(&std::path::Path) -> F) -> Self {
                let usual = Recipe::default();
                Self {
                    $($field: (F::stores(Part::$part) && !(is_rare!($($rare)?) && recipe.$field == usual.$field))
                        .then(|| recipe.$field.store(file)),)*
                    unreadable: Vec::new(),
                }
            }

            /// True where the picture began with another one, be it found or not.
            #[must_use]
            pub const fn has_start_picture(&self) -> bool {
                matches!(self.init, Some(Some(_)))
            }

            /// With the pictures of another one in place of its own, where both have such.
            #[must_use]
            pub fn with_pictures_of(mut self, other: Self) -> Self {
                if self.has_start_picture() && other.has_start_picture() {
                    self.init = other.init;
                }
                if matches!(self.mask, Some(Some(_))) && matches!(other.mask, Some(Some(_))) {
                    self.mask = other.mask;
                }
                if self.reference_images.as_ref().map(Vec::len) == other.reference_images.as_ref().map(Vec::len) {
                    self.reference_images = other.reference_images;
                }
                self
            }

            /// The recipe within its limits, and a sentence on everything that was not read or was
            /// changed. `find` gives a file's path; what is not found is left out.
            pub fn restore(self, find: &mut dyn FnMut(RequiredFile, F) -> Option<PathBuf>) -> (Recipe, Vec<String>) {
                let mut notes = self.unreadable;
                let mut reader = Reader { find, notes: &mut notes };
                let mut recipe = Recipe { $($field: self.$field.map_or_else(|| $usual, |it| Setting::restore(it, &mut reader)),)* };
                notes.extend(recipe.clamp());
                (recipe, notes)
            }
        }

        impl<F: FileForm> Serialize for Stored<F> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $(if let Some(value) = &self.$field {
                    map.serialize_entry(stringify!($field), value)?;
                })*
                map.end()
            }
        }

        impl<'de, F: FileForm> Deserialize<'de> for Stored<F> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut fields = Map::deserialize(deserializer)?;
                F::upgrade(&mut fields);
                let mut unreadable = Vec::new();
                Ok(Self {
                    $($field: fields.remove(stringify!($field)).and_then(|value| read(name_of!($field), value, &mut unreadable)),)*
                    unreadable,
                })
            }
        }
    };
}

settings! {
    /// The files of the model, by role.
    files: ModelFiles = ModelFiles::default(), "model", Model, [Steps Memory Opening];
    /// What the picture shows.
    prompt: String = String::new(), in MAX_PROMPT_CHARS, "prompt", Prompt, [Steps Memory];
    /// The template of which the prompt was chosen; no effect, for people and for the next picture.
    template: String = String::new(), in MAX_PROMPT_CHARS, "template", Prompt, [], rare;
    /// Seed of what is chosen in the prompts; each further picture of a batch takes the next number.
    /// Unset: the choices follow from the picture's seed.
    words_seed: Option<Seed> = None, "seed of choices", Prompt, [], rare;
    /// What the picture does not show; no effect at guidance 1, unless the model reads it in its
    /// prompt.
    negative_prompt: String = String::new(), in MAX_PROMPT_CHARS, "negative prompt", NegativePrompt, [Steps Memory];
    /// Put the negative prompt into the prompt, as models without guidance read it.
    negative_in_prompt: bool = false, "model", Model, [Steps Memory], rare;
    /// Width in pixels, before it is snapped to a multiple that the model can make.
    width: u32 = 512, in SIDES, "width", Size, [Memory];
    /// Height in pixels, before it is snapped to a multiple that the model can make.
    height: u32 = 512, in SIDES, "height", Size, [Memory];
    /// Denoising steps.
    steps: u32 = 20, in STEPS, "steps", Sampling, [Steps];
    /// Classifier-free guidance (CFG scale); 1 switches it off and halves the time.
    guidance: f32 = 7.0, in GUIDANCE, "guidance", Sampling, [Steps Memory];
    /// Another guidance in parts of the steps; of those that overlap, the later counts.
    guidance_ranges: Vec<GuidanceRange> = Vec::new(), "guidance ranges", Sampling, [Steps], rare;
    /// Guidance that distilled models such as Flux dev take as an input.
    distilled_guidance: f32 = 3.5, in GUIDANCE, "distilled guidance", Sampling, [Steps];
    /// Sampling method.
    sampler: Option<Sampler> = None, "sampler", Sampling, [Steps], rare;
    /// Noise schedule.
    scheduler: Option<Scheduler> = None, "scheduler", Sampling, [Steps], rare;
    /// Noise that ancestral samplers add back at each step.
    eta: Option<f32> = None, in 0.0..=10.0, "eta", Sampling, [Steps], rare;
    /// Timestep shift of flow models.
    flow_shift: Option<f32> = None, in 0.0..=100.0, "flow shift", Sampling, [Steps], rare;
    /// What the model predicts, where its file does not tell.
    prediction: Option<PredictionType> = None, "prediction", Sampling, [Steps Opening], rare;
    /// Guidance by the start or reference picture, with models for inpainting and edits; unset: as
    /// the guidance.
    image_guidance: Option<f32> = None, in GUIDANCE, "image guidance", Sampling, [Steps Memory], rare;
    /// Skip-layer guidance (SLG).
    skip_layers: Option<SkipLayers> = None, "skip-layer guidance", Sampling, [Steps Memory], rare;
    /// Noise levels of the steps, from the highest to 0, in place of a noise schedule; one more than
    /// steps.
    sigmas: Vec<f32> = Vec::new(), in MAX_SIGMAS, "sigmas", Sampling, [Steps], rare;
    /// Timestep shift of distilled SDXL models (Nitro).
    timestep_shift: Option<u32> = None, in 1..=1000, "timestep shift", Sampling, [Steps], rare;
    /// Further arguments of the sampling: name=value, separated by commas, as sd-cli has them.
    sampler_arguments: String = String::new(), in MAX_ARGUMENT_CHARS, "sampler arguments", Sampling, [Steps], rare;
    /// Make the left edge continue the right one.
    seamless_x: bool = false, "seamless tiling", Sampling, [Steps Memory Opening], rare;
    /// Make the top edge continue the bottom one.
    seamless_y: bool = false, "seamless tiling", Sampling, [Steps Memory Opening], rare;
    /// Step cache: reuse parts of a step where little changed.
    step_cache: Option<StepCache> = None, "step cache", Sampling, [Steps Memory], rare;
    /// CLIP layers to skip, counted from the end.
    clip_skip: Option<u32> = None, in 1..=12, "CLIP skip", Sampling, [Steps], rare;
    /// Seed of the first picture; each further picture of a batch takes the next number. Unset: it is
    /// drawn at random.
    seed: Option<Seed> = None, "seed", Seed, [Steps];
    /// Second seed, blended into the start noise.
    seed_blend: Option<SeedBlend> = None, "seed blend", Seed, [Steps], rare;
    /// Random number generator that draws the noise from the seed.
    rng: Rng = Rng::Cuda, "noise", Seed, [Steps], rare;
    /// Random number generator of the noise that samplers add; unset: as that of the noise.
    sampler_rng: Option<Rng> = None, "sampler's noise", Seed, [Steps], rare;
    /// Number of pictures.
    batch_count: u32 = 1, in 1..=1000, "number of pictures", Count, [];
    /// Decode in tiles: less memory, a little slower.
    vae_tiling: bool = false, "VAE tiling", Effort, [Memory];
    /// Sides of a VAE tile, in values of the latent (8 pixels each with most models); unset: 32.
    vae_tile_size: Option<TileSize> = None, in 4..=512, "VAE tile size", Effort, [Memory], rare;
    /// Part of a VAE tile that its neighbour covers too; unset: 0.5.
    vae_tile_overlap: Option<f32> = None, in 0.0..=0.5, "VAE tile overlap", Effort, [Memory], rare;
    /// Flash attention in the diffusion module: less memory, often faster.
    flash_attention: bool = true, "flash attention", Effort, [Steps Memory Opening];
    /// Flash attention even where a picture of the model had a single colour with it.
    insists_on_flash_attention: bool = false, "flash attention", Effort, [], rare;
    /// Scale the convolutions of SDXL's VAE, which otherwise overflows in half precision and makes
    /// black pictures.
    vae_conv_scale: bool = false, "VAE range", Model, [Steps Memory Opening], rare;
    /// Reference pictures at a timestep of 0, as Qwen-Image-Edit 2511 learned them.
    zero_cond_t: bool = false, "zero timestep of references", Model, [Steps Opening], rare;
    /// Hide padding from Chroma's diffusion module.
    chroma_dit_mask: bool = true, "Chroma's mask", Model, [Steps Opening], rare;
    /// Hide padding from Chroma's T5.
    chroma_t5_mask: bool = false, "Chroma's T5 mask", Model, [Steps Opening], rare;
    /// Words of padding that Chroma still sees.
    chroma_t5_padding: u32 = 1, in 0..=512, "Chroma's padding", Model, [Steps Opening], rare;
    /// Latents that a VAE of PiD decodes; unset: as the model has them.
    vae_format: Option<VaeFormat> = None, "VAE format", Model, [Steps Memory Opening], rare;
    /// Type that weights get as the model is loaded: less memory, a little less exact.
    weight_type: Option<TensorType> = None, "weight type", Model, [Steps Memory Opening], rare;
    /// Types of weights by name, before the weight type: the first pattern that occurs in a name
    /// decides.
    tensor_type_rules: TensorTypeRules = TensorTypeRules::default(), "tensor type rules", Model, [Steps Memory Opening], rare;
    /// Start picture (img2img), and its denoising strength.
    init: Option<InitImage> = None, "start picture", Start, [Steps Memory], rare;
    /// Further start pictures, each of which another picture is made from, with all other settings
    /// alike; no effect, for the next pictures alone.
    further_starts: Vec<ImageSource> = Vec::new(), "further start pictures", FurtherStarts, [], rare;
    /// Inpainting mask over the start picture: white is regenerated, black is kept.
    mask: Option<ImageSource> = None, "mask", Start, [Memory], rare;
    /// How a start picture of another shape is fitted to the size; no effect where only a part of
    /// it changes.
    start_fit: StartFit = StartFit::Crop, "fit", Start, [Steps Memory], rare;
    /// Inpaint only the masked part, at the model's own size, and paste it into the start picture,
    /// which keeps its size.
    area: Option<AreaSettings> = None, "masked part", Start, [Steps Memory], rare;
    /// Outpaint: extend the start picture by these borders; it keeps its scale.
    outpaint: Option<Borders> = None, "borders", Start, [Steps Memory], rare;
    /// Upscale the picture, and regenerate its details at the larger size; a start picture of
    /// strength 0 is upscaled as it is.
    hires: Option<Hires> = None, "upscaling", Upscale, [Memory], rare;
    /// Upscale the finished picture by a model, to the model's own factor.
    upscale: Option<Upscale> = None, "upscaler", Upscale, [Memory], rare;
    /// First steps of a branch, with the settings of the picture that it branched off from.
    earlier_steps: Vec<EarlierSteps> = Vec::new(), "earlier steps", Steps, [Steps], rare;
    /// Last step of a draft, which shows the model's estimate at that step.
    last_step: Option<u32> = None, in STEPS, "last step", Steps, [], rare;
    /// Reference pictures of edit models.
    reference_images: Vec<ImageSource> = Vec::new(), "reference pictures", References, [Memory], rare;
    /// Bring reference pictures to the size that the model learned.
    resize_references: bool = true, "size of references", References, [Steps Memory], rare;
    /// Number reference pictures, so that a prompt can say "the second picture".
    number_references: bool = false, "numbers of references", References, [Steps Memory], rare;
    /// Picture for the ControlNet, its strength, the steps in which it acts, and what is made of it
    /// first.
    control: Option<ControlImage> = None, "control picture", Control, [Steps Memory], rare;
    /// Pictures of a person for `PhotoMaker`.
    person: Person = Person::default(), "person", Control, [Steps Memory], rare;
    /// Low-rank adapters.
    loras: Vec<Lora> = Vec::new(), "LoRAs", Loras, [Steps Memory], rare;
    /// When LoRAs are applied: merged into the weights, quicker for many pictures, or at run time.
    lora_mode: LoraMode = LoraMode::Auto, "LoRA mode", Loras, [Steps Memory], rare;
    /// Low-rank adapters that are switched off: no effect, but at hand with their strengths.
    disabled_loras: Vec<Lora> = Vec::new(), "LoRAs", DisabledLoras, [], rare;
    /// Textual inversions: each works where a prompt names its file.
    embeddings: Vec<PathBuf> = Vec::new(), "embeddings", Embeddings, [Steps Memory], rare;
    /// Devices on which modules run and weights live.
    placement: PlacementText = PlacementText::default(), "placement", Machine, [Opening], rare;
    /// Map model files into memory in place of reading them: weights that the CPU computes with take
    /// no memory of their own. A file that changes or goes away meanwhile ends the program.
    // Never chosen by itself, also where it is quicker: docs/measured-settings.md.
    memory_map: bool = false, "memory mapping", Machine, [Memory Opening], rare;
    /// CPU threads.
    threads: Option<u32> = None, in 1..=4096, "threads", Machine, [Memory Opening], rare;
}

fn read_field<'de, D: Deserializer<'de>, T: Setting>(deserializer: D) -> Result<T, D::Error> {
    T::read_field(deserializer)
}

fn write_field<S: Serializer, T: Setting>(field: &T, serializer: S) -> Result<S::Ok, S::Error> {
    field.write_field(serializer)
}

/// A field that is there; null is a value of those that may be empty.
fn read_present<'de, D: Deserializer<'de>, T: Setting>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::read_field(deserializer).map(Some)
}

#[allow(clippy::ref_option, reason = "serde passes a field as it is")]
fn write_present<S: Serializer, T: Setting>(field: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match field {
        Some(field) => field.write_field(serializer),
        None => serializer.serialize_none(),
    }
}

/// A field of a file; `None`, with a sentence, where it cannot be read.
fn read<T: DeserializeOwned>(name: &str, value: Value, unreadable: &mut Vec<String>) -> Option<T> {
    let word = value.as_str().map(str::to_owned);
    match serde_json::from_value(value) {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::debug!("{name}: {error}");
            unreadable.push(match word {
                Some(word) => tr!("core-this-version-of-atelier-does-not-have-the", name, word),
                None => tr!("core-this-version-of-atelier-cannot-read", name),
            });
            None
        }
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
