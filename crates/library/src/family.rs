//! Families of models, and what each needs beside its diffusion module. Facts alone; no files.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use atelier_core::canvas::ModelSizes;
use atelier_core::recipe::{CacheMode, FamilySetting, FileRole, ModelFiles, TileSize};
use atelier_language::tr;

/// A family of models: those that the engine runs the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// Stable Diffusion 1.x.
    Sd1,
    /// Stable Diffusion 2.x.
    Sd2,
    /// Stable Diffusion XL and its smaller relatives.
    Sdxl,
    /// Stable Diffusion 3 and 3.5.
    Sd3,
    /// Stable Video Diffusion.
    Svd,
    /// Flux.1 and what was made from it.
    Flux,
    /// Flux.2 dev.
    Flux2,
    /// Flux.2 klein.
    Flux2Klein,
    /// Chroma.
    Chroma,
    /// Chroma Radiance, which paints pixels without a VAE.
    ChromaRadiance,
    /// Qwen-Image and Qwen-Image-Edit.
    QwenImage,
    /// Z-Image.
    ZImage,
    /// Ovis-Image.
    OvisImage,
    /// Anima.
    Anima,
    /// ERNIE-Image.
    ErnieImage,
    /// Lens.
    Lens,
    /// LongCat-Image.
    LongCat,
    /// PiD.
    Pid,
    /// Ideogram 4.
    Ideogram4,
    /// HiDream-O1.
    HidreamO1,
    /// Wan.
    Wan,
    /// LTX-Video.
    Ltx,
}

/// Decoder of a family's latents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Latents {
    /// A VAE of the usual kind, with this many channels.
    Kl(u64),
    /// The VAE of Wan and Qwen-Image.
    Wan,
    /// Nothing, or something that is not checked.
    Other,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::Sd1,
        Self::Sd2,
        Self::Sdxl,
        Self::Sd3,
        Self::Svd,
        Self::Flux,
        Self::Flux2,
        Self::Flux2Klein,
        Self::Chroma,
        Self::ChromaRadiance,
        Self::QwenImage,
        Self::ZImage,
        Self::OvisImage,
        Self::Anima,
        Self::ErnieImage,
        Self::Lens,
        Self::LongCat,
        Self::Pid,
        Self::Ideogram4,
        Self::HidreamO1,
        Self::Wan,
        Self::Ltx,
    ];

    /// The family with this [`label`](Self::label), in any case.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.label().eq_ignore_ascii_case(label))
    }

    /// The name shown to a person.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Sd1 => "SD1.5",
            Self::Sd2 => "SD2",
            Self::Sdxl => "SDXL",
            Self::Sd3 => "SD3",
            Self::Svd => "Stable Video Diffusion",
            Self::Flux => "Flux",
            Self::Flux2 => "Flux.2",
            Self::Flux2Klein => "Flux.2 klein",
            Self::Chroma => "Chroma",
            Self::ChromaRadiance => "Chroma Radiance",
            Self::QwenImage => "Qwen-Image",
            Self::ZImage => "Z-Image",
            Self::OvisImage => "Ovis-Image",
            Self::Anima => "Anima",
            Self::ErnieImage => "ERNIE-Image",
            Self::Lens => "Lens",
            Self::LongCat => "LongCat-Image",
            Self::Pid => "PiD",
            Self::Ideogram4 => "Ideogram 4",
            Self::HidreamO1 => "HiDream-O1",
            Self::Wan => "Wan",
            Self::Ltx => "LTX-Video",
        }
    }

    /// True where the diffusion module is a UNet; the others are transformers.
    #[must_use]
    pub const fn is_unet(self) -> bool {
        matches!(self, Self::Sd1 | Self::Sd2 | Self::Sdxl | Self::Svd)
    }

    /// True where it makes moving pictures.
    #[must_use]
    pub const fn is_video(self) -> bool {
        matches!(self, Self::Svd | Self::Wan | Self::Ltx)
    }

    /// True where its models use a setting, as the engine decides it (`sample` and
    /// `resolve_guidance` in stable-diffusion.cpp). `sees_pictures`: the model is given its start
    /// picture beside the noise, or looks at reference pictures that are there.
    #[must_use]
    pub const fn uses(self, setting: FamilySetting, sees_pictures: bool) -> bool {
        match setting {
            FamilySetting::ImageGuidance => {
                let of_references =
                    matches!(self, Self::Flux | Self::Flux2 | Self::Flux2Klein | Self::QwenImage | Self::LongCat | Self::ZImage);
                sees_pictures && (self.is_unet() || of_references)
            }
            // Those whose code can leave layers out (`mmdit.hpp`, `flux.hpp`).
            FamilySetting::SkipLayers => matches!(
                self,
                Self::Sd3
                    | Self::Flux
                    | Self::Flux2
                    | Self::Flux2Klein
                    | Self::Chroma
                    | Self::ChromaRadiance
                    | Self::OvisImage
                    | Self::LongCat
            ),
            FamilySetting::TimestepShift | FamilySetting::VaeConvScale => matches!(self, Self::Sdxl),
            FamilySetting::StepCache => true,
            FamilySetting::ZeroCondT => matches!(self, Self::QwenImage),
            FamilySetting::ChromaMasks => matches!(self, Self::Chroma | Self::ChromaRadiance),
            FamilySetting::VaeFormat => matches!(self, Self::Pid),
            // Of a UNet, what is shifted are its timesteps.
            FamilySetting::FlowShift => !self.is_unet(),
            // Those with a CLIP encoder, whose layers are skipped.
            FamilySetting::ClipSkip => matches!(self, Self::Sd1 | Self::Sd2 | Self::Sdxl | Self::Sd3 | Self::Flux),
            // Those of `flux.hpp`, which alone have an input for it.
            FamilySetting::DistilledGuidance => matches!(
                self,
                Self::Flux | Self::Flux2 | Self::Flux2Klein | Self::Chroma | Self::ChromaRadiance | Self::OvisImage | Self::LongCat
            ),
        }
    }

    /// True where a step cache of this kind works with its models (`init_sample_cache_runtime`).
    #[must_use]
    pub const fn uses_cache(self, mode: CacheMode) -> bool {
        match mode {
            CacheMode::UCache => self.is_unet(),
            CacheMode::EasyCache | CacheMode::DbCache | CacheMode::TaylorSeer | CacheMode::CacheDit => !self.is_unet(),
            CacheMode::Spectrum => true,
        }
    }

    /// Families whose text encoders take embeddings: those of `FrozenCLIPEmbedderWithCustomWords`
    /// in the engine's `conditioner.hpp`.
    pub const WITH_EMBEDDINGS: [Self; 3] = [Self::Sd1, Self::Sd2, Self::Sdxl];

    /// True where the engine has `ControlNet`s for it.
    pub(crate) const fn takes_controlnets(self) -> bool {
        self.is_unet() && !self.is_video()
    }

    /// True where the diffusion module, or what reads the prompt, looks at reference pictures.
    /// UNets do so where they were made for it.
    pub(crate) const fn looks_at_references(self) -> bool {
        matches!(
            self,
            Self::Flux
                | Self::Flux2
                | Self::Flux2Klein
                | Self::Chroma
                | Self::QwenImage
                | Self::OvisImage
                | Self::LongCat
                | Self::Pid
                | Self::HidreamO1
        )
    }

    /// True where a model of this family changes a reference picture as its prompt says: Flux.2 learned
    /// both, and of others only the editions that are called so did, whose tensors are those of the
    /// rest. `name`: of the model or its file.
    #[must_use]
    pub fn edits_references(self, name: &str) -> bool {
        const EDITIONS: [&str; 2] = ["kontext", "edit"];
        let name = name.to_lowercase();
        let is_edition = EDITIONS.iter().any(|edition| name.split(|it: char| !it.is_alphanumeric()).any(|word| word == *edition));
        matches!(self, Self::Flux2 | Self::Flux2Klein) || (self.looks_at_references() && is_edition)
    }

    /// Widths and heights in pixels are multiples of this.
    #[must_use]
    pub const fn size_multiple(self) -> u32 {
        match self {
            Self::Sd1 | Self::Sd2 | Self::Sdxl | Self::Svd => 64,
            Self::HidreamO1 | Self::Ltx => 32,
            _ => 16,
        }
    }

    /// Pixels of a side of one value of its latents (`VAE::get_scale_factor` in stable-diffusion.cpp).
    #[must_use]
    pub const fn latent_pixels(self) -> u32 {
        match self {
            // They compute pixels.
            Self::ChromaRadiance | Self::HidreamO1 => 1,
            Self::Ltx => 32,
            _ => match self.latents() {
                // The VAE of Flux.2.
                Latents::Kl(32) => 16,
                Latents::Kl(_) | Latents::Wan | Latents::Other => TileSize::USUAL_LATENT_PIXELS,
            },
        }
    }

    /// The same for a model whose family may not be known: as most have them.
    #[must_use]
    pub fn latent_pixels_of(family: Option<Self>) -> u32 {
        family.map_or(TileSize::USUAL_LATENT_PIXELS, Self::latent_pixels)
    }

    /// The sizes at which it works well, where a recipe has no other.
    #[must_use]
    pub const fn model_sizes(self) -> ModelSizes {
        let (least, best, most) = match self {
            Self::Sd1 => (512, 512, 768),
            Self::Sd2 => (512, 768, 896),
            Self::Sdxl => (640, 1024, 1152),
            _ => (512, 1024, 1536),
        };
        ModelSizes { multiple: self.size_multiple(), least, best, most }
    }

    /// Parts that it needs beside the diffusion module: one of each group.
    pub(crate) const fn needs(self) -> &'static [&'static [FileRole]] {
        use FileRole::{ClipG, ClipL, Llm, T5xxl, Taesd, Vae};
        const DECODER: &[FileRole] = &[Vae, Taesd];
        match self {
            Self::Sd1 | Self::Sd2 | Self::Svd => &[&[ClipL], DECODER],
            Self::Sdxl | Self::Sd3 => &[&[ClipL], &[ClipG], DECODER],
            Self::Flux => &[&[ClipL], &[T5xxl], DECODER],
            Self::Chroma | Self::Wan => &[&[T5xxl], DECODER],
            Self::ChromaRadiance => &[&[T5xxl]],
            Self::HidreamO1 => &[],
            Self::Flux2
            | Self::Flux2Klein
            | Self::QwenImage
            | Self::ZImage
            | Self::OvisImage
            | Self::Anima
            | Self::ErnieImage
            | Self::Lens
            | Self::LongCat
            | Self::Pid
            | Self::Ideogram4
            | Self::Ltx => &[&[Llm], DECODER],
        }
    }

    /// True where a language model beside the diffusion module reads its prompts, in a file of its
    /// own or not.
    #[must_use]
    pub fn reads_with_language_model(self) -> bool {
        self.needs().iter().any(|group| group.contains(&FileRole::Llm))
    }

    /// True where CLIP alone reads its prompts, in chunks: `BREAK` begins one, and `AND` joins prompts.
    #[must_use]
    pub const fn joins_prompts(self) -> bool {
        matches!(self, Self::Sd1 | Self::Sd2 | Self::Sdxl)
    }

    /// True where the engine cuts the graph of these files' VAE, so that its layers can be streamed: it
    /// cuts no tiny autoencoder, and some models have no VAE.
    #[must_use]
    pub fn streams_vae(self, files: &ModelFiles) -> bool {
        let is_tiny = files.get(FileRole::Taesd).is_some() && files.get(FileRole::Vae).is_none();
        !is_tiny && !matches!(self, Self::ChromaRadiance | Self::HidreamO1 | Self::Ltx)
    }

    /// The language model it reads prompts with, for sentences.
    pub(crate) fn language_model(self) -> Option<&'static str> {
        match self {
            Self::ZImage => Some("Qwen3-4B"),
            Self::Flux2Klein => Some(tr!("library-qwen3-4b-or-qwen3-8b")),
            Self::QwenImage | Self::LongCat => Some("Qwen2.5-VL-7B"),
            Self::OvisImage => Some("Ovis2.5-2B"),
            Self::Anima => Some("Qwen3-0.6B"),
            Self::Flux2 => Some("Mistral-Small-3.2-24B"),
            Self::ErnieImage => Some("Ministral-3-3B"),
            Self::Lens => Some("gpt-oss-20b"),
            Self::Pid => Some("Gemma-2-2B"),
            Self::Ideogram4 => Some("Qwen3-VL-8B"),
            _ => None,
        }
    }

    /// The width of its text encoder, where the diffusion module has no tensor that tells it.
    pub(crate) const fn encoder_width(self) -> Option<u64> {
        match self {
            Self::Anima => Some(1024),
            Self::Pid => Some(2304),
            Self::Lens => Some(2880),
            Self::ErnieImage => Some(3072),
            Self::Ideogram4 => Some(4096),
            _ => None,
        }
    }

    /// The tokens that its tokenizer knows. A smaller table ends the engine's process.
    pub(crate) const fn tokens(self) -> Option<u64> {
        match self {
            Self::ZImage | Self::Flux2Klein | Self::QwenImage | Self::LongCat | Self::OvisImage | Self::Anima | Self::Ideogram4 => {
                Some(151_674)
            }
            Self::Flux2 | Self::ErnieImage => Some(131_072),
            _ => None,
        }
    }

    pub(crate) const fn latents(self) -> Latents {
        match self {
            Self::Sd1 | Self::Sd2 | Self::Sdxl => Latents::Kl(4),
            Self::Sd3 | Self::Flux | Self::Chroma | Self::ZImage | Self::OvisImage | Self::LongCat => Latents::Kl(16),
            Self::Flux2 | Self::Flux2Klein | Self::ErnieImage | Self::Lens | Self::Ideogram4 => Latents::Kl(32),
            Self::QwenImage | Self::Anima => Latents::Wan,
            Self::Svd | Self::ChromaRadiance | Self::Pid | Self::HidreamO1 | Self::Wan | Self::Ltx => Latents::Other,
        }
    }
}

impl Serialize for Family {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

impl<'de> Deserialize<'de> for Family {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let label = String::deserialize(deserializer)?;
        Self::from_label(&label).ok_or_else(|| de::Error::custom(format!("there is no family \"{label}\"")))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_tiny_autoencoder_in_place_of_a_vae_has_no_layers_to_stream() {
        use FileRole::{Diffusion, Model, Taesd, Vae};
        let streams = |family: Family, roles: &[FileRole]| {
            let files: ModelFiles = roles.iter().map(|role| (*role, PathBuf::from("m"))).collect();
            family.streams_vae(&files)
        };
        for family in [Family::Sd1, Family::ZImage, Family::QwenImage] {
            assert!(streams(family, &[Model]) && streams(family, &[Diffusion, Vae]), "{family:?}");
            assert!(streams(family, &[Diffusion, Taesd, Vae]), "{family:?}: the tiny one makes the previews");
            assert!(!streams(family, &[Model, Taesd]) && !streams(family, &[Diffusion, Taesd]), "{family:?}");
        }
        assert!(!streams(Family::HidreamO1, &[Model]), "it has none");
    }
}
